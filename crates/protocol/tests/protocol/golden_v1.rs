//! The examples of A2A 1.0, one for each operation on each binding (A2A digest §21, T-01):
//! each is read into the model and written back, byte for byte.

use nuncio_protocol::{
    card::AgentCard,
    error::{Error, ErrorKind},
    http::{HttpCall, HttpForm, V1Http},
    json::{from_str, to_string},
    operation::Operation,
    wire::{Echo, JsonRpcForm, StreamEnd, V1},
};

/// A JSON-RPC request and its answer.
#[track_caller]
fn rpc(request: &str, answer: &str) {
    let call = V1.read_call(request).expect("a request of 1.0");
    let id = call.echo.id();
    assert_eq!(V1.write_call(&id, &call.request).as_deref(), Ok(request));
    let response = V1.read_reply(call.echo.operation, answer).expect("an answer of 1.0");
    assert_eq!(V1.write_reply(&call.echo, Ok(&response)), answer);
}

/// The frames that answer a JSON-RPC request.
#[track_caller]
fn rpc_stream(request: &str, frames: &[&str]) {
    let call = V1.read_call(request).expect("a request of 1.0");
    assert_eq!(V1.write_call(&call.echo.id(), &call.request).as_deref(), Ok(request));
    for frame in frames {
        let event = V1.read_frame(frame).expect("an event of 1.0");
        assert_eq!(V1.write_frame(&call.echo, Ok(&event), StreamEnd::Open).data, *frame);
    }
}

/// An HTTP+JSON request and its answer.
#[track_caller]
fn rest(method: &str, target: &str, body: &str, answer: &str) {
    let form = V1Http::default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let call = HttpCall { method, path, query, body: body.as_bytes() };
    let request = form.read_call(&call).expect("a request of 1.0");
    let written = form.write_call(&request).expect("1.0 has every operation");
    let (path, query) = written.path.split_once('?').unwrap_or((&written.path, ""));
    let body = written.body.unwrap_or_default();
    let again = HttpCall { method: written.method, path, query, body: body.as_bytes() };
    assert_eq!(form.read_call(&again).as_ref(), Ok(&request));
    let operation = request.operation();
    let response = form.read_reply(operation, 200, answer.as_bytes()).expect("an answer of 1.0");
    assert_eq!(form.write_reply(operation, Ok(&response)).body, answer);
}

#[test]
fn send_message() {
    rpc(
        r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"add 2 and 3"}]}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-08-20T09:00:00.000Z"},"artifacts":[{"artifactId":"a1","parts":[{"text":"5"}]}]}}}"#,
    );
    rest(
        "POST",
        "/message:send",
        r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"add 2 and 3"}]},"configuration":{"returnImmediately":true}}"#,
        r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-08-20T09:00:00.000Z"}}}"#,
    );
}

#[test]
fn send_streaming_message() {
    rpc_stream(
        r#"{"jsonrpc":"2.0","id":"s","method":"SendStreamingMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"count"}]}}}"#,
        &[
            r#"{"jsonrpc":"2.0","id":"s","result":{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}}"#,
            r#"{"jsonrpc":"2.0","id":"s","result":{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"text":"1 2"}]},"lastChunk":true}}}"#,
            r#"{"jsonrpc":"2.0","id":"s","result":{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}}"#,
        ],
    );
    let form = V1Http::default();
    let data = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let event = form.read_frame(data).unwrap();
    assert_eq!(form.write_frame(Ok(&event), StreamEnd::Open).data, data);
}

#[test]
fn get_task() {
    rpc(
        r#"{"jsonrpc":"2.0","id":2,"method":"GetTask","params":{"id":"t1","historyLength":0}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#,
    );
    rest(
        "GET",
        "/tasks/t1?historyLength=5",
        "",
        r#"{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"count"}]}]}"#,
    );
}

#[test]
fn list_tasks() {
    rpc(
        r#"{"jsonrpc":"2.0","id":3,"method":"ListTasks","params":{"contextId":"c1","pageSize":1}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"tasks":[{"id":"t2","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-08-20T09:05:00.000Z"}}],"nextPageToken":"Y3Vyc29y","pageSize":1,"totalSize":2}}"#,
    );
    rest(
        "GET",
        "/tasks?status=TASK_STATE_WORKING&statusTimestampAfter=2026-08-20T00%3A00%3A00Z",
        "",
        r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#,
    );
}

#[test]
fn cancel_task() {
    rpc(
        r#"{"jsonrpc":"2.0","id":4,"method":"CancelTask","params":{"id":"t1"}}"#,
        r#"{"jsonrpc":"2.0","id":4,"result":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_CANCELED"}}}"#,
    );
    let body = r#"{"error":{"code":404,"status":"NOT_FOUND","message":"no task t9","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"t9"}}]}}"#;
    let form = V1Http::default();
    let call = HttpCall { method: "POST", path: "/tasks/t9:cancel", query: "", body: b"" };
    assert_eq!(form.read_call(&call).unwrap().operation(), Operation::CancelTask);
    let error = form.read_reply(Operation::CancelTask, 404, body.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    assert_eq!(form.write_reply(Operation::CancelTask, Err(&error)).body, body);
}

#[test]
fn subscribe_to_task() {
    rpc_stream(
        r#"{"jsonrpc":"2.0","id":5,"method":"SubscribeToTask","params":{"id":"t1"}}"#,
        &[
            r#"{"jsonrpc":"2.0","id":5,"result":{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}}"#,
        ],
    );
}

#[test]
fn create_push_config() {
    rpc(
        r#"{"jsonrpc":"2.0","id":6,"method":"CreateTaskPushNotificationConfig","params":{"taskId":"t1","url":"https://cb.example/h","authentication":{"scheme":"Bearer","credentials":"s3"}}}"#,
        r#"{"jsonrpc":"2.0","id":6,"result":{"id":"p1","taskId":"t1","url":"https://cb.example/h","authentication":{"scheme":"Bearer","credentials":"s3"}}}"#,
    );
    rest(
        "POST",
        "/tasks/t1/pushNotificationConfigs",
        r#"{"url":"https://cb.example/h","token":"abc"}"#,
        r#"{"id":"p1","taskId":"t1","url":"https://cb.example/h","token":"abc"}"#,
    );
}

#[test]
fn get_push_config() {
    rpc(
        r#"{"jsonrpc":"2.0","id":7,"method":"GetTaskPushNotificationConfig","params":{"taskId":"t1","id":"p1"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{"id":"p1","taskId":"t1","url":"https://cb.example/h"}}"#,
    );
    rest(
        "GET",
        "/tasks/t1/pushNotificationConfigs/p1",
        "",
        r#"{"id":"p1","taskId":"t1","url":"https://cb.example/h"}"#,
    );
}

#[test]
fn list_push_configs() {
    rpc(
        r#"{"jsonrpc":"2.0","id":8,"method":"ListTaskPushNotificationConfigs","params":{"taskId":"t1"}}"#,
        r#"{"jsonrpc":"2.0","id":8,"result":{"configs":[{"id":"p1","taskId":"t1","url":"https://cb.example/h"}]}}"#,
    );
    rest("GET", "/acme/tasks/t1/pushNotificationConfigs?pageSize=10", "", r#"{"configs":[]}"#);
}

#[test]
fn delete_push_config() {
    rpc(
        r#"{"jsonrpc":"2.0","id":9,"method":"DeleteTaskPushNotificationConfig","params":{"taskId":"t1","id":"p1"}}"#,
        r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
    );
    rest("DELETE", "/tasks/t1/pushNotificationConfigs/p1", "", "{}");
    let deleted =
        V1Http::default().read_reply(Operation::DeleteTaskPushNotificationConfig, 204, b"");
    assert!(deleted.is_ok());
}

#[test]
fn get_extended_card() {
    let call =
        V1.read_call(r#"{"jsonrpc":"2.0","id":10,"method":"GetExtendedAgentCard"}"#).unwrap();
    let answer = r#"{"jsonrpc":"2.0","id":10,"error":{"code":-32004,"message":"no extended card","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org"}]}}"#;
    let error: Error = V1.read_reply(call.echo.operation, answer).unwrap_err();
    assert_eq!(V1.write_reply(&call.echo, Err(&error)), answer);
    let echo = Echo { id: None, ..call.echo };
    assert!(V1.write_reply(&echo, Err(&error)).contains(r#""id":null"#));
}

#[test]
fn the_minimal_card() {
    let card = r#"{"name":"Echo","description":"Repeats text","supportedInterfaces":[{"url":"https://a.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"https://a.example/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},{"url":"a.example:443","protocolBinding":"GRPC","protocolVersion":"1.0"}],"version":"1.0.0","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"echo","name":"Echo","description":"Echo input","tags":["demo"]}]}"#;
    assert_eq!(to_string(&from_str::<AgentCard>(card).unwrap()), card);
}
