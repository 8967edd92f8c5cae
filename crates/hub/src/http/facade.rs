//! The seeds' own paths, each of which can be switched off (catalogue §7.5).

use axum::Router;

use crate::hub::Hub;

pub(super) fn molecule() -> Router<Hub> {
    Router::new()
}

pub(super) fn opportunity() -> Router<Hub> {
    Router::new()
}
