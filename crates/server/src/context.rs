//! What the headers of a request say about the call.

use std::{collections::BTreeSet, time::Duration};

use http::{HeaderMap, HeaderName};
use nuncio_auth::Identity;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    service::{CallContext, Priority, TraceContext},
    version::Version,
};
use tokio::time::Instant;

pub(crate) const VERSION: HeaderName = HeaderName::from_static("a2a-version");
pub(crate) const EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// What 0.3 calls the same.
pub(crate) const LEGACY_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const PRIORITY: HeaderName = HeaderName::from_static("a2a-priority");
/// How long an opportunity agent waits, in milliseconds (O-07).
const REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("a2a-request-timeout");
/// How long a molecule waits, in seconds; 0 is for ever (MD-30).
const TIMEOUT: HeaderName = HeaderName::from_static("x-timeout");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// Reads a call's context. Who calls is known by then, and never read from here.
pub(crate) fn read(
    headers: &HeaderMap,
    identity: &Identity,
    version: Version,
) -> Result<CallContext, Error> {
    let mut ctx = CallContext::new(identity.caller.clone());
    ctx.organisation.clone_from(&identity.organisation);
    ctx.version = version;
    ctx.extensions = extensions(headers);
    ctx.idempotency_key = text(headers, &IDEMPOTENCY_KEY)?.map(str::to_owned);
    ctx.last_event = match text(headers, &LAST_EVENT_ID)?.map(str::trim) {
        None | Some("") => None,
        Some(number) => Some(number.parse().map_err(|_| {
            invalid(&LAST_EVENT_ID, "must be the `id:` of an event that you have seen")
        })?),
    };
    if let Some(name) = text(headers, &PRIORITY)? {
        ctx.priority = Priority::from_name(name)
            .ok_or_else(|| invalid(&PRIORITY, "must be low, normal or high"))?;
    }
    ctx.deadline =
        wait(headers)?.and_then(|wait| Instant::now().checked_add(wait)).map(Instant::into_std);
    ctx.trace = text(headers, &TRACE_PARENT)?
        .map(|parent| -> Result<TraceContext, Error> {
            let state = text(headers, &TRACE_STATE)?.unwrap_or_default();
            Ok(TraceContext { parent: parent.to_owned(), state: state.to_owned() })
        })
        .transpose()?;
    Ok(ctx)
}

/// Returns how long the caller waits, by whichever name it says so (C-27).
fn wait(headers: &HeaderMap) -> Result<Option<Duration>, Error> {
    let number = |name: &HeaderName, wanted: &'static str| -> Result<Option<u64>, Error> {
        let Some(number) = text(headers, name)? else { return Ok(None) };
        number.trim().parse().map(Some).map_err(|_| invalid(name, wanted))
    };
    let milliseconds = number(&REQUEST_TIMEOUT, "must be a whole number of milliseconds")?;
    let seconds = number(&TIMEOUT, "must be a whole number of seconds")?;
    let seconds = seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
    Ok(milliseconds.map(Duration::from_millis).or(seconds))
}

fn extensions(headers: &HeaderMap) -> BTreeSet<String> {
    [EXTENSIONS, LEGACY_EXTENSIONS]
        .iter()
        .flat_map(|name| headers.get_all(name))
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|uri| !uri.is_empty())
        .map(str::to_owned)
        .collect()
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Error> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    value.to_str().map(Some).map_err(|_| invalid(name, "must be printable ASCII"))
}

fn invalid(name: &HeaderName, text: &'static str) -> Error {
    Error::new(ErrorKind::InvalidParams, format!("header {name} {text}"))
        .with_violation(name.as_str(), text)
}
