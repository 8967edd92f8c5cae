//! Leave that an agent asks for before it does something (MD-56).
//!
//! The workspace above decides, or an administrator. Nobody decides for themselves.

use std::collections::HashMap;

use axum::{
    Json,
    extract::{Path, State},
};
use http::StatusCode;
use nuncio_protocol::{ids::AgentId, time::Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    asked::{Body, Caller, check_line, itself_or_overseer, visible},
    events::{behind, newest},
    refused::Refused,
};
use crate::{
    agent::Agent,
    directory::{Approval, ApprovalDecision as Decision},
    error::Error,
    event,
    http::{
        problem::Problem,
        who::{Role, Who},
    },
    hub::Hub,
    name::AgentName,
};

/// How many are shown.
const SHOWN: usize = 50;

/// How far back it is looked for who has decided.
const DECISIONS: usize = 500;

/// The longest action and task id, and the longest reason, in characters.
const MAX_LINE: usize = 256;
const MAX_REASON: usize = 4096;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    action: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    task_id: Option<String>,
}

/// Where an approval stands.
#[derive(Debug, Serialize)]
pub(super) struct Standing {
    approval_id: String,
    status: &'static str,
}

pub(super) async fn create(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    Body(asked): Body<Asked>,
) -> Result<(StatusCode, Json<Standing>), Refused> {
    let agent = visible(&hub, &who, &id)?;
    who.itself_or_administrator(&agent.id)?;
    let Asked { action, reason, task_id } = asked;
    let (reason, task_id) = (reason.unwrap_or_default(), task_id.unwrap_or_default());
    if action.trim().is_empty() {
        return Err(Refused::invalid("action", "must say what is to be done"));
    }
    check_line("action", &action, MAX_LINE)?;
    check_line("task_id", &task_id, MAX_LINE)?;
    if reason.chars().count() > MAX_REASON {
        let detail = format!("has more than {MAX_REASON} characters");
        return Err(Refused::invalid("reason", &detail));
    }
    let approval = Approval::new(agent.id.clone(), action, reason, task_id);
    hub.directory.ask_approval(&approval, &who.actor()).await?;
    let standing = Standing { approval_id: approval.id, status: "pending" };
    Ok((StatusCode::CREATED, Json(standing)))
}

/// What somebody may decide, or has asked for.
#[derive(Debug, Serialize)]
pub(super) struct Pending {
    id: String,
    workspace_id: AgentId,
    workspace_name: AgentName,
    action: String,
    reason: String,
    status: &'static str,
    created_at: Timestamp,
}

pub(super) async fn pending(
    State(hub): State<Hub>,
    Caller(who): Caller,
) -> Result<Json<Vec<Pending>>, Refused> {
    who.somebody()?;
    let state = hub.directory.state();
    let all = hub.directory.approvals().into_iter().rev();
    let shown = all.filter_map(|approval| {
        let agent = state.present(&who.organisation, &approval.workspace)?;
        sees(&who, agent).ok()?;
        Some(Pending {
            id: approval.id,
            workspace_id: agent.id.clone(),
            workspace_name: agent.name.clone(),
            action: approval.action,
            reason: approval.reason,
            status: "pending",
            created_at: approval.created,
        })
    });
    Ok(Json(shown.take(SHOWN).collect()))
}

/// An approval of one workspace, and what became of it.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    id: String,
    task_id: String,
    action: String,
    reason: String,
    status: String,
    decided_by: Option<String>,
    decided_at: Option<Timestamp>,
    created_at: Timestamp,
}

/// What the log has of one that was asked for.
#[derive(Debug, Deserialize)]
struct Requested {
    approval_id: String,
    action: String,
    reason: String,
    task_id: String,
}

/// What the log has of one that was decided.
#[derive(Debug, Deserialize)]
struct Ending {
    approval_id: String,
    decision: String,
    decided_by: String,
}

pub(super) async fn list(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Result<Json<Vec<Shown>>, Refused> {
    let agent = visible(&hub, &who, &id)?;
    sees(&who, &agent)?;
    let asked = newest(&hub, &who, &agent.id, event::Name::ApprovalRequested, SHOWN).await?;
    // None was decided before it was asked for.
    let Some(oldest) = asked.last().map(|logged| logged.seq) else {
        return Ok(Json(Vec::new()));
    };
    let mut decided = HashMap::new();
    for name in [event::Name::ApprovalApproved, event::Name::ApprovalDenied] {
        for logged in behind(&hub, &who, &agent.id, (name, oldest), DECISIONS).await? {
            if let Ok(found) = serde_json::from_str::<Ending>(&logged.event.payload) {
                decided.insert(found.approval_id.clone(), (found, logged.event.at));
            }
        }
    }
    let shown = asked.into_iter().filter_map(|logged| {
        let asked: Requested = serde_json::from_str(&logged.event.payload).ok()?;
        let decided = decided.remove(&asked.approval_id);
        let (decided, decided_at) = decided.unzip();
        let (status, decided_by) =
            decided.map(|decided: Ending| (decided.decision, decided.decided_by)).unzip();
        Some(Shown {
            id: asked.approval_id,
            task_id: asked.task_id,
            action: asked.action,
            reason: asked.reason,
            status: status.unwrap_or_else(|| "pending".to_owned()),
            decided_by,
            decided_at,
            created_at: logged.event.at,
        })
    });
    Ok(Json(shown.collect()))
}

#[derive(Debug, Deserialize)]
pub(super) struct Word {
    decision: String,
}

pub(super) async fn decide(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path((id, approval)): Path<(String, String)>,
    Body(word): Body<Word>,
) -> Result<Json<Standing>, Refused> {
    let agent = visible(&hub, &who, &id)?;
    if !is_above(&who, &agent) {
        who.administrator()?;
    }
    let decision = match word.decision.as_str() {
        "approved" => Decision::Approved,
        "denied" => Decision::Denied,
        _ => return Err(Refused::invalid("decision", "must be `approved` or `denied`")),
    };
    let unknown = || Error::Unknown { what: "approval that waits" };
    let mut all = hub.directory.approvals().into_iter();
    let found = all.find(|other| other.id == approval && other.workspace == agent.id);
    let found = found.ok_or_else(unknown)?;
    if !hub.directory.decide_approval(&found, decision, &who.actor()).await? {
        return Err(unknown().into());
    }
    Ok(Json(Standing { approval_id: found.id, status: decision.as_str() }))
}

/// Insists on somebody who may know what a workspace asks for.
fn sees(who: &Who, agent: &Agent) -> Result<(), Problem> {
    if is_above(who, agent) { Ok(()) } else { itself_or_overseer(who, &agent.id) }
}

/// Tells whether somebody is the workspace above another.
fn is_above(who: &Who, agent: &Agent) -> bool {
    matches!(&who.role, Role::Agent(id) if agent.parent.as_ref() == Some(id))
}
