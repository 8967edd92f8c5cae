//! What an agent elsewhere says, into our log.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::Either;
use nuncio_protocol::{
    ids::TaskId,
    state::TaskState,
    task::{StreamResponse, Task},
};
use nuncio_tasks::{agent::Failure, store::Wake};

use super::{
    forward::{Forwarding, Step, heard},
    references::referring,
};

/// How often a task is looked at that waits for a login somewhere else.
const AUTH_LOOK: Duration = Duration::from_secs(5);

impl Forwarding<'_> {
    /// Takes in what the agent says.
    pub(super) async fn take(
        &mut self,
        seq: Option<u64>,
        response: StreamResponse,
    ) -> Result<Step, Failure> {
        let is_news = self.learn(&response).map_err(|other| {
            Failure::new(format!("the agent answered for another task, `{other}`"))
        })?;
        if let Some(message) = referring(&response)
            && let Err(error) = Box::pin(self.learn_meant(message)).await
        {
            // What it says is worth more than the names in it.
            tracing::warn!(%error, "the tasks that an agent refers to could not be looked for");
        }
        let may_be_old = std::mem::take(&mut self.may_be_old);
        let state = response.state();
        match response {
            StreamResponse::Message(message) => {
                let message = self.ours.message(message);
                // Boxed, as all that a stream that is silent need not have room for.
                let said = if self.has_spoken {
                    // Nobody who follows the task would see it otherwise.
                    Box::pin(self.output.status(TaskState::Completed, Some(message))).await
                } else {
                    Box::pin(self.output.reply(message)).await
                };
                said.or_else(heard)?;
                return Ok(Step::Done);
            }
            StreamResponse::Task(task) => {
                // There is a task, whether or not there is news of it.
                self.output.accept();
                self.has_spoken = true;
                if may_be_old && task.status.state.is_interrupted() {
                    // As it was before our answer to its question; what follows says more.
                    return Ok(Step::GoOn);
                }
                Box::pin(self.take_task(seq, task, is_news)).await?;
            }
            update => {
                if seq.is_none() {
                    self.remember(&update);
                }
                self.note.seen = seq.or(self.note.seen);
                let note = (is_news || seq.is_some()).then(|| self.write_note());
                let update = self.ours.update(update);
                self.say(update, note).await?;
            }
        }
        Ok(match state {
            Some(state) if state.is_terminal() => Step::Done,
            Some(state) if state.is_interrupted() => {
                if state == TaskState::AuthRequired {
                    // It may go on by itself, once somebody has logged in somewhere.
                    self.output.wake(Wake::After(AUTH_LOOK));
                }
                Step::Done
            }
            _ => Step::GoOn,
        })
    }

    /// Writes the note that goes with an event. Most differ from the one before by a number.
    fn write_note(&mut self) -> Bytes {
        match self.note.seen {
            Some(seen) => self.stem.get_or_insert_with(|| self.note.stem()).with(seen),
            None => self.note.write(),
        }
    }

    /// Takes in a whole task: what it says that our log does not.
    async fn take_task(
        &mut self,
        seq: Option<u64>,
        task: Task,
        is_news: bool,
    ) -> Result<(), Failure> {
        let metadata = task.metadata.clone();
        let mut updates = self.ours.updates(&self.turn.task, task);
        self.turn.task.metadata = metadata.or_else(|| self.turn.task.metadata.take());
        let last = updates.pop();
        let mut note = is_news.then(|| self.note.write());
        for update in updates {
            self.say(update, note.take()).await?;
        }
        // Only with the last of them is all of the event in our log.
        self.note.seen = seq.or(self.note.seen);
        if seq.is_some() {
            note = Some(self.note.write());
        }
        match (last, note) {
            (Some(update), note) => self.say(update, note).await,
            (None, None) => Ok(()),
            (None, Some(note)) => {
                self.output.note(note).or_else(heard)?;
                self.output.flush().await.or_else(heard)
            }
        }
    }

    /// Learns what the agent calls its task, and tells whether that is news. Fails if it speaks
    /// of another one.
    fn learn(&mut self, response: &StreamResponse) -> Result<bool, TaskId> {
        let (task, context) = match response {
            StreamResponse::Task(task) => (&task.id, task.context_id.as_ref()),
            StreamResponse::StatusUpdate(update) => (&update.task_id, Some(&update.context_id)),
            StreamResponse::ArtifactUpdate(update) => (&update.task_id, Some(&update.context_id)),
            StreamResponse::Message(_) => return Ok(false),
        };
        let mut is_news = self.is_unheard();
        if is_news {
            self.note.accepted = Some(self.turn.message.message_id.as_str().to_owned());
            self.note.wishes = None;
        }
        match &self.note.task {
            Some(known) if known != task.as_str() => return Err(task.clone()),
            Some(_) => {}
            None => {
                self.note.task = Some(task.as_str().to_owned());
                is_news = true;
            }
        }
        if let Some(context) = context.filter(|_| self.note.context.is_none()) {
            self.note.context = Some(context.as_str().to_owned());
            is_news = true;
        }
        if is_news {
            self.stem = None;
        }
        Ok(is_news)
    }

    /// Keeps in mind what our log will say, for an agent that does not number its events.
    fn remember(&mut self, update: &StreamResponse) {
        let task = &mut self.turn.task;
        match update {
            StreamResponse::StatusUpdate(update) => {
                task.status.clone_from(&update.status);
                task.metadata = update.task_metadata().or_else(|| task.metadata.take());
            }
            StreamResponse::ArtifactUpdate(update) => {
                let id = &update.artifact.artifact_id;
                match task.artifacts.iter_mut().find(|known| known.artifact_id == *id) {
                    Some(known) if update.append => {
                        known.parts.extend(update.artifact.parts.iter().cloned());
                    }
                    Some(known) => known.clone_from(&update.artifact),
                    None => task.artifacts.push(update.artifact.clone()),
                }
            }
            StreamResponse::Task(_) | StreamResponse::Message(_) => {}
        }
    }

    /// Says it at once; what is waited for is room for more.
    fn say(
        &mut self,
        update: StreamResponse,
        note: Option<Bytes>,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        self.has_spoken = true;
        let said = match note {
            Some(note) => Either::Left(self.output.event_with_note(update, note)),
            None => Either::Right(self.output.event(update)),
        };
        async move { said.await.or_else(heard) }
    }
}
