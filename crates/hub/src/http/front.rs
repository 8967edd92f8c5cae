//! What every request passes: is it meant for us, and how did it go.

use std::sync::{Arc, OnceLock};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{HOST, ORIGIN},
    uri::Authority,
};
use tokio::time::Instant;

use super::{problem::Problem, who::Who};
use crate::{gateway::trace, hub::Hub, limits::Level, metrics::HttpRequest};

/// Stands before every handler.
pub(super) async fn front(State(hub): State<Hub>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let uri = request.uri().clone();
    let tab = Tab::default();
    request.extensions_mut().insert(tab.clone());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let cause = trace::cause(request.headers());
    let mut response = match (check_place(&hub, &request), cause) {
        (Ok(()), None) => next.run(request).await,
        // What has to be fetched for it is part of the same trace.
        (Ok(()), Some(cause)) => cause.of(next.run(request)).await,
        (Err(problem), _) => problem.into_response(),
    };
    protect(response.headers_mut());
    if let Some(seen) = tab.0.get() {
        show_level(response.headers_mut(), seen.level);
        if let (Some(who), StatusCode::FORBIDDEN) = (&seen.who, response.status()) {
            let subject = format!("{method} {}", uri.path());
            let organisation = Some(&who.organisation);
            hub.trail.refused(&who.actor(), organisation, ("request.deny", &subject, ""));
        }
    }
    hub.metrics.http_request(&HttpRequest {
        method: method.as_str(),
        route: route.as_ref().map_or("", MatchedPath::as_str),
        status: response.status().as_u16(),
        duration: begun.elapsed(),
    });
    response
}

/// What is learnt about a request on its way: whose it is, and what they have left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tab(Arc<OnceLock<Seen>>);

#[derive(Debug)]
struct Seen {
    level: Level,
    who: Option<Who>,
}

impl Tab {
    pub(crate) fn note(&self, level: Level, who: Option<&Who>) {
        // Whoever was seen first it is.
        let _ = self.0.set(Seen { level, who: who.cloned() });
    }
}

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Says what a caller has left, and in how many seconds they have everything again.
fn show_level(headers: &mut HeaderMap, level: Level) {
    let reset = level.reset.as_secs() + u64::from(level.reset.subsec_nanos() > 0);
    headers.insert(LIMIT, level.limit.into());
    headers.insert(REMAINING, level.remaining.into());
    headers.insert(RESET, reset.into());
}

pub(super) async fn nothing_here() -> Problem {
    Problem::not_found()
}

pub(super) async fn wrong_method() -> Problem {
    let detail = "this path has no such method; `Allow` names those it has";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "WRONG_METHOD", detail)
}

/// A page elsewhere must not make a browser speak for its user: neither by a name that leads
/// here, nor from another origin.
fn check_place(hub: &Hub, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let host = host(request.uri(), headers);
    // Programs other than browsers may call the hub what they like. At an open hub nobody may:
    // a page that reads its own name, which leads here, sends nothing that gives a browser away.
    let is_checked = hub.settings.is_open || is_browser(headers);
    if is_checked && !host.is_some_and(|host| is_ours(hub, host)) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "FOREIGN_HOST",
            "this host is not served to browsers here; add it to `hosts` in the configuration",
        ));
    }
    if is_from_our_page(hub, request.uri(), headers) {
        return Ok(());
    }
    // A page may be read from anywhere, by whoever has it in a link.
    if matches!(*request.method(), Method::GET | Method::HEAD)
        && !headers.contains_key(http::header::COOKIE)
        && !headers.contains_key(http::header::UPGRADE)
    {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "FOREIGN_ORIGIN",
        "requests from pages of other origins are refused",
    ))
}

/// Tells whether a browser sends a request. None of these comes with every one of its requests.
fn is_browser(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN)
        || headers.contains_key(http::header::COOKIE)
        || headers.keys().any(|name| name.as_str().starts_with("sec-fetch-"))
}

/// Tells whether no page from elsewhere sends a request: a page of the very place that it is
/// sent to, of the hub's public address or of a host that is listed; or no page at all.
///
/// Another port is another place, with somebody else's program. Another scheme is not: what
/// ends TLS before the hub leaves `https` in the origin.
pub(super) fn is_from_our_page(hub: &Hub, uri: &Uri, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let place = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    let Some(("http" | "https", place)) = place else { return false };
    let is_here = host(uri, headers).is_some_and(|host| host == place && is_ours(hub, host));
    is_here || is_named(hub, place)
}

/// Returns where a request was sent to.
fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    uri.authority().map(Authority::as_str).or_else(|| text(headers, &HOST))
}

fn is_ours(hub: &Hub, host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    is_named(hub, host) || matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

/// Tells whether the configuration names a host as the hub's.
fn is_named(hub: &Hub, host: &str) -> bool {
    let settings = &hub.settings;
    let public = settings.public_url.split_once("://").map_or("", |(_, rest)| rest);
    let public = public.split('/').next().unwrap_or_default();
    host == public || settings.hosts.iter().any(|listed| listed == host)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Headers that keep browsers from doing more than is meant (MD-62).
const PROTECTIVE: [(HeaderName, HeaderValue); 5] = [
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff")),
    (HeaderName::from_static("x-frame-options"), HeaderValue::from_static("DENY")),
    (HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=()"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];
const CONTENT_POLICY: HeaderName = HeaderName::from_static("content-security-policy");
const NOTHING: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
);
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

fn protect(headers: &mut HeaderMap) {
    // With those that say what a caller has left.
    headers.reserve(PROTECTIVE.len() + 5);
    for (name, value) in PROTECTIVE {
        headers.insert(name, value);
    }
    headers.entry(CONTENT_POLICY).or_insert(NOTHING);
    headers.entry(http::header::CACHE_CONTROL).or_insert(NO_STORE);
}
