//! Workflows, as people write and keep them.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use nuncio_protocol::{json::Raw, time::Timestamp};
use nuncio_workflow::{
    document, graph,
    problem::Problem as Flaw,
    validate::{Inputs, Known, validate as check},
};
use serde::{Deserialize, Serialize};

use crate::{
    agent::Agent,
    directory::Below,
    error::Error,
    http::{body, problem::Problem, query::Query, who::Who},
    hub::Hub,
    name::AgentName,
    workflow::SavedWorkflow,
};

/// A workflow in short.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WorkflowView {
    /// Its name, which is that of its agent.
    name: String,
    /// The newest version.
    version: u32,
    description: String,
    /// What a run is given.
    inputs: Vec<InputView>,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    updated_by: String,
    /// How many things may yet be a mistake.
    warnings: usize,
}

/// A value that a run is given.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct InputView {
    name: String,
    /// What to type, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    default: Option<Raw>,
}

/// All workflows that somebody may run.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Workflows {
    workflows: Vec<WorkflowView>,
}

/// A workflow with all that belongs to it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WholeWorkflow {
    name: String,
    /// The version that this is.
    version: u32,
    description: String,
    /// What was written.
    source: String,
    /// The same as JSON.
    #[schema(value_type = Object)]
    graph: Raw,
    inputs: Vec<InputView>,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    updated_by: String,
    /// The versions that are kept, the oldest first.
    versions: Vec<VersionView>,
    warnings: Vec<FlawView>,
}

/// A version of a workflow.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct VersionView {
    version: u32,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    updated_by: String,
}

/// Something that is wrong with a workflow, or may be.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct FlawView {
    /// What sort of problem it is.
    code: &'static str,
    message: String,
    /// `error` or `warning`.
    severity: &'static str,
    /// From 1; 0 for the file as a whole.
    line: u32,
    column: u32,
    /// The way to it, such as `nodes[2].config.prompt`.
    key: String,
    /// The node that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// What to do about it.
    fix: String,
}

impl FlawView {
    fn new(flaw: &Flaw, document: Option<&document::Value>) -> Self {
        Self {
            code: flaw.code().as_str(),
            message: flaw.what().to_owned(),
            severity: if flaw.is_warning() { "warning" } else { "error" },
            line: flaw.place().line(),
            column: flaw.place().column(),
            key: flaw.key().to_owned(),
            node: document.and_then(|document| node_of(flaw.key(), document)),
            fix: flaw.fix().to_owned(),
        }
    }
}

/// Finds the node that a key such as `nodes[2].config` or `edges[1]` is about.
fn node_of(key: &str, document: &document::Value) -> Option<String> {
    let (list, rest) = key.split_once('[')?;
    let (index, _) = rest.split_once(']')?;
    let document::Kind::List(items) = document.get(list)?.kind() else { return None };
    let item = items.get(index.parse::<usize>().ok()?)?;
    let id = if list == "edges" { item.get("to") } else { item.get("id") };
    id?.as_text().map(ToOwned::to_owned)
}

impl WorkflowView {
    fn new(agent: &Agent, saved: &SavedWorkflow) -> Self {
        let workflow = saved.workflow();
        Self {
            name: agent.name.as_str().to_owned(),
            version: saved.version,
            description: workflow.map(|one| one.description().to_owned()).unwrap_or_default(),
            inputs: workflow.map(|workflow| inputs(workflow)).unwrap_or_default(),
            updated_at: saved.at,
            updated_by: saved.by.clone(),
            warnings: workflow.map_or(0, |workflow| workflow.warnings().len()),
        }
    }
}

fn inputs(workflow: &graph::Workflow) -> Vec<InputView> {
    let needed = Inputs::of(workflow).needed;
    let view = |(node, input): (&graph::Node, &graph::Input)| InputView {
        name: node.id().to_string(),
        prompt: input.prompt.clone(),
        required: needed.contains(node.id().as_str()),
        default: input.default.clone(),
    };
    workflow.inputs().map(view).collect()
}

impl WholeWorkflow {
    fn new(hub: &Hub, agent: &Agent, saved: &SavedWorkflow) -> Self {
        let document = document::Value::read(&saved.source).ok();
        let workflow = saved.workflow();
        let state = hub.directory.state();
        let versions = state.workflow_versions(&agent.id).map(|saved| VersionView {
            version: saved.version,
            updated_at: saved.at,
            updated_by: saved.by.clone(),
        });
        let warnings = workflow.map(|workflow| workflow.warnings()).unwrap_or_default();
        Self {
            name: agent.name.as_str().to_owned(),
            version: saved.version,
            description: workflow.map(|one| one.description().to_owned()).unwrap_or_default(),
            source: saved.source.to_string(),
            graph: document.as_ref().map_or_else(|| Raw::bool(false), document::Value::to_raw),
            inputs: workflow.map(|workflow| inputs(workflow)).unwrap_or_default(),
            updated_at: saved.at,
            updated_by: saved.by.clone(),
            versions: versions.collect(),
            warnings: warnings.iter().map(|flaw| FlawView::new(flaw, document.as_ref())).collect(),
        }
    }
}

/// Returns what workflows can name: agents, what they can do, and workflows.
pub(crate) fn known(hub: &Hub, who: &Who) -> Known {
    let state = hub.directory.state();
    let agents: Vec<&Arc<Agent>> = state.in_order(&who.organisation, None).collect();
    let named = agents.iter().map(|agent| agent.name.as_str().to_owned());
    let ids = agents.iter().map(|agent| agent.id.as_str().to_owned());
    let capabilities = agents.iter().flat_map(|agent| {
        agent.capabilities().map(|(capability, _)| capability.to_owned()).collect::<Vec<_>>()
    });
    let workflows = agents.iter().filter_map(|agent| {
        let workflow = state.workflow(&agent.id, None)?.workflow()?;
        Some((agent.name.as_str().to_owned(), Inputs::of(workflow)))
    });
    Known::default().agents(named.chain(ids)).capabilities(capabilities).workflows(workflows)
}

/// Finds a workflow that somebody may run.
pub(crate) fn find(hub: &Hub, who: &Who, name: &str) -> Result<Arc<Agent>, Problem> {
    who.somebody()?;
    let unknown = || Problem::from(Error::Unknown { what: "workflow" });
    let agent = hub.directory.visible(who.asker(), name).map_err(|_| unknown())?;
    let is_workflow = hub.directory.state().workflow(&agent.id, None).is_some();
    if is_workflow { Ok(agent) } else { Err(unknown()) }
}

#[utoipa::path(
    get,
    path = "/api/v1/workflows",
    operation_id = "listWorkflows",
    tag = "workflows",
    summary = "Lists the workflows that the caller may run",
    responses((status = 200, description = "Done", body = Workflows)),
)]
pub(crate) async fn list(State(hub): State<Hub>, who: Who) -> Result<Json<Workflows>, Problem> {
    who.somebody()?;
    let state = hub.directory.state();
    let agents = state.in_order(&who.organisation, None);
    let seen = agents.filter(|agent| hub.directory.sees(who.asker(), &agent.id));
    let workflows = seen.filter_map(|agent| {
        state.workflow(&agent.id, None).map(|saved| WorkflowView::new(agent, saved))
    });
    Ok(Json(Workflows { workflows: workflows.collect() }))
}

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// Which version; the newest without.
    version: Option<u32>,
}

#[utoipa::path(
    get,
    path = "/api/v1/workflows/{name}",
    operation_id = "showWorkflow",
    tag = "workflows",
    summary = "Shows a workflow",
    params(("name" = String, Path, description = "The name of a workflow"), Wanted),
    responses((status = 200, description = "Done", body = WholeWorkflow)),
)]
pub(crate) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Path(name): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<WholeWorkflow>, Problem> {
    let agent = find(&hub, &who, &name)?;
    let saved = hub.directory.state().workflow(&agent.id, wanted.version).cloned();
    let saved = saved.ok_or(Error::Unknown { what: "version" })?;
    Ok(Json(WholeWorkflow::new(&hub, &agent, &saved)))
}

/// What is to be saved.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    /// The workflow in YAML or JSON.
    source: String,
    /// The version that this one follows; 0 if it is to be the first. Refused if there is another
    /// by now.
    expect_version: Option<u32>,
}

#[utoipa::path(
    put,
    path = "/api/v1/workflows/{name}",
    operation_id = "saveWorkflow",
    tag = "workflows",
    summary = "Saves a workflow, as a new version of the one that there may be",
    params(("name" = String, Path, description = "The name of a workflow")),
    request_body = Written,
    responses(
        (status = 200, description = "Done", body = WholeWorkflow),
        (status = 422, description = "It cannot run: `problems` says why", body = Flaws),
    ),
)]
pub(crate) async fn save(
    State(hub): State<Hub>,
    who: Who,
    Path(name): Path<String>,
    body::Json(written): body::Json<Written>,
) -> Result<Response, Problem> {
    who.administrator()?;
    let name = AgentName::parse(&name).map_err(Error::from)?;
    let (workflow, flaws) = check(&written.source, &known(&hub, &who));
    let Some(workflow) = workflow else {
        return Ok(Flaws::new(&written.source, &flaws).into_response());
    };
    let Written { source, expect_version } = written;
    let (written, actor) = ((source.as_str(), &workflow), who.actor());
    let saving =
        hub.directory.save_workflow(&who.organisation, &name, written, expect_version, &actor);
    let (agent, saved) = saving.await?;
    Ok(Json(WholeWorkflow::new(&hub, &agent, &saved)).into_response())
}

/// Why a workflow was not taken, as RFC 9457 has it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Flaws {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    code: &'static str,
    detail: String,
    problems: Vec<FlawView>,
}

impl Flaws {
    fn new(source: &str, flaws: &[Flaw]) -> Self {
        let document = document::Value::read(source).ok();
        let first = flaws.iter().find(|flaw| !flaw.is_warning()).or_else(|| flaws.first());
        Self {
            r#type: "about:blank",
            title: "Unprocessable Content",
            status: 422,
            code: "INVALID_WORKFLOW",
            detail: first.map(ToString::to_string).unwrap_or_default(),
            problems: flaws.iter().map(|flaw| FlawView::new(flaw, document.as_ref())).collect(),
        }
    }
}

impl IntoResponse for Flaws {
    fn into_response(self) -> Response {
        let mut response = (StatusCode::UNPROCESSABLE_ENTITY, Json(self)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }
}

/// What is to be looked at.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draft {
    /// The workflow in YAML or JSON.
    source: String,
}

/// What is wrong with a workflow, and what can be seen of it all the same.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Judged {
    problems: Vec<FlawView>,
    /// The workflow as JSON, if it can be read as such.
    #[schema(value_type = Option<Object>)]
    graph: Option<Raw>,
    inputs: Vec<InputView>,
}

#[utoipa::path(
    post,
    path = "/api/v1/workflows/validate",
    operation_id = "validateWorkflow",
    tag = "workflows",
    summary = "Says what is wrong with a workflow, and keeps nothing",
    request_body = Draft,
    responses((status = 200, description = "Done", body = Judged)),
)]
pub(crate) async fn validate(
    State(hub): State<Hub>,
    who: Who,
    body::Json(draft): body::Json<Draft>,
) -> Result<Json<Judged>, Problem> {
    who.overseer()?;
    let (workflow, flaws) = check(&draft.source, &known(&hub, &who));
    let document = document::Value::read(&draft.source).ok();
    Ok(Json(Judged {
        problems: flaws.iter().map(|flaw| FlawView::new(flaw, document.as_ref())).collect(),
        graph: document.as_ref().map(document::Value::to_raw),
        inputs: workflow.as_ref().map(inputs).unwrap_or_default(),
    }))
}

#[utoipa::path(
    delete,
    path = "/api/v1/workflows/{name}",
    operation_id = "removeWorkflow",
    tag = "workflows",
    summary = "Removes a workflow with its agent. Runs that have begun go on",
    params(("name" = String, Path, description = "The name of a workflow")),
    responses((status = 204, description = "Done")),
)]
pub(crate) async fn remove(
    State(hub): State<Hub>,
    who: Who,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    who.administrator()?;
    let agent = find(&hub, &who, &name)?;
    let actor = who.actor();
    hub.directory.remove(&who.organisation, &agent.id, Below::Lift, None, &actor).await?;
    Ok(StatusCode::NO_CONTENT)
}
