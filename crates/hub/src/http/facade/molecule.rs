//! Molecule's platform: registry, workspaces and events (M-04 to M-13, MD-01 to MD-64).
//!
//! A workspace is an agent. Messages to it are carried by the gateway, as all are.

mod activity;
mod approvals;
mod asked;
mod delegations;
mod discover;
mod events;
mod live;
mod outcome;
mod proxy;
mod queue;
pub(super) mod refused;
mod registry;
mod tokens;
mod told;
mod view;
mod workspaces;

use axum::{
    Router,
    routing::{delete, get, post},
};

pub(crate) use self::{delegations::tell_ended, told::Tellers};
use crate::hub::Hub;

pub(super) fn router() -> Router<Hub> {
    Router::new()
        .route("/registry/register", post(registry::register))
        .route("/registry/heartbeat", post(registry::heartbeat))
        .route("/registry/update-card", post(registry::update_card))
        .route("/registry/check-access", post(registry::check_access))
        .route("/registry/discover/{id}", get(discover::discover))
        .route("/registry/{id}/peers", get(registry::peers))
        .route("/workspaces", get(workspaces::list).post(workspaces::create))
        .route(
            "/workspaces/{id}",
            get(workspaces::show).patch(workspaces::edit).delete(workspaces::remove),
        )
        .route("/workspaces/{id}/state", get(workspaces::state))
        .route("/workspaces/{id}/pause", post(workspaces::pause))
        .route("/workspaces/{id}/resume", post(workspaces::resume))
        .route("/workspaces/{id}/tokens", get(tokens::list).post(tokens::create))
        .route("/workspaces/{id}/tokens/{token}", delete(tokens::revoke))
        .route("/workspaces/{id}/approvals", get(approvals::list).post(approvals::create))
        .route("/workspaces/{id}/approvals/{approval}/decide", post(approvals::decide))
        .route("/approvals/pending", get(approvals::pending))
        .route("/workspaces/{id}/events/stream", get(live::stream))
        .route("/events", get(events::all))
        .route("/events/{id}", get(events::of_one))
        .route("/ws", get(live::socket))
}

/// What carries messages.
pub(super) fn calls() -> Router<Hub> {
    Router::new()
        .route("/workspaces/{id}/a2a", post(proxy::proxy))
        .route("/workspaces/{id}/delegate", post(delegations::delegate))
        .route("/workspaces/{id}/delegations", get(delegations::list))
        .route("/workspaces/{id}/delegations/record", post(delegations::record))
        .route("/workspaces/{id}/delegations/{delegation}/update", post(delegations::update))
        .route("/workspaces/{id}/activity", get(activity::activity))
        .route("/tasks/{id}", get(proxy::task))
        .route("/admin/a2a-queue/drop-stale", post(queue::drop_stale))
}
