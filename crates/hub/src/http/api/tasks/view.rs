//! What a task looks like from outside.

use nuncio_protocol::{
    ids::{AgentId, ContextId, TaskId},
    json::Raw,
    time::Timestamp,
};
use nuncio_tasks::{
    engine::Row,
    scope::{Name, Place},
    store::Head,
};
use serde::Serialize;

use super::sight;
pub(crate) use crate::line::line;
use crate::{
    gateway::{
        runs,
        tree::{Ended, Tree},
    },
    http::who::{Role, Who},
    hub::Hub,
    name::AgentName,
};

/// A task in short.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct TaskView {
    #[schema(value_type = String)]
    pub(crate) id: TaskId,
    #[schema(value_type = String)]
    pub(crate) context_id: ContextId,
    #[serde(flatten)]
    pub(crate) between: Between,
    /// As A2A names it: `TASK_STATE_WORKING`.
    #[schema(value_type = String)]
    pub(crate) state: &'static str,
    /// When that was said.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) updated: Timestamp,
    /// When it began, as far back as its log reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) began: Option<Timestamp>,
    /// How many events there are.
    pub(crate) events: u64,
    /// What was asked, in a line.
    pub(crate) asked: String,
    /// What was last said about it, in a line.
    pub(crate) said: String,
    /// The task because of which it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(crate) parent: Option<TaskId>,
}

/// Who works for whom. Agents are told of callers only if they may call them.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Between {
    /// The id of the agent that works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(crate) agent: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(crate) agent_name: Option<AgentName>,
    /// The node, if it is one of a workflow that the hub works on itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<String>,
    /// Who asked for it: `user:<name>`, `agent:<id>` or `anonymous`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) caller: Option<String>,
    /// What the caller is called, in short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) caller_name: Option<String>,
}

/// A task with all that belongs to it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WholeTask {
    #[serde(flatten)]
    pub(crate) row: TaskView,
    /// The task itself, as A2A 1.0 has it.
    #[schema(value_type = Object)]
    pub(crate) task: Raw,
}

/// A task that was told to end.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct StoppedView {
    #[schema(value_type = String)]
    pub(crate) id: TaskId,
    #[serde(flatten)]
    pub(crate) between: Between,
    /// Its state now. One that is not over yet ends as soon as its agent lets go of it.
    #[schema(value_type = String)]
    pub(crate) state: &'static str,
    /// What was last said about its end, in a line: by its agent, or by the hub in its place; only
    /// for those who may see the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) said: Option<String>,
    /// Why it goes on, if it does; only for those who may see the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

impl TaskView {
    pub(crate) fn new(hub: &Hub, who: &Who, row: Row) -> Self {
        let Row { head, status, asked, began, parent } = row;
        let said = status.message.map(|message| message.text()).unwrap_or_default();
        Self {
            between: Between::new(hub, who, &head.place),
            state: status.state.as_str(),
            updated: head.updated,
            began,
            events: head.seq.0,
            asked: line(&asked),
            said: line(&said),
            id: head.id,
            context_id: head.context,
            parent,
        }
    }
}

impl Between {
    pub(crate) fn new(hub: &Hub, who: &Who, place: &Place) -> Self {
        let is_known = |agent: &AgentId| match &who.role {
            Role::Administrator | Role::Viewer => true,
            Role::Agent(id) if id == agent => true,
            _ => who.sees(hub, Some(agent)),
        };
        let state = hub.directory.state();
        let name = |agent: &AgentId| state.agent(agent).map(|agent| agent.name.clone());
        let node = runs::node_of(place.agent.as_str());
        let agent = match &node {
            Some((workflow, _)) => Some(workflow.clone()),
            None => AgentId::parse(place.agent.as_str()).ok(),
        };
        let agent = agent.filter(is_known);
        let node = node.map(|(_, node)| node.to_owned());
        let (caller, caller_name) = match place.caller.as_str().split_once(':') {
            Some(("agent", id)) => {
                let id = AgentId::parse(id).ok().filter(is_known);
                let called = id.as_ref().and_then(name).map(|name| name.as_str().to_owned());
                (id.map(|_| place.caller.as_str().to_owned()), called)
            }
            // People are no business of those who work for them.
            _ if !is_overseer(who) && !is_caller(who, &place.caller) => (None, None),
            Some((_, name)) => (Some(place.caller.as_str().to_owned()), Some(name.to_owned())),
            None => (Some(place.caller.as_str().to_owned()), None),
        };
        Self { agent_name: agent.as_ref().and_then(name), agent, node, caller, caller_name }
    }
}

impl StoppedView {
    pub(crate) fn new(hub: &Hub, who: &Who, ended: Ended) -> Self {
        let Ended { head: Head { id, place, .. }, state, said, why } = ended;
        // Who ends a task ends the calls below it, which are seldom theirs to read.
        let told = |text: Option<String>| text.filter(|_| sight::shows(hub, who, &place));
        let (said, why) = (told(said), told(why));
        Self { between: Between::new(hub, who, &place), state: state.as_str(), said, id, why }
    }
}

/// Says what agents in a tree are called, and leaves out those whom a reader may not know of.
pub(crate) fn tell(hub: &Hub, who: &Who, tree: &mut Tree) {
    let name = |text: &str| Name::parse(text).ok();
    let agent = tree.agent.take().and_then(|agent| name(agent.as_str()));
    let caller = tree.caller.take().and_then(|caller| name(&caller));
    if let (Some(agent), Some(caller), Some(tenant)) =
        (agent, caller, name(who.organisation.as_str()))
    {
        let between = Between::new(hub, who, &Place { tenant, agent, caller });
        tree.agent = between.agent;
        tree.agent_name = between.agent_name.map(|name| name.as_str().to_owned());
        tree.caller = between.caller;
    }
    tree.calls.iter_mut().for_each(|call| tell(hub, who, call));
}

fn is_overseer(who: &Who) -> bool {
    matches!(who.role, Role::Administrator | Role::Viewer)
}

fn is_caller(who: &Who, caller: &Name) -> bool {
    sight::caller(who).is_ok_and(|name| name == *caller)
}
