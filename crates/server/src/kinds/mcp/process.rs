//! A program that speaks MCP, and all that it starts.

use std::{
    io,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{RoleClient, transport::async_rw::AsyncRwTransport};
use tokio::{
    io::AsyncReadExt as _,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{super::group::Group, Process};

/// What of our environment a program sees: not our keys.
const ENVIRONMENT: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
];

/// How much of its complaints is kept.
const MAX_COMPLAINT: usize = 2_000;

/// How long a program may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(3);

/// A program that runs. Dropping it kills it, with all that it has started.
#[derive(Debug)]
pub(super) struct Program {
    kill: CancellationToken,
    ended: CancellationToken,
    complaint: Arc<Mutex<Vec<u8>>>,
    /// How it ended, once it has.
    status: Arc<Mutex<Option<String>>>,
    keeper: JoinHandle<()>,
}

pub(super) type Transport = AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>;

impl Program {
    pub(super) fn start(process: &Process) -> io::Result<(Self, Transport)> {
        let (program, arguments) = process
            .command
            .split_first()
            .ok_or_else(|| io::Error::other("`command` is empty; name a program"))?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear();
        for name in ENVIRONMENT {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        for (name, value) in &process.environment {
            command.env(name, value.expose());
        }
        if let Some(directory) = &process.directory {
            command.current_dir(directory);
        }
        Group::prepare(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("start {}: {error}", program.display()))
        })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a program without input and output"));
        };
        let complaint = Arc::<Mutex<Vec<u8>>>::default();
        let status = Arc::<Mutex<Option<String>>>::default();
        let (kill, ended) = (CancellationToken::new(), CancellationToken::new());
        let stderr = child.stderr.take();
        let group = Group::of(&child);
        let keeper = Keeper {
            child,
            group,
            kill: kill.clone(),
            ended: ended.clone(),
            status: Arc::clone(&status),
        };
        let kept = Arc::clone(&complaint);
        let keeper = tokio::spawn(async move {
            tokio::join!(keeper.run(), listen(stderr, kept));
        });
        let program = Self { kill, ended, complaint, status, keeper };
        Ok((program, AsyncRwTransport::new_client(output, input)))
    }

    pub(super) fn is_running(&self) -> bool {
        !self.ended.is_cancelled()
    }

    /// Gives it time to end by itself, now that nobody speaks to it any more, and kills it then.
    pub(super) async fn stop(&self) {
        tokio::time::timeout(PATIENCE, self.ended.cancelled()).await.ok();
        self.kill.cancel();
        self.ended.cancelled().await;
    }

    /// Adds how it ended and what it last said to what went wrong.
    pub(super) async fn last_words(&self, what: String) -> String {
        // It has closed its output, so it is about to end, and then nothing more comes.
        tokio::time::timeout(Duration::from_secs(1), self.ended.cancelled()).await.ok();
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let complaint = String::from_utf8_lossy(&complaint);
        let mut words = status.map_or(what, |status| format!("the program ended with {status}"));
        if !complaint.trim().is_empty() {
            words.push_str(": ");
            words.push_str(complaint.trim());
        }
        words
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill.cancel();
        // If nothing is run any more, the group ends with its keeper.
        if self.ended.is_cancelled() {
            self.keeper.abort();
        }
    }
}

/// Waits for a program, or kills it.
struct Keeper {
    child: Child,
    group: Group,
    kill: CancellationToken,
    ended: CancellationToken,
    status: Arc<Mutex<Option<String>>>,
}

impl Keeper {
    async fn run(mut self) {
        let status = tokio::select! {
            status = self.child.wait() => status,
            () = self.kill.cancelled() => {
                self.group.kill();
                self.child.wait().await
            }
        };
        // What it has started and left behind.
        self.group.kill();
        let words = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
        self.ended.cancel();
    }
}

/// Reads everything that a program complains about, and keeps the end of it.
async fn listen(stderr: Option<ChildStderr>, kept: Arc<Mutex<Vec<u8>>>) {
    let Some(mut stderr) = stderr else { return };
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..count]);
        let excess = kept.len().saturating_sub(MAX_COMPLAINT);
        kept.drain(..excess);
    }
}
