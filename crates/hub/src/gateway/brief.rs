//! Messages of those who wait for the end, to agents that are done in a moment.
//!
//! A stream costs several times what one answer does, so whoever only waits for the end is spared
//! it: the agent is asked for its answer first. If that takes longer than a moment, nobody waits
//! for it, and the stream is opened under the same key. To the agent both are one message, and the
//! stream tells its task from the beginning; so progress, cancels and crashes are as with every
//! other stream. That is for agents that know keys, and nobody else is asked twice.
//!
//! Invariant: the two requests are the same, and so is that of whoever sends the message again
//! after a crash. Agents compare what comes under one key.

use std::time::Duration;

use http::StatusCode;
use nuncio_client::{Agent as Line, Error as ClientError};
use nuncio_net::{Clock, Error as NetError};
use nuncio_protocol::{
    error::ErrorKind,
    ids::MessageId,
    message::Role,
    operation::{Operation, Request, SendMessageRequest},
    state::TaskState,
    task::{StreamResponse, Task, TaskStatus, TaskStatusUpdateEvent},
};
use nuncio_tasks::agent::{Failure, Wait};
use tokio::time::{Instant, sleep};

use super::{
    forward::{FIRST_LOOK, Forwarding, LAST_LOOK, is_callers, is_undone},
    translate::{Reply, outward},
    way::{Opened, Way, answer},
};

/// How long an answer is waited for before the stream is opened. Long enough for agents that call
/// no model, and short for whoever follows a task of others: they see nothing of it before.
const MOMENT: Duration = Duration::from_millis(200);

/// How many messages of a task are asked for that is not new: more than most agents say in a
/// moment. If ours is not among them, the stream tells what was said.
const RECENT: i32 = 16;

/// What came of asking an agent for its answer.
pub(super) enum Brief {
    /// It is there.
    Told(Result<Opened, ClientError>),
    /// The stream has to tell it: there is no answer yet, or it leaves something out, or the work
    /// is to end.
    Untold {
        /// Whether the agent may have got the message.
        may_be_there: bool,
    },
}

impl Forwarding<'_> {
    /// Returns the line to an agent that may be asked for its answer before its stream is opened.
    pub(super) fn brief_line<'w>(&self, way: &'w Way) -> Option<&'w Line> {
        let Way::Called(line) = way else { return None };
        let waits = self.turn.asked.wait == Wait::End;
        (waits && tells_all(way) && line.is_proven()).then_some(line)
    }

    /// Waits a moment for the agent's answer.
    pub(super) async fn ask_briefly(&self, line: &Line) -> Brief {
        let request = self.request(Reply { at_once: false, history: self.history() });
        let begun = Instant::now();
        // Boxed, as it is far larger than all that waits for it.
        let answered =
            Box::pin(line.call_briefly(self.context(), Request::SendMessage(request), MOMENT));
        let answered = tokio::select! {
            biased;
            answered = answered => answered,
            () = self.turn.cancelled() => return Brief::Untold { may_be_there: true },
        };
        let answer = match answered {
            Ok(Some(answered)) => answer(answered),
            Ok(None) => return Brief::Untold { may_be_there: true },
            Err(error) => Err(error),
        };
        let opened = match answer {
            Ok(StreamResponse::Task(task)) => match self.whole(task) {
                Ok(task) => Ok(Opened::Whole(task)),
                Err(_) => return Brief::Untold { may_be_there: true },
            },
            Ok(response) => Ok(Opened::Answer(response)),
            // It is tried again, and proves better who calls.
            Err(error) if error.is_unsent() || error.is_unauthenticated() => {
                return Brief::Untold { may_be_there: false };
            }
            Err(error) if error.is_failure_of_peer() && !is_undone(&error) => {
                return Brief::Untold { may_be_there: true };
            }
            Err(error) => Err(error),
        };
        self.count(line, Operation::SendMessage, begun, opened.as_ref().err());
        Brief::Told(opened)
    }

    /// Sends the message, for the first or the second time. After a first time that nobody knows
    /// the end of, an agent that is away is waited for as if it had named its task.
    pub(super) async fn send(
        &self,
        way: &Way,
        at_once: bool,
        is_second: bool,
    ) -> Result<Opened, ClientError> {
        // Who cannot stream tells all when it is done, or nobody hears it.
        let is_told = tells_all(way) || matches!(way, Way::Called(_)) && !way.streams();
        let history = if is_told { self.history() } else { Some(0) };
        let since = Instant::now();
        let mut pause = FIRST_LOOK;
        let mut resumes = 0;
        loop {
            let request = self.request(Reply { at_once, history });
            let error = match way.send(self.context(), &self.ours.task, request).await {
                Err(error) if is_second && !is_refusal(&error) => error,
                Ok(Opened::Answer(StreamResponse::Task(task))) => {
                    return Ok(self.whole(task).map_or_else(
                        |task| Opened::Answer(StreamResponse::Task(*task)),
                        Opened::Whole,
                    ));
                }
                sent => return sent,
            };
            let is_lost = since.elapsed() >= self.forwarder.patience.lost;
            if is_lost || !is_passing(&error) {
                // Whatever became of this one, the first may have got there.
                return Err(ClientError::Interrupted { resumes, last: Box::new(error) });
            }
            sleep(pause).await;
            pause = (pause * 2).min(LAST_LOOK);
            resumes += 1;
        }
    }

    /// Leaves nothing in a task's history but what was said since our message, if the task tells
    /// that.
    fn whole(&self, task: Task) -> Result<Task, Box<Task>> {
        since(task, &self.turn.message.message_id)
    }

    fn request(&self, reply: Reply) -> SendMessageRequest {
        let message = self.turn.message.clone();
        outward(message, &self.ours, &self.note, &self.turn.asked, reply)
    }

    /// Returns how many messages of the task an agent is to tell that may be asked briefly: so
    /// many that nothing is missing which it has said since.
    fn history(&self) -> Option<i32> {
        (!self.is_first).then_some(RECENT)
    }

    /// Takes in a task that has ended or asks, and what was said before that.
    pub(super) async fn take_whole(&mut self, mut task: Task) -> Result<(), Failure> {
        // It stands behind events whose numbers nobody has told.
        self.note.seen = None;
        for message in std::mem::take(&mut task.history) {
            let Some(context_id) = task.context_id.clone() else { break };
            let status = TaskStatus {
                state: TaskState::Working,
                message: Some(Box::new(message)),
                timestamp: task.status.timestamp,
            };
            let task_id = task.id.clone();
            let update = TaskStatusUpdateEvent { task_id, context_id, status, metadata: None };
            self.take(None, StreamResponse::StatusUpdate(update)).await?;
        }
        self.take(None, StreamResponse::Task(task)).await?;
        Ok(())
    }
}

/// Tells whether an agent is asked for what it said, as well as for what came of it. Nobody else
/// is: we have said it, and keep it ourselves.
fn tells_all(way: &Way) -> bool {
    matches!(way, Way::Called(_)) && way.streams() && way.knows_keys()
}

/// Leaves nothing in a task's history but what the agent has said since a message. The task as it
/// is if it does not tell that, or goes on.
fn since(mut task: Task, message: &MessageId) -> Result<Task, Box<Task>> {
    // One that waits for a login may go on by itself, and is followed by the numbers of events.
    let state = task.status.state;
    let is_over = state.is_terminal() || state == TaskState::InputRequired;
    let ours = task.history.iter().rposition(|said| said.message_id == *message);
    let Some(ours) = ours.filter(|_| is_over && task.context_id.is_some()) else {
        return Err(Box::new(task));
    };
    task.history.drain(..=ours);
    let last = task.status.message.as_ref().map(|message| &message.message_id);
    task.history.retain(|said| said.role == Role::Agent && Some(&said.message_id) != last);
    Ok(task)
}

/// Tells whether an agent that knows keys has refused a message, whichever request brought it: had
/// it taken the first, it would have told of that. Who asks, and how often, may be judged before
/// the key is looked for.
fn is_refusal(error: &ClientError) -> bool {
    let ClientError::Peer(error) = error else { return false };
    let is_about_asking = matches!(
        error.kind(),
        ErrorKind::Unauthenticated
            | ErrorKind::PermissionDenied
            | ErrorKind::RateLimited
            | ErrorKind::BudgetExceeded
    );
    is_callers(error.kind()) && !is_about_asking
}

/// Tells whether the same may fare better a while later.
fn is_passing(error: &ClientError) -> bool {
    match error {
        // It is there, and had its time.
        ClientError::Net(NetError::Timeout { clock, .. }) => {
            matches!(clock, Clock::Resolve | Clock::Connect)
        }
        ClientError::Status { status, .. } if *status == StatusCode::TOO_MANY_REQUESTS => true,
        ClientError::Peer(error) if error.kind() == ErrorKind::RateLimited => true,
        ClientError::BreakerOpen { .. } => true,
        error => error.is_failure_of_peer(),
    }
}
