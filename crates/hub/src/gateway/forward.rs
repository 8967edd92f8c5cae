//! One turn of a task that an agent elsewhere works on.
//!
//! The message goes out in whatever the agent speaks, and what comes back goes into our log, in
//! our names. The note beside the task says how the agent calls it: whoever goes on after a
//! crash follows that task, and sends nothing twice.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_client::{Agent as Line, Error as ClientError, Followed};
use nuncio_protocol::{
    error::{Error, ErrorKind, reason},
    ids::{AgentId, Organisation, TaskId},
    message::Message,
    operation::{CancelTaskRequest, Request},
    service::{Answered, CallContext, Caller, Event},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse, Task},
};
use nuncio_tasks::{
    agent::{Agent as TaskAgent, Cause, Conduct, Failure, Interrupted, Turn, Wait},
    output::{self, Output},
    store::Wake,
};
use tokio::time::{Instant, sleep, timeout};

use super::{
    lines::Lines,
    note::Note,
    translate::{Ours, outward},
    turnstile::Turnstiles,
};
use crate::agent::Agent;

/// Says on a card that its agent numbers events and knows keys.
pub(crate) const RESUME: &str = "urn:nuncio:extension:resume:v1";

/// How often a task is looked at that waits for a login somewhere else.
const AUTH_LOOK: Duration = Duration::from_secs(5);

/// How long to wait before an agent is looked for again that has gone away, first and at most.
const FIRST_LOOK: Duration = Duration::from_millis(500);
const LAST_LOOK: Duration = Duration::from_secs(15);

/// When a busy agent may be asked again (MD-32).
const BUSY_RETRY: Duration = Duration::from_secs(30);

/// Why there is nothing to cancel at the agent.
const UNNAMED: &str = "the agent had named its task; it was hung up on";

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// How long an agent may be out of reach while it has a task of ours.
    pub(crate) lost: Duration,
    /// The longest turn for a caller that is an agent itself (MD-30).
    pub(crate) ceiling: Duration,
    /// How long an agent may take to end what was cancelled.
    pub(crate) cancel: Duration,
}

/// Hands turns to agents elsewhere.
#[derive(Debug)]
pub(crate) struct Forwarder {
    pub(crate) lines: Arc<Lines>,
    pub(crate) turnstiles: Arc<Turnstiles>,
    pub(crate) patience: Patience,
}

impl TaskAgent for Forwarder {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let place = &turn.place;
        let organisation = Organisation::parse(place.tenant.as_str());
        let id = AgentId::parse(place.agent.as_str());
        let (Ok(organisation), Ok(id)) = (organisation, id) else {
            return Err(Failure::new("the task names no agent of the directory"));
        };
        let Some(agent) = self.lines.agent(&organisation, &id) else {
            return Err(Failure::new("the agent was removed from the directory"));
        };
        let caller = caller_of(place.caller.as_str());
        let context = turn.task.context_id.clone();
        let Some(context) = context else { return Err(Failure::new("a task has a context")) };
        let forwarding = Forwarding {
            ours: Ours { task: turn.task.id.clone(), context },
            note: Note::read(turn.note.as_ref()),
            is_first: turn.note.is_none(),
            has_spoken: false,
            forwarder: self,
            agent,
            caller,
            turn,
            output,
        };
        // Large, and kept for as long as the task is worked on.
        Box::pin(forwarding.run()).await
    }

    fn conduct(&self) -> Conduct {
        Conduct {
            interrupted: Interrupted::Resume,
            cancel_grace: self.patience.cancel,
            hears_cancels: true,
            speaks_first: true,
            ..Conduct::default()
        }
    }
}

struct Forwarding<'f> {
    forwarder: &'f Forwarder,
    agent: Arc<Agent>,
    caller: Caller,
    turn: Turn,
    output: Output,
    ours: Ours,
    note: Note,
    /// Whether the agent has never heard of the task.
    is_first: bool,
    /// Whether our caller has been told anything.
    has_spoken: bool,
}

/// Whether there is more to come.
#[derive(PartialEq, Eq)]
enum Step {
    GoOn,
    Done,
}

/// What the agent has answered with.
enum Opened {
    Events(Followed),
    Answer(SendMessageResponse),
}

impl Forwarding<'_> {
    async fn run(mut self) -> Result<(), Failure> {
        let outcome = match self.caller {
            Caller::Agent(_) => {
                let ceiling = self.forwarder.patience.ceiling;
                timeout(ceiling, self.work()).await.unwrap_or_else(|_| {
                    let minutes = ceiling.as_secs() / 60;
                    Err(Failure::new(format!("the agent took longer than {minutes} minutes")))
                })
            }
            _ => self.work().await,
        };
        if outcome.is_err() && self.note.task.is_some() {
            // Nobody will look at what it does from now on.
            self.tell_to_stop().await.ok();
        }
        outcome
    }

    async fn work(&mut self) -> Result<(), Failure> {
        let line = match self.line().await {
            Ok(line) => line,
            Err(error) => return self.give_up(error).await,
        };
        match self.turn.cause {
            Cause::Message => self.pass_on(&line).await,
            Cause::Interrupted if self.note.task.is_none() => self.pass_on_again(&line).await,
            Cause::Cancel if self.note.task.is_none() => self.stop_unheard(UNNAMED).await,
            Cause::Interrupted | Cause::WakeUp | Cause::Cancel => {
                let events = self.again(&line).await;
                self.follow(&line, events).await
            }
        }
    }

    async fn line(&self) -> Result<Line, Error> {
        self.forwarder.lines.line(&self.agent, &self.caller).await
    }

    /// Hands the message to the agent, and what comes of it to our log.
    async fn pass_on(&mut self, line: &Line) -> Result<(), Failure> {
        let priority = self.turn.asked.priority;
        let turnstiles = &self.forwarder.turnstiles;
        let admitted = tokio::select! {
            admitted = turnstiles.pass(&self.agent.id, priority) => admitted,
            () = self.turn.cancelled() => return self.stop_unheard("the agent was asked").await,
        };
        // Held for as long as the agent works for us.
        let _pass = match admitted {
            Ok(pass) => pass,
            Err(busy) => {
                let error = Error::new(ErrorKind::Unavailable, busy.to_string())
                    .with_reason(reason::AGENT_UNAVAILABLE)
                    .with_retry_after(BUSY_RETRY);
                return self.give_up(error).await;
            }
        };
        let Some(opened) = self.hand_over(line).await else {
            return self.stop_unheard(UNNAMED).await;
        };
        let events = match opened {
            Err(error) => return self.give_up(error.into()).await,
            Ok(Opened::Events(events)) => Ok(events),
            Ok(Opened::Answer(answer)) => {
                let response = match answer {
                    SendMessageResponse::Message(message) => StreamResponse::Message(message),
                    SendMessageResponse::Task(task) => StreamResponse::Task(task),
                };
                match self.take(None, response).await? {
                    Step::Done => return Ok(()),
                    Step::GoOn => self.again(line).await,
                }
            }
        };
        self.follow(line, events).await
    }

    /// Goes on where nobody knows whether the agent has got the message.
    async fn pass_on_again(&mut self, line: &Line) -> Result<(), Failure> {
        let extensions = &line.card().capabilities.extensions;
        if extensions.iter().any(|extension| extension.uri == RESUME) {
            // It knows the key, and does nothing twice.
            return self.pass_on(line).await;
        }
        let text = "INTERRUPTED: the hub stopped while it handed the message over, and nobody \
                    knows whether the agent got it; send it again if that does no harm";
        Err(Failure::new(text))
    }

    /// Sends the message. `None` if the work is to end, and the agent does not say in time what
    /// it calls it.
    async fn hand_over(&self, line: &Line) -> Option<Result<Opened, ClientError>> {
        let sending = self.send(line);
        tokio::pin!(sending);
        tokio::select! {
            opened = &mut sending => return Some(opened),
            () = self.turn.cancelled() => {}
        }
        // Who answers when all is done is hung up on. All others name the task in a moment, and
        // can be told to stop then.
        if !streams(line) && !self.wants_name_at_once() {
            return None;
        }
        timeout(self.longest_naming(), sending).await.ok()
    }

    /// Returns how long an agent may take to name a task that is to end: then there is still
    /// time to say so.
    fn longest_naming(&self) -> Duration {
        self.forwarder.patience.cancel / 2
    }

    /// Tells whether an agent that cannot be followed is to answer before it is done.
    fn wants_name_at_once(&self) -> bool {
        self.turn.asked.wait != Wait::End
    }

    async fn send(&self, line: &Line) -> Result<Opened, ClientError> {
        let streams = streams(line);
        let asked = &self.turn.asked;
        let at_once = !streams && self.wants_name_at_once();
        let message = self.turn.message.clone();
        let request = outward(message, &self.ours.task, &self.note, asked, at_once);
        if streams {
            let request = Request::SendStreamingMessage(request);
            return Ok(Opened::Events(line.stream(self.context(), request).await?));
        }
        match line.call(self.context(), Request::SendMessage(request)).await? {
            Answered::SendMessage(answer) => {
                let answer = answer.into_value().map_err(|error| not_a2a(&error.to_string()))?;
                Ok(Opened::Answer(answer))
            }
            _ => Err(not_a2a("the answer is not of its operation")),
        }
    }

    /// Follows the agent's task from where our log ends.
    async fn again(&mut self, line: &Line) -> Result<Followed, ClientError> {
        let Some(known) = Ours::theirs(&self.turn.task, &self.note) else {
            return Err(not_a2a("the stream ended before the agent had named its task"));
        };
        line.follow(self.context(), &known, self.note.seen, !streams(line)).await
    }

    /// Writes down what happens at the agent, until it has no more to say.
    async fn follow(
        &mut self,
        line: &Line,
        events: Result<Followed, ClientError>,
    ) -> Result<(), Failure> {
        let mut events = match events {
            Ok(events) => events,
            Err(error) => return self.give_up(error.into()).await,
        };
        let mut lost: Option<Instant> = None;
        let mut pause = FIRST_LOOK;
        loop {
            let is_named = self.note.task.is_some();
            let event = tokio::select! {
                biased;
                () = self.turn.cancelled(), if is_named => {
                    if self.stop(line).await? == Step::Done {
                        return Ok(());
                    }
                    continue;
                }
                event = events.next() => event,
                () = self.stays_unnamed(), if !is_named => {
                    return self.stop_unheard(UNNAMED).await;
                }
            };
            let error = match event {
                Some(Ok(Event { seq, response })) => {
                    (lost, pause) = (None, FIRST_LOOK);
                    let step = match response.into_value() {
                        Ok(response) => self.take(seq, response).await?,
                        Err(error) => {
                            return self.give_up(not_a2a(&error.to_string()).into()).await;
                        }
                    };
                    if step == Step::Done {
                        return Ok(());
                    }
                    continue;
                }
                Some(Err(error)) => error,
                // It leaves us alone with a task that goes on.
                None => ClientError::Cut { frame: 0 },
            };
            let since = *lost.get_or_insert_with(Instant::now);
            let is_lost = since.elapsed() >= self.forwarder.patience.lost;
            if self.note.task.is_none() || is_lost || !error.is_failure_of_peer() {
                return self.give_up(error.into()).await;
            }
            tracing::debug!(agent = %self.agent.id, %error, "an agent is out of reach");
            tokio::select! {
                () = sleep(pause) => {}
                () = self.turn.cancelled() => {}
            }
            pause = (pause * 2).min(LAST_LOOK);
            events = match self.again(line).await {
                Ok(events) => events,
                Err(error) => return self.give_up(error.into()).await,
            };
        }
    }

    /// Waits until the work is to end, and the agent has had its time to name it.
    async fn stays_unnamed(&self) {
        self.turn.cancelled().await;
        sleep(self.longest_naming()).await;
    }

    /// Takes in what the agent says.
    async fn take(&mut self, seq: Option<u64>, response: StreamResponse) -> Result<Step, Failure> {
        if let Err(other) = self.learn(seq, &response) {
            let text = format!("the agent answered for another task, `{other}`");
            return Err(Failure::new(text));
        }
        let state = response.state();
        match response {
            StreamResponse::Message(message) => {
                let message = self.ours.message(message);
                match self.has_spoken {
                    // Nobody who follows the task would see it otherwise.
                    true => self.output.status(TaskState::Completed, Some(message)).await,
                    false => self.output.reply(message).await,
                }
                .or_else(heard)?;
                return Ok(Step::Done);
            }
            StreamResponse::Task(task) => {
                // There is a task, whether or not there is news of it.
                self.output.accept();
                self.has_spoken = true;
                for update in self.ours.updates(&self.turn.task, &task) {
                    self.say(update).await?;
                }
            }
            update => {
                if seq.is_none() {
                    self.remember(&update);
                }
                let update = self.ours.update(update);
                self.say(update).await?;
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

    /// Learns what the agent calls its task. Fails if it speaks of another one.
    fn learn(&mut self, seq: Option<u64>, response: &StreamResponse) -> Result<(), TaskId> {
        let (task, context) = match response {
            StreamResponse::Task(task) => (&task.id, task.context_id.as_ref()),
            StreamResponse::StatusUpdate(update) => (&update.task_id, Some(&update.context_id)),
            StreamResponse::ArtifactUpdate(update) => (&update.task_id, Some(&update.context_id)),
            StreamResponse::Message(_) => return Ok(()),
        };
        let mut is_news = seq.is_some();
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
        if seq.is_some() {
            self.note.seen = seq;
        }
        if is_news {
            // A few names: never too long for a note.
            self.output.note(self.note.write()).ok();
        }
        Ok(())
    }

    /// Keeps in mind what our log will say, for an agent that does not number its events.
    fn remember(&mut self, update: &StreamResponse) {
        let task = &mut self.turn.task;
        match update {
            StreamResponse::StatusUpdate(update) => task.status.clone_from(&update.status),
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

    async fn say(&mut self, update: StreamResponse) -> Result<(), Failure> {
        self.has_spoken = true;
        self.output.event(update).await.or_else(heard)
    }

    /// Tells the agent that its work is to end.
    async fn stop(&mut self, line: &Line) -> Result<Step, Failure> {
        let refused = match self.tell_to_stop_by(line).await {
            Ok(task) if task.status.state.is_terminal() => {
                return self.take(None, StreamResponse::Task(task)).await;
            }
            // It needs a little longer; the events say when it has ended.
            Ok(_) => return self.stopping(line).await,
            Err(ClientError::Peer(error)) if error.kind() == ErrorKind::TaskNotFound => {
                self.output.status(TaskState::Canceled, None).await.or_else(heard)?;
                return Ok(Step::Done);
            }
            Err(error) => error,
        };
        let error = Error::from(refused);
        self.output.keep_on(error.message()).await.or_else(heard)?;
        Ok(Step::GoOn)
    }

    /// Follows a task that is about to end.
    async fn stopping(&mut self, line: &Line) -> Result<Step, Failure> {
        let Ok(mut events) = self.again(line).await else { return Ok(Step::GoOn) };
        while let Some(Ok(Event { seq, response })) = events.next().await {
            let Ok(response) = response.into_value() else { break };
            if self.take(seq, response).await? == Step::Done {
                return Ok(Step::Done);
            }
        }
        Ok(Step::GoOn)
    }

    async fn tell_to_stop(&mut self) -> Result<Task, ClientError> {
        let line = self.line().await.map_err(ClientError::Peer)?;
        self.tell_to_stop_by(&line).await
    }

    async fn tell_to_stop_by(&mut self, line: &Line) -> Result<Task, ClientError> {
        let Some(id) = self.note.task() else {
            return Err(not_a2a("the agent has not named its task"));
        };
        let request = CancelTaskRequest { tenant: None, id, metadata: None };
        match line.call(self.context(), Request::CancelTask(request)).await? {
            Answered::Task(task) => task.into_value().map_err(|error| not_a2a(&error.to_string())),
            _ => Err(not_a2a("the answer is not of its operation")),
        }
    }

    /// Ends a task that the agent has not named: all we can do is hang up.
    async fn stop_unheard(&self, before: &str) -> Result<(), Failure> {
        let text = format!("canceled before {before}");
        self.output.status(TaskState::Canceled, Some(Message::agent(text))).await.or_else(heard)
    }

    /// Says that it does not go on, and why: to whoever waits, or in the task.
    async fn give_up(&self, error: Error) -> Result<(), Failure> {
        let error = told(error, &self.agent);
        if self.has_spoken {
            return Err(Failure::new(error.message()));
        }
        let state = match (self.is_first, self.turn.cause) {
            // The question that this was to answer is still open.
            (false, Cause::Message) => TaskState::InputRequired,
            _ if is_callers(error.kind()) => TaskState::Rejected,
            _ => TaskState::Failed,
        };
        self.output.refuse(error, state).await.or_else(heard)
    }

    fn context(&self) -> CallContext {
        let asked = &self.turn.asked;
        let message = &self.turn.message.message_id;
        CallContext {
            priority: asked.priority,
            trace: asked.trace.clone(),
            extensions: asked.extensions.clone(),
            idempotency_key: Some(format!("{}:{message}", self.ours.task)),
            parent: Some(self.ours.task.clone()),
            ..CallContext::new(self.caller.clone())
        }
    }
}

/// Tells whether an agent says what happens while it happens.
fn streams(line: &Line) -> bool {
    line.card().capabilities.streaming == Some(true)
}

/// An agent that says what may not follow is not heard; everything else ends the work.
fn heard(error: output::Error) -> Result<(), Failure> {
    match error {
        output::Error::Refused(refused) if refused.is_out_of_turn() => {
            tracing::debug!(%refused, "an agent spoke out of turn");
            Ok(())
        }
        error => Err(Failure::new(error.to_string())),
    }
}

/// Says to our caller what the agent has refused. That it did not take our credential is not
/// the caller's affair.
fn told(error: Error, agent: &Agent) -> Error {
    match error.kind() {
        ErrorKind::Unauthenticated => {
            let text = format!("agent `{}` did not accept the hub's credential", agent.name);
            Error::new(ErrorKind::Unavailable, text).with_reason(reason::AGENT_UNAVAILABLE)
        }
        _ => error,
    }
}

/// Tells whether it is for the caller to mend what is wrong.
const fn is_callers(kind: ErrorKind) -> bool {
    !matches!(
        kind,
        ErrorKind::Internal
            | ErrorKind::InvalidAgentResponse
            | ErrorKind::Unavailable
            | ErrorKind::Timeout
            | ErrorKind::Other(_)
    )
}

fn not_a2a(cause: &str) -> ClientError {
    ClientError::Peer(Error::new(ErrorKind::InvalidAgentResponse, cause))
}

/// Reads the name under which a caller's tasks are kept.
fn caller_of(name: &str) -> Caller {
    match name.split_once(':') {
        Some(("agent", id)) => Caller::Agent(id.into()),
        Some(("user", name)) => Caller::User(name.into()),
        _ => Caller::Anonymous,
    }
}
