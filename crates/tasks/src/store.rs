//! What a store must do.
//!
//! A store keeps heads, logs, leases, webhooks and keys, and changes them in transactions. It
//! decides nothing about A2A: a [`Batch`] comes checked, and the store compares the state and
//! the epoch it finds with those the batch was made for. One contract suite in
//! `nuncio-testkit` says what every store does alike.
//!
//! Invariant: when a call that writes returns, what it wrote survives a crash; before, nobody
//! can read it.

mod error;
mod lease;
mod read;
mod webhook;
mod write;

use std::{pin::Pin, time::Duration};

pub use error::{Error, Source};
pub use lease::{Claim, Claimed, Epoch, Lease, Reason, Tenure};
pub use read::{
    Filter, Limit, Listed, Loaded, Mark, Page, Position, Tail, Want, order, order_from,
};
pub use webhook::{
    DeadLetter, DeadLetterId, Delivery, NewWebhook, Progress, Sealed, Webhook, WebhookRef,
};
pub use write::{Append, Appended, Create, Created, Keep, Key, Retention, Swept, Tenancy, Wake};

use crate::{
    log::Seq,
    scope::{Place, Scope},
};
use nuncio_protocol::{
    ids::{ContextId, PushConfigId, TaskId},
    state::TaskState,
    time::Timestamp,
};

/// The future of a store's answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A store's own handle of a task. Whoever has one has found the task within a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskRef(pub i64);

/// Where a task stands, without what was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The store's handle.
    pub reference: TaskRef,
    /// The task.
    pub id: TaskId,
    /// Its conversation.
    pub context: ContextId,
    /// Whose it is.
    pub place: Place,
    /// Its state.
    pub state: TaskState,
    /// The time of its status.
    pub updated: Timestamp,
    /// The newest entry of its log.
    pub seq: Seq,
    /// The size of all text in its log.
    pub bytes: u64,
    /// How often it had a new owner.
    pub epoch: Epoch,
    /// Whether somebody has a lease on it that is not over.
    pub owned: bool,
}

/// Keeps tasks.
///
/// Every method may be called from anywhere at any time. Dropping a future does not undo what
/// it has begun: the outcome of a dropped write is open, as after a crash.
pub trait Store: Send + Sync + 'static {
    // Writing.

    /// Opens a task, or finds the one that the same key has opened.
    ///
    /// One transaction: key, task, log, lease, webhooks and wake-up. Fails with
    /// [`Error::KeyReused`], [`Error::ForeignContext`] or [`Error::TooMany`].
    fn create(&self, create: Create) -> Answer<'_, Created>;

    /// Writes a batch behind the log of a task.
    ///
    /// One transaction: epoch and state compared, entries, head, snapshot, lease, key, webhooks
    /// woken, wake-up. Fails with [`Error::Gone`], [`Error::Fenced`],
    /// [`Error::StateChanged`] or [`Error::KeyReused`]; the task is then as it was. An empty
    /// batch changes only lease, snapshot and wake-up.
    fn append(&self, append: Append) -> Answer<'_, Appended>;

    // Reading.

    /// Finds a task within a scope.
    fn find(&self, scope: &Scope, id: &TaskId) -> Answer<'_, Option<Head>>;

    /// Reads a task within a scope as of now, or as of a place in its log: a snapshot if there
    /// is one that is not newer, and all entries between it and that place.
    ///
    /// If the log no longer reaches back so far, the answer has neither.
    fn load(&self, scope: &Scope, id: &TaskId, want: Want) -> Answer<'_, Option<Loaded>>;

    /// Reads the entries behind a place, in order: at least one if there is one, and no more
    /// than the limit.
    fn tail(&self, task: TaskRef, after: Seq, limit: Limit) -> Answer<'_, Tail>;

    /// Reads how far tasks have come. Tasks that are gone are left out.
    fn marks(&self, tasks: Vec<TaskRef>) -> Answer<'_, Vec<Mark>>;

    /// Lists the tasks within a scope, the newest status first, equal ones by descending
    /// identifier.
    fn list(&self, scope: &Scope, filter: Filter, page: Page) -> Answer<'_, Listed>;

    // Leases.

    /// Takes tasks that need an owner: unfinished work whose lease is over or was given back,
    /// and tasks whose wake-up is due.
    fn claim(&self, claim: Claim) -> Answer<'_, Vec<Claimed>>;

    /// Prolongs leases by the database's clock, and returns those that are lost.
    fn renew(&self, lease: Lease, held: Vec<Tenure>) -> Answer<'_, Vec<TaskRef>>;

    /// Gives leases back, so that others can claim the tasks at once.
    fn release(&self, held: Vec<Tenure>) -> Answer<'_, ()>;

    /// Tells whether other processes may write to the same store.
    fn is_shared(&self) -> bool;

    // Webhooks.

    /// Keeps a webhook, in place of one with the same identifier. A new one gets the events
    /// behind the present end of the log. Fails with [`Error::TooMany`] and [`Error::Gone`].
    fn put_webhook(&self, task: TaskRef, webhook: NewWebhook, most: u32) -> Answer<'_, Webhook>;

    /// Reads the webhooks of a task, in the order of their making.
    fn webhooks(&self, task: TaskRef) -> Answer<'_, Vec<Webhook>>;

    /// Removes a webhook, if it is there.
    fn delete_webhook(&self, task: TaskRef, id: &PushConfigId) -> Answer<'_, ()>;

    /// Takes webhooks that have something to be sent, each for as long as the lease. While one
    /// is taken nobody else takes it.
    fn claim_deliveries(&self, lease: Lease, most: usize) -> Answer<'_, Vec<Delivery>>;

    /// Writes down how sending went. `false` if the webhook is gone or somebody else has taken
    /// it since.
    fn settle(&self, delivery: &Delivery, progress: Progress) -> Answer<'_, bool>;

    /// Reads dead letters within a scope, the newest first.
    fn dead_letters(&self, scope: &Scope, most: usize) -> Answer<'_, Vec<DeadLetter>>;

    /// Sends a dead letter again. `false` if there is none with this identifier in the scope.
    fn resend(&self, scope: &Scope, letter: DeadLetterId) -> Answer<'_, bool>;

    // Keeping house.

    /// Removes what has been kept long enough, at most `most` tasks at once. Never touches a
    /// task that has not ended.
    fn sweep(&self, retention: &Retention, most: usize) -> Answer<'_, Swept>;
}

/// How long a lease lasts.
pub const LEASE: Duration = Duration::from_secs(15);
