//! A task that is there goes on: more is said to it, or a turn begins.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::TaskId,
    message::Message,
    state::TaskState,
};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

use super::{
    Call, Engine,
    accept::{Accepted, Occasion, Progress},
    bridge,
    run::{FIRST_RETRY, LAST_RETRY, Run},
};
use crate::{
    agent::Conduct,
    live::Live,
    log::{Batch, Entry, Folded, Seq},
    output::Word,
    scope::Scope,
    store::{self, Append, Appended, Head, Key, NewWebhook, Tenancy, Tenure, Want},
};

/// How often a message to a task that changes all the time is tried.
const MAX_RACES: usize = 16;

/// What is said to a task that is there.
pub(super) struct More {
    pub(super) message: Message,
    pub(super) key: Option<Key>,
    pub(super) webhooks: Vec<NewWebhook>,
    pub(super) conduct: Conduct,
}

/// What became of a message to a task that is there.
enum Added {
    /// It is in the log, and with it the task may have been taken.
    New { live: Arc<Live>, seq: Seq, taken: bool },
    /// It was there before.
    Repeated { task: TaskId, seq: Seq },
}

impl Engine {
    /// Says more to a task that is there.
    pub(super) async fn go_on(
        self: &Arc<Self>,
        call: &Call,
        task: &TaskId,
        more: More,
        mut occasion: Occasion,
        word: Option<oneshot::Receiver<Word>>,
    ) -> Result<Accepted, Error> {
        let More { mut message, key, webhooks, conduct } = more;
        for _ in 0..MAX_RACES {
            let head = self.head(&call.place, task).await?;
            match &message.context_id {
                Some(context) if *context != head.context => {
                    return Err(bridge::invalid(
                        "message.contextId",
                        "is not the context of the task; leave it out or correct it",
                    ));
                }
                _ => message.context_id = Some(head.context.clone()),
            }
            // Made for a task that would take it: if this one does not, only a repeated message
            // gets through, and finds what has come of it meanwhile.
            let (from, refused) = match head.state {
                state if state.is_terminal() => {
                    (TaskState::Working, Some(bridge::ended(task, state)))
                }
                state if state.is_interrupted() || conduct.listens => (state, None),
                _ => (TaskState::InputRequired, Some(bridge::busy(task))),
            };
            if let (Some(refused), None) = (&refused, &key) {
                return Err(refused.clone());
            }
            let mut batch = Batch::follow(task.clone(), head.context.clone(), from);
            batch
                .input(message.clone(), self.clock.now())
                .map_err(|_| bridge::ended(task, head.state))?;
            let append = Append {
                tenancy: Tenancy::Take(self.lease()),
                key: key.clone(),
                webhooks: webhooks.clone(),
                ..Append::signal(head.reference, batch)
            };
            // Whoever sends it may go away meanwhile; what is in the log is acted on.
            let adding = Arc::clone(self).add(append, head.seq, occasion);
            match self.surely(adding).await? {
                Ok(Added::New { live, seq, taken }) => {
                    let (progress, word) = (Progress::Live(live), word.filter(|_| taken));
                    return Ok(Accepted { id: task.clone(), progress, seq, word });
                }
                Ok(Added::Repeated { task, seq }) => {
                    let head = self.head(&call.place, &task).await?;
                    let live = self.at_hand(&head).await?;
                    let progress = Progress::Live(live);
                    return Ok(Accepted { id: task, progress, seq, word: None });
                }
                Err((store::Error::StateChanged { .. }, unused)) => {
                    if let Some(refused) = refused {
                        return Err(refused);
                    }
                    occasion = unused;
                }
                Err((store::Error::Gone, _)) => return Err(Error::task_not_found(task)),
                Err((error, _)) => return Err(error.into()),
            }
        }
        let text = format!("task {task} changes too fast to take a message");
        Err(Error::new(ErrorKind::Unavailable, text).with_retry_after(Duration::from_secs(1)))
    }

    /// Writes a message into the log of its task, and begins a turn with it if nobody works on
    /// the task.
    async fn add(
        self: Arc<Self>,
        append: Append,
        after: Seq,
        occasion: Occasion,
    ) -> Result<Added, (store::Error, Occasion)> {
        let entries = entries_of(&append.batch, after);
        let (now, taken) = match self.store.append(append).await {
            Ok(Appended::Done { head, taken }) => (head, taken),
            Ok(Appended::Repeated { task, seq }) => return Ok(Added::Repeated { task, seq }),
            Err(error) => return Err((error, occasion)),
        };
        let seq = now.seq;
        let live = match self.at_hand(&now).await {
            Ok(live) => live,
            Err(error) => return Err((error, occasion)),
        };
        self.show(&live, &renumber(entries, seq), &now).await;
        if taken && let Err(error) = self.begin_turn(now, Arc::clone(&live), occasion).await {
            // It is in the log: whoever takes the task over finds it there.
            tracing::warn!(%error, "a turn could not be begun");
        }
        Ok(Added::New { live, seq, taken })
    }

    /// Does something to its end, also if nobody waits for that any more.
    pub(super) async fn surely<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, store::Error> {
        // It is not waited for only if everything ends.
        self.work.spawn(work).await.map_err(|error| store::Error::Unavailable(error.into()))
    }

    /// Runs the agent on a task that this process has just taken. If that cannot be, the task is
    /// given back.
    pub(super) async fn begin_turn(
        self: &Arc<Self>,
        head: Head,
        live: Arc<Live>,
        occasion: Occasion,
    ) -> Result<(), Error> {
        let tenure = Tenure { task: head.reference, epoch: head.epoch };
        // From here on it is ours to prolong.
        self.hold(tenure, None);
        let begun = match self.read_turn(&head).await {
            Ok((now, folded, note)) => {
                Run::go_on(Arc::clone(self), now, folded, note, live, occasion)
            }
            Err(error) => Err(error),
        };
        match begun {
            Ok(run) => {
                run.spawn_taken();
                Ok(())
            }
            Err(error) => {
                self.let_go(tenure);
                // If this fails, too, the lease ends by itself.
                self.store.release(vec![tenure]).await.ok();
                Err(error)
            }
        }
    }

    /// Reads what a turn begins with: the task as it was when it was taken, for what was said to
    /// it since is still to be heard.
    async fn read_turn(&self, head: &Head) -> Result<(Head, Folded, Option<Bytes>), Error> {
        let scope = Scope::from(&head.place);
        let until = Instant::now() + self.settings.lease;
        let mut delay = FIRST_RETRY;
        loop {
            let read = async {
                let loaded = self.store.load(&scope, &head.id, Want::at(head.seq)).await?;
                // Whoever had the task before can no longer write one.
                Ok::<_, store::Error>((loaded, self.store.note(head.reference).await?))
            };
            match read.await {
                Ok((Some(loaded), note)) => {
                    return Ok((loaded.head.clone(), loaded.fold()?, note));
                }
                Ok((None, _)) => return Err(Error::task_not_found(&head.id)),
                Err(error) if error.is_temporary() && Instant::now() < until => {
                    sleep(delay).await;
                    delay = (delay * 2).min(LAST_RETRY);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Numbers what a batch will be if nothing comes between.
pub(super) fn entries_of(batch: &Batch, after: Seq) -> Vec<Entry> {
    let records = batch.records().iter().enumerate();
    records
        .map(|(index, record)| Entry { seq: after.plus(index + 1), record: record.clone() })
        .collect()
}

/// Numbers entries anew, so that the last is `last`.
pub(super) fn renumber(mut entries: Vec<Entry>, last: Seq) -> Vec<Entry> {
    let mut seq = last.0;
    for entry in entries.iter_mut().rev() {
        entry.seq = Seq(seq);
        seq = seq.saturating_sub(1);
    }
    entries
}
