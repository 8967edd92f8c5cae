//! `GET /workspaces/{id}/activity`: what an agent was asked, and has asked (MD-37).

use axum::{
    Json,
    extract::{Path, State},
};
use nuncio_protocol::{
    ids::{AgentId, TaskId},
    message::Role as Speaker,
    operation::ListTasksRequest,
    state::TaskState,
    task::Task,
    time::Timestamp,
};
use nuncio_tasks::{
    engine::Overseen,
    scope::{Name, Scope},
};
use serde::{Deserialize, Serialize};

use super::{
    asked::{Caller, Params, itself_or_overseer, visible},
    delegations::cut,
    refused::Refused,
};
use crate::{http::problem::Problem, hub::Hub};

/// How many entries are shown, unless it is said, and at most.
const USUAL: usize = 100;
const MOST: usize = 500;

/// The longest summary, and the longest word about a failure, in characters.
pub(super) const SUMMARY: usize = 256;
const DETAIL: usize = 4096;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    r#type: Option<String>,
    source: Option<String>,
    limit: Option<usize>,
}

/// One call. What was said beyond the summary is in the task.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    id: TaskId,
    workspace_id: AgentId,
    activity_type: &'static str,
    /// The agent that asked; none if it was a person.
    source_id: Option<String>,
    target_id: String,
    method: &'static str,
    summary: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<i64>,
    created_at: Option<Timestamp>,
}

pub(super) async fn activity(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    Params(asked): Params<Asked>,
) -> Result<Json<Vec<Entry>>, Refused> {
    let agent = visible(&hub, &who, &id)?;
    itself_or_overseer(&who, &agent.id)?;
    let gateway = hub.gateway.as_ref().ok_or_else(Problem::not_found)?;
    let limit = asked.limit.unwrap_or(USUAL).clamp(1, MOST);
    let name =
        |text: &str| Name::parse(text).map_err(|error| Refused::invalid("id", &error.to_string()));
    let all = Scope::tenant(name(agent.organisation.as_str())?);
    let received = Scope { agent: Some(name(agent.id.as_str())?), ..all.clone() };
    let sent = Scope { caller: Some(name(&format!("agent:{}", agent.id))?), ..all };
    let mut entries = Vec::new();
    for (activity_type, scope) in [("a2a_receive", received), ("a2a_send", sent)] {
        if asked.r#type.as_deref().is_some_and(|wanted| wanted != activity_type) {
            continue;
        }
        let request = ListTasksRequest {
            page_size: i32::try_from(limit).ok(),
            history_length: Some(1),
            ..ListTasksRequest::default()
        };
        let page = gateway.tasks().list_within(&scope, &[], request).await;
        let page = page.map_err(|error| {
            Problem::new(
                http::StatusCode::SERVICE_UNAVAILABLE,
                "STORE_UNAVAILABLE",
                error.message().to_owned(),
            )
        })?;
        let found = page.tasks.into_iter();
        entries.extend(found.filter_map(|task| Entry::of(&agent.id, activity_type, task)));
    }
    let wants = |entry: &Entry| match asked.source.as_deref() {
        Some("canvas") => entry.source_id.is_none(),
        Some("agent") => entry.source_id.is_some(),
        _ => true,
    };
    entries.retain(wants);
    entries.sort_by(|one, other| other.id.as_str().cmp(one.id.as_str()));
    // An agent that calls itself is in both lists.
    entries.dedup_by(|one, other| one.id == other.id);
    entries.truncate(limit);
    Ok(Json(entries))
}

impl Entry {
    fn of(agent: &AgentId, activity_type: &'static str, overseen: Overseen) -> Option<Self> {
        let Overseen { place, task } = overseen;
        let task = task.into_value().ok()?;
        let said = task.history.iter().rev().find(|message| message.role == Speaker::User);
        let state = task.status.state;
        let last = || task.status.message.as_ref().map(|message| cut(&message.text(), DETAIL));
        let has_failed = state.is_terminal() && state != TaskState::Completed;
        let created_at = created(&task.id);
        let ended = task.status.timestamp.filter(|_| state.is_terminal());
        let duration = ended.zip(created_at);
        Some(Self {
            workspace_id: agent.clone(),
            activity_type,
            source_id: place.caller.as_str().strip_prefix("agent:").map(str::to_owned),
            target_id: place.agent.as_str().to_owned(),
            method: "message/send",
            summary: said.map(|message| cut(&message.text(), SUMMARY)).unwrap_or_default(),
            status: status(&task),
            error_detail: if has_failed { last() } else { None },
            duration_ms: duration
                .map(|(ended, begun)| (ended.as_millis() - begun.as_millis()).max(0)),
            created_at,
            id: task.id,
        })
    }
}

fn status(task: &Task) -> &'static str {
    match task.status.state {
        TaskState::Completed => "ok",
        state if state.is_terminal() => "error",
        _ => "pending",
    }
}

/// Returns when a task was opened: its id says so (UUID version 7).
fn created(id: &TaskId) -> Option<Timestamp> {
    let digits: String = id.as_str().chars().filter(|letter| *letter != '-').take(12).collect();
    Timestamp::from_millis(i64::from_str_radix(&digits, 16).ok()?)
}
