//! `nuncio mock` from outside: scripts, faults, and agents with known defects.

mod broken;
mod faults;
mod scripts;

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::Command,
    time::Duration,
};

use nuncio_testkit::program::Program;
use serde_json::{Value, json};

fn nuncio(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nuncio"));
    command.args(arguments);
    command
}

fn mock_file(path: &Path) -> Program {
    let path = path.to_str().expect("a path of the test's own");
    Program::start(&mut nuncio(&["mock", path, "--port", "0"]))
}

fn mock(script: &str) -> Program {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("agent.yaml");
    std::fs::write(&path, script).expect("there is room");
    // It has been read once the program listens.
    mock_file(&path)
}

/// Makes a request to send a text, to a task if there is one.
fn message(text: &str, task: Option<&str>) -> String {
    let mut message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]});
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    json!({"message": message}).to_string()
}

fn say(mock: &Program, text: &str) -> Value {
    parse(&mock.post("/message:send", &message(text, None)))
}

fn say_to(mock: &Program, task: &Value, text: &str) -> Value {
    let id = task["task"]["id"].as_str().expect("it has an id");
    parse(&mock.post("/message:send", &message(text, Some(id))))
}

/// Calls a method of JSON-RPC under the id 7. Returns nothing if the answer is no document.
fn rpc(mock: &Program, method: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    serde_json::from_str(&mock.post("/", &body.to_string())).unwrap_or_default()
}

/// Follows a message to its end; returns the events, and what came on the wire.
fn stream(mock: &Program, text: &str) -> (Vec<Value>, String) {
    let raw = mock.post("/message:stream", &message(text, None));
    let events = raw.lines().filter_map(|line| line.strip_prefix("data:"));
    (events.map(|data| serde_json::from_str(data).unwrap_or(Value::Null)).collect(), raw)
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn state(answer: &Value) -> &str {
    answer["task"]["status"]["state"].as_str().unwrap_or_default()
}

/// Returns the text of all results of a task.
fn result(answer: &Value) -> String {
    let artifacts = answer["task"]["artifacts"].as_array().cloned().unwrap_or_default();
    let parts = artifacts.iter().flat_map(|artifact| artifact["parts"].as_array().into_iter());
    parts.flatten().filter_map(|part| part["text"].as_str()).collect()
}

fn status_text(answer: &Value) -> &str {
    answer["task"]["status"]["message"]["parts"][0]["text"].as_str().unwrap_or_default()
}

/// Posts a body in a version of A2A; returns the answer, head and all.
fn exchange(mock: &Program, version: &str, path: &str, body: &str) -> String {
    let mut answer = String::new();
    // One that breaks off is an answer, too.
    let _ = post(mock, version, path, body).read_to_string(&mut answer);
    answer
}

/// Sends a message, and reads until a text has come and nothing comes behind it for a while.
/// Tells whether that was the end.
fn listen(mock: &Program, path: &str, until: &str) -> (String, bool) {
    let mut connection = post(mock, "1.0", path, &message("x", None));
    let (mut heard, mut bytes) = (String::new(), [0; 4096]);
    loop {
        let patience = heard.contains(until).then(|| Duration::from_secs(1));
        connection.set_read_timeout(patience).expect("it is not zero");
        match connection.read(&mut bytes) {
            Ok(0) => return (heard, true),
            Ok(count) => heard.push_str(&String::from_utf8_lossy(&bytes[..count])),
            Err(error) => {
                let is_quiet = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                return (heard, !is_quiet);
            }
        }
    }
}

fn post(mock: &Program, version: &str, path: &str, body: &str) -> TcpStream {
    let mut connection = TcpStream::connect(mock.address()).expect("it listens");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: mock\r\nconnection: close\r\na2a-version: {version}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(request.as_bytes()).expect("it reads");
    connection
}
