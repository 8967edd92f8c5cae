//! What the hub and an agent said to each other about a task.

use axum::{
    Json,
    extract::{Path, State},
};
use nuncio_tasks::scope::Place;
use serde::{Deserialize, Serialize};

use super::sight;
use crate::{
    gateway::{
        Reach,
        wire::{KEPT, WIRE, WireItem},
    },
    http::{
        problem::Problem,
        query::Query,
        who::{Role, Who},
    },
    hub::Hub,
};

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    /// Only what is behind this place; all without.
    after: Option<u64>,
}

/// The wire between the hub and an agent.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WireView {
    /// How the agent is reached: `called`, `fetches` its work, `in_process`, or `workflow`. Only
    /// one that is called has a wire.
    #[schema(value_type = String)]
    reach: &'static str,
    /// Whether it was kept.
    is_recorded: bool,
    /// Why there is nothing to see, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// What went by, in that order. Credentials are never among it.
    items: Vec<WireItem>,
    /// What to ask with as `after` for what comes behind.
    last: u64,
    /// How much there was no room for.
    left_out: u64,
}

#[utoipa::path(
    get,
    path = "/api/v1/tasks/{task}/wire",
    operation_id = "showTaskWire",
    tag = "tasks",
    summary = "Shows what went over the wire between hub and agent, if that was asked for",
    description = "Kept in memory for 15 minutes, for calls with the extension \
                   `urn:nuncio:extension:wire:v1` that a person makes. Seen by administrators and \
                   by the person who asked for the task.",
    params(("task" = String, Path, description = "The id of a task"), Asked),
    responses((status = 200, description = "Done", body = WireView)),
)]
pub(crate) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Path(task): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<WireView>, Problem> {
    let head = sight::find(&hub, &who, &task).await?;
    may_see(&who, &head.place)?;
    let gateway = sight::gateway(&hub)?;
    let after = asked.after.unwrap_or_default();
    let record = gateway.wire(&head.place, &head.id);
    let reach = gateway.reach(&head.place);
    let (items, left_out) = record.as_ref().map(|kept| kept.after(after)).unwrap_or_default();
    Ok(Json(WireView {
        reach: match reach {
            Reach::Called => "called",
            Reach::Fetches => "fetches",
            Reach::InProcess => "in_process",
            Reach::Workflow => "workflow",
        },
        is_recorded: record.is_some(),
        note: record.is_none().then(|| why_nothing(reach)),
        last: items.last().map_or(after, |item| item.seq),
        items,
        left_out,
    }))
}

/// How agents are called is between the hub and people.
fn may_see(who: &Who, place: &Place) -> Result<(), Problem> {
    let is_own = who.role == Role::Person && sight::caller(who)? == place.caller;
    if is_own {
        return Ok(());
    }
    who.administrator().map_err(|_| {
        Problem::forbidden("only an administrator and the person who asked may see the wire")
    })
}

fn why_nothing(reach: Reach) -> String {
    match reach {
        Reach::InProcess => "called in this process, no wire".to_owned(),
        Reach::Fetches => "the agent fetches its work from the hub, which calls nobody".to_owned(),
        Reach::Workflow => {
            "a workflow runs in this process; its steps are tasks of their own".to_owned()
        }
        Reach::Called => format!(
            "not recorded: send the message with `A2A-Extensions: {WIRE}`, and look within {} \
             minutes",
            KEPT.as_secs() / 60
        ),
    }
}
