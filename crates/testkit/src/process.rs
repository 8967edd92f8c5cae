//! A program as a child of the test, to talk to in lines, to stop and to kill.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::leftovers::{self, Entry};

/// How long a child may be silent before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// A child process. It is killed, with its children, when this is dropped or the test process
/// ends in any way. What it writes to standard error is shown when the test fails.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    pid: Pid,
    /// `None` once it was waited for: its id may then belong to another.
    entry: Option<Entry>,
    input: Option<ChildStdin>,
    lines: mpsc::UnboundedReceiver<String>,
    errors: Arc<Mutex<String>>,
}

impl Process {
    /// Starts a program with arguments, and with variables added to our environment.
    ///
    /// # Panics
    /// If the program cannot be started, or outside a Tokio runtime.
    pub fn spawn(
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item: AsRef<OsStr>>,
        environment: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
    ) -> Self {
        let name = program.as_ref().display().to_string();
        let mut child = Command::new(program)
            .args(arguments)
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("start {name}: {error}"));
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let pid = pid.expect("a child that was not waited for has an id");
        let (sender, lines) = mpsc::unbounded_channel();
        let errors = Arc::new(Mutex::new(String::new()));
        let noted = Arc::clone(&errors);
        // The test may have stopped listening; the child shall be able to write all the same.
        read_lines(child.stdout.take(), move |line| drop(sender.send(line)));
        read_lines(child.stderr.take(), move |line| {
            let mut errors = noted.lock().unwrap_or_else(PoisonError::into_inner);
            errors.push_str(&line);
            errors.push('\n');
        });
        let input = child.stdin.take();
        Self { name, child, pid, entry: Some(Entry::process(pid)), input, lines, errors }
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Writes a line to its standard input. Fails if the process has ended.
    pub async fn send(&mut self, line: &str) -> io::Result<()> {
        let Some(input) = &mut self.input else { return Err(io::ErrorKind::BrokenPipe.into()) };
        input.write_all(format!("{line}\n").as_bytes()).await
    }

    /// Ends its standard input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Returns the next line of its standard output, `None` at the end. Lines are kept until
    /// asked for, also those of a process that was killed.
    ///
    /// # Panics
    /// If it says nothing for two minutes.
    pub async fn line(&mut self) -> Option<String> {
        let next = timeout(PATIENCE, self.lines.recv()).await;
        next.unwrap_or_else(|_| panic!("{} says nothing", self.name))
    }

    /// Returns the next line of its standard output that is there already.
    pub fn line_now(&mut self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// What it has written to standard error so far.
    pub fn errors(&self) -> String {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Kills it, as `kill -9` does, and waits for its end.
    ///
    /// # Panics
    /// If it cannot be waited for.
    pub async fn kill9(&mut self) -> ExitStatus {
        self.signal(Signal::KILL);
        self.wait().await
    }

    /// Stops it where it stands (`SIGSTOP`).
    pub fn stop(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on after a [`stop`](Self::stop) (`SIGCONT`).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks it to end (`SIGTERM`).
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits for its end, without ending its standard input.
    ///
    /// # Panics
    /// If it has not ended after two minutes.
    pub async fn wait(&mut self) -> ExitStatus {
        let ended = timeout(PATIENCE, self.child.wait()).await;
        let ended = ended.unwrap_or_else(|_| panic!("{} does not end", self.name));
        let status = ended.expect("a child can be waited for");
        self.entry = None;
        status
    }

    fn signal(&self, signal: Signal) {
        if self.entry.is_some() {
            leftovers::send(self.pid, signal);
        }
    }
}

impl Drop for Process {
    #[expect(clippy::print_stderr, reason = "the harness keeps it for the report of a failure")]
    fn drop(&mut self) {
        if self.entry.is_some() {
            leftovers::kill_family(self.pid);
        }
        let errors = self.errors();
        if std::thread::panicking() && !errors.is_empty() {
            eprintln!("--- standard error of {} ({})\n{errors}---", self.name, self.id());
        }
    }
}

/// The path of an example of the package under test, which `cargo test` builds too.
///
/// # Panics
/// If it was not built, as with `cargo test --test <name>`.
pub fn example(name: &str) -> PathBuf {
    // Tests run as target/debug/deps/<test>.
    let test = std::env::current_exe().expect("a program knows its path");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("cargo made two folders");
    let path = folder.join("examples").join(name);
    assert!(path.is_file(), "example `{name}` is not built: cargo build --example {name}");
    path
}

/// Hands each line of a stream on as it comes, in a task of its own.
fn read_lines(
    stream: Option<impl AsyncRead + Unpin + Send + 'static>,
    mut take: impl FnMut(String) + Send + 'static,
) {
    let mut stream = BufReader::new(stream.expect("the stream is piped"));
    tokio::spawn(async move {
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).await.is_ok_and(|length| length > 0) {
            take(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned());
            line.clear();
        }
    });
}
