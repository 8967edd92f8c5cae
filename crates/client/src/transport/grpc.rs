//! gRPC: the generated clients, over our own HTTP client.

use std::{
    error::Error as StdError,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use nuncio_net::{
    Body, CheckedUrl, Client, Error as NetError, Protocol, Request as HttpRequest, Timeouts,
    client::ResponseBody,
};
use nuncio_protocol::{
    dialect::WireForm,
    error::Error as ProtocolError,
    grpc::{
        v1::a2a_service_client::A2aServiceClient as V1Client,
        v03::a2a_service_client::A2aServiceClient as V03Client,
    },
    json::{self, Shared},
    operation::{Operation, Request, Response},
    task::StreamResponse,
};
use tonic::{Code, Status, metadata::MetadataMap};
use tower_service::Service;

use super::{
    Frame, Frames, Limits, Opened, Wire,
    answer::{Document, check_redirect},
    answered,
};
use crate::{
    error::Error,
    watch::{Head, Watched},
};

/// A call to be made.
pub(super) struct Call<'a> {
    pub(super) wire: &'a Arc<Wire>,
    pub(super) headers: HeaderMap,
    pub(super) timeouts: Timeouts,
    pub(super) limits: Limits,
    pub(super) watched: Option<Arc<Watched>>,
}

/// Why a call failed.
pub(super) enum Failure {
    /// The version cannot say it.
    Unsayable(ProtocolError),
    Error(Error),
}

impl Call<'_> {
    pub(super) async fn send(self, client: &Client, request: &Request) -> Result<Opened, Failure> {
        let url = &self.wire.interface.url;
        let is_legacy = self.wire.interface.form == WireForm::V03Grpc;
        let origin = url.origin().parse::<Uri>().unwrap_or_default();
        let channel = Channel {
            client: client.clone(),
            url: url.clone(),
            timeouts: self.timeouts,
            limit: self.limits.answer,
            watched: self.watched.clone(),
        };
        let limit = if request.operation().is_streaming() {
            self.limits.stream.event
        } else {
            self.limits.answer
        };
        let asked = Asked { headers: self.headers, limit, watched: self.watched };
        if is_legacy {
            let client = V03Client::with_origin(channel, origin).max_decoding_message_size(limit);
            asked.call_v03(client, request.clone()).await
        } else {
            let client = V1Client::with_origin(channel, origin).max_decoding_message_size(limit);
            asked.call_v1(client, request.clone()).await
        }
    }
}

/// What goes with a request, and how large its answer may be.
struct Asked {
    headers: HeaderMap,
    limit: usize,
    watched: Option<Arc<Watched>>,
}

/// Makes a unary call of a generated client.
macro_rules! unary {
    ($asked:ident, $client:ident.$method:ident($request:ident), $legacy:literal) => {{
        let message = $asked.write($request)?;
        let answer = $client.$method(message).await;
        let answer = answer.map_err(|status| failed(&status, $asked.limit, $legacy))?.into_inner();
        if let Some(watched) = &$asked.watched {
            watched.event_of(&answer);
            watched.ended();
        }
        answer
    }};
}

/// Makes a streaming call of a generated client.
macro_rules! streaming {
    ($asked:ident, $client:ident.$method:ident($request:ident), $legacy:literal, $frames:path) => {{
        let message = $asked.write($request)?;
        let answer = $client.$method(message).await;
        let answer = answer.map_err(|status| failed(&status, $asked.limit, $legacy))?;
        // Messages have no numbers, so nobody can say behind which one to go on.
        return Ok(Opened::Frames($frames(answer.into_inner(), $asked.watched)));
    }};
}

impl Asked {
    async fn call_v1(
        self,
        mut client: V1Client<Channel>,
        request: Request,
    ) -> Result<Opened, Failure> {
        let asked = self;
        let response = match request {
            Request::SendMessage(request) => {
                Response::SendMessage(read(unary!(asked, client.send_message(request), false))?)
            }
            Request::GetTask(request) => {
                Response::Task(read(unary!(asked, client.get_task(request), false))?)
            }
            Request::ListTasks(request) => {
                Response::Tasks(read(unary!(asked, client.list_tasks(request), false))?)
            }
            Request::CancelTask(request) => {
                Response::Task(read(unary!(asked, client.cancel_task(request), false))?)
            }
            Request::CreateTaskPushNotificationConfig(request) => Response::PushConfig(read(
                unary!(asked, client.create_task_push_notification_config(request), false),
            )?),
            Request::GetTaskPushNotificationConfig(request) => Response::PushConfig(read(unary!(
                asked,
                client.get_task_push_notification_config(request),
                false
            ))?),
            Request::ListTaskPushNotificationConfigs(request) => Response::PushConfigs(read(
                unary!(asked, client.list_task_push_notification_configs(request), false),
            )?),
            Request::DeleteTaskPushNotificationConfig(request) => {
                unary!(asked, client.delete_task_push_notification_config(request), false);
                Response::Deleted
            }
            Request::GetExtendedAgentCard(request) => {
                Response::Card(read(unary!(asked, client.get_extended_agent_card(request), false))?)
            }
            Request::SendStreamingMessage(request) => {
                streaming!(asked, client.send_streaming_message(request), false, Frames::v1)
            }
            Request::SubscribeToTask(request) => {
                streaming!(asked, client.subscribe_to_task(request), false, Frames::v1)
            }
        };
        Ok(Opened::Answer(answered(response)))
    }

    async fn call_v03(
        self,
        mut client: V03Client<Channel>,
        request: Request,
    ) -> Result<Opened, Failure> {
        let asked = self;
        let response =
            match request {
                Request::SendMessage(request) => {
                    Response::SendMessage(read(unary!(asked, client.send_message(request), true))?)
                }
                Request::GetTask(request) => {
                    Response::Task(read(unary!(asked, client.get_task(request), true))?)
                }
                Request::CancelTask(request) => {
                    Response::Task(read(unary!(asked, client.cancel_task(request), true))?)
                }
                Request::CreateTaskPushNotificationConfig(request) => Response::PushConfig(read(
                    unary!(asked, client.create_task_push_notification_config(request), true),
                )?),
                Request::GetTaskPushNotificationConfig(request) => Response::PushConfig(read(
                    unary!(asked, client.get_task_push_notification_config(request), true),
                )?),
                Request::ListTaskPushNotificationConfigs(request) => Response::PushConfigs(read(
                    unary!(asked, client.list_task_push_notification_config(request), true),
                )?),
                Request::DeleteTaskPushNotificationConfig(request) => {
                    unary!(asked, client.delete_task_push_notification_config(request), true);
                    Response::Deleted
                }
                Request::GetExtendedAgentCard(request) => {
                    Response::Card(read(unary!(asked, client.get_agent_card(request), true))?)
                }
                Request::ListTasks(_) => {
                    let text = format!("A2A 0.3 on gRPC has no {}", Operation::ListTasks.name());
                    let kind = nuncio_protocol::error::ErrorKind::UnsupportedOperation;
                    return Err(Failure::Unsayable(ProtocolError::new(kind, text)));
                }
                Request::SendStreamingMessage(request) => {
                    streaming!(asked, client.send_streaming_message(request), true, Frames::v03)
                }
                Request::SubscribeToTask(request) => {
                    streaming!(asked, client.task_subscription(request), true, Frames::v03)
                }
            };
        Ok(Opened::Answer(answered(response)))
    }

    /// Writes a request, if the version can say it.
    fn write<M, P>(&self, request: M) -> Result<tonic::Request<P>, Failure>
    where
        P: TryFrom<M, Error: Into<Unsayable>> + std::fmt::Debug,
    {
        let message =
            request.try_into().map_err(|error: P::Error| Failure::Unsayable(error.into().0))?;
        if let Some(watched) = &self.watched {
            watched.message(&message);
        }
        let mut request = tonic::Request::new(message);
        *request.metadata_mut() = MetadataMap::from_headers(self.headers.clone());
        Ok(request)
    }
}

/// What a version cannot say; some can say everything.
struct Unsayable(ProtocolError);

impl From<json::Error> for Unsayable {
    fn from(error: json::Error) -> Self {
        Self(error.into())
    }
}

impl From<std::convert::Infallible> for Unsayable {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// Reads a message that was answered.
fn read<P, M: TryFrom<P, Error = json::Error>>(message: P) -> Result<M, Failure> {
    message.try_into().map_err(|error: json::Error| {
        Failure::Error(Error::NotA2a {
            status: http::StatusCode::OK,
            content_type: "application/grpc".to_owned(),
            cause: error.to_string(),
            snippet: String::new(),
        })
    })
}

/// Reads a message of a stream.
pub(super) fn frame<P>(
    next: Result<P, Status>,
    number: u64,
    is_legacy: bool,
) -> Result<Frame, Error>
where
    StreamResponse: TryFrom<P, Error = json::Error>,
{
    let message = next.map_err(|status| error(&status, 0, is_legacy))?;
    match StreamResponse::try_from(message) {
        Ok(event) => Ok(Frame { id: None, response: Shared::new(event) }),
        Err(error) => Err(Error::StreamMalformed { frame: number, cause: error.to_string() }),
    }
}

fn failed(status: &Status, limit: usize, is_legacy: bool) -> Failure {
    Failure::Error(error(status, limit, is_legacy))
}

/// Tells what a peer says from what happened on the way, which the library puts into the same
/// status.
fn error(status: &Status, limit: usize, is_legacy: bool) -> Error {
    let mut source = status.source();
    while let Some(cause) = source {
        if let Some(error) = cause.downcast_ref::<Error>() {
            return error.clone();
        }
        if let Some(error) = cause.downcast_ref::<NetError>() {
            return error.clone().into();
        }
        source = cause.source();
    }
    if status.code() == Code::OutOfRange && status.message().contains("message length too large") {
        return Error::TooLarge { limit };
    }
    Error::Peer(if is_legacy {
        ProtocolError::from_tonic_v03(status)
    } else {
        ProtocolError::from_tonic(status)
    })
}

/// Our client as the generated ones want it.
#[derive(Clone, Debug)]
struct Channel {
    client: Client,
    url: CheckedUrl,
    timeouts: Timeouts,
    limit: usize,
    watched: Option<Arc<Watched>>,
}

impl Service<http::Request<tonic::body::Body>> for Channel {
    type Response = http::Response<ResponseBody>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        let Self { client, url, timeouts, limit, watched } = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let url = url.below(head.uri.path())?;
            let mut request = HttpRequest::post(&url, Bytes::new())
                .body(Body::stream(body))
                .protocol(Protocol::Http2)
                .timeouts(timeouts);
            if let Some(watched) = &watched {
                watched.request(&Method::POST, &url, &head.headers, &[]);
            }
            *request.headers_mut() = head.headers;
            let response = client.send(request).await?;
            check_redirect(&response)?;
            let is_grpc = response
                .headers()
                .get(http::header::CONTENT_TYPE)
                .is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"));
            if !is_grpc {
                let document = Document::read(response, limit, watched.as_ref()).await?;
                return Err(document.unreadable("no answer of gRPC"));
            }
            if let Some(watched) = &watched {
                watched.answer(&Head::of(&response), None);
            }
            Ok(response.into_http())
        })
    }
}
