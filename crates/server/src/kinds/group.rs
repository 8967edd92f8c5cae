//! A program, and all that it starts.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// A program and all that it has started. Dropping it kills them.
#[derive(Debug)]
pub(super) struct Group(Option<Pid>);

impl Group {
    /// Lets a program that is to be started have a group of its own: what it starts can be killed
    /// with it, and Ctrl-C for us is not for it.
    pub(super) fn prepare(command: &mut Command) {
        command.process_group(0);
    }

    /// Returns the group of a program that was started so.
    pub(super) fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    /// Kills all who are in it.
    pub(super) fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            // There may be nobody left in it.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
