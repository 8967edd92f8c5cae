//! Somebody wants a task to end.

use std::sync::Arc;

use nuncio_protocol::{
    error::{Error, ErrorKind},
    json::Shared,
    operation::CancelTaskRequest,
    state::TaskState,
    task::Task,
};
use tokio::time::timeout;

use super::{Call, Engine, Tasks, accept};
use crate::{
    log::Batch,
    store::{self, Append, Appended, Head, Want},
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
            match engine.request_cancel(&head).await {
                Ok(()) => return engine.load(&call.place, &request.id, Want::ALL, None).await,
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
    pub(super) async fn request_cancel(self: &Arc<Self>, head: &Head) -> Result<(), store::Error> {
        let now = self.clock.now();
        let mut batch = Batch::follow(head.id.clone(), head.context.clone(), head.state);
        // Work in progress must be told, and ends the task itself; a task that only waits for
        // its caller, or whose owner has died, is ended here.
        let result = if head.owned {
            batch.cancel(now)
        } else {
            batch.status(TaskState::Canceled, None, now)
        };
        let expected = head.state;
        if result.is_err() {
            return Err(store::Error::StateChanged { expected, found: expected });
        }
        let live = self.at_hand(head).await?;
        let mut watch = live.watch();
        let entries = accept::entries_of(&batch, head.seq);
        let append = Append::signal(head.reference, batch);
        let Appended::Done { head: after, .. } = self.store.append(append).await? else {
            // There was no key to repeat.
            return Ok(());
        };
        self.show(&live, &accept::renumber(entries, after.seq), &after).await;
        if !after.owned && !after.state.is_terminal() {
            // The work ended between the look and the word: nobody has heard it.
            return Err(store::Error::StateChanged { expected, found: after.state });
        }
        let ended = watch.wait_for(|reached| reached.state.is_terminal());
        // Over the limit the answer is the task as it stands.
        timeout(self.settings.cancel_wait, ended).await.ok();
        Ok(())
    }
}
