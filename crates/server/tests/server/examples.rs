//! Every example in `examples/` does what its head says.

use std::process::Command;

use nuncio_protocol::{
    card::sign::{Algorithm, KeySet, Signer},
    json,
};
use nuncio_testkit::{process, program::Program};

fn start(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Program {
    let mut command = Command::new(process::example(name));
    Program::start(command.args(arguments).envs(environment.iter().copied()))
}

fn message(parts: &str, task: &str) -> String {
    let task = if task.is_empty() { String::new() } else { format!(r#""taskId":"{task}","#) };
    format!(r#"{{"message":{{"messageId":"m1","role":"ROLE_USER",{task}"parts":[{parts}]}}}}"#)
}

/// Returns the identifier of the task in an answer.
fn task_id(answer: &str) -> &str {
    let rest = answer.split_once(r#"{"task":{"id":""#).expect("the answer is a task").1;
    rest.split_once('"').expect("a text has an end").0
}

const ANY_PORT: &[&str] = &["127.0.0.1:0"];

/// Here, or where the tests of the example stand.
#[test]
fn every_example_is_started_by_a_test() {
    let tests = [
        include_str!("examples.rs"),
        include_str!("conformance.rs"),
        include_str!("../../../../bench/tests/example.rs"),
    ]
    .concat();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let starts = ["start(", "process::example("].map(|start| format!("{start}\"{name}\""));
        assert!(starts.iter().any(|start| tests.contains(start)), "no test starts {name}");
    }
}

#[test]
fn hello_greets() {
    let example = start("hello", ANY_PORT, &[]);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}}"#,
        message(r#"{"text":"Ann"}"#, "")
    );
    let answer = example.post("/", &body);
    assert!(answer.contains("Hello, Ann!") && answer.contains("TASK_STATE_COMPLETED"), "{answer}");
}

#[test]
fn hello_is_short() {
    let text = include_str!("../../../../examples/hello.rs");
    let lines = text.lines().map(str::trim);
    let code = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    assert!(code.count() <= 15);
}

#[test]
fn streaming_answers_word_by_word() {
    let example = start("streaming", ANY_PORT, &[]);
    let stream = example.post("/message:stream", &message(r#"{"text":"one two three"}"#, ""));
    let places: Vec<usize> = ["one ", "two ", "three "]
        .iter()
        .map(|word| stream.find(&format!(r#"[{{"text":"{word}"}}]"#)).expect("every word comes"))
        .collect();
    assert!(places.is_sorted(), "{stream}");
    assert_eq!(stream.matches(r#""append":true"#).count(), 2);
}

#[test]
fn multi_turn_asks_back_and_goes_on() {
    let example = start("multi_turn", ANY_PORT, &[]);
    let first = example.post("/message:send", &message(r#"{"text":"book a table"}"#, ""));
    assert!(first.contains("TASK_STATE_INPUT_REQUIRED") && first.contains("For how many"));
    let task = task_id(&first);
    let second = example.post("/message:send", &message(r#"{"text":"four"}"#, task));
    assert!(second.contains("A table for four is booked."), "{second}");
    assert_eq!(task_id(&second), task);
}

#[test]
fn parts_takes_and_gives_files_and_data() {
    let example = start("parts", ANY_PORT, &[]);
    let parts = r#"{"raw":"b25lIHR3bwo=","mediaType":"text/plain"},{"data":{"text":"three"}}"#;
    let answer = example.post("/message:send", &message(parts, ""));
    assert!(answer.contains(r#""filename":"count.txt""#), "{answer}");
    assert!(answer.contains(r#"{"lines":2,"words":3}"#), "{answer}");
    let picture = message(r#"{"raw":"AAAA","mediaType":"image/png"}"#, "");
    let refused = example.post("/message:send", &picture);
    assert!(refused.contains("CONTENT_TYPE_NOT_SUPPORTED"), "{refused}");
}

#[test]
fn secured_knows_its_callers_by_key_and_by_token() {
    let signer = Signer::generate(Algorithm::EdDsa).unwrap();
    let mut keys = KeySet::default();
    keys.insert(signer.public_key().clone());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("jwks.json");
    std::fs::write(&file, json::to_string(&keys)).unwrap();
    let environment = [
        ("ISSUER", "https://issuer.example"),
        ("AUDIENCE", "who-am-i"),
        ("JWKS", file.to_str().unwrap()),
    ];
    let example = start("secured", ANY_PORT, &environment);
    let ask = message(r#"{"text":"who am I?"}"#, "");

    let (head, _) = example.send("POST", "/message:send", "", &ask);
    assert!(head.starts_with("HTTP/1.1 401 ") && head.contains("www-authenticate: Bearer"));

    let key = example.said().split_whitespace().last().expect("it prints a key");
    let with_key = format!("x-api-key: {key}\r\n");
    let (_, answer) = example.send("POST", "/message:send", &with_key, &ask);
    assert!(answer.contains("You are user:ann."), "{answer}");
    let (_, card) = example.send("GET", "/extendedAgentCard", &with_key, "");
    assert!(card.contains("\"secret\""), "{card}");
    let (_, card) = example.send("GET", "/.well-known/agent-card.json", "", "");
    assert!(!card.contains("\"secret\""), "{card}");

    let with_token = format!("authorization: Bearer {}\r\n", token(&signer));
    let (_, answer) = example.send("POST", "/message:send", &with_token, &ask);
    assert!(answer.contains("You are user:bob."), "{answer}");
}

/// Signs a token for `bob` that is valid now.
fn token(signer: &Signer) -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

    let now = jiff::Timestamp::now().as_second();
    let header = format!(r#"{{"alg":"EdDSA","typ":"JWT","kid":"{}"}}"#, signer.kid());
    let claims = format!(
        r#"{{"iss":"https://issuer.example","aud":"who-am-i","sub":"bob","iat":{now},"exp":{}}}"#,
        now + 300
    );
    let text = format!("{}.{}", BASE64.encode(header), BASE64.encode(claims));
    let signature = signer.sign_bytes(text.as_bytes()).expect("it signs");
    format!("{text}.{}", BASE64.encode(signature))
}

#[test]
fn dialects_answers_each_in_its_own_form() {
    let example = start("dialects", &["pocketpaw", "127.0.0.1:0"], &[]);
    let (head, capabilities) = example.send("GET", "/a2a/capabilities", "", "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{capabilities}");
    let (head, _) = example.send("GET", "/a2a/agent-card", "", "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let task = r#"{"message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}"#;
    let answer = example.post("/a2a/tasks/send", task);
    assert!(answer.contains(r#""state":"completed""#), "{answer}");
}
