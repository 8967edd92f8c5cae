//! `/ui/`: the canvas.

use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{
        ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
        ETAG, IF_NONE_MATCH, VARY,
    },
};

use super::problem::Problem;
use crate::hub::Hub;

/// Nothing runs but what comes from here; graphs are placed by styles of their elements.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'";

/// Leads to where relative addresses are right.
pub(super) async fn enter() -> Redirect {
    Redirect::permanent("/ui/")
}

pub(super) async fn index(hub: State<Hub>, headers: HeaderMap) -> Result<Response, Problem> {
    file(hub, Path(String::new()), headers).await
}

pub(super) async fn file(
    State(hub): State<Hub>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let file = hub.canvas.as_ref().and_then(|canvas| canvas.find(&path));
    let file = file.ok_or_else(Problem::not_found)?;
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let takes = |wanted: &str| {
        text(ACCEPT_ENCODING).split(',').any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            parts.next() == Some(wanted) && parts.all(|part| part != "q=0")
        })
    };
    let (body, coding) = match (file.brotli, file.gzip) {
        (Some(body), _) if takes("br") => (body, Some("br")),
        (_, Some(body)) if takes("gzip") => (body, Some("gzip")),
        _ => (file.plain, None),
    };
    let cache = if file.is_immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    let is_known = text(IF_NONE_MATCH).split(',').any(|etag| {
        let etag = etag.trim();
        etag.strip_prefix("W/").unwrap_or(etag).as_bytes() == file.etag.as_bytes()
    });
    let mut response =
        if is_known { StatusCode::NOT_MODIFIED.into_response() } else { body.into_response() };
    let answer = response.headers_mut();
    answer.insert(CONTENT_TYPE, HeaderValue::from_static(file.kind));
    answer.insert(ETAG, file.etag.clone());
    answer.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    answer.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    answer.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    if let Some(coding) = coding.filter(|_| !is_known) {
        answer.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    Ok(response)
}
