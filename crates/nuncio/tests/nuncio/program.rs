//! The `nuncio` program from outside.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use nuncio_testkit::{program::Program, webhook::Receiver, wire::Http};
use serde_json::json;

use crate::hosting::until;

fn serve(arguments: &[&str]) -> Program {
    Program::start(nuncio(&["serve", "--port", "0"]).args(arguments))
}

fn say(serving: &Program, text: &str) -> String {
    let body = format!(
        r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}"#
    );
    serving.post("/message:send", &body)
}

/// Asks for tasks; returns the first line of the answer.
fn status(serving: &Program, headers: &str) -> String {
    serving.send("GET", "/tasks", headers, "").0
}

fn nuncio(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nuncio"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    nuncio(arguments).output().expect("cargo has built it")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of the test's own")
}

#[test]
fn any_program_is_an_agent() {
    let serving = serve(&["--in-memory", "--name", "upper", "--", "tr", "a-z", "A-Z"]);
    let answer = say(&serving, "hello");
    assert!(answer.contains(r#""text":"HELLO""#), "{answer}");
    let (_, card) = serving.send("GET", "/.well-known/agent-card.json", "", "");
    assert!(card.contains(r#""name":"upper""#), "{card}");
}

#[test]
fn a_program_reads_data_as_json_and_hears_which_skill_is_meant() {
    let program = "printf '%s: %s' \"$NUNCIO_SKILL_ID\" \"$(cat)\"";
    let serving = serve(&["--in-memory", "--", "sh", "-c", program]);
    let body = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"problem":"waste"}}],
        "metadata":{"skillId":"score"}}}"#;
    let answer = serving.post("/message:send", body);
    assert!(answer.contains(r#"score: {\"problem\":\"waste\"}"#), "{answer}");
}

#[test]
fn what_a_program_writes_at_once_is_one_piece() {
    let serving = serve(&["--in-memory", "--", "sh", "-c", "printf %01000d 0"]);
    let answer = say(&serving, "hello");
    assert!(answer.contains(&format!(r#""text":"{}""#, "0".repeat(1_000))), "{answer}");
}

#[test]
fn a_shell_that_allows_few_files_does_not_limit_who_is_let_in() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -Sn 40; exec \"$0\" serve --port 0 --in-memory"]);
    let serving = Program::start(shell.arg(env!("CARGO_BIN_EXE_nuncio")));
    let open = || TcpStream::connect(serving.address()).expect("it listens");
    let callers: Vec<TcpStream> = (0..60).map(|_| open()).collect();
    for mut caller in &callers {
        caller.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let card = "GET /.well-known/agent-card.json HTTP/1.1\r\nhost: here\r\n\r\n";
        caller.write_all(card.as_bytes()).unwrap();
        let mut status = [0; 15];
        caller.read_exact(&mut status).expect("an answer");
        assert_eq!(&status, b"HTTP/1.1 200 OK");
    }
}

#[test]
fn an_agent_joins_no_hub_that_is_not_there() {
    let output = run(&["serve", "--in-memory", "--port", "0", "--join", "http://127.0.0.1:1"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("`nuncio up` in another terminal"), "{error}");
}

#[test]
fn a_program_that_fails_says_why() {
    let failing = "echo no paper >&2; exit 3";
    let serving = serve(&["--in-memory", "--name", "print", "--", "sh", "-c", failing]);
    let answer = say(&serving, "hello");
    assert!(answer.contains("TASK_STATE_FAILED"), "{answer}");
    assert!(answer.contains("exit status: 3: no paper"), "{answer}");
}

#[test]
fn a_program_that_is_not_there_fails_the_task_and_tells_no_paths() {
    let serving = serve(&["--in-memory", "--", "/no/such/program"]);
    let answer = say(&serving, "hello");
    assert!(answer.contains("TASK_STATE_FAILED") && !answer.contains("/no/such"), "{answer}");
}

#[test]
fn tasks_outlive_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("data");
    let arguments = ["--data-dir", text(&folder)];
    let answer = say(&serve(&arguments), "remember me");
    assert!(answer.contains("TASK_STATE_COMPLETED"), "{answer}");
    // Dropped above: killed. What was answered is on disk.
    let (_, tasks) = serve(&arguments).send("GET", "/tasks", "", "");
    assert!(tasks.contains("remember me"), "{tasks}");
}

#[test]
fn told_twice_it_stops_without_waiting_for_its_work() {
    let mut serving = serve(&["--in-memory", "--", "sleep", "600"]);
    let body = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},
        "configuration":{"returnImmediately":true}}"#;
    let answer = serving.post("/message:send", body);
    assert!(answer.contains(r#""id":"#), "{answer}");
    serving.terminate();
    // It has heard the first word when it takes no more connections.
    while serving.listens() {
        std::thread::yield_now();
    }
    serving.terminate();
    assert!(serving.wait(), "it ends in order");
}

#[test]
fn only_callers_with_a_key_are_let_in_where_keys_are_given() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.json");
    let file = text(&file);
    let made = run(&["key", "new", "ann", "--keys", file]);
    assert!(made.status.success());
    let key = String::from_utf8(made.stdout).unwrap();
    let with_key = format!("x-api-key: {}\r\n", key.trim());

    let serving = serve(&["--in-memory", "--keys", file]);
    assert!(status(&serving, "").starts_with("HTTP/1.1 401 "));
    assert!(status(&serving, &with_key).starts_with("HTTP/1.1 200 "));

    let listed = String::from_utf8(run(&["key", "list", "--keys", file]).stdout).unwrap();
    let columns: Vec<&str> = listed.trim_end().split('\t').collect();
    assert_eq!(columns[1..], ["user:ann", "valid"], "{listed}");
}

/// What is done to the file holds for a server that runs.
#[test]
fn keys_are_made_and_revoked_while_an_agent_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.json");
    let file = text(&file);
    let new = |name| {
        let made = run(&["key", "new", name, "--keys", file]);
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    let ann = new("ann");
    let serving = serve(&["--in-memory", "--keys", file]);
    let opens =
        |key: &str| status(&serving, &format!("x-api-key: {key}\r\n")).starts_with("HTTP/1.1 200 ");
    assert!(opens(&ann));
    let bob = new("bob");
    let id = ann.split('_').nth(1).expect("a key has an id");
    assert!(run(&["key", "revoke", id, "--keys", file]).status.success());
    until(|| !opens(&ann));
    assert!(opens(&bob));
    // A file that cannot be read takes nothing from anybody.
    std::fs::remove_file(file).unwrap();
    assert!(opens(&bob));
}

/// O-13, O-14: the agent hears only what its file lets through.
#[tokio::test(flavor = "multi_thread")]
async fn an_opportunity_agents_file_says_what_it_is_asked_for_and_by_whom() {
    let directory = tempfile::tempdir().unwrap();
    let keys = directory.path().join("keys.json");
    let key = |name: &str| {
        let made = run(&["key", "new", name, "--agent", "--keys", text(&keys)]);
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    let (orchestrator, stranger) = (key("orchestrator-agent"), key("stranger"));
    let file = directory.path().join("agent.yaml");
    let capabilities = "name: validation\n\
        a2a:\n  \
          enabled: true\n  \
          capabilities:\n  \
          - open\n  \
          - capability: closed\n    \
            payload_schema: {type: object, required: [problem]}\n    \
            allowed_agents: [orchestrator-agent]\n";
    std::fs::write(&file, capabilities).unwrap();
    let serving =
        serve(&["--in-memory", "--keys", text(&keys), "--opportunity", text(&file), "--", "cat"]);
    let http = Http::new(serving.address().parse().unwrap());
    let orchestrator = (&orchestrator, "orchestrator-agent");
    let stranger = (&stranger, "stranger");
    let good = json!({ "problem": "waste" });
    for ((key, name), capability, payload, expected) in [
        (orchestrator, "closed", &good, r#""status":"success""#),
        (orchestrator, "closed", &json!({}), "INVALID_REQUEST"),
        (stranger, "closed", &good, "INVALID_REQUEST"),
        (stranger, "open", &json!({}), r#""status":"success""#),
        (stranger, "validation", &json!({}), "CAPABILITY_NOT_SUPPORTED"),
    ] {
        let body = json!({
            "protocol_version": "1.0", "source_agent": { "id": name },
            "capability": capability, "payload": payload, "request_id": format!("{name} {payload}"),
        });
        let headers = [("content-type", "application/json"), ("x-api-key", key.as_str())];
        let answer = http.request("POST", "/a2a", &headers, body.to_string()).await;
        let answer = answer.text();
        assert!(answer.contains(expected), "{name} {capability} {payload}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_lead_to_this_machine_only_where_that_is_allowed() {
    let receiver = Receiver::start().await;
    let directory = tempfile::tempdir().unwrap();
    let (script, data) = (directory.path().join("agent.yaml"), directory.path().join("data"));
    std::fs::write(&script, "{}").unwrap();
    for (index, words) in [
        vec!["serve", "--in-memory"],
        vec!["serve", "--data-dir", text(&data)],
        vec!["mock", text(&script)],
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/hook-{index}");
        let body = format!(
            r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"hello"}}]}},
            "configuration":{{"taskPushNotificationConfig":{{"url":"{}"}}}}}}"#,
            receiver.url(&path)
        );
        let start = |more: &[&str]| Program::start(nuncio(&words).args(["--port", "0"]).args(more));
        let refused = start(&[]).post("/message:send", &body);
        assert!(refused.contains("configuration.taskPushNotificationConfig.url"), "{refused}");
        assert!(receiver.requests().iter().all(|request| request.path != path), "{words:?}");
        let allowed = start(&["--allow-loopback-webhooks"]);
        let answer = allowed.post("/message:send", &body);
        assert!(answer.contains("TASK_STATE_COMPLETED"), "{answer}");
        let told = receiver.until(&path, 1).await;
        assert!(String::from_utf8_lossy(&told[0].body).contains("taskId"), "{told:?}");
    }
}

#[test]
fn a_port_that_is_taken_is_said_once_with_a_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("agent.yaml");
    std::fs::write(&script, "{}").unwrap();
    for words in [vec!["serve", "--in-memory"], vec!["mock", text(&script)]] {
        let output = run(&[&words[..], &["--port", &port]].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.starts_with(&format!("nuncio: port {port} is taken; ")), "{error}");
        assert!(error.contains("--port 0"), "{error}");
    }
}

#[test]
fn what_cannot_be_done_is_said_with_a_way_out() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing.json");
    for (arguments, told) in [
        (vec!["serve", "--host", "0.0.0.0", "--in-memory"], "nuncio key new NAME --keys FILE"),
        (vec!["serve", "--in-memory", "--keys", text(&missing)], "missing.json"),
        (vec!["key", "revoke", "x", "--keys", text(&missing)], "missing.json"),
    ] {
        let output = run(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(error.starts_with("nuncio: ") && error.contains(told), "{error}");
    }
}
