//! A request reaches the method of the service that it asks for.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use nuncio_protocol::{
    card::AgentCard,
    error::{Error, ErrorKind},
    json::{self, Shared},
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, Operation, Request, SendMessageRequest,
        SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::{A2aService, Answer, CallContext, Caller, Events, call},
    task::{SendMessageResponse, Task},
};

/// Answers everything with the name of the operation, as an error.
struct Names;

macro_rules! names {
    ($($method:ident($request:ty) -> $answer:ty = $operation:ident,)*) => {
        impl A2aService for Names {
            $(fn $method(&self, _: CallContext, _: $request) -> Answer<'_, $answer> {
                let name = Operation::$operation.name();
                Box::pin(async move { Err(Error::new(ErrorKind::Internal, name)) })
            })*
        }
    };
}

names! {
    send_message(SendMessageRequest) -> Shared<SendMessageResponse> = SendMessage,
    send_streaming_message(SendMessageRequest) -> Events = SendStreamingMessage,
    get_task(GetTaskRequest) -> Shared<Task> = GetTask,
    list_tasks(ListTasksRequest) -> Shared<ListTasksResponse> = ListTasks,
    cancel_task(CancelTaskRequest) -> Shared<Task> = CancelTask,
    subscribe_to_task(SubscribeToTaskRequest) -> Events = SubscribeToTask,
    create_push_config(TaskPushNotificationConfig) -> TaskPushNotificationConfig =
        CreateTaskPushNotificationConfig,
    get_push_config(GetTaskPushNotificationConfigRequest) -> TaskPushNotificationConfig =
        GetTaskPushNotificationConfig,
    list_push_configs(ListTaskPushNotificationConfigsRequest)
        -> ListTaskPushNotificationConfigsResponse = ListTaskPushNotificationConfigs,
    delete_push_config(DeleteTaskPushNotificationConfigRequest) -> () =
        DeleteTaskPushNotificationConfig,
    get_extended_card(GetExtendedAgentCardRequest) -> AgentCard = GetExtendedAgentCard,
}

#[test]
fn every_operation_reaches_its_method() {
    let everything = r#"{"id":"x","taskId":"t","url":"u",
        "message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}"#;
    for &operation in Operation::ALL {
        let request =
            json::read_with(everything, |reader| Request::read(operation, reader)).unwrap();
        assert_eq!(request.operation(), operation);
        let answer = pin!(call(&Names, CallContext::new(Caller::Anonymous), request));
        match answer.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(error)) => assert_eq!(error.message(), operation.name()),
            other => panic!("{}: {other:?}", operation.name()),
        }
    }
}
