//! Calls that wait for a busy agent, of callers who rather have them kept than refused.
//!
//! Such a call is a task that has not begun, and its lease is that of the queue. Its note says
//! that the agent has never seen the message, and how it was sent; whoever goes on after a crash
//! lines it up again. Before the message is sent, the note no longer says so, and that is on
//! disk: from then on nobody sends it a second time.

use std::{collections::BTreeSet, time::Duration};

use http::StatusCode;
use nuncio_client::Error as ClientError;
use nuncio_protocol::{
    error::{Error, ErrorKind, reason},
    json::{Object, Raw},
    message::Message,
    service::{Priority, TraceContext},
    task::Task,
    time::Timestamp,
};
use nuncio_tasks::{
    agent::{Asked, Failure, Turn, Wait},
    output,
};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::{
    forward::{Forwarding, UNASKED, UNNAMED, heard},
    lines::NO_ADDRESS,
    note::{Note, Wishes},
    runs,
    turnstile::Pass,
    way::{Opened, Way},
};

/// By which a caller says that it rather has a call kept than refused.
pub(crate) const QUEUE: &str = "urn:nuncio:extension:queue:v1";

/// The member of a status message's metadata that says that a task waits for its agent.
const QUEUED: &str = "queued";

/// Says in the details of an error whether the agent has got the message: `none`, `unknown` or
/// `confirmed`.
pub(crate) const DELIVERY: &str = "delivery";

/// Says in the details of an error with which status of HTTP the agent has answered.
pub(crate) const UPSTREAM_STATUS: &str = "upstreamStatus";

/// The shortest pause before a busy agent is tried again.
const SHORTEST: Duration = Duration::from_secs(1);

/// How calls wait for busy agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queueing {
    /// How often a call is handed to an agent that has too much to do (MD-33).
    pub attempts: u32,
    /// How long a call waits at most.
    pub expiry: Duration,
    /// When an agent that has not said when is tried again, the first time (MD-32).
    pub busy: Duration,
    /// When an agent is tried again that was not reached, if nobody waits (MD-35).
    pub unreached: Duration,
}

impl Default for Queueing {
    fn default() -> Self {
        Self {
            attempts: 5,
            expiry: Duration::from_secs(3_600),
            busy: Duration::from_secs(30),
            unreached: Duration::from_secs(8),
        }
    }
}

/// A call that may wait: how it was sent, and what it has been through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queued {
    /// When it came, in milliseconds since 1970.
    since: i64,
    /// How often the agent had too much to do for it.
    attempts: u32,
    /// Whether it was tried again because the agent was not reached.
    repeated: bool,
    priority: String,
    extensions: BTreeSet<String>,
    trace: Option<(String, String)>,
    wishes: Option<Wishes>,
    /// Whether its caller knows that it waits.
    #[serde(skip, default = "yes")]
    told: bool,
}

/// Whoever reads a call from a note has told its caller, or will never.
const fn yes() -> bool {
    true
}

/// Returns what is to be kept of a call while it waits, if its caller wants that; and says again
/// how it was sent, if it waited before.
pub(crate) fn recall(note: &Note, turn: &mut Turn) -> Option<Queued> {
    let Some(queued) = &note.queued else {
        return turn.asked.extensions.contains(QUEUE).then(|| Queued::new(turn));
    };
    let Queued { priority, extensions, trace, wishes, .. } = queued;
    let asked = Asked {
        extensions: extensions.clone(),
        priority: Priority::from_name(priority).unwrap_or_default(),
        trace: trace.clone().map(|(parent, state)| TraceContext { parent, state }),
        ..Asked::default()
    };
    turn.asked = match wishes {
        Some(wishes) => wishes.restore(&turn.message, asked.clone()).unwrap_or(asked),
        None => asked,
    };
    Some(queued.clone())
}

impl Queued {
    fn new(turn: &Turn) -> Self {
        let Asked { extensions, priority, trace, .. } = &turn.asked;
        Self {
            since: Timestamp::now().as_millis(),
            attempts: 0,
            repeated: false,
            priority: name(*priority).to_owned(),
            extensions: extensions.clone(),
            trace: trace.as_ref().map(|trace| (trace.parent.clone(), trace.state.clone())),
            wishes: Wishes::new(&turn.message, &turn.asked, false),
            told: false,
        }
    }

    fn waited(&self) -> Duration {
        let millis = Timestamp::now().as_millis().saturating_sub(self.since);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    fn is_cut(&self) -> bool {
        self.wishes.as_ref().is_some_and(Wishes::is_cut)
    }
}

/// Tells how many calls wait with a task, this one included, if it waits for its agent.
pub(crate) fn depth(task: &Task) -> Option<u64> {
    let metadata = task.status.message.as_ref()?.metadata.as_ref()?;
    metadata.get(QUEUED)?.parse().ok()
}

/// What becomes of a call that the agent has not answered.
enum Verdict {
    /// It waits for an agent that has enough to do, and is tried again after a while.
    Busy(Duration),
    /// It is tried again: the agent has surely not got it.
    Again(Duration),
    /// It was tried so many times.
    GivenUp(u32),
    Final,
}

/// A message that was handed over, and what came of that.
type Delivered = (Pass, Way, Result<Opened, ClientError>);

impl Forwarding<'_> {
    /// Waits for the turn of a call and hands its message over. `None` if it is over before that:
    /// the caller, or the task, has been told why.
    pub(super) async fn deliver(&mut self, mut way: Way) -> Result<Option<Delivered>, Failure> {
        loop {
            let Some(pass) = self.turn_comes(&mut way).await? else { return Ok(None) };
            self.keep_wishes(&way).await?;
            let Some(opened) = self.hand_over(&way).await else {
                self.stop_unheard(UNNAMED).await?;
                return Ok(None);
            };
            let verdict = opened.as_ref().err().map_or(Verdict::Final, |error| self.verdict(error));
            match verdict {
                Verdict::Busy(pause) => pass.refused(pause),
                Verdict::Again(pause) => {
                    drop(pass);
                    let text = "the agent cannot be reached; it is tried again";
                    if !self.keep(text.to_owned(), 0).await? || !self.rest(pause).await? {
                        return Ok(None);
                    }
                }
                Verdict::GivenUp(attempts) => {
                    self.give_up(busy(format!("the agent was busy {attempts} times"))).await?;
                    return Ok(None);
                }
                Verdict::Final => return Ok(Some((pass, way, opened))),
            }
        }
    }

    /// Waits until the agent can take the call. `None` if it is over before.
    async fn turn_comes(&mut self, way: &mut Way) -> Result<Option<Pass>, Failure> {
        let forwarder = self.forwarder;
        let waited = self.queued.as_ref().map_or(Duration::ZERO, Queued::waited);
        let priority = self.turn.asked.priority;
        let own = forwarder.counters.tasks_for(self.agent.name.as_str());
        let own = own.and_then(|own| usize::try_from(own).ok());
        let agent = (&self.agent.id, own);
        let line = match forwarder.turnstiles.line_up(agent, priority, waited) {
            Ok(line) => line,
            Err(full) => {
                self.give_up(busy(full.to_string())).await?;
                return Ok(None);
            }
        };
        let longest = match self.queued {
            Some(_) => forwarder.queueing.expiry.saturating_sub(waited),
            None => forwarder.turnstiles.longest_wait(),
        };
        if line.depth > 0 && self.queued.is_some() {
            let depth = line.depth;
            let text = format!("the agent is busy; {depth} calls wait for it, this one included");
            if !self.keep(text, depth).await? {
                return Ok(None);
            }
        }
        let pass = tokio::select! {
            pass = line.turn(longest) => pass,
            () = self.turn.cancelled() => {
                self.stop_unheard(UNASKED).await?;
                return Ok(None);
            }
        };
        match pass {
            Ok(pass) if self.note.queued.is_none() => Ok(Some(pass)),
            Ok(pass) => Ok(self.leave_queue(way).await?.then_some(pass)),
            Err(waited) => {
                self.give_up(busy(waited.to_string())).await?;
                Ok(None)
            }
        }
    }

    /// Writes down that the call waits, and tells whoever waits for it. `false` if that cannot
    /// be: then it is over.
    async fn keep(&mut self, text: String, depth: usize) -> Result<bool, Failure> {
        self.note.queued.clone_from(&self.queued);
        let noted = match &self.queued {
            Some(queued) if queued.is_cut() => Err(output::Error::NoteTooLarge { bytes: 0 }),
            _ => self.output.note(self.note.write()),
        };
        match noted {
            Err(output::Error::NoteTooLarge { .. }) => {
                self.note.queued = None;
                let text = format!("{text}; with so much metadata the call cannot be kept");
                self.give_up(busy(text)).await?;
                return Ok(false);
            }
            noted => noted.or_else(heard)?,
        }
        let is_told =
            self.queued.as_mut().is_some_and(|queued| std::mem::replace(&mut queued.told, true));
        if is_told {
            self.output.flush().await.or_else(heard)?;
            return Ok(true);
        }
        let mut why = Message::agent(text);
        let depth = Raw::from_value(&depth).unwrap_or_else(|_| Raw::bool(true));
        why.metadata = Some(Object::from_members([(QUEUED, depth)]));
        self.output.postpone(why).await.or_else(heard)?;
        Ok(true)
    }

    /// Writes down that the call waits no longer: whatever happens from now on, it is not sent
    /// by anybody else. `false` if it cannot be sent any more.
    async fn leave_queue(&mut self, way: &mut Way) -> Result<bool, Failure> {
        // Much can have changed meanwhile: where the agent is, and who may call it.
        let organisation = self.agent.organisation.clone();
        let lines = &self.forwarder.lines;
        let Some(agent) = lines.agent(&organisation, &self.agent.id) else {
            return Err(Failure::new("the agent was removed from the directory"));
        };
        self.agent = agent;
        let asked = self.turn.asked.metadata.as_ref();
        let metadata = [self.turn.message.metadata.as_ref(), asked];
        let behalf = self.note.behalf.as_deref().map(runs::caller_of);
        let may = lines.may_send(&self.agent, &self.caller, metadata).or_else(|error| {
            let behalf = behalf.as_ref().ok_or(error)?;
            lines.may_send(&self.agent, behalf, metadata)
        });
        if let Err(error) = may {
            self.give_up(error).await?;
            return Ok(false);
        }
        *way = match self.way().await {
            Ok(way) => way,
            Err(error) => {
                self.give_up(unsent(error)).await?;
                return Ok(false);
            }
        };
        if let Some(queued) = self.note.queued.take().filter(|_| way.knows_keys()) {
            self.note.wishes = queued.wishes;
        }
        self.output.note(self.note.write()).or_else(heard)?;
        self.output.flush().await.or_else(heard)?;
        Ok(true)
    }

    /// Waits. `false` if the task was cancelled meanwhile.
    async fn rest(&mut self, pause: Duration) -> Result<bool, Failure> {
        tokio::select! {
            () = sleep(pause) => Ok(true),
            () = self.turn.cancelled() => {
                self.stop_unheard(UNASKED).await?;
                Ok(false)
            }
        }
    }

    fn verdict(&mut self, error: &ClientError) -> Verdict {
        let queueing = self.forwarder.queueing;
        let waits = self.turn.asked.wait != Wait::Nothing;
        let Some(queued) = &mut self.queued else { return Verdict::Final };
        if is_busy(error) {
            queued.attempts += 1;
            if queued.attempts >= queueing.attempts {
                return Verdict::GivenUp(queued.attempts);
            }
            let first = error.retry_after().unwrap_or(queueing.busy);
            // Who says "at once" and means it is not busy.
            let first = first.max(queueing.busy.min(SHORTEST));
            return Verdict::Busy(first.saturating_mul(1 << (queued.attempts - 1).min(16)));
        }
        let is_passing = match error {
            ClientError::Net(error) => error.is_retryable(),
            ClientError::BreakerOpen { .. } => true,
            _ => false,
        };
        let nobody_waits = !waits || queued.told;
        if is_passing && nobody_waits && !std::mem::replace(&mut queued.repeated, true) {
            return Verdict::Again(queueing.unreached);
        }
        Verdict::Final
    }
}

/// Tells whether an agent says that it has too much to do, and has not done anything.
///
/// A bare 503 does not say so: what stands before an agent answers so, too, when the agent goes
/// away in the middle of its work.
fn is_busy(error: &ClientError) -> bool {
    match error {
        ClientError::Status { status, retry_after, snippet } => match *status {
            StatusCode::TOO_MANY_REQUESTS => true,
            StatusCode::SERVICE_UNAVAILABLE => {
                let says: String = snippet.split_whitespace().collect();
                retry_after.is_some() || says.contains("\"busy\":true")
            }
            _ => false,
        },
        ClientError::Peer(error) => match error.kind() {
            ErrorKind::RateLimited => true,
            ErrorKind::Unavailable => error.retry_after().is_some(),
            _ => false,
        },
        _ => false,
    }
}

fn busy(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unavailable, text)
        .with_reason(reason::AGENT_BUSY)
        .with_retry_after(Queueing::default().busy)
}

/// Says to our caller that nothing was sent, because there is no way to the agent.
pub(super) fn unsent(error: Error) -> Error {
    match error.reason() {
        NO_ADDRESS => error,
        _ => error.with_metadata(DELIVERY, "none"),
    }
}

/// Says to our caller what went wrong, and whether the agent has got the message.
pub(super) fn explained(error: ClientError) -> Error {
    let status = match &error {
        ClientError::Status { status, .. }
        | ClientError::NotA2a { status, .. }
        | ClientError::Redirected { status, .. }
        | ClientError::BrokenOff { status, .. } => Some(*status),
        _ => None,
    };
    let delivery = match &error {
        // It speaks for itself.
        ClientError::Peer(_) => return error.into(),
        error if error.is_unsent() => "none",
        ClientError::Net(_) | ClientError::Cut { .. } | ClientError::Interrupted { .. } => {
            "unknown"
        }
        _ => "confirmed",
    };
    let error = Error::from(error).with_metadata(DELIVERY, delivery);
    match status {
        Some(status) => error.with_metadata(UPSTREAM_STATUS, status.as_str()),
        None => error,
    }
}

const fn name(priority: Priority) -> &'static str {
    match priority {
        Priority::Low => "low",
        Priority::Normal => "normal",
        Priority::High => "high",
    }
}
