//! Whatever is said, as the bytes of protobuf messages and back.

use nuncio_protocol::{
    grpc::{self, v1, v03},
    json::Error,
    operation::{Request, Response},
    task::StreamResponse,
    wire::StreamEnd,
};
use prost::Message;

use crate::losses::Said;

/// Sends a model through A2A 1.0.
pub(crate) fn through_v1(said: &Said) -> Option<Said> {
    Some(match said.clone() {
        Said::Request(request) => Said::Request(request_v1(request)?),
        Said::Response(operation, response) => Said::Response(operation, response_v1(response)?),
        Said::Event(event) => Said::Event(again::<v1::StreamResponse, _>(event)?),
    })
}

/// Sends a model through A2A 0.3, if it can be said there.
pub(crate) fn through_v03(said: &Said) -> Option<Said> {
    Some(match said.clone() {
        Said::Request(request) => Said::Request(request_v03(request)?),
        Said::Response(operation, response) => Said::Response(operation, response_v03(response)?),
        Said::Event(event) => Said::Event(event_v03(&event)),
    })
}

fn request_v1(request: Request) -> Option<Request> {
    match request {
        Request::SendMessage(request) => {
            asked::<v1::SendMessageRequest, _>(request, Request::SendMessage)
        }
        Request::SendStreamingMessage(request) => {
            asked::<v1::SendMessageRequest, _>(request, Request::SendStreamingMessage)
        }
        Request::GetTask(request) => asked::<v1::GetTaskRequest, _>(request, Request::GetTask),
        Request::ListTasks(request) => {
            asked::<v1::ListTasksRequest, _>(request, Request::ListTasks)
        }
        Request::CancelTask(request) => {
            asked::<v1::CancelTaskRequest, _>(request, Request::CancelTask)
        }
        Request::SubscribeToTask(request) => {
            asked::<v1::SubscribeToTaskRequest, _>(request, Request::SubscribeToTask)
        }
        Request::CreateTaskPushNotificationConfig(config) => {
            asked::<v1::TaskPushNotificationConfig, _>(
                config,
                Request::CreateTaskPushNotificationConfig,
            )
        }
        Request::GetTaskPushNotificationConfig(request) => {
            asked::<v1::GetTaskPushNotificationConfigRequest, _>(
                request,
                Request::GetTaskPushNotificationConfig,
            )
        }
        Request::ListTaskPushNotificationConfigs(request) => {
            asked::<v1::ListTaskPushNotificationConfigsRequest, _>(
                request,
                Request::ListTaskPushNotificationConfigs,
            )
        }
        Request::DeleteTaskPushNotificationConfig(request) => {
            asked::<v1::DeleteTaskPushNotificationConfigRequest, _>(
                request,
                Request::DeleteTaskPushNotificationConfig,
            )
        }
        Request::GetExtendedAgentCard(request) => {
            asked::<v1::GetExtendedAgentCardRequest, _>(request, Request::GetExtendedAgentCard)
        }
    }
}

fn request_v03(request: Request) -> Option<Request> {
    match request {
        Request::SendMessage(request) => {
            asked::<v03::SendMessageRequest, _>(request, Request::SendMessage)
        }
        Request::SendStreamingMessage(request) => {
            asked::<v03::SendMessageRequest, _>(request, Request::SendStreamingMessage)
        }
        Request::GetTask(request) => asked::<v03::GetTaskRequest, _>(request, Request::GetTask),
        Request::ListTasks(_) => None,
        Request::CancelTask(request) => {
            asked::<v03::CancelTaskRequest, _>(request, Request::CancelTask)
        }
        Request::SubscribeToTask(request) => {
            asked::<v03::TaskSubscriptionRequest, _>(request, Request::SubscribeToTask)
        }
        Request::CreateTaskPushNotificationConfig(config) => {
            asked::<v03::CreateTaskPushNotificationConfigRequest, _>(
                config,
                Request::CreateTaskPushNotificationConfig,
            )
        }
        Request::GetTaskPushNotificationConfig(request) => {
            asked::<v03::GetTaskPushNotificationConfigRequest, _>(
                request,
                Request::GetTaskPushNotificationConfig,
            )
        }
        Request::ListTaskPushNotificationConfigs(request) => {
            asked::<v03::ListTaskPushNotificationConfigRequest, _>(
                request,
                Request::ListTaskPushNotificationConfigs,
            )
        }
        Request::DeleteTaskPushNotificationConfig(request) => {
            asked::<v03::DeleteTaskPushNotificationConfigRequest, _>(
                request,
                Request::DeleteTaskPushNotificationConfig,
            )
        }
        Request::GetExtendedAgentCard(request) => {
            asked::<v03::GetAgentCardRequest, _>(request, Request::GetExtendedAgentCard)
        }
    }
}

fn response_v1(response: Response) -> Option<Response> {
    Some(match response {
        Response::SendMessage(answer) => {
            Response::SendMessage(again::<v1::SendMessageResponse, _>(answer)?)
        }
        Response::Task(task) => Response::Task(again::<v1::Task, _>(task)?),
        Response::Tasks(page) => Response::Tasks(again::<v1::ListTasksResponse, _>(page)?),
        Response::PushConfig(config) => {
            Response::PushConfig(again::<v1::TaskPushNotificationConfig, _>(config)?)
        }
        Response::PushConfigs(page) => {
            Response::PushConfigs(again::<v1::ListTaskPushNotificationConfigsResponse, _>(page)?)
        }
        Response::Deleted => Response::Deleted,
        Response::Card(card) => Response::Card(again::<v1::AgentCard, _>(card)?),
    })
}

fn response_v03(response: Response) -> Option<Response> {
    Some(match response {
        Response::SendMessage(answer) => {
            Response::SendMessage(again::<v03::SendMessageResponse, _>(answer)?)
        }
        Response::Task(task) => Response::Task(again::<v03::Task, _>(task)?),
        Response::Tasks(_) => return None,
        Response::PushConfig(config) => {
            Response::PushConfig(again::<v03::TaskPushNotificationConfig, _>(config)?)
        }
        Response::PushConfigs(page) => {
            Response::PushConfigs(again::<v03::ListTaskPushNotificationConfigResponse, _>(page)?)
        }
        Response::Deleted => Response::Deleted,
        Response::Card(card) => Response::Card(again::<v03::AgentCard, _>(card)?),
    })
}

/// An event reads the same, whether or not the stream goes on behind it.
fn event_v03(event: &StreamResponse) -> StreamResponse {
    let [open, closing] = [StreamEnd::Open, StreamEnd::Closing].map(|end| {
        let proto = v03::StreamResponse::from_model(event.clone(), end);
        StreamResponse::try_from(sent(&proto)).expect("what we write can be read")
    });
    assert_eq!(open, closing);
    open
}

/// Asks, if it can be said; `operation` is the variant that the request becomes.
fn asked<P, M>(request: M, operation: fn(M) -> Request) -> Option<Request>
where
    P: TryFrom<M> + Message + Default,
    M: TryFrom<P, Error = Error>,
{
    let proto = P::try_from(request).ok()?;
    Some(grpc::read_request(sent(&proto), operation).expect("what we write can be read"))
}

/// Sends a model, if it can be said.
fn again<P, M>(model: M) -> Option<M>
where
    P: TryFrom<M> + Message + Default,
    M: TryFrom<P, Error = Error>,
{
    let proto = P::try_from(model).ok()?;
    Some(sent(&proto).try_into().expect("what we write can be read"))
}

fn sent<P: Message + Default>(proto: &P) -> P {
    P::decode(proto.encode_to_vec().as_slice()).expect("what we write can be decoded")
}
