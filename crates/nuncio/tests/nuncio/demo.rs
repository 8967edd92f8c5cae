//! `nuncio up --demo`, as a user meets it.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Command,
};

use nuncio_testkit::program::Program;

use crate::cli::support::{Came, User, came_of};

fn start(user: &User, words: &[&str]) -> Program {
    let mut command: Command = user.command(&["up", "--port", "0", "--demo"]);
    Program::start(command.args(words))
}

#[track_caller]
fn did(user: &User, words: &[&str]) -> String {
    let came = user.run(words);
    assert_eq!(came.code, 0, "{words:?}: {}", came.err);
    came.out
}

fn names(user: &User) -> Vec<String> {
    let listed = did(user, &["agents"]);
    let rows = listed.lines().skip(1);
    rows.filter_map(|row| row.split_whitespace().next().map(str::to_owned)).collect()
}

/// The agents of the demo, and the workflow that it brings.
const ALL: [&str; 9] =
    ["approver", "echo", "flaky", "legacy", "report", "team-a", "team-b", "team-lead", "writer"];

#[test]
fn every_agent_of_the_demo_does_what_it_says() {
    let user = User::new();
    let _hub = start(&user, &[]);
    assert_eq!(names(&user), ALL);
    assert!(did(&user, &["send", "-a", "echo", "hello"]).contains("hello"));
    let essay = did(&user, &["send", "-a", "writer", "otters quickly", "--stream"]);
    assert!(essay.contains("So much for otters."), "{essay}");
    let asked = did(&user, &["send", "-a", "approver", "buy a boat"]);
    assert!(asked.contains("May this go on?"), "{asked}");
    let tries: Vec<bool> = (0..6)
        .map(|_| did(&user, &["send", "-a", "flaky", "go"]).contains("State: FAILED"))
        .collect();
    assert_eq!(tries, [false, false, true, false, false, true]);
    let team = did(&user, &["send", "-a", "team-lead", "one two three"]);
    assert!(team.contains("team-a: 3 words"), "{team}");

    // The hub speaks 1.0 with us, and 0.3 with it.
    let old = did(&user, &["send", "-a", "legacy", "a long story"]);
    assert!(old.contains("In short: a long story"), "{old}");
    let shown = did(&user, &["agents", "show", "legacy", "-o", "json"]);
    let place = shown.split("http://").nth(1).and_then(|rest| rest.split('"').next());
    let place = place.expect("a place of its own");
    let card = did(&user, &["card", "get", &format!("http://{place}"), "-o", "json"]);
    assert!(card.contains("\"0.3"), "{card}");
    let message = r#"{"messageId":"1","role":"ROLE_USER","parts":[{"text":"x"}]}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{message}}}}}"#
    );
    let refused = post(place, &body);
    assert!(refused.contains(r#""code":-32601,"message":"no method `SendMessage`""#), "{refused}");
}

/// Sends a request of A2A 1.0, and returns the answer as it comes.
fn post(place: &str, body: &str) -> String {
    let mut connection = TcpStream::connect(place).expect("it listens");
    let length = body.len();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\na2a-version: 1.0\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    connection.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("it answers text");
    answer
}

#[test]
fn an_outsider_may_call_one_of_the_team_and_not_the_other() {
    let user = User::new();
    let _hub = start(&user, &[]);
    let outside = user.run(&["policy", "explain", "echo", "team-a"]);
    assert!(outside.out.to_lowercase().contains("den"), "{outside:?}");
    let inside = did(&user, &["policy", "explain", "team-lead", "team-a"]);
    assert!(inside.to_lowercase().contains("allow"), "{inside}");
    let open = did(&user, &["policy", "explain", "echo", "team-b"]);
    assert!(open.to_lowercase().contains("allow"), "{open}");
}

#[test]
fn a_second_start_finds_everything_as_it_was() {
    let user = User::new();
    let hub = start(&user, &[]);
    let before = did(&user, &["agents", "show", "writer", "-o", "json"]);
    drop(hub);
    let hub = start(&user, &[]);
    assert_eq!(names(&user), ALL);
    let after = did(&user, &["agents", "show", "writer", "-o", "json"]);
    let id = |text: &str| text.split("\"id\":").nth(1).map(|rest| rest[..40].to_owned());
    assert_eq!(id(&before), id(&after));
    drop(hub);
    // Without the demo its agents are gone; a workflow is the user's once it is there.
    let _hub = Program::start(&mut user.command(&["up", "--port", "0"]));
    assert_eq!(names(&user), ["report"]);
}

#[test]
fn agents_of_the_user_go_before_those_of_the_demo() {
    let user = User::new();
    let hub = Program::start(&mut user.command(&["up", "--port", "0"]));
    did(&user, &["agents", "add", "--name", "writer"]);
    did(&user, &["agents", "add", "--name", "team_a"]);
    drop(hub);
    let hub = start(&user, &[]);
    for name in ["writer", "team-a", "team-lead", "team-b"] {
        let line = format!("agent=\"{name}\"");
        let is_told =
            hub.said().lines().any(|said| said.contains("left out") && said.contains(name));
        assert!(is_told, "{line}: {}", hub.said());
    }
    assert_eq!(names(&user), ["approver", "echo", "flaky", "legacy", "report", "team_a", "writer"]);
}

#[test]
fn a_taken_port_is_named_with_a_way_out() {
    let user = User::new();
    let other = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = other.local_addr().expect("it has one").port().to_string();
    let came: Came = came_of(user.command(&["up", "--demo", "--port", &port]), "");
    assert_eq!(came.code, 1);
    let expected = format!("port {port} is taken; process {} (", std::process::id());
    assert!(came.err.contains(&expected), "{}", came.err);
    assert!(came.err.contains("--port 0"), "{}", came.err);
}

#[test]
fn the_writer_goes_on_behind_its_last_word_after_a_kill() {
    let user = User::new();
    let hub = start(&user, &[]);
    did(&user, &["send", "-a", "writer", "otters", "--async"]);
    let newest = &raw(&user, &["tasks", "--limit", "1", "-o", "json"])["tasks"][0];
    let task = newest["id"].as_str().expect("an id").to_owned();
    // Not before it has written something.
    while raw(&user, &["tasks", "show", &task, "-o", "json"])["task"]["artifacts"].is_null() {}
    drop(hub);
    let _hub = start(&user, &[]);
    did(&user, &["tasks", "watch", &task]);
    let shown = raw(&user, &["tasks", "show", &task, "-o", "json"]);
    assert_eq!(shown["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{shown}");
    let parts = shown["task"]["artifacts"][0]["parts"].as_array().expect("its words");
    let text: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    assert!(text.starts_with("On otters. ") && text.ends_with("So much for otters."), "{text}");
    assert_eq!(text.matches("So much for").count(), 1, "{text}");
}

/// Runs a command, and reads what it prints with identifiers as they are.
#[track_caller]
fn raw(user: &User, words: &[&str]) -> serde_json::Value {
    let output = user.command(words).output().expect("cargo has built it");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"))
}
