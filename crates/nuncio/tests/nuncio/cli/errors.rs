//! What goes wrong has an exit code, a name, a cause and a fix.

use std::net::TcpListener;

use crate::cli::support::{User, serve};

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
