//! How an agent's events get into the log.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use nuncio_protocol::{
    error::Error as ProtocolError,
    ids::{ArtifactId, ContextId, TaskId},
    json::{Object, Raw, Shared},
    message::{Message, Part},
    state::TaskState,
    task::{Artifact, StreamResponse, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent},
};
use tokio::sync::{Notify, oneshot};

use crate::{
    agent::{Cancel, Flag, Inbox},
    clock::Clock,
    live::Signals,
    log::{Batch, CANCEL_REFUSED, Refused},
    store::{MAX_NOTE_BYTES, Wake},
};

/// An agent is held up when so much waits to be written.
const MAX_WAITING_RECORDS: usize = 256;
const MAX_WAITING_BYTES: usize = 1 << 20;

/// Takes what an agent says.
///
/// Events are checked when they are said and written in order soon after; nobody sees them
/// before they are on disk. Saying is done when a method is called; what it returns tells whether
/// the event was taken, and holds up an agent that says more than can be written.
#[derive(Clone, Debug)]
pub struct Output(pub(crate) Arc<Outbox>);

/// Why an event was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It breaks the rules. The task is as it was.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The note is too large. The one before it stays.
    #[error("the note has {bytes} bytes, at most {MAX_NOTE_BYTES} are allowed")]
    NoteTooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Nobody listens any more: the work was cancelled, or another process has taken it over.
    #[error("the work was stopped")]
    Stopped,
}

impl Output {
    /// Says that the work goes on, and what it is doing.
    pub fn working(
        &self,
        text: impl Into<String>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.status(TaskState::Working, Some(Message::agent(text)))
    }

    /// Gives a text as a result of its own.
    pub fn text(&self, text: impl Into<String>) -> impl Future<Output = Result<(), Error>> + Send {
        self.artifact(Artifact::new(ArtifactId::generate(), vec![Part::text(text)]))
    }

    /// Asks the caller something. The turn should end here.
    pub fn ask(
        &self,
        question: impl Into<String>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.status(TaskState::InputRequired, Some(Message::agent(question)))
    }

    /// Gives the task a new status.
    pub fn status(
        &self,
        state: TaskState,
        message: Option<Message>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        let (task_id, context_id) = (self.0.task.clone(), self.0.context.clone());
        let message = message.map(|mut message| {
            message.task_id = Some(task_id.clone());
            message.context_id = Some(context_id.clone());
            Box::new(message)
        });
        let timestamp = Some(self.0.clock.now());
        let status = TaskStatus { state, message, timestamp };
        let update = TaskStatusUpdateEvent { task_id, context_id, status, metadata: None };
        self.event(StreamResponse::StatusUpdate(update))
    }

    /// Gives a whole result, in place of an earlier one with the same identifier.
    pub fn artifact(&self, artifact: Artifact) -> impl Future<Output = Result<(), Error>> + Send {
        self.put(artifact, Chunk { append: false, last: true })
    }

    /// Gives a piece of a result.
    pub fn put(
        &self,
        artifact: Artifact,
        chunk: Chunk,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.event(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: self.0.task.clone(),
            context_id: self.0.context.clone(),
            artifact,
            append: chunk.append,
            last_chunk: chunk.last,
            metadata: None,
        }))
    }

    /// Says anything that may follow in a log: a status or an artifact update of this task. A
    /// status without a time gets that of now.
    pub fn event(&self, event: StreamResponse) -> impl Future<Output = Result<(), Error>> + Send {
        self.said(event, None)
    }

    /// Says an event and takes a [note](Self::note) with it: both are written, or neither.
    pub fn event_with_note(
        &self,
        event: StreamResponse,
        note: impl Into<Bytes>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.said(event, Some(note.into()))
    }

    /// Says it at once: whoever waits for room does not carry the event around.
    fn said(
        &self,
        mut event: StreamResponse,
        note: Option<Bytes>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        if let StreamResponse::StatusUpdate(update) = &mut event {
            // Agents elsewhere need not say since when.
            update.status.timestamp.get_or_insert_with(|| self.0.clock.now());
        }
        let said = self.0.say(Shared::new(event), note);
        async move {
            said?;
            self.0.room().await
        }
    }

    /// Tells whoever waits that there is a task, before there is anything to say about it.
    pub fn accept(&self) {
        self.0.word(Word::Works);
    }

    /// Answers whoever waits for the task with a message in place of it. The task is completed
    /// with that message as its last word, for those who look later.
    ///
    /// Only the first word of a turn is an answer, and only if the agent
    /// [speaks first](crate::agent::Conduct::speaks_first).
    pub async fn reply(&self, message: Message) -> Result<(), Error> {
        self.0.word(Word::Reply(message.clone()));
        self.status(TaskState::Completed, Some(message)).await
    }

    /// Answers whoever waits for the task with an error in place of it. The task goes to
    /// `state`, with the error as its last word, for those who look later; if it ends so, the
    /// idempotency key that opened it can be used again.
    pub async fn refuse(&self, error: ProtocolError, state: TaskState) -> Result<(), Error> {
        self.0.lock().forget_key = state.is_terminal();
        self.refuse_for_good(error, state).await
    }

    /// The same where nobody knows whether any of it was done: the idempotency key stays taken,
    /// so that nothing is done twice, and whoever uses it again is told of this task.
    pub async fn refuse_for_good(
        &self,
        error: ProtocolError,
        state: TaskState,
    ) -> Result<(), Error> {
        let told = Message::agent(error.message());
        self.0.word(Word::Refused(Box::new(error)));
        self.status(state, Some(told)).await
    }

    /// Says that the work has not begun, and why nobody knows when it will: whoever waits for its
    /// end, and has heard nothing yet, gets the task as it stands. Returns when that, and what was
    /// noted before, is on disk.
    ///
    /// Only agents that [speak first](crate::agent::Conduct::speaks_first) can do so.
    pub async fn postpone(&self, why: Message) -> Result<(), Error> {
        let first_word = self.0.lock().first_word.take();
        self.status(self.0.state(), Some(why)).await?;
        self.flush().await?;
        if let Some(tell) = first_word {
            // Whoever waited may have gone away.
            tell.send(Word::Later).ok();
        }
        Ok(())
    }

    /// Says that the work cannot be ended: whoever wanted that is told why.
    pub async fn keep_on(&self, why: impl Into<String>) -> Result<(), Error> {
        let metadata = Object::from_members([(CANCEL_REFUSED, Raw::string(&why.into()))]);
        let update = TaskStatusUpdateEvent {
            task_id: self.0.task.clone(),
            context_id: self.0.context.clone(),
            status: TaskStatus::new(self.0.state(), self.0.clock.now()),
            metadata: Some(metadata),
        };
        self.0.cancel.decline();
        self.event(StreamResponse::StatusUpdate(update)).await
    }

    /// Asks to be woken, in place of an earlier wish: a new turn begins then, unless one is
    /// running. Kept with the next event, or at the end of the turn.
    pub fn wake(&self, wake: Wake) {
        self.0.lock().wake = wake;
    }

    /// Keeps something about the task that only the agent sees, in place of what it kept before:
    /// at most [`MAX_NOTE_BYTES`]. Written in one with the next event, at the end of the turn, or
    /// by [`flush`](Self::flush); every later turn has it as [`Turn::note`](crate::agent::Turn).
    pub fn note(&self, note: impl Into<Bytes>) -> Result<(), Error> {
        self.0.note_down(note.into())
    }

    /// Waits until everything that was said and noted is on disk.
    pub async fn flush(&self) -> Result<(), Error> {
        self.0.written().await
    }
}

/// The first word of an agent that speaks first.
#[derive(Debug)]
pub(crate) enum Word {
    /// It works on the task.
    Works,
    /// It will, some time.
    Later,
    /// It has answered with a message.
    Reply(Message),
    /// It has refused.
    Refused(Box<ProtocolError>),
}

/// Which piece of a result it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Whether it goes behind what is there.
    pub append: bool,
    /// Whether the result is finished.
    pub last: bool,
}

/// What was said and is not written yet; and what the agent has to hear meanwhile. In one piece,
/// because most turns are short, and all of them need it.
#[derive(Debug)]
pub(crate) struct Outbox {
    task: TaskId,
    context: ContextId,
    clock: Clock,
    limits: Limits,
    counters: Arc<Refusals>,
    waiting: Mutex<Waiting>,
    /// Whether somebody wants the work to end.
    pub(crate) cancel: Cancel,
    /// What was said to the agent while it worked.
    pub(crate) inbox: Inbox,
    /// What others have written into the log meanwhile.
    pub(crate) signals: Signals,
    /// Whether another process owns the task by now.
    pub(crate) lost: Flag,
    /// Tells the writer that there is something to write.
    said: Notify,
    /// Tells the agent that something was written.
    taken: Notify,
}

/// How much one task may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest event.
    pub event_bytes: usize,
    /// The most events of a task.
    pub task_events: u64,
    /// The most text of a task. It is not written to be counted: letters that have to be escaped
    /// count as one.
    pub task_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { event_bytes: 16 << 20, task_events: 1_000_000, task_bytes: 256 << 20 }
    }
}

/// How often agents said what they may not.
#[derive(Debug, Default)]
pub struct Refusals {
    after_end: AtomicU64,
    illegal: AtomicU64,
    foreign: AtomicU64,
    malformed: AtomicU64,
    too_large: AtomicU64,
}

/// The state of [`Refusals`] at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusalCounts {
    /// Events after the end of their task.
    pub after_end: u64,
    /// Changes of state against the rules.
    pub illegal: u64,
    /// Events that name another task or context.
    pub foreign: u64,
    /// Events that are no updates.
    pub malformed: u64,
    /// Events, or tasks, that are too large.
    pub too_large: u64,
}

impl Refusals {
    fn count(&self, refused: &Refused) {
        let counter = match refused {
            Refused::AfterEnd(_) => &self.after_end,
            Refused::Illegal(_) => &self.illegal,
            Refused::Foreign { .. } => &self.foreign,
            Refused::Unreadable { .. } | Refused::NotAnUpdate(_) => &self.malformed,
            Refused::TooLarge { .. } | Refused::Full { .. } => &self.too_large,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads the counters.
    pub fn counts(&self) -> RefusalCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RefusalCounts {
            after_end: read(&self.after_end),
            illegal: read(&self.illegal),
            foreign: read(&self.foreign),
            malformed: read(&self.malformed),
            too_large: read(&self.too_large),
        }
    }
}

#[derive(Debug)]
struct Waiting {
    batch: Batch,
    /// Whether a batch has been taken and is not on disk yet.
    writing: bool,
    wake: Wake,
    /// The newest that the agent has noted, written or not.
    note: Option<Bytes>,
    note_due: Due,
    /// Whether the key that opened the task is let go with the next batch.
    forget_key: bool,
    /// All that was ever said, the waiting included.
    events: u64,
    bytes: u64,
    stopped: bool,
    /// Where the first word of the turn goes, if somebody waits for it.
    first_word: Option<oneshot::Sender<Word>>,
}

/// When a note is to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Due {
    /// It is written, or was taken to be.
    #[default]
    Never,
    /// With the next event.
    Later,
    /// Somebody waits for it.
    Now,
}

fn check_note(bytes: usize) -> Result<(), Error> {
    if bytes > MAX_NOTE_BYTES { Err(Error::NoteTooLarge { bytes }) } else { Ok(()) }
}

impl Waiting {
    fn note_down(&mut self, note: Bytes) {
        self.note = Some(note);
        if self.note_due == Due::Never {
            self.note_due = Due::Later;
        }
    }

    /// Tells whether there is something that should be written now.
    fn is_due(&self) -> bool {
        !self.batch.is_empty() || self.note_due == Due::Now
    }

    /// Tells whether nothing waits to be written, now or later.
    fn is_empty(&self) -> bool {
        self.batch.is_empty() && self.note_due == Due::Never
    }
}

/// What was taken to be written as one.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) batch: Batch,
    pub(crate) wake: Wake,
    /// `None` if it is as it was.
    pub(crate) note: Option<Bytes>,
    pub(crate) forget_key: bool,
}

impl Outbox {
    pub(crate) fn new(
        batch: Batch,
        events: u64,
        bytes: u64,
        note: Option<Bytes>,
        settings: (Clock, Limits, Arc<Refusals>),
    ) -> Self {
        let (clock, limits, counters) = settings;
        Self {
            task: batch.task().clone(),
            context: batch.context().clone(),
            clock,
            limits,
            counters,
            waiting: Mutex::new(Waiting {
                batch,
                writing: false,
                wake: Wake::Keep,
                note,
                note_due: Due::Never,
                forget_key: false,
                events,
                bytes,
                stopped: false,
                first_word: None,
            }),
            cancel: Cancel::default(),
            inbox: Inbox::default(),
            signals: Signals::default(),
            lost: Flag::default(),
            said: Notify::new(),
            taken: Notify::new(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        // Nothing panics while it is held; what it guards is sound at every step.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, event: Shared<StreamResponse>, note: Option<Bytes>) -> Result<(), Error> {
        let bytes = self.size(&event);
        check_note(note.as_ref().map_or(0, Bytes::len))?;
        let mut waiting = self.lock();
        if waiting.stopped {
            return Err(Error::Stopped);
        }
        self.check_size(&waiting, bytes)
            .and_then(|()| waiting.batch.output(event))
            .inspect_err(|refused| self.counters.count(refused))?;
        waiting.events += 1;
        waiting.bytes += bytes as u64;
        if let Some(note) = note {
            waiting.note_down(note);
        }
        let first_word = waiting.first_word.take();
        drop(waiting);
        if let Some(tell) = first_word {
            // Whoever waited may have gone away.
            tell.send(Word::Works).ok();
        }
        self.said.notify_one();
        Ok(())
    }

    /// Says the first word, if nothing was said yet.
    fn word(&self, word: Word) {
        let first_word = self.lock().first_word.take();
        if let Some(tell) = first_word {
            // Whoever waited may have gone away.
            tell.send(word).ok();
        }
    }

    /// Tells the first word that the agent says from now on.
    pub(crate) fn tell_first_word(&self, tell: Option<oneshot::Sender<Word>>) {
        self.lock().first_word = tell;
    }

    /// Returns about how large an event is, and exactly if it may be too large: no letter becomes
    /// more than six when it is escaped.
    fn size(&self, event: &Shared<StreamResponse>) -> usize {
        let about = event.weight();
        if about > self.limits.event_bytes / 6 { event.json().len() } else { about }
    }

    fn check_size(&self, waiting: &Waiting, bytes: usize) -> Result<(), Refused> {
        let Limits { event_bytes, task_events, task_bytes } = self.limits;
        if bytes > event_bytes {
            return Err(Refused::TooLarge { bytes, limit: event_bytes });
        }
        if waiting.events >= task_events {
            return Err(Refused::Full { what: "events", limit: task_events });
        }
        if waiting.bytes + bytes as u64 > task_bytes {
            return Err(Refused::Full { what: "bytes", limit: task_bytes });
        }
        Ok(())
    }

    /// Ends the task, whatever limits it has reached: it must be able to end.
    pub(crate) fn end(&self, state: TaskState, message: Option<Message>) {
        let mut waiting = self.lock();
        let now = self.clock.now();
        // Refused only after the end, when there is nothing left to say.
        if waiting.batch.status(state, message, now).is_ok() {
            drop(waiting);
            self.said.notify_one();
        }
    }

    pub(crate) fn note_down(&self, note: Bytes) -> Result<(), Error> {
        let bytes = note.len();
        let mut waiting = self.lock();
        if waiting.stopped {
            return Err(Error::Stopped);
        }
        check_note(bytes)?;
        waiting.note_down(note);
        Ok(())
    }

    async fn room(&self) -> Result<(), Error> {
        self.wait_until(|waiting| {
            waiting.batch.records().len() < MAX_WAITING_RECORDS
                && waiting.batch.bytes() < MAX_WAITING_BYTES
        })
        .await
    }

    async fn written(&self) -> Result<(), Error> {
        {
            let mut waiting = self.lock();
            if waiting.note_due == Due::Later {
                waiting.note_due = Due::Now;
            }
        }
        self.said.notify_one();
        self.wait_until(|waiting| waiting.is_empty() && !waiting.writing).await
    }

    async fn wait_until(&self, ready: impl Fn(&Waiting) -> bool) -> Result<(), Error> {
        let is_ready = || {
            let waiting = self.lock();
            if waiting.stopped { Err(Error::Stopped) } else { Ok(ready(&waiting)) }
        };
        // Most have not to wait, and need not say that they might.
        while !is_ready()? {
            let notified = self.taken.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if is_ready()? {
                break;
            }
            notified.await;
        }
        Ok(())
    }

    /// Waits until there is something to write.
    pub(crate) async fn something(&self) {
        loop {
            let notified = self.said.notified();
            if self.lock().is_due() {
                return;
            }
            notified.await;
        }
    }

    /// Takes all that waits.
    pub(crate) fn take(&self) -> Words {
        let mut waiting = self.lock();
        let next = Batch::follow(self.task.clone(), self.context.clone(), waiting.batch.to());
        let batch = std::mem::replace(&mut waiting.batch, next);
        waiting.writing = true;
        let is_due = std::mem::take(&mut waiting.note_due) != Due::Never;
        let note = waiting.note.clone().filter(|_| is_due);
        let forget_key = std::mem::take(&mut waiting.forget_key);
        Words { batch, wake: std::mem::take(&mut waiting.wake), note, forget_key }
    }

    /// Takes back what was taken with words that nobody needs any more. Of two notes the newer
    /// is kept.
    pub(crate) fn take_back(&self, words: &Words) {
        let mut waiting = self.lock();
        waiting.forget_key |= words.forget_key;
        if words.note.is_some() {
            waiting.note_due = Due::Now;
        }
    }

    /// Returns the newest that the agent has noted.
    pub(crate) fn note(&self) -> Option<Bytes> {
        self.lock().note.clone()
    }

    /// Says that what was taken is on disk.
    pub(crate) fn wrote(&self) {
        self.lock().writing = false;
        self.taken.notify_waiters();
    }

    /// Learns that the task is in another state than the agent made it. What waits is dropped
    /// if it cannot follow.
    pub(crate) fn rebase(&self, state: TaskState) {
        let mut waiting = self.lock();
        let rebased = waiting.batch.rebase(state).unwrap_or_else(|refused| {
            self.counters.count(&refused);
            Batch::follow(self.task.clone(), self.context.clone(), state)
        });
        waiting.batch = rebased;
    }

    /// Returns the state after everything that was said.
    pub(crate) fn state(&self) -> TaskState {
        self.lock().batch.to()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Takes nothing more.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.taken.notify_waiters();
    }
}
