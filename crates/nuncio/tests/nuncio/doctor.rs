//! `nuncio doctor` against agents that are well, and agents with one defect each.

use std::{
    collections::BTreeSet,
    fs,
    process::{Command, Output},
    thread,
};

use nuncio_testkit::{broken, program::Program};
use serde_json::Value;

fn nuncio(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nuncio"));
    command.args(arguments);
    command
}

fn serve(arguments: &[&str]) -> Program {
    Program::start(nuncio(&["serve", "--port", "0"]).args(arguments))
}

fn mock(script: &str) -> Program {
    let directory = tempfile::tempdir().expect("there is room");
    let file = directory.path().join("agent.yaml");
    fs::write(&file, script).expect("there is room");
    let file = file.to_str().expect("a path of the test's own");
    // It has read the script when it listens.
    Program::start(&mut nuncio(&["mock", file, "--port", "0"]))
}

fn doctor(url: &str, arguments: &[&str]) -> Output {
    nuncio(&["doctor", url]).args(arguments).output().expect("cargo has built it")
}

fn url(agent: &Program) -> String {
    format!("http://{}", agent.address())
}

/// Returns the exit code and the checks.
fn examine(agent: &Program, arguments: &[&str]) -> (i32, Vec<Value>) {
    let mut all = vec!["--format", "json"];
    all.extend(arguments);
    let output = doctor(&url(agent), &all);
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let checks = document["checks"].as_array().expect("a list").clone();
    (output.status.code().expect("it ends by itself"), checks)
}

/// Returns the codes of the checks that ended so, with the texts of all of them.
fn codes<'a>(checks: &'a [Value], outcomes: &[&str]) -> BTreeSet<&'a str> {
    let is_wanted = |check: &&Value| outcomes.contains(&check["outcome"].as_str().unwrap_or(""));
    checks.iter().filter(is_wanted).filter_map(|check| check["code"].as_str()).collect()
}

/// What our own server is warned about: it shows the secrets of a webhook to who registered it.
const OURS: &[&str] = &["push.secrets"];

/// A mock that changes its card serves the changed one without anything about caching.
const MOCKS: &[&str] = &["card.caching", "card.revalidation"];

/// What is found in each broken agent: the defect, and what follows from it.
const FOUND: &[(&str, &[&str])] = &[
    ("always-busy", &["interface.answers"]),
    ("always-fails", &["conversation.outcome"]),
    // gRPC answers refusals without a body, which nothing can cut.
    ("answer-cut", &["interface.answers", "conversation.answer", "streaming.works"]),
    ("badly-signed", &["card.signature"]),
    ("binding-unknown", &["card.lint", "card.interfaces"]),
    ("card-absent", &["card.found"]),
    ("card-as-html", &["card.media-type"]),
    ("card-not-json", &["card.valid"]),
    ("card-too-large", &["card.size"]),
    ("card-truncated", &["card.valid"]),
    (
        "error-as-200",
        &[
            "interface.version",
            "interface.media-type",
            "interface.unknown-method",
            "interface.parse-error",
            "interface.invalid-params",
            "interface.error-shape",
            "interface.task-not-found",
            "streaming.finished",
        ],
    ),
    ("error-as-500", &["interface.task-not-found"]),
    // On HTTP+JSON the status still says something, and not enough.
    (
        "error-as-string",
        &[
            "interface.error-shape",
            "interface.version",
            "interface.media-type",
            "interface.names-field",
            "conversation.finished",
            "streaming.finished",
            "cancel.finished",
            "extended-card.undeclared",
        ],
    ),
    ("error-without-code", &["interface.error-shape"]),
    ("extended-card-missing", &["card.lint", "extended-card.works"]),
    ("field-missing", &["card.lint"]),
    // A refusal of 0.3 is a first event too.
    (
        "first-event-missing",
        &["streaming.first-event", "interface.task-not-found", "streaming.finished"],
    ),
    ("html-for-json", &["interface.answers"]),
    ("id-not-echoed", &["interface.id-string", "interface.id-number"]),
    ("interface-missing", &["card.lint", "card.interfaces"]),
    ("name-missing", &["card.valid"]),
    ("never-finishes", &["conversation.answer", "streaming.ends"]),
    (
        "old-shapes",
        &[
            "interface.task-not-found",
            "conversation.answer",
            "streaming.works",
            "push.create",
            "agreement.answer",
        ],
    ),
    ("push-refused", &["push.create"]),
    ("says-nothing", &["conversation.outcome"]),
    ("secretly-locked", &["interface.answers"]),
    ("silent", &["interface.answers"]),
    ("skills-missing", &["card.lint"]),
    // The mock changes the type of streams on gRPC too, which are none then.
    ("stream-as-json", &["streaming.content-type", "streaming.works"]),
    ("stream-broken-event", &["streaming.events"]),
    ("stream-cut", &["streaming.ends"]),
    ("stream-never-ends", &["streaming.closes"]),
    ("stream-silent", &["streaming.works", "interface.task-not-found"]),
    ("streaming-refused", &["streaming.works"]),
    ("terminal-event-missing", &["streaming.ends"]),
    ("unsigned", &[]),
    ("url-other-port", &["card.interfaces"]),
    ("url-unspecified", &["card.lint", "card.routable"]),
    ("version-empty", &["card.lint", "card.version"]),
    ("version-ignored", &["interface.version"]),
    ("version-unknown", &["card.lint", "card.version", "card.interfaces"]),
];

/// Takes three seconds for each of some forty requests.
const TOO_SLOW: &str = "slow";

#[test]
fn every_defect_is_found_and_nothing_else() {
    let named: Vec<&str> = FOUND.iter().map(|(name, _)| *name).collect();
    let all = broken::ALL.iter().map(|broken| broken.name).filter(|name| *name != TOO_SLOW);
    assert_eq!(named, all.collect::<Vec<_>>(), "the table has them all");
    let check = |name: &str, expected: &[&str]| {
        let agent = mock(broken::find(name).script);
        let (_, checks) = examine(&agent, &["--timeout", "4s"]);
        let mut found = codes(&checks, &["failure", "warning"]);
        found.retain(|code| !OURS.contains(code) && !MOCKS.contains(code));
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        (found != expected).then(|| format!("{name}: found {found:?}, expected {expected:?}"))
    };
    // Most of the time is spent waiting for agents that do not answer.
    let wrong: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|start| {
                scope.spawn(move || {
                    let mine = FOUND.iter().skip(start).step_by(4);
                    mine.filter_map(|(name, expected)| check(name, expected)).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn our_own_agent_is_well() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let agent = serve(&["--data-dir", data.to_str().unwrap()]);
    let (code, checks) = examine(&agent, &[]);
    assert_eq!(codes(&checks, &["failure"]), BTreeSet::new());
    assert_eq!(codes(&checks, &["warning"]), OURS.iter().copied().collect());
    assert_eq!(code, 0);
}

#[test]
fn every_check_is_reported_whatever_happens() {
    let listed = nuncio(&["doctor", "--list", "--format", "json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let all: BTreeSet<&str> =
        listed.as_array().unwrap().iter().filter_map(|check| check["code"].as_str()).collect();
    let agent = serve(&["--in-memory"]);
    let everything = ["pass", "warning", "failure", "skipped"];
    for arguments in [&["--read-only"][..], &[]] {
        let (_, checks) = examine(&agent, arguments);
        assert_eq!(codes(&checks, &everything), all, "{arguments:?}");
    }
    let absent = mock(broken::find("card-absent").script);
    assert_eq!(codes(&examine(&absent, &[]).1, &everything), all);
}

#[test]
fn read_only_sends_no_message() {
    let agent = serve(&["--in-memory"]);
    let (code, checks) = examine(&agent, &["--read-only"]);
    assert_eq!(code, 0, "{:?}", codes(&checks, &["failure"]));
    assert!(codes(&checks, &["skipped"]).contains("conversation.answer"));
    let (_, tasks) = agent.send("GET", "/tasks", "", "");
    assert!(tasks.contains(r#""tasks":[]"#), "{tasks}");
}

#[test]
fn who_has_no_key_is_told_so_and_who_has_one_is_let_in() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.json");
    let file = file.to_str().unwrap();
    let key = nuncio(&["key", "new", "ann", "--keys", file]).output().unwrap().stdout;
    let key = String::from_utf8(key).unwrap();
    let agent = serve(&["--in-memory", "--keys", file]);

    let (code, checks) = examine(&agent, &[]);
    assert_eq!(code, 0, "{:?}", codes(&checks, &["failure"]));
    assert!(codes(&checks, &["warning"]).contains("card.credentials"));
    assert!(codes(&checks, &["pass"]).contains("interface.unauthenticated"));

    let (_, checks) = examine(&agent, &["--api-key", key.trim()]);
    let passed = codes(&checks, &["pass"]);
    assert!(passed.contains("conversation.answer") && passed.contains("card.credentials"));
}

#[test]
fn exit_codes_tell_what_happened() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = doctor(&format!("http://{nobody}"), &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("FAIL  reach.tcp") && text.contains("        fix: "), "{text}");
    for arguments in [&["./card.json"][..], &["http://a.example", "--timeout", "soon"], &[]] {
        let output = nuncio(&["doctor"]).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    let output = doctor(&url(&mock(broken::find("card-absent").script)), &[]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_strangers_texts_do_nothing_to_a_terminal_or_a_document() {
    let agent = mock("card:\n  name: \"a\\e[2J<b>&\\u202e\"\n");
    for format in ["text", "junit", "json"] {
        let output = doctor(&url(&agent), &["--read-only", "--format", format]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
    let output = doctor(&url(&agent), &["--read-only", "--format", "junit"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("<testsuite ").count(), 1);
    assert!(text.ends_with("</testsuite>\n") && text.contains("<failure "), "{text}");
}
