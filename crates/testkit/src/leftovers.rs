//! What must not outlive the test process: processes, directories, mounts.
//!
//! A shell beside the test process is told of each of them. When its input ends, be it that
//! the test process returned, panicked or was killed, it takes away what is left.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The entry of one thing; dropping it says that the thing is gone.
#[derive(Debug)]
pub(crate) struct Entry(String);

impl Entry {
    pub(crate) fn process(pid: Pid) -> Self {
        Self::new(format!("process {}", pid.as_raw_nonzero()))
    }

    pub(crate) fn directory(path: &Path) -> Self {
        Self::new(format!("directory {}", path.display()))
    }

    pub(crate) fn mount(path: &Path) -> Self {
        Self::new(format!("mount {}", path.display()))
    }

    fn new(thing: String) -> Self {
        tell(&format!("+{thing}\n"));
        Self(thing)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        tell(&format!("-{}\n", self.0));
    }
}

/// A temporary directory, removed with everything in it.
#[derive(Debug)]
pub(crate) struct Directory {
    // Declared, and so dropped, before its entry.
    held: TempDir,
    _entry: Entry,
}

impl Directory {
    /// Makes a directory that only `owner` (user and group id) may enter, or only we.
    pub(crate) fn new(owner: Option<(u32, u32)>) -> Self {
        let held = tempfile::Builder::new()
            .prefix("nuncio-")
            .tempdir()
            .expect("a temporary directory can be made");
        let entry = Entry::directory(held.path());
        if let Some((user, group)) = owner {
            chown(held.path(), Some(user), Some(group)).expect("root may give a directory away");
        }
        Self { held, _entry: entry }
    }

    pub(crate) fn path(&self) -> &Path {
        self.held.path()
    }
}

/// Whether a process runs; one that has ended but was not waited for does not.
pub(crate) fn is_running(pid: Pid) -> bool {
    let stat = fs::read_to_string(process_folder(pid).join("stat")).unwrap_or_default();
    // The name, in brackets, may itself contain brackets and spaces.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The children of a process, of all its threads.
pub(crate) fn children(pid: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(process_folder(pid).join("task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|child| Pid::from_raw(child.parse().ok()?))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Kills a process and its children, as a loss of power would; the process itself remains to
/// be waited for.
pub(crate) fn kill_family(pid: Pid) {
    // A stopped process has no new children.
    send(pid, Signal::STOP);
    let children = children(pid);
    for child in children.iter().copied().chain([pid]) {
        send(child, Signal::KILL);
    }
    // Their end is only a matter of a moment, which a restart has to wait for.
    for _ in 0..2000 {
        if !children.iter().any(|child| is_running(*child)) {
            return;
        }
        sleep(Duration::from_millis(5));
    }
}

/// Sends a signal; a process that has ended meanwhile is no mistake of the caller.
pub(crate) fn send(pid: Pid, signal: Signal) {
    match kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => panic!("signal {signal:?} to process {pid:?}: {error}"),
    }
}

fn process_folder(pid: Pid) -> PathBuf {
    Path::new("/proc").join(pid.as_raw_nonzero().to_string())
}

fn tell(line: &str) {
    static SHELL: OnceLock<Mutex<Child>> = OnceLock::new();
    let shell = SHELL.get_or_init(|| {
        Mutex::new(
            Command::new("/bin/sh")
                .args(["-c", include_str!("leftovers.sh")])
                // Away from the signals of a terminal, which end the test process.
                .process_group(0)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("/bin/sh can be started"),
        )
    });
    let mut shell = shell.lock().unwrap_or_else(PoisonError::into_inner);
    let input = shell.stdin.as_mut().expect("its input is piped");
    input.write_all(line.as_bytes()).expect("the shell reads until we end");
}
