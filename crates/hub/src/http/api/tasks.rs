//! Tasks that go through the hub, as people see and steer them.

pub(crate) mod log;
pub(crate) mod push;
pub(crate) mod say;
pub(crate) mod sight;
pub(crate) mod view;
pub(crate) mod wire;

use axum::{
    Json,
    extract::{Path, State},
};
use nuncio_protocol::{
    error::Error as A2aError, ids::ContextId, operation::Operation, state::TaskState,
    time::Timestamp,
};
use nuncio_tasks::{
    engine::Rows,
    scope::{Name, Scope},
    store::{Filter, Head},
};
use serde::{Deserialize, Serialize};

use self::view::{StoppedView, TaskView, WholeTask};
use crate::{
    gateway::tree::{self, Tree},
    http::{problem::Problem, query::Query, who::Who},
    hub::Hub,
    trail::Trail,
};

/// How many tasks a page has, usually and at most.
const USUAL: usize = 50;
const MOST: usize = 200;

/// Which tasks are wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    /// The name or id of the agent that works on them.
    agent: Option<String>,
    /// Who asked for them: `user:<name>`, or the name or id of an agent.
    caller: Option<String>,
    /// States, with commas between them: `working,input-required`.
    state: Option<String>,
    /// The conversation that they belong to.
    context: Option<String>,
    /// Only those with a status of this moment or later.
    #[param(format = DateTime)]
    updated_after: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
    limit: Option<usize>,
}

/// A page of tasks, those with the newest status first.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct TaskPage {
    tasks: Vec<TaskView>,
    /// What to ask with as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How many there are on all pages, for whoever sees all.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

#[utoipa::path(
    get,
    path = "/api/v1/tasks",
    operation_id = "listTasks",
    tag = "tasks",
    summary = "Lists tasks, those with the newest status first",
    params(Asked),
    responses((status = 200, description = "Done", body = TaskPage)),
)]
pub(crate) async fn list(
    State(hub): State<Hub>,
    who: Who,
    Query(asked): Query<Asked>,
) -> Result<Json<TaskPage>, Problem> {
    let agent = asked.agent.as_deref().map(|text| agent(&hub, &who, text)).transpose()?;
    let caller = asked.caller.as_deref().map(|text| caller(&hub, &who, text)).transpose()?;
    let scopes = sight::scopes(&who)?.into_iter();
    let scopes = scopes.filter_map(|scope| sight::narrowed(scope, agent.as_ref(), caller.as_ref()));
    let filter = Filter {
        context: asked
            .context
            .map(|text| ContextId::parse(&text))
            .transpose()
            .map_err(|error| Problem::invalid("context", error.to_string()))?,
        states: states(asked.state.as_deref().unwrap_or_default())?,
        updated_from: asked.updated_after.as_deref().map(moment).transpose()?,
    };
    let scopes: Vec<Scope> = scopes.collect();
    let page = (asked.after.as_deref().unwrap_or_default(), asked.limit);
    let Rows { rows, next_page_token, total } = rows(&hub, &scopes, filter, page).await?;
    let seen = rows.into_iter().filter(|row| sight::sees(&hub, &who, &row.head.place));
    Ok(Json(TaskPage {
        tasks: seen.map(|row| TaskView::new(&hub, &who, row)).collect(),
        next: Some(next_page_token).filter(|token| !token.is_empty()),
        total: who.overseer().is_ok().then_some(total),
    }))
}

fn moment(text: &str) -> Result<Timestamp, Problem> {
    let wanted = "must be a moment such as 2026-11-16T11:00:00Z";
    text.parse().map_err(|_| Problem::invalid("updated_after", wanted))
}

/// Reads a page of tasks.
pub(crate) async fn rows(
    hub: &Hub,
    scopes: &[Scope],
    filter: Filter,
    (after, limit): (&str, Option<usize>),
) -> Result<Rows, Problem> {
    let tasks = sight::gateway(hub)?.tasks();
    let size = limit.unwrap_or(USUAL).clamp(1, MOST);
    tasks.rows(scopes, filter, (after, size)).await.map_err(|error: A2aError| {
        let is_token = error.violations().iter().any(|wrong| wrong.field == "pageToken");
        if is_token {
            return Problem::invalid("after", "was not made for this list; ask without it");
        }
        error.into()
    })
}

/// Finds the agent whose tasks are wanted. It may be gone, and its tasks still be there.
pub(crate) fn agent(hub: &Hub, who: &Who, text: &str) -> Result<Name, Problem> {
    let state = hub.directory.state();
    let found = state.find(&who.organisation, text).map(|agent| agent.id.as_str().to_owned());
    sight::name(&found.unwrap_or_else(|| text.to_owned()))
        .map_err(|problem| Problem::invalid("agent", problem.detail))
}

/// Finds out whose tasks are wanted. A bare word is an agent, if there is one of that name.
fn caller(hub: &Hub, who: &Who, text: &str) -> Result<Name, Problem> {
    let state = hub.directory.state();
    let agent = |text: &str| {
        let found = state.find(&who.organisation, text);
        found.map(|agent| agent.id.as_str().to_owned())
    };
    let name = match text.split_once(':') {
        Some(("user", _)) => text.to_owned(),
        Some(("agent", rest)) => {
            format!("agent:{}", agent(rest).unwrap_or_else(|| rest.to_owned()))
        }
        _ if text == "anonymous" => text.to_owned(),
        _ => match agent(text) {
            Some(id) => format!("agent:{id}"),
            None => format!("user:{text}"),
        },
    };
    sight::name(&name).map_err(|problem| Problem::invalid("caller", problem.detail))
}

/// Reads states: as A2A names them, or as people do.
pub(crate) fn states(text: &str) -> Result<Vec<TaskState>, Problem> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let states = words.map(|word| {
        let name = word.to_ascii_uppercase().replace('-', "_");
        let name =
            if name.starts_with("TASK_STATE_") { name } else { format!("TASK_STATE_{name}") };
        let state = TaskState::from_name(&name).filter(|state| *state != TaskState::Unspecified);
        state.ok_or_else(|| {
            let text = "expected submitted, working, input-required, auth-required, completed, \
                        failed, canceled or rejected";
            Problem::invalid("state", format!("`{word}`: {text}"))
        })
    });
    states.collect()
}

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct History {
    /// At most so many of the newest messages; all without.
    history: Option<usize>,
}

#[utoipa::path(
    get,
    path = "/api/v1/tasks/{task}",
    operation_id = "showTask",
    tag = "tasks",
    summary = "Shows a task with all that belongs to it",
    params(("task" = String, Path, description = "The id of a task"), History),
    responses((status = 200, description = "Done", body = WholeTask)),
)]
pub(crate) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Path(task): Path<String>,
    Query(asked): Query<History>,
) -> Result<Json<WholeTask>, Problem> {
    let head = sight::find(&hub, &who, &task).await?;
    let tasks = sight::gateway(&hub)?.tasks();
    let scope = Scope::from(&head.place);
    let row = tasks.row(&scope, &head.id).await?;
    let task = tasks.get_within(&scope, &head.id, asked.history).await?.task;
    Ok(Json(WholeTask { row: TaskView::new(&hub, &who, row), task: log::raw(task.json()) }))
}

#[utoipa::path(
    get,
    path = "/api/v1/tasks/{task}/tree",
    operation_id = "showTaskTree",
    tag = "tasks",
    summary = "Shows a task and the calls made because of it",
    params(("task" = String, Path, description = "The id of a task")),
    responses((status = 200, description = "Done", body = Tree)),
)]
pub(crate) async fn tree(
    State(hub): State<Hub>,
    who: Who,
    Path(task): Path<String>,
) -> Result<Json<Tree>, Problem> {
    let head = sight::find(&hub, &who, &task).await?;
    let scope = Scope::tenant(head.place.tenant.clone());
    let mut tree = tree::read(sight::gateway(&hub)?.tasks(), &scope, &head.id).await?;
    view::tell(&hub, &who, &mut tree);
    Ok(Json(tree))
}

/// What became of a wish to end a task.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Canceled {
    /// What has ended or is about to, the task itself first.
    stopped: Vec<StoppedView>,
    /// What goes on all the same, and why.
    going_on: Vec<StoppedView>,
}

/// What ends with a task.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Cancel {
    /// What becomes of the calls made because of it: `cancel`, or `keep` to end it alone.
    #[param(inline)]
    below: CallsBelow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallsBelow {
    #[default]
    Cancel,
    Keep,
}

#[utoipa::path(
    post,
    path = "/api/v1/tasks/{task}/cancel",
    operation_id = "cancelTask",
    tag = "tasks",
    summary = "Ends a task and every call made because of it",
    params(("task" = String, Path, description = "The id of a task"), Cancel),
    responses((status = 200, description = "Done", body = Canceled)),
)]
pub(crate) async fn cancel(
    State(hub): State<Hub>,
    who: Who,
    Path(task): Path<String>,
    Query(cancel): Query<Cancel>,
) -> Result<Json<Canceled>, Problem> {
    let head = sight::find(&hub, &who, &task).await?;
    sight::may(&hub, &who, &head.place, Operation::CancelTask)?;
    Ok(Json(stop(&hub, &who, (head, cancel.below)).await?))
}

/// Ends a task, usually with every call made because of it, and writes down who wanted it.
pub(crate) async fn stop(
    hub: &Hub,
    who: &Who,
    (head, below): (Head, CallsBelow),
) -> Result<Canceled, Problem> {
    let id = head.id.clone();
    let tasks = sight::gateway(hub)?.tasks();
    let ended = match below {
        CallsBelow::Cancel => tree::cancel_all(tasks, head).await?,
        CallsBelow::Keep => tree::cancel_alone(tasks, head).await?,
    };
    let detail = format!("{} tasks", ended.len());
    note(hub, who, ("task.cancel", id.as_str(), &detail)).await;
    let (going_on, stopped): (Vec<_>, Vec<_>) =
        ended.into_iter().partition(|ended| ended.why.is_some());
    let view = |ended: Vec<tree::Ended>| {
        ended.into_iter().map(|ended| StoppedView::new(hub, who, ended)).collect()
    };
    Ok(Canceled { stopped: view(stopped), going_on: view(going_on) })
}

/// Writes into the audit trail what somebody did to a task.
pub(crate) async fn note(hub: &Hub, who: &Who, deed: (&str, &str, &str)) {
    let store = &**hub.directory.store();
    Trail::note(store, &who.actor(), &who.organisation, deed).await;
}
