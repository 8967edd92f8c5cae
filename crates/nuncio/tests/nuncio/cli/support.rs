//! A user: a home of its own, a program to type, and what came of it.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use nuncio_server::{Agent, Bound, Failure, Output, Server, Turn};
use nuncio_testkit::program::Program;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Somebody with a terminal and an empty home.
pub(crate) struct User {
    home: TempDir,
}

/// What a command came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Came {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl User {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a folder of its own") }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().expect("below home")).expect("its own folder");
        std::fs::write(path, text).expect("its own folder");
    }

    /// Prepares a command in the user's home, without any settings of whoever runs the tests.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nuncio"));
        command.args(words).current_dir(self.home());
        command.env_clear().env("HOME", self.home()).env("PATH", "/usr/bin:/bin");
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Came {
        self.run_with(words, "")
    }

    /// Runs a command, with something on its standard input.
    pub(crate) fn run_with(&self, words: &[&str], input: impl AsRef<[u8]>) -> Came {
        came_of(self.command(words), input)
    }
}

pub(crate) fn came_of(mut command: Command, input: impl AsRef<[u8]>) -> Came {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cargo has built it");
    // A command that reads nothing may have ended.
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_ref());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| normal(&String::from_utf8(bytes).expect("text"));
    Came {
        code: output.status.code().expect("it was not killed"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Replaces what is different in every run: identifiers, times and ports. The same
/// identifier gets the same name.
pub(crate) fn normal(text: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut normal = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(id) = rest.get(..36).filter(|word| is_id(word)) {
            let place = names.iter().position(|name| name == id).unwrap_or_else(|| {
                names.push(id.to_owned());
                names.len() - 1
            });
            normal.extend(["ID-", &(place + 1).to_string()]);
            rest = &rest[36..];
        } else if let Some(time) = rest.get(..24).filter(|word| is_time(word)) {
            normal.push_str("TIME");
            rest = &rest[time.len()..];
        } else {
            let letter = rest.chars().next().expect("it is not empty");
            normal.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    normal
}

fn is_id(word: &str) -> bool {
    let is_dash = |place| matches!(place, 8 | 13 | 18 | 23);
    word.bytes()
        .enumerate()
        .all(|(place, byte)| if is_dash(place) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

fn is_time(word: &str) -> bool {
    word.starts_with("20") && word.as_bytes()[10] == b'T' && word.ends_with('Z')
}

/// Serves an agent with the program itself; returns it and its URL.
pub(crate) fn serve(arguments: &[&str]) -> (Program, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nuncio"));
    command.args(["serve", "--port", "0"]).args(arguments);
    let program = Program::start(&mut command);
    let (_, card) = program.send("GET", "/.well-known/agent-card.json", "", "");
    let start = card.find("http://127.0.0.1:").expect("its card says where it is");
    let url = card[start..].split('"').next().expect("a URL").to_owned();
    (program, url)
}

/// An agent that asks back, in this process: the program has none such.
pub(crate) struct Waiter;

impl Agent for Waiter {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        if turn.task.history.len() == 1 {
            output.ask("For how many people?").await?;
        } else {
            output.text(format!("A table for {}.", turn.message.text())).await?;
        }
        Ok(())
    }
}

/// Serves an agent of the test's own; it ends with the runtime.
pub(crate) fn serve_here(name: &str, agent: impl Agent) -> (Runtime, String) {
    let runtime = Runtime::new().expect("a runtime");
    let server = Server::new(name, agent);
    let bound: Bound = runtime.block_on(server.bind("127.0.0.1:0")).expect("a free port");
    let url = bound.local_url().to_owned();
    runtime.spawn(bound.run());
    (runtime, url)
}

/// Checks a whole result.
#[track_caller]
pub(crate) fn check(came: &Came, code: i32, out: &str, err: &str) {
    assert_eq!((came.code, &*came.out, &*came.err), (code, out, err));
}
