//! One turn of a task that an agent elsewhere works on.
//!
//! The message goes out in whatever the agent speaks, and what comes back goes into our log, in
//! our names. The note beside the task says how the agent calls it: whoever goes on after a
//! crash follows that task, and sends nothing twice.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::{FutureExt as _, StreamExt as _};
use http::StatusCode;
use nuncio_client::{Agent as Line, Error as ClientError, watch::Observer};
use nuncio_net::{Clock, Error as NetError};
use nuncio_protocol::{
    error::{Error, ErrorKind, reason},
    message::{Message, Role},
    operation::Operation,
    service::{CallContext, Caller, Event},
    state::TaskState,
    task::{StreamResponse, Task},
};
use nuncio_tasks::{
    agent::{Agent as TaskAgent, Cause, Conduct, Failure, Interrupted, Turn, Wait},
    engine::Tasks,
    output::{self, Output},
};
use tokio::time::{Instant, sleep, timeout};

use super::{
    brief::Brief,
    budget::Counters,
    lines::Lines,
    note::{Note, Stem, Wishes},
    observe::status,
    pull::{Desks, Handed},
    queue::{self, QUEUE, Queued, Queueing},
    runs,
    translate::Ours,
    turnstile::Turnstiles,
    way::{Happening, Opened, Way, not_a2a},
    wire::{Record, WIRE, Wires},
};
use crate::{
    agent::{Agent, Delivery},
    metrics::{A2aRequest, Direction, Metrics, Status},
};

/// Says on a card that its agent numbers events and knows keys.
pub(crate) const RESUME: &str = "urn:nuncio:extension:resume:v1";

/// How long to wait before an agent is looked for again that has gone away, first and at most.
pub(super) const FIRST_LOOK: Duration = Duration::from_millis(500);
pub(super) const LAST_LOOK: Duration = Duration::from_secs(15);

/// How many events of an agent are taken in a row before it is asked whether it is to stop.
const DEAF: u32 = 32;

/// Why there is nothing to cancel at the agent.
pub(super) const UNNAMED: &str = "the agent had named its task; it was hung up on";
pub(super) const UNASKED: &str = "the agent was asked";

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// How long an agent may be out of reach while it has a task of ours.
    pub(crate) lost: Duration,
    /// The longest turn for a caller that is an agent itself (MD-30).
    pub(crate) ceiling: Duration,
    /// How long an agent may take to end what was cancelled.
    pub(crate) cancel: Duration,
    /// How long a message waits for an agent that fetches its work (MD-33).
    pub(crate) fetch: Duration,
    /// How long an agent may be silent before it is looked whether it is still there (MD-30).
    pub(crate) silence: Duration,
}

/// Hands turns to agents elsewhere.
#[derive(Debug)]
pub(crate) struct Forwarder {
    pub(crate) lines: Arc<Lines>,
    pub(crate) turnstiles: Arc<Turnstiles>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) desks: Arc<Desks>,
    pub(crate) wires: Arc<Wires>,
    /// The engine, which is there before anybody has a turn.
    pub(crate) tasks: Arc<OnceLock<Tasks>>,
    pub(crate) patience: Patience,
    pub(crate) queueing: Queueing,
    pub(crate) metrics: Metrics,
}

impl TaskAgent for Forwarder {
    fn run(&self, turn: Turn, output: Output) -> impl Future<Output = Result<(), Failure>> + Send {
        // Made before anybody waits, so that what is kept for as long as the task is worked on has
        // no room for what it is made of.
        let forwarding = self.begin(turn, output);
        async move { forwarding?.run().await }
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

impl Forwarder {
    fn begin(&self, mut turn: Turn, output: Output) -> Result<Box<Forwarding<'_>>, Failure> {
        let place = &turn.place;
        let Some(agent) = self.lines.agent_at(place) else {
            return Err(Failure::new("the agent was removed from the directory"));
        };
        let caller = caller_of(place.caller.as_str());
        let context = turn.task.context_id.clone();
        let Some(context) = context else { return Err(Failure::new("a task has a context")) };
        let note = Note::read(turn.note.as_ref());
        let queued = queue::recall(&note, &mut turn);
        let wire = self.wires.of_turn(&turn, &caller);
        Ok(Box::new(Forwarding {
            ours: Ours { task: turn.task.id.clone(), context, others: Vec::new() },
            is_first: note.task.is_none(),
            note,
            stem: None,
            queued,
            wire,
            has_spoken: false,
            may_be_old: false,
            forwarder: self,
            agent,
            caller,
            turn,
            output,
        }))
    }
}

pub(super) struct Forwarding<'f> {
    pub(super) forwarder: &'f Forwarder,
    pub(super) agent: Arc<Agent>,
    pub(super) caller: Caller,
    pub(super) turn: Turn,
    pub(super) output: Output,
    pub(super) ours: Ours,
    pub(super) note: Note,
    /// The note without the number of the last event, for agents that number them.
    pub(super) stem: Option<Stem>,
    /// What is kept of the call while it waits, if it may.
    pub(super) queued: Option<Queued>,
    /// Where what goes over the wire is written down, if somebody wants to see it.
    wire: Option<Arc<Record>>,
    /// Whether the agent has never heard of the task.
    pub(super) is_first: bool,
    /// Whether our caller has been told anything.
    pub(super) has_spoken: bool,
    /// Whether a task that comes next may be as it was before our message.
    pub(super) may_be_old: bool,
}

/// Whether there is more to come.
#[derive(PartialEq, Eq)]
pub(super) enum Step {
    GoOn,
    Done,
}

/// What came of asking an agent to end its work.
enum Stopped {
    Ended,
    /// It needs a little longer.
    Soon,
    /// It goes on.
    Refused,
}

impl Forwarding<'_> {
    async fn run(mut self: Box<Self>) -> Result<(), Failure> {
        let outcome = match self.caller {
            Caller::Agent(_) => {
                // To wait for one's turn is no work.
                let waits = self.queued.as_ref().map(|_| self.forwarder.queueing.expiry);
                let ceiling = self.forwarder.patience.ceiling + waits.unwrap_or_default();
                // Boxed, so that there is room for the work once, and not for two kinds of it.
                Box::pin(timeout(ceiling, self.work())).await.unwrap_or_else(|_| {
                    let minutes = ceiling.as_secs() / 60;
                    Err(Failure::new(format!("the agent took longer than {minutes} minutes")))
                })
            }
            _ => self.work().await,
        };
        if outcome.is_err() && self.note.task.is_some() {
            // Nobody will look at what it does from now on.
            Box::pin(self.tell_to_stop()).await.ok();
        }
        outcome
    }

    async fn work(&mut self) -> Result<(), Failure> {
        let way = match self.way().await {
            Ok(way) => way,
            Err(error) => return self.give_up(queue::unsent(error)).await,
        };
        let is_known = self.note.task.is_some() || self.note.accepted.is_some();
        let may_repeat = self.is_unheard() && way.knows_keys() && self.recalls();
        match self.turn.cause {
            Cause::Message => self.pass_on(way).await,
            Cause::Interrupted if self.note.queued.is_some() => self.pass_on(way).await,
            Cause::Interrupted if may_repeat => self.pass_on(way).await,
            Cause::Interrupted if !is_known => {
                let text = "INTERRUPTED: the hub stopped while it handed the message over, and \
                            nobody knows whether the agent got it; send it again if that does \
                            no harm";
                Err(Failure::new(text))
            }
            Cause::Cancel if !is_known => match self.note.queued {
                Some(_) => self.stop_unheard(UNASKED).await,
                None => self.stop_unheard(UNNAMED).await,
            },
            Cause::Interrupted | Cause::WakeUp | Cause::Cancel => {
                let events = Box::pin(self.again(&way)).await;
                Box::pin(self.follow(&way, events)).await
            }
        }
    }

    /// Tells whether the agent may not have got the message.
    pub(super) fn is_unheard(&self) -> bool {
        self.note.accepted.as_deref() != Some(self.turn.message.message_id.as_str())
    }

    /// Learns from the note how the message was sent, if nobody has just sent it. Tells whether
    /// that is known.
    fn recalls(&mut self) -> bool {
        let (Some(wishes), Cause::Interrupted) = (&self.note.wishes, self.turn.cause) else {
            return true;
        };
        match wishes.restore(&self.turn.message, self.turn.asked.clone()) {
            Some(asked) => {
                self.turn.asked = asked;
                true
            }
            None => false,
        }
    }

    /// Writes down how a message was sent that goes to a task which is there, for whoever may
    /// have to send it again.
    pub(super) async fn keep_wishes(&mut self, way: &Way) -> Result<(), Failure> {
        if self.is_first || self.turn.cause != Cause::Message || !way.knows_keys() {
            return Ok(());
        }
        let wishes = Wishes::new(&self.turn.message, &self.turn.asked, way.streams());
        if wishes != self.note.wishes {
            self.note.wishes = wishes;
            self.output.note(self.note.write()).or_else(heard)?;
            self.output.flush().await.or_else(heard)?;
        }
        Ok(())
    }

    pub(super) async fn way(&self) -> Result<Way, Error> {
        let Forwarder { lines, desks, patience, .. } = self.forwarder;
        if self.agent.delivery == Delivery::Pull {
            return Ok(Way::Fetched(desks.of(&self.agent.id), patience.lost));
        }
        let behalf = self.note.behalf.as_deref().map(runs::caller_of);
        let line = lines.line(&self.agent, &self.caller, behalf.as_ref()).await?;
        Ok(Way::Called(match &self.wire {
            Some(record) => line.watched_by(Arc::clone(record) as Arc<dyn Observer>),
            None => line,
        }))
    }

    /// Hands the message to the agent, and what comes of it to our log.
    async fn pass_on(&mut self, way: Way) -> Result<(), Failure> {
        if !self.turn.message.reference_task_ids.is_empty()
            && let Err(error) = Box::pin(self.learn_references()).await
        {
            return self.give_up(error).await;
        }
        // The pass is held for as long as the agent works for us. Boxed: to deliver needs far more
        // memory than to follow, which may take days; and both need more than is worth moving
        // through all that waits for them.
        let delivered = Box::pin(self.deliver(way)).await?;
        let Some((_pass, way, opened)) = delivered else { return Ok(()) };
        Box::pin(self.go_on(&way, opened)).await
    }

    /// Takes in what the agent has answered with, and follows what goes on.
    async fn go_on(
        &mut self,
        way: &Way,
        opened: Result<Opened, ClientError>,
    ) -> Result<(), Failure> {
        let events = match opened {
            // The task says whether the message has got there.
            Err(error) if self.note.task.is_some() && !is_undone(&error) => {
                Box::pin(self.again(way)).await
            }
            Err(error) => return self.give_up_sending(error).await,
            Ok(Opened::Events(events)) => {
                self.may_be_old = !self.is_first;
                Ok(events)
            }
            Ok(Opened::Laid(handed)) => match self.wait_for_fetching(handed).await? {
                Some(events) => Ok(events),
                None => return Ok(()),
            },
            Ok(Opened::Whole(task)) => return self.take_whole(task).await,
            Ok(Opened::Unanswered) => {
                self.may_be_old = true;
                Box::pin(self.again(way)).await
            }
            Ok(Opened::Answer(response)) => match self.take(None, response).await? {
                Step::Done => return Ok(()),
                Step::GoOn => Box::pin(self.again(way)).await,
            },
        };
        self.follow(way, events).await
    }

    /// Sends the message. `None` if the work is to end, and nobody knows in time what the agent
    /// calls it.
    pub(super) async fn hand_over(&self, way: &Way) -> Option<Result<Opened, ClientError>> {
        let is_second = match self.brief_line(way) {
            Some(line) => match self.ask_briefly(line).await {
                Brief::Told(opened) => return Some(opened),
                Brief::Untold { may_be_there } => may_be_there,
            },
            None => false,
        };
        // Who cannot be followed is to answer before it is done, if our caller does not wait.
        let at_once = !way.streams() && way.can_be_asked() && self.turn.asked.wait != Wait::End;
        // Large: to open a stream takes more memory than to ask.
        let mut sending = Box::pin(self.send(way, at_once, is_second));
        let begun = Instant::now();
        let count = |error: Option<&ClientError>| {
            let Way::Called(line) = way else { return };
            let streams = way.streams();
            let operation =
                if streams { Operation::SendStreamingMessage } else { Operation::SendMessage };
            self.count(line, operation, begun, error);
        };
        tokio::select! {
            opened = &mut sending => {
                count(opened.as_ref().err());
                return Some(opened);
            }
            error = self.falls_silent() => {
                count(Some(&error));
                return Some(Err(error));
            }
            () = self.turn.cancelled() => {}
        }
        // Nearly all name the task in a moment, and can be told to stop then. Who answers when all
        // is done has it in a list at best.
        let is_silent = !way.streams() && !at_once;
        let naming = async {
            tokio::select! {
                biased;
                opened = &mut sending => {
                    count(opened.as_ref().err());
                    Some(opened)
                }
                found = Box::pin(self.find_unnamed(way)), if is_silent => {
                    Some(Ok(Opened::Answer(StreamResponse::Task(found?))))
                }
            }
        };
        match timeout(self.longest_naming(), naming).await.ok().flatten() {
            None if self.note.task.is_some() => Some(Ok(Opened::Unanswered)),
            opened => opened,
        }
    }

    /// Waits until an agent that has not answered is no longer there, as far as the directory
    /// knows: it may think for as long as it is (MD-30).
    async fn falls_silent(&self) -> ClientError {
        let limit = self.forwarder.patience.silence;
        loop {
            sleep(limit).await;
            let agent = self.forwarder.lines.agent(&self.agent.organisation, &self.agent.id);
            if !agent.is_some_and(|agent| agent.status.is_up()) {
                return ClientError::Net(NetError::Timeout { clock: Clock::Idle, limit });
            }
        }
    }

    /// Counts a message that was sent.
    pub(super) fn count(
        &self,
        line: &Line,
        operation: Operation,
        begun: Instant,
        error: Option<&ClientError>,
    ) {
        let status = match error {
            None => Status::Success,
            Some(error) => status(&error.clone().into()),
        };
        self.forwarder.metrics.a2a_request(&A2aRequest {
            direction: Direction::Sent,
            operation: Some(operation),
            form: line.interface().map(|interface| interface.form),
            status,
            duration: begun.elapsed(),
        });
    }

    /// Returns how long an agent may take to name a task that is to end: then there is still
    /// time to say so.
    fn longest_naming(&self) -> Duration {
        self.forwarder.patience.cancel / 2
    }

    /// Waits until the work is to end, and the agent has had its time to name it.
    async fn stays_unnamed(&self) {
        self.turn.cancelled().await;
        sleep(self.longest_naming()).await;
    }

    /// Waits until the agent fetches the message, and writes down that it has. `None` if it is
    /// over before.
    async fn wait_for_fetching(
        &mut self,
        mut handed: Handed,
    ) -> Result<Option<Happening>, Failure> {
        // Whoever follows the task sees it meanwhile.
        self.output.accept();
        let accepted = tokio::select! {
            accepted = handed.accepted(self.forwarder.patience.fetch) => accepted,
            () = self.turn.cancelled() => {
                self.stop_unheard("the agent had fetched it").await?;
                return Ok(None);
            }
        };
        match accepted {
            Ok(written) => {
                self.note.accepted = Some(self.turn.message.message_id.as_str().to_owned());
                // What the agent says about this message is numbered from the start.
                self.note.seen = None;
                self.output.note(self.note.write()).or_else(heard)?;
                self.output.flush().await.or_else(heard)?;
                written.tell();
                Ok(Some(handed.events(self.forwarder.patience.lost)))
            }
            Err(error) => {
                self.give_up(error.into()).await?;
                Ok(None)
            }
        }
    }

    /// Follows the agent's task from where our log ends.
    async fn again(&mut self, way: &Way) -> Result<Happening, ClientError> {
        let known = Ours::theirs(&self.turn.task, &self.note);
        way.again(self.context(), &self.ours.task, known.as_ref(), self.note.seen).await
    }

    /// Writes down what happens at the agent, until it has no more to say.
    async fn follow(
        &mut self,
        way: &Way,
        events: Result<Happening, ClientError>,
    ) -> Result<(), Failure> {
        let mut events = match events {
            Ok(events) => events,
            Err(error) => return self.give_up_following(error).await,
        };
        let mut lost: Option<Instant> = None;
        let mut pause = FIRST_LOOK;
        let mut is_told = false;
        let mut taken = 0;
        loop {
            let is_named = self.note.task.is_some() || matches!(way, Way::Fetched(..));
            // What has come is taken without listening for a cancel, which costs as much as to
            // take it; but behind so many, however fast they come.
            let event = if taken == DEAF && is_named && !is_told && self.is_cancelled() {
                None
            } else {
                tokio::select! {
                    biased;
                    event = events.next() => Some(event),
                    () = self.turn.cancelled(), if is_named && !is_told => None,
                    () = self.stays_unnamed(), if !is_named => {
                        return self.stop_unheard(UNNAMED).await;
                    }
                }
            };
            taken = if taken == DEAF { 0 } else { taken + 1 };
            let Some(event) = event else {
                // Rare and large, as is to follow again.
                match Box::pin(self.stop(way)).await? {
                    Stopped::Ended => return Ok(()),
                    // Its events say when it has ended.
                    Stopped::Soon => is_told = true,
                    Stopped::Refused => {}
                }
                continue;
            };
            let error = match event {
                Some(Ok(Event { seq, response })) => {
                    (lost, pause) = (None, FIRST_LOOK);
                    if seq.is_some() && seq <= self.note.seen {
                        // Brought twice, by an agent that was not told that it was taken.
                        continue;
                    }
                    let step = match response.into_value() {
                        Ok(response) => self.take(seq, response).await?,
                        Err(error) => {
                            return self.give_up_following(not_a2a(&error.to_string())).await;
                        }
                    };
                    if matches!(way, Way::Fetched(..)) {
                        // Whoever has brought it is told that it is safe.
                        self.output.flush().await.or_else(heard)?;
                    }
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
                return self.give_up_following(error).await;
            }
            tracing::debug!(agent = %self.agent.id, %error, "an agent is out of reach");
            tokio::select! {
                () = sleep(pause) => {}
                () = self.turn.cancelled(), if !is_told => {}
            }
            pause = (pause * 2).min(LAST_LOOK);
            events = match Box::pin(self.again(way)).await {
                Ok(events) => events,
                Err(error) => return self.give_up_following(error).await,
            };
        }
    }

    fn is_cancelled(&self) -> bool {
        self.turn.cancelled().now_or_never().is_some()
    }

    /// Tells the agent that its work is to end.
    async fn stop(&mut self, way: &Way) -> Result<Stopped, Failure> {
        let refused = match self.tell_to_stop_by(way).await {
            Ok(Some(task)) if task.status.state.is_terminal() => {
                self.take(None, StreamResponse::Task(task)).await?;
                return Ok(Stopped::Ended);
            }
            Ok(_) => return Ok(Stopped::Soon),
            Err(ClientError::Peer(error)) if error.kind() == ErrorKind::TaskNotFound => {
                self.output.status(TaskState::Canceled, None).await.or_else(heard)?;
                return Ok(Stopped::Ended);
            }
            Err(error) => error,
        };
        let error = Error::from(refused);
        self.output.keep_on(error.message()).await.or_else(heard)?;
        Ok(Stopped::Refused)
    }

    async fn tell_to_stop(&mut self) -> Result<Option<Task>, ClientError> {
        let way = self.way().await.map_err(ClientError::Peer)?;
        self.tell_to_stop_by(&way).await
    }

    async fn tell_to_stop_by(&mut self, way: &Way) -> Result<Option<Task>, ClientError> {
        let metadata = self.turn.cancel_metadata();
        way.cancel(self.context(), &self.ours.task, self.note.task(), metadata).await
    }

    /// Ends a task that the agent has not named, and that was not found: all we can do is hang up.
    pub(super) async fn stop_unheard(&self, before: &str) -> Result<(), Failure> {
        let text = Message::agent(format!("canceled before {before}"));
        self.output.status(TaskState::Canceled, Some(text)).await.or_else(heard)
    }

    /// Says that the message could not be handed over.
    async fn give_up_sending(&self, error: ClientError) -> Result<(), Failure> {
        // After a crash nobody knows what became of the first time.
        if is_undone(&error) && self.turn.cause == Cause::Message {
            return self.give_up(queue::explained(error)).await;
        }
        let error = told(queue::explained(error), &self.agent);
        let text = format!("{}; nobody knows whether the agent got the message", error.message());
        let error = error.with_message(text);
        self.output.refuse_for_good(error, TaskState::Failed).await.or_else(heard)
    }

    /// Says that nobody knows any more what the agent does.
    async fn give_up_following(&self, error: ClientError) -> Result<(), Failure> {
        if self.is_unheard() {
            return self.give_up_sending(error).await;
        }
        let error = told(error.into(), &self.agent);
        let text = format!("the agent can no longer be followed: {}", error.message());
        // It is about a task that the agent itself has named: the caller asked for nothing wrong.
        let error = if is_callers(error.kind()) {
            Error::new(ErrorKind::InvalidAgentResponse, text)
        } else {
            error.with_message(text)
        };
        self.give_up(error).await
    }

    /// Says that it does not go on, and why: to whoever waits, or in the task.
    pub(super) async fn give_up(&self, error: Error) -> Result<(), Failure> {
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

    pub(super) fn context(&self) -> CallContext {
        let Turn { asked, message, task, .. } = &self.turn;
        // Callers use the identifier of a message again, also within a task.
        let said = task.history.iter().filter(|message| message.role == Role::User).count();
        let key = format!("{}:{said}:{}", self.ours.task, message.message_id);
        // What is meant for us is no wish to the agent.
        let ours = |uri: &str| [QUEUE, WIRE].contains(&uri);
        let extensions = asked.extensions.iter().filter(|uri| !ours(uri)).cloned().collect();
        CallContext {
            priority: asked.priority,
            trace: asked.trace.clone(),
            extensions,
            idempotency_key: Some(key),
            waited_until: asked.deadline,
            parent: Some(self.ours.task.clone()),
            ..CallContext::new(self.caller.clone())
        }
    }
}

/// An agent that says what may not follow is not heard; everything else ends the work.
pub(super) fn heard(error: output::Error) -> Result<(), Failure> {
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
pub(super) fn told(error: Error, agent: &Agent) -> Error {
    match error.kind() {
        ErrorKind::Unauthenticated => {
            let text = format!("agent `{}` did not accept the hub's credential", agent.name);
            Error::new(ErrorKind::Unavailable, text).with_reason(reason::AGENT_UNAVAILABLE)
        }
        _ => error,
    }
}

/// Tells whether a message has surely not been acted on.
pub(super) fn is_undone(error: &ClientError) -> bool {
    match error {
        ClientError::Peer(error) => {
            is_callers(error.kind()) || error.kind() == ErrorKind::Unavailable
        }
        ClientError::Status { status, .. } => {
            status.is_client_error() || *status == StatusCode::SERVICE_UNAVAILABLE
        }
        error => error.is_unsent(),
    }
}

/// Tells whether it is for the caller to mend what is wrong.
pub(super) const fn is_callers(kind: ErrorKind) -> bool {
    !matches!(
        kind,
        ErrorKind::Internal
            | ErrorKind::InvalidAgentResponse
            | ErrorKind::Unavailable
            | ErrorKind::Timeout
            | ErrorKind::Other(_)
    )
}

/// Reads the name under which a caller's tasks are kept.
fn caller_of(name: &str) -> Caller {
    match name.split_once(':') {
        Some(("agent", id)) => Caller::Agent(id.into()),
        Some(("user", name)) => Caller::User(name.into()),
        _ => Caller::Anonymous,
    }
}
