//! The opportunity agents' registry (O-09, OD-01), and the one endpoint behind which all of them
//! are (O-08).
//!
//! Every request leaves the log line of O-22 and is counted under the names of O-21.

mod call;
mod card;
mod exchange;
mod find;
mod register;

use axum::{
    Router,
    routing::{get, post},
};

use crate::hub::Hub;

pub(super) fn router() -> Router<Hub> {
    Router::new()
        .route("/register", post(register::register))
        .route("/discover", get(find::discover))
        .route("/agents", get(find::agents))
}

/// What carries requests.
pub(super) fn calls() -> Router<Hub> {
    Router::new()
        .route("/a2a", post(call::call))
        .route("/a2a/capabilities", get(find::capabilities))
        .route("/a2a/health", get(find::health))
}
