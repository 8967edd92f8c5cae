//! What a store must do.
//!
//! A store keeps heads, logs, leases, webhooks and keys, and changes them in transactions. It
//! decides nothing about A2A: a [`Batch`](crate::log::Batch) comes checked, and the store compares the state and
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

use std::{collections::HashMap, pin::Pin, time::Duration};

use bytes::Bytes;
pub use error::{Error, Source};
pub use lease::{Claim, Claimed, Epoch, Lease, Reason, Tenure};
pub use read::{
    Filter, Limit, Listed, Loaded, Mark, Page, Position, Tail, Want, order, order_from,
};
pub use webhook::{
    DeadLetter, DeadLetterId, Delivery, NewWebhook, Progress, Sealed, Webhook, WebhookRef,
};
pub use write::{
    Append, Appended, Create, Created, Keep, Key, MAX_NOTE_BYTES, Retention, Swept, Tenancy, Wake,
};

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

/// Things by their task. Stores give the numbers, so nobody can choose them to collide, and a
/// hash that is only fast will do.
pub(crate) type RefMap<T> = HashMap<TaskRef, T, foldhash::fast::RandomState>;

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
    /// The time of its newest status that has one, at least to the microsecond; the start of
    /// 1970 if none has.
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
    /// One transaction: key, task, log, lease, webhooks, wake-up, note and parent. It is checked
    /// in this order: the note ([`Error::NoteTooLarge`]), the key ([`Error::KeyReused`]), the
    /// identifier, which is unique within the tenant ([`Error::Exists`]), the conversation
    /// ([`Error::ForeignContext`]), the caller's unfinished tasks ([`Error::TooMany`]). What is
    /// refused leaves nothing, nor its key.
    fn create(&self, create: Create) -> Answer<'_, Created>;

    /// Writes a batch behind the log of a task.
    ///
    /// One transaction: epoch and state compared, entries, head, snapshot, lease, key, webhooks
    /// woken, wake-up, note, key let go. It is checked in this order: the note
    /// ([`Error::NoteTooLarge`]), the task ([`Error::Gone`]), the key ([`Error::KeyReused`]; a repeated request is
    /// [`Appended::Repeated`] whatever has become of the task), the epoch ([`Error::Fenced`]
    /// unless it is the task's, whether or not the lease is over), the state
    /// ([`Error::StateChanged`]). What is refused leaves the task as it was, and the key unused.
    /// An empty batch changes only lease, snapshot, webhooks, wake-up, note and key, and of a
    /// task that has ended neither lease nor wake-up.
    fn append(&self, append: Append) -> Answer<'_, Appended>;

    // Reading.

    /// Tells whether a key stands for something that was done at a place, or is that of another
    /// request ([`Error::KeyReused`]).
    fn is_used(&self, place: &Place, key: &Key) -> Answer<'_, bool>;

    /// Finds a task within a scope.
    fn find(&self, scope: &Scope, id: &TaskId) -> Answer<'_, Option<Head>>;

    /// Reads a task within a scope as of now, or as of a place in its log: a snapshot if there
    /// is one that is not newer, and all entries between it and that place.
    ///
    /// A place that the log has not reached is now. If the log does not reach back so far, as
    /// it never does to 0, the answer has neither.
    fn load(&self, scope: &Scope, id: &TaskId, want: Want) -> Answer<'_, Option<Loaded>>;

    /// Reads the entries behind a place, in order: at least one if there is one, however large
    /// it is, and further ones until the limit is reached.
    fn tail(&self, task: TaskRef, after: Seq, limit: Limit) -> Answer<'_, Tail>;

    /// Reads how far tasks have come, in any order. Tasks that are gone are left out.
    fn marks(&self, tasks: Vec<TaskRef>) -> Answer<'_, Vec<Mark>>;

    /// Lists the tasks within a scope by [`order`] of their status, the newest first, equal
    /// ones by descending identifier, byte by byte.
    fn list(&self, scope: &Scope, filter: Filter, page: Page) -> Answer<'_, Listed>;

    /// Reads the newest note of a task, if it has one and is there.
    fn note(&self, task: TaskRef) -> Answer<'_, Option<Bytes>>;

    /// Reads which task a task was opened for, if it was for one and is there.
    fn parent(&self, task: TaskRef) -> Answer<'_, Option<TaskId>>;

    /// Finds the tasks within a scope that were opened for a task of the tenant, in the order of
    /// their opening, whether or not that task is, or is seen.
    fn children(&self, scope: &Scope, parent: &TaskId, most: usize) -> Answer<'_, Vec<Head>>;

    // Leases.

    /// Takes tasks that need an owner. An unfinished task needs one in any of these cases, of
    /// which the first is the reason:
    ///
    /// - its lease has run out: [`Reason::Abandoned`];
    /// - its lease was [given back](Self::release), or there is none and the agent has the turn
    ///   (submitted, working): [`Reason::Released`];
    /// - its wake-up is due and nobody has a lease: [`Reason::Woken`]. A claim for another
    ///   reason leaves the wake-up as it is.
    ///
    /// A task that waits for its caller, and whose lease was ended, thus needs none.
    fn claim(&self, claim: Claim) -> Answer<'_, Vec<Claimed>>;

    /// Prolongs leases by the database's clock, and returns those that are lost: the task is
    /// gone or at another epoch, or the lease was ended or given back. One that has only run
    /// out is not lost.
    fn renew(&self, lease: Lease, held: Vec<Tenure>) -> Answer<'_, Vec<TaskRef>>;

    /// Gives leases back, so that others can claim the tasks at once. Lost ones are left alone.
    fn release(&self, held: Vec<Tenure>) -> Answer<'_, ()>;

    /// Tells whether other processes may write to the same store.
    fn is_shared(&self) -> bool;

    // Webhooks.

    /// Keeps a webhook, in place of one with the same identifier. A new one gets the events
    /// behind the present end of the log. One that takes another's place, and its handle, goes
    /// on where that one was: what is unsent is due at once and counts as never tried, and a
    /// delivery to the old address can no longer be settled. Fails with [`Error::TooMany`] and
    /// [`Error::Gone`].
    fn put_webhook(&self, task: TaskRef, webhook: NewWebhook, most: u32) -> Answer<'_, Webhook>;

    /// Reads the webhooks of a task, in the order of their making.
    fn webhooks(&self, task: TaskRef) -> Answer<'_, Vec<Webhook>>;

    /// Removes a webhook with its dead letters, if it is there.
    fn delete_webhook(&self, task: TaskRef, id: &PushConfigId) -> Answer<'_, ()>;

    /// Takes webhooks that have something to be sent, each for as long as the lease. While one
    /// is taken nobody else takes it, neither for an event nor for a dead letter.
    fn claim_deliveries(&self, lease: Lease, most: usize) -> Answer<'_, Vec<Delivery>>;

    /// Writes down how sending went. `false`, and nothing changes, if the webhook is gone or
    /// was replaced, the delivery has ended, somebody else has taken it since, or its event is
    /// not the one to be sent. A delivery that has only run out can still be settled.
    fn settle(&self, delivery: &Delivery, progress: Progress) -> Answer<'_, bool>;

    /// Reads dead letters within a scope, the newest first.
    fn dead_letters(&self, scope: &Scope, most: usize) -> Answer<'_, Vec<DeadLetter>>;

    /// Sends a dead letter again, at once and beside the other events. `false` if there is none
    /// with this identifier in the scope.
    fn resend(&self, scope: &Scope, letter: DeadLetterId) -> Answer<'_, bool>;

    // Keeping house.

    /// Removes what has been kept long enough, of each kind at most `most` at once. Never
    /// touches a task that has not ended.
    ///
    /// With a task goes all that belongs to it, but for its keys: a [`Create`] with such a key
    /// is still repeated. A log stays while a webhook of its task has an event to send.
    fn sweep(&self, retention: &Retention, most: usize) -> Answer<'_, Swept>;
}

/// How long a lease lasts.
pub const LEASE: Duration = Duration::from_secs(15);
