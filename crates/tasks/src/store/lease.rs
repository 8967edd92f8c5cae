use std::time::Duration;

use super::{Head, TaskRef};
use crate::scope::Name;

/// How often a task had a new owner. A write with an older number is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// A wish for a lease: who, and for how long by the database's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The process, by a name that no other process has or had.
    pub owner: Name,
    /// How long.
    pub lasts: Duration,
}

/// A lease that somebody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tenure {
    /// The task.
    pub task: TaskRef,
    /// The epoch that the lease began.
    pub epoch: Epoch,
}

/// A wish for tasks that need an owner.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The lease to take.
    pub lease: Lease,
    /// The agents whose tasks this process can work on.
    pub agents: Vec<Name>,
    /// When a task of any other agent has needed an owner for so long, it is taken too, so that
    /// somebody tells its caller.
    pub orphaned_after: Duration,
    /// At most so many.
    pub most: usize,
}

/// A task that has been taken.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// Where it stands, with the new epoch.
    pub head: Head,
    /// Why it was taken.
    pub reason: Reason,
}

/// Why a task needed an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its owner gave it back, or it never had one.
    Released,
    /// Its owner is gone, for the so-many-eth time.
    Abandoned {
        /// How often it was claimed for this reason, this time included.
        times: u32,
    },
    /// Its wake-up was due; the claim has cleared it.
    Woken,
}
