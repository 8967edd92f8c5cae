//! Runs as people and programs see them: as a picture, and as events (UD-06, UD-07).

use std::collections::BTreeMap;

use nuncio_protocol::{
    ids::TaskId,
    json::{self, Object, Raw},
    message::{Content, Message, Part},
    state::TaskState,
    task::Artifact,
    time::Timestamp,
};
use serde::Serialize;

use super::{
    entry::{Begun, Dated, Log},
    names,
};
use crate::{
    graph::{Kind, Workflow},
    plan::{Call, Event, Question},
};

/// Something that has happened in a run.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct RunEvent {
    /// Its place in the log of the run.
    pub seq: u64,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// The run.
    #[schema(value_type = String)]
    pub run: TaskId,
    /// The workflow.
    pub workflow: String,
    /// What: `run.started`, `node.started`, `node.completed`, …
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// How often the node has been reached, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// The number of the item, from 0, of a node that runs over a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The task that the call is.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The rest.
    #[schema(value_type = Object)]
    pub payload: Raw,
}

impl RunEvent {
    /// Tells of the beginning of a run.
    pub fn started(run: &TaskId, seq: u64, time: Timestamp, begun: &Begun) -> Self {
        let inputs = Object::from_members(
            begun.inputs.iter().map(|(name, parts)| (name.as_str(), value_of(parts))),
        );
        let mut payload = vec![("inputs", inputs.into_raw())];
        if let Ok(version) = Raw::from_value(&begun.version) {
            payload.push(("version", version));
        }
        Self::of_run(run, &begun.workflow, seq, time, "run.started", &payload)
    }

    /// Tells of the end of a run.
    pub fn ended(
        run: &TaskId,
        workflow: &str,
        seq: u64,
        (time, state, reason): (Timestamp, TaskState, &str),
    ) -> Self {
        let kind = match state {
            TaskState::Completed => "run.completed",
            TaskState::Canceled => "run.canceled",
            _ => "run.failed",
        };
        let reason = if reason.is_empty() { vec![] } else { vec![("reason", Raw::string(reason))] };
        Self::of_run(run, workflow, seq, time, kind, &reason)
    }

    fn of_run(
        run: &TaskId,
        workflow: &str,
        seq: u64,
        time: Timestamp,
        kind: &'static str,
        payload: &[(&str, Raw)],
    ) -> Self {
        Self {
            seq,
            time,
            run: run.clone(),
            workflow: workflow.to_owned(),
            kind,
            node: None,
            iteration: None,
            item: None,
            attempt: None,
            task_id: None,
            payload: Object::from_members(payload.iter().cloned()).into_raw(),
        }
    }

    /// Tells of something that has happened to a node, or to the run.
    pub fn of(run: &TaskId, workflow: &str, dated: &Dated) -> Self {
        let Dated { seq, at, event, question } = dated;
        let text = Raw::string;
        let (kind, payload) = match event {
            Event::Started { .. } => ("node.started", vec![]),
            Event::Finished { artifacts, .. } => {
                ("node.completed", vec![("artifacts", raw(artifacts))])
            }
            Event::Failed { reason, is_final, .. } => {
                ("node.failed", vec![("reason", text(reason)), ("is_final", Raw::bool(*is_final))])
            }
            Event::Canceled { reason, .. } => ("node.canceled", vec![("reason", text(reason))]),
            Event::Skipped { reason, .. } => ("node.skipped", vec![("reason", text(reason))]),
            Event::Asked { question: asked, .. } => {
                let mut payload = vec![("question", text(name(*asked)))];
                payload.extend(question.iter().map(|said| ("text", text(&said.text()))));
                ("node.waiting", payload)
            }
            Event::Answered { .. } => ("node.resumed", vec![]),
            Event::StopRequested { .. } => ("run.stopping", vec![]),
        };
        let mut told = Self::of_run(run, workflow, *seq, *at, kind, &payload);
        if let Some(call) = event.call() {
            told.node = Some(call.node.to_string());
            told.iteration = Some(call.iteration);
            told.item = call.item;
            told.attempt = Some(call.attempt);
            told.task_id = Some(names::task_of(run, call));
        }
        told
    }
}

fn name(question: Question) -> &'static str {
    match question {
        Question::Input => "input",
        Question::Credential => "credential",
    }
}

/// A run, as it stands.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct RunView {
    /// Its name, which is that of its task.
    #[schema(value_type = String)]
    pub id: TaskId,
    /// The workflow.
    pub workflow: String,
    /// Its version.
    pub version: u32,
    /// `working`, `input_required`, `auth_required`, `completed`, `failed`, `canceled` or
    /// `rejected`.
    pub state: String,
    /// Why it has not succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it was given.
    #[schema(value_type = Object)]
    pub inputs: Raw,
    /// When it began.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The newest entry of its log.
    pub seq: u64,
    /// The run that it repeats.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun_of: Option<TaskId>,
    /// Where its nodes stand, in the order of the file.
    pub nodes: Vec<NodeView>,
    /// What waits for somebody.
    pub questions: Vec<QuestionView>,
}

/// Where a node stands.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
pub struct NodeView {
    /// Its name.
    pub node: String,
    /// What it does.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `pending`, `running`, `waiting`, `completed`, `failed`, `skipped` or `canceled`.
    pub state: &'static str,
    /// How often it has been reached.
    pub iteration: u32,
    /// How often it was tried, this time.
    pub attempt: u32,
    /// When it was started, this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Why it has not succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The task that it is.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// What it has brought about, as A2A has it.
    #[schema(value_type = Vec<Object>)]
    pub artifacts: Vec<Raw>,
    /// The items of a list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ItemRunView>,
}

/// Where an item of a list stands.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
pub struct ItemRunView {
    /// Its number, from 0.
    pub item: u32,
    /// As of a node.
    pub state: &'static str,
    /// How often it was tried.
    pub attempt: u32,
    /// Why it has not succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The task that it is.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

/// Something that waits for somebody.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct QuestionView {
    /// The node that asks.
    pub node: String,
    /// The number of the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// The task that asks.
    #[schema(value_type = String)]
    pub task_id: TaskId,
    /// `input` or `credential`.
    pub question: &'static str,
    /// What it says.
    pub text: String,
}

/// How the task of a run stands.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its state.
    pub state: TaskState,
    /// Since when.
    pub since: Option<Timestamp>,
    /// Its last word.
    pub word: String,
}

impl RunView {
    /// Makes the picture of a run from its log.
    pub fn new(run: &TaskId, log: &Log, standing: &Standing) -> Self {
        let begun = log.begun.as_ref();
        let workflow = begun.and_then(|begun| Workflow::read(&begun.source).ok());
        let inputs = begun
            .map(|begun| begun.inputs.iter().map(|(name, parts)| (name.as_str(), value_of(parts))));
        let is_over = standing.state.is_terminal();
        let has_failed = is_over && standing.state != TaskState::Completed;
        let mut picture = Picture::new(run, workflow.as_ref(), begun, log.began_at);
        log.happened.iter().for_each(|dated| picture.take(dated));
        let Picture { nodes, questions, .. } = picture;
        Self {
            id: run.clone(),
            workflow: begun.map(|begun| begun.workflow.clone()).unwrap_or_default(),
            version: begun.map_or(0, |begun| begun.version),
            state: state_name(standing.state),
            reason: (has_failed && !standing.word.is_empty()).then(|| standing.word.clone()),
            inputs: Object::from_members(inputs.into_iter().flatten()).into_raw(),
            started_at: log.began_at,
            ended_at: standing.since.filter(|_| is_over),
            seq: log.reached,
            rerun_of: begun.and_then(|begun| begun.rerun_of.clone()),
            nodes,
            questions: if is_over { Vec::new() } else { questions.into_values().collect() },
        }
    }
}

/// Returns the word for a state.
pub fn state_name(state: TaskState) -> String {
    let name = state.as_str().trim_start_matches("TASK_STATE_").to_ascii_lowercase();
    if name == "submitted" { "working".to_owned() } else { name }
}

/// A picture in the making.
struct Picture<'a> {
    run: &'a TaskId,
    nodes: Vec<NodeView>,
    places: BTreeMap<String, usize>,
    questions: BTreeMap<Call, QuestionView>,
}

impl<'a> Picture<'a> {
    fn new(
        run: &'a TaskId,
        workflow: Option<&Workflow>,
        begun: Option<&Begun>,
        since: Option<Timestamp>,
    ) -> Self {
        let nodes = workflow.map(Workflow::nodes).unwrap_or_default().iter();
        let nodes: Vec<NodeView> = nodes
            .map(|node| {
                let mut view = NodeView {
                    node: node.id().to_string(),
                    kind: node.kind().name(),
                    state: "pending",
                    iteration: 1,
                    ..NodeView::default()
                };
                if let Kind::Input(input) = node.kind() {
                    let given = begun.and_then(|begun| begun.inputs.get(node.id().as_str()));
                    let default = || vec![of_default(input.default.as_ref())];
                    let parts = given.cloned().unwrap_or_else(default);
                    let id = nuncio_protocol::ids::ArtifactId::parse(node.id().as_str());
                    view.artifacts =
                        id.map(|id| raw(&Artifact::new(id, parts))).into_iter().collect();
                    (view.state, view.started_at, view.ended_at) = ("completed", since, since);
                }
                view
            })
            .collect();
        let places = nodes.iter().enumerate().map(|(at, view)| (view.node.clone(), at)).collect();
        Self { run, nodes, places, questions: BTreeMap::new() }
    }

    fn take(&mut self, dated: &Dated) {
        let Dated { at, event, question, .. } = dated;
        let Some(call) = event.call() else { return };
        let task = names::task_of(self.run, call);
        match event {
            Event::Asked { question: asked, .. } => {
                let view = QuestionView {
                    node: call.node.to_string(),
                    item: call.item,
                    task_id: task.clone(),
                    question: name(*asked),
                    text: question.as_ref().map(Message::text).unwrap_or_default(),
                };
                self.questions.insert(call.clone(), view);
            }
            Event::Started { .. } => {}
            _ => drop(self.questions.remove(call)),
        }
        let Some(view) = self.places.get(call.node.as_str()).map(|at| &mut self.nodes[*at]) else {
            return;
        };
        let (state, reason) = match event {
            Event::Started { .. } | Event::Answered { .. } => ("running", None),
            Event::Finished { .. } => ("completed", None),
            Event::Failed { reason, .. } => ("failed", Some(reason)),
            Event::Canceled { reason, .. } => ("canceled", Some(reason)),
            Event::Skipped { reason, .. } => ("skipped", Some(reason)),
            Event::Asked { .. } => ("waiting", None),
            Event::StopRequested { .. } => return,
        };
        if call.iteration != view.iteration {
            let (node, kind) = (std::mem::take(&mut view.node), view.kind);
            let iteration = call.iteration;
            *view = NodeView { node, kind, state: "pending", iteration, ..NodeView::default() };
        }
        if let Some(number) = call.item {
            let at = number as usize;
            while view.items.len() <= at {
                let item = u32::try_from(view.items.len()).unwrap_or(u32::MAX);
                view.items.push(ItemRunView { item, state: "pending", ..ItemRunView::default() });
            }
            view.items[at] = ItemRunView {
                item: number,
                state,
                attempt: call.attempt,
                reason: reason.cloned(),
                task_id: Some(task),
            };
            view.started_at = view.started_at.or(Some(dated.at));
            if let Event::Finished { artifacts, .. } = event {
                view.artifacts.extend(artifacts.iter().map(raw));
            }
            if view.state == "pending" {
                view.state = "running";
            }
            return;
        }
        view.state = state;
        view.attempt = call.attempt;
        view.reason = reason.cloned();
        let is_called = !matches!(view.kind, "input" | "output" | "map" | "wait" | "approval");
        view.task_id = is_called.then_some(task).filter(|_| state != "skipped");
        match event {
            Event::Started { .. } => (view.started_at, view.ended_at) = (Some(*at), None),
            Event::Asked { .. } | Event::Answered { .. } => {}
            Event::Finished { artifacts, .. } => {
                view.ended_at = Some(*at);
                view.started_at = view.started_at.or(Some(*at));
                if !artifacts.is_empty() {
                    view.artifacts = artifacts.iter().map(raw).collect();
                }
            }
            _ => view.ended_at = Some(*at),
        }
    }
}

fn raw<T: json::ToJson + ?Sized>(value: &T) -> Raw {
    // What is written is JSON.
    Raw::parse_text(&json::to_string(value)).unwrap_or_else(|_| Raw::bool(false))
}

fn of_default(default: Option<&Raw>) -> Part {
    default.map_or_else(|| Part::text(""), |value| super::inputs::of_value(value.clone()))
}

/// Returns an input as one value: a text, data, or what A2A makes of a file.
fn value_of(parts: &[Part]) -> Raw {
    match parts {
        [part] => match &part.content {
            Content::Text(text) => Raw::string(text),
            Content::Data(data) => data.clone(),
            Content::Raw(_) | Content::Url(_) => raw(part),
        },
        parts => raw(parts),
    }
}
