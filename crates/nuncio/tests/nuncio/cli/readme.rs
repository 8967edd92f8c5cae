//! The session of the README, played as it is written.

use std::process::Command;

use nuncio_testkit::program::Program;

use crate::cli::{
    support::{User, came_of, normal, serve},
    terminal::{play, seen},
};

/// Returns the commands of the session, each with what it is said to print.
fn session(readme: &str) -> Vec<(String, String)> {
    let start = readme.find("```console\n").expect("the README has a session") + 11;
    let text = &readme[start..][..readme[start..].find("```").expect("it ends")];
    let mut steps: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push((command.to_owned(), String::new())),
            (None, Some((_, printed))) => printed.extend([line, "\n"]),
            (None, None) => panic!("the session begins with a command: {line}"),
        }
    }
    steps
}

/// The session, with its agent at a port of its own: somebody may use the usual one.
struct Session {
    user: User,
    _agent: Program,
    address: String,
    steps: Vec<(String, String)>,
}

impl Session {
    fn start() -> Self {
        let mut steps = session(include_str!("../../../../../README.md"));
        let (first, _) = steps.remove(0);
        let words = first.strip_prefix("nuncio serve ").and_then(|rest| rest.strip_suffix(" &"));
        let words: Vec<&str> = words.expect("it serves an agent first").split(' ').collect();
        let (agent, url) = serve(&words);
        let address = url.strip_prefix("http://").expect("a URL").to_owned();
        assert!(steps.len() >= 3, "a session shows something");
        Self { user: User::new(), _agent: agent, address, steps }
    }

    /// Returns each command as a shell gets it, and what it is said to print.
    fn steps(&self) -> impl Iterator<Item = (Command, String)> {
        self.steps.iter().map(|(command, printed)| {
            let typed = command.replace("localhost:7420", &self.address);
            let program = format!("'{}'", env!("CARGO_BIN_EXE_nuncio"));
            let mut shell = Command::new("sh");
            shell.args(["-c", &typed.replacen("nuncio", &program, 1)]);
            shell.current_dir(self.user.home()).env_clear();
            shell.env("HOME", self.user.home()).env("PATH", "/usr/bin:/bin");
            (shell, normal(printed).replace("localhost:7420", &self.address))
        })
    }
}

#[test]
fn the_session_of_the_readme_works_as_typed() {
    let session = Session::start();
    for (command, printed) in session.steps() {
        let came = came_of(command, "");
        assert_eq!((came.code, came.out), (0, printed));
    }
}

#[test]
fn the_session_of_the_readme_looks_the_same_in_a_terminal() {
    let session = Session::start();
    for (mut command, printed) in session.steps() {
        command.env("TERM", "xterm");
        let (code, bytes) = play(command);
        assert_eq!((code, normal(&seen(&bytes))), (0, printed));
    }
}
