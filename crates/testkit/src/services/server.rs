//! One server program on its own directory and port, started and ended as often as wanted.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid};

use crate::leftovers::{self, Directory, Entry};

/// How often and how long a server is waited for: a minute in all.
const TRIES: u32 = 2400;
const PAUSE: Duration = Duration::from_millis(25);

/// A server that was started.
#[derive(Debug)]
pub(super) struct Server {
    directory: Directory,
    /// The user and group that it runs as, if not as we.
    user: Option<(u32, u32)>,
    program: PathBuf,
    arguments: Vec<String>,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    _entry: Entry,
}

/// What became of a server that was started.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Started {
    /// It answers.
    Ready,
    /// It ended because somebody else has its port.
    PortTaken,
}

impl Server {
    pub(super) fn new(directory: Directory, user: Option<(u32, u32)>, program: PathBuf) -> Self {
        Self { directory, user, program, arguments: Vec::new(), running: Mutex::default() }
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Starts it on a free port, with the arguments that `arguments` makes from its directory
    /// and port, and waits until it answers.
    pub(super) fn start_on_free_port(
        &mut self,
        arguments: impl Fn(&Path, u16) -> Vec<String>,
        is_ready: impl Fn(&Path, u16, Pid) -> bool,
    ) -> u16 {
        for _ in 0..20 {
            let port = free_port();
            self.arguments = arguments(self.directory(), port);
            if self.start(|pid| is_ready(self.directory(), port, pid)) == Started::Ready {
                return port;
            }
        }
        panic!("no port stays free: {}", self.log())
    }

    /// Starts it with the arguments of last time, and waits until it answers.
    pub(super) fn start(&self, is_ready: impl Fn(Pid) -> bool) -> Started {
        let mut running = self.running();
        assert!(running.is_none(), "{} runs already", self.program.display());
        let seen = self.log().len();
        let mut child = self.spawn();
        let pid = Pid::from_child(&child);
        let entry = Entry::process(pid);
        for _ in 0..TRIES {
            if is_ready(pid) {
                *running = Some(Running { child, _entry: entry });
                return Started::Ready;
            }
            if child.try_wait().expect("our child can be asked").is_some() {
                let log = self.log().split_off(seen);
                if log.contains("ddress already in use") {
                    return Started::PortTaken;
                }
                panic!("{} ended: {log}", self.program.display());
            }
            sleep(PAUSE);
        }
        leftovers::kill_family(pid);
        panic!("{} does not answer: {}", self.program.display(), self.log())
    }

    /// Asks it by a signal to end, and waits until it has.
    pub(super) fn end(&self, signal: Signal) {
        let Some(mut running) = self.running().take() else { return };
        let pid = Pid::from_child(&running.child);
        signal_family(pid, Signal::CONT);
        leftovers::send(pid, signal);
        for _ in 0..TRIES {
            if running.child.try_wait().expect("our child can be asked").is_some() {
                return;
            }
            sleep(PAUSE);
        }
        running.crash();
    }

    /// Kills it and its children at once, as a loss of power would.
    pub(super) fn crash(&self) {
        if let Some(mut running) = self.running().take() {
            running.crash();
        }
    }

    /// Stops it and its children in the middle of what they do: connections stay open, and
    /// nothing is answered.
    pub(super) fn pause(&self) {
        if let Some(running) = &*self.running() {
            signal_family(Pid::from_child(&running.child), Signal::STOP);
        }
    }

    /// Lets it go on after a [`pause`](Self::pause).
    pub(super) fn resume(&self) {
        if let Some(running) = &*self.running() {
            signal_family(Pid::from_child(&running.child), Signal::CONT);
        }
    }

    /// The id of the process, while it runs.
    pub(super) fn id(&self) -> Option<u32> {
        self.running().as_ref().map(|running| running.child.id())
    }

    fn spawn(&self) -> Child {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log_path())
            .expect("the log can be opened");
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(self.directory())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("an open file can be shared"))
            .stderr(log);
        as_user(&mut command, self.user);
        command.spawn().unwrap_or_else(|error| panic!("start {}: {error}", self.program.display()))
    }

    fn log_path(&self) -> PathBuf {
        self.directory().join("log")
    }

    fn log(&self) -> String {
        let log = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// The end of its log, for whoever it has let down.
    pub(super) fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().rev().take(40).collect();
        let lines: Vec<&str> = lines.into_iter().rev().collect();
        format!("its log ends with:\n{}", lines.join("\n"))
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // At this one Postgres ends without writing its data once more; Redis knows no other.
        self.end(Signal::QUIT);
    }
}

impl Running {
    fn crash(&mut self) {
        leftovers::kill_family(Pid::from_child(&self.child));
        self.child.wait().expect("our child can be waited for");
    }
}

/// The user and group to run a server as that refuses to run as root: `None` if we are not
/// root.
pub(super) fn unprivileged_user() -> Option<(u32, u32)> {
    if !geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("/etc/passwd can be read");
    let user = |name: &str| {
        users.lines().find_map(|line| {
            let mut fields = line.split(':');
            if fields.next() != Some(name) {
                return None;
            }
            Some((fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?))
        })
    };
    let found = user("postgres").or_else(|| user("nobody"));
    Some(found.expect("/etc/passwd has a user `postgres` or `nobody`"))
}

/// Lets a command run as `user`, if there is one.
pub(super) fn as_user(command: &mut Command, user: Option<(u32, u32)>) {
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
}

/// The folder of the first program of this name in `PATH`, links followed.
pub(super) fn folder_in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&path).map(|folder| folder.join(program)).find(|p| p.is_file())?;
    Some(found.canonicalize().ok()?.parent()?.to_owned())
}

/// A password that only this process and its servers know: other users of the machine reach
/// the servers' ports too.
pub(super) fn password() -> String {
    let mut bytes = [0; 16];
    let mut random = fs::File::open("/dev/urandom").expect("/dev/urandom can be opened");
    random.read_exact(&mut bytes).expect("/dev/urandom never ends");
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text can be appended to");
        text
    })
}

/// A port that nobody listens on now, below those that the system hands out by itself: the
/// server can come back to it after a while.
fn free_port() -> u16 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first = range.split_whitespace().next().and_then(|port| port.parse().ok());
    let below = first.filter(|port| *port > 20_000).unwrap_or(32_768);
    loop {
        let port = fastrand::u16(10_000..below);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

fn signal_family(pid: Pid, signal: Signal) {
    // The parent first: a stopped process has no new children.
    leftovers::send(pid, signal);
    for child in leftovers::children(pid) {
        leftovers::send(child, signal);
    }
}
