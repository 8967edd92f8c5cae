//! A connection that is driven by whoever uses it.
//!
//! The library wants a task for every connection, beside the one that reads its answers, and
//! every piece of a stream then goes from one task to the other. Here, whoever waits for an
//! answer moves its connection on meanwhile. One that nobody uses stands still: that its peer has
//! closed it is found out by the next request, of which nothing was written then.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use http::{Request, Response};
use hyper::{
    body::Incoming,
    client::conn::{
        TrySendError,
        http1::{self, Connection, SendRequest},
    },
};

use super::{Body, HEAD_BYTES, clocks::Clocks, stream::Stream};
use crate::error::Error;

/// The head of an answer, or why there is none; with the request, if nothing of it was written.
pub(super) type Answered = Result<Response<Incoming>, TrySendError<Request<Body>>>;

/// An open connection.
pub(super) struct Driven {
    sender: SendRequest<Body>,
    /// `None` once it is over.
    connection: Option<Box<Connection<Stream, Body>>>,
    /// Whether it was left alone for a while, so that its peer may have closed it.
    pub(super) is_old: bool,
}

impl Driven {
    pub(super) async fn new(stream: Stream) -> hyper::Result<Self> {
        let mut builder = http1::Builder::new();
        // As many headers as the library allows by itself; saying so again would cost it more.
        builder.max_buf_size(HEAD_BYTES as usize);
        let (sender, connection) = builder.handshake(stream).await?;
        Ok(Self { sender, connection: Some(Box::new(connection)), is_old: false })
    }

    /// Sends a request and waits for the head of its answer. Fails if a clock runs out.
    pub(super) async fn send(
        &mut self,
        request: Request<Body>,
        clocks: &mut Clocks,
    ) -> Result<Answered, Error> {
        let mut answered = pin!(self.sender.try_send_request(request));
        poll_fn(|cx| {
            self.drive(cx);
            match answered.as_mut().poll(cx) {
                Poll::Ready(answered) => Poll::Ready(Ok(answered)),
                Poll::Pending => clocks.poll(cx).map(Err),
            }
        })
        .await
    }

    /// Writes and reads as much as can be now.
    pub(super) fn drive(&mut self, cx: &mut Context<'_>) {
        let Some(connection) = &mut self.connection else { return };
        if let Poll::Ready(outcome) = Pin::new(&mut **connection).poll(cx) {
            if let Err(error) = outcome {
                tracing::debug!(%error, "a connection broke off");
            }
            self.connection = None;
        }
    }

    /// Tells whether the last exchange has left it so that another can begin.
    pub(super) fn is_idle(&mut self) -> bool {
        if !self.sender.is_ready() {
            self.drive(&mut Context::from_waker(Waker::noop()));
        }
        self.connection.is_some() && self.sender.is_ready()
    }
}
