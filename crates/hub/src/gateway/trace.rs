//! The place of a call in a distributed trace (W3C Trace Context).

use http::{HeaderMap, HeaderName, HeaderValue};
use nuncio_net::trace::{Cause, TRACEPARENT, TRACESTATE};
use nuncio_protocol::service::TraceContext;

/// More than the specification makes anybody keep.
const LONGEST_STATE: usize = 512;

/// Begins a trace that nobody has asked to be kept.
pub(crate) fn root() -> TraceContext {
    TraceContext { parent: nuncio_net::trace::root(), state: String::new() }
}

/// Returns the name of a trace that was begun here, and need not be checked.
pub(crate) fn trace_id_of_root(root: &TraceContext) -> &str {
    root.parent.get(3..35).unwrap_or_default()
}

/// Returns what a request is the cause of, if it is part of a trace.
pub(crate) fn cause(headers: &HeaderMap) -> Option<Cause> {
    let TraceContext { parent, state } = from_headers(headers)?;
    let state = HeaderValue::try_from(state).ok().filter(|state| !state.is_empty());
    Some(Cause { parent: HeaderValue::try_from(parent).ok()?, state })
}

/// Reads the headers of a request. Those that are not as they must be count as none.
pub(crate) fn from_headers(headers: &HeaderMap) -> Option<TraceContext> {
    let only = |name: HeaderName| {
        let mut all = headers.get_all(name).iter();
        match (all.next(), all.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    let parent = only(TRACEPARENT)?.to_owned();
    let state = only(TRACESTATE).filter(|state| state.len() <= LONGEST_STATE);
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

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0af7651916cd43dd8448eb211c80319c";

    #[track_caller]
    fn check(parents: &[&'static str], expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        for parent in parents {
            headers.append("traceparent", HeaderValue::from_static(parent));
        }
        let context = from_headers(&headers);
        assert_eq!(context.as_ref().and_then(trace_id), expected, "{parents:?}");
    }

    #[test]
    fn only_what_the_specification_allows_is_read() {
        check(&["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"], Some(ID));
        check(&["cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"], Some(ID));
        let one = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        check(&[one, one], None);
        for parent in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        ] {
            check(&[parent], None);
        }
    }

    #[test]
    fn a_new_trace_is_one_that_everybody_reads() {
        let (one, other) = (root(), root());
        assert_eq!(trace_id(&one), Some(trace_id_of_root(&one)));
        assert_ne!(one, other);
    }
}
