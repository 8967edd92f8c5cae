use super::*;
use crate::{
    error::ErrorKind,
    ids::{ContextId, PushConfigId, TaskId},
    json::{Object, Raw, read_with, write_with},
    jsonrpc::Id,
    message::{Message, Part, Role},
    operation::{GetTaskPushNotificationConfigRequest, SendMessageRequest},
    state::TaskState,
    task::{SendMessageResponse, Task, TaskStatus},
    wire::{Echo, V1, card_document},
};

/// Reads a call, writes it again, and compares with what it was, or should become.
#[track_caller]
fn check_call_becomes(body: &str, expected: &str) {
    let call = V03.read_call(body).unwrap();
    let id = call.echo.id();
    assert_eq!(V03.write_call(&id, &call.request).unwrap(), expected);
}

#[track_caller]
fn check_call(body: &str) {
    check_call_becomes(body, body);
}

/// Reads an answer, writes it again, and compares.
#[track_caller]
fn check_reply(operation: Operation, body: &str) {
    let outcome = V03.read_reply(operation, body);
    let echo = Echo::new(Id::number(1), operation);
    assert_eq!(V03.write_reply(&echo, outcome.as_ref()), body);
}

/// Reads a frame, writes it again, and compares.
#[track_caller]
fn check_frame(data: &str, end: StreamEnd) {
    let outcome = V03.read_frame(data);
    let echo = Echo::new(Id::number(2), Operation::SendStreamingMessage);
    assert_eq!(V03.write_frame(&echo, outcome.as_ref(), end).data, data);
}

// The samples of the compatibility digest, §9.

#[test]
fn the_sample_of_sending_survives() {
    check_call(
        r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]},"configuration":{"blocking":true}}}"#,
    );
    check_reply(
        Operation::SendMessage,
        r#"{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"},"artifacts":[{"artifactId":"a1","parts":[{"kind":"text","text":"yo"}]}]}}"#,
    );
}

#[test]
fn the_sample_of_streaming_survives() {
    check_frame(
        r#"{"jsonrpc":"2.0","id":2,"result":{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"completed"},"final":true}}"#,
        StreamEnd::Open,
    );
}

#[test]
fn the_sample_of_a_webhook_survives() {
    check_call(
        r#"{"jsonrpc":"2.0","id":3,"method":"tasks/pushNotificationConfig/set","params":{"taskId":"t1","pushNotificationConfig":{"url":"https://cb/h","authentication":{"schemes":["Bearer"],"credentials":"s"}}}}"#,
    );
}

#[test]
fn the_sample_of_a_card_survives() {
    let card = r#"{"protocolVersion":"0.3.0","name":"Echo","description":"…","url":"https://a.example/rpc","preferredTransport":"JSONRPC","version":"1.0.0","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"echo","name":"Echo","description":"Echo","tags":["demo"]}]}"#;
    check_reply(
        Operation::GetExtendedAgentCard,
        &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{card}}}"#),
    );
}

// Every method, with everything it can carry.

#[test]
fn every_method_survives_with_all_its_members() {
    let message = r#"{"kind":"message","messageId":"m","contextId":"c","taskId":"t","role":"agent","parts":[{"kind":"text","text":"x","metadata":{"a":1}},{"kind":"file","file":{"bytes":"aGk=","name":"n","mimeType":"a/b"}},{"kind":"file","file":{"uri":"https://h/x"},"metadata":{}},{"kind":"data","data":{"k":[1e2]}}],"metadata":{"m":9007199254740993},"extensions":["https://e/1"],"referenceTaskIds":["t0"]}"#;
    let configuration = r#"{"acceptedOutputModes":["text/plain"],"historyLength":0,"pushNotificationConfig":{"id":"p","url":"u","token":"s"},"blocking":false}"#;
    let send =
        format!(r#"{{"message":{message},"configuration":{configuration},"metadata":{{"x":1}}}}"#);
    for (method, params) in [
        ("message/send", send.as_str()),
        ("message/stream", &send),
        ("message/stream", &format!(r#"{{"message":{message}}}"#)),
        ("tasks/get", r#"{"id":"t","historyLength":3}"#),
        ("tasks/cancel", r#"{"id":"t","metadata":{"why":"late"}}"#),
        ("tasks/resubscribe", r#"{"id":"t"}"#),
        ("tasks/pushNotificationConfig/get", r#"{"id":"t"}"#),
        ("tasks/pushNotificationConfig/get", r#"{"id":"t","pushNotificationConfigId":"p"}"#),
        ("tasks/pushNotificationConfig/list", r#"{"id":"t"}"#),
        ("tasks/pushNotificationConfig/delete", r#"{"id":"t","pushNotificationConfigId":"p"}"#),
        ("agent/getAuthenticatedExtendedCard", "{}"),
    ] {
        check_call(&format!(
            r#"{{"jsonrpc":"2.0","id":"a","method":"{method}","params":{params}}}"#
        ));
    }
}

#[test]
fn every_operation_but_listing_tasks_has_a_method() {
    for &operation in Operation::ALL {
        let method = V03.method(operation);
        assert_eq!(method.is_none(), operation == Operation::ListTasks, "{operation:?}");
        assert!(method.is_none_or(|method| V03.operation(method) == Some(operation)));
    }
    let list = Request::ListTasks(crate::operation::ListTasksRequest::default());
    let error = V03.write_call(&Id::number(1), &list).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    assert_eq!(V03.operation("tasks/list"), None);
}

#[test]
fn a_page_of_tasks_is_written_all_the_same() {
    let page = r#"{"tasks":[{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}],"nextPageToken":"n","pageSize":1,"totalSize":2}"#;
    check_reply(Operation::ListTasks, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{page}}}"#));
}

#[test]
fn every_answer_survives() {
    let task = r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required","message":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"which?"}]},"timestamp":"2026-08-20T09:00:00.000Z"},"artifacts":[{"artifactId":"a","name":"n","description":"d","parts":[{"kind":"text","text":"x"}],"metadata":{"k":1},"extensions":["e"]}],"history":[{"kind":"message","messageId":"m0","role":"user","parts":[{"kind":"text","text":"go"}]}],"metadata":{}}"#;
    let message =
        r#"{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"x"}]}"#;
    let config = r#"{"taskId":"t","pushNotificationConfig":{"id":"p","url":"u"}}"#;
    for (operation, result) in [
        (Operation::SendMessage, task),
        (Operation::SendMessage, message),
        (Operation::GetTask, task),
        (Operation::CancelTask, task),
        (Operation::CreateTaskPushNotificationConfig, config),
        (Operation::GetTaskPushNotificationConfig, config),
        (Operation::ListTaskPushNotificationConfigs, &format!("[{config}]")),
        (Operation::ListTaskPushNotificationConfigs, "[]"),
        (Operation::DeleteTaskPushNotificationConfig, "null"),
    ] {
        check_reply(operation, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
    }
}

#[test]
fn every_event_survives() {
    for result in [
        r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"submitted"}}"#,
        r#"{"kind":"message","messageId":"m","role":"agent","parts":[]}"#,
        r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"},"final":false,"metadata":{"k":1}}"#,
        r#"{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"x"}]},"append":true,"lastChunk":true,"metadata":{"k":1}}"#,
    ] {
        check_frame(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#), StreamEnd::Open);
    }
    // C-37: a paused task ends the stream, if the server closes it there.
    check_frame(
        r#"{"jsonrpc":"2.0","id":2,"result":{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required"},"final":true}}"#,
        StreamEnd::Closing,
    );
}

#[test]
fn every_state_has_its_word() {
    for &state in TaskState::ALL {
        let word = format!("\"{}\"", write::state(state));
        let read = read_with(&word, crate::dialect::loose::read_state);
        assert_eq!(read.unwrap(), state);
    }
    assert_eq!(write::state(TaskState::Unspecified), "unknown");
}

// What is read more tolerantly than it is written.

#[test]
fn other_spellings_are_read_and_written_as_0_3_has_them() {
    let call = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    };
    let send = |message: &str, configuration: &str| {
        call("message/send", &format!(r#"{{"message":{message},"configuration":{configuration}}}"#))
    };
    let message =
        r#"{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}"#;
    for foreign in [
        r#"{"messageId":"m","role":"user","parts":[{"text":"x"}]}"#,
        r#"{"message_id":"m","role":"ROLE_USER","parts":[{"type":"text","text":"x"}],"kind":"message"}"#,
    ] {
        check_call_becomes(&send(foreign, "{}"), &send(message, r#"{"blocking":true}"#));
        check_call_becomes(
            &send(foreign, r#"{"returnImmediately":true}"#),
            &send(message, r#"{"blocking":false}"#),
        );
        check_call_becomes(
            &call("message/send", &format!(r#"{{"message":{foreign}}}"#)),
            &send(message, r#"{"blocking":true}"#),
        );
    }
    let get = "tasks/pushNotificationConfig/get";
    let nested = r#"{"id":"t","pushNotificationConfigId":"p"}"#;
    check_call_becomes(&call(get, r#"{"taskId":"t","id":"p"}"#), &call(get, nested));
    check_call_becomes(
        &call("tasks/pushNotificationConfig/list", r#"{"taskId":"t","pageSize":9}"#),
        &call("tasks/pushNotificationConfig/list", r#"{"id":"t"}"#),
    );
    check_call_becomes(
        &call("tasks/get", r#"{"id":"t","metadata":{"lost":1}}"#),
        &call("tasks/get", r#"{"id":"t"}"#),
    );
}

#[test]
fn a_webhook_asked_for_by_its_task_alone_bears_the_tasks_id() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/get","params":{"id":"t"}}"#;
    let expected = GetTaskPushNotificationConfigRequest {
        tenant: None,
        task_id: TaskId::parse("t").unwrap(),
        id: PushConfigId::parse("t").unwrap(),
    };
    let request = V03.read_call(body).unwrap().request;
    assert_eq!(request, Request::GetTaskPushNotificationConfig(expected));
}

#[test]
fn answers_of_other_versions_are_understood() {
    let read = |operation, result: &str| {
        V03.read_reply(operation, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#))
            .unwrap()
    };
    let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}"#;
    let Response::SendMessage(SendMessageResponse::Task(bare)) = read(Operation::SendMessage, task)
    else {
        panic!("a task is expected");
    };
    let wrapped = read(Operation::SendMessage, &format!(r#"{{"task":{task}}}"#));
    assert_eq!(wrapped, Response::SendMessage(SendMessageResponse::Task(bare)));
    let list = Operation::ListTaskPushNotificationConfigs;
    let config = r#"{"taskId":"t","pushNotificationConfig":{"url":"u"}}"#;
    assert_eq!(
        read(list, &format!(r#"{{"configs":[{config}]}}"#)),
        read(list, &format!("[{config}]"))
    );
    for result in ["null", "{}", "true"] {
        let deleted = read(Operation::DeleteTaskPushNotificationConfig, result);
        assert_eq!(deleted, Response::Deleted);
    }
}

// What the model has and 0.3 has not.

#[test]
fn a_task_without_context_gets_its_own_id() {
    let mut task = Task::new(
        TaskId::parse("t").unwrap(),
        ContextId::parse("c").unwrap(),
        TaskStatus { state: TaskState::Working, message: None, timestamp: None },
    );
    task.context_id = None;
    let json = write_with(|writer| write::task(&task, writer));
    assert_eq!(json, r#"{"kind":"task","id":"t","contextId":"t","status":{"state":"working"}}"#);
}

#[test]
fn data_that_is_no_object_is_wrapped_and_flagged() {
    let mut part = Part::data(Raw::parse_text("[1]").unwrap());
    part.metadata = Some(Object::parse_text(r#"{"a":1}"#).unwrap());
    let json = write_with(|writer| write::part(&part, writer));
    assert_eq!(
        json,
        r#"{"kind":"data","data":{"value":[1]},"metadata":{"a":1,"data_part_compat":true}}"#
    );
    assert_eq!(read_with(&json, |reader| Loose::default().part(reader)).unwrap(), part);
}

#[test]
fn whoever_is_not_the_user_is_the_agent() {
    let message = Message::new(Role::Unspecified, Part::text("x"));
    let json = write_with(|writer| write::message(&message, writer));
    assert!(json.contains(r#""role":"agent""#), "{json}");
}

#[test]
fn a_card_that_nobody_of_0_3_can_use_stays_as_it_is() {
    let v1 = r#"{"name":"Echo","description":"","supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"version":"1","capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}"#;
    let card: AgentCard = json::from_str(v1).unwrap();
    assert_eq!(card_document(&V03, &card), v1);
}

// Errors.

#[track_caller]
fn check_error(error: &Error, json: &str) {
    let written = write_with(|writer| V03.write_error(error, writer));
    assert_eq!(written, json);
    assert_eq!(read_with(&written, |reader| V03.read_error(reader)).unwrap(), *error);
}

#[test]
fn every_error_is_told_by_its_code_or_its_reason() {
    for &kind in ErrorKind::ALL {
        let error = Error::new(kind, "why");
        let shared = ErrorKind::from_jsonrpc_code(kind.jsonrpc_code()) != kind;
        let data = shared.then(|| format!(r#","data":{{"reason":"{}"}}"#, kind.reason()));
        let data = data.unwrap_or_default();
        let code = kind.jsonrpc_code();
        check_error(&error, &format!(r#"{{"code":{code},"message":"why"{data}}}"#));
    }
    check_error(&Error::new(ErrorKind::Other(-32050), "odd"), r#"{"code":-32050,"message":"odd"}"#);
}

#[test]
fn what_an_error_says_beyond_its_code_is_an_object_never_a_list() {
    check_error(
        &Error::task_not_found(&TaskId::parse("t9").unwrap()),
        r#"{"code":-32001,"message":"no task t9","data":{"reason":"TASK_NOT_FOUND","taskId":"t9"}}"#,
    );
    let precise =
        Error::new(ErrorKind::UnsupportedOperation, "m").with_reason("TASK_NOT_MODIFIABLE");
    check_error(
        &precise,
        r#"{"code":-32004,"message":"m","data":{"reason":"TASK_NOT_MODIFIABLE"}}"#,
    );
}

#[test]
fn data_of_any_shape_is_read_and_an_object_goes_on_unchanged() {
    for data in [r#"{"taskId":"t","n":1}"#, r#"{"reason":"because"}"#, r#"{"value":[1]}"#] {
        let json = format!(r#"{{"code":-32603,"message":"m","data":{data}}}"#);
        let error = read_with(&json, |reader| V03.read_error(reader)).unwrap();
        assert_eq!(error.details()[0].as_str(), data);
        check_error(&error, &json);
    }
    for data in ["null", "7", "\"x\"", "[]", r#"["x",{"a":1}]"#] {
        let json = format!(r#"{{"code":-32001,"message":null,"data":{data}}}"#);
        let error = read_with(&json, |reader| V03.read_error(reader)).unwrap();
        assert_eq!((error.kind(), error.message()), (ErrorKind::TaskNotFound, ""));
    }
    let v1 = write_with(|writer| {
        Error::new(ErrorKind::Timeout, "m").with_metadata("k", "v").write_jsonrpc(writer);
    });
    let error = read_with(&v1, |reader| V03.read_error(reader)).unwrap();
    assert_eq!((error.kind(), error.metadata()["k"].as_str()), (ErrorKind::Timeout, "v"));
}

// Bad input gets the errors of 1.0.

/// Reads the same parameters in both versions, and compares the errors.
#[track_caller]
fn check_refused_as_in_v1(params: &str, kind: ErrorKind) {
    let body = |method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
    };
    let old = V03.read_call(&body("message/send")).expect_err("0.3 must refuse it");
    let new = V1.read_call(&body("SendMessage")).expect_err("1.0 must refuse it");
    assert_eq!(old.error.kind(), kind);
    assert_eq!(old.id, new.id);
    assert_eq!(old.error.violations(), new.error.violations());
    if kind != ErrorKind::Parse {
        // The byte offset counts the shorter method of 0.3.
        assert_eq!(old.error.message(), new.error.message());
    }
}

#[test]
fn bad_input_gets_the_errors_of_1_0() {
    let message = |parts: &str| {
        format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":{parts}}}}}"#)
    };
    let text = r#"{"text":"x"}"#;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for params in [
        "{}".to_owned(),
        r#"{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","role":"ROLE_USER"}}"#.to_owned(),
        r#"{"message":{"messageId":"m","role":"ROLE_UNSPECIFIED","parts":[{"text":"x"}]}}"#
            .to_owned(),
        r#"{"message":{"messageId":7,"role":"ROLE_USER","parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":[]}"#.to_owned(),
        "[]".to_owned(),
        message("[]"),
        message("7"),
        message(r#"[{"text":7}]"#),
        message(&format!("[{text},7]")),
        message(r#"[{"raw":"%"}]"#),
        message(r#"[{"text":"x","metadata":[]}]"#),
        format!(
            r#"{{"configuration":{{"historyLength":-1}},"message":{{"messageId":"m","role":"ROLE_USER","parts":[{text}]}}}}"#
        ),
    ] {
        check_refused_as_in_v1(&params, ErrorKind::InvalidParams);
    }
    for params in [
        message(r#"[{"text":"x","text":"y"}]"#),
        message(&format!(r#"[{{"data":{deep}}}]"#)),
        message(r#"[{"data":1e999}]"#),
        message(r#"[{"text":"\ud800"}]"#),
        r#"{"unknown":{"a":1,"a":2}}"#.to_owned(),
    ] {
        check_refused_as_in_v1(&params, ErrorKind::Parse);
    }
}

#[test]
fn a_part_that_contradicts_itself_is_refused_by_name() {
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"data","text":"x"}]}}}"#;
    let refusal = V03.read_call(body).unwrap_err();
    assert_eq!(refusal.error.kind(), ErrorKind::InvalidParams);
    assert_eq!(refusal.error.violations()[0].field, "message.parts[0].kind");
    assert_eq!(refusal.id.as_str(), "7");
}

#[test]
fn parameters_that_must_be_there_are_named() {
    for (method, params, field) in [
        ("tasks/get", "{}", "id"),
        ("tasks/get", r#"{"id":"t","historyLength":-1}"#, "historyLength"),
        ("tasks/cancel", r#"{"id":""}"#, "id"),
        ("tasks/resubscribe", r#"{"metadata":{}}"#, "id"),
        ("tasks/pushNotificationConfig/set", r#"{"pushNotificationConfig":{"url":"u"}}"#, "taskId"),
        ("tasks/pushNotificationConfig/delete", r#"{"id":"t"}"#, "pushNotificationConfigId"),
        ("tasks/pushNotificationConfig/list", "{}", "id"),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
        let error = V03.read_call(&body).unwrap_err().error;
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{method} {params}");
        assert_eq!(error.violations()[0].field, field, "{method} {params}");
    }
    let unknown = r#"{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{}}"#;
    assert_eq!(V03.read_call(unknown).unwrap_err().error.kind(), ErrorKind::MethodNotFound);
}

#[test]
fn an_answer_against_the_protocol_is_the_peers_fault() {
    for result in [r#"{"kind":"odd"}"#, "7", "null", r#"{"kind":"status-update"}"#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let error = V03.read_reply(Operation::SendMessage, &body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{result}");
    }
    let stream = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let error = V03.read_reply(Operation::SubscribeToTask, stream).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
}

#[test]
fn sending_without_wishes_says_to_wait() {
    let request = Request::SendMessage(SendMessageRequest::new(Message::user("x")));
    let body = V03.write_call(&Id::number(1), &request).unwrap();
    assert!(body.contains(r#""configuration":{"blocking":true}"#), "{body}");
}
