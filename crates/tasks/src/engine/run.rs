//! One process works on a task: the agent speaks, its words are written, then shown.

use std::{any::Any, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use nuncio_protocol::{
    error::Error,
    message::{Message, Role},
    state::TaskState,
    task::Task,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    Engine, Held,
    accept::{entries_of, renumber},
};
use crate::{
    agent::{AnyAgent, Cause, Failure, Turn},
    live::Live,
    log::{Batch, Entry, Folded, Kind, Seq},
    output::{Outbox, Output},
    scope::{Place, Scope},
    store::{
        self, Append, Appended, Create, Created, Epoch, Head, Key, NewWebhook, Tenancy, Tenure,
        Wake, Want,
    },
};

/// A snapshot is written when so much was said since the last one, or as much as it has itself.
const SNAPSHOT_EVERY_BYTES: usize = 64 << 10;

/// How long to wait before a store that was not available is tried again, first and at most.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LAST_RETRY: Duration = Duration::from_secs(1);

/// What a new task needs besides its log.
pub(super) struct Opening {
    pub(super) place: Place,
    pub(super) key: Option<Key>,
    pub(super) webhooks: Vec<NewWebhook>,
    pub(super) context_is_given: bool,
}

/// The work of this process on one task.
///
/// It owns the lease: only what it writes with its epoch changes the state of running work.
pub(super) struct Run {
    engine: Arc<Engine>,
    agent: Arc<dyn AnyAgent>,
    place: Place,
    message: Message,
    cause: Cause,
    outbox: Arc<Outbox>,
    /// The task with everything that was said, written or about to be.
    folded: Folded,
    /// Bytes since the last snapshot, and its own size.
    unsaved: usize,
    saved: usize,
    /// Until the task is on disk.
    opening: Option<Opening>,
    /// From then on.
    owned: Option<Owned>,
    signals: mpsc::UnboundedReceiver<Entry>,
    worker: mpsc::UnboundedSender<Entry>,
    lost: CancellationToken,
    cancel: CancellationToken,
}

/// A task on disk that this process owns.
struct Owned {
    head: Head,
    live: Arc<Live>,
}

/// Whether the work goes on.
#[derive(PartialEq, Eq)]
enum Step {
    GoOn,
    /// Somebody else owns the task, or it is gone: nothing more may be written.
    Stop,
}

type Work<'a> = Pin<Box<dyn Future<Output = Result<Result<(), Failure>, Panic>> + Send + 'a>>;
type Panic = Box<dyn Any + Send>;

impl Run {
    /// Begins a new task with its first turn.
    pub(super) fn open(
        engine: Arc<Engine>,
        task: Task,
        message: Message,
        opening: Opening,
    ) -> Result<Self, Error> {
        let agent = Arc::clone(engine.agent(&opening.place.agent)?);
        let context = message.context_id.clone().unwrap_or_else(|| {
            // The caller has set it; a task without would be nobody's.
            nuncio_protocol::ids::ContextId::generate()
        });
        let folded = Folded { seq: Seq(1), task: task.clone() };
        let batch = Batch::open(task, context).map_err(|refused| {
            Error::new(nuncio_protocol::error::ErrorKind::Internal, refused.to_string())
        })?;
        let place = opening.place.clone();
        let bytes = batch.bytes() as u64;
        let outbox = Outbox::new(batch, 1, bytes, engine.output_settings());
        let mut run = Self::new(engine, agent, place, message, Cause::Message, outbox, folded);
        run.opening = Some(opening);
        Ok(run)
    }

    /// Begins a turn on a task that this process has just taken.
    pub(super) fn go_on(
        engine: Arc<Engine>,
        head: Head,
        folded: Folded,
        live: Arc<Live>,
        cause: Cause,
    ) -> Result<Self, Error> {
        let agent = Arc::clone(engine.agent(&head.place.agent)?);
        let said = folded.task.history.iter().rev().find(|message| message.role == Role::User);
        let message = said.cloned().unwrap_or_else(|| Message::user(""));
        let batch = Batch::follow(head.id.clone(), head.context.clone(), folded.task.status.state);
        let outbox = Outbox::new(batch, head.seq.0, head.bytes, engine.output_settings());
        let place = head.place.clone();
        let mut run = Self::new(engine, agent, place, message, cause, outbox, folded);
        run.own(head, live);
        Ok(run)
    }

    fn new(
        engine: Arc<Engine>,
        agent: Arc<dyn AnyAgent>,
        place: Place,
        message: Message,
        cause: Cause,
        outbox: Outbox,
        folded: Folded,
    ) -> Self {
        let (worker, signals) = mpsc::unbounded_channel();
        Self {
            engine,
            agent,
            place,
            message,
            cause,
            outbox: Arc::new(outbox),
            folded,
            unsaved: 0,
            saved: 0,
            opening: None,
            owned: None,
            signals,
            worker,
            lost: CancellationToken::new(),
            cancel: CancellationToken::new(),
        }
    }

    /// Runs in the background, and tells when the task is on disk.
    pub(super) fn spawn(self, tell: oneshot::Sender<Result<Created, store::Error>>) {
        let tracker = self.engine.background.clone();
        tracker.spawn(self.run(Some(tell)));
    }

    /// Runs in the background.
    pub(super) fn spawn_taken(self) {
        let tracker = self.engine.background.clone();
        tracker.spawn(self.run(None));
    }

    async fn run(mut self, mut tell: Option<oneshot::Sender<Result<Created, store::Error>>>) {
        let begins_early = self.agent.conduct().begins_early
            && self.opening.as_ref().is_some_and(|opening| opening.key.is_none());
        if self.opening.is_some()
            && !begins_early
            && self.write(false, &mut tell).await == Step::Stop
        {
            return;
        }
        let agent = Arc::clone(&self.agent);
        let (hear, inputs) = mpsc::unbounded_channel();
        let turn = Turn {
            task: self.folded.task.clone(),
            message: self.message.clone(),
            cause: self.cause,
            place: self.place.clone(),
            inputs,
            cancel: self.cancel.clone(),
        };
        let output = Output(Arc::clone(&self.outbox));
        let work: Work<'_> =
            Box::pin(AssertUnwindSafe(agent.run_boxed(turn, output)).catch_unwind());
        self.work(work, &hear, &mut tell).await;
        self.outbox.stop();
        self.give_up();
    }

    /// Lets the agent work and writes what it says, until both are done.
    async fn work(
        &mut self,
        mut work: Work<'_>,
        hear: &mpsc::UnboundedSender<Message>,
        tell: &mut Option<oneshot::Sender<Result<Created, store::Error>>>,
    ) {
        let outbox = Arc::clone(&self.outbox);
        let (lost, cancel) = (self.lost.clone(), self.cancel.clone());
        let mut deadline: Option<Instant> = None;
        loop {
            // The agent goes first: what it says without waiting is written as one.
            tokio::select! {
                biased;
                () = lost.cancelled() => return,
                outcome = &mut work => {
                    self.finish(outcome);
                    break;
                }
                Some(signal) = self.signals.recv() => {
                    self.hear(&signal, hear);
                }
                () = cancel.cancelled(), if deadline.is_none() => {
                    deadline = Some(Instant::now() + self.agent.conduct().cancel_grace);
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    outbox.end(TaskState::Canceled, None);
                    break;
                }
                () = outbox.something() => {
                    // While this waits for the disk, the agent goes on.
                    let (step, outcome) = {
                        let writing = self.write(false, tell);
                        tokio::pin!(writing);
                        tokio::select! {
                            biased;
                            outcome = &mut work => ((&mut writing).await, Some(outcome)),
                            step = &mut writing => (step, None),
                        }
                    };
                    if step == Step::Stop {
                        return;
                    }
                    if let Some(outcome) = outcome {
                        self.finish(outcome);
                        break;
                    }
                }
            }
        }
        drop(work);
        // The last words, and the lease with them.
        while self.write(true, tell).await == Step::GoOn && !self.outbox.is_empty() {}
    }

    /// Ends the task as the agent's turn has ended, unless the agent has done so itself.
    fn finish(&self, outcome: Result<Result<(), Failure>, Panic>) {
        let (state, message) = match outcome {
            Ok(Ok(())) if self.outbox.state().is_interrupted() => return,
            Ok(Ok(())) => (TaskState::Completed, None),
            Ok(Err(_)) if self.cancel.is_cancelled() => (TaskState::Canceled, None),
            Ok(Err(failure)) => {
                if let Some(source) = failure.source() {
                    tracing::warn!(agent = %self.place.agent, error = %source, "an agent failed");
                }
                (TaskState::Failed, Some(Message::agent(failure.told())))
            }
            Err(_) => {
                tracing::error!(agent = %self.place.agent, "an agent panicked");
                (TaskState::Failed, Some(Message::agent("the agent crashed")))
            }
        };
        self.outbox.end(state, message);
    }

    /// Takes up what somebody else wrote into the log.
    fn hear(&mut self, signal: &Entry, hear: &mpsc::UnboundedSender<Message>) {
        if signal.seq == self.folded.seq.next() && self.folded.apply(&signal.record).is_ok() {
            self.unsaved += signal.record.bytes();
            self.outbox.rebase(self.folded.task.status.state);
        }
        match signal.record.kind {
            Kind::Cancel => self.cancel.cancel(),
            Kind::Input => {
                if let Some(Ok(message)) = signal.record.message.as_ref().map(|said| said.value()) {
                    // An agent that does not listen has dropped its end.
                    hear.send(message.clone()).ok();
                }
            }
            Kind::Opened | Kind::Output => {}
        }
    }

    /// Writes what waits; with `last` also what becomes of the lease. Tries until the store
    /// takes it, or the lease is lost.
    async fn write(
        &mut self,
        last: bool,
        tell: &mut Option<oneshot::Sender<Result<Created, store::Error>>>,
    ) -> Step {
        let (mut batch, wake) = self.outbox.take();
        let mut delay = FIRST_RETRY;
        let step = loop {
            let result = match self.opening.take() {
                Some(opening) => self.create(opening, &batch, wake, last, tell).await,
                None => self.append(&batch, wake, last).await,
            };
            match result {
                Ok(step) => break step,
                Err(error) if error.is_temporary() => {
                    tracing::warn!(task = %self.folded.task.id, %error, "writing is held up");
                    tokio::select! {
                        () = self.lost.cancelled() => break Step::Stop,
                        () = tokio::time::sleep(delay) => delay = (delay * 2).min(LAST_RETRY),
                    }
                }
                Err(store::Error::StateChanged { .. }) => {
                    // Somebody spoke to the task, or ended it, in the meantime.
                    match self.reload().await.and_then(|()| {
                        batch.rebase(self.folded.task.status.state).map_err(|_| store::Error::Gone)
                    }) {
                        Ok(rebased) => {
                            self.outbox.rebase(rebased.to());
                            batch = rebased;
                        }
                        Err(error) if error.is_temporary() => {}
                        Err(_) => break Step::Stop,
                    }
                }
                Err(error) => {
                    tracing::debug!(task = %self.folded.task.id, %error, "the work was stopped");
                    break Step::Stop;
                }
            }
        };
        self.outbox.wrote();
        step
    }

    /// Puts the task on disk, with what was said so far.
    async fn create(
        &mut self,
        opening: Opening,
        batch: &Batch,
        wake: Wake,
        last: bool,
        tell: &mut Option<oneshot::Sender<Result<Created, store::Error>>>,
    ) -> Result<Step, store::Error> {
        // The first record is the task, which is folded already.
        for record in batch.records().iter().skip(1) {
            self.folded.apply(record)?;
        }
        let settles = last || batch.to().is_terminal();
        let snapshot = settles.then(|| self.folded.snapshot());
        let create = Create {
            place: opening.place,
            batch: batch.clone(),
            snapshot,
            lease: (!settles).then(|| self.engine.lease()),
            key: opening.key,
            webhooks: opening.webhooks,
            wake,
            context_is_given: opening.context_is_given,
            most_unfinished: self.engine.settings.unfinished_tasks,
        };
        let created = self.engine.store.create(create).await;
        let step = match &created {
            Ok(Created::New(head)) => {
                self.own(head.clone(), self.engine.take_in_hand(head));
                if let Some(owned) = &self.owned {
                    self.engine.tell_others(&owned.head);
                    if settles {
                        owned.live.settle(Arc::new(self.folded.clone()));
                    }
                }
                Step::GoOn
            }
            Ok(Created::Repeated(_)) | Err(_) => Step::Stop,
        };
        if let Some(tell) = tell.take() {
            // Whoever sent the message may have gone away meanwhile; the task goes on.
            tell.send(created).ok();
        }
        Ok(step)
    }

    async fn append(
        &mut self,
        batch: &Batch,
        wake: Wake,
        last: bool,
    ) -> Result<Step, store::Error> {
        let Some(Owned { head, live }) = &self.owned else { return Ok(Step::Stop) };
        if head.state.is_terminal() {
            return Ok(Step::Stop);
        }
        let (task, epoch, live) = (head.reference, head.epoch, Arc::clone(live));
        let settles = last || batch.to().is_terminal();
        // Folded before it is written, and shown to nobody: if the write does not come out as
        // expected, the fold is read anew.
        let before = (self.folded.seq, self.unsaved);
        for record in batch.records() {
            self.folded.apply(record)?;
        }
        self.unsaved += batch.bytes();
        let due = self.unsaved >= SNAPSHOT_EVERY_BYTES.max(self.saved);
        let snapshot = (settles || due).then(|| self.folded.snapshot());
        let saved = snapshot.as_ref().map(crate::log::Snapshot::bytes);
        let append = Append {
            task,
            epoch: Some(epoch),
            batch: batch.clone(),
            snapshot,
            tenancy: if last { Tenancy::End } else { Tenancy::Keep },
            key: None,
            webhooks: Vec::new(),
            wake,
        };
        let after = match self.engine.store.append(append).await {
            Ok(Appended::Done { head, .. }) => head,
            Ok(Appended::Repeated { .. }) => return Ok(Step::Stop),
            Err(error) => {
                self.unfold(before).await?;
                return Err(error);
            }
        };
        if after.seq == self.folded.seq {
            if let Some(saved) = saved {
                (self.saved, self.unsaved) = (saved, 0);
            }
        } else {
            self.reload().await?;
        }
        if after.state.is_terminal() || (last && after.state.is_interrupted()) {
            live.settle(Arc::new(self.folded.clone()));
        }
        let entries = renumber(entries_of(batch, before.0), after.seq);
        self.engine.show(&live, &entries, &after).await?;
        let ended = after.state.is_terminal();
        if let Some(owned) = &mut self.owned {
            owned.head = after;
        }
        Ok(if ended { Step::Stop } else { Step::GoOn })
    }

    /// Takes back what was folded but not written.
    async fn unfold(&mut self, (seq, unsaved): (Seq, usize)) -> Result<(), store::Error> {
        if self.folded.seq != seq {
            self.unsaved = unsaved;
            self.reload().await?;
        }
        Ok(())
    }

    /// Reads the task as it is on disk.
    async fn reload(&mut self) -> Result<(), store::Error> {
        let scope = Scope::from(&self.place);
        let loaded = self.engine.store.load(&scope, &self.folded.task.id, Want::ALL).await?;
        self.folded = loaded.ok_or(store::Error::Gone)?.fold()?;
        Ok(())
    }

    /// Begins to hold the lease.
    fn own(&mut self, head: Head, live: Arc<Live>) {
        if !head.state.is_terminal() {
            live.set_worker(Some(self.worker.clone()));
            let tenure = Tenure { task: head.reference, epoch: head.epoch };
            self.engine.hold(tenure, self.lost.clone());
        }
        self.owned = Some(Owned { head, live });
    }

    /// Lets go of everything.
    fn give_up(&mut self) {
        if let Some(Owned { head, live }) = self.owned.take() {
            live.set_worker(None);
            self.engine.let_go(Tenure { task: head.reference, epoch: head.epoch });
            self.engine.put_away(&live);
        }
    }
}

impl Engine {
    fn hold(&self, tenure: Tenure, lost: CancellationToken) {
        let until = Instant::now() + self.settings.lease;
        self.lock_held().insert(tenure.task, Held { tenure, until, lost });
    }

    fn let_go(&self, tenure: Tenure) {
        let mut held = self.lock_held();
        if held.get(&tenure.task).is_some_and(|held| held.tenure.epoch == tenure.epoch) {
            held.remove(&tenure.task);
        }
    }

    /// Fails a task whose work cannot go on, because of its own agent or for want of one.
    pub(super) async fn fail(
        self: &Arc<Self>,
        head: &Head,
        epoch: Epoch,
        state: TaskState,
        text: &str,
    ) -> Result<(), store::Error> {
        let scope = Scope::from(&head.place);
        let loaded = self.store.load(&scope, &head.id, Want::ALL).await?;
        let mut folded = loaded.ok_or(store::Error::Gone)?.fold()?;
        let from = folded.task.status.state;
        let mut batch = Batch::follow(head.id.clone(), head.context.clone(), from);
        let message = (state == TaskState::Failed).then(|| Message::agent(text));
        if batch.status(state, message, self.clock.now()).is_err() {
            return Ok(());
        }
        for record in batch.records() {
            folded.apply(record)?;
        }
        let append = Append {
            task: head.reference,
            epoch: Some(epoch),
            batch: batch.clone(),
            snapshot: Some(folded.snapshot()),
            tenancy: Tenancy::End,
            key: None,
            webhooks: Vec::new(),
            wake: Wake::Never,
        };
        if let Appended::Done { head: after, .. } = self.store.append(append).await? {
            let live = self.at_hand(&after).await?;
            let entries = renumber(entries_of(&batch, head.seq), after.seq);
            self.show(&live, &entries, &after).await?;
        }
        Ok(())
    }
}
