//! What the headers of a request say about the call.

use std::time::Duration;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE, USER_AGENT},
};
use nuncio_protocol::{
    dialect::WireForm,
    operation::Operation,
    service::{CallContext, Priority},
};
use tokio::time::Instant;
use uuid::Uuid;

/// Asks for events with numbers behind which a stream can be resumed.
pub(crate) const RESUME: &str = "urn:nuncio:extension:resume:v1";

pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const VERSION: HeaderName = HeaderName::from_static("a2a-version");
pub(super) const EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// What 0.3 calls the same.
pub(super) const LEGACY_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const PRIORITY: HeaderName = HeaderName::from_static("a2a-priority");
/// The task because of which we call, for whoever wants to hand it on.
const PARENT_TASK: HeaderName = HeaderName::from_static("a2a-parent-task");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");
/// How an opportunity agent knows its own, and how long we wait, in milliseconds (O-07).
const CAPABILITY_VERSION: HeaderName = HeaderName::from_static("a2a-protocol-version");
const REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("a2a-request-timeout");
/// The same for gRPC, with a unit.
const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
/// How long we wait, in seconds, for molecules (MD-30).
const TIMEOUT: HeaderName = HeaderName::from_static("x-timeout");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const AGENT: HeaderValue = HeaderValue::from_static(concat!("nuncio/", env!("CARGO_PKG_VERSION")));

/// Writes the headers of a call. A value of the caller's that no header can hold is left out.
pub(crate) fn of(ctx: &CallContext, form: WireForm, operation: Operation) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    let is_streaming = operation.is_streaming();
    headers.insert(USER_AGENT, AGENT);
    if !matches!(form, WireForm::V1Grpc | WireForm::V03Grpc) {
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, if is_streaming { EVENTS } else { JSON });
    }
    let (version, is_legacy) = match form {
        WireForm::V1 | WireForm::V1Http | WireForm::V1Grpc => (Some("1.0"), false),
        WireForm::V03 | WireForm::V03Http | WireForm::V03Grpc => (Some("0.3"), true),
        _ => (None, true),
    };
    if let Some(version) = version {
        headers.insert(VERSION, HeaderValue::from_static(version));
    }
    let resume = (is_streaming && version.is_some()).then_some(RESUME);
    if let Some(uris) = extensions(ctx, resume) {
        if is_legacy {
            headers.insert(LEGACY_EXTENSIONS, uris.clone());
        }
        headers.insert(EXTENSIONS, uris);
    }
    if matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage) {
        headers.insert(IDEMPOTENCY_KEY, key(ctx));
    }
    if let Some(seq) = ctx.last_event {
        headers.insert(LAST_EVENT_ID, HeaderValue::from(seq));
    }
    if ctx.priority != Priority::Normal {
        let name = if ctx.priority == Priority::High { "high" } else { "low" };
        headers.insert(PRIORITY, HeaderValue::from_static(name));
    }
    if let Some(trace) = &ctx.trace {
        put(&mut headers, TRACE_PARENT, &trace.parent);
        put(&mut headers, TRACE_STATE, &trace.state);
    }
    if let Some(parent) = &ctx.parent {
        put(&mut headers, PARENT_TASK, parent.as_str());
    }
    say_deadline(&mut headers, ctx, form, operation);
    headers
}

/// Returns the key under which a message that is sent twice is one message.
fn key(ctx: &CallContext) -> HeaderValue {
    let given = ctx.idempotency_key.as_deref().and_then(|key| HeaderValue::try_from(key).ok());
    given.unwrap_or_else(|| {
        let mut buffer = Uuid::encode_buffer();
        let text = Uuid::now_v7().hyphenated().encode_lower(&mut buffer);
        HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
    })
}

fn extensions(ctx: &CallContext, resume: Option<&str>) -> Option<HeaderValue> {
    let wanted = ctx.extensions.iter().map(String::as_str);
    let resume = resume.filter(|uri| !ctx.extensions.contains(*uri));
    let uris: Vec<&str> = wanted.chain(resume).collect();
    match uris.as_slice() {
        [] => None,
        [RESUME] => Some(HeaderValue::from_static(RESUME)),
        uris => HeaderValue::try_from(uris.join(", ")).ok(),
    }
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if !value.is_empty()
        && let Ok(value) = HeaderValue::from_str(value)
    {
        headers.insert(name, value);
    }
}

fn millis(left: Duration) -> HeaderValue {
    // Nothing left is no number to some.
    HeaderValue::from(u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1))
}

/// Tells peers that can hear it how long the caller still waits, or whoever it calls for (C-27).
fn say_deadline(headers: &mut HeaderMap, ctx: &CallContext, form: WireForm, operation: Operation) {
    let left = |end| Instant::from_std(end).saturating_duration_since(Instant::now());
    let is_message = matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage);
    let waited = ctx.waited_until.filter(|_| is_message).map(left);
    let own = ctx.deadline.map(left);
    // Servers of gRPC hang up when the time is over, so they are told of our own alone.
    let told = match form {
        WireForm::V1Grpc | WireForm::V03Grpc => own,
        _ => own.into_iter().chain(waited).min(),
    };
    if let Some(waited) = waited {
        headers.insert(REQUEST_TIMEOUT, millis(waited));
    }
    match (form, told) {
        (WireForm::Opportunity, left) => {
            headers.insert(CAPABILITY_VERSION, HeaderValue::from_static("1.0"));
            if let Some(left) = left {
                headers.insert(REQUEST_TIMEOUT, millis(left));
            }
        }
        (WireForm::Molecule, Some(left)) => {
            // 0 would be for ever.
            headers.insert(TIMEOUT, HeaderValue::from(left.as_secs().max(1)));
        }
        (WireForm::V1Grpc | WireForm::V03Grpc, Some(left)) => {
            // Eight digits are all it may have.
            let millis = left.as_millis().min(99_999_999);
            put(headers, GRPC_TIMEOUT, &format!("{millis}m"));
        }
        _ => {}
    }
}
