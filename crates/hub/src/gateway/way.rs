//! How a message gets to an agent, and what comes of it back: the hub calls, or the agent comes.

use std::{sync::Arc, time::Duration};

use futures_util::stream::{BoxStream, StreamExt as _};
use nuncio_client::{Agent as Line, Error as ClientError};
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::TaskId,
    json::Object,
    operation::{CancelTaskRequest, Operation, Request, SendMessageRequest},
    service::{Answered, CallContext, Event},
    task::{SendMessageResponse, StreamResponse, Task},
};

use super::{
    lines::knows_keys,
    pull::{Desk, Handed},
};

/// What happens at an agent.
pub(crate) type Happening = BoxStream<'static, Result<Event, ClientError>>;

/// How an agent is reached.
#[derive(Debug)]
pub(crate) enum Way {
    /// It is called.
    Called(Line),
    /// It fetches its work, and may be silent for so long.
    Fetched(Arc<Desk>, Duration),
}

/// What the agent has answered with.
pub(crate) enum Opened {
    /// Events that go on.
    Events(Happening),
    /// All it says for now.
    Answer(StreamResponse),
    /// A task that has ended or asks, with nothing in its history but what was said since our
    /// message.
    Whole(Task),
    /// It will fetch it.
    Laid(Handed),
    /// Nothing yet, and the task is to end, whose name is known.
    Unanswered,
}

impl Way {
    /// Tells whether a message that is sent again under the same key does no harm.
    pub(crate) fn knows_keys(&self) -> bool {
        match self {
            Self::Called(line) => knows_keys(&line.found().card),
            // Nothing is done before it was accepted, and that is written down.
            Self::Fetched(..) => true,
        }
    }

    /// Tells whether the agent streams.
    pub(crate) fn streams(&self) -> bool {
        match self {
            Self::Called(line) => {
                line.found().card.capabilities.streaming == Some(true)
                    && can_say(line, Operation::SendStreamingMessage)
            }
            Self::Fetched(..) => true,
        }
    }

    /// Tells whether the agent can be asked how a task is.
    pub(crate) fn can_be_asked(&self) -> bool {
        match self {
            Self::Called(line) => can_say(line, Operation::GetTask),
            Self::Fetched(..) => false,
        }
    }

    /// Returns the line to an agent that can be asked which tasks it has.
    pub(crate) fn lists(&self) -> Option<&Line> {
        match self {
            Self::Called(line) => can_say(line, Operation::ListTasks).then_some(line),
            Self::Fetched(..) => None,
        }
    }

    /// Sends a message. The agent's first answer is waited for.
    pub(crate) async fn send(
        &self,
        ctx: CallContext,
        ours: &TaskId,
        request: SendMessageRequest,
    ) -> Result<Opened, ClientError> {
        let line = match self {
            Self::Fetched(desk, _) => return Ok(Opened::Laid(desk.offer(ours.clone(), request))),
            Self::Called(line) => line,
        };
        if self.streams() {
            let events = line.stream(ctx, Request::SendStreamingMessage(request)).await?;
            return Ok(Opened::Events(events.boxed()));
        }
        let answered = line.call(ctx, Request::SendMessage(request)).await?;
        answer(answered).map(Opened::Answer)
    }

    /// Follows a task from where it is known.
    pub(crate) async fn again(
        &self,
        ctx: CallContext,
        ours: &TaskId,
        known: Option<&Task>,
        seen: Option<u64>,
    ) -> Result<Happening, ClientError> {
        match (self, known) {
            (Self::Fetched(desk, patience), _) => Ok(desk.expect(ours.clone()).events(*patience)),
            (Self::Called(line), Some(known)) => {
                Ok(line.follow(ctx, known, seen, !self.streams()).await?.boxed())
            }
            (Self::Called(_), None) => {
                Err(not_a2a("the stream ended before the agent had named its task"))
            }
        }
    }

    /// Asks for a task to end. `None` if the agent says so later by its events.
    pub(crate) async fn cancel(
        &self,
        ctx: CallContext,
        ours: &TaskId,
        theirs: Option<TaskId>,
        metadata: Option<Object>,
    ) -> Result<Option<Task>, ClientError> {
        let line = match self {
            Self::Fetched(desk, _) => {
                let is_told = desk.cancel(ours);
                return if is_told { Ok(None) } else { Err(not_a2a("nobody works on it")) };
            }
            Self::Called(line) => line,
        };
        let Some(id) = theirs else {
            return Err(not_a2a("the agent has not named its task"));
        };
        let request = CancelTaskRequest { tenant: None, id, metadata };
        match line.call(ctx, Request::CancelTask(request)).await? {
            Answered::Task(task) => {
                task.into_value().map(Some).map_err(|error| not_a2a(&error.to_string()))
            }
            _ => Err(unexpected()),
        }
    }
}

/// Returns what the agent has answered a message with.
pub(super) fn answer(answered: Answered) -> Result<StreamResponse, ClientError> {
    match answered {
        Answered::SendMessage(answer) => {
            let answer = answer.into_value().map_err(|error| not_a2a(&error.to_string()))?;
            Ok(match answer {
                SendMessageResponse::Message(message) => StreamResponse::Message(message),
                SendMessageResponse::Task(task) => StreamResponse::Task(task),
            })
        }
        _ => Err(unexpected()),
    }
}

/// Tells whether what an agent speaks has a word for an operation.
fn can_say(line: &Line, operation: Operation) -> bool {
    let form = line.interface().and_then(|interface| interface.form.json_rpc(""));
    form.is_none_or(|form| form.methods().iter().any(|(known, _)| *known == operation))
}

pub(crate) fn not_a2a(cause: &str) -> ClientError {
    ClientError::Peer(Error::new(ErrorKind::InvalidAgentResponse, cause))
}

pub(super) fn unexpected() -> ClientError {
    not_a2a("the answer is not of its operation")
}
