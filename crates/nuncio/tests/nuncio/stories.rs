//! The five stories of `examples/`: each is played by its own command, and what it showed is
//! looked at once more.

mod harbor;
mod molecule;
mod opportunity;
mod pocketpaw;
mod upal;

use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::cli::support::User;

fn script(story: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(story).join("run")
}

fn command(user: &User, story: &str, words: &[&str]) -> Command {
    let mut command = Command::new("env");
    // A shell cannot be interrupted that was started by something which is not to be.
    command.arg("--default-signal=INT").arg(script(story));
    command.args(["--port", "0"]).args(words).current_dir(user.home());
    command.env_clear().env("HOME", user.home()).env("TMPDIR", user.home());
    command.env("PATH", "/usr/bin:/bin").env("NUNCIO_BIN", env!("CARGO_BIN_EXE_nuncio"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A story that was played to its end, and stays until somebody says otherwise.
struct Story {
    user: User,
    child: Child,
    told: String,
    /// Its standard output: who says goodbye must not find it closed.
    _lines: BufReader<ChildStdout>,
}

impl Story {
    fn play(story: &str) -> Self {
        Self::play_with(story, &[])
    }

    /// Plays a story, with more in its environment.
    fn play_with(story: &str, environment: &[(&str, &str)]) -> Self {
        let user = User::new();
        let mut command = command(&user, story, &[]);
        command.envs(environment.iter().copied());
        let mut child = command.spawn().expect("bash is there");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut told = String::new();
        while !told.ends_with("Ctrl-C ends it.\n") {
            if lines.read_line(&mut told).expect("it writes text") == 0 {
                let mut complaint = String::new();
                let complaints = child.stderr.as_mut().expect("it is piped");
                complaints.read_to_string(&mut complaint).expect("it writes text");
                panic!("{told}\n{complaint}");
            }
        }
        Self { user, child, told, _lines: lines }
    }

    /// Returns what happened under a heading: its requests, commands and answers.
    #[track_caller]
    fn step(&self, heading: &str) -> Step<'_> {
        let start = self.told.find(heading).unwrap_or_else(|| panic!("{heading}: {}", self.told));
        let rest = &self.told[start..];
        let end = rest.find("\n\n").unwrap_or(rest.len());
        Step(&rest[..end])
    }

    /// Returns where the hub is, as host and port.
    fn hub(&self) -> &str {
        let (_, rest) = self.told.split_once("NUNCIO_URL=http://").expect("it says where it is");
        rest.split_whitespace().next().expect("host and port")
    }

    /// Ends it as Ctrl-C does, and checks that nothing is left of it.
    fn end(mut self) {
        let place = self.hub().to_owned();
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("a child has a number"), Signal::INT).expect("it runs");
        let ended = self.child.wait().expect("it ends");
        assert_eq!(ended.code(), Some(0));
        assert!(TcpStream::connect(&place).is_err(), "the hub at {place} has outlived its story");
        let left: Vec<_> = std::fs::read_dir(self.user.home()).expect("a folder").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        if let Some(id) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended; otherwise it ends what it has started.
            let _ = kill_process(id, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

/// What happened under one heading.
#[derive(Clone, Copy)]
struct Step<'a>(&'a str);

impl Step<'_> {
    /// Returns the statuses of all answers.
    fn statuses(self) -> Vec<u16> {
        self.answers().filter_map(|line| line.parse().ok().filter(|code| *code >= 100)).collect()
    }

    /// Returns the so-manieth answer that is JSON, from 0.
    #[track_caller]
    fn json(self, index: usize) -> Value {
        let documents = self.answers().filter(|line| line.starts_with(['{', '[']));
        let mut read = documents.map(|line| serde_json::from_str(line).expect("JSON"));
        read.nth(index).unwrap_or_else(|| panic!("no answer {index}: {}", self.0))
    }

    /// Returns the data of a stream of events, each read as JSON.
    fn events(self) -> Vec<Value> {
        let data = self.answers().filter_map(|line| line.strip_prefix("data: "));
        data.map(|text| serde_json::from_str(text).expect("JSON")).collect()
    }

    fn answers(&self) -> impl Iterator<Item = &str> {
        self.0.lines().filter_map(|line| line.strip_prefix("   < "))
    }

    /// Returns what was typed and shown, as it is.
    fn text(&self) -> &str {
        self.0
    }

    /// Checks that something was sent just like this.
    #[track_caller]
    fn assert_sent(self, body: &str) {
        let sent: Vec<_> = self.0.lines().filter_map(|line| line.strip_prefix("   > ")).collect();
        let sent = sent.join("\n");
        assert!(sent.contains(body), "{body} is not in: {sent}");
    }
}

/// Returns the text of the first artifact, in however many parts it came.
#[track_caller]
fn text_of(task: &Value) -> String {
    let parts = task["artifacts"][0]["parts"].as_array().unwrap_or_else(|| panic!("{task}"));
    parts.iter().filter_map(|part| part["text"].as_str()).collect()
}

#[test]
fn a_story_that_is_played_once_ends_by_itself() {
    let user = User::new();
    let ended = command(&user, "molecule", &["--once"]).output().expect("bash is there");
    let told = String::from_utf8(ended.stdout).expect("text");
    let complaint = String::from_utf8(ended.stderr).expect("text");
    assert_eq!(ended.status.code(), Some(0), "{told}\n{complaint}");
    assert!(told.ends_with("All of this went as told.\n"), "{told}");
}

#[test]
fn a_story_that_does_not_go_as_told_says_so_and_fails() {
    let user = User::new();
    let mut command = command(&user, "upal", &["--once"]);
    // A program that is none.
    command.env("NUNCIO_BIN", "/bin/false");
    let ended = command.output().expect("bash is there");
    let complaint = String::from_utf8(ended.stderr).expect("text");
    assert_eq!(ended.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("researcher did not start"), "{complaint}");
}
