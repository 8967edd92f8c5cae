//! What runs ask, and what becomes of those that fail.

use std::{
    fs,
    io::{Read as _, Write as _},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{Shop, field};
use crate::cli::terminal::begin;

#[test]
fn a_question_is_answered_from_elsewhere_and_a_failed_node_is_run_again() {
    let shop = Shop::open();
    shop.did(&["workflow", "save", "shout.yaml"]);
    let words = ["workflow", "run", "publish.yaml", "--input", "text=hello", "--input", "copies=3"];
    let asked = shop.run(&words);
    assert_eq!(asked.code, Some(0), "as with `send`: {asked:?}");
    let run = field(&asked.out, "Run").to_owned();
    assert_eq!(field(&asked.out, "State"), "input_required");
    assert_eq!(field(&asked.out, "Question"), "check: Print 3 of HELLO!");
    assert!(asked.err.contains(&format!("nuncio run answer {run} check ")), "{asked:?}");
    assert!(shop.run(&["run", "show", &run]).err.contains("nuncio run answer"));

    let answered = shop.did(&["run", "answer", &run, "check", "approve"]);
    assert_eq!(answered, format!("Run: {run}\nAnswered: check\n"));
    let watched = shop.run(&["run", "watch", &run]);
    assert_eq!(watched.code, Some(1), "{watched:?}");
    assert!(watched.err.contains("no paper"), "{watched:?}");
    let late = shop.run(&["run", "answer", &run, "check", "approve"]);
    assert_eq!(late.code, Some(1), "{late:?}");
    assert!(late.err.contains("does not ask for anything"), "{late:?}");
    let shown = shop.did(&["run", "show", &run]);
    let row = |node: &str| {
        let rows = shown.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
        rows.clone().find(|row| row.first() == Some(&node)).expect("it has a row")
    };
    assert_eq!(row("check")[..3], ["check", "approval", "completed"]);
    assert_eq!(row("print")[..3], ["print", "external", "failed"]);
    assert_eq!(row("print")[4..6], ["1", "1"], "{shown}");
    assert_eq!(row("out")[..3], ["out", "output", "canceled"]);

    // Nobody is asked again: what has succeeded is taken over.
    fs::write(shop.user.home().join("paper"), "").expect("the user's own folder");
    let again = shop.run(&["run", "retry", &run]);
    assert_eq!((again.code, &*again.out), (Some(0), "printed: HELLO!\n"), "{again:?}");
    let from_start = shop.run(&["run", "retry", &run, "--from-start"]);
    assert_eq!(field(&from_start.out, "State"), "input_required", "{from_start:?}");
    let from = shop.run(&["run", "retry", &run, "--from", "check"]);
    assert_eq!(field(&from.out, "Question"), "check: Print 3 of HELLO!", "{from:?}");
    let other = shop.run(&["run", "retry", &run, "--input", "text=bye"]);
    assert_eq!(
        field(&other.out, "Question"),
        "check: Print 3 of BYE!",
        "the rest stays: {other:?}"
    );
    let begun = shop.did(&["run", "retry", &run, "--no-wait", "-o", "json"]);
    let begun: serde_json::Value = serde_json::from_str(&begun).expect("the run");
    let begun = begun["id"].as_str().expect("it has an id");
    // What it is, the run says with its first word, which nobody has waited for.
    shop.did(&["run", "watch", begun]);
    let shown = shop.did(&["run", "show", begun, "-o", "json"]);
    assert!(shown.contains(&format!(r#""rerun_of":"{run}""#)), "{shown}");
    let unknown = shop.run(&["run", "retry", &run, "--from", "chekc"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
}

#[test]
fn a_rejected_run_fails() {
    let shop = Shop::open();
    shop.did(&["workflow", "save", "shout.yaml"]);
    let asked = shop.run(&["workflow", "run", "publish.yaml", "--input", "text=x", "-o", "json"]);
    let asked: serde_json::Value = serde_json::from_str(&asked.out).expect("the run");
    assert_eq!(asked["state"], "input_required");
    let run = asked["id"].as_str().expect("it has an id");
    let unclear = shop.run(&["run", "answer", run, "check", "well, perhaps"]);
    assert_eq!((unclear.code, &*unclear.out), (Some(1), ""), "{unclear:?}");
    assert!(unclear.err.contains("answer one of: approve, reject"), "{unclear:?}");
    let answered = shop.did(&["run", "answer", run, "check", "no, too loud", "-o", "json"]);
    assert!(answered.contains(run), "{answered}");
    let watched = shop.run(&["run", "watch", run]);
    assert_eq!(watched.code, Some(1), "{watched:?}");
    assert!(watched.err.contains("rejected: no, too loud"), "{watched:?}");
}

#[test]
fn on_a_terminal_the_question_is_asked_there_and_nodes_are_shown() {
    let shop = Shop::open();
    shop.did(&["workflow", "save", "shout.yaml"]);
    fs::write(shop.user.home().join("paper"), "").expect("the user's own folder");
    let mut command = shop.user.command(&["workflow", "run", "publish.yaml", "--input", "text=hi"]);
    command.env("TERM", "xterm");
    let (mut child, mut terminal) = begin(command);
    let mut written = String::new();
    read_until(&mut terminal, &mut written, "\n> ");
    assert!(written.contains("draft  completed  "), "{written}");
    assert!(written.contains("check: Print 1 of HI!"), "{written}");
    // What is no answer is asked again.
    terminal.write_all(b"perhaps\n").expect("it is there");
    let again = "answer one of: approve, reject (INVALID_PARAMS)\ncheck: Print 1 of HI!\n> ";
    read_until(&mut terminal, &mut written, again);
    terminal.write_all(b"yes\n").expect("it is there");
    read_until(&mut terminal, &mut written, "printed: HI!");
    assert!(written.contains("print  completed  "), "{written}");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn breaking_off_leaves_the_run_to_go_on() {
    let shop = Shop::open();
    let mut command = shop.user.command(&["workflow", "run", "long.yaml"]);
    command.env("TERM", "xterm");
    let (mut child, mut terminal) = begin(command);
    let mut written = String::new();
    read_until(&mut terminal, &mut written, "pause, 0 s");
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(id, Signal::INT).expect("it is ours");
    read_until(&mut terminal, &mut written, "come back: nuncio run watch ");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{written}");
    assert_eq!(shop.did(&["run", "list", "--state", "working"]).lines().count(), 2);
}

/// Reads what is shown until a text has come, behind what was read before.
fn read_until(terminal: &mut fs::File, written: &mut String, wanted: &str) {
    let start = written.len();
    let mut chunk = [0; 1024];
    while !written[start..].replace('\r', "").contains(wanted) {
        let count = terminal.read(&mut chunk).unwrap_or_default();
        assert!(count > 0, "it ended without `{wanted}`: {written}");
        written.push_str(&String::from_utf8_lossy(&chunk[..count]));
    }
}
