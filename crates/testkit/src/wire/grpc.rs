//! Calls over gRPC.

use std::{
    error::Error as _,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use http::{HeaderMap, Request, Response, Uri};
use hyper::{body::Incoming, client::conn::http2};
use nuncio_protocol::{
    grpc::{
        v1::{self, a2a_service_client::A2aServiceClient as V1Client},
        v03::{self, a2a_service_client::A2aServiceClient as V03Client},
    },
    operation::{Request as Call, Response as Answer},
    task::StreamResponse,
    version::Version,
};
use tonic::{Status, Streaming, body::Body};

use super::Http;

/// A connection as the generated clients want it.
#[derive(Clone, Debug)]
struct Channel {
    sender: http2::SendRequest<Body>,
    headers: HeaderMap,
}

impl tower_service::Service<Request<Body>> for Channel {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, hyper::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.sender.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        for (name, value) in &self.headers {
            request.headers_mut().append(name.clone(), value.clone());
        }
        Box::pin(self.sender.send_request(request))
    }
}

/// A stream of either version.
#[derive(Debug)]
pub(super) enum Messages {
    V1(Streaming<v1::StreamResponse>),
    V03(Streaming<v03::StreamResponse>),
}

impl Messages {
    pub(super) async fn next(&mut self) -> Option<Result<StreamResponse, Status>> {
        match self {
            Self::V1(messages) => messages.message().await.transpose().map(|next| next.map(read)),
            Self::V03(messages) => messages.message().await.transpose().map(|next| next.map(read)),
        }
    }
}

async fn connect(http: &Http, headers: &HeaderMap) -> io::Result<(Channel, Uri)> {
    let sender = http.connect_http2().await?;
    let origin = http.origin().parse().expect("an origin is a URI");
    Ok((Channel { sender, headers: headers.clone() }, origin))
}

/// Tells an answer from a connection that broke: only the latter has a cause.
fn answered<T>(outcome: Result<T, Status>) -> io::Result<Result<T, Status>> {
    match outcome {
        Err(status) if status.source().is_some() => Err(io::Error::other(status)),
        outcome => Ok(outcome),
    }
}

/// Makes a call that is answered once.
pub(super) async fn call(
    http: &Http,
    headers: &HeaderMap,
    version: Version,
    request: Call,
) -> io::Result<Result<Answer, Status>> {
    let (channel, origin) = connect(http, headers).await?;
    answered(if version == Version::V1_0 {
        call_v1(V1Client::with_origin(channel, origin), request).await
    } else {
        call_v03(V03Client::with_origin(channel, origin), request).await
    })
}

async fn call_v1(mut client: V1Client<Channel>, request: Call) -> Result<Answer, Status> {
    Ok(match request {
        Call::SendMessage(request) => {
            let request: v1::SendMessageRequest = say(request);
            Answer::SendMessage(read(client.send_message(request).await?.into_inner()))
        }
        Call::GetTask(request) => {
            let request: v1::GetTaskRequest = say(request);
            Answer::Task(read(client.get_task(request).await?.into_inner()))
        }
        Call::ListTasks(request) => {
            let request: v1::ListTasksRequest = say(request);
            Answer::Tasks(read(client.list_tasks(request).await?.into_inner()))
        }
        Call::CancelTask(request) => {
            let request: v1::CancelTaskRequest = say(request);
            Answer::Task(read(client.cancel_task(request).await?.into_inner()))
        }
        Call::CreateTaskPushNotificationConfig(request) => {
            let request: v1::TaskPushNotificationConfig = say(request);
            Answer::PushConfig(read(
                client.create_task_push_notification_config(request).await?.into_inner(),
            ))
        }
        Call::GetTaskPushNotificationConfig(request) => {
            let request: v1::GetTaskPushNotificationConfigRequest = say(request);
            Answer::PushConfig(read(
                client.get_task_push_notification_config(request).await?.into_inner(),
            ))
        }
        Call::ListTaskPushNotificationConfigs(request) => {
            let request: v1::ListTaskPushNotificationConfigsRequest = say(request);
            Answer::PushConfigs(read(
                client.list_task_push_notification_configs(request).await?.into_inner(),
            ))
        }
        Call::DeleteTaskPushNotificationConfig(request) => {
            let request: v1::DeleteTaskPushNotificationConfigRequest = say(request);
            client.delete_task_push_notification_config(request).await?;
            Answer::Deleted
        }
        Call::GetExtendedAgentCard(request) => {
            let request: v1::GetExtendedAgentCardRequest = say(request);
            Answer::Card(read(client.get_extended_agent_card(request).await?.into_inner()))
        }
        Call::SendStreamingMessage(_) | Call::SubscribeToTask(_) => panic!("it is a stream"),
    })
}

async fn call_v03(mut client: V03Client<Channel>, request: Call) -> Result<Answer, Status> {
    Ok(match request {
        Call::SendMessage(request) => {
            let request: v03::SendMessageRequest = say(request);
            Answer::SendMessage(read(client.send_message(request).await?.into_inner()))
        }
        Call::GetTask(request) => {
            let request: v03::GetTaskRequest = say(request);
            Answer::Task(read(client.get_task(request).await?.into_inner()))
        }
        Call::CancelTask(request) => {
            let request: v03::CancelTaskRequest = say(request);
            Answer::Task(read(client.cancel_task(request).await?.into_inner()))
        }
        Call::CreateTaskPushNotificationConfig(request) => {
            let request: v03::CreateTaskPushNotificationConfigRequest = say(request);
            Answer::PushConfig(read(
                client.create_task_push_notification_config(request).await?.into_inner(),
            ))
        }
        Call::GetTaskPushNotificationConfig(request) => {
            let request: v03::GetTaskPushNotificationConfigRequest = say(request);
            Answer::PushConfig(read(
                client.get_task_push_notification_config(request).await?.into_inner(),
            ))
        }
        Call::ListTaskPushNotificationConfigs(request) => {
            let request: v03::ListTaskPushNotificationConfigRequest = say(request);
            Answer::PushConfigs(read(
                client.list_task_push_notification_config(request).await?.into_inner(),
            ))
        }
        Call::DeleteTaskPushNotificationConfig(request) => {
            let request: v03::DeleteTaskPushNotificationConfigRequest = say(request);
            client.delete_task_push_notification_config(request).await?;
            Answer::Deleted
        }
        Call::GetExtendedAgentCard(request) => {
            let request: v03::GetAgentCardRequest = say(request);
            Answer::Card(read(client.get_agent_card(request).await?.into_inner()))
        }
        Call::ListTasks(_) => return Err(Status::unimplemented("0.3 has no ListTasks")),
        Call::SendStreamingMessage(_) | Call::SubscribeToTask(_) => panic!("it is a stream"),
    })
}

/// Makes a call that is answered with a stream.
pub(super) async fn stream(
    http: &Http,
    headers: &HeaderMap,
    version: Version,
    request: Call,
) -> io::Result<Result<Messages, Status>> {
    let (channel, origin) = connect(http, headers).await?;
    answered(if version == Version::V1_0 {
        stream_v1(V1Client::with_origin(channel, origin), request).await.map(Messages::V1)
    } else {
        stream_v03(V03Client::with_origin(channel, origin), request).await.map(Messages::V03)
    })
}

async fn stream_v1(
    mut client: V1Client<Channel>,
    request: Call,
) -> Result<Streaming<v1::StreamResponse>, Status> {
    Ok(match request {
        Call::SendStreamingMessage(request) => {
            let request: v1::SendMessageRequest = say(request);
            client.send_streaming_message(request).await?.into_inner()
        }
        Call::SubscribeToTask(request) => {
            let request: v1::SubscribeToTaskRequest = say(request);
            client.subscribe_to_task(request).await?.into_inner()
        }
        _ => panic!("it is no stream"),
    })
}

async fn stream_v03(
    mut client: V03Client<Channel>,
    request: Call,
) -> Result<Streaming<v03::StreamResponse>, Status> {
    Ok(match request {
        Call::SendStreamingMessage(request) => {
            let request: v03::SendMessageRequest = say(request);
            client.send_streaming_message(request).await?.into_inner()
        }
        Call::SubscribeToTask(request) => {
            let request: v03::TaskSubscriptionRequest = say(request);
            client.task_subscription(request).await?.into_inner()
        }
        _ => panic!("it is no stream"),
    })
}

/// Writes what is asked as a message.
fn say<M, P: TryFrom<M, Error: std::fmt::Debug>>(model: M) -> P {
    model.try_into().expect("this version can say it")
}

/// Reads a message that was answered.
fn read<P, M: TryFrom<P, Error: std::fmt::Debug>>(message: P) -> M {
    message.try_into().expect("the server says what the model knows")
}
