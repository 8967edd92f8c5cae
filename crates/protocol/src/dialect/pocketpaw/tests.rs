use super::*;
use crate::{
    error::reason,
    http::{HttpCall, HttpForm},
    json::{from_str, to_string, write_with},
    state::TaskState,
    task::{SendMessageResponse, Task},
    wire::card_document,
};

const SEND: &str = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"message_id":"m1","role":"user","parts":[{"type":"text","text":"What is the weather in Tokyo?"}]}}}"#;

/// Takes out the members that `PocketPaw`'s examples lack.
fn without(json: &str, member: &str) -> String {
    assert!(json.contains(member), "{json}");
    json.replace(member, "")
}

fn echo(operation: Operation) -> Echo {
    Echo::new(Id::number(1), operation)
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// T-01: reads a request and writes it back byte for byte.
#[track_caller]
fn golden_request(body: &str) -> Call {
    let call = PocketPaw.read_call(body).unwrap();
    assert_eq!(PocketPaw.write_call(&call.echo.id(), &call.request).unwrap(), body);
    call
}

/// T-01: reads an answer and writes it back byte for byte.
#[track_caller]
fn golden_answer(operation: Operation, result: &str) -> Response {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    let response = PocketPaw.read_reply(operation, &body).unwrap();
    assert_eq!(PocketPaw.write_reply(&echo(operation), Ok(&response)), body);
    let http = PocketPawHttp.read_reply(operation, 200, result.as_bytes()).unwrap();
    assert_eq!(PocketPawHttp.write_reply(operation, Ok(&http)).body, result);
    response
}

#[test]
fn the_examples_of_requests_come_back() {
    // P-14, P-18; messages have an identifier from here on.
    golden_request(SEND);
    golden_request(&request(
        "message/stream",
        r#"{"message":{"message_id":"m1","role":"user","parts":[{"type":"text","text":"Write a haiku about code"}]}}"#,
    ));
    golden_request(&request(
        "message/send",
        r#"{"message":{"message_id":"m1","role":"user","parts":[{"type":"text","text":"Generate a report"}]},"configuration":{"accepted_output_modes":["text/plain","application/json"]}}"#,
    ));
    let bare = without(SEND, r#""message_id":"m1","#);
    let call = PocketPaw.read_call(&bare).unwrap();
    let Request::SendMessage(read) = call.request else { panic!() };
    assert_eq!(read.message.text(), "What is the weather in Tokyo?");
    assert!(!read.returns_immediately());
}

#[test]
fn the_other_methods_come_back() {
    // P-12, P-17
    golden_request(&request("tasks/get", r#"{"id":"a1b2c3d4"}"#));
    golden_request(&request("tasks/get", r#"{"id":"a1b2c3d4","history_length":0}"#));
    golden_request(&request("tasks/cancel", r#"{"id":"a1b2c3d4"}"#));
    golden_request(&request("tasks/resubscribe", r#"{"id":"a1b2c3d4"}"#));
    let get = PocketPaw.read_call(&request("tasks/get", r#"{"task_id":"a1b2c3d4"}"#)).unwrap();
    assert_eq!(get.request.operation(), Operation::GetTask);
}

#[test]
fn there_are_five_methods() {
    let mut known = 0;
    for &operation in Operation::ALL {
        if let Some(method) = PocketPaw.method(operation) {
            assert_eq!(PocketPaw.operation(method), Some(operation));
            known += 1;
        }
    }
    assert_eq!(known, 5);
}

#[test]
fn the_example_of_an_answer_comes_back() {
    // P-15
    let reply = r#"{"message_id":"m2","role":"agent","parts":[{"type":"text","text":"The current weather in Tokyo is..."}]}"#;
    let result = format!(
        r#"{{"id":"a1b2c3d4","status":{{"state":"completed","message":{reply}}},"history":[{{"message_id":"m1","role":"user","parts":[{{"type":"text","text":"What is the weather in Tokyo?"}}]}},{reply}],"artifacts":[{{"artifact_id":"a1","name":"response","parts":[{{"type":"text","text":"The current weather in Tokyo is..."}}]}}]}}"#
    );
    golden_answer(Operation::GetTask, &result);
    let response = golden_answer(Operation::SendMessage, &result);
    let Response::SendMessage(SendMessageResponse::Task(task)) = response else { panic!() };
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!((task.history.len(), task.artifacts.len()), (2, 1));
}

#[test]
fn p15_the_answer_of_a_completed_task_stands_in_its_status() {
    let written = |state: u8, status: &str| {
        let task = format!(
            r#"{{"id":"t","status":{{"state":{state}{status}}},"artifacts":[{{"artifactId":"a","parts":[{{"text":"sunny"}},{{"data":{{"k":1}}}},{{"raw":"aGk=","filename":"f"}}]}},{{"artifactId":"b","parts":[{{"text":"and warm"}}]}}]}}"#
        );
        let task: Task = from_str(&task).unwrap();
        let event = StreamResponse::Task(task.clone());
        let frame = write_with(|writer| PocketPaw.write_event(&event, StreamEnd::Open, writer));
        let response = Response::Task(task);
        let reply = PocketPawHttp.write_reply(Operation::GetTask, Ok(&response)).body;
        let (_, rest) = reply.split_once(r#""status":"#).unwrap();
        let (status, rest) = rest.split_once(r#","history":"#).unwrap();
        assert!(frame.contains(status), "{frame}");
        // Nothing is taken away from the artifacts.
        assert!(rest.contains(r#""parts":[{"type":"text","text":"sunny"},{"type":"data","data":{"k":1}},{"type":"file","name":"f","bytes_data":"aGk="}]"#), "{rest}");
        status.to_owned()
    };
    assert_eq!(
        written(3, ""),
        r#"{"state":"completed","message":{"message_id":"t","role":"agent","parts":[{"type":"text","text":"sunny"},{"type":"data","data":{"k":1}},{"type":"text","text":"and warm"}]}}"#
    );
    // An agent that has said something has said it itself.
    let said = r#","message":{"messageId":"m","role":2,"parts":[{"text":"done"}]}"#;
    assert_eq!(
        written(3, said),
        r#"{"state":"completed","message":{"message_id":"m","role":"agent","parts":[{"type":"text","text":"done"}]}}"#
    );
    // What is not over has no answer yet, and what went wrong is none.
    assert_eq!(written(2, ""), r#"{"state":"working"}"#);
    assert_eq!(written(4, ""), r#"{"state":"failed"}"#);
}

#[test]
fn answers_as_pydantic_writes_them_are_read() {
    let task = r#"{"id":"t","context_id":null,"session_id":"s","status":{"state":"working","message":null,"timestamp":"2026-02-19T10:00:00.123456Z"},"history":[],"artifacts":[{"artifact_id":"a","name":null,"description":null,"parts":[{"type":"file","name":"x","media_type":null,"bytes_data":null,"uri":"https://h/x","metadata":{}}],"metadata":{}}],"metadata":{}}"#;
    let Response::Task(task) =
        PocketPawHttp.read_reply(Operation::GetTask, 200, task.as_bytes()).unwrap()
    else {
        panic!()
    };
    assert_eq!(task.context_id.unwrap().as_str(), "s");
    assert_eq!(
        to_string(&task.artifacts[0].parts),
        r#"[{"url":"https://h/x","metadata":{},"filename":"x"}]"#
    );
}

#[test]
fn a_cancellation_is_answered_with_the_status_alone() {
    // C-05, PD-05
    golden_answer(Operation::CancelTask, r#"{"id":"t1","status":"canceled"}"#);
    let task: Task = from_str(
        r#"{"id":"t1","contextId":"c","status":{"state":2},"artifacts":[{"artifactId":"a","parts":[]}]}"#,
    )
    .unwrap();
    let written = PocketPawHttp.write_reply(Operation::CancelTask, Ok(&Response::Task(task)));
    assert_eq!(written.body, r#"{"id":"t1","status":"working"}"#);
}

/// Reads the data of a frame on both bindings and writes it back byte for byte.
#[track_caller]
fn golden_frame(result: &str, end: StreamEnd, name: &str) -> StreamResponse {
    let data = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    let event = PocketPaw.read_frame(&data).unwrap();
    let frame = PocketPaw.write_frame(&echo(Operation::SendStreamingMessage), Ok(&event), end);
    assert_eq!((frame.event, frame.data.as_str()), (Some("message"), data.as_str()));
    assert_eq!(PocketPawHttp.read_frame(result).unwrap(), event);
    let frame = PocketPawHttp.write_frame(Ok(&event), end);
    assert_eq!((frame.event, frame.data.as_str()), (Some(name), result));
    event
}

#[test]
fn the_examples_of_events_come_back() {
    // T-01, P-16, PD-05
    let status = |word: &str, last: bool| {
        format!(r#"{{"task_id":"t1","status":{{"state":"{word}"}},"final":{last}}}"#)
    };
    for (word, last) in [("submitted", false), ("working", false), ("completed", true)] {
        golden_frame(&status(word, last), StreamEnd::Open, "task_status_update");
    }
    // C-37: a pause closes the stream too.
    golden_frame(&status("input_required", true), StreamEnd::Closing, "task_status_update");
    let chunk = r#"{"task_id":"t1","artifact":{"artifact_id":"artifact-0","parts":[{"type":"text","text":"Silent..."}]},"append":true,"last_chunk":false}"#;
    let event = golden_frame(chunk, StreamEnd::Open, "task_artifact_update");
    let bare = without(&without(chunk, r#""artifact_id":"artifact-0","#), r#","last_chunk":false"#);
    assert_eq!(PocketPawHttp.read_frame(&bare).unwrap(), event);
}

#[test]
fn a_context_of_its_own_is_told_in_events() {
    let event = golden_frame(
        r#"{"task_id":"t1","context_id":"c1","status":{"state":"working"},"final":false}"#,
        StreamEnd::Open,
        "task_status_update",
    );
    assert!(to_string(&event).contains(r#""contextId":"c1""#));
}

#[test]
fn a_whole_task_in_a_stream_is_a_status_event_too() {
    let event = golden_frame(
        r#"{"task_id":"t1","id":"t1","context_id":"c1","session_id":"c1","status":{"state":"working"},"history":[],"artifacts":[],"final":false}"#,
        StreamEnd::Open,
        "task_status_update",
    );
    assert!(matches!(event, StreamResponse::Task(_)));
}

#[test]
fn a_reply_without_task_becomes_a_completed_one() {
    let reply = r#"{"messageId":"m1","contextId":"c1","role":2,"parts":[{"text":"hi"}]}"#;
    let response = Response::SendMessage(SendMessageResponse::Message(from_str(reply).unwrap()));
    let status = r#""status":{"state":"completed","message":{"message_id":"m1","role":"agent","parts":[{"type":"text","text":"hi"}]}}"#;
    assert_eq!(
        PocketPawHttp.write_reply(Operation::SendMessage, Ok(&response)).body,
        format!(
            r#"{{"id":"m1","context_id":"c1","session_id":"c1",{status},"history":[],"artifacts":[]}}"#
        )
    );
    let event = StreamResponse::Message(from_str(reply).unwrap());
    assert_eq!(
        PocketPawHttp.write_frame(Ok(&event), StreamEnd::Open).data,
        format!(r#"{{"task_id":"m1","context_id":"c1",{status},"final":true}}"#)
    );
}

#[test]
fn every_state_has_its_word() {
    // §7.3, PD-03
    for (state, word) in [
        (TaskState::Submitted, "submitted"),
        (TaskState::Working, "working"),
        (TaskState::InputRequired, "input_required"),
        (TaskState::AuthRequired, "auth-required"),
        (TaskState::Completed, "completed"),
        (TaskState::Failed, "failed"),
        (TaskState::Canceled, "canceled"),
        (TaskState::Rejected, "rejected"),
    ] {
        let result =
            format!(r#"{{"id":"t","status":{{"state":"{word}"}},"history":[],"artifacts":[]}}"#);
        let Response::Task(task) = golden_answer(Operation::GetTask, &result) else { panic!() };
        assert_eq!(task.status.state, state);
    }
}

#[test]
fn the_examples_of_parts_come_back() {
    // P-27
    for part in [
        r#"{"type":"text","text":"Hello, world!"}"#,
        r#"{"type":"file","name":"report.csv","uri":"https://example.com/report.csv"}"#,
        r#"{"type":"file","name":"image.png","media_type":"image/png","bytes_data":"aGk="}"#,
        r#"{"type":"data","data":{"key":"value","count":42}}"#,
        r#"{"type":"data","data":{"value":[1]},"metadata":{"k":1,"data_part_compat":true}}"#,
    ] {
        golden_request(&request(
            "message/send",
            &format!(r#"{{"message":{{"message_id":"m1","role":"user","parts":[{part}]}}}}"#),
        ));
    }
}

fn send_with(members: &str) -> Result<Call, Refusal> {
    let message =
        r#""message":{"message_id":"m1","role":"user","parts":[{"type":"text","text":"x"}]}"#;
    PocketPaw.read_call(&request("message/send", &format!("{{{members}{message}}}")))
}

fn sent(call: Call) -> crate::operation::SendMessageRequest {
    match call.request {
        Request::SendMessage(request) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_clients_name_for_a_task_is_handed_on() {
    // C-29, PD-01
    let call = send_with(r#""id":"my.task_1-A","#).unwrap();
    assert_eq!(call.task_alias.as_deref(), Some("my.task_1-A"));
    assert_eq!(sent(call).message.task_id, None);
    assert_eq!(send_with(r#""id":null,"#).unwrap().task_alias, None);
    assert_eq!(send_with("").unwrap().task_alias, None);
    let longest = "x".repeat(128);
    assert_eq!(
        send_with(&format!(r#""id":"{longest}","#)).unwrap().task_alias.as_deref(),
        Some(&*longest)
    );
    let get = PocketPaw.read_call(&request("tasks/get", r#"{"id":"t"}"#)).unwrap();
    assert_eq!(get.task_alias, None);
}

#[test]
fn a_name_against_the_rules_is_a_bad_parameter() {
    for name in ["", "a b", "ä", "a/b", &"x".repeat(129)] {
        for (method, params) in [
            ("message/send", format!(r#"{{"id":"{name}","message":null}}"#)),
            ("tasks/get", format!(r#"{{"id":"{name}"}}"#)),
            ("tasks/cancel", format!(r#"{{"task_id":"{name}"}}"#)),
            ("tasks/resubscribe", format!(r#"{{"id":"{name}"}}"#)),
        ] {
            let error = PocketPaw.read_call(&request(method, &params)).unwrap_err().error;
            assert_eq!(error.kind(), ErrorKind::InvalidParams, "{method} {name}");
            let field = &error.violations()[0].field;
            assert!(matches!(field.as_str(), "id" | "task_id"), "{field}");
        }
    }
}

#[test]
fn a_task_that_has_no_name_here_cannot_be_asked_for() {
    for (method, params) in [
        ("GetTask", r#"{"id":"a b"}"#),
        ("CancelTask", r#"{"id":"a b"}"#),
        ("SubscribeToTask", r#"{"id":"a b"}"#),
        (
            "SendMessage",
            r#"{"message":{"messageId":"m","taskId":"a b","role":1,"parts":[{"text":"x"}]}}"#,
        ),
    ] {
        let operation = Operation::from_name(method).unwrap();
        let request = json::read_with(params, |reader| Request::read(operation, reader)).unwrap();
        let field = |error: Error| error.violations()[0].field.clone();
        let expected = if method == "SendMessage" { "message.taskId" } else { "id" };
        assert_eq!(field(PocketPaw.write_call(&Id::null(), &request).unwrap_err()), expected);
        assert_eq!(
            PocketPawHttp.write_call(&request).unwrap_err().kind(),
            ErrorKind::InvalidParams,
        );
    }
    let inside = r#"{"message":{"task_id":"a b","role":"user","parts":[{"text":"x"}]}}"#;
    let error = PocketPaw.read_call(&request("message/send", inside)).unwrap_err().error;
    assert_eq!(error.violations()[0].field, "message.task_id");
}

#[test]
fn the_task_to_go_on_with_is_told_twice() {
    let call = golden_request(&request(
        "message/send",
        r#"{"id":"t1","context_id":"c1","message":{"message_id":"m1","role":"user","parts":[{"type":"text","text":"x"}],"task_id":"t1"}}"#,
    ));
    assert_eq!(call.task_alias.as_deref(), Some("t1"));
    assert_eq!(sent(call).message.task_id.unwrap().as_str(), "t1");
}

#[test]
fn the_context_is_found_beside_the_message_and_in_it() {
    // PD-06
    let context = |members: &str| {
        send_with(members).map(|call| sent(call).message.context_id.map(|id| id.to_string()))
    };
    assert_eq!(context(r#""context_id":"c1","#).unwrap().as_deref(), Some("c1"));
    assert_eq!(context(r#""session_id":"s1","#).unwrap().as_deref(), Some("s1"));
    assert_eq!(context(r#""session_id":"s1","context_id":"c1","#).unwrap().as_deref(), Some("c1"));
    assert_eq!(context(r#""context_id":null,"#).unwrap(), None);
    let inside =
        r#"{"context_id":"c1","message":{"context_id":"c2","role":"user","parts":[{"text":"x"}]}}"#;
    let error = PocketPaw.read_call(&request("message/send", inside)).unwrap_err().error;
    assert_eq!(error.violations()[0].field, "context_id");
}

#[test]
fn messages_brought_along_are_metadata_of_the_request() {
    // PD-06
    let body = request(
        "message/send",
        r#"{"message":{"message_id":"m1","role":"user","parts":[{"type":"text","text":"x"}]},"history":[{"message_id":"m0","role":"agent","parts":[{"type":"text","text":"before"}]}],"metadata":{"k":1}}"#,
    );
    let call = golden_request(&body);
    assert_eq!(
        sent(call).metadata.unwrap().as_str(),
        r#"{"k":1,"history":[{"messageId":"m0","role":"ROLE_AGENT","parts":[{"text":"before"}]}]}"#
    );
    golden_request(&request(
        "message/send",
        r#"{"message":{"message_id":"m1","role":"user","parts":[{"type":"text","text":"x"}]},"metadata":{"history":"mine"}}"#,
    ));
}

#[test]
fn sending_always_waits() {
    // §7.4, PG-07
    for wish in [r#"{"blocking":false}"#, r#"{"return_immediately":true}"#] {
        let call = send_with(&format!(r#""configuration":{wish},"#)).unwrap();
        assert!(!sent(call).returns_immediately());
    }
}

#[test]
fn webhooks_are_refused_by_name() {
    // PD-04
    for method in ["tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/get"] {
        let refusal = PocketPaw.read_call(&request(method, "{}")).unwrap_err();
        assert_eq!(refusal.id, Id::number(1));
        let answer = write_with(|writer| PocketPaw.write_error(&refusal.error, writer));
        assert!(answer.starts_with(r#"{"code":-32004,"#), "{answer}");
    }
}

#[test]
fn errors_have_the_codes_and_statuses_of_the_catalogue() {
    // P-26, C-14, C-15, C-35, §7.7
    use ErrorKind as K;
    let modify = Error::new(K::UnsupportedOperation, "x").with_reason(reason::TASK_NOT_MODIFIABLE);
    let modes =
        Error::new(K::ContentTypeNotSupported, "x").with_reason(reason::OUTPUT_MODE_NOT_SUPPORTED);
    for (error, code, status) in [
        (Error::new(K::Parse, "x"), -32700, 400),
        (Error::new(K::InvalidRequest, "x"), -32600, 400),
        (Error::new(K::MethodNotFound, "x"), -32601, 404),
        (Error::new(K::InvalidParams, "x").with_violation("a", "b"), -32602, 400),
        (Error::new(K::Internal, "x"), -32603, 500),
        (Error::new(K::TaskNotFound, "x"), -32001, 404),
        (Error::new(K::TaskNotCancelable, "x"), -32002, 409),
        (modify, -32003, 409),
        (Error::new(K::PushNotificationNotSupported, "x"), -32004, 400),
        (Error::new(K::UnsupportedOperation, "x"), -32004, 400),
        (modes, -32005, 400),
        (Error::new(K::ContentTypeNotSupported, "x"), -32005, 400),
        (Error::new(K::InvalidAgentResponse, "x"), -32603, 500),
        (Error::new(K::VersionNotSupported, "x"), -32600, 400),
        (Error::new(K::Unavailable, "x"), -32603, 503),
        (Error::new(K::Unauthenticated, "x"), -32603, 401),
        (Error::new(K::PermissionDenied, "x"), -32603, 403),
    ] {
        let body = PocketPaw.write_reply(&echo(Operation::SendMessage), Err(&error));
        assert!(body.contains(&format!(r#""error":{{"code":{code},"#)), "{body}");
        assert_eq!(PocketPaw.read_reply(Operation::SendMessage, &body).unwrap_err(), error);
        let reply = PocketPawHttp.write_reply(Operation::SendMessage, Err(&error));
        assert!(reply.body.starts_with(r#"{"detail":"x","error":{"#), "{}", reply.body);
        assert_eq!(reply.status, status, "{error:?}");
        let read = PocketPawHttp.read_reply(Operation::SendMessage, status, reply.body.as_bytes());
        assert_eq!(read.unwrap_err(), error);
        let frame = PocketPawHttp.write_frame(Err(&error), StreamEnd::Closing);
        assert_eq!(frame.event, Some("error"));
        assert_eq!(PocketPawHttp.read_frame(&frame.data).unwrap_err(), error);
    }
}

#[test]
fn errors_without_data_are_read_by_their_code() {
    use ErrorKind as K;
    for (code, kind, reason) in [
        (-32001, K::TaskNotFound, "TASK_NOT_FOUND"),
        (-32003, K::UnsupportedOperation, reason::TASK_NOT_MODIFIABLE),
        (-32004, K::UnsupportedOperation, "UNSUPPORTED_OPERATION"),
        (-32005, K::ContentTypeNotSupported, reason::OUTPUT_MODE_NOT_SUPPORTED),
        (-32050, K::Other(-32050), "UNKNOWN"),
    ] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"x","data":null}}}}"#
        );
        let error = PocketPaw.read_reply(Operation::SendMessage, &body).unwrap_err();
        assert_eq!((error.kind(), error.reason()), (kind, reason), "{code}");
    }
}

#[test]
fn errors_of_its_own_routes_are_read_by_their_status() {
    let read = |status: u16, body: &str| {
        let error = PocketPawHttp.read_reply(Operation::GetTask, status, body.as_bytes());
        let error = error.unwrap_err();
        (error.kind(), error.message().to_owned())
    };
    for (status, body, kind, message) in [
        (404, r#"{"detail":"no such task"}"#, ErrorKind::TaskNotFound, "no such task"),
        (409, r#"{"detail":"it ended"}"#, ErrorKind::TaskNotCancelable, "it ended"),
        (403, r#"{"detail":"switched off"}"#, ErrorKind::PermissionDenied, "switched off"),
        (
            422,
            r#"{"detail":[{"loc":["body"]}]}"#,
            ErrorKind::InvalidParams,
            r#"[{"loc":["body"]}]"#,
        ),
        (500, "Internal Server Error", ErrorKind::Internal, "the peer answered 500"),
        (502, r#"{"error":"x"}"#, ErrorKind::InvalidAgentResponse, "the peer answered 502"),
    ] {
        assert_eq!(read(status, body), (kind, message.to_owned()));
    }
}

/// Reads a request over HTTP and writes it back.
#[track_caller]
fn golden_route(method: &'static str, target: &str, body: Option<&str>) -> Request {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let call = HttpCall { method, path, query, body: body.unwrap_or_default().as_bytes() };
    let request = PocketPawHttp.read_call(&call).unwrap();
    let written = PocketPawHttp.write_call(&request).unwrap();
    assert_eq!((written.method, written.path.as_str()), (method, target));
    assert_eq!(written.body.as_deref(), body);
    request
}

#[test]
fn the_routes_come_back() {
    // P-13, P-17
    let body =
        r#"{"message":{"message_id":"m1","role":"user","parts":[{"type":"text","text":"x"}]}}"#;
    let request = golden_route("POST", "/a2a/tasks/send", Some(body));
    assert_eq!(request.operation(), Operation::SendMessage);
    let request = golden_route("POST", "/a2a/tasks/send/stream", Some(body));
    assert_eq!(request.operation(), Operation::SendStreamingMessage);
    golden_route("GET", "/a2a/tasks/a1b2c3d4", None);
    golden_route("GET", "/a2a/tasks/a1b2c3d4?history_length=2", None);
    golden_route("GET", "/a2a/tasks/a1b2c3d4?history_length=0", None);
    golden_route("POST", "/a2a/tasks/a1b2c3d4/cancel", None);
    golden_route(
        "POST",
        "/a2a/tasks/a1b2c3d4/cancel",
        Some(r#"{"id":"a1b2c3d4","metadata":{"k":1}}"#),
    );
}

#[test]
fn the_clients_name_is_handed_on_over_http() {
    let alias = |path: &str, body: &str| {
        let call = HttpCall { method: "POST", path, query: "", body: body.as_bytes() };
        PocketPawHttp.task_alias(&call)
    };
    let body = r#"{"id":"mine","message":{"role":"user","parts":[{"text":"x"}]}}"#;
    assert_eq!(alias("/a2a/tasks/send", body).as_deref(), Some("mine"));
    assert_eq!(alias("/tasks/send/stream", body).as_deref(), Some("mine"));
    assert_eq!(alias("/a2a/tasks/t1/cancel", r#"{"id":"mine"}"#), None);
}

#[test]
fn bad_calls_over_http_are_refused() {
    let refused = |method: &str, target: &str, body: &str| {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let call = HttpCall { method, path, query, body: body.as_bytes() };
        PocketPawHttp.read_call(&call).unwrap_err()
    };
    for (method, path) in [
        ("GET", "/a2a/tasks"),
        ("GET", "/"),
        ("PUT", "/a2a/tasks/t1"),
        ("POST", "/a2a/tasks/t1/delete"),
        ("GET", "/a2a/a2a/tasks/t1"),
    ] {
        assert_eq!(refused(method, path, "").kind(), ErrorKind::MethodNotFound, "{path}");
    }
    let field = |error: Error| error.violations()[0].field.clone();
    assert_eq!(field(refused("GET", "/a2a/tasks/a%20b", "")), "task_id");
    assert_eq!(field(refused("GET", "/a2a/tasks/t?history_length=-1", "")), "historyLength");
    assert_eq!(field(refused("GET", "/a2a/tasks/t?history_length=x", "")), "historyLength");
    assert_eq!(field(refused("POST", "/a2a/tasks/send", "{}")), "message");
    assert_eq!(refused("POST", "/a2a/tasks/send", "").kind(), ErrorKind::Parse);
    assert_eq!(refused("POST", "/a2a/tasks/t/cancel", "{").kind(), ErrorKind::Parse);
}

#[test]
fn bad_requests_are_refused_with_the_path() {
    for (params, message) in [
        ("{}", "`message`: is required"),
        (r#"{"message":{"parts":[]}}"#, "`message.role`: is required"),
        (
            r#"{"message":{"role":"user","parts":[{"type":"file","text":"x"}]}}"#,
            "`message.parts[0].type`: says `file`, but the part holds something else",
        ),
        (
            r#"{"message":{"role":"user","parts":[{"type":"text","text":"x"}]},"history":[{}]}"#,
            "`history[0].role`: is required",
        ),
        (r#"{"message":{"a":1,"a":1}}"#, "`params.message.a`: the key stands twice"),
        (r#"{"message":{"a":1e999}}"#, "`params.message.a`: the number is out of range"),
        (r#"{"id":1}"#, "`id`: expected a string, found a number"),
    ] {
        let error = PocketPaw.read_call(&request("message/send", params)).unwrap_err().error;
        assert!(error.message().contains(message), "{error}");
    }
    let deep = format!(r#"{{"message":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    let error = PocketPaw.read_call(&request("message/send", &deep)).unwrap_err().error;
    assert!(error.message().contains("nested deeper"), "{error}");
}

#[test]
fn a_batch_holds_1_to_20_calls_and_no_streams() {
    // PD-04, C-42, T-19
    let get = request("tasks/get", r#"{"id":"t"}"#);
    let batch = |items: &[&str]| read_batch(&PocketPaw, &format!("[{}]", items.join(",")));
    assert_eq!(read_batch(&PocketPaw, &get).unwrap(), None);
    for length in [0, MAX_BATCH + 1] {
        let error = batch(&vec![get.as_str(); length]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.message().ends_with(&format!("this has {length}")), "{error}");
    }
    assert_eq!(batch(&vec![get.as_str(); MAX_BATCH]).unwrap().unwrap().len(), MAX_BATCH);
    assert_eq!(read_batch(&PocketPaw, "[1,").unwrap_err().kind(), ErrorKind::Parse);
    let stream = SEND.replace("message/send", "message/stream").replace("\"id\":1", "\"id\":2");
    let calls = batch(&[&get, &stream, "7"]).unwrap().unwrap();
    let [Ok(call), Err(stream), Err(number)] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(call.echo.operation, Operation::GetTask);
    assert_eq!((stream.id.as_str(), stream.error.kind()), ("2", ErrorKind::InvalidRequest));
    assert_eq!((number.id.as_str(), number.error.kind()), ("null", ErrorKind::InvalidRequest));
}

#[test]
fn a_batch_of_notifications_is_not_answered() {
    // PG-06
    assert_eq!(write_batch(&[]), None);
    assert_eq!(write_batch(&["{}".into(), "{}".into()]).as_deref(), Some("[{},{}]"));
}

#[test]
fn the_card_is_written_as_pocketpaw_writes_it() {
    // T-01, P-24
    let card: AgentCard = from_str(
        r#"{"name":"PocketPaw","description":"Self-hosted, modular AI agent...","supportedInterfaces":[{"url":"h:1","protocolBinding":"GRPC"},{"url":"http://localhost:8888/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"version":"0.5.0","capabilities":{"streaming":true,"pushNotifications":true},"skills":[{"id":"web_search","name":"web_search","description":"Search the web...","inputModes":["text/plain"],"outputModes":["text/plain"]}]}"#,
    )
    .unwrap();
    assert_eq!(
        card_document(&PocketPaw, &card),
        r#"{"name":"PocketPaw","description":"Self-hosted, modular AI agent...","url":"http://localhost:8888","version":"0.5.0","protocol_version":"0.2.5","capabilities":{"streaming":true,"push_notifications":false,"state_transition_history":true},"skills":[{"id":"web_search","name":"web_search","description":"Search the web...","input_modes":["text/plain"],"output_modes":["text/plain"]}],"supported_interfaces":[{"url":"http://localhost:8888/a2a","protocol_binding":"jsonrpc-over-https","protocol_version":"0.2.5"}]}"#
    );
}
