use std::time::Duration;

use nuncio_protocol::{
    ids::{PushConfigId, TaskId},
    time::Timestamp,
    version::Version,
};

use super::{Epoch, TaskRef};
use crate::log::Seq;

/// A store's own handle of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebhookRef(pub i64);

/// Secrets of a webhook, encrypted. Stores never see them otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed(pub Vec<u8>);

/// A webhook to be kept.
#[derive(Clone, Debug)]
pub struct NewWebhook {
    /// Unique within its task.
    pub id: PushConfigId,
    /// Where events go.
    pub url: String,
    /// What authenticates us there.
    pub secrets: Sealed,
    /// The version of A2A in which it was registered, and in which events are sent.
    pub version: Version,
}

/// A webhook.
///
/// It is a cursor over the log: what has been sent is known by how far it is, so an event and
/// its place in the outbox are the same row.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// The store's handle.
    pub reference: WebhookRef,
    /// The task.
    pub task: TaskRef,
    /// The task.
    pub task_id: TaskId,
    /// Unique within its task.
    pub id: PushConfigId,
    /// Where events go.
    pub url: String,
    /// What authenticates us there.
    pub secrets: Sealed,
    /// The version in which events are sent.
    pub version: Version,
    /// The last event that was sent, or given up.
    pub sent: Seq,
}

/// A webhook that has been taken for sending.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The webhook.
    pub webhook: Webhook,
    /// Proves to [`settle`](super::Store::settle) that it is still taken.
    pub epoch: Epoch,
    /// The event to be sent: the one behind `webhook.sent`, or a dead letter's.
    pub seq: Seq,
    /// How often this event has been tried before.
    pub attempts: u32,
    /// Set if a dead letter is being sent again, which changes nothing else: other events are
    /// neither delayed nor counted as sent, and the delivery ends however it went.
    pub again: Option<DeadLetterId>,
}

/// How sending went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The receiver took it. The delivery stays taken, with the same epoch and for what is left
    /// of the lease, for the next event; it ends if there is none. A dead letter is removed.
    Sent,
    /// It is tried again after so long, and not before. The delivery ends.
    Retry {
        /// By the database's clock.
        after: Duration,
        /// What went wrong.
        error: String,
    },
    /// It is given up: a dead letter is left, or the one that was sent again is renewed, and
    /// the next event is due. The delivery ends.
    Dead {
        /// What went wrong.
        error: String,
    },
    /// It was not tried, and this does not count as an attempt. The delivery ends and is due at
    /// once.
    Released,
}

/// A store's own handle of a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeadLetterId(pub i64);

/// An event that a webhook would not take.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// The store's handle.
    pub id: DeadLetterId,
    /// The task.
    pub task: TaskId,
    /// The webhook.
    pub webhook: PushConfigId,
    /// Where it was to go.
    pub url: String,
    /// The event.
    pub seq: Seq,
    /// How often it was tried.
    pub attempts: u32,
    /// What went wrong the last time.
    pub error: String,
    /// When it was given up.
    pub at: Timestamp,
}
