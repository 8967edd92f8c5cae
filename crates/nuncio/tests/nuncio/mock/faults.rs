//! When and where things go wrong.

use nuncio_protocol::{
    message::Message,
    operation::{Request, Response, SendMessageRequest},
    task::SendMessageResponse,
};
use nuncio_testkit::wire::{Http, Wire};

use super::*;

#[test]
fn a_fault_happens_as_often_as_it_says() {
    let mock = mock("faults:\n  - {on: GetTask, every: 2, status: 503}\n");
    let status = || mock.send("GET", "/tasks/none", "", "").0;
    for expected in ["404", "503", "404", "503"] {
        assert!(status().starts_with(&format!("HTTP/1.1 {expected} ")));
        // Other calls are not counted.
        assert_eq!(result(&say(&mock, "hello")), "hello");
    }
}

#[test]
fn a_fault_holds_on_every_binding_and_version() {
    let mock = mock("faults:\n  - {on: GetTask, errors_only: true, status: 500}\n");
    let get = |method: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": "none"}}).to_string()
    };
    for (version, method) in [("1.0", "GetTask"), ("0.3", "tasks/get")] {
        let answer = exchange(&mock, version, "/", &get(method));
        assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    }
    let (head, _) = mock.send("GET", "/tasks/none", "", "");
    assert!(head.starts_with("HTTP/1.1 500 "), "{head}");
}

#[test]
fn faults_of_calls_leave_card_and_health_alone() {
    let mock = mock("faults:\n  - {status: 503}\n");
    for path in ["/.well-known/agent-card.json", "/healthz", "/readyz"] {
        let (head, _) = mock.send("GET", path, "", "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
    }
}

#[tokio::test]
async fn what_does_not_go_wrong_passes_on_every_binding_and_version() {
    let mock = mock("faults:\n  - {on: CancelTask, silence: true}\n  - {first: 1, delay: 1ms}\n");
    let http = Http::new(mock.address().parse().unwrap());
    for wire in Wire::all(&http) {
        let request = SendMessageRequest::new(Message::user("hello"));
        let answer = wire.call(Request::SendMessage(request.clone())).await.unwrap();
        let Response::SendMessage(SendMessageResponse::Task(task)) = answer else {
            panic!("{:?} {}: {answer:?}", wire.binding, wire.version);
        };
        assert_eq!(task.artifacts[0].text(), "hello");
        let mut events = wire.stream(Request::SendStreamingMessage(request), None).await.unwrap();
        assert!(events.next().await.is_some());
    }
}

#[test]
fn faults_add_up() {
    let mock =
        mock("faults:\n  - {garbage: 'no', content_type: text/html}\n  - answer_status: 502\n");
    let (head, body) = mock.send("POST", "/message:send", "", &message("hello", None));
    assert!(head.starts_with("HTTP/1.1 502 ") && head.contains("text/html"), "{head}");
    assert_eq!(body, "no");
}
