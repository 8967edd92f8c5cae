//! A2A 1.0 on gRPC: what survives, and what is refused in the words of the JSON reader.

mod model;

use std::fmt::Debug;

use nuncio_protocol::{
    card::{AgentCard, OAuth2SecurityScheme, SecurityScheme},
    error,
    grpc::{self, v1},
    json::{self, Error, FromJson},
    message::Message,
    operation::{
        GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTasksRequest, Operation, Request,
        SendMessageConfiguration, SendMessageRequest,
    },
    push::TaskPushNotificationConfig,
    task::{SendMessageResponse, StreamResponse, Task, TaskStatus, TaskStatusUpdateEvent},
};
use proptest::prelude::*;

/// Sends a model as the bytes of a protobuf message, and reads them.
fn trip<P, M>(model: &M) -> Result<M, Error>
where
    P: From<M> + prost::Message + Default,
    M: TryFrom<P, Error = Error> + Clone,
{
    let bytes = P::from(model.clone()).encode_to_vec();
    P::decode(bytes.as_slice()).expect("what we write can be decoded").try_into()
}

proptest! {
    #[test]
    fn messages_survive(message in model::message::message()) {
        prop_assert_eq!(trip::<v1::Message, _>(&message).unwrap(), message);
    }

    #[test]
    fn tasks_survive(task in model::task::task()) {
        prop_assert_eq!(trip::<v1::Task, _>(&task).unwrap(), task);
    }

    #[test]
    fn events_survive(event in model::task::event()) {
        prop_assert_eq!(trip::<v1::StreamResponse, _>(&event).unwrap(), event);
    }

    #[test]
    fn answers_to_messages_survive(response in model::task::send_response()) {
        prop_assert_eq!(trip::<v1::SendMessageResponse, _>(&response).unwrap(), response);
    }

    #[test]
    fn pages_of_tasks_survive(page in model::operation::tasks()) {
        prop_assert_eq!(trip::<v1::ListTasksResponse, _>(&page).unwrap(), page);
    }

    #[test]
    fn pages_of_webhooks_survive(page in model::operation::push_configs()) {
        let read = trip::<v1::ListTaskPushNotificationConfigsResponse, _>(&page);
        prop_assert_eq!(read.unwrap(), page);
    }

    #[test]
    fn cards_survive(card in model::card::card()) {
        prop_assert_eq!(trip::<v1::AgentCard, _>(&card).unwrap(), card);
    }

    #[test]
    fn requests_survive(request in model::operation::request()) {
        prop_assert_eq!(request_trip(request.clone()).unwrap(), request);
    }
}

fn request_trip(request: Request) -> Result<Request, Error> {
    match request {
        Request::SendMessage(request) => {
            grpc::read_request(v1::SendMessageRequest::from(request), Request::SendMessage)
        }
        Request::SendStreamingMessage(request) => {
            grpc::read_request(v1::SendMessageRequest::from(request), Request::SendStreamingMessage)
        }
        Request::GetTask(request) => {
            grpc::read_request(v1::GetTaskRequest::from(request), Request::GetTask)
        }
        Request::ListTasks(request) => {
            grpc::read_request(v1::ListTasksRequest::from(request), Request::ListTasks)
        }
        Request::CancelTask(request) => {
            grpc::read_request(v1::CancelTaskRequest::from(request), Request::CancelTask)
        }
        Request::SubscribeToTask(request) => {
            grpc::read_request(v1::SubscribeToTaskRequest::from(request), Request::SubscribeToTask)
        }
        Request::CreateTaskPushNotificationConfig(config) => grpc::read_request(
            v1::TaskPushNotificationConfig::from(config),
            Request::CreateTaskPushNotificationConfig,
        ),
        Request::GetTaskPushNotificationConfig(request) => grpc::read_request(
            v1::GetTaskPushNotificationConfigRequest::from(request),
            Request::GetTaskPushNotificationConfig,
        ),
        Request::ListTaskPushNotificationConfigs(request) => grpc::read_request(
            v1::ListTaskPushNotificationConfigsRequest::from(request),
            Request::ListTaskPushNotificationConfigs,
        ),
        Request::DeleteTaskPushNotificationConfig(request) => grpc::read_request(
            v1::DeleteTaskPushNotificationConfigRequest::from(request),
            Request::DeleteTaskPushNotificationConfig,
        ),
        Request::GetExtendedAgentCard(request) => grpc::read_request(
            v1::GetExtendedAgentCardRequest::from(request),
            Request::GetExtendedAgentCard,
        ),
    }
}

/// Checks that a protobuf message is refused as the JSON text is, which says the same.
#[track_caller]
fn refused_alike<M>(proto: impl TryInto<M, Error = Error>, json: &str, expected: &str)
where
    M: FromJson + Debug,
{
    let error = proto.try_into().expect_err("the message must be refused");
    assert_eq!(error.to_string(), expected);
    assert_eq!(error, json::from_str::<M>(json).expect_err("the text must be refused"));
}

/// The same for requests, which are also checked as a whole.
#[track_caller]
fn refused_request_alike<P, M>(
    proto: P,
    operation: impl FnOnce(M) -> Request,
    json: (Operation, &str),
    expected: &str,
) where
    M: TryFrom<P, Error = Error>,
{
    let error = grpc::read_request(proto, operation).expect_err("the request must be refused");
    assert_eq!(error.to_string(), expected);
    let read = json::read_with(json.1, |reader| Request::read(json.0, reader));
    assert_eq!(error, read.expect_err("the text must be refused"));
}

fn message() -> v1::Message {
    Message::user("hi").into()
}

const LONG: &str = "an identifier has 1 to 256 bytes, this has 257";

#[test]
fn missing_and_long_identifiers_are_refused() {
    let long = "x".repeat(257);
    refused_alike::<Message>(
        v1::Message { message_id: String::new(), ..message() },
        r#"{"role":"ROLE_USER","parts":[]}"#,
        "`messageId`: is required",
    );
    refused_alike::<Message>(
        v1::Message { message_id: long.clone(), ..message() },
        &format!(r#"{{"messageId":"{long}","role":"ROLE_USER","parts":[]}}"#),
        &format!("`messageId`: {LONG}"),
    );
    refused_alike::<Message>(
        v1::Message { context_id: long.clone(), ..message() },
        &format!(r#"{{"messageId":"m","contextId":"{long}","role":1,"parts":[]}}"#),
        &format!("`contextId`: {LONG}"),
    );
    refused_alike::<Message>(
        v1::Message { reference_task_ids: vec!["t".to_owned(), String::new()], ..message() },
        r#"{"messageId":"m","role":1,"parts":[],"referenceTaskIds":["t",""]}"#,
        "`referenceTaskIds[1]`: an identifier has 1 to 256 bytes, this has 0",
    );
    refused_alike::<GetTaskPushNotificationConfigRequest>(
        v1::GetTaskPushNotificationConfigRequest { task_id: "t".to_owned(), ..Default::default() },
        r#"{"taskId":"t"}"#,
        "`id`: is required",
    );
    refused_alike::<TaskStatusUpdateEvent>(
        v1::TaskStatusUpdateEvent { task_id: "t".to_owned(), ..Default::default() },
        r#"{"taskId":"t","status":{"state":1}}"#,
        "`contextId`: is required",
    );
}

#[test]
fn unknown_numbers_of_enumerations_are_refused() {
    refused_alike::<Message>(
        v1::Message { role: 3, ..message() },
        r#"{"messageId":"m","role":3,"parts":[]}"#,
        "`role`: `3` is not one of ROLE_UNSPECIFIED, ROLE_USER, ROLE_AGENT",
    );
    let status = v1::TaskStatus { state: -1, ..Default::default() };
    let error = TaskStatus::try_from(status).unwrap_err();
    assert_eq!(error, json::from_str::<TaskStatus>(r#"{"state":-1}"#).unwrap_err());
}

#[test]
fn an_empty_oneof_is_refused() {
    refused_alike::<Message>(
        v1::Message {
            parts: vec![v1::Part::default(), v1::Part { content: None, ..Default::default() }],
            ..message()
        },
        r#"{"messageId":"m","role":1,"parts":[{}]}"#,
        "`parts[0]`: needs one of text, raw, url, data",
    );
    refused_alike::<StreamResponse>(
        v1::StreamResponse::default(),
        "{}",
        "needs one of `task` `message` `statusUpdate` `artifactUpdate`",
    );
    refused_alike::<SendMessageResponse>(
        v1::SendMessageResponse::default(),
        "{}",
        "needs one of `task` `message`",
    );
    refused_alike::<SecurityScheme>(
        v1::SecurityScheme::default(),
        "{}",
        "needs one of `apiKeySecurityScheme` `httpAuthSecurityScheme` `oauth2SecurityScheme` \
         `openIdConnectSecurityScheme` `mtlsSecurityScheme`",
    );
    refused_alike::<OAuth2SecurityScheme>(
        v1::OAuth2SecurityScheme { flows: Some(v1::OAuthFlows::default()), ..Default::default() },
        r#"{"flows":{}}"#,
        "`flows`: needs one of `authorizationCode` `clientCredentials` `implicit` `password` \
         `deviceCode`",
    );
}

#[test]
fn missing_messages_and_texts_are_refused() {
    refused_alike::<SendMessageRequest>(
        v1::SendMessageRequest::default(),
        "{}",
        "`message`: is required",
    );
    refused_alike::<Task>(
        v1::Task { id: "t".to_owned(), ..Default::default() },
        r#"{"id":"t"}"#,
        "`status`: is required",
    );
    refused_alike::<TaskPushNotificationConfig>(
        v1::TaskPushNotificationConfig::default(),
        "{}",
        "`url`: is required",
    );
    refused_alike::<AgentCard>(v1::AgentCard::default(), "{}", "`name`: is required");
    refused_alike::<OAuth2SecurityScheme>(
        v1::OAuth2SecurityScheme::default(),
        "{}",
        "`flows`: is required",
    );
}

#[test]
fn the_path_leads_to_the_field() {
    let scheme = v1::AuthenticationInfo::default();
    let config = v1::TaskPushNotificationConfig {
        url: "https://cb.example".to_owned(),
        authentication: Some(scheme),
        ..Default::default()
    };
    let configuration = v1::SendMessageConfiguration {
        task_push_notification_config: Some(config),
        ..Default::default()
    };
    refused_alike::<SendMessageConfiguration>(
        configuration,
        r#"{"taskPushNotificationConfig":{"url":"u","authentication":{}}}"#,
        "`taskPushNotificationConfig.authentication.scheme`: is required",
    );
    let schemes = [("key".to_owned(), v1::SecurityScheme::default())].into();
    let card =
        v1::AgentCard { name: "n".to_owned(), security_schemes: schemes, ..Default::default() };
    let error = AgentCard::try_from(card).unwrap_err();
    assert_eq!(error.path(), "securitySchemes.key");
    let event = v1::StreamResponse {
        payload: Some(v1::stream_response::Payload::Task(v1::Task {
            id: "t".to_owned(),
            status: Some(v1::TaskStatus::default()),
            history: vec![message(), v1::Message::default()],
            ..Default::default()
        })),
    };
    refused_alike::<StreamResponse>(
        event,
        r#"{"task":{"id":"t","status":{"state":0},"history":[{"messageId":"m","role":1,"parts":[]},{}]}}"#,
        "`task.history[1].messageId`: is required",
    );
}

#[test]
fn requests_are_checked_as_a_whole() {
    let send = |message| v1::SendMessageRequest { message: Some(message), ..Default::default() };
    refused_request_alike(
        send(v1::Message { parts: vec![], ..message() }),
        Request::SendMessage,
        (Operation::SendMessage, r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#),
        "`message.parts`: needs at least one part",
    );
    refused_request_alike(
        send(v1::Message { role: 0, ..message() }),
        Request::SendStreamingMessage,
        (
            Operation::SendStreamingMessage,
            r#"{"message":{"messageId":"m","role":"ROLE_UNSPECIFIED","parts":[{"text":"x"}]}}"#,
        ),
        "`message.role`: must be ROLE_USER or ROLE_AGENT",
    );
    let configuration =
        v1::SendMessageConfiguration { history_length: Some(-1), ..Default::default() };
    refused_request_alike(
        v1::SendMessageRequest { configuration: Some(configuration), ..send(message()) },
        Request::SendMessage,
        (
            Operation::SendMessage,
            r#"{"message":{"messageId":"m","role":1,"parts":[{"text":"x"}]},"configuration":{"historyLength":-1}}"#,
        ),
        "`configuration.historyLength`: must not be negative",
    );
    refused_request_alike(
        v1::GetTaskRequest { id: "t".to_owned(), history_length: Some(-1), ..Default::default() },
        Request::GetTask,
        (Operation::GetTask, r#"{"id":"t","historyLength":-1}"#),
        "`historyLength`: must not be negative",
    );
    for size in [0, 101, -1] {
        refused_request_alike(
            v1::ListTasksRequest { page_size: Some(size), ..Default::default() },
            Request::ListTasks,
            (Operation::ListTasks, &format!(r#"{{"pageSize":{size}}}"#)),
            "`pageSize`: must be between 1 and 100",
        );
    }
    refused_request_alike(
        v1::TaskPushNotificationConfig { url: "u".to_owned(), ..Default::default() },
        Request::CreateTaskPushNotificationConfig,
        (Operation::CreateTaskPushNotificationConfig, r#"{"url":"u"}"#),
        "`taskId`: is required",
    );
    refused_request_alike(
        v1::ListTaskPushNotificationConfigsRequest {
            task_id: "t".to_owned(),
            page_size: -1,
            ..Default::default()
        },
        Request::ListTaskPushNotificationConfigs,
        (Operation::ListTaskPushNotificationConfigs, r#"{"taskId":"t","pageSize":-1}"#),
        "`pageSize`: must not be negative",
    );
}

#[test]
fn a_refusal_becomes_a_violation_that_names_the_field() {
    let error = GetTaskRequest::try_from(v1::GetTaskRequest::default()).unwrap_err();
    let error = error::Error::from(error);
    assert_eq!(error.kind(), error::ErrorKind::InvalidParams);
    assert_eq!(error.violations()[0].field, "id");
}

/// Zero is said, not left out: none of the history, not all of it.
#[test]
fn presence_survives_where_protobuf_keeps_it() {
    let request = ListTasksRequest {
        history_length: Some(0),
        include_artifacts: Some(false),
        ..Default::default()
    };
    assert_eq!(trip::<v1::ListTasksRequest, _>(&request), Ok(request));
    let request = ListTasksRequest::default();
    assert_eq!(trip::<v1::ListTasksRequest, _>(&request), Ok(request));
}
