//! A2A 1.0 on gRPC: what is refused, in the words of the JSON reader.

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
    let said = ListTasksRequest {
        history_length: Some(0),
        include_artifacts: Some(false),
        ..Default::default()
    };
    for request in [said, ListTasksRequest::default()] {
        let proto = v1::ListTasksRequest::from(request.clone());
        assert_eq!(ListTasksRequest::try_from(proto), Ok(request));
    }
}
