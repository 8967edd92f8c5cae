//! Calls that are made because of other calls.
//!
//! Whoever works on a task names it when it calls another agent, by the header that it was told
//! the task with. The hub believes it only if the task is the caller's own work, so nobody can
//! hang calls into the tree of somebody else.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::{AgentId, TaskId},
    json::{Object, Raw, Shared},
    operation::CancelTaskRequest,
    service::{CallContext, Caller},
    state::TaskState,
    task::{Task, TaskStatus},
};
use nuncio_tasks::{
    engine::{Call, Kin, Tasks},
    scope::{Name, Place, Scope},
    store::Head,
};
use serde::Serialize;
use tracing::Instrument as _;

use super::runs;
use crate::line::line;

/// The reason of an error about too deep a tree.
const TOO_DEEP: &str = "CALL_DEPTH_EXCEEDED";

/// The member of a task's metadata that lists what ended with it.
const CANCELED_CALLS: &str = "canceledCalls";

/// How many calls one task may be shown to have made.
const MOST_CHILDREN: usize = 1_000;

/// How many tasks are cancelled at once.
const CANCELS_AT_ONCE: usize = 16;

/// How many tasks a tree is read to at most.
const MOST_OF_TREE: usize = 10_000;

/// Returns the task that a call is made because of, if the caller names one that it works on.
/// Fails if that is too many calls deep already (R27), and says by which agents, as they are
/// called.
pub(super) async fn parent(
    tasks: &Tasks,
    ctx: &CallContext,
    place: &Place,
    (most, name): (usize, impl Fn(&str) -> String),
) -> Result<Option<TaskId>, Error> {
    let (Some(parent), Caller::Agent(caller)) = (&ctx.parent, &ctx.caller) else {
        return Ok(None);
    };
    let scope = Scope::tenant(place.tenant.clone());
    let Some(kin) = tasks.kin(&scope, parent).await? else { return Ok(None) };
    // What a node of a workflow asks for, the workflow does.
    let agent = kin.place.agent.as_str();
    let is_own = agent == &**caller
        || runs::node_of(agent).is_some_and(|(workflow, _)| workflow.as_str() == &**caller);
    if !is_own || kin.state.is_terminal() {
        return Ok(None);
    }
    let chain = chain(tasks, &scope, kin, most).await?;
    if chain.len() >= most {
        let mut names: Vec<String> = chain.iter().rev().map(|agent| name(agent)).collect();
        names.push(name(place.agent.as_str()));
        let text = format!(
            "the call is {} deep, at most {most} are carried: {}",
            chain.len() + 1,
            names.join(" -> ")
        );
        return Err(Error::new(ErrorKind::PermissionDenied, text).with_reason(TOO_DEEP));
    }
    Ok(Some(parent.clone()))
}

/// Returns the agents of a task and of those above it, the nearest first.
async fn chain(tasks: &Tasks, scope: &Scope, kin: Kin, most: usize) -> Result<Vec<String>, Error> {
    let mut chain = vec![kin.place.agent.as_str().to_owned()];
    let mut next = kin.parent;
    while let Some(id) = next.take_if(|_| chain.len() < most) {
        let Some(kin) = tasks.kin(scope, &id).await? else { break };
        chain.push(kin.place.agent.as_str().to_owned());
        next = kin.parent;
    }
    Ok(chain)
}

/// A task, and the calls that were made because of it.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Tree {
    /// The task.
    #[schema(value_type = String)]
    pub(crate) id: TaskId,
    /// The agent that works on it.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<AgentId>,
    /// What that agent is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent_name: Option<String>,
    /// Who asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) caller: Option<String>,
    /// Its state.
    pub(crate) state: &'static str,
    /// The calls made because of it, in the order of their making.
    #[schema(no_recursion)]
    pub(crate) calls: Vec<Self>,
}

/// Reads a task with everything below it.
pub(crate) async fn read(tasks: &Tasks, scope: &Scope, id: &TaskId) -> Result<Tree, Error> {
    let kin = tasks.kin(scope, id).await?.ok_or_else(|| Error::task_not_found(id))?;
    let mut left = MOST_OF_TREE;
    below(tasks, scope, id.clone(), kin.place, kin.state, &mut left).await
}

async fn below(
    tasks: &Tasks,
    scope: &Scope,
    id: TaskId,
    place: Place,
    state: TaskState,
    left: &mut usize,
) -> Result<Tree, Error> {
    let mut calls = Vec::new();
    for child in tasks.children(scope, &id, MOST_CHILDREN.min(*left)).await? {
        *left -= 1;
        let (id, place, state) = (child.id, child.place, child.state);
        calls.push(Box::pin(below(tasks, scope, id, place, state, left)).await?);
    }
    Ok(Tree {
        agent: AgentId::parse(place.agent.as_str()).ok(),
        agent_name: None,
        caller: Some(place.caller.as_str().to_owned()),
        state: state.as_str(),
        id,
        calls,
    })
}

/// Ends a task and every call that was made because of it, and says which those were.
pub(crate) async fn cancel(
    tasks: &Tasks,
    call: &Call,
    request: CancelTaskRequest,
) -> Result<Shared<Task>, Error> {
    let (tasks, call) = (tasks.clone(), call.clone());
    let reader = call.place.caller.clone();
    let (task, ended) = surely(async move {
        let id = request.id.clone();
        let task = tasks.cancel(&call, request).await?;
        let scope = Scope::tenant(call.place.tenant);
        Ok((task, cancel_below(&tasks, scope, id).await?))
    })
    .await?;
    let ended: Vec<_> = ended.iter().map(|ended| EndedCall::new(ended, &reader)).collect();
    if ended.is_empty() {
        return Ok(task);
    }
    let Ok(list) = Raw::from_value(&ended) else { return Ok(task) };
    let mut task = nuncio_protocol::service::read(task)?;
    let metadata = task.metadata.unwrap_or_else(|| Object::from_members([]));
    task.metadata = Some(metadata.with(CANCELED_CALLS, list));
    Ok(Shared::new(task))
}

/// Ends a task, and leaves the calls alone that were made because of it. Fails if it has ended.
pub(crate) async fn cancel_alone(tasks: &Tasks, head: Head) -> Result<Vec<Ended>, Error> {
    if head.state.is_terminal() {
        let text = format!("task {} has ended as {}", head.id, head.state.as_str());
        return Err(Error::new(ErrorKind::TaskNotCancelable, text));
    }
    Ok(vec![cancel_one(tasks, head).await?])
}

/// Ends a task and every call that was made because of it, the calls also if the task itself
/// has ended. Fails if there is nothing to end.
pub(crate) async fn cancel_all(tasks: &Tasks, head: Head) -> Result<Vec<Ended>, Error> {
    let (id, state, tasks) = (head.id.clone(), head.state, tasks.clone());
    let ended = surely(async move {
        let (id, scope) = (head.id.clone(), Scope::tenant(head.place.tenant.clone()));
        let mut ended = Vec::new();
        if !state.is_terminal() {
            ended.push(cancel_one(&tasks, head).await?);
        }
        ended.extend(cancel_below(&tasks, scope, id).await?);
        Ok(ended)
    })
    .await?;
    if ended.is_empty() {
        let text = format!("task {id} has ended as {}, and nothing runs below it", state.as_str());
        return Err(Error::new(ErrorKind::TaskNotCancelable, text));
    }
    Ok(ended)
}

/// Ends a whole tree, also if whoever wanted that has gone away meanwhile.
async fn surely<T: Send + 'static>(
    ending: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let ended = tokio::spawn(ending.in_current_span()).await;
    ended.unwrap_or_else(|_| Err(Error::new(ErrorKind::Unavailable, "the hub stops")))
}

/// Ends the calls that were made because of a task, from the top down.
async fn cancel_below(tasks: &Tasks, scope: Scope, id: TaskId) -> Result<Vec<Ended>, Error> {
    let mut ended = Vec::new();
    let mut level = vec![id];
    let mut left = MOST_OF_TREE;
    while !level.is_empty() {
        let mut next = Vec::new();
        for id in &level {
            next.extend(tasks.children(&scope, id, MOST_CHILDREN.min(left)).await?);
            left = MOST_OF_TREE.saturating_sub(next.len() + ended.len());
        }
        level = next.iter().map(|head| head.id.clone()).collect();
        let running = next.into_iter().filter(|head| !head.state.is_terminal());
        let cancels = stream::iter(running).map(|head| cancel_one(tasks, head));
        ended.extend(cancels.buffered(CANCELS_AT_ONCE).try_collect::<Vec<_>>().await?);
    }
    Ok(ended)
}

async fn cancel_one(tasks: &Tasks, head: Head) -> Result<Ended, Error> {
    let request = CancelTaskRequest { tenant: None, id: head.id.clone(), metadata: None };
    let outcome = tasks.cancel(&Call::new(head.place.clone()), request).await;
    let (state, said, why) = match outcome {
        Ok(task) => {
            let TaskStatus { state, message, .. } = nuncio_protocol::service::read(task)?.status;
            let said = message.map(|message| line(&message.text()));
            (state, said.filter(|said| state.is_terminal() && !said.is_empty()), None)
        }
        Err(error) => {
            // Whoever made the call may have ended it at the same moment.
            let kin = tasks.kin(&Scope::from(&head.place), &head.id).await?;
            let state = kin.map_or(head.state, |kin| kin.state);
            (state, None, (!state.is_terminal()).then(|| line(error.message())))
        }
    };
    Ok(Ended { head, state, said, why })
}

/// A task that was told to end.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The task as it was.
    pub(crate) head: Head,
    /// Its state now.
    pub(crate) state: TaskState,
    /// What was said about its end, in a line.
    pub(crate) said: Option<String>,
    /// Why it goes on, if it does, in a line.
    pub(crate) why: Option<String>,
}

/// A call that ended, or did not, with the one above it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EndedCall<'a> {
    task_id: &'a str,
    agent: &'a str,
    state: &'static str,
    /// What was said about its end, to those who may see the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<&'a str>,
    /// Why it goes on, to those who may see the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

impl<'a> EndedCall<'a> {
    fn new(Ended { head, state, said, why }: &'a Ended, reader: &Name) -> Self {
        // What agents say to each other is nothing to whoever has called the first of them.
        let told =
            |text: &'a Option<String>| text.as_deref().filter(|_| head.place.caller == *reader);
        Self {
            task_id: head.id.as_str(),
            agent: head.place.agent.as_str(),
            state: state.as_str(),
            said: told(said),
            why: told(why),
        }
    }
}
