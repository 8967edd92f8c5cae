//! Upal's paths (U-17, U-18, UD-08): workflows, their runs, and their nodes as agents.
//!
//! Names are those of Upal's files, which may be titles: `My Report` is the workflow `my-report`.
//! Refusals are `{"error": "…"}` with the status that fits.

mod nodes;
mod runs;
mod workflows;

use axum::{
    Router,
    routing::{any, get, post},
};

use super::molecule::refused::Refused;
use crate::{http::api::triggers, hub::Hub, name::AgentName};

pub(super) fn router() -> Router<Hub> {
    Router::new()
        .route("/api/workflows", get(workflows::list).post(workflows::create))
        .route(
            "/api/workflows/{name}",
            get(workflows::show).put(workflows::update).delete(workflows::remove),
        )
        .route("/api/workflows/{name}/run", post(runs::run))
        .route("/api/workflows/{name}/runs", get(runs::of_workflow))
        .route("/api/runs", get(runs::list))
        .route("/api/runs/{run}", get(runs::show))
        .route("/api/runs/{run}/events", get(runs::events))
        .route("/api/runs/{run}/nodes/{node}/resume", post(runs::resume))
        .route("/api/hooks/{trigger}", post(triggers::hook))
        .route("/a2a/agent-card", get(nodes::all))
        .route("/a2a/nodes/{*node}", any(nodes::node))
}

/// Finds the name of a workflow in what Upal calls it.
fn name(text: &str) -> Result<AgentName, Refused> {
    let found = AgentName::parse(text).ok().or_else(|| AgentName::from_title(text));
    found.ok_or_else(|| Refused::invalid("name", "must have a letter or a digit"))
}
