//! Tasks that messages refer to, which have two names like the task that a message is about.
//!
//! Only names of the caller's own tasks with the same agent are changed: of all others the agent
//! has its name from elsewhere, or has none.

use nuncio_protocol::{error::Error, ids::TaskId, message::Message, task::StreamResponse};
use nuncio_tasks::{scope::Scope, store::Filter};

use super::{forward::Forwarding, note::Note};

/// How many names are looked for in a turn, either way.
const MOST_NAMES: usize = 128;

/// Among how many of the caller's tasks, the newest, the ones are looked for that an agent means.
const MOST_TASKS: usize = 200;

impl Forwarding<'_> {
    /// Learns what the agent calls the tasks that our message refers to.
    pub(super) async fn learn_references(&mut self) -> Result<(), Error> {
        let Some(tasks) = self.forwarder.tasks.get() else { return Ok(()) };
        let scope = Scope::from(&self.turn.place);
        for ours in &self.turn.message.reference_task_ids {
            let others = &mut self.ours.others;
            let is_known = others.iter().any(|(known, _)| known == ours);
            if is_known || *ours == self.ours.task || others.len() >= MOST_NAMES {
                continue;
            }
            let note = tasks.note(&scope, ours).await?;
            let theirs = Note::read(note.as_ref()).task();
            others.push((ours.clone(), theirs.unwrap_or_else(|| ours.clone())));
        }
        Ok(())
    }

    /// Learns which of our tasks an agent means that refers to some.
    pub(super) async fn learn_meant(&mut self, message: &Message) -> Result<(), Error> {
        let mut meant: Vec<&TaskId> = message.reference_task_ids.iter().collect();
        meant.retain(|theirs| self.ours.others.iter().all(|(_, known)| known != *theirs));
        meant.truncate(MOST_NAMES.saturating_sub(self.ours.others.len()));
        let Some(tasks) = self.forwarder.tasks.get().filter(|_| !meant.is_empty()) else {
            return Ok(());
        };
        let scope = Scope::from(&self.turn.place);
        let page = tasks.notes(&scope, Filter::default(), MOST_TASKS).await?;
        let noted = page.notes.into_iter();
        let mut known: Vec<_> = noted
            .filter_map(|(ours, note)| Some((ours, Note::read(note.as_ref()).task()?)))
            .collect();
        // What is noted of this one may not be written yet.
        known.extend(self.note.task().map(|theirs| (self.ours.task.clone(), theirs)));
        for theirs in meant {
            let ours = known.iter().rev().find(|(_, known)| known == theirs);
            let ours = ours.map_or_else(|| theirs.clone(), |(ours, _)| ours.clone());
            self.ours.others.push((ours, theirs.clone()));
        }
        Ok(())
    }
}

/// Returns what an agent says about its task, if that refers to others.
pub(super) fn referring(response: &StreamResponse) -> Option<&Message> {
    let message = match response {
        StreamResponse::Message(message) => Some(message),
        StreamResponse::StatusUpdate(update) => update.status.message.as_deref(),
        StreamResponse::Task(task) => task.status.message.as_deref(),
        StreamResponse::ArtifactUpdate(_) => None,
    };
    message.filter(|message| !message.reference_task_ids.is_empty())
}
