//! How a browser comes in: by a link that is good once.

use axum::{
    extract::State,
    response::{Html, IntoResponse, Redirect, Response},
};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ACCEPT, SET_COOKIE},
};
use serde::Deserialize;

use super::{home::page, problem::Problem, query::Query, who::COOKIE_NAME};
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
    headers: HeaderMap,
    link: Result<Query<Link>, Problem>,
) -> Response {
    let problem = match link.and_then(|Query(link)| let_in(&hub, &link)) {
        Ok(response) => return response,
        Err(problem) => problem,
    };
    if is_read_by_people(&headers) {
        let body = REFUSED.replace("{inside}", inside(&hub));
        return (problem.status, Html(page(&body))).into_response();
    }
    problem.into_response()
}

/// The link may have been opened twice, or by something that looks at links beforehand.
const REFUSED: &str = "<p>This link does not let anybody in: it was used, it is too old, or a \
    part of it is missing. A link lets one browser in, once, within a minute.</p>\
    <p>For another, type <code>nuncio login</code> where the hub runs, and open the link that it \
    prints.</p>\
    <p>If this browser was let in before: <a href=\"{inside}\">go on</a>.</p>";

fn let_in(hub: &Hub, link: &Link) -> Result<Response, Problem> {
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
    let mut response = Redirect::to(inside(hub)).into_response();
    set_cookie(hub, &mut response, &secret, LIFETIME.as_secs());
    Ok(response)
}

fn inside(hub: &Hub) -> &'static str {
    if hub.canvas.is_some() { "/ui/" } else { "/" }
}

/// Tells whether an answer is shown as it is: a browser that opens a link names HTML, and
/// programs do not.
fn is_read_by_people(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// Has a browser keep a secret for so many seconds; for none, it forgets the one it has.
pub(crate) fn set_cookie(hub: &Hub, response: &mut Response, secret: &str, age: u64) {
    let secure = if hub.settings.public_url.starts_with("https:") { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE_NAME}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
}
