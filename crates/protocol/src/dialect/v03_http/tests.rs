use super::*;
use crate::{
    error::ErrorKind,
    http::V1Http,
    ids::{ContextId, TaskId},
    message::{Message, Part, Role},
    operation::{GetTaskRequest, ListTasksRequest, SendMessageConfiguration},
    task::{SendMessageResponse, Task, TaskStatus},
};

fn call<'a>(method: &'a str, target: &'a str, body: &'a str) -> HttpCall<'a> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    HttpCall { method, path, query, body: body.as_bytes() }
}

#[track_caller]
fn read(method: &str, target: &str, body: &str) -> Request {
    V03Http
        .read_call(&call(method, target, body))
        .unwrap_or_else(|error| panic!("{error:?}: {method} {target} {body}"))
}

/// Reads a call, writes it again, and compares with what it was.
#[track_caller]
fn check_call(method: &str, target: &str, body: &str) {
    let written = V03Http.write_call(&read(method, target, body)).unwrap();
    assert_eq!((written.method, written.path.as_str()), (method, target));
    assert_eq!(written.body.unwrap_or_default(), body);
}

/// Reads an answer, writes it again, and compares.
#[track_caller]
fn check_reply(operation: Operation, body: &str) {
    let response = V03Http.read_reply(operation, 200, body.as_bytes()).unwrap();
    assert_eq!(
        V03Http.write_reply(operation, Ok(&response)),
        HttpReply { status: 200, body: body.into() }
    );
}

/// Reads a frame, writes it again, and compares.
#[track_caller]
fn check_frame(data: &str, end: StreamEnd) {
    let event = V03Http.read_frame(data).unwrap();
    assert_eq!(V03Http.write_frame(Ok(&event), end), Frame::data(data.into()));
}

// The samples of the compatibility digest, §9.

#[test]
fn the_sample_of_sending_survives() {
    check_call(
        "POST",
        "/v1/message:send",
        r#"{"message":{"messageId":"m1","role":"ROLE_USER","content":[{"text":"hi"}]},"configuration":{"blocking":true}}"#,
    );
    check_reply(
        Operation::SendMessage,
        r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a1","parts":[{"file":{"fileWithUri":"https://h/x","mimeType":"text/plain"}}]}]}}"#,
    );
}

// Every path, with everything it can carry.

#[test]
fn every_path_survives_with_all_it_can_carry() {
    let message = r#"{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_AGENT","content":[{"text":"x","metadata":{"a":1}},{"file":{"fileWithBytes":"aGk=","mimeType":"a/b","name":"n"}},{"data":{"data":{"k":[1e2]}}},{"data":{"data":{"value":7}},"metadata":{"data_part_compat":true}}],"metadata":{"m":9007199254740993},"extensions":["https://e/1"]}"#;
    let send = format!(
        r#"{{"message":{message},"configuration":{{"acceptedOutputModes":["text/plain"],"pushNotification":{{"id":"p","url":"u","token":"s"}},"historyLength":3,"blocking":false}},"metadata":{{"x":1}}}}"#
    );
    check_call("POST", "/v1/message:send", &send);
    check_call("POST", "/v1/message:stream", &send);
    check_call("POST", "/v1/message:stream", &format!(r#"{{"message":{message}}}"#));
    check_call("GET", "/v1/tasks/a%2Fb:x?historyLength=3", "");
    check_call("POST", "/v1/tasks/t:cancel", "{}");
    check_call("GET", "/v1/tasks/t:subscribe", "");
    check_call(
        "POST",
        "/v1/tasks/t/pushNotificationConfigs",
        r#"{"parent":"tasks/t","configId":"p","config":{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"id":"p","url":"u","authentication":{"schemes":["Bearer"],"credentials":"s"}}}}"#,
    );
    check_call("GET", "/v1/tasks/t/pushNotificationConfigs?pageSize=2&pageToken=n", "");
    check_call("GET", "/v1/tasks/t/pushNotificationConfigs/p", "");
    check_call("DELETE", "/v1/tasks/t/pushNotificationConfigs/p", "");
    check_call("GET", "/v1/card", "");
}

#[test]
fn every_answer_survives() {
    let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELLED","message":{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"stopped"}]},"timestamp":"2026-08-20T09:00:00.000Z"},"artifacts":[{"artifactId":"a","name":"n","description":"d","parts":[{"text":"x"}],"metadata":{"k":1},"extensions":["e"]}],"history":[{"messageId":"m0","role":"ROLE_USER","content":[{"text":"go"}]}],"metadata":{}}"#;
    let config = r#"{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"id":"p","url":"u"}}"#;
    check_reply(Operation::SendMessage, &format!(r#"{{"task":{task}}}"#));
    check_reply(
        Operation::SendMessage,
        r#"{"message":{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"x"}]}}"#,
    );
    check_reply(Operation::GetTask, task);
    check_reply(Operation::CancelTask, task);
    check_reply(
        Operation::ListTasks,
        &format!(r#"{{"tasks":[{task}],"nextPageToken":"","pageSize":50,"totalSize":1}}"#),
    );
    check_reply(Operation::CreateTaskPushNotificationConfig, config);
    check_reply(Operation::GetTaskPushNotificationConfig, config);
    check_reply(
        Operation::ListTaskPushNotificationConfigs,
        &format!(r#"{{"configs":[{config}],"nextPageToken":"n"}}"#),
    );
    check_reply(Operation::DeleteTaskPushNotificationConfig, "{}");
}

#[test]
fn every_event_survives() {
    let end = r#""contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"},"final":true"#;
    check_frame(
        r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}"#,
        StreamEnd::Open,
    );
    check_frame(
        r#"{"message":{"messageId":"m","role":"ROLE_AGENT","content":[]}}"#,
        StreamEnd::Open,
    );
    check_frame(
        r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":{"k":1}}}"#,
        StreamEnd::Open,
    );
    check_frame(&format!(r#"{{"statusUpdate":{{"taskId":"t",{end}}}}}"#), StreamEnd::Closing);
    check_frame(
        r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true,"lastChunk":true}}"#,
        StreamEnd::Open,
    );
}

// What is read more tolerantly than it is written.

#[test]
fn requests_are_read_in_the_spellings_of_every_sdk() {
    let expected = read(
        "POST",
        "/v1/message:send",
        r#"{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"},{"data":{"data":{"k":1}}}]},"configuration":{"pushNotification":{"url":"u"},"blocking":false}}"#,
    );
    for body in [
        // Protobuf names, as the Python SDK sends them; 0 is unset.
        r#"{"request":{"message_id":"m","role":"ROLE_USER","content":[{"text":"x"},{"data":{"data":{"k":1}}}]},"configuration":{"push_notification":{"url":"u"},"history_length":0}}"#,
        // The shapes of the JSON schema.
        r#"{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"},{"kind":"data","data":{"k":1}}]},"configuration":{"pushNotificationConfig":{"url":"u"}}}"#,
    ] {
        assert_eq!(read("POST", "/v1/message:send", body), expected, "{body}");
    }
}

#[test]
fn what_protobuf_leaves_out_is_false_or_unspecified() {
    let message = r#""message":{"messageId":"m","role":1,"content":[{"text":"x"}]}"#;
    for (configuration, waits) in [
        ("", true),
        (r#","configuration":null"#, true),
        (r#","configuration":{}"#, false),
        (r#","configuration":{"blocking":false}"#, false),
        (r#","configuration":{"blocking":true}"#, true),
    ] {
        let body = format!("{{{message}{configuration}}}");
        let Request::SendMessage(request) = read("POST", "/v1/message:send", &body) else {
            panic!("a message is sent");
        };
        assert_eq!(!request.returns_immediately(), waits, "{body}");
    }
    let body = br#"{"id":"t","contextId":"c","status":{}}"#;
    let Response::Task(task) = V03Http.read_reply(Operation::GetTask, 200, body).unwrap() else {
        panic!("a task is answered");
    };
    assert_eq!(task.status.state, TaskState::Unspecified);
}

#[test]
fn a_webhook_is_created_from_each_body_seen() {
    let target = "/v1/tasks/t/pushNotificationConfigs";
    let expected = read(
        "POST",
        target,
        r#"{"parent":"tasks/t","config":{"pushNotificationConfig":{"url":"u"}}}"#,
    );
    for body in [
        r#"{"name":"tasks/t/pushNotificationConfigs/","pushNotificationConfig":{"url":"u"}}"#,
        r#"{"taskId":"t","pushNotificationConfig":{"url":"u"}}"#,
        r#"{"pushNotificationConfig":{"url":"u"}}"#,
        r#"{"url":"u"}"#,
    ] {
        assert_eq!(read("POST", target, body), expected, "{body}");
    }
    let named = read("POST", target, r#"{"pushNotificationConfig":{"id":"p","url":"u"}}"#);
    let by_query = read("POST", &format!("{target}?configId=p"), r#"{"url":"u"}"#);
    assert_eq!(by_query, named);
    let singular = "/v1/task/t/pushNotificationConfigs";
    assert_eq!(read("POST", singular, r#"{"url":"u"}"#), expected);
}

#[test]
fn bodies_that_say_nothing_may_be_empty_or_null() {
    let expected = read("POST", "/v1/tasks/t:cancel", "{}");
    for body in ["", " ", "null", r#"{"name":"tasks/t"}"#] {
        assert_eq!(read("POST", "/v1/tasks/t:cancel", body), expected);
    }
    let expected = read("GET", "/v1/tasks/t:subscribe", "");
    assert_eq!(read("POST", "/v1/tasks/t:subscribe", "null"), expected);
}

#[test]
fn history_of_length_0_is_unset() {
    let Request::GetTask(request) = read("GET", "/v1/tasks/t?history_length=0", "") else {
        panic!("a task is asked for");
    };
    assert_eq!(request.history_length, None);
    let request = GetTaskRequest { history_length: Some(0), ..request };
    let target = V03Http.write_call(&Request::GetTask(request)).unwrap();
    assert_eq!(target.path, "/v1/tasks/t");
}

#[test]
fn tasks_are_listed_for_who_asks_but_never_asked_for() {
    for status in ["TASK_STATE_CANCELLED", "TASK_STATE_CANCELED", "canceled", "5"] {
        let request = read("GET", &format!("/v1/tasks?status={status}"), "");
        let expected =
            ListTasksRequest { status: TaskState::Canceled, ..ListTasksRequest::default() };
        assert_eq!(request, Request::ListTasks(expected), "{status}");
    }
    let error = V03Http.write_call(&Request::ListTasks(ListTasksRequest::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
}

#[test]
fn answers_are_read_in_the_shapes_of_every_sdk() {
    let read = |operation, status, body: &str| {
        V03Http.read_reply(operation, status, body.as_bytes()).unwrap()
    };
    let message = r#"{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"x"}]}"#;
    let expected = read(Operation::SendMessage, 201, &format!(r#"{{"message":{message}}}"#));
    for body in [
        format!(r#"{{"msg":{message}}}"#),
        message.to_owned(),
        r#"{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"x"}]}"#
            .to_owned(),
    ] {
        assert_eq!(read(Operation::SendMessage, 200, &body), expected, "{body}");
    }
    let list = Operation::ListTaskPushNotificationConfigs;
    assert_eq!(
        read(list, 200, r#"{"configs":[{"url":"u"}]}"#),
        read(list, 200, r#"[{"url":"u"}]"#)
    );
    let delete = Operation::DeleteTaskPushNotificationConfig;
    for (status, body) in [(204, ""), (200, "{}"), (200, "null")] {
        assert_eq!(read(delete, status, body), Response::Deleted);
    }
}

#[test]
fn a_card_is_read_in_both_shapes_and_written_in_that_of_the_schema() {
    let schema = r#"{"protocolVersion":"0.3.0","name":"Echo","description":"d","url":"https://a/rpc","preferredTransport":"HTTP+JSON","version":"1","capabilities":{},"security":[{"k":["s"]}],"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"K"}},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}"#;
    let proto = r#"{"protocolVersion":"0.3.0","name":"Echo","description":"d","url":"https://a/rpc","preferredTransport":"HTTP+JSON","version":"1","security":[{"schemes":{"k":{"list":["s"]}}}],"securitySchemes":{"k":{"apiKeySecurityScheme":{"location":"header","name":"K"}}}}"#;
    let read = |body: &str| {
        V03Http.read_reply(Operation::GetExtendedAgentCard, 200, body.as_bytes()).unwrap()
    };
    assert_eq!(read(schema), read(proto));
    let written = V03Http.write_reply(Operation::GetExtendedAgentCard, Ok(&read(schema))).body;
    let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
    assert_eq!(value(&written), value(schema));
}

// What the model has and this form has not.

#[test]
fn what_has_no_field_is_left_out() {
    let mut message = Message::new(Role::Unspecified, Part::text("x").with_media_type("a/b"));
    message.reference_task_ids = vec![TaskId::parse("r").unwrap()];
    let wishes = SendMessageConfiguration { history_length: Some(0), ..Default::default() };
    let mut request = SendMessageRequest::new(message);
    request.configuration = Some(wishes);
    let body = V03Http.write_call(&Request::SendMessage(request)).unwrap().body.unwrap();
    assert!(body.contains(r#""role":"ROLE_UNSPECIFIED","content":[{"text":"x"}]}"#), "{body}");
    assert!(body.contains(r#""configuration":{"blocking":true}"#), "{body}");
}

#[test]
fn a_task_without_context_gets_its_own_id() {
    let status = TaskStatus { state: TaskState::Working, message: None, timestamp: None };
    let mut task = Task::new(TaskId::parse("t").unwrap(), ContextId::parse("c").unwrap(), status);
    task.context_id = None;
    let answer = Response::SendMessage(SendMessageResponse::Task(task));
    let body = V03Http.write_reply(Operation::SendMessage, Ok(&answer)).body;
    assert_eq!(
        body,
        r#"{"task":{"id":"t","contextId":"t","status":{"state":"TASK_STATE_WORKING"}}}"#
    );
}

// Errors.

#[test]
fn every_error_is_told_by_its_body_and_has_the_status_that_0_3_expects() {
    for &kind in ErrorKind::ALL {
        let error = Error::new(kind, "why");
        let reply = V03Http.write_reply(Operation::GetTask, Err(&error));
        let status = match kind {
            ErrorKind::TaskNotFound
            | ErrorKind::MethodNotFound
            | ErrorKind::ExtendedAgentCardNotConfigured => 404,
            ErrorKind::TaskNotCancelable => 409,
            ErrorKind::ContentTypeNotSupported => 415,
            ErrorKind::InvalidAgentResponse => 502,
            ErrorKind::PushNotificationNotSupported | ErrorKind::UnsupportedOperation => 501,
            ErrorKind::Internal => 500,
            ErrorKind::Unauthenticated => 401,
            ErrorKind::PermissionDenied => 403,
            ErrorKind::RateLimited => 429,
            ErrorKind::BudgetExceeded => 402,
            ErrorKind::TooLarge => 413,
            ErrorKind::Unavailable => 503,
            ErrorKind::Timeout => 504,
            _ => 400,
        };
        assert_eq!(reply.status, status, "{kind:?}");
        let code = kind.jsonrpc_code();
        assert!(reply.body.starts_with(&format!(r#"{{"code":{code},"message":"why""#)));
        let back = V03Http.read_reply(Operation::GetTask, reply.status, reply.body.as_bytes());
        assert_eq!(back.unwrap_err(), error);
        let frame = V03Http.write_frame(Err(&error), StreamEnd::Closing);
        assert_eq!(frame.event, Some("error"));
        assert_eq!(V03Http.read_frame(&frame.data).unwrap_err(), error);
    }
}

#[test]
fn errors_are_read_in_every_form_seen() {
    let aip = r#"{"error":{"code":404,"status":"NOT_FOUND","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND"}]}}"#;
    for (status, body, kind) in [
        (404, r#"{"message":"m"}"#, ErrorKind::TaskNotFound),
        (409, r#"{"message":"m"}"#, ErrorKind::TaskNotCancelable),
        (415, r#"{"message":"m"}"#, ErrorKind::ContentTypeNotSupported),
        (422, r#"{"message":"m"}"#, ErrorKind::InvalidParams),
        (400, r#"{"detail":"m","status":400,"title":"t"}"#, ErrorKind::InvalidParams),
        (501, r#"{"message":"m"}"#, ErrorKind::UnsupportedOperation),
        (502, r#"{"message":"m"}"#, ErrorKind::InvalidAgentResponse),
        (501, r#"{"code":-32003,"message":"m"}"#, ErrorKind::PushNotificationNotSupported),
        (400, r#"{"code":400,"message":"m"}"#, ErrorKind::InvalidParams),
        (404, r#"{"error":{"code":-32601,"message":"m"}}"#, ErrorKind::MethodNotFound),
        (
            501,
            r#"{"message":"m","type":"PushNotificationNotSupportedError"}"#,
            ErrorKind::PushNotificationNotSupported,
        ),
        (
            404,
            r#"{"error": "org.a2aproject.sdk.compat03.spec.TaskNotFoundError_v0_3", "message": "m"}"#,
            ErrorKind::TaskNotFound,
        ),
        (404, aip, ErrorKind::TaskNotFound),
    ] {
        let error = V03Http.read_reply(Operation::GetTask, status, body.as_bytes()).unwrap_err();
        assert_eq!((error.kind(), error.message()), (kind, "m"), "{status} {body}");
    }
    for body in ["", "<html>", "{}", "7", r#"{"a":1,"a":2}"#] {
        let error = V03Http.read_reply(Operation::GetTask, 503, body.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{body}");
    }
}

#[test]
fn an_error_inside_a_stream_is_told_from_an_event() {
    for (data, kind) in [
        (r#"{"error": "x.TaskNotFoundError", "message": "m"}"#, ErrorKind::TaskNotFound),
        (r#"{"message":"m"}"#, ErrorKind::Internal),
        (r#"{"error":{"code":503,"message":"m"}}"#, ErrorKind::Unavailable),
        ("{}", ErrorKind::InvalidAgentResponse),
        ("", ErrorKind::InvalidAgentResponse),
        (r#"{"task":{"id":"t"}}"#, ErrorKind::InvalidAgentResponse),
    ] {
        assert_eq!(V03Http.read_frame(data).unwrap_err().kind(), kind, "{data}");
    }
}

// Bad input.

#[test]
fn what_is_no_operation_is_not_found() {
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/v1"),
        ("POST", "/message:send"),
        ("GET", "/tasks/t"),
        ("PUT", "/v1/tasks/t"),
        ("GET", "/v1/message:send"),
        ("GET", "/v1/extendedAgentCard"),
        ("GET", "/v2/tasks/t"),
        ("GET", "/v1/task/t"),
        ("GET", "/a/v1/tasks/t"),
    ] {
        let error = V03Http.read_call(&call(method, path, "")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MethodNotFound, "{method} {path}");
    }
}

/// Reads the same call in both versions, and compares the errors.
#[track_caller]
fn check_refused_as_in_v1(method: &str, target: &str, body: &str) -> Error {
    let old = V03Http.read_call(&call(method, &format!("/v1{target}"), body)).unwrap_err();
    let new = V1Http::default().read_call(&call(method, target, body)).unwrap_err();
    assert_eq!((old.kind(), old.violations()), (new.kind(), new.violations()), "{target} {body}");
    old
}

#[test]
fn bad_input_gets_the_errors_of_1_0() {
    for body in [
        "{}",
        "",
        "{",
        r#"{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}"#,
        r#"{"message":{"messageId":"m","role":"ROLE_USER"}}"#,
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#,
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","text":"y"}]}}"#,
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"x":{"a":1,"a":2}}"#,
    ] {
        check_refused_as_in_v1("POST", "/message:send", body);
    }
    let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    assert_eq!(check_refused_as_in_v1("POST", "/message:send", &deep).kind(), ErrorKind::Parse);
    check_refused_as_in_v1("POST", "/tasks/t:cancel", "{");
    check_refused_as_in_v1("GET", "/tasks/t?historyLength=-1", "");
    check_refused_as_in_v1("GET", "/tasks/%ff", "");
    check_refused_as_in_v1("GET", "/tasks?status=done", "");
    check_refused_as_in_v1("GET", "/tasks?pageSize=101", "");
    check_refused_as_in_v1(
        "POST",
        "/tasks/t/pushNotificationConfigs",
        r#"{"url":"u","taskId":"other"}"#,
    );
}
