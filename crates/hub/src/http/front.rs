//! What every request passes: is it meant for us, and how did it go.

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{HOST, ORIGIN},
};
use tokio::time::Instant;

use super::problem::Problem;
use crate::{hub::Hub, metrics::HttpRequest};

/// Stands before every handler.
pub(super) async fn front(State(hub): State<Hub>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match check_place(&hub, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    protect(response.headers_mut());
    hub.metrics.http_request(&HttpRequest {
        method: method.as_str(),
        route: route.as_ref().map_or("", MatchedPath::as_str),
        status: response.status().as_u16(),
        duration: begun.elapsed(),
    });
    response
}

pub(super) async fn nothing_here() -> Problem {
    Problem::not_found()
}

/// A page elsewhere must not make a browser speak for its user: neither by a name that leads
/// here, nor from another origin.
fn check_place(hub: &Hub, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let host = authority.or_else(|| text(headers, &HOST).map(str::to_owned));
    // Only browsers send an origin or a cookie; other programs may call the hub what they like.
    let is_browser = headers.contains_key(ORIGIN) || headers.contains_key(http::header::COOKIE);
    if is_browser && !host.as_deref().is_some_and(|host| is_ours(hub, host)) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "FOREIGN_HOST",
            "this host is not served to browsers here; add it to `hosts` in the configuration",
        ));
    }
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let is_same = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    if is_same.is_some_and(|(_, host)| is_ours(hub, host)) {
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

fn is_ours(hub: &Hub, host: &str) -> bool {
    let settings = &hub.settings;
    let public = settings.public_url.split_once("://").map_or("", |(_, rest)| rest);
    let public = public.split('/').next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    host == public
        || settings.hosts.iter().any(|listed| listed == host)
        || matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Headers that keep browsers from doing more than is meant (MD-62).
fn protect(headers: &mut HeaderMap) {
    let fixed = [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let csp = HeaderName::from_static("content-security-policy");
    headers.entry(csp).or_insert(HeaderValue::from_static(
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ));
    let cache = http::header::CACHE_CONTROL;
    headers.entry(cache).or_insert(HeaderValue::from_static("no-store"));
}
