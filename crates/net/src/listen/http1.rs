//! A connection of HTTP/1.1, from its first request to its last.
//!
//! A connection on which nothing happens holds no buffer: that is what most do most of the time,
//! while an agent is at work or between two events of a stream. Where a request ends is read
//! once, and so strictly that nobody could read it otherwise. An upgrade goes by the library.

mod answer;
mod request;

use std::{
    convert::Infallible,
    error::Error as StdError,
    future::poll_fn,
    io,
    mem::MaybeUninit,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes, BytesMut};
use http::{Method, Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::service::Service;
use tokio::io::{AsyncRead as _, ReadBuf};

use self::{
    answer::{Asked, GO_ON, Out, Rest},
    request::{Head, check_start},
};
use super::{
    Drain, Limits,
    entrance::{self, Entrance},
    incoming::{Feeder, Incoming},
    stream::Stream,
    watch::{Phase, Watch},
};
use crate::http1::{Fault, Framing, Taken, end_of_head};

/// An open connection.
pub(super) struct Connection<'a, S> {
    stream: Stream,
    entrance: Entrance<S>,
    limits: &'a Limits,
    drain: &'a Drain,
    watch: &'a Watch,
    /// What was read and not yet taken.
    received: BytesMut,
    /// How much of it was searched for the end of a head.
    searched: usize,
    /// What is still to come of a request.
    framing: Framing,
    /// What takes the body of a request, while it is not over.
    feeder: Option<Feeder>,
    /// Whether the peer waits to be told to send a body.
    waits: bool,
    /// Whether the peer has closed its side.
    has_ended: bool,
    /// Whether another request can follow.
    is_kept: bool,
    out: Out,
}

/// The head of a request with its bytes, or what is wrong with it.
type Next = Result<(Head, Bytes), Fault>;

/// The most that is read at once.
const READ_BYTES: usize = 8 * 1024;

impl<'a, S, B> Connection<'a, S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S::Future: Send + 'static,
    B: Body + Send + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    /// Takes a connection that speaks HTTP/1.
    pub(super) fn new(
        mut stream: Stream,
        entrance: Entrance<S>,
        limits: &'a Limits,
        drain: &'a Drain,
        watch: &'a Watch,
    ) -> Self {
        let received = stream.take_kept();
        Self {
            stream,
            entrance,
            limits,
            drain,
            watch,
            received,
            searched: 0,
            framing: Framing::Over,
            feeder: None,
            waits: false,
            has_ended: false,
            is_kept: true,
            out: Out::default(),
        }
    }

    /// Answers requests until one side has had enough. Returns the stream if the next request
    /// asks for an upgrade; that request is read from it again.
    pub(super) async fn serve(mut self) -> io::Result<Option<Stream>> {
        while self.is_kept {
            let Some(next) = poll_fn(|cx| self.poll_next(cx)).await? else { break };
            self.watch.enter(Phase::Busy);
            match next {
                Ok((head, bytes)) => {
                    if entrance::wants_upgrade(&head.request) {
                        self.stream.keep([&bytes[..], &self.received].concat());
                        return Ok(Some(self.stream));
                    }
                    drop(bytes);
                    self.answer(head).await?;
                }
                Err(fault) => self.refuse(fault).await?,
            }
            let phase = if self.received.is_empty() { Phase::Idle } else { Phase::Head };
            self.watch.enter(phase);
        }
        // A peer that may still be sending is waited for.
        let lingers = self.framing != Framing::Over && !self.has_ended;
        poll_fn(|cx| self.stream.poll_close(lingers, cx)).await?;
        Ok(None)
    }

    /// Waits for the head of a request; `None` if there will be none.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Next>>> {
        let limits = self.limits;
        loop {
            // An empty line or two may be left of the request before.
            while self.received.starts_with(b"\r\n") {
                self.received.advance(2);
                self.searched = 0;
            }
            let fault = match end_of_head(&self.received, self.searched) {
                Some(end) if end <= limits.header_bytes => {
                    self.searched = 0;
                    let bytes = self.take(end);
                    let head = Head::read(&bytes, limits.headers);
                    return Poll::Ready(Ok(Some(head.map(|head| (head, bytes)))));
                }
                None if self.received.len() < limits.header_bytes => match self.searched {
                    0 => check_start(&self.received, limits.headers).err(),
                    _ => None,
                },
                Some(_) | None => Some(Fault::TooLong),
            };
            if let Some(fault) = fault {
                return Poll::Ready(Ok(Some(Err(fault))));
            }
            self.searched = self.received.len().saturating_sub(3);
            let is_leaving = self.drain.has_begun() && self.watch.phase() == Phase::Idle;
            if is_leaving || ready!(self.poll_read(cx))? == 0 {
                return Poll::Ready(Ok(None));
            }
        }
    }

    /// Has a request answered, and writes the answer.
    async fn answer(&mut self, head: Head) -> io::Result<()> {
        let Head { request, framing, is_kept, waits } = head;
        let version = request.version();
        let asked = Asked { version, is_head: *request.method() == Method::HEAD };
        (self.framing, self.is_kept, self.waits) = (framing, is_kept, waits);
        let body = self.body();
        let mut answering = Box::pin(self.entrance.answer(request.map(|()| body)));
        let answer = poll_fn(|cx| {
            loop {
                if let Poll::Ready(answer) = answering.as_mut().poll(cx) {
                    return Poll::Ready(io::Result::Ok(answer));
                }
                ready!(self.poll_feed(cx))?;
            }
        });
        let Ok(answer) = answer.await?;
        // What only this needed takes no memory later.
        drop(answering);

        let (mut head, body) = answer.into_parts();
        if head.status.is_informational() {
            // The answer would still be to come.
            head.status = StatusCode::INTERNAL_SERVER_ERROR;
        }
        let mut body = pin!(body);
        self.is_kept &= !self.drain.has_begun() && self.is_body_over();
        // A peer that still waits to send its body has its answer now.
        self.waits = false;
        let mut rest =
            self.out.push_head(&head, asked, body.size_hint().exact(), &mut self.is_kept);
        drop(head);
        poll_fn(|cx| self.poll_write(body.as_mut(), &mut rest, cx)).await?;
        self.is_kept &= self.is_body_over();
        self.feeder = None;
        Ok(())
    }

    /// Makes the body of a request. What came along with its head needs nobody to bring it.
    fn body(&mut self) -> Incoming {
        let length = match self.framing {
            Framing::Over => return Incoming::whole(Bytes::new()),
            Framing::Length(length) => Some(length),
            _ => None,
        };
        let whole = length.and_then(|length| usize::try_from(length).ok());
        if let Some(whole) = whole.filter(|whole| *whole <= self.received.len()) {
            self.framing = Framing::Over;
            return Incoming::whole(self.take(whole));
        }
        let (body, feeder) = Incoming::pieces(length);
        self.feeder = Some(feeder);
        body
    }

    /// Writes the body of an answer as it comes.
    fn poll_write<D>(
        &mut self,
        mut body: Pin<&mut D>,
        rest: &mut Rest,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>>
    where
        D: Body<Error: Into<Box<dyn StdError + Send + Sync>>>,
    {
        loop {
            let mut is_waiting = false;
            while !rest.is_nothing() && self.out.has_room() {
                match body.as_mut().poll_frame(cx) {
                    Poll::Ready(Some(Ok(frame))) => {
                        // Trailers are for those who read them, and in HTTP/1.1 nobody does.
                        if let Ok(data) = frame.into_data() {
                            self.out.push_piece(rest, data)?;
                        }
                    }
                    Poll::Ready(Some(Err(error))) => {
                        // What there is of it can still be of use.
                        let _ = self.out.poll_send(&mut self.stream, cx);
                        return Poll::Ready(Err(io::Error::other(error)));
                    }
                    Poll::Ready(None) => self.out.push_end(rest)?,
                    Poll::Pending => {
                        is_waiting = true;
                        break;
                    }
                }
            }
            let has_sent = self.out.poll_send(&mut self.stream, cx)?.is_ready();
            if has_sent && rest.is_nothing() {
                self.out.release();
                return Poll::Ready(Ok(()));
            }
            if has_sent && !is_waiting {
                continue;
            }
            self.out.release();
            ready!(self.poll_feed(cx))?;
        }
    }

    /// Reads on while a request is being answered: its body, if somebody wants it, and whether
    /// the peer is still there. Ready when a body has got something.
    fn poll_feed(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(feeder) = &self.feeder else { return self.poll_hang_up(cx) };
        if !feeder.is_wanted(cx) {
            return Poll::Pending;
        }
        if std::mem::take(&mut self.waits) {
            self.out.push(GO_ON);
        }
        ready!(self.out.poll_send(&mut self.stream, cx))?;
        let piece = ready!(self.poll_piece(cx));
        let has_failed = matches!(piece, Some(Err(_)));
        self.is_kept &= !has_failed;
        if let Some(feeder) = &self.feeder {
            feeder.put(piece);
        }
        if has_failed || self.framing == Framing::Over {
            self.feeder = None;
        }
        Poll::Ready(Ok(()))
    }

    /// Waits for the next piece of a request's body.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            match self.framing.take(&mut self.received) {
                Ok(Taken::Piece(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(Taken::End) => return Poll::Ready(None),
                Ok(Taken::Nothing) => {}
                Err(fault) => return Poll::Ready(Some(Err(fault.into()))),
            }
            let error = match ready!(self.poll_read(cx)) {
                Ok(1..) => continue,
                Ok(_) => io::ErrorKind::UnexpectedEof.into(),
                Err(error) => error,
            };
            self.has_ended = true;
            return Poll::Ready(Some(Err(error)));
        }
    }

    /// Waits for a peer that waits for us to leave. What it sends meanwhile is kept for later.
    fn poll_hang_up(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.received.is_empty() || self.has_ended {
            return Poll::Pending;
        }
        match ready!(self.poll_read(cx))? {
            0 => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
            _ => Poll::Pending,
        }
    }

    /// Tells whether the body of a request is over, or can be passed over because all of it is
    /// there.
    fn is_body_over(&mut self) -> bool {
        if self.feeder.as_ref().is_some_and(Feeder::is_unwanted) {
            while matches!(self.framing.take(&mut self.received), Ok(Taken::Piece(_))) {}
        }
        self.framing == Framing::Over
    }

    /// Says what is wrong with a request.
    async fn refuse(&mut self, fault: Fault) -> io::Result<()> {
        let status = match fault {
            Fault::Malformed(_) => StatusCode::BAD_REQUEST,
            Fault::TooLong => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        };
        self.watch.enter(Phase::Busy);
        // Nobody knows where it ends.
        (self.framing, self.is_kept) = (Framing::Rest, false);
        let (mut head, ()) = Response::new(()).into_parts();
        head.status = status;
        let asked = Asked { version: Version::HTTP_11, is_head: false };
        self.out.push_head(&head, asked, Some(0), &mut self.is_kept);
        poll_fn(|cx| self.out.poll_send(&mut self.stream, cx)).await
    }

    /// Takes so many bytes of what was received.
    fn take(&mut self, count: usize) -> Bytes {
        let taken = self.received.split_to(count).freeze();
        if self.received.is_empty() {
            // It would keep what was taken from being freed.
            self.received = BytesMut::new();
        }
        taken
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.received.is_empty() {
            // Nobody knows for how long.
            self.received = BytesMut::new();
        }
        let mut scratch = [const { MaybeUninit::uninit() }; READ_BYTES];
        let mut buffer = ReadBuf::uninit(&mut scratch);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
        self.received.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    }
}
