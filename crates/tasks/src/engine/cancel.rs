//! Somebody wants a task to end.

use std::sync::Arc;

use nuncio_protocol::{
    error::{Error, ErrorKind},
    json::{Object, Shared},
    operation::CancelTaskRequest,
    state::TaskState,
    task::Task,
};
use tokio::time::timeout;

use super::{Call, Engine, Tasks, accept::Occasion, go_on};
use crate::{
    agent::Cause,
    live::Live,
    log::{Batch, Entry},
    store::{self, Append, Appended, Head, Tenancy, Want},
};

/// How often a cancel of a task that changes all the time is tried.
const MAX_RACES: usize = 16;

impl Tasks {
    /// Ends a task. Work that runs, here or elsewhere, is told and stopped; the answer is the
    /// task as it is then, or as it stands if that takes too long.
    pub async fn cancel(
        &self,
        call: &Call,
        request: CancelTaskRequest,
    ) -> Result<Shared<Task>, Error> {
        let engine = &self.0;
        for _ in 0..MAX_RACES {
            let head = engine.head(&call.place, &request.id).await?;
            if head.state.is_terminal() {
                let text = format!("task {} has ended as {}", request.id, head.state.as_str());
                return Err(Error::new(ErrorKind::TaskNotCancelable, text)
                    .with_metadata("taskId", request.id.as_str()));
            }
            match engine.request_cancel(&head, request.metadata.clone()).await {
                Ok(Some(why)) => {
                    return Err(Error::new(ErrorKind::TaskNotCancelable, why)
                        .with_metadata("taskId", request.id.as_str()));
                }
                Ok(None) => return engine.load(&call.place, &request.id, Want::ALL, None).await,
                Err(store::Error::StateChanged { .. }) => {}
                Err(store::Error::Gone) => return Err(Error::task_not_found(&request.id)),
                Err(error) => return Err(error.into()),
            }
        }
        let text = format!("task {} changes too fast to be cancelled", request.id);
        Err(Error::new(ErrorKind::Unavailable, text))
    }
}

impl Engine {
    /// Returns why the work cannot be ended, if its agent says so.
    pub(super) async fn request_cancel(
        self: &Arc<Self>,
        head: &Head,
        metadata: Option<Object>,
    ) -> Result<Option<String>, store::Error> {
        let now = self.clock.now();
        let mut batch = Batch::follow(head.id.clone(), head.context.clone(), head.state);
        // Work in progress must be told, and ends the task itself; a task that only waits for
        // its caller, or whose owner has died, is ended here, unless its agent wants to know.
        let conduct = self.find_agent(&head.place).map(|agent| agent.conduct());
        let hears = conduct.is_some_and(|conduct| conduct.hears_cancels);
        let result = if head.owned || hears {
            batch.cancel_with(&metadata.clone().unwrap_or_default(), now)
        } else {
            batch.status(TaskState::Canceled, None, now)
        };
        let expected = head.state;
        if result.is_err() {
            return Err(store::Error::StateChanged { expected, found: expected });
        }
        let live = self.at_hand(head).await?;
        let mut watch = live.watch();
        let entries = go_on::entries_of(&batch, head.seq);
        let mut append = Append::signal(head.reference, batch);
        if hears {
            append.tenancy = Tenancy::Take(self.lease());
        }
        // Whoever wants it may go away meanwhile; what is in the log is acted on.
        let told = Arc::clone(self).tell(append, entries, Arc::clone(&live), metadata);
        let Some((after, taken)) = self.surely(told).await?? else {
            // There was no key to repeat.
            return Ok(None);
        };
        let asked_at = after.seq;
        if !taken && !after.owned && !after.state.is_terminal() {
            // The work ended between the look and the word: nobody has heard it.
            return Err(store::Error::StateChanged { expected, found: after.state });
        }
        let mut refused = None;
        let answered = watch.wait_for(|reached| {
            refused = live.since(asked_at).iter().find_map(|entry| entry.record.cancel_refused());
            reached.state.is_terminal() || refused.is_some()
        });
        // Over the limit the answer is the task as it stands.
        timeout(self.settings.cancel_wait, answered).await.ok();
        Ok(refused)
    }

    /// Writes into the log of a task that it is to end, and begins a turn for that if nobody works
    /// on it. Returns the task then, and whether it was taken.
    async fn tell(
        self: Arc<Self>,
        append: Append,
        entries: Vec<Entry>,
        live: Arc<Live>,
        metadata: Option<Object>,
    ) -> Result<Option<(Head, bool)>, store::Error> {
        let Appended::Done { head, taken } = self.store.append(append).await? else {
            return Ok(None);
        };
        self.show(&live, &go_on::renumber(entries, head.seq), &head).await;
        if taken {
            let mut occasion = Occasion::quiet(Cause::Cancel);
            occasion.asked.metadata = metadata;
            if let Err(error) = self.begin_turn(head.clone(), live, occasion).await {
                // Whoever takes the task over finds the wish in its log.
                tracing::warn!(%error, "a turn could not be begun");
            }
        }
        Ok(Some((head, taken)))
    }
}
