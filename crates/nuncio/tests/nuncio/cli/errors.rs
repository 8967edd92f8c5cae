//! What goes wrong has an exit code, a name, a cause and a fix.

use std::{
    ffi::OsStr,
    net::TcpListener,
    os::unix::ffi::OsStrExt as _,
    process::{Command, Stdio},
};

use nuncio_testkit::program::Program;

use crate::cli::support::{User, came_of, serve};

#[track_caller]
fn check(user: &User, words: &[&str], code: i32, name: &str, told: &str) {
    let mut words = words.to_vec();
    words.extend(["-o", "json"]);
    let came = user.run(&words);
    assert_eq!(came.code, code, "{came:?}");
    assert_eq!(came.out, "", "{came:?}");
    assert!(came.err.starts_with(&format!(r#"{{"error":{{"code":"{name}","#)), "{came:?}");
    assert!(came.err.contains(told), "{came:?}");
}

#[test]
fn each_way_of_failing_has_its_exit_code_and_name() {
    let (_echo, url) = serve(&["--in-memory"]);
    let user = User::new();
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    check(&user, &["task", "get", "-a", &url, "none"], 1, "TaskNotFoundError", "-32001");
    check(&user, &["send", "-a", &url], 2, "A2ACLI_ERR_USAGE", "nothing to send");
    check(&user, &["send", "x"], 2, "A2ACLI_ERR_USAGE", "name it with -a");
    check(&user, &["send", "-a", &url, "--timeut", "x"], 2, "A2ACLI_ERR_USAGE", "--timeout");
    check(&user, &["send", "-a", &url, "x", "--timeout", "soon"], 2, "A2ACLI_ERR_USAGE", "30s");
    check(
        &user,
        &["send", "-a", &closed, "x"],
        3,
        "A2ACLI_ERR_UNREACHABLE",
        "check that the peer runs",
    );
    check(
        &user,
        &["send", "-a", &format!("{url}/nowhere.txt"), "x", "--metadata", "[]"],
        2,
        "A2ACLI_ERR_USAGE",
        "--metadata",
    );
    check(&user, &["card", "get", "missing.json"], 3, "A2ACLI_ERR_CARD_NOT_FOUND", "missing.json");
    user.write("broken.json", "{}");
    check(&user, &["card", "get", "broken.json"], 1, "A2ACLI_ERR_CARD_INVALID", "broken.json");
}

#[test]
fn the_time_that_is_over_has_a_code_and_the_task_goes_on() {
    let (_slow, url) = serve(&["--in-memory", "--", "sleep", "600"]);
    let user = User::new();
    let words = ["send", "-a", &url, "x", "--stream", "--timeout", "1s"];
    let came = user.run(&words);
    assert_eq!(came.code, 5, "{came:?}");
    assert!(came.err.contains("follow it with: nuncio task subscribe -a "), "{came:?}");
    check(
        &user,
        &["send", "-a", &url, "x", "--timeout", "300ms"],
        5,
        "A2ACLI_ERR_TIMEOUT",
        "--timeout",
    );
}

#[test]
fn a_wrong_command_is_answered_with_the_right_one() {
    let came = User::new().run(&["sned"]);
    assert_eq!(came.code, 2);
    assert!(came.err.contains("'send'"), "{came:?}");
}

#[test]
fn words_that_are_no_text_are_refused() {
    let user = User::new();
    let mut command = user.command(&["send", "-a", "echo"]);
    command.arg(OsStr::from_bytes(b"\xff"));
    let came = came_of(command, "");
    assert_eq!(came.code, 2, "{came:?}");
    assert!(came.err.starts_with("error: invalid UTF-8"), "{came:?}");
    let (_echo, url) = serve(&["--in-memory"]);
    let came = user.run_with(&["send", "-a", &url, "-"], b"\xff");
    assert_eq!((came.code, &*came.out), (2, ""), "{came:?}");
    assert!(came.err.contains("it is not UTF-8; send it with --file"), "{came:?}");
}

/// Serves an agent that takes its time and does not stream.
fn serve_slow(user: &User) -> Program {
    let rest = "card: {capabilities: {streaming: false}}\notherwise: [{delay: 10m}]\n";
    user.write("slow.yaml", rest);
    Program::start(&mut user.command(&["mock", "slow.yaml", "--port", "0"]))
}

#[test]
fn a_task_that_was_waited_for_is_found_again_when_the_time_is_over() {
    let (_slow, url) = serve(&["--in-memory", "--", "sleep", "600"]);
    let user = User::new();
    let came = user.run(&["send", "-a", &url, "x", "--timeout", "1s"]);
    assert_eq!((came.code, &*came.out), (5, ""), "{came:?}");
    let told = format!("follow it with: nuncio task subscribe -a {url} ID-1 --after ");
    assert!(came.err.contains(&told), "{came:?}");

    let slow = serve_slow(&user);
    let came = user.run(&["send", "-a", slow.address(), "x", "--timeout", "1s"]);
    assert_eq!((came.code, &*came.out), (5, ""), "{came:?}");
    let told = format!("look for its task with: nuncio task list -a {}\n", slow.address());
    assert!(came.err.ends_with(&told), "{came:?}");
}

#[test]
fn a_task_that_was_waited_for_is_found_again_when_it_is_broken_off() {
    let (_slow, streaming) = serve(&["--in-memory", "--", "sleep", "600"]);
    let user = User::new();
    let slow = serve_slow(&user);
    for agent in [&*streaming, slow.address()] {
        let mut sending = user.command(&["send", "-a", agent, "x"]);
        let sending =
            sending.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        while !user.run(&["task", "list", "-a", agent]).out.contains("ID-1") {}
        let id = sending.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("it ends").success());
        let output = sending.wait_with_output().expect("it ends");
        let told = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(130), "{told}");
        assert!(told.contains(" with: nuncio task ") && told.contains(agent), "{told}");
    }
}

#[test]
fn an_agent_that_streams_by_its_card_only_is_asked_without() {
    let user = User::new();
    let liar = "card: {capabilities: {streaming: false}}\n\
                faults: [{card: {claims: [streaming]}}]\n";
    user.write("liar.yaml", liar);
    let agent = Program::start(&mut user.command(&["mock", "liar.yaml", "--port", "0"]));
    let came = user.run(&["send", "-a", agent.address(), "hello"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert!(came.out.contains("Text: hello\n"), "{came:?}");
}
