//! What whoever runs the hub asks.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use nuncio_protocol::json;
use serde::Serialize;

use super::{problem::Problem, who::Who};
use crate::hub::Hub;

pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Ready is who can write: a directory without its database is not.
pub(super) async fn readyz(State(hub): State<Hub>) -> Result<&'static str, Problem> {
    let unready = |why: &str| Problem {
        retry_after: Some(1),
        ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, "NOT_READY", why)
    };
    if hub.drain.has_begun() {
        return Err(unready("the hub is stopping"));
    }
    hub.directory
        .store()
        .last_event()
        .await
        .map_err(|_| unready("the database does not answer"))?;
    Ok("ready\n")
}

#[derive(Serialize)]
pub(super) struct Program {
    name: &'static str,
    version: &'static str,
    protocols: [&'static str; 2],
}

pub(super) async fn version() -> Json<Program> {
    Json(Program { name: "nuncio", version: env!("CARGO_PKG_VERSION"), protocols: ["1.0", "0.3"] })
}

/// Counts tell strangers too much, so they need a credential as well.
pub(super) async fn metrics(State(hub): State<Hub>, who: Who) -> Result<Response, Problem> {
    who.overseer()?;
    let state = hub.directory.state();
    for status in crate::agent::Status::ALL {
        let count = state.agents().filter(|agent| agent.status == status).count();
        hub.metrics.agents(status.as_str(), count);
    }
    let is_ours = who.organisation == hub.settings.organisation;
    // What agents of others are called is nobody else's business.
    let text = if is_ours { hub.metrics.render() } else { hub.metrics.render_nameless() };
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response())
}

/// Keys for pair tokens are for everybody.
pub(super) async fn jwks(State(hub): State<Hub>) -> Response {
    // Those of all hubs on the database: whoever knows one hub knows the tokens of each.
    let keys = json::to_string(&hub.directory.published_keys(hub.minter.key_set()));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/jwk-set+json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60")),
    ];
    (headers, keys).into_response()
}
