//! The place of a call in a distributed trace (W3C Trace Context).

use http::HeaderMap;
use nuncio_protocol::service::TraceContext;

/// More than the specification makes anybody keep.
const LONGEST_STATE: usize = 512;

/// Reads the headers of a request. Those that are not as they must be count as none.
pub(crate) fn from_headers(headers: &HeaderMap) -> Option<TraceContext> {
    let only = |name: &str| {
        let mut all = headers.get_all(name).iter();
        match (all.next(), all.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    let parent = only("traceparent")?.to_owned();
    let state = only("tracestate").filter(|state| state.len() <= LONGEST_STATE);
    let context = TraceContext { parent, state: state.unwrap_or_default().to_owned() };
    trace_id(&context).is_some().then_some(context)
}

/// Returns the name of the trace, 32 hex digits; `None` if the context is not as it must be.
pub(crate) fn trace_id(context: &TraceContext) -> Option<&str> {
    let mut parts = context.parent.split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_set = |part: &str| part.bytes().any(|byte| byte != b'0');
    let is_well = is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
    let is_known = version == "00" && parts.next().is_some();
    (is_well && version != "ff" && !is_known && is_set(trace) && is_set(span)).then_some(trace)
}
