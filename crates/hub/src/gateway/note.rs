//! What the hub keeps for itself about a task that an agent elsewhere works on.

use bytes::Bytes;
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json,
    message::Message,
};
use nuncio_tasks::agent::{Asked, Wait};
use serde::{Deserialize, Serialize};

use super::queue::Queued;

/// How much of how a message was sent is kept, in bytes: notes are small.
const MAX_WISHES: usize = 32 << 10;

/// How the agent knows a task of ours. Kept with the task, and shown to nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The agent's own name of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<String>,
    /// The agent's own name of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<String>,
    /// The message that the agent has accepted last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) accepted: Option<String>,
    /// The last event of the agent's that is in our log, if it numbers them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seen: Option<u64>,
    /// How the message was sent that the agent has not accepted yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wishes: Option<Wishes>,
    /// For whom the caller acts, who may do what the caller may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) behalf: Option<String>,
    /// The call waits, and the agent has not seen its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queued: Option<Queued>,
}

/// How a message was sent, as far as the agent is told. Who sends it again must say the same, or
/// it is another message to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wishes {
    /// The message.
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    output_modes: Vec<String>,
    /// Whether its sender chose the conversation.
    context_is_given: bool,
    /// Whether its sender waits until the end.
    waits: bool,
    /// Whether there was more than is kept.
    is_cut: bool,
}

impl Wishes {
    /// Returns what is to be kept of how a message was sent; `None` if it was sent like most. Who
    /// streams is not told whether anybody waits.
    pub(crate) fn new(message: &Message, asked: &Asked, streams: bool) -> Option<Self> {
        let Asked { metadata, output_modes, context_is_given, wait, .. } = asked;
        let waits = streams || *wait == Wait::End;
        if metadata.is_none() && output_modes.is_empty() && !context_is_given && waits {
            return None;
        }
        let metadata = metadata.as_ref().map(json::to_string);
        let bytes = metadata.as_ref().map_or(0, String::len)
            + output_modes.iter().map(String::len).sum::<usize>();
        let message = message.message_id.as_str().to_owned();
        let (output_modes, context_is_given) = (output_modes.clone(), *context_is_given);
        let whole =
            Self { message, metadata, output_modes, context_is_given, waits, is_cut: false };
        if bytes <= MAX_WISHES {
            return Some(whole);
        }
        Some(Self { metadata: None, output_modes: Vec::new(), is_cut: true, ..whole })
    }

    /// Tells whether there was more than is kept.
    pub(crate) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Says again how a message was sent. `None` if nobody knows it any more.
    pub(crate) fn restore(&self, message: &Message, asked: Asked) -> Option<Asked> {
        if self.is_cut || self.message != message.message_id.as_str() {
            return None;
        }
        let metadata = self.metadata.as_deref().map(json::from_str).transpose().ok()?;
        let wait = if self.waits { Wait::End } else { Wait::Nothing };
        let (output_modes, context_is_given) = (self.output_modes.clone(), self.context_is_given);
        Some(Asked { metadata, output_modes, context_is_given, wait, ..asked })
    }
}

/// The text of a note without the number of the last event, which goes into the log with every
/// event of an agent that numbers them.
#[derive(Debug)]
pub(crate) struct Stem(Box<[u8]>);

impl Stem {
    /// Writes the note with a number.
    pub(crate) fn with(&self, seen: u64) -> Bytes {
        // Room for the longest number.
        let mut text = Vec::with_capacity(self.0.len() + 32);
        text.extend_from_slice(&self.0);
        if self.0.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(br#""seen":"#);
        // There is room, and nothing else that could go wrong. Cheaper than to format it.
        serde_json::to_writer(&mut text, &seen).ok();
        text.push(b'}');
        text.into()
    }
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

    /// Writes it for as often as only the number of the last event changes.
    pub(crate) fn stem(&self) -> Stem {
        let without = Self { seen: None, ..self.clone() };
        let mut text = serde_json::to_vec(&without).unwrap_or_default();
        // The brace is written behind the number.
        text.pop();
        Stem(text.into())
    }

    pub(crate) fn task(&self) -> Option<TaskId> {
        TaskId::parse(self.task.as_deref()?).ok()
    }

    pub(crate) fn context(&self) -> Option<ContextId> {
        ContextId::parse(self.context.as_deref()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(note: &Note) {
        let written = note.write();
        assert_eq!(&Note::read(Some(&written)), note);
        if let Some(seen) = note.seen {
            assert_eq!(&Note::read(Some(&note.stem().with(seen))), note);
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        check(&Note::default());
        check(&Note { seen: Some(7), ..Note::default() });
        for odd in ["plain", "a \"quoted\" \\ one", "line\nbreak\u{1}", "ä\u{2028}𝄞", ""] {
            let text = Some(odd.to_owned());
            let note = Note { task: text.clone(), seen: Some(u64::MAX), ..Note::default() };
            check(&note);
            check(&Note { context: text.clone(), accepted: text.clone(), ..note.clone() });
            check(&Note { behalf: text, ..note });
        }
    }
}
