//! Every example in `examples/` does what its head says.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, ChildStderr, Command, Stdio},
};

use nuncio_protocol::{
    card::sign::{Algorithm, KeySet, Signer},
    json,
};

/// A running example.
struct Example {
    child: Child,
    log: BufReader<ChildStderr>,
    /// What it said before it listened.
    said: String,
    address: String,
}

impl Example {
    fn start(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(binary(name))
            .args(arguments)
            .envs(environment.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .expect("cargo has built the examples");
        let log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut example = Self { child, log, said: String::new(), address: String::new() };
        while example.address.is_empty() {
            let mut line = String::new();
            let count = example.log.read_line(&mut line).expect("it writes text");
            assert!(count > 0, "{name} ended: {}", example.said);
            match line.trim().strip_prefix("listening on http://") {
                Some(address) => address.clone_into(&mut example.address),
                None => example.said.push_str(&line),
            }
        }
        example
    }

    /// Sends a request over a connection of its own; returns head and body as they come.
    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> (String, String) {
        let mut connection = TcpStream::connect(&self.address).expect("it listens");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\na2a-version: 1.0\r\n\
             {headers}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        connection.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("it answers text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("it answers HTTP");
        (head.to_owned(), body.to_owned())
    }

    fn post(&self, path: &str, body: &str) -> String {
        self.send("POST", path, "", body).1
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mut rest = String::new();
        let _ = self.log.read_to_string(&mut rest);
        assert!(!rest.contains("panicked"), "{rest}");
    }
}

fn binary(name: &str) -> PathBuf {
    // Tests lie in target/<profile>/deps, examples beside that.
    let test = std::env::current_exe().expect("a test is a file");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("cargo's folders");
    profile.join("examples").join(name)
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

#[test]
fn hello_greets() {
    let example = Example::start("hello", ANY_PORT, &[]);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}}"#,
        message(r#"{"text":"Ann"}"#, "")
    );
    let answer = example.post("/", &body);
    assert!(answer.contains("Hello, Ann!") && answer.contains("TASK_STATE_COMPLETED"), "{answer}");
}

#[test]
fn hello_is_short() {
    let text = include_str!("../../../examples/hello.rs");
    let lines = text.lines().map(str::trim);
    let code = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    assert!(code.count() <= 15);
}

#[test]
fn streaming_answers_word_by_word() {
    let example = Example::start("streaming", ANY_PORT, &[]);
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
    let example = Example::start("multi_turn", ANY_PORT, &[]);
    let first = example.post("/message:send", &message(r#"{"text":"book a table"}"#, ""));
    assert!(first.contains("TASK_STATE_INPUT_REQUIRED") && first.contains("For how many"));
    let task = task_id(&first);
    let second = example.post("/message:send", &message(r#"{"text":"four"}"#, task));
    assert!(second.contains("A table for four is booked."), "{second}");
    assert_eq!(task_id(&second), task);
}

#[test]
fn parts_takes_and_gives_files_and_data() {
    let example = Example::start("parts", ANY_PORT, &[]);
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
    let example = Example::start("secured", ANY_PORT, &environment);
    let ask = message(r#"{"text":"who am I?"}"#, "");

    let (head, _) = example.send("POST", "/message:send", "", &ask);
    assert!(head.starts_with("HTTP/1.1 401 ") && head.contains("www-authenticate: Bearer"));

    let key = example.said.split_whitespace().last().expect("it prints a key");
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
fn conformance_shows_its_scenes() {
    let example = Example::start("conformance", &["--port", "0"], &[]);
    let by_text = |text: &str| {
        let part = format!(r#"{{"text":"{text}"}}"#);
        example.post("/message:send", &message(&part, ""))
    };
    for (text, shown) in [
        ("tck-complete-task", "Hello from TCK"),
        ("tck-artifact-text", "Generated text content"),
        ("tck-artifact-file", r#""raw":"dGNr","#),
        ("tck-artifact-file-url", r#""url":"https://example.com/output.txt""#),
        ("tck-artifact-data", r#""data":{"key":"value","count":42}"#),
        ("tck-input-required", "TASK_STATE_INPUT_REQUIRED"),
        ("tck-reject-task", "TASK_STATE_REJECTED"),
        ("tck-task-failure", "TASK_STATE_FAILED"),
        ("tck-stream-chunked", "chunk-2"),
        ("anything", "TASK_STATE_COMPLETED"),
    ] {
        let answer = by_text(text);
        assert!(answer.contains(shown), "{text}: {answer}");
    }
    let reply = by_text("tck-message-response");
    assert!(reply.starts_with(r#"{"message":"#) && reply.contains("Direct message response"));
    // The identifier of the message counts first.
    let both = message(r#"{"text":"tck-task-failure"}"#, "")
        .replace(r#""messageId":"m1""#, r#""messageId":"tck-artifact-text-1""#);
    assert!(example.post("/message:send", &both).contains("Generated text content"));
}

#[test]
fn bench_echo_echoes_and_counts() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = format!("sqlite:{}", directory.path().join("data").display());
    for store in ["memory", &sqlite] {
        let example = Example::start("bench_echo", &[], &[("PORT", "0"), ("STORE", store)]);
        let answer = example.post("/message:send", &message(r#"{"text":"hi"}"#, ""));
        assert!(answer.contains(r#""artifactId":"out","parts":[{"text":"hi"}]"#), "{answer}");
        let stream = example.post("/message:stream", &message(r#"{"text":"chunks:3"}"#, ""));
        assert_eq!(stream.matches("artifactUpdate").count(), 3, "{stream}");
    }
}

#[test]
fn dialects_answers_each_in_its_own_form() {
    let example = Example::start("dialects", &["pocketpaw", "127.0.0.1:0"], &[]);
    let (head, capabilities) = example.send("GET", "/a2a/capabilities", "", "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{capabilities}");
    let (head, _) = example.send("GET", "/a2a/agent-card", "", "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let task = r#"{"message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}"#;
    let answer = example.post("/a2a/tasks/send", task);
    assert!(answer.contains(r#""state":"completed""#), "{answer}");
}
