//! Names that follow from a run and what happens in it, so that they are the same after a crash.

use aws_lc_rs::digest::{SHA256, digest};
use nuncio_protocol::ids::{MessageId, TaskId};

use crate::plan::Call;

/// Returns the task that a call becomes.
pub fn task_of(run: &TaskId, call: &Call) -> TaskId {
    let id = uuid(&format!("task {run} {call}"));
    // A UUID is short enough, and never empty.
    TaskId::parse(&id).unwrap_or_else(|_| TaskId::generate())
}

/// Returns the message that a call is told.
pub(super) fn message_of(run: &TaskId, call: &Call) -> MessageId {
    let id = uuid(&format!("message {run} {call}"));
    MessageId::parse(&id).unwrap_or_else(|_| MessageId::generate())
}

/// Returns the message in which a run asks what a call asks.
pub(super) fn question_of(run: &TaskId, call: &Call, asked: &MessageId) -> MessageId {
    let id = uuid(&format!("question {run} {call} {asked}"));
    MessageId::parse(&id).unwrap_or_else(|_| MessageId::generate())
}

/// Returns the key under which a call is made once.
pub(super) fn key_of(run: &TaskId, call: &Call) -> String {
    format!("run:{}", uuid(&format!("key {run} {call}")))
}

/// Makes a UUID (version 8) of a text.
fn uuid(text: &str) -> String {
    let hash = digest(&SHA256, text.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_ref()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}
