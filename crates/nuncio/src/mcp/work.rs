//! Work for agents: given, followed, answered, ended.

use std::time::Duration;

use futures_util::StreamExt as _;
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::{Object, Raw},
    message::Message,
    operation::{
        CancelTaskRequest, GetTaskRequest, Request, SendMessageConfiguration, SendMessageRequest,
        SubscribeToTaskRequest,
    },
    service::{Answered, Events, read},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse, Task},
};
use nuncio_server::dialects::SKILL_ID;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    progress::Progress,
    report::state_name,
    ways::{Target, Told, Ways},
};

/// So many messages of a task are looked at for a reply.
const HISTORY: i32 = 8;

/// How long a silent task is not spoken of.
const SILENCE: Duration = Duration::from_secs(10);

/// How long the end of a task is waited for that nobody wants any more.
const CANCEL: Duration = Duration::from_secs(30);

/// What is to be done, and by whom.
pub(super) struct Order {
    pub(super) target: Target,
    pub(super) text: String,
    /// The task that it belongs to.
    pub(super) task: Option<TaskId>,
    pub(super) context: Option<ContextId>,
    /// The skill that is meant.
    pub(super) skill: Option<String>,
}

/// Who waits for the work: they are told how it goes, and may lose interest.
pub(super) struct Watch {
    pub(super) progress: Progress,
    /// Ends when the request is cancelled.
    pub(super) given_up: CancellationToken,
    /// Whether the task is of no use to anybody else then.
    pub(super) ends_task: bool,
}

/// What came of it so far.
pub(super) struct Outcome {
    /// Who has answered.
    pub(super) agent: String,
    pub(super) said: Said,
}

/// An answer.
pub(super) enum Said {
    Task(Box<Task>),
    Message(Message),
}

/// Why nobody waits any longer.
enum Ended {
    /// There is an answer without a task.
    Message(Message),
    /// The task has ended, or wants something, or the time is over.
    Task(TaskId),
    /// The one who waited has given up.
    GivenUp(TaskId),
    /// There was nothing.
    Nothing,
}

/// Gives work to an agent, and waits.
pub(super) async fn delegate(
    ways: &dyn Ways,
    order: Order,
    wait: Duration,
    watch: &mut Watch,
) -> Result<Outcome, Told> {
    let target = order.target.clone();
    let request = request(ways, order).await?;
    let deadline = Instant::now() + wait;
    let events = ways.follow(&target, Request::SendStreamingMessage(request)).await?;
    follow(ways, target, events, deadline, watch).await
}

/// Gives work to an agent, and returns as soon as it has it.
pub(super) async fn begin(ways: &dyn Ways, order: Order) -> Result<Outcome, Told> {
    let target = order.target.clone();
    let mut request = request(ways, order).await?;
    request.configuration = Some(SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    });
    let Answered::SendMessage(answer) = ways.call(&target, Request::SendMessage(request)).await?
    else {
        return Err(unexpected());
    };
    let said = match read(answer)? {
        SendMessageResponse::Task(task) => Said::Task(Box::new(task)),
        SendMessageResponse::Message(message) => Said::Message(message),
    };
    Ok(outcome(ways, target, said).await)
}

/// Tells how a task stands, and waits for its end if that is wanted.
pub(super) async fn status(
    ways: &dyn Ways,
    (target, id): (Target, TaskId),
    wait: Duration,
    watch: &mut Watch,
) -> Result<Outcome, Told> {
    let task = get(ways, &target, &id).await?;
    if wait.is_zero() || is_over(task.status.state) {
        return Ok(outcome(ways, target, Said::Task(Box::new(task))).await);
    }
    let deadline = Instant::now() + wait;
    let request = SubscribeToTaskRequest { tenant: None, id };
    if let Ok(events) = ways.follow(&target, Request::SubscribeToTask(request)).await {
        // Nobody's task ends because somebody has looked at it.
        watch.ends_task = false;
        return follow(ways, target, events, deadline, watch).await;
    }
    // It has ended meanwhile, or cannot be followed.
    let task = get(ways, &target, &task.id).await?;
    Ok(outcome(ways, target, Said::Task(Box::new(task))).await)
}

/// Ends a task.
pub(super) async fn cancel(ways: &dyn Ways, target: Target, id: &TaskId) -> Result<Outcome, Told> {
    let request = CancelTaskRequest { tenant: None, id: id.clone(), metadata: None };
    let Answered::Task(task) = ways.call(&target, Request::CancelTask(request)).await? else {
        return Err(unexpected());
    };
    Ok(outcome(ways, target, Said::Task(Box::new(read(task)?))).await)
}

/// Asks for a task.
pub(super) async fn get(ways: &dyn Ways, target: &Target, id: &TaskId) -> Result<Task, Told> {
    let request = GetTaskRequest { tenant: None, id: id.clone(), history_length: Some(HISTORY) };
    match ways.call(target, Request::GetTask(request)).await? {
        Answered::Task(task) => Ok(read(task)?),
        _ => Err(unexpected()),
    }
}

/// Puts an order into the words of A2A. A task that has ended takes no more messages, so it goes
/// on in its conversation (C-31).
async fn request(ways: &dyn Ways, order: Order) -> Result<SendMessageRequest, Told> {
    let mut message = Message::user(order.text);
    message.context_id = order.context;
    if let Some(id) = order.task {
        let task = get(ways, &order.target, &id).await?;
        message.context_id = task.context_id.or(message.context_id);
        if task.status.state.is_terminal() {
            message.reference_task_ids.push(id);
        } else {
            message.task_id = Some(id);
        }
    }
    if let Some(skill) = &order.skill {
        message.metadata = Some(Object::from_members([(SKILL_ID, Raw::string(skill))]));
    }
    Ok(SendMessageRequest::new(message))
}

/// Follows a task until there is something to tell about it.
async fn follow(
    ways: &dyn Ways,
    target: Target,
    mut events: Events,
    deadline: Instant,
    watch: &mut Watch,
) -> Result<Outcome, Told> {
    let said = match wait(&mut events, deadline, watch).await? {
        Ended::Message(message) => Said::Message(message),
        Ended::Task(id) => Said::Task(Box::new(get(ways, &target, &id).await?)),
        Ended::GivenUp(id) => {
            let cancelled = cancel(ways, target, &id);
            let too_slow = || Told::new("CANCELLED", format!("task {id} is told to end"));
            let limited = tokio::time::timeout(CANCEL, cancelled).await;
            return limited.map_err(|_| too_slow())?;
        }
        Ended::Nothing => return Err(Told::new("NO_ANSWER", "the agent has said nothing")),
    };
    Ok(outcome(ways, target, said).await)
}

async fn wait(events: &mut Events, deadline: Instant, watch: &mut Watch) -> Result<Ended, Told> {
    let mut known: Option<TaskId> = None;
    let end = |known: Option<TaskId>| known.map_or(Ended::Nothing, Ended::Task);
    loop {
        let silence = Instant::now() + SILENCE;
        let event = tokio::select! {
            biased;
            // Before it has a name, it cannot be ended.
            () = watch.given_up.cancelled(), if known.is_some() => {
                return Ok(match known {
                    Some(id) if watch.ends_task => Ended::GivenUp(id),
                    known => end(known),
                });
            }
            event = events.next() => event,
            () = sleep_until(deadline), if known.is_some() => return Ok(end(known)),
            () = sleep_until(silence) => {
                watch.progress.tell("still at work").await;
                continue;
            }
        };
        let Some(event) = event else { return Ok(end(known)) };
        let event = event.map_err(|error| match &known {
            Some(id) => Told::from(error)
                .hint(format_args!("task {id} may go on; `task_status` tells how it stands")),
            None => Told::from(error),
        })?;
        let response = event.response.value().map_err(|error| {
            Told::new("INVALID_AGENT_RESPONSE", format!("an event cannot be read: {error}"))
        })?;
        let state = response.state();
        match response {
            StreamResponse::Message(message) => return Ok(Ended::Message(message.clone())),
            StreamResponse::Task(task) => {
                known = Some(task.id.clone());
                watch.progress.state(state_name(task.status.state), None).await;
            }
            StreamResponse::StatusUpdate(update) => {
                known = Some(update.task_id.clone());
                let word = update.status.message.as_ref().map(|message| message.text());
                let name = state_name(update.status.state);
                watch.progress.state(name, word.as_deref()).await;
            }
            StreamResponse::ArtifactUpdate(update) => {
                known = Some(update.task_id.clone());
                watch.progress.piece(&update.artifact.text()).await;
            }
        }
        if state.is_some_and(is_over) {
            return Ok(end(known));
        }
    }
}

/// Names who has answered. Of those who were called by what they can do, only the hub knows.
async fn outcome(ways: &dyn Ways, target: Target, said: Said) -> Outcome {
    let agent = match &said {
        Said::Task(task) if target.is_capability() => ways.owner(&task.id).await.ok(),
        _ => None,
    };
    Outcome { agent: agent.unwrap_or_else(|| target.as_str().to_owned()), said }
}

fn is_over(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}

fn unexpected() -> Told {
    Told::new("INTERNAL", "the answer is not of its operation")
}
