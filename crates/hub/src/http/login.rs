//! How a browser comes in: by a link that is good once.

use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use http::{HeaderValue, StatusCode, header::SET_COOKIE};
use serde::Deserialize;

use super::{problem::Problem, query::Query, who::COOKIE_NAME};
use crate::{
    hub::Hub,
    session::{LIFETIME, Session},
};

#[derive(Deserialize)]
pub(super) struct Link {
    ticket: String,
}

/// Lets a browser in by a link that `nuncio up` or `nuncio login` printed.
pub(super) async fn login(
    State(hub): State<Hub>,
    Query(link): Query<Link>,
) -> Result<Response, Problem> {
    let by_the_hub = |login| Session { login, key: None };
    let session = hub.sessions.redeem(&link.ticket);
    let session = session.or_else(|| hub.tickets.redeem(&link.ticket).map(by_the_hub));
    let session = session.ok_or_else(|| {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "TICKET_USED",
            "this link was used or is too old; `nuncio login` prints another",
        )
    })?;
    let secret = hub.sessions.begin(session);
    let secure = if hub.settings.public_url.starts_with("https:") { "; Secure" } else { "" };
    let age = LIFETIME.as_secs();
    let cookie =
        format!("{COOKIE_NAME}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}");
    let inside = if hub.canvas.is_some() { "/ui/" } else { "/" };
    let mut response = Redirect::to(inside).into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(response)
}
