//! Everything that can be called is a service like any other.

use futures_util::{FutureExt as _, StreamExt as _};
use nuncio_protocol::{
    card::AgentCard,
    error::{Error as ProtocolError, ErrorKind},
    json::Shared,
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, Request, Response, SendMessageRequest,
        SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::{A2aService, Answer, Answered, CallContext, Events},
    task::{SendMessageResponse, Task},
};

use crate::{client::Agent, error::Error, remote::Remote, stream::Followed};

/// Picks the answer of one operation.
macro_rules! pick {
    ($variant:ident) => {
        |answered| match answered {
            Answered::$variant(answer) => Some(answer),
            _ => None,
        }
    };
    (Other($variant:ident)) => {
        |answered| match answered {
            Answered::Other(response) => match *response {
                Response::$variant(answer) => Some(answer),
                _ => None,
            },
            _ => None,
        }
    };
}

macro_rules! service {
    ($caller:ty) => {
        impl A2aService for $caller {
            fn send_message(
                &self,
                ctx: CallContext,
                request: SendMessageRequest,
            ) -> Answer<'_, Shared<SendMessageResponse>> {
                Box::pin(answer(self.call(ctx, Request::SendMessage(request)), pick!(SendMessage)))
            }

            fn send_streaming_message(
                &self,
                ctx: CallContext,
                request: SendMessageRequest,
            ) -> Answer<'_, Events> {
                Box::pin(events(self.stream(ctx, Request::SendStreamingMessage(request))))
            }

            fn get_task(
                &self,
                ctx: CallContext,
                request: GetTaskRequest,
            ) -> Answer<'_, Shared<Task>> {
                Box::pin(answer(self.call(ctx, Request::GetTask(request)), pick!(Task)))
            }

            fn list_tasks(
                &self,
                ctx: CallContext,
                request: ListTasksRequest,
            ) -> Answer<'_, Shared<ListTasksResponse>> {
                Box::pin(answer(self.call(ctx, Request::ListTasks(request)), pick!(Tasks)))
            }

            fn cancel_task(
                &self,
                ctx: CallContext,
                request: CancelTaskRequest,
            ) -> Answer<'_, Shared<Task>> {
                Box::pin(answer(self.call(ctx, Request::CancelTask(request)), pick!(Task)))
            }

            fn subscribe_to_task(
                &self,
                ctx: CallContext,
                request: SubscribeToTaskRequest,
            ) -> Answer<'_, Events> {
                Box::pin(events(self.stream(ctx, Request::SubscribeToTask(request))))
            }

            fn create_push_config(
                &self,
                ctx: CallContext,
                request: TaskPushNotificationConfig,
            ) -> Answer<'_, TaskPushNotificationConfig> {
                let request = Request::CreateTaskPushNotificationConfig(request);
                Box::pin(answer(self.call(ctx, request), pick!(Other(PushConfig))))
            }

            fn get_push_config(
                &self,
                ctx: CallContext,
                request: GetTaskPushNotificationConfigRequest,
            ) -> Answer<'_, TaskPushNotificationConfig> {
                let request = Request::GetTaskPushNotificationConfig(request);
                Box::pin(answer(self.call(ctx, request), pick!(Other(PushConfig))))
            }

            fn list_push_configs(
                &self,
                ctx: CallContext,
                request: ListTaskPushNotificationConfigsRequest,
            ) -> Answer<'_, ListTaskPushNotificationConfigsResponse> {
                let request = Request::ListTaskPushNotificationConfigs(request);
                Box::pin(answer(self.call(ctx, request), pick!(Other(PushConfigs))))
            }

            fn delete_push_config(
                &self,
                ctx: CallContext,
                request: DeleteTaskPushNotificationConfigRequest,
            ) -> Answer<'_, ()> {
                let request = Request::DeleteTaskPushNotificationConfig(request);
                Box::pin(answer(self.call(ctx, request), |answered| match answered {
                    Answered::Other(response) => {
                        matches!(*response, Response::Deleted).then_some(())
                    }
                    _ => None,
                }))
            }

            fn get_extended_card(
                &self,
                ctx: CallContext,
                request: GetExtendedAgentCardRequest,
            ) -> Answer<'_, AgentCard> {
                Box::pin(answer(
                    self.call(ctx, Request::GetExtendedAgentCard(request)),
                    pick!(Other(Card)),
                ))
            }
        }
    };
}

service!(Remote);
service!(Agent);

/// Picks the answer to a call. The future is hardly larger than that of the call.
fn answer<T>(
    call: impl Future<Output = Result<Answered, Error>>,
    pick: fn(Answered) -> Option<T>,
) -> impl Future<Output = Result<T, ProtocolError>> {
    call.map(move |answered| pick(answered?).ok_or_else(unexpected))
}

fn events(
    stream: impl Future<Output = Result<Followed, Error>>,
) -> impl Future<Output = Result<Events, ProtocolError>> {
    stream.map(|followed| {
        let events: Events = Box::pin(followed?.map(|event| event.map_err(ProtocolError::from)));
        Ok(events)
    })
}

/// Says that a transport answered with what was not asked for, which none does.
pub(crate) fn unexpected() -> ProtocolError {
    ProtocolError::new(ErrorKind::Internal, "the answer is not of its operation")
}
