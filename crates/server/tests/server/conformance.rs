//! The agent for conformance kits shows what the kits look for.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Command,
    thread,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use nuncio_protocol::{
    message::Message,
    operation::{ListTasksRequest, Request, SendMessageRequest},
    version::Version,
};
use nuncio_testkit::{
    process,
    program::Program,
    wire::{Binding, Http, Wire},
};
use serde_json::{Value, json};

fn start(environment: &[(&str, &str)]) -> Program {
    let mut command = conformance(&["--allow-loopback-webhooks"]);
    Program::start(command.envs(environment.iter().copied()))
}

/// Starts the agent with flags.
fn start_with(flags: &[&str]) -> Program {
    Program::start(&mut conformance(flags))
}

fn conformance(flags: &[&str]) -> Command {
    let mut command = Command::new(process::example("conformance"));
    command.args(["--port", "0"]).args(flags);
    command
}

fn card_of(agent: &Program) -> Value {
    let (_, card) = agent.send("GET", "/.well-known/agent-card.json", "", "");
    serde_json::from_str(&card).unwrap_or_else(|error| panic!("{error}: {card}"))
}

fn grpc(address: &str) -> Wire {
    let http = Http::new(address.parse().expect("an address"));
    Wire { binding: Binding::Grpc, version: Version::V1_0, http }
}

const MESSAGE: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}"#;

/// Kits check that what is not on the card is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_minimal_card_promises_nothing_and_the_rest_is_refused() {
    let agent = start_with(&["--card", "minimal"]);
    let card = card_of(&agent);
    for capability in ["streaming", "pushNotifications", "extendedAgentCard"] {
        assert_ne!(card["capabilities"][capability], true, "{card}");
    }
    assert_eq!(status(&send(&agent, "tck-complete-task", "x")["task"]).0, "COMPLETED");
    let config = r#"{"url":"https://example.com/hook"}"#;
    for (path, body, reason) in [
        ("/message:stream", MESSAGE, "UNSUPPORTED_OPERATION"),
        ("/tasks/x/pushNotificationConfigs", config, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    ] {
        let (head, answer) = agent.send("POST", path, "", body);
        assert!(head.starts_with("HTTP/1.1 400 ") && answer.contains(reason), "{head}{answer}");
    }
}

#[test]
fn an_extension_that_the_card_requires_is_required() {
    let agent = start_with(&["--card", "extension"]);
    let needed = "urn:a2a:tck:required-extension";
    let extensions = card_of(&agent)["capabilities"]["extensions"].clone();
    let is_required = |one: &Value| one["uri"] == needed && one["required"] == true;
    assert!(extensions.as_array().expect("a list").iter().any(is_required), "{extensions}");
    let (head, answer) = agent.send("POST", "/message:send", "", MESSAGE);
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    assert!(answer.contains("EXTENSION_SUPPORT_REQUIRED"), "{answer}");
    let header = format!("a2a-extensions: {needed}\r\n");
    let (head, answer) = agent.send("POST", "/message:send", &header, MESSAGE);
    assert!(head.starts_with("HTTP/1.1 200 ") && answer.contains("COMPLETED"), "{head}{answer}");
}

/// The kit of 1.0 is built on the codes of specification 1.0.0, which later editions changed.
#[tokio::test(flavor = "multi_thread")]
async fn the_codes_are_those_of_the_edition_that_is_asked_for() {
    for (spec, status, code) in [("1.0.0", "415", 12), ("1.0.1", "400", 9)] {
        let agent = start_with(&["--card", "minimal", "--spec", spec]);
        let mut connection = TcpStream::connect(agent.address()).unwrap();
        let request = "POST /message:send HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
                       a2a-version: 1.0\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\n{}";
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{spec}: {answer}");
        let stream = Request::SendStreamingMessage(SendMessageRequest::new(Message::user("x")));
        let refused = grpc(agent.address()).stream(stream, None).await.expect_err("it has none");
        assert_eq!(refused.code, code, "{spec}: {refused:?}");
    }
    let wrong = conformance(&["--spec", "2"]).output().unwrap();
    assert!(!wrong.status.success() && !wrong.stderr.is_empty());
}

/// Kits take the address of gRPC from the card as it stands there: host and port.
#[tokio::test(flavor = "multi_thread")]
async fn grpc_has_a_port_of_its_own_where_one_is_asked_for() {
    for flag in ["--grpc-port", "--grpcPort"] {
        let agent = start_with(&[flag, "0"]);
        let card = card_of(&agent);
        let interfaces = card["supportedInterfaces"].as_array().expect("a list");
        let is_grpc = |one: &&Value| one["protocolBinding"] == "GRPC";
        let own = interfaces.iter().find(is_grpc).expect("gRPC is there");
        let own = own["url"].as_str().expect("a text");
        assert_ne!(own, agent.address());
        for address in [own, agent.address()] {
            let list = Request::ListTasks(ListTasksRequest::default());
            let answered = grpc(address).call(list).await;
            assert!(answered.is_ok(), "{address}: {answered:?}");
        }
    }
}

/// Sends a message, and returns the answer.
fn send(agent: &Program, id: &str, text: &str) -> Value {
    let part = json!({ "text": text });
    answer(agent, &json!({ "messageId": id, "role": "ROLE_USER", "parts": [part] }))
}

fn answer(agent: &Program, message: &Value) -> Value {
    let body = json!({ "message": message }).to_string();
    let answer = agent.post("/message:send", &body);
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn status(task: &Value) -> (&str, &str) {
    let state = task["status"]["state"].as_str().unwrap_or_default();
    let said = task["status"]["message"]["parts"][0]["text"].as_str();
    (state.trim_start_matches("TASK_STATE_"), said.unwrap_or_default())
}

/// Kits of 1.0 go by how the identifier of a message begins, and the longest counts; ACTS goes by
/// how its text begins.
#[test]
fn every_scene_is_shown_by_the_identifier_and_by_the_text() {
    let agent = start(&[("TCK_STREAMING_TIMEOUT", "0.1")]);
    let scenes = [
        ("tck-complete-task", "COMPLETED", "Hello from TCK"),
        ("tck-artifact-text", "COMPLETED", r#"[{"text":"Generated text content"}]"#),
        (
            "tck-artifact-file",
            "COMPLETED",
            r#"[{"filename":"output.txt","mediaType":"text/plain","raw":"dGNr"}]"#,
        ),
        (
            "tck-artifact-file-url",
            "COMPLETED",
            r#"[{"filename":"output.txt","mediaType":"text/plain","url":"https://example.com/output.txt"}]"#,
        ),
        ("tck-artifact-data", "COMPLETED", r#"[{"data":{"count":42,"key":"value"}}]"#),
        ("tck-input-required", "INPUT_REQUIRED", "Go on?"),
        ("tck-multi-turn", "INPUT_REQUIRED", "Go on?"),
        ("tck-reject-task", "REJECTED", "rejected"),
        ("tck-task-failure", "FAILED", "failed, as was asked for"),
        ("tck-stream-001", "COMPLETED", r#"[{"text":"Stream hello from TCK"}]"#),
        ("tck-stream-002", "COMPLETED", "done"),
        ("tck-stream-003", "COMPLETED", r#"[{"text":"Stream task lifecycle"}]"#),
        ("tck-stream-ordering-001", "COMPLETED", r#"[{"text":"Ordered output"}]"#),
        ("tck-stream-artifact-text", "COMPLETED", r#"[{"text":"Streamed text content"}]"#),
        (
            "tck-stream-artifact-file",
            "COMPLETED",
            r#"[{"filename":"output.txt","mediaType":"text/plain","raw":"dGNr"}]"#,
        ),
        ("tck-stream-artifact-chunked", "COMPLETED", r#"[{"text":"chunk-1 "},{"text":"chunk-2"}]"#),
        ("tck-stream-basic", "COMPLETED", r#"[{"text":"Streamed text content"}]"#),
        ("tck-stream-chunked", "COMPLETED", r#"[{"text":"chunk-1 "},{"text":"chunk-2"}]"#),
        ("tck-something-new", "COMPLETED", "done"),
        ("test-resubscribe-message-id", "COMPLETED", "done"),
        ("anything", "COMPLETED", "done"),
    ];
    for (scene, state, shown) in scenes {
        let by_id = send(&agent, &format!("{scene}-0a1b2c3d-grpc"), "Hello");
        let by_text = send(&agent, "m1", &format!("{scene}, please"));
        for answer in [by_id, by_text] {
            let task = &answer["task"];
            let (found, said) = status(task);
            let made = task["artifacts"][0]["parts"].to_string();
            assert_eq!(found, state, "{scene}: {answer}");
            assert!(said == shown || made == shown, "{scene}: {answer}");
        }
    }
    // The identifier counts first.
    let both = send(&agent, "tck-artifact-text-1", "tck-task-failure");
    assert_eq!(status(&both["task"]).0, "COMPLETED", "{both}");
}

#[test]
fn a_reply_comes_without_a_task() {
    let agent = start(&[]);
    for (id, text) in [("tck-message-response-1", "Hello"), ("m1", "tck-message-response")] {
        let reply = &send(&agent, id, text)["message"];
        assert_eq!(reply["role"], "ROLE_AGENT", "{reply}");
        assert_eq!(reply["parts"], json!([{ "text": "Direct message response" }]));
    }
}

/// The same identifier comes many times in a session, also on other tasks.
#[test]
fn messages_are_not_known_again_by_their_identifiers() {
    let agent = start(&[]);
    let one = send(&agent, "tck-complete-task-0a1b2c3d", "Hello");
    let other = send(&agent, "tck-complete-task-0a1b2c3d", "Hello");
    assert_ne!(one["task"]["id"], other["task"]["id"]);
}

#[test]
fn what_follows_goes_by_its_own_identifier_and_a_second_turn_completes() {
    let agent = start(&[]);
    let asks = send(&agent, "tck-input-required-1", "Hello");
    let follow = |first: &Value, id: &str| {
        let message = json!({
            "messageId": id, "role": "ROLE_USER", "parts": [{ "text": "tck-multi-turn" }],
            "taskId": first["task"]["id"], "contextId": first["task"]["contextId"],
        });
        answer(&agent, &message)
    };
    let done = follow(&asks, "tck-artifact-text-1");
    assert_eq!((status(&done["task"]).0, &done["task"]["id"]), ("COMPLETED", &asks["task"]["id"]));
    let asks = send(&agent, "m1", "tck-multi-turn");
    assert_eq!(status(&asks["task"]).0, "INPUT_REQUIRED");
    assert_eq!(status(&follow(&asks, "m2")["task"]).0, "COMPLETED");
}

/// `tck-cancel` works until it is cancelled; so can everything that has not ended.
#[test]
fn what_has_not_ended_can_be_cancelled() {
    let agent = start(&[]);
    for scene in ["tck-cancel", "tck-long-running", "tck-input-required"] {
        let message =
            json!({ "messageId": scene, "role": "ROLE_USER", "parts": [{ "text": "x" }] });
        let body = json!({ "message": message, "configuration": { "returnImmediately": true } });
        let begun: Value =
            serde_json::from_str(&agent.post("/message:send", &body.to_string())).unwrap();
        let id = begun["task"]["id"].as_str().expect("a task");
        let cancelled = agent.post(&format!("/tasks/{id}:cancel"), "");
        assert!(cancelled.contains("TASK_STATE_CANCELED"), "{scene}: {cancelled}");
    }
}

/// A field of protobuf with a length.
fn field(number: u8, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length > 0x7f {
        bytes.push(u8::try_from(length & 0x7f).expect("seven bits") | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).expect("seven bits"));
    bytes.extend(content);
    bytes
}

/// A field of protobuf that is true.
fn yes(number: u8) -> Vec<u8> {
    vec![number << 3, 1]
}

fn returning(text: &str) -> Vec<u8> {
    field(2, field(1, text))
}

fn holding(text: &str) -> Vec<u8> {
    field(2, [field(1, text), yes(2)].concat())
}

fn steps(instructions: &[Vec<u8>]) -> Vec<u8> {
    let instructions = instructions.iter().map(|each| field(1, each));
    field(3, instructions.collect::<Vec<_>>().concat())
}

fn calling(transport: &str, agent: &Program, instruction: &[u8], more: &[u8]) -> Vec<u8> {
    let url = format!("http://{}/.well-known/agent-card.json", agent.address());
    let parts = [field(1, transport), field(2, url), field(3, instruction), more.to_vec()];
    field(1, parts.concat())
}

fn instruct(agent: &Program, instruction: &[u8]) -> Value {
    let part = json!({
        "raw": BASE64_STANDARD.encode(instruction), "filename": "instruction.bin",
        "mediaType": "application/x-protobuf",
    });
    answer(agent, &json!({ "messageId": "m", "role": "ROLE_USER", "parts": [part] }))
}

#[track_caller]
fn check(agent: &Program, instruction: &[u8], said: &str) {
    let answer = instruct(agent, instruction);
    assert_eq!(status(&answer["task"]), ("COMPLETED", said), "{answer}");
}

#[test]
fn itk_instructions_are_followed_along_a_chain_of_agents() {
    let (one, two) = (start(&[]), start(&[]));
    check(&one, &returning("here"), "here");
    check(&one, &steps(&[returning("a"), returning("b")]), "a\nb");
    for transport in ["jsonrpc", "grpc", "http_json"] {
        // To the other and back.
        let back = calling(transport, &one, &returning("one"), &field(5, ""));
        let there = steps(&[returning("two"), back]);
        check(&one, &calling(transport, &two, &there, &[]), "two\none");
        check(&one, &calling(transport, &two, &there, &yes(4)), "two\none");
    }
}

#[test]
fn itk_resubscribes_to_a_task_that_is_held_and_ends_it() {
    let (one, two) = (start(&[]), start(&[]));
    for transport in ["jsonrpc", "grpc", "http_json"] {
        let call = calling(transport, &two, &holding("still here"), &field(7, ""));
        check(&one, &call, "still here\ntask-finished");
    }
    let listed = two.send("GET", "/tasks", "", "").1;
    assert_eq!(listed.matches("TASK_STATE_CANCELED").count(), 3, "{listed}");
}

#[test]
fn itk_asks_for_a_webhook_which_is_told_the_words_of_the_agent() {
    let (one, two) = (start(&[]), start(&[]));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = thread::spawn(move || receive(&listener));
    let push = field(6, field(1, &url));
    check(&one, &calling("jsonrpc", &two, &returning("look"), &push), "look");
    let heard = heard.join().unwrap();
    assert!(heard.starts_with("POST /notifications "), "{heard}");
    assert!(heard.to_lowercase().contains("x-a2a-notification-token: itk"), "{heard}");
    assert!(heard.contains(r#""text":"look""#), "{heard}");
}

/// Takes deliveries until one says something, and returns that.
fn receive(listener: &TcpListener) -> String {
    loop {
        let (stream, _) = listener.accept().expect("a caller");
        let mut reader = BufReader::new(stream);
        let (mut heard, mut length) = (String::new(), 0);
        loop {
            let start = heard.len();
            reader.read_line(&mut heard).expect("a line");
            let line = heard[start..].to_lowercase();
            if let Some(number) = line.strip_prefix("content-length:") {
                length = number.trim().parse().expect("a length");
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        heard.push_str(str::from_utf8(&body).expect("UTF-8"));
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        reader.get_mut().write_all(answer).expect("it listens");
        if heard.contains("\"text\"") {
            return heard;
        }
    }
}

#[test]
fn an_instruction_that_cannot_be_followed_fails_the_task_and_says_why() {
    let agent = start(&[]);
    for (instruction, why) in [
        (vec![], "the instruction says nothing"),
        (vec![0xff, 0xff], "no instruction"),
        (calling("pigeon", &agent, &returning("x"), &[]), "not pigeon"),
    ] {
        let answer = instruct(&agent, &instruction);
        let (state, said) = status(&answer["task"]);
        assert!(state == "FAILED" && said.contains(why), "{answer}");
    }
}
