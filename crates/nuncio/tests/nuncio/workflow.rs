//! `nuncio workflow` and `nuncio run`, from outside: a hub with agents that are programs.

mod answering;
mod files;
mod plan;
mod running;
mod watching;

use std::{
    process::{Command, Output},
    str,
};

use nuncio_testkit::program::Program;

use crate::cli::support::User;

/// The agents of the examples.
const AGENTS: &str = include_str!("../../../../examples/workflows/nuncio.yaml");
const SHOUT: &str = include_str!("../../../../examples/workflows/shout.yaml");
const PUBLISH: &str = include_str!("../../../../examples/workflows/publish.yaml");
const LINES: &str = include_str!("../../../../examples/workflows/lines.yaml");

/// Waits for longer than any test.
const LONG: &str = "\
name: long
nodes:
  - {id: text, type: input, config: {optional: true}}
  - {id: pause, type: wait, config: {for: 1h}}
  - {id: out, type: output, config: {prompt: done}}
edges: [{from: text, to: pause}, {from: pause, to: out}]
";

/// A user with the examples at home, and a hub that has their agents.
struct Shop {
    user: User,
    hub: Program,
}

/// What a command came to, as it is.
#[derive(Debug)]
struct Came {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Shop {
    fn open() -> Self {
        let user = at_home();
        user.write("nuncio.yaml", AGENTS);
        let mut command = user.command(&["up", "--port", "0", "--in-memory"]);
        let hub = Program::start(&mut command);
        Self { user, hub }
    }

    fn run(&self, words: &[&str]) -> Came {
        came_of(self.user.command(words))
    }

    /// Runs a command that does its job; returns what it printed.
    #[track_caller]
    fn did(&self, words: &[&str]) -> String {
        let came = self.run(words);
        assert_eq!(came.code, Some(0), "{words:?}: {came:?}");
        came.out
    }

    /// Begins a run, and returns its id.
    #[track_caller]
    fn begin(&self, words: &[&str]) -> String {
        let begun = self.did(&[&["workflow", "run", "--no-wait"], words].concat());
        field(&begun, "Run").to_owned()
    }
}

/// Returns somebody with the examples at home.
fn at_home() -> User {
    let user = User::new();
    for (name, text) in [("shout", SHOUT), ("publish", PUBLISH), ("lines", LINES), ("long", LONG)] {
        user.write(&format!("{name}.yaml"), text);
    }
    user
}

fn came_of(mut command: Command) -> Came {
    let Output { status, stdout, stderr } = command.output().expect("cargo has built it");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Came { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// Returns a value of a field in what was printed.
#[track_caller]
fn field<'a>(text: &'a str, label: &str) -> &'a str {
    let label = format!("{label}: ");
    let found = text.lines().find_map(|line| line.strip_prefix(&label));
    found.unwrap_or_else(|| panic!("no {label}in {text}"))
}
