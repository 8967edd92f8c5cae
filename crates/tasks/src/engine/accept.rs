//! A message comes in: a new task, or more for one that is there (`go_on`).

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use futures_util::{FutureExt as _, future::BoxFuture, stream};
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::{ContextId, TaskId},
    json::{self, Shared},
    message::Message,
    operation::SendMessageRequest,
    service::{Event, Events},
    state::TaskState,
    task::{StreamResponse, Task, TaskStatus},
};
use tokio::{sync::oneshot, time::timeout};

use super::{
    Call, Engine, Tasks, bridge,
    go_on::More,
    read::{Follow, messages},
    run::{Opened, Opening, Run},
};
use crate::{
    agent::{Asked, Cause, Conduct, Wait},
    live::{Live, Reached},
    log::{Seq, Snapshot},
    output::Word,
    store::{self, Key, NewWebhook, Want},
};

/// The longest idempotency key, in bytes.
const MAX_KEY_BYTES: usize = 256;

/// A message that is in a log.
pub(super) struct Accepted {
    /// The task.
    pub(super) id: TaskId,
    pub(super) progress: Progress,
    /// The entry that the message became, or that opened its task.
    pub(super) seq: Seq,
    /// The first word of the agent, if it speaks first.
    pub(super) word: Option<oneshot::Receiver<Word>>,
}

/// How far the task of a message has come.
pub(super) enum Progress {
    /// It is worked on, or watched.
    Live(Arc<Live>),
    /// It has ended before anybody else could know of it.
    Ended(Snapshot),
}

/// A message that was taken.
enum Accepting<'a> {
    /// Its task begins.
    Opened(TaskId, Told, Option<oneshot::Receiver<Word>>),
    /// There is more to find out about it first.
    LookedAt(BoxFuture<'a, Result<Received, Error>>),
}

/// What became of a message that was taken.
enum Received {
    /// It is in a log.
    Accepted(Accepted),
    /// The agent has answered without a task.
    Message(Message),
}

/// What came of a message.
#[derive(Clone, Debug)]
pub enum Sent {
    /// A task.
    Task(Shared<Task>),
    /// The agent has answered without one.
    Message(Message),
}

impl Sent {
    /// Returns the task, if it is one.
    pub fn into_task(self) -> Option<Task> {
        match self {
            Self::Task(task) => task.into_value().ok(),
            Self::Message(_) => None,
        }
    }
}

/// The first word of an agent, for somebody who waits for more than that.
struct FirstWord {
    coming: Option<oneshot::Receiver<Word>>,
    said: Option<Word>,
}

impl FirstWord {
    /// Waits until the agent says that it begins later. Never returns if it says anything else.
    async fn postponed(&mut self) {
        if let Some(coming) = &mut self.coming {
            self.said = coming.await.ok();
            self.coming = None;
        }
        if !matches!(self.said, Some(Word::Later)) {
            std::future::pending::<()>().await;
        }
    }

    fn said(self) -> Option<Word> {
        self.said.or_else(|| self.coming?.try_recv().ok())
    }
}

/// What a turn begins with.
pub(super) struct Occasion {
    pub(super) cause: Cause,
    pub(super) asked: Asked,
    /// Where the first word of the agent goes.
    pub(super) first_word: Option<oneshot::Sender<Word>>,
}

impl Occasion {
    /// Nobody has just said anything.
    pub(super) fn quiet(cause: Cause) -> Self {
        Self { cause, asked: Asked::default(), first_word: None }
    }
}

impl Tasks {
    /// Tells whether a message was sent before under the same key, so that to send it once more
    /// does nothing. Of two that are sent at the same time neither was sent before.
    pub async fn is_repeat(
        &self,
        call: &Call,
        request: &SendMessageRequest,
    ) -> Result<bool, Error> {
        let conduct = self.0.agent(&call.place)?.conduct();
        match key(call, request, conduct)? {
            Some(key) => Ok(self.0.store.is_used(&call.place, &key).await?),
            None => Ok(false),
        }
    }

    /// Takes a message, and waits until its task ends or needs something: for as long as the
    /// caller says, within the longest wait. After that the answer is the task as it stands.
    ///
    /// The message is taken at once, so that whoever waits need not carry it around.
    pub fn send<'a>(
        &'a self,
        call: &Call,
        request: SendMessageRequest,
    ) -> impl Future<Output = Result<Sent, Error>> + Send + use<'a> {
        let engine = &self.0;
        let wishes = request.configuration.as_ref();
        let at_once = wishes.is_some_and(|wishes| wishes.return_immediately);
        let history = wishes.and_then(|wishes| messages(wishes.history_length));
        let until = if at_once { Wait::Nothing } else { Wait::End };
        let place = call.place.clone();
        let patience = call.wait.unwrap_or(engine.settings.wait).min(engine.settings.longest_wait);
        let accepting = engine.accept(call, request, until);
        async move {
            let mut accepted = match engine.accepted(accepting?).await? {
                Received::Message(reply) => return Ok(Sent::Message(reply)),
                Received::Accepted(accepted) => accepted,
            };
            if !at_once {
                let mut word = FirstWord { coming: accepted.word.take(), said: None };
                let settled = match accepted.progress {
                    Progress::Ended(end) => Some(end),
                    Progress::Live(live) => tokio::select! {
                        biased;
                        settled = engine.wait(&live, accepted.seq, patience) => settled,
                        () = word.postponed() => None,
                    },
                };
                match word.said() {
                    Some(Word::Reply(message)) => return Ok(Sent::Message(message)),
                    Some(Word::Refused(error)) => return Err(*error),
                    Some(Word::Works | Word::Later) | None => {}
                }
                if let Some(snapshot) = settled {
                    return Ok(Sent::Task(snapshot.task(history)?));
                }
            }
            let want = if at_once { Want::at(accepted.seq) } else { Want::ALL };
            Ok(Sent::Task(engine.load(&place, &accepted.id, want, history).await?))
        }
    }

    /// Takes a message, and follows its task until it ends or asks for input. The message is
    /// taken at once.
    pub fn stream<'a>(
        &'a self,
        call: &Call,
        request: SendMessageRequest,
    ) -> impl Future<Output = Result<Events, Error>> + Send + use<'a> {
        let engine = &self.0;
        let wishes = request.configuration.as_ref();
        let history = wishes.and_then(|wishes| messages(wishes.history_length));
        let place = call.place.clone();
        let accepting = engine.accept(call, request, Wait::Events);
        async move {
            let mut accepted = match engine.accepted(accepting?).await? {
                Received::Message(reply) => return Ok(only(reply)),
                Received::Accepted(accepted) => accepted,
            };
            if let Some(word) = accepted.word.take() {
                let word = tokio::select! {
                    word = timeout(engine.settings.first_word, word) => {
                        word.ok().and_then(Result::ok)
                    }
                    () = engine.finish.cancelled() => None,
                };
                match word {
                    Some(Word::Reply(message)) => return Ok(only(message)),
                    Some(Word::Refused(error)) => return Err(*error),
                    Some(Word::Works | Word::Later) | None => {}
                }
            }
            let live = match accepted.progress {
                Progress::Live(live) => live,
                Progress::Ended(_) => {
                    let head = engine.head(&place, &accepted.id).await?;
                    engine.at_hand(&head).await?
                }
            };
            let follow = Follow { until_input: true, history };
            engine.follow(&place, &accepted.id, live, accepted.seq, follow).await
        }
    }
}

impl Engine {
    /// Takes a message. Most begin a task, which waits for nothing.
    fn accept<'a>(
        self: &'a Arc<Self>,
        call: &Call,
        mut request: SendMessageRequest,
        wait: Wait,
    ) -> Result<Accepting<'a>, Error> {
        if self.stop.is_cancelled() {
            return Err(stopping());
        }
        let conduct = self.agent(&call.place)?.conduct();
        let has_webhook = request
            .configuration
            .as_ref()
            .is_some_and(|wishes| wishes.task_push_notification_config.is_some());
        let begins = request.message.task_id.is_none() && call.new_task.is_none();
        if !begins || has_webhook || conduct.replies {
            let looked_at = self.look_at(call.clone(), request, wait, conduct);
            return Ok(Accepting::LookedAt(looked_at.boxed()));
        }
        let key = key(call, &request, conduct)?;
        let (occasion, word) = occasion(call, &mut request, wait, conduct);
        let id = TaskId::generate();
        let told = self.open(call, &id, (request.message, key, Vec::new()), occasion)?;
        Ok(Accepting::Opened(id, told, word))
    }

    /// Waits until a message is in a log, or answered.
    async fn accepted(&self, accepting: Accepting<'_>) -> Result<Received, Error> {
        match accepting {
            Accepting::Opened(id, told, word) => {
                Ok(Received::Accepted(self.opened(id, false, told, word).await?))
            }
            Accepting::LookedAt(looked_at) => looked_at.await,
        }
    }

    /// Takes a message about which there is more to find out before it goes into a log.
    async fn look_at(
        self: &Arc<Self>,
        call: Call,
        mut request: SendMessageRequest,
        wait: Wait,
        conduct: Conduct,
    ) -> Result<Received, Error> {
        let call = &call;
        if let Some(reply) = self.reply(call, &request.message).await? {
            return Ok(Received::Message(reply));
        }
        let key = key(call, &request, conduct)?;
        let (occasion, word) = occasion(call, &mut request, wait, conduct);
        let given = request.message.task_id.clone();
        let id = given.clone().or_else(|| call.new_task.clone()).unwrap_or_else(TaskId::generate);
        let config = request.configuration.as_mut();
        let webhook = match config.and_then(|wishes| wishes.task_push_notification_config.take()) {
            Some(config) => vec![self.webhook(call, &id, &config).await?],
            None => Vec::new(),
        };
        let message = request.message;
        let accepted = match given {
            Some(task) => {
                let more = More { message, key, webhooks: webhook, conduct };
                self.go_on(call, &task, more, occasion, word).await?
            }
            None if call.new_task.is_some() => {
                let more = More {
                    message: message.clone(),
                    key: key.clone(),
                    webhooks: webhook.clone(),
                    conduct,
                };
                let (asked, cause) = (occasion.asked.clone(), occasion.cause);
                let again = Occasion { cause, asked, first_word: None };
                let told = self.open(call, &id, (message, key, webhook), occasion)?;
                match self.opened(id.clone(), true, told, word).await {
                    Err(Unopened::Exists) => self.go_on(call, &id, more, again, None).await?,
                    opened => opened?,
                }
            }
            None => {
                let told = self.open(call, &id, (message, key, webhook), occasion)?;
                self.opened(id, false, told, word).await?
            }
        };
        Ok(Received::Accepted(accepted))
    }

    /// Returns what the agent answers without a task, if it does. Such an answer belongs to a
    /// conversation, too.
    async fn reply(&self, call: &Call, message: &Message) -> Result<Option<Message>, Error> {
        let agent = self.agent(&call.place)?;
        if message.task_id.is_some() || !agent.conduct().replies {
            return Ok(None);
        }
        let reply = AssertUnwindSafe(agent.reply_boxed(message, &call.place)).catch_unwind().await;
        let Ok(reply) = reply else { return Err(bridge::agent_panicked()) };
        let Some(mut reply) = reply.map_err(|failure| bridge::agent_failed(&failure))? else {
            return Ok(None);
        };
        let context = message.context_id.clone();
        reply.context_id = Some(context.unwrap_or_else(ContextId::generate));
        reply.task_id = None;
        Ok(Some(reply))
    }

    /// Begins a task, and tells when it is on disk. It waits for nothing, so that nobody has to
    /// keep what it is given.
    fn open(
        self: &Arc<Self>,
        call: &Call,
        id: &TaskId,
        (mut message, key, webhooks): (Message, Option<Key>, Vec<NewWebhook>),
        occasion: Occasion,
    ) -> Result<Told, Error> {
        let context_is_given = message.context_id.is_some();
        let context = message.context_id.take().unwrap_or_else(ContextId::generate);
        message.task_id = Some(id.clone());
        message.context_id = Some(context.clone());
        let status = TaskStatus::new(TaskState::Submitted, self.clock.now());
        let mut task = Task::new(id.clone(), context.clone(), status);
        task.history = vec![message.clone()];

        let opening = Opening {
            wait: occasion.asked.wait,
            place: call.place.clone(),
            context,
            key,
            webhooks,
            context_is_given,
            id_is_given: call.new_task.is_some(),
            parent: call.parent.clone(),
            note: call.note.clone(),
            unfinished_tasks: call.unfinished_tasks,
        };
        let (tell, told) = oneshot::channel();
        Run::open(Arc::clone(self), task, message, opening, occasion)?.spawn(tell);
        Ok(told)
    }

    /// Waits until a task that was begun is on disk.
    async fn opened(
        &self,
        id: TaskId,
        id_is_given: bool,
        told: Told,
        word: Option<oneshot::Receiver<Word>>,
    ) -> Result<Accepted, Unopened> {
        match told.await {
            Ok(Ok(Opened::New(live))) => {
                Ok(Accepted { id, progress: Progress::Live(live), seq: Seq(1), word })
            }
            Ok(Ok(Opened::Ended(end))) => {
                Ok(Accepted { id, progress: Progress::Ended(end), seq: Seq(1), word })
            }
            Ok(Ok(Opened::Repeated(Some(head)))) => {
                // Boxed: it is rare, and whoever waits would have room for it.
                let live = Box::pin(self.at_hand(&head)).await.map_err(Error::from)?;
                let progress = Progress::Live(live);
                Ok(Accepted { id: head.id, progress, seq: Seq(1), word: None })
            }
            Ok(Ok(Opened::Repeated(None))) => Err(bridge::key_of_a_removed_task().into()),
            Ok(Err(store::Error::Exists(_))) if id_is_given => Err(Unopened::Exists),
            Ok(Err(error)) => Err(Error::from(error).into()),
            Err(_) => Err(stopping().into()),
        }
    }

    /// Waits until a task ends or needs something, and returns the task as the work left it, if
    /// it was done here.
    async fn wait(&self, live: &Live, from: Seq, longest: Duration) -> Option<Snapshot> {
        let mut watch = live.watch();
        let settled = watch.wait_for(|Reached { seq, state }| {
            *seq >= from && (state.is_terminal() || state.is_interrupted())
        });
        // Over the limit, or when the work has been given back: the task as it stands.
        let reached = tokio::select! {
            biased;
            reached = timeout(longest, settled) => match reached {
                Ok(Ok(reached)) => Some(*reached),
                Ok(Err(_)) | Err(_) => None,
            },
            () = self.finish.cancelled() => None,
        };
        live.settled(reached?.seq)
    }
}

/// Returns how a turn begins that a message asks for, and where its first word will be heard.
/// Takes from the request what only the agent is to know.
fn occasion(
    call: &Call,
    request: &mut SendMessageRequest,
    wait: Wait,
    conduct: Conduct,
) -> (Occasion, Option<oneshot::Receiver<Word>>) {
    let modes = request.configuration.as_mut();
    let modes = modes.map(|wishes| std::mem::take(&mut wishes.accepted_output_modes));
    let (tell, word) = conduct.speaks_first.then(oneshot::channel).unzip();
    let asked = Asked {
        wait,
        context_is_given: request.message.context_id.is_some(),
        metadata: request.metadata.take(),
        output_modes: modes.unwrap_or_default(),
        ..call.asked.clone()
    };
    (Occasion { cause: Cause::Message, asked, first_word: tell }, word)
}

/// Tells that a task is on disk, or why not.
type Told = oneshot::Receiver<Result<Opened, store::Error>>;

/// Why a task was not opened.
enum Unopened {
    /// The task that the caller names is there.
    Exists,
    Error(Error),
}

impl From<Error> for Unopened {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Unopened> for Error {
    fn from(unopened: Unopened) -> Self {
        match unopened {
            // Only whoever names a task meets this, and goes on with the task.
            Unopened::Exists => Self::new(ErrorKind::Internal, "the task is there already"),
            Unopened::Error(error) => error,
        }
    }
}

/// A stream of nothing but a message.
fn only(message: Message) -> Events {
    let response = Shared::new(StreamResponse::Message(message));
    Box::pin(stream::iter([Ok(Event { seq: None, response })]))
}

fn stopping() -> Error {
    let text = "the engine is stopping; send it again";
    Error::new(ErrorKind::Unavailable, text).with_retry_after(Duration::from_secs(1))
}

/// Returns what makes the message the only one of its kind, if anything does.
fn key(call: &Call, request: &SendMessageRequest, conduct: Conduct) -> Result<Option<Key>, Error> {
    let text = match &call.key {
        Some(key) if !(1..=MAX_KEY_BYTES).contains(&key.len()) => {
            let text = format!("has 1 to {MAX_KEY_BYTES} bytes, this has {}", key.len());
            return Err(bridge::invalid("Idempotency-Key", &text));
        }
        // The two kinds are kept apart, so that neither can be mistaken for the other.
        Some(key) => format!("key:{key}"),
        None if conduct.dedupes_by_message_id => {
            format!("message:{}", request.message.message_id)
        }
        None => return Ok(None),
    };
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, json::to_string(request).as_bytes()).as_ref());
    Ok(Some(Key { text, request: hash }))
}
