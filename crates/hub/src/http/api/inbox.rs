//! Everything that waits for a person, over all agents.
//!
//! A question is a task in `INPUT_REQUIRED` or `AUTH_REQUIRED`, so the inbox is a list of tasks
//! and nothing is kept for it. An answer is a message to the task, as its caller would send it;
//! its metadata says who has answered. Approvals and denials are answers with a part for
//! programs: `{"approved": true}` or `{"approved": false, "reason": "…"}`.
//!
//! What a node of a run asks, the run asks as well. Such a question stands here once, as the run's.

use axum::{
    Json,
    extract::{Path, State},
};
use http::{HeaderMap, StatusCode};
use nuncio_protocol::{
    error::ErrorKind,
    ids::{AgentId, ContextId, TaskId},
    json::{self, Object, Raw},
    message::{Message, Part},
    operation::Operation,
    state::TaskState,
    time::Timestamp,
};
use nuncio_tasks::{
    engine::{Row, Rows},
    scope::Scope,
    store::{Filter, Head},
};
use serde::{Deserialize, Serialize};

use super::tasks::{
    self, CallsBelow, Canceled,
    say::{self, Said},
    sight,
    view::{Between, TaskView, line},
};
use crate::{
    http::{body, problem::Problem, query::Query, who::Who},
    hub::Hub,
};

/// What waits for somebody.
const WAITING: [TaskState; 2] = [TaskState::InputRequired, TaskState::AuthRequired];

/// The longest question that is shown as text, in characters. The message has all of it.
const LONGEST_QUESTION: usize = 4_000;

/// Where agents put the schema of a form: in metadata, or in a part with data.
const SCHEMA_MEMBERS: [&str; 4] = ["schema", "formSchema", "form_schema", "form"];

/// Which questions are wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    /// The name or id of the agent that asks.
    agent: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
    limit: Option<usize>,
}

/// A page of questions, the newest first.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct InboxPage {
    items: Vec<ItemView>,
    /// What to ask with as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How many there are on all pages, for whoever sees all. Where there are several pages, what
    /// a run and its node both ask may count twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

/// A question.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ItemView {
    /// The task that waits.
    #[schema(value_type = String)]
    task: TaskId,
    #[schema(value_type = String)]
    context_id: ContextId,
    #[serde(flatten)]
    between: Between,
    /// `input`: an answer is needed; `auth`: somebody must log in somewhere, or send a secret.
    #[schema(value_type = String)]
    needs: &'static str,
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// What was asked for in the beginning, in a line.
    asked: String,
    /// What the agent wants to know.
    question: String,
    /// The question as A2A 1.0 has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    message: Option<Raw>,
    /// The JSON schema of the form to be filled in, if the question comes with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    form: Option<Raw>,
    /// The task because of which this one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    parent: Option<TaskId>,
}

#[utoipa::path(
    get,
    path = "/api/v1/inbox",
    operation_id = "listInbox",
    tag = "inbox",
    summary = "Lists what waits for a person",
    params(Asked),
    responses((status = 200, description = "Done", body = InboxPage)),
)]
pub(crate) async fn list(
    State(hub): State<Hub>,
    who: Who,
    Query(asked): Query<Asked>,
) -> Result<Json<InboxPage>, Problem> {
    let agent = asked.agent.as_deref().map(|text| tasks::agent(&hub, &who, text)).transpose()?;
    let scopes = sight::asked(&who)?.into_iter();
    let scopes: Vec<Scope> =
        scopes.filter_map(|scope| sight::narrowed(scope, agent.as_ref(), None)).collect();
    let filter = Filter { states: WAITING.to_vec(), ..Filter::default() };
    let page = (asked.after.as_deref().unwrap_or_default(), asked.limit);
    let Rows { rows, next_page_token, total } = tasks::rows(&hub, &scopes, filter, page).await?;
    let mut items = Vec::with_capacity(rows.len());
    let mut left_out = 0;
    for row in rows {
        if !sight::sees(&hub, &who, &row.head.place) {
            continue;
        }
        if is_asked_by_its_run(&hub, &row).await? {
            left_out += 1;
        } else {
            items.push(ItemView::new(&hub, &who, row));
        }
    }
    Ok(Json(InboxPage {
        items,
        next: Some(next_page_token).filter(|token| !token.is_empty()),
        total: who.overseer().is_ok().then_some(total.saturating_sub(left_out)),
    }))
}

/// Tells whether a run waits for the same answer.
async fn is_asked_by_its_run(hub: &Hub, row: &Row) -> Result<bool, Problem> {
    let Some(parent) = &row.parent else { return Ok(false) };
    let scope = Scope::tenant(row.head.place.tenant.clone());
    let run = match sight::gateway(hub)?.tasks().find(&scope, parent).await {
        Ok(head) => head,
        Err(error) if error.kind() == ErrorKind::TaskNotFound => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let workflow = AgentId::parse(run.place.agent.as_str()).ok();
    let state = hub.directory.state();
    let is_run = workflow.is_some_and(|id| state.workflow(&id, None).is_some());
    Ok(is_run && WAITING.contains(&run.state))
}

#[utoipa::path(
    post,
    path = "/api/v1/inbox/{task}/answer",
    operation_id = "answerInbox",
    tag = "inbox",
    summary = "Answers a question",
    params(
        ("task" = String, Path, description = "The id of the task that waits"),
        ("Idempotency-Key" = Option<String>, Header, description = "Answered once, however often it is sent"),
    ),
    request_body = Said,
    responses((status = 200, description = "The agent has got it", body = Answered)),
)]
pub(crate) async fn answer(
    State(hub): State<Hub>,
    who: Who,
    Path(task): Path<String>,
    headers: HeaderMap,
    body::Json(said): body::Json<Said>,
) -> Result<Json<Answered>, Problem> {
    let head = find(&hub, &who, &task, &headers).await?;
    let parts = said.into_parts();
    if parts.is_empty() {
        return Err(Problem::invalid("text", "is needed, or `data` or `parts`"));
    }
    let task = say::say(&hub, &who, &head, (&headers, "task.answer"), parts).await?;
    Ok(Json(Answered { task, canceled: None }))
}

/// A decision, and why.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Decision {
    /// Why; the agent is told.
    reason: Option<String>,
    /// Any JSON value: the filled-in form, if one was asked for.
    #[schema(value_type = Option<Object>)]
    data: Option<Raw>,
}

/// What became of an answer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Answered {
    /// The task as it is now.
    task: TaskView,
    /// What ended with it, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    canceled: Option<Canceled>,
}

#[utoipa::path(
    post,
    path = "/api/v1/inbox/{task}/approve",
    operation_id = "approveInbox",
    tag = "inbox",
    summary = "Answers a question with yes",
    params(
        ("task" = String, Path, description = "The id of the task that waits"),
        ("Idempotency-Key" = Option<String>, Header, description = "Answered once, however often it is sent"),
    ),
    request_body = Decision,
    responses((status = 200, description = "The agent has got it", body = Answered)),
)]
pub(crate) async fn approve(
    State(hub): State<Hub>,
    who: Who,
    Path(task): Path<String>,
    headers: HeaderMap,
    body::Optional(decision): body::Optional<Decision>,
) -> Result<Json<Answered>, Problem> {
    let head = find(&hub, &who, &task, &headers).await?;
    let parts = decided(true, decision.reason.as_deref(), decision.data);
    let task = say::say(&hub, &who, &head, (&headers, "task.approve"), parts).await?;
    Ok(Json(Answered { task, canceled: None }))
}

/// A no, and why.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Denial {
    /// Why; the agent is told.
    reason: Option<String>,
    /// Whether the task is to end, with every call made because of it.
    cancel: bool,
}

#[utoipa::path(
    post,
    path = "/api/v1/inbox/{task}/deny",
    operation_id = "denyInbox",
    tag = "inbox",
    summary = "Answers a question with no",
    params(
        ("task" = String, Path, description = "The id of the task that waits"),
        ("Idempotency-Key" = Option<String>, Header, description = "Answered once, however often it is sent"),
    ),
    request_body = Denial,
    responses((status = 200, description = "The agent has got it", body = Answered)),
)]
pub(crate) async fn deny(
    State(hub): State<Hub>,
    who: Who,
    Path(task): Path<String>,
    headers: HeaderMap,
    body::Optional(denial): body::Optional<Denial>,
) -> Result<Json<Answered>, Problem> {
    let head = find(&hub, &who, &task, &headers).await?;
    let parts = decided(false, denial.reason.as_deref(), None);
    let deed = (&headers, "task.deny");
    if !denial.cancel {
        let task = say::say(&hub, &who, &head, deed, parts).await?;
        return Ok(Json(Answered { task, canceled: None }));
    }
    sight::may(&hub, &who, &head.place, Operation::CancelTask)?;
    say::say_last(&hub, &who, &head, deed, parts).await?;
    let now = sight::find(&hub, &who, head.id.as_str()).await?;
    let canceled = match tasks::stop(&hub, &who, (now, CallsBelow::Cancel)).await {
        Ok(canceled) => Some(canceled),
        // A no was enough: it has ended by itself.
        Err(problem) if problem.status == StatusCode::CONFLICT => None,
        Err(problem) => return Err(problem),
    };
    let tasks = sight::gateway(&hub)?.tasks();
    let row = tasks.row(&Scope::from(&head.place), &head.id).await?;
    Ok(Json(Answered { task: TaskView::new(&hub, &who, row), canceled }))
}

/// Finds a question that somebody may answer. A repeated answer finds it even if it is answered.
async fn find(hub: &Hub, who: &Who, task: &str, headers: &HeaderMap) -> Result<Head, Problem> {
    let head = sight::find(hub, who, task).await?;
    sight::may(hub, who, &head.place, Operation::SendMessage)?;
    if !WAITING.contains(&head.state) && !headers.contains_key("idempotency-key") {
        let detail =
            format!("task {} does not wait for an answer, it is {}", head.id, head.state.as_str());
        return Err(Problem::new(StatusCode::CONFLICT, "NOT_WAITING", detail));
    }
    Ok(head)
}

/// Says yes or no: to people and models in words, to programs as data.
fn decided(is_approved: bool, reason: Option<&str>, form: Option<Raw>) -> Vec<Part> {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    let word = if is_approved { "approved" } else { "denied" };
    let text = match reason {
        Some(reason) => format!("{word}: {reason}"),
        None => word.to_owned(),
    };
    let mut members = vec![("approved", Raw::bool(is_approved))];
    members.extend(reason.map(|reason| ("reason", Raw::string(reason))));
    // Without a media type: agents that take nothing but text would refuse it, and have the text.
    let decision = Object::from_members(members).into_raw();
    let mut parts = vec![Part::text(text), Part::data(decision)];
    parts.extend(form.map(Part::data));
    parts
}

impl ItemView {
    fn new(hub: &Hub, who: &Who, row: Row) -> Self {
        let Row { head, status, asked, parent, .. } = row;
        let question = status.message.as_ref().map(|message| message.text()).unwrap_or_default();
        Self {
            between: Between::new(hub, who, &head.place),
            needs: if status.state == TaskState::AuthRequired { "auth" } else { "input" },
            since: status.timestamp.unwrap_or(head.updated),
            asked: line(&asked),
            question: question.chars().take(LONGEST_QUESTION).collect(),
            form: status.message.as_deref().and_then(form),
            message: status
                .message
                .as_deref()
                .map(|message| tasks::log::raw(&json::to_string(message).into())),
            task: head.id,
            context_id: head.context,
            parent,
        }
    }
}

/// Finds the schema of the form that a question comes with. Agents have no common way to say
/// it: it stands in the metadata of the message or of a part, or a part with data has it as a
/// member, or is it.
fn form(message: &Message) -> Option<Raw> {
    let of_parts = message.parts.iter().filter_map(|part| part.metadata.clone());
    let mut metadata = message.metadata.iter().cloned().chain(of_parts);
    let datas = || message.parts.iter().filter_map(|part| part.as_data()?.as_object());
    metadata
        .find_map(|metadata| named_schema(&metadata))
        .or_else(|| datas().find_map(|data| named_schema(&data)))
        .or_else(|| datas().find(is_schema).map(Object::into_raw))
}

fn named_schema(object: &Object) -> Option<Raw> {
    let named = SCHEMA_MEMBERS.iter().filter_map(|name| object.get(name)?.as_object());
    named.into_iter().find(is_schema).map(Object::into_raw)
}

fn is_schema(object: &Object) -> bool {
    let has_properties = || object.get("properties").is_some_and(|all| all.as_object().is_some());
    let is_object =
        || object.get("type").and_then(|kind| kind.as_text()).as_deref() == Some("object");
    object.get("$schema").is_some() || (has_properties() && is_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, expected: Option<&str>) {
        let message: Message = json::from_str(message).unwrap();
        assert_eq!(form(&message).as_ref().map(Raw::as_str), expected);
    }

    #[test]
    fn a_form_is_found_wherever_agents_put_it() {
        let schema = r#"{"type":"object","properties":{"amount":{"type":"number"}}}"#;
        let in_part = |part: &str| {
            format!(r#"{{"messageId":"m","role":"ROLE_AGENT","parts":[{{"text":"?"}},{part}]}}"#)
        };
        check(&in_part(&format!(r#"{{"data":{schema}}}"#)), Some(schema));
        check(&in_part(&format!(r#"{{"data":{{"schema":{schema}}}}}"#)), Some(schema));
        let returned = format!(r#"{{"data":{{"type":"form","form":{schema},"form_data":{{}}}}}}"#);
        check(&in_part(&returned), Some(schema));
        check(
            &in_part(&format!(r#"{{"text":"","metadata":{{"formSchema":{schema}}}}}"#)),
            Some(schema),
        );
        let of_message = format!(
            r#"{{"messageId":"m","role":"ROLE_AGENT","parts":[{{"text":"?"}}],"metadata":{{"schema":{schema}}}}}"#
        );
        check(&of_message, Some(schema));
        check(&in_part(r#"{"data":{"amount":40}}"#), None);
        check(&in_part(r#"{"data":{"schema":"a text"}}"#), None);
        check(&in_part(r#"{"data":[1,2]}"#), None);
    }

    #[test]
    fn decisions_are_for_people_and_programs() {
        let check = |parts: Vec<Part>, text: &str, data: &str| {
            assert_eq!(parts[0].as_text(), Some(text));
            assert_eq!(parts[1].as_data().map(Raw::as_str), Some(data));
        };
        check(decided(true, None, None), "approved", r#"{"approved":true}"#);
        let reason = Some(" too \"dear\" ");
        let data = r#"{"approved":false,"reason":"too \"dear\""}"#;
        check(decided(false, reason, None), "denied: too \"dear\"", data);
        let form = decided(true, Some(""), Some(Raw::bool(false)));
        assert_eq!(form[2].as_data().map(Raw::as_str), Some("false"));
    }
}
