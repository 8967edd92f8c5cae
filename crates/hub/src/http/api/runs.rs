//! Runs of workflows: each is a task of the agent that the workflow is.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, StatusCode};
use nuncio_protocol::{
    error::Error as A2aError,
    ids::{AgentId, TaskId, Tenant},
    json::{Object, Raw},
    message::{Message, Part},
    operation::{Operation, SendMessageRequest},
    service::CallContext,
    state::TaskState,
    task::StreamResponse,
    time::Timestamp,
};
use nuncio_tasks::{
    engine::{Logged, Row, Rows},
    log::{Entry as TaskEntry, Seq},
    scope::Scope,
    store::{Filter, Head, Limit},
};
use nuncio_workflow::runner::{
    Note,
    entry::{Dated, Entry, Happened, Log, read_log},
    view::{RunEvent, RunView, Standing, state_name},
};
use serde::{Deserialize, Serialize};

use super::{
    tasks::{
        self, CallsBelow, Canceled,
        log::Watching,
        say::{self, Said},
        sight,
        view::{Between, TaskView, line},
    },
    workflows,
};
use crate::{
    error::Error,
    gateway::{Word, runs::message_of, trace},
    http::{
        body,
        problem::Problem,
        query::Query,
        sse,
        who::{Role, Who},
    },
    hub::Hub,
};

/// How many workflows' runs are looked through when none is named.
const MOST_WORKFLOWS: usize = 200;

/// A run, and what came of it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WholeRun {
    #[serde(flatten)]
    pub(crate) run: RunView,
    /// When anything was last said about it.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) updated_at: Timestamp,
    /// Who began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<String>,
    /// What came of it, as A2A has it.
    #[schema(value_type = Vec<Object>)]
    output: Vec<Raw>,
}

/// What a run is given.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Begin {
    /// The inputs by name: any JSON, or a part as A2A has it for a file.
    #[schema(value_type = Object)]
    inputs: BTreeMap<String, Raw>,
    /// Which version of the workflow; the newest without.
    version: Option<u32>,
}

#[utoipa::path(
    post,
    path = "/api/v1/workflows/{name}/runs",
    operation_id = "beginRun",
    tag = "runs",
    summary = "Begins a run of a workflow",
    params(
        ("name" = String, Path, description = "The name of a workflow"),
        ("Idempotency-Key" = Option<String>, Header, description = "Begun once, however often it is sent"),
    ),
    request_body = Begin,
    responses((status = 202, description = "It has begun", body = WholeRun)),
)]
pub(crate) async fn begin(
    State(hub): State<Hub>,
    who: Who,
    Path(name): Path<String>,
    headers: HeaderMap,
    body::Optional(begin): body::Optional<Begin>,
) -> Result<(StatusCode, Json<WholeRun>), Problem> {
    let note = Note { version: begin.version, ..Note::default() };
    let run = start(&hub, &who, (&name, &headers), begin.inputs, note).await?;
    Ok((StatusCode::ACCEPTED, Json(run)))
}

/// Begins a run of a workflow as somebody, and shows it.
pub(crate) async fn start(
    hub: &Hub,
    who: &Who,
    (name, headers): (&str, &HeaderMap),
    inputs: BTreeMap<String, Raw>,
    note: Note,
) -> Result<WholeRun, Problem> {
    let agent = workflows::find(hub, who, name)?;
    if who.role == Role::Viewer {
        return Err(Problem::forbidden("a viewer may look at runs, and not begin any"));
    }
    who.identity
        .grant
        .check(Operation::SendMessage, None)
        .map_err(|outside| Problem::new(StatusCode::FORBIDDEN, "FORBIDDEN", outside.to_string()))?;
    let key = headers.get("idempotency-key").map(|value| {
        value.to_str().map_err(|_| Problem::invalid("Idempotency-Key", "must be printable ASCII"))
    });
    let mut ctx = CallContext::new(who.identity.caller.clone());
    ctx.organisation = Some(who.organisation.as_str().into());
    ctx.tenant = Tenant::parse(agent.name.as_str()).ok();
    ctx.idempotency_key = key.transpose()?.map(ToOwned::to_owned);
    ctx.trace = trace::from_headers(headers);
    let inputs = inputs.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let inputs = Object::from_members(inputs).into_raw();
    let data = Object::from_members([("inputs", inputs)]).into_raw();
    let mut message = Message::user("");
    message.parts = vec![Part::data(data).with_media_type("application/json")];
    if let Some(key) = &ctx.idempotency_key {
        message.message_id = message_of(key);
    }
    let request =
        SendMessageRequest { tenant: ctx.tenant.clone(), ..SendMessageRequest::new(message) };
    let mut events = sight::gateway(hub)?.begin_run(ctx, request, note).await?;
    let first = events.next().await.transpose()?;
    let task = first.and_then(|event| match event.response.value() {
        Ok(StreamResponse::Task(task)) => Some(task.id.clone()),
        _ => None,
    });
    let task = task.ok_or_else(|| {
        let text = "the run has not begun";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", text)
    })?;
    let head = sight::find(hub, who, task.as_str()).await?;
    whole(hub, who, &head).await
}

/// Reads a run.
pub(crate) async fn whole(hub: &Hub, who: &Who, head: &Head) -> Result<WholeRun, Problem> {
    let tasks = sight::gateway(hub)?.tasks();
    let scope = Scope::from(&head.place);
    let log = read_log(tasks, &scope, &head.id).await?;
    let task = tasks.get_within(&scope, &head.id, Some(0)).await?.task;
    let task = nuncio_protocol::service::read(task)?;
    let word = task.status.message.as_ref().map(|message| message.text()).unwrap_or_default();
    let standing = Standing { state: task.status.state, since: task.status.timestamp, word };
    let mut run = RunView::new(&head.id, &log, &standing);
    run.workflow = called(hub, head, run.workflow);
    Ok(WholeRun {
        run,
        updated_at: head.updated,
        caller: Between::new(hub, who, &head.place).caller,
        output: task
            .artifacts
            .iter()
            .map(|artifact| tasks::log::raw(&nuncio_protocol::json::to_string(artifact).into()))
            .collect(),
    })
}

/// Returns what the workflow of a run is called now.
fn called(hub: &Hub, head: &Head, then: String) -> String {
    let state = hub.directory.state();
    let id = AgentId::parse(head.place.agent.as_str()).ok();
    let agent = id.and_then(|id| state.agent(&id).cloned());
    agent.map_or(then, |agent| agent.name.as_str().to_owned())
}

/// Finds a run that somebody may see.
pub(crate) async fn find(hub: &Hub, who: &Who, run: &str) -> Result<Head, Problem> {
    let unknown = || Problem::from(Error::Unknown { what: "run" });
    let head = sight::find(hub, who, run).await.map_err(|problem| {
        if problem.status == StatusCode::NOT_FOUND { unknown() } else { problem }
    })?;
    let tasks = sight::gateway(hub)?.tasks();
    match first_entries(tasks, &head).await?.begun {
        Some(_) => Ok(head),
        // It is one as soon as it was accepted, before the runner has said its first word.
        None if is_workflow(hub, &head) => Ok(head),
        None => Err(unknown()),
    }
}

/// Tells whether a task was given to a workflow.
fn is_workflow(hub: &Hub, head: &Head) -> bool {
    let agent = AgentId::parse(head.place.agent.as_str());
    agent.is_ok_and(|agent| hub.directory.state().workflow(&agent, None).is_some())
}

/// Reads how a run has begun.
async fn first_entries(tasks: &nuncio_tasks::engine::Tasks, head: &Head) -> Result<Log, A2aError> {
    let limit = Limit { entries: 3, bytes: 4 << 20 };
    let page = tasks.log(&Scope::from(&head.place), &head.id, Seq::START, limit).await?;
    let mut log = Log::default();
    page.entries.iter().for_each(|entry| log.take(entry));
    Ok(log)
}

/// Which runs are wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    /// The name of the workflow.
    workflow: Option<String>,
    /// States, with commas between them: `working,input-required`.
    state: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
    limit: Option<usize>,
}

/// A page of runs, those with the newest status first.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct RunPage {
    runs: Vec<WholeRun>,
    /// What to ask with as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[utoipa::path(
    get,
    path = "/api/v1/runs",
    operation_id = "listRuns",
    tag = "runs",
    summary = "Lists runs, those with the newest status first, without their nodes",
    params(Asked),
    responses((status = 200, description = "Done", body = RunPage)),
)]
pub(crate) async fn list(
    State(hub): State<Hub>,
    who: Who,
    Query(asked): Query<Asked>,
) -> Result<Json<RunPage>, Problem> {
    let states = tasks::states(asked.state.as_deref().unwrap_or_default())?;
    let page = (asked.after.as_deref().unwrap_or_default(), asked.limit);
    let found = page_of(&hub, &who, asked.workflow.as_deref(), states, page).await?;
    let mut runs = Vec::with_capacity(found.rows.len());
    for row in found.rows {
        runs.push(in_short(&hub, &who, row).await?);
    }
    let next = Some(found.next_page_token).filter(|token| !token.is_empty());
    Ok(Json(RunPage { runs, next }))
}

/// Reads a page of runs, of one workflow or of all that somebody may know of.
pub(crate) async fn page_of(
    hub: &Hub,
    who: &Who,
    workflow: Option<&str>,
    states: Vec<TaskState>,
    page: (&str, Option<usize>),
) -> Result<Rows, Problem> {
    who.somebody()?;
    let agents = if let Some(name) = workflow {
        vec![workflows::find(hub, who, name)?.id.clone()]
    } else {
        let state = hub.directory.state();
        let agents = state.in_order(&who.organisation, None);
        let agents = agents.filter(|agent| {
            state.workflow(&agent.id, None).is_some() && hub.directory.sees(who.asker(), &agent.id)
        });
        agents.take(MOST_WORKFLOWS).map(|agent| agent.id.clone()).collect()
    };
    let names = agents.iter().map(|id| sight::name(id.as_str())).collect::<Result<Vec<_>, _>>()?;
    let seen = sight::scopes(who)?;
    let scopes: Vec<Scope> = names
        .iter()
        .flat_map(|name| {
            seen.iter().filter_map(|scope| sight::narrowed(scope.clone(), Some(name), None))
        })
        .collect();
    tasks::rows(hub, &scopes, Filter { states, ..Filter::default() }, page).await
}

/// Shows a run without its nodes.
pub(crate) async fn in_short(hub: &Hub, who: &Who, row: Row) -> Result<WholeRun, Problem> {
    let Row { head, status, .. } = row;
    let log = first_entries(sight::gateway(hub)?.tasks(), &head).await?;
    let word = status.message.as_ref().map(|message| line(&message.text())).unwrap_or_default();
    let standing = Standing { state: status.state, since: status.timestamp, word };
    let mut run = RunView::new(&head.id, &log, &standing);
    run.nodes.clear();
    run.questions.clear();
    run.seq = head.seq.0;
    run.workflow = called(hub, &head, run.workflow);
    let caller = Between::new(hub, who, &head.place).caller;
    Ok(WholeRun { run, updated_at: head.updated, caller, output: Vec::new() })
}

#[utoipa::path(
    get,
    path = "/api/v1/runs/{run}",
    operation_id = "showRun",
    tag = "runs",
    summary = "Shows a run with its nodes",
    params(("run" = String, Path, description = "The id of a run")),
    responses((status = 200, description = "Done", body = WholeRun)),
)]
pub(crate) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Path(run): Path<String>,
) -> Result<Json<WholeRun>, Problem> {
    let head = find(&hub, &who, &run).await?;
    Ok(Json(whole(&hub, &who, &head).await?))
}

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Behind {
    /// Only events behind this one; all without.
    after: Option<u64>,
}

/// The events of a run so far.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct RunEvents {
    events: Vec<RunEvent>,
    /// What to ask with as `after` for what comes behind.
    last: u64,
    /// Whether the run is over: nothing comes behind.
    ended: bool,
}

#[utoipa::path(
    get,
    path = "/api/v1/runs/{run}/events",
    operation_id = "listRunEvents",
    tag = "runs",
    summary = "Lists the events of a run, or streams them over SSE",
    params(("run" = String, Path, description = "The id of a run"), Behind),
    responses(
        (status = 200, description = "Done", content(
            (RunEvents = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 204, description = "The run is over, and the reader has seen everything"),
    ),
)]
pub(crate) async fn events(
    State(hub): State<Hub>,
    who: Who,
    headers: HeaderMap,
    Path(run): Path<String>,
    Query(behind): Query<Behind>,
) -> Result<Response, Problem> {
    let head = find(&hub, &who, &run).await?;
    let after = sse::last_event_id(&headers)?.or(behind.after).unwrap_or_default();
    let narrator = Narrator { run: head.id.clone(), workflow: called(&hub, &head, String::new()) };
    if !sse::is_wanted(&headers) {
        return Ok(Json(so_far(&hub, &head, after, &narrator).await?).into_response());
    }
    if head.state.is_terminal() && after >= head.seq.0 {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let watching = Watching::new(&hub, who, &head, Seq(after)).await?;
    let told = stream::unfold((watching, narrator), |(mut watching, narrator)| async move {
        loop {
            let Logged::Entry(entry) = watching.next().await? else { continue };
            if let Some(event) = narrator.tell(&entry) {
                let frame = sse::named(Some(event.seq), event.kind, &event);
                return Some((frame, (watching, narrator)));
            }
        }
    });
    Ok(sse::answer(told))
}

async fn so_far(
    hub: &Hub,
    head: &Head,
    after: u64,
    narrator: &Narrator,
) -> Result<RunEvents, Problem> {
    let tasks = sight::gateway(hub)?.tasks();
    let limit = Limit { entries: 1_000, bytes: 8 << 20 };
    let page = tasks.log(&Scope::from(&head.place), &head.id, Seq(after), limit).await?;
    let last = page.entries.last().map_or(after, |entry| entry.seq.0);
    let events = page.entries.iter().filter_map(|entry| narrator.tell(entry)).collect();
    Ok(RunEvents { events, last, ended: page.state.is_terminal() && last >= page.reached.0 })
}

/// Tells the log of a run.
pub(crate) struct Narrator {
    pub(crate) run: TaskId,
    pub(crate) workflow: String,
}

impl Narrator {
    /// Returns what an entry of the log says about the run.
    pub(crate) fn tell(&self, logged: &TaskEntry) -> Option<RunEvent> {
        let TaskEntry { seq: Seq(seq), record } = logged;
        let StreamResponse::StatusUpdate(update) = record.event.value().ok()? else { return None };
        let at = update.status.timestamp.unwrap_or_else(Timestamp::now);
        let (run, workflow) = (&self.run, self.workflow.as_str());
        if update.status.state.is_terminal() {
            let word = update.status.message.as_ref().map(|said| said.text()).unwrap_or_default();
            let end = (at, update.status.state, word.as_str());
            return Some(RunEvent::ended(run, workflow, *seq, end));
        }
        match Entry::of(record.event.value().ok()?)? {
            Entry::Begun(begun) => {
                let event = RunEvent::started(run, *seq, at, &begun);
                Some(RunEvent { workflow: workflow.to_owned(), ..event })
            }
            Entry::Happened(Happened { event, question, .. }) => {
                let dated = Dated { seq: *seq, at, event, question };
                Some(RunEvent::of(run, workflow, &dated))
            }
            Entry::Addressed(..) | Entry::Heard(_) => None,
        }
    }
}

#[utoipa::path(
    post,
    path = "/api/v1/runs/{run}/cancel",
    operation_id = "cancelRun",
    tag = "runs",
    summary = "Ends a run and everything that it has under way",
    params(("run" = String, Path, description = "The id of a run")),
    responses((status = 200, description = "Done", body = Canceled)),
)]
pub(crate) async fn cancel(
    State(hub): State<Hub>,
    who: Who,
    Path(run): Path<String>,
) -> Result<Json<Canceled>, Problem> {
    let head = find(&hub, &who, &run).await?;
    sight::may(&hub, &who, &head.place, Operation::CancelTask)?;
    Ok(Json(tasks::stop(&hub, &who, (head, CallsBelow::Cancel)).await?))
}

/// How a run is repeated.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Rerun {
    /// Nodes that run again although they have succeeded, with all that depends on them. Without
    /// any, and without inputs, only what has not succeeded runs.
    from: Vec<String>,
    /// Other inputs; those of the run without. Everything runs again then.
    #[schema(value_type = Option<Object>)]
    inputs: Option<BTreeMap<String, Raw>>,
    /// Everything runs again.
    from_start: bool,
    /// The newest version of the workflow, and not that of the run.
    newest: bool,
}

#[utoipa::path(
    post,
    path = "/api/v1/runs/{run}/rerun",
    operation_id = "rerun",
    tag = "runs",
    summary = "Begins another run that takes over what a run has brought about",
    params(("run" = String, Path, description = "The id of a run")),
    request_body = Rerun,
    responses((status = 202, description = "It has begun", body = WholeRun)),
)]
pub(crate) async fn rerun(
    State(hub): State<Hub>,
    who: Who,
    Path(run): Path<String>,
    headers: HeaderMap,
    body::Optional(rerun): body::Optional<Rerun>,
) -> Result<(StatusCode, Json<WholeRun>), Problem> {
    let head = find(&hub, &who, &run).await?;
    let name = called(&hub, &head, String::new());
    let from = if rerun.from_start || (rerun.inputs.is_some() && rerun.from.is_empty()) {
        everything(&hub, &head).await?
    } else {
        rerun.from
    };
    let note =
        Note { rerun_of: Some(head.id.clone()), from, newest: rerun.newest, ..Note::default() };
    let inputs = rerun.inputs.unwrap_or_default();
    let run = start(&hub, &who, (&name, &headers), inputs, note).await?;
    Ok((StatusCode::ACCEPTED, Json(run)))
}

/// Returns the nodes of a run.
async fn everything(hub: &Hub, head: &Head) -> Result<Vec<String>, Problem> {
    let log = first_entries(sight::gateway(hub)?.tasks(), head).await?;
    let source = log.begun.map(|begun| begun.source).unwrap_or_default();
    let workflow = nuncio_workflow::graph::Workflow::read(&source).ok();
    let nodes = workflow.as_ref().map(nuncio_workflow::graph::Workflow::nodes).unwrap_or_default();
    Ok(nodes.iter().map(|node| node.id().to_string()).collect())
}

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// The number of the item, of a node that runs over a list.
    item: Option<u32>,
}

#[utoipa::path(
    post,
    path = "/api/v1/runs/{run}/nodes/{node}/answer",
    operation_id = "answerNode",
    tag = "runs",
    summary = "Answers what a node of a run asks",
    params(
        ("run" = String, Path, description = "The id of a run"),
        ("node" = String, Path, description = "The name of a node"),
        Which,
    ),
    request_body = Said,
    responses((status = 200, description = "The run has got it", body = TaskView)),
)]
pub(crate) async fn answer(
    State(hub): State<Hub>,
    who: Who,
    Path((run, node)): Path<(String, String)>,
    headers: HeaderMap,
    Query(which): Query<Which>,
    body::Json(said): body::Json<Said>,
) -> Result<Json<TaskView>, Problem> {
    let parts = said.into_parts();
    if parts.is_empty() {
        return Err(Problem::invalid("text", "is needed, or `data` or `parts`"));
    }
    Ok(Json(answer_node(&hub, &who, (&run, &node, which.item), &headers, parts).await?))
}

/// Answers what a node of a run asks, if it does.
pub(crate) async fn answer_node(
    hub: &Hub,
    who: &Who,
    (run, node, item): (&str, &str, Option<u32>),
    headers: &HeaderMap,
    parts: Vec<Part>,
) -> Result<TaskView, Problem> {
    let head = find(hub, who, run).await?;
    sight::may(hub, who, &head.place, Operation::SendMessage)?;
    let view = whole(hub, who, &head).await?;
    let asks = |question: &&nuncio_workflow::runner::view::QuestionView| {
        question.node == node && item.is_none_or(|item| question.item == Some(item))
    };
    let Some(asking) = view.run.questions.iter().find(asks) else {
        let state = state_name(head.state);
        let detail = format!("the node `{node}` does not ask for anything; the run is {state}");
        return Err(Problem::new(StatusCode::CONFLICT, "NOT_WAITING", detail));
    };
    let node = match asking.item {
        Some(item) => format!("{node}[{item}]"),
        None => node.to_owned(),
    };
    let by = who.actor();
    let word = Word {
        parts,
        by: by.as_str(),
        node: Some(&node),
        key: None,
        is_last: false,
        trace: trace::from_headers(headers),
    };
    say::say_word(hub, who, &head, "run.answer", word).await
}
