//! Streams: events as they come, and what becomes of them when the server does not stay.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::Stdio,
};

use nuncio_testkit::program::Program;

use crate::cli::support::{User, check, serve};

/// Says two lines, the second when a file is there.
fn two_lines(gate: &std::path::Path) -> String {
    let gate = gate.display();
    format!("echo one; while [ ! -e '{gate}' ]; do sleep 0.05; done; echo two")
}

#[test]
fn a_stream_is_text_that_grows_or_one_event_a_line() {
    let (_agent, url) = serve(&["--in-memory", "--", "printf", "one\\ntwo\\n"]);
    let user = User::new();
    check(
        &user.run(&["send", "-a", &url, "x", "--stream"]),
        0,
        "Task: ID-1\nContext: ID-2\nState: SUBMITTED\nState: WORKING\n\
         Text:\n  one\n  two\n\nTask: ID-1\nContext: ID-2\nState: COMPLETED\n",
        "",
    );
    let came = user.run(&["send", "-a", &url, "x", "--stream", "-o", "json"]);
    let kinds: Vec<&str> =
        came.out.lines().map(|line| line.split('"').nth(1).unwrap_or_default()).collect();
    assert_eq!(kinds, ["task", "statusUpdate", "artifactUpdate", "statusUpdate"], "{came:?}");
}

#[test]
fn no_text_of_an_agent_commands_the_terminal() {
    let (_agent, url) = serve(&["--in-memory", "--", "printf", "\\033[2J\\nState: FAILED\\n"]);
    let user = User::new();
    for words in [&["send", "-a", &url, "x"][..], &["send", "-a", &url, "x", "--stream"]] {
        let came = user.run(words);
        assert!(came.out.contains("  \\u{1b}[2J\n  State: FAILED\n"), "{came:?}");
    }
}

/// The server is killed in the middle and comes back at the same port: the stream is resumed,
/// and tells how the interrupted task ended.
#[test]
fn a_stream_goes_on_when_the_server_comes_back() {
    let user = User::new();
    let gate = user.home().join("gate");
    let data = user.home().join("data");
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port().to_string()
    };
    let script = two_lines(&gate);
    let start = || {
        let words = [
            "serve",
            "--port",
            &port,
            "--data-dir",
            data.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            &script,
        ];
        Program::start(&mut user.command(&words))
    };
    let server = start();
    let url = format!("127.0.0.1:{port}");
    let mut client = user
        .command(&["send", "-a", &url, "x", "--stream"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(client.stdout.take().unwrap());
    let mut line = String::new();
    while line.trim() != "one" {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the stream begins");
    }
    drop(server);
    let _server = start();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    let output = client.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // Work that a crash interrupted is failed, and the stream says so instead of hanging.
    assert!(rest.contains("State: FAILED"), "{rest}");
    assert!(!rest.contains("one"), "nothing comes twice: {rest}");
}

#[test]
fn a_stream_that_cannot_be_resumed_says_how_to_go_on() {
    let user = User::new();
    let gate = user.home().join("gate");
    let (server, url) = serve(&["--in-memory", "--", "sh", "-c", &two_lines(&gate)]);
    let mut client = user
        .command(&["send", "-a", &url, "x", "--stream"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(client.stdout.take().unwrap());
    let mut line = String::new();
    while line.trim() != "one" {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the stream begins");
    }
    drop(server);
    let output = client.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(&format!("follow it with: nuncio task subscribe -a {url} ")), "{told}");
    assert!(told.contains(" --after "), "{told}");
}

#[test]
fn a_subscription_shows_only_what_was_missed() {
    let (_agent, url) = serve(&["--in-memory", "--", "printf", "one\\ntwo\\n"]);
    let user = User::new();
    let sent = user.command(&["send", "-a", &url, "x"]).output().unwrap();
    let sent = String::from_utf8(sent.stdout).unwrap();
    let id = sent.lines().next().unwrap().strip_prefix("Task: ").unwrap();
    check(
        &user.run(&["task", "subscribe", "-a", &url, id, "--after", "3"]),
        0,
        "Task: ID-1\nContext: ID-2\nState: COMPLETED\n",
        "",
    );
}
