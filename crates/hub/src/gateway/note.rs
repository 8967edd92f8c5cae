//! What the hub keeps for itself about a task that an agent elsewhere works on.

use bytes::Bytes;
use nuncio_protocol::ids::{ContextId, TaskId};
use serde::{Deserialize, Serialize};

use super::queue::Queued;

/// How the agent knows a task of ours. Kept with the task, and shown to nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The agent's own name of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<String>,
    /// The agent's own name of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<String>,
    /// The message that an agent which fetches its work has accepted last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) accepted: Option<String>,
    /// The last event of the agent's that is in our log, if it numbers them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seen: Option<u64>,
    /// The call waits, and the agent has not seen its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queued: Option<Queued>,
}

impl Note {
    /// Reads a note of ours; one that cannot be read says nothing.
    pub(crate) fn read(bytes: Option<&Bytes>) -> Self {
        bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    pub(crate) fn write(&self) -> Bytes {
        // Strings and numbers only: nothing that could not be written.
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    pub(crate) fn task(&self) -> Option<TaskId> {
        TaskId::parse(self.task.as_deref()?).ok()
    }

    pub(crate) fn context(&self) -> Option<ContextId> {
        ContextId::parse(self.context.as_deref()?).ok()
    }
}
