//! What the engine runs.

use std::{
    collections::{BTreeSet, VecDeque},
    fmt,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use nuncio_protocol::{
    json::Object,
    message::Message,
    service::{Priority, TraceContext},
    task::Task,
};
use tokio::sync::Notify;

use crate::{
    output::{Outbox, Output},
    scope::Place,
};

/// Turns one message into task events.
///
/// ```
/// use nuncio_tasks::agent::{Agent, Failure, Turn};
/// use nuncio_tasks::output::Output;
///
/// struct Echo;
///
/// impl Agent for Echo {
///     async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
///         output.text(turn.message.text()).await?;
///         Ok(())
///     }
/// }
/// ```
pub trait Agent: Send + Sync + 'static {
    /// Runs one turn.
    ///
    /// A task that is not ended or interrupted when this returns is completed, or failed if it
    /// returns a [`Failure`]. Dropping the future ends the work: a cancel does that.
    fn run(&self, turn: Turn, output: Output) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Answers a message at once, without a task, or leaves it to [`run`](Self::run).
    ///
    /// Asked only if [`Conduct::replies`] says so, and never about a message to a task. Nothing
    /// of it is kept, so a message that is sent twice is asked about twice: only for answers that
    /// change nothing.
    fn reply(
        &self,
        _message: &Message,
        _place: &Place,
    ) -> impl Future<Output = Result<Option<Message>, Failure>> + Send {
        async { Ok(None) }
    }

    /// Says how the engine is to treat the work.
    fn conduct(&self) -> Conduct {
        Conduct::default()
    }
}

/// How the engine treats the work of an agent.
///
/// More may come: write what differs, and `..Conduct::default()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Conduct {
    /// What becomes of work whose process has died.
    pub interrupted: Interrupted,
    /// Whether some messages are answered without a task; see [`Agent::reply`].
    pub replies: bool,
    /// Whether messages may come while the agent works; it must read [`Turn::input`] then.
    pub listens: bool,
    /// Whether the work may begin before the task is on disk, so that a short turn is written
    /// as one. Only for work that changes nothing outside: of a keyed message that was sent
    /// before it may begin once more, and ends unheard where it first waits for anything.
    pub begins_early: bool,
    /// Whether a message without a key counts as keyed by its identifier.
    pub dedupes_by_message_id: bool,
    /// How long the work may go on after a cancel, to clean up.
    pub cancel_grace: Duration,
    /// Whether the agent is told of every cancel, also while it does not work: a turn begins
    /// for it then ([`Cause::Cancel`]). Without, a task that waits is just ended.
    pub hears_cancels: bool,
    /// Whether the caller hears nothing before the agent has said its first word, so that the
    /// agent can answer with a message or an error in place of the task:
    /// [`Output::reply`], [`Output::refuse`].
    pub speaks_first: bool,
}

impl Default for Conduct {
    fn default() -> Self {
        Self {
            interrupted: Interrupted::Fail,
            replies: false,
            listens: false,
            begins_early: false,
            dedupes_by_message_id: false,
            cancel_grace: Duration::ZERO,
            hears_cancels: false,
            speaks_first: false,
        }
    }
}

/// What becomes of work whose process has died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// The task fails, and says why.
    Fail,
    /// The turn is run again from its start.
    Retry,
    /// The agent goes on from what the task says.
    Resume,
}

/// One turn of a conversation about a task.
#[derive(Debug)]
pub struct Turn {
    /// The task as it stands, with the message in its history.
    pub task: Task,
    /// What was said.
    pub message: Message,
    /// Why there is a turn.
    pub cause: Cause,
    /// Whose task it is.
    pub place: Place,
    /// How the message was sent. Not kept: after a crash nobody knows it any more.
    pub asked: Asked,
    /// What the agent has last noted about the task; see [`Output::note`].
    pub note: Option<Bytes>,
    pub(crate) outbox: Arc<Outbox>,
}

/// How a message was sent, beside what it says.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// What its sender waits for.
    pub wait: Wait,
    /// Whether its sender chose the conversation.
    pub context_is_given: bool,
    /// The request's metadata.
    pub metadata: Option<Object>,
    /// The media types that its sender takes; any, if there are none.
    pub output_modes: Vec<String>,
    /// URIs of the extensions its sender wants.
    pub extensions: BTreeSet<String>,
    /// What goes first when not everything can.
    pub priority: Priority,
    /// Its sender's place in a distributed trace.
    pub trace: Option<TraceContext>,
    /// When its sender stops waiting; the work goes on all the same.
    pub deadline: Option<std::time::Instant>,
}

/// What the sender of a message waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Until the task ends or asks for something.
    #[default]
    End,
    /// It follows every event.
    Events,
    /// Nothing: it comes back later.
    Nothing,
}

/// Why there is a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A message came.
    Message,
    /// The process that ran this turn has died, or given it back; see
    /// [`Conduct::interrupted`].
    Interrupted,
    /// The wake-up that the agent had asked for is due.
    WakeUp,
    /// Somebody wants the task to end, and nobody works on it; see
    /// [`Conduct::hears_cancels`].
    Cancel,
}

impl Turn {
    /// Waits for what is said while the agent works. Only agents that listen get anything.
    /// What is not read by the end of the turn begins the next one.
    pub async fn input(&self) -> Message {
        self.outbox.inbox.next().await
    }

    /// Waits until somebody wants the work to end. Matters only with a
    /// [`Conduct::cancel_grace`]: without, the work is dropped at that moment.
    ///
    /// An agent that cannot end its work says so with [`Output::keep_on`], and may wait for the
    /// next cancel then.
    pub async fn cancelled(&self) {
        self.outbox.cancel.requested().await;
    }

    /// Returns the metadata of the newest wish to end the work, if it has any.
    pub fn cancel_metadata(&self) -> Option<Object> {
        self.outbox.cancel.said()
    }
}

/// Something that has happened, or not, and that somebody may wait for.
#[derive(Debug, Default)]
pub(crate) struct Flag {
    is_raised: AtomicBool,
    raised: Notify,
}

impl Flag {
    pub(crate) fn raise(&self) {
        self.is_raised.store(true, Ordering::Release);
        self.raised.notify_waiters();
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Acquire)
    }

    /// Waits until it has happened.
    pub(crate) async fn raised(&self) {
        loop {
            // Made first: it hears of all that happens from here on.
            let raised = self.raised.notified();
            if self.is_raised() {
                return;
            }
            raised.await;
        }
    }
}

/// Whether somebody wants the work to end.
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    wish: Flag,
    /// What was said with it. Boxed, as it is rare.
    said: Mutex<Option<Box<Object>>>,
    /// Whether the agent has said that it cannot end.
    is_declined: AtomicBool,
}

impl Cancel {
    pub(crate) fn request(&self, said: Option<Object>) {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = said.map(Box::new);
        self.wish.raise();
    }

    pub(crate) fn said(&self) -> Option<Object> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.as_deref().cloned()
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.wish.is_raised()
    }

    pub(crate) async fn requested(&self) {
        self.wish.raised().await;
    }

    /// Forgets the wish: the agent cannot end.
    pub(crate) fn decline(&self) {
        self.wish.is_raised.store(false, Ordering::Release);
        self.is_declined.store(true, Ordering::Release);
    }

    /// Tells whether a wish was declined since this was asked last.
    pub(crate) fn was_declined(&self) -> bool {
        self.is_declined.swap(false, Ordering::AcqRel)
    }
}

/// What was said to an agent while it worked. It is in the log already, and bounded by that.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    messages: Mutex<VecDeque<Message>>,
    arrived: Notify,
}

impl Inbox {
    pub(crate) fn put(&self, message: Message) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push_back(message);
        self.arrived.notify_one();
    }

    pub(crate) fn take(&self) -> Option<Message> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    async fn next(&self) -> Message {
        loop {
            if let Some(message) = self.take() {
                return message;
            }
            self.arrived.notified().await;
        }
    }
}

/// Why an agent could not do it.
#[derive(Debug)]
pub struct Failure {
    told: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Failure {
    /// Fails with a reason that the caller is told.
    pub fn new(told: impl Into<String>) -> Self {
        Self { told: told.into(), source: None }
    }

    /// Returns what the caller is told.
    pub fn told(&self) -> &str {
        &self.told
    }

    /// Returns what only the log is told.
    pub fn source(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Failure {
    /// The caller is told that the agent failed, not how: errors name files, hosts and worse.
    fn from(error: E) -> Self {
        Self { told: "the agent failed".to_owned(), source: Some(Box::new(error)) }
    }
}

/// Finds agents that come and go while the engine runs.
pub trait Agents: Send + Sync + 'static {
    /// Returns the agent that works at a place, if there is one.
    fn find(&self, place: &Place) -> Option<Employed>;

    /// Waits until everybody has come who will. Before, nothing is taken over that another
    /// process has left: its agent may be still to come.
    fn complete(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// An [`Agent`] whose type is forgotten. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Employed(pub(crate) Arc<dyn AnyAgent>);

impl Employed {
    /// Forgets the type of an agent.
    pub fn new(agent: impl Agent) -> Self {
        Self(Arc::new(agent))
    }

    /// Runs one turn; see [`Agent::run`].
    pub async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        self.0.run_boxed(turn, output).await
    }
}

/// An [`Agent`] whose type is forgotten.
pub(crate) trait AnyAgent: Send + Sync {
    fn run_boxed(
        &self,
        turn: Turn,
        output: Output,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>>;

    fn reply_boxed<'a>(
        &'a self,
        message: &'a Message,
        place: &'a Place,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Message>, Failure>> + Send + 'a>>;

    fn conduct(&self) -> Conduct;
}

impl<A: Agent> AnyAgent for A {
    fn run_boxed(
        &self,
        turn: Turn,
        output: Output,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(self.run(turn, output))
    }

    fn reply_boxed<'a>(
        &'a self,
        message: &'a Message,
        place: &'a Place,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Message>, Failure>> + Send + 'a>> {
        Box::pin(self.reply(message, place))
    }

    fn conduct(&self) -> Conduct {
        Agent::conduct(self)
    }
}

impl fmt::Debug for dyn AnyAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("conduct", &self.conduct()).finish()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_cancel_is_heard_by_those_who_wait_and_those_who_come_later() {
        let cancel = Cancel::default();
        let mut early = Box::pin(cancel.requested());
        assert!(early.as_mut().now_or_never().is_none(), "nobody wants it to end");
        cancel.request(None);
        assert!(early.now_or_never().is_some(), "who waits hears it");
        assert!(cancel.requested().now_or_never().is_some(), "who comes later, too");
    }

    #[test]
    fn a_cancel_that_was_declined_is_waited_for_anew() {
        let cancel = Cancel::default();
        cancel.request(None);
        cancel.decline();
        assert!(cancel.was_declined());
        assert!(!cancel.was_declined(), "that is news only once");
        let mut next = Box::pin(cancel.requested());
        assert!(next.as_mut().now_or_never().is_none(), "the wish is forgotten");
        cancel.request(None);
        assert!(next.now_or_never().is_some());
    }
}
