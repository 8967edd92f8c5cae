//! Runs as Upal has them (UD-06 to UD-08).

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, StatusCode};
use nuncio_protocol::{
    json::{self, Object, Raw},
    message::Part,
    state::TaskState,
    task::Artifact,
    time::Timestamp,
};
use nuncio_tasks::{engine::Logged, log::Seq, store::Head};
use nuncio_workflow::runner::{
    Note,
    view::{NodeView, RunEvent},
};
use serde::{Deserialize, Serialize};

use super::{
    Refused,
    workflows::{find, save},
};
use crate::{
    http::{
        api::{
            runs::{self, Narrator, WholeRun},
            tasks::log::Watching,
        },
        body,
        query::Query,
        sse,
        who::Who,
    },
    hub::Hub,
};

/// How many runs a page has, usually and at most; and how far pages go.
const USUAL: usize = 20;
const MOST: usize = 100;
const FARTHEST: usize = 200;

/// Where a text is looked for in what a node is told.
const WORDS: [&str; 6] = ["text", "input", "message", "answer", "value", "output"];

/// A run.
#[derive(Debug, Serialize)]
struct Record {
    id: String,
    workflow_name: String,
    trigger_type: &'static str,
    trigger_ref: &'static str,
    status: &'static str,
    inputs: Raw,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_of: Option<String>,
    retry_count: u32,
    session_id: String,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    node_runs: Vec<NodeRun>,
}

/// What a node has done in a run.
#[derive(Debug, Serialize)]
struct NodeRun {
    node_id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    retry_count: u32,
}

impl From<WholeRun> for Record {
    fn from(whole: WholeRun) -> Self {
        let WholeRun { run, updated_at, .. } = whole;
        let started = run.nodes.iter().filter(|node| node.state != "pending");
        Self {
            id: run.id.to_string(),
            workflow_name: run.workflow.clone(),
            trigger_type: "manual",
            trigger_ref: "",
            status: status(&run.state),
            outputs: (!run.nodes.is_empty()).then(|| state(&run.nodes)),
            node_runs: started.map(NodeRun::from).collect(),
            error: run.reason,
            retry_of: run.rerun_of.map(|run| run.to_string()),
            retry_count: 0,
            session_id: run.id.to_string(),
            created_at: run.started_at.unwrap_or(updated_at),
            started_at: run.started_at,
            completed_at: run.ended_at,
            inputs: run.inputs,
        }
    }
}

impl From<&NodeView> for NodeRun {
    fn from(node: &NodeView) -> Self {
        Self {
            node_id: node.node.clone(),
            // Upal has no word for a node that was not needed any more.
            status: if node.state == "canceled" { "skipped" } else { node.state },
            started_at: node.started_at,
            completed_at: node.ended_at,
            error: node.reason.clone(),
            retry_count: node.attempt.saturating_sub(1),
        }
    }
}

/// Returns Upal's word for the state of a run. One that waits is under way.
fn status(state: &str) -> &'static str {
    match state {
        "completed" => "success",
        "canceled" => "cancelled",
        "failed" | "rejected" => "failed",
        _ => "running",
    }
}

/// Returns what nodes have brought about, by their names.
fn state(nodes: &[NodeView]) -> Raw {
    let done = nodes.iter().filter(|node| node.state == "completed");
    let outputs = done.map(|node| (node.node.as_str(), output(&node.artifacts)));
    Object::from_members(outputs).into_raw()
}

/// Returns artifacts as one value: their text, else the data, else all of them (UD-10).
fn output(artifacts: &[Raw]) -> Raw {
    let read = artifacts.iter().filter_map(|raw| json::from_str::<Artifact>(raw.as_str()).ok());
    let read: Vec<Artifact> = read.collect();
    let parts = || read.iter().flat_map(|artifact| &artifact.parts);
    let texts: Vec<&str> = parts().filter_map(Part::as_text).collect();
    match (texts.as_slice(), parts().find_map(Part::as_data)) {
        ([], Some(data)) => data.clone(),
        ([], None) => Raw::from_value(&artifacts).unwrap_or_else(|_| Raw::string("")),
        (texts, _) => Raw::string(&texts.join("\n")),
    }
}

/// What a run is given.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Begin {
    inputs: Option<BTreeMap<String, Raw>>,
    workflow: Option<Raw>,
}

pub(super) async fn run(
    State(hub): State<Hub>,
    who: Who,
    Path(called): Path<String>,
    headers: HeaderMap,
    body::Optional(begin): body::Optional<Begin>,
) -> Result<Response, Refused> {
    let mut note = Note::default();
    let name = if let Some(written) = &begin.workflow {
        // What is to run is kept, so that it can be run again after a crash.
        who.administrator()?;
        let name = super::name(&called)?;
        note.version = Some(save(&hub, &who, &name, written, None).await?.version);
        name
    } else {
        find(&hub, &who, &called)?.name.clone()
    };
    let inputs = begin.inputs.unwrap_or_default();
    let started = runs::start(&hub, &who, (name.as_str(), &headers), inputs, note).await?;
    if sse::is_wanted(&headers) {
        let head = runs::find(&hub, &who, started.run.id.as_str()).await?;
        return follow(&hub, who, &head, 0).await;
    }
    let body = Object::from_members([("run_id", Raw::string(started.run.id.as_str()))]);
    Ok((StatusCode::ACCEPTED, Json(body.into_raw())).into_response())
}

/// Which runs are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    status: Option<String>,
    limit: Option<usize>,
    offset: Option<usize>,
}

#[derive(Debug, Serialize)]
pub(super) struct Page {
    runs: Vec<Record>,
    total: u64,
}

pub(super) async fn list(
    State(hub): State<Hub>,
    who: Who,
    Query(asked): Query<Asked>,
) -> Result<Json<Page>, Refused> {
    page(&hub, &who, None, &asked).await
}

pub(super) async fn of_workflow(
    State(hub): State<Hub>,
    who: Who,
    Path(called): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<Page>, Refused> {
    let agent = find(&hub, &who, &called)?;
    page(&hub, &who, Some(agent.name.as_str()), &asked).await
}

async fn page(
    hub: &Hub,
    who: &Who,
    workflow: Option<&str>,
    asked: &Asked,
) -> Result<Json<Page>, Refused> {
    let states = match asked.status.as_deref().unwrap_or_default() {
        "" => vec![],
        "pending" | "running" | "retrying" => vec![
            TaskState::Submitted,
            TaskState::Working,
            TaskState::InputRequired,
            TaskState::AuthRequired,
        ],
        "success" => vec![TaskState::Completed],
        "failed" => vec![TaskState::Failed, TaskState::Rejected],
        "cancelled" => vec![TaskState::Canceled],
        _ => {
            let text = "must be pending, running, success, failed, cancelled or retrying";
            return Err(Refused::invalid("status", text));
        }
    };
    let limit = asked.limit.unwrap_or(USUAL).clamp(1, MOST);
    let skipped = asked.offset.unwrap_or_default();
    let reach = skipped.saturating_add(limit);
    if reach > FARTHEST {
        let text = "reaches too far back; /api/v1/runs has all pages";
        return Err(Refused::invalid("offset", text));
    }
    let found = runs::page_of(hub, who, workflow, states, ("", Some(reach))).await?;
    let mut page = Page { runs: Vec::new(), total: found.total };
    for row in found.rows.into_iter().skip(skipped) {
        page.runs.push(runs::in_short(hub, who, row).await?.into());
    }
    Ok(Json(page))
}

pub(super) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Path(run): Path<String>,
) -> Result<Response, Refused> {
    let head = runs::find(&hub, &who, &run).await?;
    Ok(Json(Record::from(runs::whole(&hub, &who, &head).await?)).into_response())
}

pub(super) async fn events(
    State(hub): State<Hub>,
    who: Who,
    headers: HeaderMap,
    Path(run): Path<String>,
) -> Result<Response, Refused> {
    let head = runs::find(&hub, &who, &run).await?;
    let after = sse::last_event_id(&headers)?.unwrap_or_default();
    if head.state.is_terminal() && after >= head.seq.0 {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    follow(&hub, who, &head, after).await
}

/// Streams what happens in a run, in Upal's words.
async fn follow(hub: &Hub, who: Who, head: &Head, after: u64) -> Result<Response, Refused> {
    let watching = Watching::new(hub, who.clone(), head, Seq(after)).await?;
    let narrator = Narrator { run: head.id.clone(), workflow: String::new() };
    let following = (hub.clone(), who, head.clone(), watching, narrator);
    let told = stream::unfold(following, |(hub, who, head, mut watching, narrator)| async move {
        loop {
            let Logged::Entry(entry) = watching.next().await? else { continue };
            let Some(event) = narrator.tell(&entry) else { continue };
            let frame = match event.kind {
                "run.completed" | "run.failed" | "run.canceled" => {
                    Some(end(&hub, &who, &head, event.seq).await)
                }
                _ => frame(&event),
            };
            if let Some(frame) = frame {
                return Some((frame, (hub, who, head, watching, narrator)));
            }
        }
    });
    Ok(sse::answer(told))
}

/// Tells an event, if Upal has a word for it.
fn frame(event: &RunEvent) -> Option<Bytes> {
    let node = event.node.as_deref()?;
    let payload = event.payload.as_object();
    let member = |name: &str| payload.as_ref().and_then(|payload| payload.get(name));
    let mut members = vec![("node_id", Raw::string(node))];
    let name = match event.kind {
        "node.started" => {
            let at = Raw::from_value(&event.time.as_millis()).ok();
            members.extend(at.map(|at| ("started_at", at)));
            "node_started"
        }
        "node.completed" => {
            let artifacts = member("artifacts").and_then(|list| list.parse::<Vec<Raw>>().ok());
            let output = output(&artifacts.unwrap_or_default());
            let delta = Object::from_members([(node, output.clone())]).into_raw();
            members.extend([("output", output), ("state_delta", delta)]);
            "node_completed"
        }
        "node.skipped" | "node.canceled" => {
            members.extend(member("reason").map(|reason| ("reason", reason)));
            "node_skipped"
        }
        "node.waiting" => {
            members.extend(member("text").map(|text| ("message", text)));
            "node_waiting"
        }
        "node.resumed" => "node_resumed",
        "node.failed" => {
            members.extend(member("reason").map(|reason| ("error", reason)));
            "error"
        }
        _ => return None,
    };
    let data = Object::from_members(members).into_raw();
    Some(sse::named(Some(event.seq), name, &data))
}

/// Tells the end of a run.
async fn end(hub: &Hub, who: &Who, head: &Head, seq: u64) -> Bytes {
    let id = Raw::string(head.id.as_str());
    let mut members = vec![("session_id", id.clone()), ("run_id", id)];
    match runs::whole(hub, who, head).await {
        Ok(WholeRun { run, .. }) => {
            let status = match status(&run.state) {
                "success" => "completed",
                other => other,
            };
            members.extend([("status", Raw::string(status)), ("state", state(&run.nodes))]);
            members.extend(run.reason.map(|reason| ("error", Raw::string(&reason))));
        }
        Err(problem) => {
            members.extend([("status", Raw::string("failed"))]);
            members.extend([("error", Raw::string(&problem.detail))]);
        }
    }
    sse::named(Some(seq), "done", &Object::from_members(members).into_raw())
}

pub(super) async fn resume(
    State(hub): State<Hub>,
    who: Who,
    Path((run, node)): Path<(String, String)>,
    headers: HeaderMap,
    body::Optional(payload): body::Optional<BTreeMap<String, Raw>>,
) -> Result<Json<Raw>, Refused> {
    let asked = (run.as_str(), node.as_str(), None);
    runs::answer_node(&hub, &who, asked, &headers, said(&payload)).await?;
    Ok(Json(Object::from_members([("status", Raw::string("resumed"))]).into_raw()))
}

/// Makes an answer of what a node is resumed with. Nothing at all means to go on.
fn said(payload: &BTreeMap<String, Raw>) -> Vec<Part> {
    if payload.is_empty() {
        let approved = Object::from_members([("approved", Raw::bool(true))]).into_raw();
        return vec![Part::text("approved"), Part::data(approved)];
    }
    let text = WORDS.iter().find_map(|word| payload.get(*word)?.as_text());
    let data = payload.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let data = Part::data(Object::from_members(data).into_raw());
    text.map(Part::text).into_iter().chain([data]).collect()
}
