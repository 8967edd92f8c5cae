//! One process works on a task: the agent speaks, its words are written, then shown.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Waker},
    time::Duration,
};

use bytes::Bytes;
use futures_util::FutureExt as _;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::{ContextId, TaskId},
    message::{Message, Role},
    state::TaskState,
    task::Task,
};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};

use super::{
    Engine, Held,
    accept::Occasion,
    go_on::{entries_of, renumber},
};
use crate::{
    agent::{AnyAgent, Asked, Cause, Failure, Turn, Wait},
    live::Live,
    log::{Batch, Entry, Folded, Kind, Seq, Snapshot},
    output::{Outbox, Output, Words},
    scope::{Place, Scope},
    store::{
        self, Append, Appended, Create, Created, Epoch, Head, Key, NewWebhook, Tenancy, Tenure,
        Want,
    },
};

/// A snapshot is written when so much was said since the last one, or as much as it has itself.
const SNAPSHOT_EVERY_BYTES: usize = 64 << 10;

/// How long to wait before a store that was not available is tried again, first and at most.
pub(super) const FIRST_RETRY: Duration = Duration::from_millis(50);
pub(super) const LAST_RETRY: Duration = Duration::from_secs(1);

/// What a new task needs besides its log.
pub(super) struct Opening {
    pub(super) place: Place,
    pub(super) context: ContextId,
    pub(super) key: Option<Key>,
    pub(super) webhooks: Vec<NewWebhook>,
    pub(super) context_is_given: bool,
    /// Whether the identifier is one that a task may have already.
    pub(super) id_is_given: bool,
    /// What whoever opens it waits for.
    pub(super) wait: Wait,
    pub(super) parent: Option<TaskId>,
    pub(super) note: Option<Bytes>,
    pub(super) unfinished_tasks: Option<u32>,
}

/// The work of this process on one task.
///
/// It owns the lease: only what it writes with its epoch changes the state of running work.
pub(super) struct Run {
    engine: Arc<Engine>,
    agent: Arc<dyn AnyAgent>,
    place: Place,
    /// What the next turn is about; taken by it.
    message: Option<Message>,
    cause: Cause,
    asked: Asked,
    outbox: Arc<Outbox>,
    /// The task with everything that was said, written or about to be.
    folded: Folded,
    /// Bytes since the last snapshot, and its own size.
    unsaved: usize,
    saved: usize,
    /// Until the task is on disk. Boxed, so that nobody has room for it afterwards.
    opening: Option<Box<Opening>>,
    /// From then on.
    owned: Option<Owned>,
    /// Set while the fold may not be what is on disk.
    stale: bool,
}

/// What came of opening a task.
pub(super) enum Opened {
    /// It is on disk.
    New(Arc<Live>),
    /// It is on disk and has ended, and whoever opened it waits for nothing else: nobody can
    /// have seen it begin.
    Ended(Snapshot),
    /// The same request has opened this one before; `None` if it has been removed since.
    Repeated(Option<Head>),
}

/// Tells whoever opens a task that it is on disk, or why not.
type Tell = Option<oneshot::Sender<Result<Opened, store::Error>>>;

/// A task on disk that this process owns.
struct Owned {
    head: Head,
    live: Arc<Live>,
}

/// Whether the work goes on.
#[derive(PartialEq, Eq)]
enum Step {
    GoOn,
    /// Somebody has answered the question with which the work was to end.
    Answered,
    /// Somebody else owns the task, or it is gone: nothing more may be written.
    Stop,
}

/// What an agent's turn ends with.
type Outcome = Result<Result<(), Failure>, Panic>;
type Panic = Box<dyn Any + Send>;

impl Run {
    /// Begins a new task with its first turn.
    pub(super) fn open(
        engine: Arc<Engine>,
        task: Task,
        message: Message,
        opening: Opening,
        occasion: Occasion,
    ) -> Result<Box<Self>, Error> {
        let agent = engine.agent(&opening.place)?;
        let batch = Batch::open(&task, opening.context.clone())
            .map_err(|refused| Error::new(ErrorKind::Internal, refused.to_string()))?;
        let folded = Folded { seq: Seq(1), task };
        let place = opening.place.clone();
        let bytes = batch.bytes() as u64;
        let outbox = Outbox::new(batch, 1, bytes, None, engine.output_settings());
        if let Some(note) = opening.note.clone() {
            let note = outbox.note_down(note);
            note.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        }
        let mut run = Self::new(engine, agent, place, message, occasion, outbox, folded);
        run.opening = Some(Box::new(opening));
        Ok(run)
    }

    /// Begins a turn on a task that this process has just taken.
    pub(super) fn go_on(
        engine: Arc<Engine>,
        head: Head,
        folded: Folded,
        note: Option<Bytes>,
        live: Arc<Live>,
        occasion: Occasion,
    ) -> Result<Box<Self>, Error> {
        let agent = engine.agent(&head.place)?;
        let said = folded.task.history.iter().rev().find(|message| message.role == Role::User);
        let message = said.cloned().unwrap_or_else(|| Message::user(""));
        let batch = Batch::follow(head.id.clone(), head.context.clone(), folded.task.status.state);
        let outbox = Outbox::new(batch, head.seq.0, head.bytes, note, engine.output_settings());
        let place = head.place.clone();
        let mut run = Self::new(engine, agent, place, message, occasion, outbox, folded);
        run.own(head, live);
        Ok(run)
    }

    fn new(
        engine: Arc<Engine>,
        agent: Arc<dyn AnyAgent>,
        place: Place,
        message: Message,
        occasion: Occasion,
        outbox: Outbox,
        folded: Folded,
    ) -> Box<Self> {
        let Occasion { cause, asked, first_word } = occasion;
        outbox.tell_first_word(first_word);
        if cause == Cause::Cancel {
            // A turn that begins for it is asked for by nothing else.
            outbox.cancel.request(asked.metadata.clone());
        }
        // Boxed: it is handed on a few times, and large.
        Box::new(Self {
            engine,
            agent,
            place,
            message: Some(message),
            cause,
            asked,
            outbox: Arc::new(outbox),
            folded,
            unsaved: 0,
            saved: 0,
            opening: None,
            owned: None,
            stale: false,
        })
    }

    /// Runs in the background, and tells when the task is on disk.
    pub(super) fn spawn(self: Box<Self>, tell: oneshot::Sender<Result<Opened, store::Error>>) {
        let tracker = self.engine.work.clone();
        // Counted before it begins: whoever stops the engine waits for this, too.
        let _counted = tracker.token();
        if self.engine.stop.is_cancelled() {
            // Too late: that nobody tells of it tells whoever waits.
            return;
        }
        let mut work = Box::pin(self.run(Some(tell)));
        // Short work over a store that answers at once ends here, which saves two changes of
        // thread. What is not ready is polled again as soon as it is spawned.
        let begun = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if begun.is_pending() {
            tracker.spawn(work);
        }
    }

    /// Runs in the background.
    pub(super) fn spawn_taken(self: Box<Self>) {
        let tracker = self.engine.work.clone();
        tracker.spawn(self.run(None));
    }

    async fn run(mut self: Box<Self>, mut tell: Tell) {
        let waits = self
            .opening
            .as_ref()
            .is_some_and(|opening| opening.id_is_given || !self.agent.conduct().begins_early);
        if !waits || Box::pin(self.write(false, &mut tell)).await == Step::GoOn {
            while let Some(message) = self.turn(&mut tell).await {
                (self.message, self.cause) = (Some(message), Cause::Message);
                self.asked = Asked::default();
            }
        }
        self.outbox.stop();
        self.give_up();
    }

    /// Runs the agent for one turn. Returns the message that the next turn is about, if there
    /// is one.
    async fn turn(&mut self, tell: &mut Tell) -> Option<Message> {
        let agent = Arc::clone(&self.agent);
        let turn = Turn {
            task: self.folded.task.clone(),
            message: self.message.take()?,
            cause: self.cause,
            place: self.place.clone(),
            asked: std::mem::take(&mut self.asked),
            note: self.outbox.note(),
            outbox: Arc::clone(&self.outbox),
        };
        let output = Output(Arc::clone(&self.outbox));
        let work = AssertUnwindSafe(agent.run_boxed(turn, output)).catch_unwind();
        if self.work(work, tell).await == Step::Stop {
            return None;
        }
        self.end_turn(tell).await
    }

    /// Lets the agent work and writes what it says, until it is done.
    async fn work(
        &mut self,
        mut work: impl Future<Output = Outcome> + Unpin,
        tell: &mut Tell,
    ) -> Step {
        let outbox = Arc::clone(&self.outbox);
        let Outbox { lost, cancel, signals, .. } = &*outbox;
        let mut deadline: Option<Instant> = None;
        loop {
            // The agent goes first: what it says without waiting is written as one.
            let outcome = tokio::select! {
                biased;
                () = lost.raised() => return Step::Stop,
                outcome = &mut work => Some(outcome),
                signal = signals.next() => {
                    self.hear(&signal);
                    None
                }
                () = cancel.requested(), if deadline.is_none() => {
                    deadline = Some(Instant::now() + self.agent.conduct().cancel_grace);
                    None
                }
                () = until(deadline) => {
                    outbox.end(TaskState::Canceled, None);
                    return Step::GoOn;
                }
                () = outbox.something() => {
                    // Boxed: an agent that works in silence has no room for it.
                    let mut writing = Box::pin(self.write(false, tell));
                    // While this waits for the disk, the agent goes on.
                    let (step, outcome) = tokio::select! {
                        biased;
                        outcome = &mut work => ((&mut writing).await, Some(outcome)),
                        step = &mut writing => (step, None),
                    };
                    if step == Step::Stop {
                        return step;
                    }
                    outcome
                }
            };
            if cancel.was_declined() {
                deadline = None;
            }
            if let Some(outcome) = outcome {
                self.finish(outcome);
                return Step::GoOn;
            }
        }
    }

    /// Writes the last words of a turn, and ends the lease with them, unless something was said
    /// to the agent that it has not read.
    async fn end_turn(&mut self, tell: &mut Tell) -> Option<Message> {
        let outbox = Arc::clone(&self.outbox);
        loop {
            while let Some(signal) = outbox.signals.take() {
                self.hear(&signal);
            }
            if !self.outbox.state().is_terminal() {
                if outbox.cancel.is_requested() {
                    outbox.end(TaskState::Canceled, None);
                } else if let Some(message) = outbox.inbox.take() {
                    return Some(message);
                }
            }
            match Box::pin(self.write(true, tell)).await {
                // The agent may have left a part of itself behind that goes on speaking.
                Step::GoOn if self.outbox.is_empty() => break,
                Step::GoOn => {}
                Step::Answered => {
                    tokio::select! {
                        () = outbox.lost.raised() => return None,
                        // It is in the log, so it comes.
                        signal = outbox.signals.next() => self.hear(&signal),
                    }
                }
                Step::Stop => return None,
            }
        }
        // A cancel that came with the end of the lease was heard by nobody else.
        let cancel = std::iter::from_fn(|| outbox.signals.take())
            .filter(|signal| signal.record.kind == Kind::Cancel)
            .last();
        if let (Some(owned), Some(cancel)) = (&self.owned, cancel) {
            // Boxed: it is rare, and every turn would have room for it.
            let wish = cancel.record.cancel_wish();
            Box::pin(self.engine.request_cancel(&owned.head, wish)).await.ok();
        }
        None
    }

    /// Ends the task as the agent's turn has ended, unless the agent has done so itself.
    fn finish(&mut self, outcome: Outcome) {
        while let Some(signal) = self.outbox.signals.take() {
            self.hear(&signal);
        }
        let (state, message) = match outcome {
            Ok(Ok(())) if self.outbox.state().is_interrupted() || !self.outbox.inbox.is_empty() => {
                return;
            }
            Ok(Ok(())) => (TaskState::Completed, None),
            Ok(Err(_)) if self.outbox.cancel.is_requested() => (TaskState::Canceled, None),
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
    fn hear(&mut self, signal: &Entry) {
        if !self.stale
            && signal.seq == self.folded.seq.next()
            && self.folded.apply(&signal.record).is_ok()
        {
            self.unsaved += signal.record.bytes();
            self.outbox.rebase(self.folded.task.status.state);
        }
        match signal.record.kind {
            Kind::Cancel => self.outbox.cancel.request(signal.record.cancel_wish()),
            Kind::Input => {
                if let Some(Ok(message)) = signal.record.message.as_ref().map(|said| said.value()) {
                    self.outbox.inbox.put(message.clone());
                }
            }
            Kind::Opened | Kind::Output => {}
        }
    }

    /// Writes what waits; with `last` also what becomes of the lease. Tries until the store
    /// takes it, or the lease is lost.
    async fn write(&mut self, last: bool, tell: &mut Tell) -> Step {
        let mut words = self.outbox.take();
        let mut delay = FIRST_RETRY;
        let step = loop {
            let result = match self.opening.take() {
                Some(opening) => self.create(opening, &words, last, tell).await,
                None => self.append(&words, last).await,
            };
            match result {
                Ok(step) => break step,
                Err(error) if error.is_temporary() => {
                    tracing::warn!(task = %self.folded.task.id, %error, "writing is held up");
                    tokio::select! {
                        () = self.outbox.lost.raised() => break Step::Stop,
                        () = tokio::time::sleep(delay) => delay = (delay * 2).min(LAST_RETRY),
                    }
                }
                Err(store::Error::StateChanged { .. }) => {
                    // Somebody spoke to the task, or ended it, in the meantime.
                    match self.reload().await.and_then(|()| {
                        words
                            .batch
                            .rebase(self.folded.task.status.state)
                            .map_err(|_| store::Error::Gone)
                    }) {
                        Ok(rebased) => {
                            self.outbox.rebase(rebased.to());
                            if last && rebased.is_empty() && !rebased.to().is_interrupted() {
                                self.outbox.take_back(&words);
                                break Step::Answered;
                            }
                            words.batch = rebased;
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
        opening: Box<Opening>,
        words: &Words,
        last: bool,
        tell: &mut Tell,
    ) -> Result<Step, store::Error> {
        let batch = &words.batch;
        // The first record is the task, which is folded already.
        for record in batch.records().iter().skip(1) {
            self.folded.apply(record)?;
        }
        let settles = last || batch.to().is_terminal();
        let snapshot = settles.then(|| self.folded.snapshot());
        let create = Create {
            place: opening.place,
            batch: batch.clone(),
            snapshot: snapshot.clone(),
            lease: (!settles).then(|| self.engine.lease()),
            key: opening.key,
            webhooks: opening.webhooks,
            wake: words.wake,
            context_is_given: opening.context_is_given,
            most_unfinished: opening
                .unfinished_tasks
                .unwrap_or(self.engine.settings.unfinished_tasks),
            note: words.note.clone(),
            parent: opening.parent,
        };
        let opened = match (self.engine.store.create(create).await, snapshot) {
            (Ok(Created::New(head)), Some(end))
                if head.state.is_terminal() && opening.wait == Wait::End =>
            {
                self.engine.tell_others(&head);
                Ok(Opened::Ended(end))
            }
            (Ok(Created::New(head)), snapshot) => {
                let entries = entries_of(batch, Seq::START);
                let (live, _) = self.engine.at_hand.take(&head, &entries);
                if let Some(snapshot) = snapshot {
                    live.settle(snapshot);
                }
                self.engine.show(&live, &entries, &head).await;
                self.own(head, Arc::clone(&live));
                Ok(Opened::New(live))
            }
            (Ok(Created::Repeated(head)), _) => Ok(Opened::Repeated(head)),
            (Err(error), _) => Err(error),
        };
        let goes_on = matches!(opened, Ok(Opened::New(_))) && !batch.to().is_terminal();
        let step = if goes_on { Step::GoOn } else { Step::Stop };
        if let Some(tell) = tell.take() {
            // Whoever sent the message may have gone away meanwhile; the task goes on.
            tell.send(opened).ok();
        }
        if goes_on && opening.wait == Wait::Events {
            // Whoever follows the task sees how it begins before the agent says all the rest.
            tokio::task::yield_now().await;
        }
        Ok(step)
    }

    async fn append(&mut self, words: &Words, last: bool) -> Result<Step, store::Error> {
        let batch = &words.batch;
        let Some(Owned { head, live }) = &self.owned else { return Ok(Step::Stop) };
        if head.state.is_terminal() {
            return Ok(Step::Stop);
        }
        let (task, epoch, live) = (head.reference, head.epoch, Arc::clone(live));
        if self.stale {
            self.reload().await?;
        }
        let settles = last || batch.to().is_terminal();
        // Folded before it is written, and shown to nobody: if the write does not come out as
        // expected, the fold is read anew.
        let before = self.folded.seq;
        for record in batch.records() {
            self.folded.apply(record)?;
        }
        self.unsaved += batch.bytes();
        let due = self.unsaved >= SNAPSHOT_EVERY_BYTES.max(self.saved);
        let snapshot = (settles || due).then(|| self.folded.snapshot());
        let append = Append {
            snapshot: snapshot.clone(),
            tenancy: if last { Tenancy::End } else { Tenancy::Keep },
            wake: words.wake,
            note: words.note.clone(),
            forget_key: words.forget_key,
            ..Append::output(task, epoch, batch.clone())
        };
        let after = match self.engine.store.append(append).await {
            Ok(Appended::Done { head, .. }) => head,
            Ok(Appended::Repeated { .. }) => return Ok(Step::Stop),
            Err(error) => {
                self.stale = self.folded.seq != before;
                return Err(error);
            }
        };
        // It is written: from here on nothing may look like a failure.
        if after.seq != self.folded.seq {
            self.stale = true;
        } else if let Some(snapshot) = snapshot {
            (self.saved, self.unsaved) = (snapshot.bytes(), 0);
            if settles {
                live.settle(snapshot);
            }
        }
        let entries = renumber(entries_of(batch, before), after.seq);
        self.engine.show(&live, &entries, &after).await;
        let ended = after.state.is_terminal();
        if let Some(owned) = &mut self.owned {
            owned.head = after;
        }
        Ok(if ended { Step::Stop } else { Step::GoOn })
    }

    /// Reads the task as it is on disk.
    async fn reload(&mut self) -> Result<(), store::Error> {
        let scope = Scope::from(&self.place);
        let loaded = self.engine.store.load(&scope, &self.folded.task.id, Want::ALL).await?;
        self.folded = loaded.ok_or(store::Error::Gone)?.fold()?;
        self.stale = false;
        Ok(())
    }

    /// Begins to hold the lease.
    fn own(&mut self, head: Head, live: Arc<Live>) {
        if !head.state.is_terminal() {
            live.set_worker(Arc::clone(&self.outbox), self.folded.seq);
            let tenure = Tenure { task: head.reference, epoch: head.epoch };
            self.engine.hold(tenure, Some(Arc::clone(&self.outbox)));
        }
        self.owned = Some(Owned { head, live });
    }

    /// Lets go of everything.
    fn give_up(&mut self) {
        if let Some(Owned { head, live }) = self.owned.take() {
            live.forget_worker(&self.outbox);
            self.engine.let_go(Tenure { task: head.reference, epoch: head.epoch });
        }
    }
}

/// Waits for a moment, if there is one.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

impl Engine {
    pub(super) fn hold(&self, tenure: Tenure, work: Option<Arc<Outbox>>) {
        let until = Instant::now() + self.settings.lease;
        let before = self.lock_held().insert(tenure.task, Held { tenure, until, work });
        if let Some(before) = before.filter(|before| before.tenure != tenure) {
            // It was taken anew: whoever worked on it until now must not go on beside.
            before.lose();
        }
    }

    pub(super) fn let_go(&self, tenure: Tenure) {
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
            snapshot: Some(folded.snapshot()),
            ..Append::output(head.reference, epoch, batch.clone())
        };
        if let Appended::Done { head: after, .. } = self.store.append(append).await? {
            let live = self.at_hand(&after).await?;
            let entries = renumber(entries_of(&batch, head.seq), after.seq);
            self.show(&live, &entries, &after).await;
        }
        Ok(())
    }
}
