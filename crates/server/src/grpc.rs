//! The gRPC binding: both services turn messages into calls of the endpoint and back.

mod v03;
mod v1;

use futures_core::Stream;
use futures_util::stream;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    grpc::read_request,
    json,
    operation::{Request, Response},
    service::{CallContext, Event, Outcome},
    state::TaskState,
    task::StreamResponse,
    version::Version,
    wire::StreamEnd,
};
use std::{pin::Pin, sync::Arc};
use tonic::{Code, Status};

use crate::{
    endpoint::{Inner, Sender},
    streams::{Following, Next},
};

pub(crate) use v1::V1;
pub(crate) use v03::V03;

/// The messages of one stream.
type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Calls an endpoint with what came over gRPC.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    endpoint: Arc<Inner>,
    version: Version,
}

impl Calls {
    pub(crate) fn new(endpoint: Arc<Inner>, version: Version) -> Self {
        Self { endpoint, version }
    }

    /// Answers with one message.
    async fn unary<P, M>(
        &self,
        request: tonic::Request<P>,
        operation: fn(M) -> Request,
    ) -> Result<Response, Status>
    where
        M: TryFrom<P, Error = json::Error>,
    {
        let (ctx, request, extensions) = self.read(request, operation)?;
        match self.endpoint.call(ctx, request, None, Sender::of(&extensions)).await {
            Ok((Outcome::Answer(answer), _)) => {
                answer.into_response().map_err(|error| self.status(&error))
            }
            Ok((Outcome::Events(_), _)) => Err(self.unexpected()),
            Err(error) => Err(self.status(&error)),
        }
    }

    /// Answers with a stream of messages.
    async fn stream<P, M, T>(
        &self,
        request: tonic::Request<P>,
        operation: fn(M) -> Request,
        write: fn(StreamResponse, StreamEnd) -> T,
    ) -> Result<tonic::Response<Messages<T>>, Status>
    where
        M: TryFrom<P, Error = json::Error>,
        T: Send + 'static,
    {
        let (ctx, request, extensions) = self.read(request, operation)?;
        let until_input = matches!(request, Request::SendStreamingMessage(_));
        let sender = Sender::of(&extensions);
        let outcome = self.endpoint.call(ctx, request, None, sender).await;
        let (events, place) = match outcome {
            Ok((Outcome::Events(events), Some(place))) => (events, place),
            Ok(_) => return Err(self.unexpected()),
            Err(error) => return Err(self.status(&error)),
        };
        let writer = Writer { calls: self.clone(), until_input, write };
        let messages = stream::unfold((place.follow(events), writer), step);
        Ok(tonic::Response::new(Box::pin(messages)))
    }

    fn read<P, M>(
        &self,
        request: tonic::Request<P>,
        operation: fn(M) -> Request,
    ) -> Result<(CallContext, Request, http::Extensions), Status>
    where
        M: TryFrom<P, Error = json::Error>,
    {
        let (_, mut extensions, message) = request.into_parts();
        let request =
            read_request(message, operation).map_err(|error| self.status(&error.into()))?;
        // The endpoint has put it there.
        let ctx = extensions.remove::<CallContext>().ok_or_else(|| self.unexpected())?;
        Ok((ctx, request, extensions))
    }

    pub(crate) fn status(&self, error: &Error) -> Status {
        if self.version.is_legacy() {
            error.to_tonic_v03()
        } else {
            error.to_tonic(self.endpoint.table())
        }
    }

    /// Says why, where the gRPC library has refused a request before any of us was asked: it
    /// gives no details, and calls what cannot be decoded a fault of ours.
    pub(crate) fn explain(
        &self,
        response: http::Response<tonic::body::Body>,
        path: &str,
    ) -> http::Response<tonic::body::Body> {
        // Only a refusal has a status in its head, and only ours has details.
        let status = Status::from_header_map(response.headers());
        let Some(status) = status.filter(|status| status.details().is_empty()) else {
            return response;
        };
        let error = match status.code() {
            Code::Internal => Error::new(ErrorKind::Parse, status.message()),
            Code::OutOfRange => Error::new(ErrorKind::TooLarge, status.message()),
            Code::Unimplemented if status.message().is_empty() => {
                Error::new(ErrorKind::MethodNotFound, format!("no method {path}"))
            }
            _ => return response,
        };
        self.status(&error).into_http()
    }

    fn unexpected(&self) -> Status {
        self.status(&Error::new(ErrorKind::Internal, "the answer is not of its operation"))
    }

    /// Writes an answer that not every version can say.
    fn say<M, T: TryFrom<M, Error = E>, E: Into<Error>>(
        &self,
        answer: M,
    ) -> Result<tonic::Response<T>, Status> {
        match T::try_from(answer) {
            Ok(message) => Ok(tonic::Response::new(message)),
            Err(error) => Err(self.status(&error.into())),
        }
    }
}

struct Writer<T> {
    calls: Calls,
    until_input: bool,
    write: fn(StreamResponse, StreamEnd) -> T,
}

impl<T> Writer<T> {
    fn message(&self, event: &Event) -> Result<T, Status> {
        let event = event.response.value().map_err(|error| self.calls.status(&error.into()))?;
        let closing = self.until_input && event.state() == Some(TaskState::InputRequired);
        let end = if closing { StreamEnd::Closing } else { StreamEnd::Open };
        Ok((self.write)(event.clone(), end))
    }
}

/// Returns the next message of a stream.
async fn step<T>(
    (mut following, writer): (Following, Writer<T>),
) -> Option<(Result<T, Status>, (Following, Writer<T>))> {
    loop {
        let message = match following.next().await {
            Next::Event(event) => writer.message(&event),
            // The transport keeps itself alive.
            Next::Silence => continue,
            Next::Error(error) => Err(writer.calls.status(&error)),
            Next::Draining => {
                let text = "the server stops; subscribe again";
                Err(writer.calls.status(&Error::new(ErrorKind::Unavailable, text)))
            }
            Next::End => return None,
        };
        return Some((message, (following, writer)));
    }
}
