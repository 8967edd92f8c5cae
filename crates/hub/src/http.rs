//! The hub on the wire.
//!
//! A request walks through `front`, which looks at its host and origin and counts it, to a
//! handler; the handler asks for a `Who`, and there is none without a credential.

mod api;
mod body;
mod calls;
mod catalog;
mod facade;
mod following;
mod front;
mod home;
mod login;
pub mod mcp;
mod operations;
mod own;
mod problem;
mod query;
mod sse;
mod ui;
mod view;
mod who;

use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{any, get, post},
};

pub use self::api::description;
pub(crate) use self::{
    calls::Endpoints,
    facade::{Tellers, tell_ended},
    who::Who,
};
use crate::hub::Hub;

/// Returns what answers every request of a hub.
pub fn router(hub: Hub) -> Router {
    let mut router = Router::new()
        .route("/", get(home::home))
        .route("/healthz", get(operations::healthz))
        .route("/readyz", get(operations::readyz))
        .route("/version", get(operations::version))
        .route("/metrics", get(operations::metrics))
        .route("/login", get(login::login))
        .route("/openapi.json", get(api::openapi))
        .route("/.well-known/jwks.json", get(operations::jwks))
        .route("/.well-known/ai-catalog.json", get(catalog::catalog))
        .nest("/api/v1", api::router());
    if hub.canvas.is_some() {
        router = router
            .route("/ui", get(ui::enter))
            .route("/ui/", get(ui::index))
            .route("/ui/{*path}", get(ui::file));
    }
    if hub.gateway.is_some() {
        router = router
            .route("/agents/{agent}", any(calls::call))
            .route("/agents/{agent}/", any(calls::call))
            .route("/agents/{agent}/{*rest}", any(calls::call))
            .route("/lf.a2a.v1.A2AService/{method}", post(calls::grpc))
            .route("/a2a.v1.A2AService/{method}", post(calls::grpc))
            .merge(own::router(!hub.settings.facades.opportunity));
    }
    if hub.mcp.is_some() {
        router = router.route("/mcp", any(mcp::answer));
    }
    if hub.settings.facades.molecule {
        router = router.merge(facade::molecule(hub.gateway.is_some()));
    }
    if hub.settings.facades.opportunity {
        router = router.merge(facade::opportunity(hub.gateway.is_some()));
    }
    if hub.settings.facades.upal && hub.gateway.is_some() {
        router = router.merge(facade::upal());
    }
    router
        .fallback(front::nothing_here)
        .method_not_allowed_fallback(front::wrong_method)
        .layer(from_fn_with_state(hub.clone(), front::front))
        .with_state(hub)
}
