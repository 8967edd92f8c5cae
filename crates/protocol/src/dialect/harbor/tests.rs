use super::*;
use crate::{
    card::{
        AgentInterface, AgentSkill, ApiKeySecurityScheme, HttpAuthSecurityScheme,
        MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme,
        PasswordOAuthFlow, SecurityScheme,
    },
    jsonrpc::Id,
    wire::V1,
};

/// Reads a call, writes it again, and compares with what it was.
#[track_caller]
fn check_call(method: &str, params: &str) {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let call = Harbor.read_call(&body).unwrap_or_else(|error| panic!("{error:?}: {body}"));
    assert_eq!(Harbor.write_call(&call.echo.id(), &call.request).unwrap(), body);
}

/// Reads an answer, writes it again, and compares.
#[track_caller]
fn check_reply(operation: Operation, result: &str) {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    let outcome = Harbor.read_reply(operation, &body);
    let echo = Echo::new(Id::number(1), operation);
    assert_eq!(Harbor.write_reply(&echo, outcome.as_ref()), body);
}

/// Reads a frame, writes it again, and compares.
#[track_caller]
fn check_frame(data: &str) {
    let outcome = Harbor.read_frame(data);
    let echo = Echo::new(Id::number(0), Operation::SubscribeToTask);
    let frame = Harbor.write_frame(&echo, outcome.as_ref(), StreamEnd::Open);
    assert_eq!(frame, Frame::data(data.into()));
}

const MESSAGE: &str = r#"{"message_id":"m","context_id":"c","task_id":"t","role":"ROLE_AGENT","parts":[{"text":"x","metadata":{"someKey":1},"filename":"n","media_type":"text/plain"},{"raw":"aGk="},{"url":"https://h/x"},{"data":null},{"data":[{"innerKey":1}]}],"metadata":{"aB":{"cD":9007199254740993}},"extensions":["e"],"reference_task_ids":["r"]}"#;

const TASK: &str = r#"{"id":"t","context_id":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED","timestamp":"2026-08-20T09:00:00.000Z"},"artifacts":[{"artifact_id":"a","name":"n","parts":[{"text":"x"}]}],"metadata":{"kK":1}}"#;

#[test]
fn every_method_survives_in_snake_case() {
    // H-14
    let send = format!(
        r#"{{"tenant":"acme","message":{MESSAGE},"configuration":{{"accepted_output_modes":["text/plain"],"task_push_notification_config":{{"tenant":"acme","url":"u"}},"history_length":0,"return_immediately":true}},"metadata":{{"sK":1}}}}"#
    );
    check_call("message/send", &send);
    check_call("message/stream", &send);
    check_call("tasks/get", r#"{"tenant":"acme","id":"t","history_length":0}"#);
    check_call(
        "tasks/list",
        r#"{"context_id":"c","status":"TASK_STATE_WORKING","page_size":5,"page_token":"n","status_timestamp_after":"2026-08-20T09:00:00.000Z","include_artifacts":true}"#,
    );
    check_call("tasks/cancel", r#"{"id":"t","metadata":{"kK":1}}"#);
    check_call("tasks/subscribe", r#"{"tenant":"acme","id":"t"}"#);
    check_call(
        "tasks/pushNotificationConfig/set",
        r#"{"tenant":"acme","id":"p","task_id":"t","url":"u","token":"s","authentication":{"scheme":"Bearer","credentials":"c"}}"#,
    );
    check_call("tasks/pushNotificationConfig/get", r#"{"task_id":"t","id":"p"}"#);
    check_call("tasks/pushNotificationConfig/list", r#"{"task_id":"t","page_size":2}"#);
    check_call("tasks/pushNotificationConfig/delete", r#"{"task_id":"t","id":"p"}"#);
    check_call("agent/getAuthenticatedExtendedCard", r#"{"tenant":"acme"}"#);
    for &operation in Operation::ALL {
        let method = Harbor.method(operation).unwrap();
        assert_eq!(Harbor.operation(method), Some(operation));
    }
}

#[test]
fn the_resubscription_of_0_3_is_understood() {
    // C-04
    assert_eq!(Harbor.operation("tasks/resubscribe"), Some(Operation::SubscribeToTask));
}

#[test]
fn what_a_go_client_leaves_unset_is_unset() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/list","params":{"status":"TASK_STATE_UNSPECIFIED","status_timestamp_after":"0001-01-01T00:00:00Z"}}"#;
    let request = Harbor.read_call(body).unwrap().request;
    assert_eq!(request, Request::ListTasks(crate::operation::ListTasksRequest::default()));
}

#[test]
fn every_answer_survives_in_snake_case() {
    check_reply(Operation::SendMessage, &format!(r#"{{"task":{TASK}}}"#));
    check_reply(Operation::SendMessage, &format!(r#"{{"message":{MESSAGE}}}"#));
    check_reply(Operation::GetTask, TASK);
    check_reply(Operation::CancelTask, TASK);
    check_reply(
        Operation::ListTasks,
        &format!(r#"{{"tasks":[{TASK}],"next_page_token":"","page_size":50,"total_size":1}}"#),
    );
    let config = r#"{"tenant":"acme","id":"p","task_id":"t","url":"u"}"#;
    check_reply(Operation::CreateTaskPushNotificationConfig, config);
    check_reply(Operation::GetTaskPushNotificationConfig, config);
    check_reply(
        Operation::ListTaskPushNotificationConfigs,
        &format!(r#"{{"configs":[{config}],"next_page_token":"n"}}"#),
    );
    check_reply(Operation::DeleteTaskPushNotificationConfig, "{}");
}

#[test]
fn frames_are_bare_and_read_with_and_without_envelope() {
    // HG-02
    for data in [
        format!(r#"{{"task":{TASK}}}"#),
        format!(r#"{{"message":{MESSAGE}}}"#),
        r#"{"status_update":{"task_id":"t","context_id":"c","status":{"state":"TASK_STATE_WORKING"}}}"#.to_owned(),
        r#"{"artifact_update":{"task_id":"t","context_id":"c","artifact":{"artifact_id":"a","parts":[{"text":"x"}]},"append":true,"last_chunk":true}}"#.to_owned(),
    ] {
        check_frame(&data);
        let enveloped = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{data}}}"#);
        assert_eq!(Harbor.read_frame(&enveloped), Harbor.read_frame(&data));
    }
    let echo = Echo::new(Id::number(0), Operation::SubscribeToTask);
    let error = Error::new(ErrorKind::Internal, "gone");
    let frame = Harbor.write_frame(&echo, Err(&error), StreamEnd::Closing);
    assert!(frame.data.starts_with(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32603"#));
    assert_eq!(Harbor.read_frame(&frame.data).unwrap_err(), error);
    for data in ["", "7", "{}", r#"{"odd":1}"#] {
        let error = Harbor.read_frame(data).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{data}");
    }
}

#[test]
fn objects_of_other_forms_are_understood() {
    let read = |params: &str| {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"message/send","params":{params}}}"#);
        Harbor.read_call(&body).unwrap().request
    };
    let snake = r#"{"message":{"message_id":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}"#;
    let other = r#"{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}}"#;
    assert_eq!(read(snake), read(other));
    let bare = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{TASK}}}"#);
    let wrapped = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"task":{TASK}}}}}"#);
    assert_eq!(
        Harbor.read_reply(Operation::SendMessage, &bare),
        Harbor.read_reply(Operation::SendMessage, &wrapped)
    );
}

#[test]
fn every_error_survives_and_a_missing_task_has_the_code_that_harbor_knows() {
    // HG-03, C-16
    for &kind in ErrorKind::ALL {
        let error = Error::new(kind, "why").with_metadata("aB", "c").with_violation("a.b", "odd");
        let json = write_with(|writer| Harbor.write_error(&error, writer));
        let code = if kind == ErrorKind::TaskNotFound { 1 } else { kind.jsonrpc_code() };
        assert!(json.starts_with(&format!(r#"{{"code":{code},"message":"why""#)), "{json}");
        assert_eq!(read_with(&json, |reader| Harbor.read_error(reader)).unwrap(), error);
    }
    for code in [1, -32001] {
        let json = format!(r#"{{"code":{code},"message":"m"}}"#);
        let error = read_with(&json, |reader| Harbor.read_error(reader)).unwrap();
        assert_eq!(error, Error::new(ErrorKind::TaskNotFound, "m"));
    }
}

#[test]
fn bad_input_gets_the_errors_of_1_0() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for params in [
        "{}".to_owned(),
        r#"{"message":{"messageId":"m","parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","messageId":"n"}}"#.to_owned(),
        format!(r#"{{"x":{deep}}}"#),
    ] {
        let body = |method: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
        };
        let old = Harbor.read_call(&body("message/send")).unwrap_err();
        let new = V1.read_call(&body("SendMessage")).unwrap_err();
        assert_eq!(old.error.kind(), new.error.kind(), "{params}");
        assert_eq!(old.error.violations(), new.error.violations(), "{params}");
    }
}

#[test]
fn a_card_has_the_members_of_1_0_and_the_schemes_of_openapi() {
    let flow = PasswordOAuthFlow { token_url: "https://t".into(), ..Default::default() };
    let schemes = [
        SecurityScheme::ApiKey(ApiKeySecurityScheme {
            location: "header".into(),
            name: "X-Key".into(),
            ..Default::default()
        }),
        SecurityScheme::Http(HttpAuthSecurityScheme {
            description: "d".into(),
            scheme: "Bearer".into(),
            bearer_format: "JWT".into(),
        }),
        SecurityScheme::OAuth2(OAuth2SecurityScheme {
            description: String::new(),
            flows: OAuthFlows::Password(flow),
            oauth2_metadata_url: "https://m".into(),
        }),
        SecurityScheme::OpenIdConnect(OpenIdConnectSecurityScheme {
            open_id_connect_url: "https://o".into(),
            ..Default::default()
        }),
        SecurityScheme::MutualTls(MutualTlsSecurityScheme::default()),
    ];
    let names = ["a", "bC", "c", "d", "e"];
    let card = AgentCard {
        name: "Echo".into(),
        version: "1.0.0".into(),
        supported_interfaces: vec![AgentInterface {
            url: "https://a/rpc".into(),
            protocol_binding: "JSONRPC".into(),
            tenant: None,
            protocol_version: "1.0".into(),
        }],
        security_schemes: names.map(str::to_owned).into_iter().zip(schemes).collect(),
        default_input_modes: vec!["text/plain".into()],
        skills: vec![AgentSkill {
            id: "echo".into(),
            input_modes: vec!["text/plain".into()],
            ..Default::default()
        }],
        icon_url: Some("https://i".into()),
        ..Default::default()
    };
    let json = write_with(|writer| Harbor.write_card(&card, writer));
    assert_eq!(
        json,
        concat!(
            r#"{"name":"Echo","description":"","supported_interfaces":[{"url":"https://a/rpc","#,
            r#""protocol_binding":"JSONRPC","protocol_version":"1.0"}],"version":"1.0.0","#,
            r#""capabilities":{},"security_schemes":{"#,
            r#""a":{"type":"apiKey","in":"header","name":"X-Key"},"#,
            r#""bC":{"type":"http","description":"d","scheme":"Bearer","bearerFormat":"JWT"},"#,
            r#""c":{"type":"oauth2","flows":{"password":{"tokenUrl":"https://t"}},"oauth2MetadataUrl":"https://m"},"#,
            r#""d":{"type":"openIdConnect","openIdConnectUrl":"https://o"},"#,
            r#""e":{"type":"mutualTLS"}},"#,
            r#""default_input_modes":["text/plain"],"default_output_modes":[],"#,
            r#""skills":[{"id":"echo","name":"","description":"","tags":[],"input_modes":["text/plain"]}],"#,
            r#""icon_url":"https://i"}"#,
        )
    );
    let reply = Harbor.write_reply(
        &Echo::new(Id::number(1), Operation::GetExtendedAgentCard),
        Ok(&Response::Card(card.clone())),
    );
    let back = Harbor.read_reply(Operation::GetExtendedAgentCard, &reply);
    assert_eq!(back, Ok(Response::Card(card)));
}
