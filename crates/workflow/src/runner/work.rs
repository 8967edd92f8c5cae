//! Accompanies one call: from giving the work away to what came of it.

use std::{mem, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::{ArtifactId, MessageId},
    message::Message,
    operation::{CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest},
    service::Events,
    state::TaskState,
    task::{Artifact, StreamResponse, Task},
};
use nuncio_tasks::{
    engine::{Call as TaskCall, Tasks},
    scope::Scope,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Given, RunId, Settings, Site, Work,
    hearing::{self, Hearing},
    patience::{self, PAUSE},
};
use crate::plan::{Call, Question};

/// How long we wait for something that has no limit.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// What is heard of a call.
#[derive(Debug)]
pub(super) enum News {
    /// It asks for something.
    Asked(Question, Option<Message>),
    /// It has got its answer, from whomever.
    Resumed,
    /// It has ended.
    Ended(Ended),
    /// It was told what a message to the run said, or has refused it for good.
    Told(MessageId, Result<(), String>),
}

/// How a call has ended.
#[derive(Debug)]
pub(super) enum Ended {
    Finished(Vec<Artifact>),
    Failed { reason: String, is_final: bool },
    Canceled(String),
}

/// One call under way.
pub(super) struct Errand {
    pub(super) site: Arc<dyn Site>,
    pub(super) run: RunId,
    pub(super) call: Call,
    pub(super) work: Work,
    pub(super) settings: Settings,
    pub(super) room: Arc<Semaphore>,
    /// When it must have ended, and how long that is.
    pub(super) timeout: Option<(Instant, Duration)>,
    pub(super) stop: CancellationToken,
    pub(super) tell: mpsc::UnboundedSender<(Call, News)>,
    /// Whether the work may have been given away before.
    pub(super) is_resumed: bool,
}

/// What was last asked.
#[derive(Default)]
struct Asking {
    /// The room that the call takes until it first asks: people may take days to answer.
    room: Option<OwnedSemaphorePermit>,
    /// Whether it asks, and by which message.
    is_open: bool,
    message: Option<MessageId>,
    times: u32,
}

impl Errand {
    /// Runs until the call has ended, and tells what is heard of it.
    pub(super) async fn run(self) {
        let tasks = self.site.tasks();
        let ended = match self.accompany(&tasks).await {
            Err(error) if patience::is_away(&error) => self.break_off(&tasks).await,
            ended => ended,
        };
        let ended = match ended {
            Ok(ended) => ended,
            // Not the work has failed, but we are about to stop: whoever goes on finds it.
            Err(_) if tasks.is_stopping() => std::future::pending().await,
            Err(error) => failed(&error),
        };
        self.say(News::Ended(ended));
    }

    fn say(&self, news: News) {
        // Nobody hears it when the run is left to another process.
        self.tell.send((self.call.clone(), news)).ok();
    }

    /// Returns that the store is away only if the call is to end before it is back.
    async fn accompany(&self, tasks: &Tasks) -> Result<Ended, Error> {
        let is_given = self.is_resumed && self.find_in_time(tasks).await?.is_some();
        if is_given {
            // It is under way, whether there is room for it or not.
            let room = Arc::clone(&self.room).try_acquire_owned().ok();
            return self.follow(tasks, None, room).await;
        }
        let room = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Ok(not_begun()),
            () = self.too_late() => return Ok(self.took_too_long()),
            // The room is never closed.
            room = Arc::clone(&self.room).acquire_owned() => room.ok(),
        };
        loop {
            match self.site.give(&self.run, self.work.clone()).await {
                // A run takes room for its own calls. If it took some for being called, too, runs
                // within runs could come to wait for each other.
                Ok(Given { events, is_run }) => {
                    return self.follow(tasks, Some(events), room.filter(|_| !is_run)).await;
                }
                Err(error) if patience::is_away(&error) => self.pause(error).await?,
                Err(error) => return Err(error),
            }
            // It may have been given all the same, and only reading it has failed; or it has
            // ended already, because an agent said of its own store what we say of ours.
            if self.find_in_time(tasks).await?.is_some() {
                return self.follow(tasks, None, None).await;
            }
        }
    }

    /// Ends a call of which the store could not tell in time whether it has begun.
    async fn break_off(&self, tasks: &Tasks) -> Result<Ended, Error> {
        match self.follow(tasks, None, None).await {
            Err(error) if error.kind() == ErrorKind::TaskNotFound => {
                let is_unwanted = self.stop.is_cancelled();
                Ok(if is_unwanted { not_begun() } else { self.took_too_long() })
            }
            ended => ended,
        }
    }

    /// Finds the task, as soon as the store is there.
    async fn find_in_time(&self, tasks: &Tasks) -> Result<Option<TaskCall>, Error> {
        loop {
            match self.find(tasks).await {
                Err(error) if patience::is_away(&error) => self.pause(error).await?,
                found => return found,
            }
        }
    }

    /// Waits before the store is asked again. Returns its error if the call is to end by then.
    async fn pause(&self, error: Error) -> Result<(), Error> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(error),
            () = self.too_late() => Err(error),
            () = sleep(PAUSE) => Ok(()),
        }
    }

    async fn find(&self, tasks: &Tasks) -> Result<Option<TaskCall>, Error> {
        let scope = Scope::tenant(self.run.place.tenant.clone());
        match tasks.find(&scope, &self.work.task).await {
            Ok(head) => Ok(Some(TaskCall::new(head.place))),
            Err(error) if error.kind() == ErrorKind::TaskNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn too_late(&self) {
        let at = self.timeout.map_or_else(|| Instant::now() + NEVER, |(at, _)| at);
        sleep_until(at).await;
    }

    fn took_too_long(&self) -> Ended {
        let limit = self.timeout.map(|(_, limit)| limit).unwrap_or_default();
        Ended::Failed { reason: format!("it took longer than {limit:?}"), is_final: false }
    }

    /// Follows the task until it ends, is to end, or has taken too long.
    async fn follow(
        &self,
        tasks: &Tasks,
        events: Option<Events>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Result<Ended, Error> {
        let mut asking = Asking { room, ..Asking::default() };
        tokio::select! {
            biased;
            ended = self.listen(tasks, events, &mut asking) => return ended,
            () = self.too_late() => {
                // A store that is away longer than that is waited for in vain.
                timeout(self.settings.cancel, self.cancel(tasks)).await.ok();
                return Ok(self.took_too_long());
            }
            () = self.stop.cancelled() => {}
        }
        let ending = async {
            self.cancel(tasks).await;
            self.listen(tasks, None, &mut asking).await
        };
        match timeout(self.settings.cancel, ending).await {
            Ok(ended) => ended,
            Err(_) => Ok(Ended::Canceled("it was told to end, and did not in time".to_owned())),
        }
    }

    /// Asks for the end of the task, as soon as the store is there. One that has ended, or
    /// cannot, is left alone.
    async fn cancel(&self, tasks: &Tasks) {
        let canceled = patience::until_there(|| async {
            let Some(call) = self.find(tasks).await? else { return Ok(()) };
            let id = self.work.task.clone();
            let request = CancelTaskRequest { tenant: None, id, metadata: None };
            tasks.cancel(&call, request).await.map(drop)
        });
        if let Err(error) = canceled.await {
            tracing::debug!(task = %self.work.task, %error, "a call could not be canceled");
        }
    }

    /// Listens to the task until it ends.
    async fn listen(
        &self,
        tasks: &Tasks,
        mut events: Option<Events>,
        asking: &mut Asking,
    ) -> Result<Ended, Error> {
        loop {
            if let Some(mut events) = events.take() {
                let mut hearing = Hearing::default();
                while let Some(event) = events.next().await {
                    let Ok(event) = event else { break };
                    let Ok(response) = event.response.value() else { continue };
                    if let StreamResponse::Message(message) = response {
                        return Ok(Ended::Finished(vec![said(message)]));
                    }
                    hearing.take(event.seq, &event.response);
                    if response.state().is_some_and(TaskState::is_terminal) {
                        match hearing.end() {
                            Some(task) => return Ok(ended(task)),
                            None => break,
                        }
                    }
                    if let Some(ended) = self.notice(response, asking) {
                        self.cancel(tasks).await;
                        return Ok(ended);
                    }
                }
            }
            // Whatever has ended the stream, or was not heard: the task says where it stands.
            match self.look(tasks).await {
                Ok((task, _)) if task.status.state.is_terminal() => return Ok(ended(task)),
                Ok((task, call)) => {
                    if let Some(ended) = self.notice(&StreamResponse::Task(task), asking) {
                        self.cancel(tasks).await;
                        return Ok(ended);
                    }
                    let request =
                        SubscribeToTaskRequest { tenant: None, id: self.work.task.clone() };
                    // One that has ended meanwhile is looked at once more.
                    events = tasks.subscribe(&call, request).await.ok();
                }
                Err(error) if patience::is_away(&error) => sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the task: one that has ended, with its texts whole.
    async fn look(&self, tasks: &Tasks) -> Result<(Task, TaskCall), Error> {
        let call = self.find(tasks).await?;
        let call = call.ok_or_else(|| Error::task_not_found(&self.work.task))?;
        let id = self.work.task.clone();
        let request = GetTaskRequest { tenant: None, id, history_length: Some(0) };
        let task = tasks.get(&call, request).await?.into_value();
        let mut task = task.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        if task.status.state.is_terminal() {
            task = hearing::whole(tasks, &Scope::from(&call.place), task).await?;
        }
        Ok((task, call))
    }

    /// Tells when the task begins or ceases to ask. Returns an end if it asks without one.
    fn notice(&self, response: &StreamResponse, asking: &mut Asking) -> Option<Ended> {
        let status = match response {
            StreamResponse::Task(task) => &task.status,
            StreamResponse::StatusUpdate(update) => &update.status,
            StreamResponse::Message(_) | StreamResponse::ArtifactUpdate(_) => return None,
        };
        let question = match status.state {
            TaskState::InputRequired => Some(Question::Input),
            TaskState::AuthRequired => Some(Question::Credential),
            _ => None,
        };
        let Some(question) = question else {
            if mem::take(&mut asking.is_open) {
                self.say(News::Resumed);
            }
            return None;
        };
        let name = status.message.as_ref().map(|message| message.message_id.clone());
        if asking.is_open && asking.message == name {
            return None;
        }
        asking.message = name;
        asking.room = None;
        if mem::replace(&mut asking.is_open, true) {
            self.say(News::Resumed);
        }
        asking.times += 1;
        if asking.times > self.settings.questions {
            let most = self.settings.questions;
            let reason = format!("it asked more than {most} times");
            return Some(Ended::Failed { reason, is_final: true });
        }
        self.say(News::Asked(question, status.message.as_deref().cloned()));
        None
    }
}

fn not_begun() -> Ended {
    Ended::Canceled("it had not begun".to_owned())
}

/// Returns what came of a task that has ended.
fn ended(task: Task) -> Ended {
    let Task { status, artifacts, .. } = task;
    let word = status.message.as_ref().map(|message| message.text()).unwrap_or_default();
    let reason =
        || if word.is_empty() { status.state.as_str().to_lowercase() } else { word.clone() };
    match status.state {
        TaskState::Completed if artifacts.is_empty() => {
            Ended::Finished(status.message.iter().map(|message| said(message)).collect())
        }
        TaskState::Completed => Ended::Finished(artifacts),
        TaskState::Canceled => Ended::Canceled(reason()),
        state => Ended::Failed { reason: reason(), is_final: state == TaskState::Rejected },
    }
}

fn said(message: &Message) -> Artifact {
    // A name of a message is short enough, and never empty.
    let id = ArtifactId::parse(message.message_id.as_str());
    Artifact::new(id.unwrap_or_else(|_| ArtifactId::generate()), message.parts.clone())
}

/// What was refused for good is not tried again.
fn failed(error: &Error) -> Ended {
    let is_final = matches!(
        error.kind(),
        ErrorKind::InvalidParams
            | ErrorKind::InvalidRequest
            | ErrorKind::PermissionDenied
            | ErrorKind::Unauthenticated
            | ErrorKind::UnsupportedOperation
            | ErrorKind::ContentTypeNotSupported
    );
    Ended::Failed { reason: error.message().to_owned(), is_final }
}
