//! Has an agent of the directory examined.

use axum::{
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde::Deserialize;
use tokio::time::timeout;

use super::{agents, tasks};
use crate::{
    agent::{Agent, Delivery, Watch},
    doctor::{Busy, LONGEST, Patient},
    http::{body::Optional, problem::Problem, who::Who},
    hub::Hub,
};

/// How an agent is to be examined.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Examination {
    /// Whether no message is sent and nothing changed.
    read_only: bool,
}

/// What was found about an agent.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "it describes what whoever examines has written")]
pub(crate) struct DoctorReport {
    /// What was examined.
    url: String,
    /// What the agent calls itself.
    agent: Option<String>,
    /// Whether anything answered.
    reachable: bool,
    checks: Vec<DoctorCheck>,
    summary: DoctorSummary,
}

/// What came of one check.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "it describes what whoever examines has written")]
struct DoctorCheck {
    /// Its stable name, such as `card.found`.
    code: String,
    group: String,
    /// The interface that it is about.
    interface: Option<String>,
    /// `pass`, `warning`, `failure` or `skipped`.
    outcome: String,
    message: String,
    cause: Option<String>,
    fix: Option<String>,
}

/// How many checks ended how.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "it describes what whoever examines has written")]
struct DoctorSummary {
    pass: u32,
    warning: u32,
    failure: u32,
    skipped: u32,
}

#[utoipa::path(
    post,
    path = "/api/v1/agents/{agent}/doctor",
    operation_id = "examineAgent",
    tag = "agents",
    summary = "Examines an agent: what works, what does not, and what to do about it",
    description = "For administrators. The hub calls the agent with its own credential and within \
                   its own guard; it takes up to two minutes, and one agent is examined once at a \
                   time. The report is that of `nuncio doctor --format json`.",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    request_body = Option<Examination>,
    responses(
        (status = 200, description = "Done", body = DoctorReport),
        (status = 504, description = "It took too long"),
    ),
)]
pub(crate) async fn examine(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
    Optional(wish): Optional<Examination>,
) -> Result<Response, Problem> {
    who.administrator()?;
    let doctor = hub.doctor.as_ref().ok_or_else(Problem::not_found)?;
    let agent = agents::find(&hub, &who, &agent)?;
    let url = place(&hub, &agent)?;
    let _visit = hub.visits.begin(&agent.id).map_err(busy)?;
    tasks::note(&hub, &who, ("agent.doctor", agent.id.as_str(), agent.name.as_str())).await;
    let credentials = match &hub.gateway {
        Some(gateway) => gateway.credentials(&agent)?,
        None => None,
    };
    let net = hub.client.net().clone();
    let patient = Patient { url, net, credentials, is_read_only: wish.read_only };
    let report = timeout(LONGEST, doctor.examine(patient)).await.map_err(|_| {
        let detail = format!("the examination took longer than {} seconds", LONGEST.as_secs());
        Problem::new(StatusCode::GATEWAY_TIMEOUT, "TOO_SLOW", detail)
    })?;
    let report = report.map_err(|why| Problem::new(StatusCode::CONFLICT, "NOT_EXAMINED", why))?;
    Ok(([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], report).into_response())
}

/// Returns where an agent is examined.
fn place(hub: &Hub, agent: &Agent) -> Result<String, Problem> {
    let refused =
        |detail: &str| Err(Problem::new(StatusCode::CONFLICT, "NOT_CALLED", detail.to_owned()));
    if hub.directory.state().workflow(&agent.id, None).is_some() {
        return refused("a workflow runs in the hub; `nuncio workflow validate` examines it");
    }
    if agent.watch == Watch::Hosted {
        return refused("the hub runs this agent itself: there is nothing to reach");
    }
    if agent.delivery == Delivery::Pull {
        return refused("this agent fetches its work: the hub calls nobody");
    }
    let addresses = &agent.addresses;
    let known = [&addresses.card, &addresses.internal, &addresses.public];
    match known.into_iter().flatten().next() {
        Some(url) => Ok(url.to_string()),
        None => refused("nobody knows where this agent is: give it a URL"),
    }
}

fn busy(busy: Busy) -> Problem {
    match busy {
        Busy::Agent => {
            let detail = "this agent is being examined; wait until that is over";
            Problem::new(StatusCode::CONFLICT, "BEING_EXAMINED", detail)
        }
        Busy::Doctor => {
            let detail = "as many agents are being examined as may be; wait until one is done";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_EXAMINATIONS", detail)
        }
    }
}
