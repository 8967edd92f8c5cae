//! W3C trace context, in and out.
//!
//! A request brings `traceparent` (and `tracestate`); what it makes us do is a child of that.
//! What we ask others carries the child's. Without a collector the context is passed on all the
//! same, so that a trace does not end at the hub.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::trace::{IdGenerator as _, RandomIdGenerator};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// A place in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: TraceId,
    span_id: SpanId,
    is_sampled: bool,
    /// What systems on the way have added, as they wrote it.
    state: Option<HeaderValue>,
}

/// The header with the place in the trace.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The header with what others have added.
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// More than the specification makes anybody keep.
const LONGEST_STATE: usize = 512;

impl TraceContext {
    /// Begins a trace that nobody wants to see.
    pub fn root() -> Self {
        let ids = RandomIdGenerator::default();
        let (trace_id, span_id) = (ids.new_trace_id(), ids.new_span_id());
        Self { trace_id, span_id, is_sampled: false, state: None }
    }

    /// Reads the headers of a request. Those that are not as they must be, or stand there
    /// twice, count as none: a trace is no reason to refuse anybody.
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all(TRACEPARENT).iter();
        let (Some(parent), None) = (all.next(), all.next()) else { return None };
        let mut context = Self::parse(parent.to_str().ok()?)?;
        let mut states = headers.get_all(TRACESTATE).iter();
        context.state = match (states.next(), states.next()) {
            (Some(state), None) if is_state(state) => Some(state.clone()),
            _ => None,
        };
        Some(context)
    }

    /// Reads a `traceparent`: `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`. A later
    /// version may have more behind it.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = |part: &str, length: usize| {
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            part.len() == length && part.bytes().all(is_digit)
        };
        let mut parts = text.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_known = version == "00";
        let is_well =
            is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
        if !is_well || version == "ff" || (is_known && parts.next().is_some()) {
            return None;
        }
        let trace_id = TraceId::from_hex(trace).ok().filter(|id| *id != TraceId::INVALID)?;
        let span_id = SpanId::from_hex(span).ok().filter(|id| *id != SpanId::INVALID)?;
        let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        Some(Self { trace_id, span_id, is_sampled, state: None })
    }

    /// Returns a new place below this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { span_id: RandomIdGenerator::default().new_span_id(), ..self.clone() }
    }

    /// Puts it into the headers of a request, in place of what stands there.
    pub fn inject(&self, headers: &mut HeaderMap) {
        headers.remove(TRACESTATE);
        if let Ok(value) = HeaderValue::from_str(&self.to_string()) {
            headers.insert(TRACEPARENT, value);
        }
        if let Some(state) = &self.state {
            headers.insert(TRACESTATE, state.clone());
        }
    }

    /// Returns the name of the trace, 32 hex digits.
    pub fn trace_id(&self) -> String {
        self.trace_id.to_string()
    }

    /// Returns the name of the place, 16 hex digits.
    pub fn span_id(&self) -> String {
        self.span_id.to_string()
    }

    /// Tells whether somebody wants to see the trace.
    pub const fn is_sampled(&self) -> bool {
        self.is_sampled
    }

    fn to_remote(&self) -> SpanContext {
        let flags = if self.is_sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
        let state = self.state.as_ref().and_then(|state| state.to_str().ok()?.parse().ok());
        let state: TraceState = state.unwrap_or_default();
        SpanContext::new(self.trace_id, self.span_id, flags, true, state)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.is_sampled);
        write!(f, "00-{}-{}-{flags:02x}", self.trace_id, self.span_id)
    }
}

fn is_state(value: &HeaderValue) -> bool {
    (1..=LONGEST_STATE).contains(&value.len()) && value.to_str().is_ok()
}

/// Makes the span of a request, below what the request brought. `route` is a pattern, never a
/// path. Calls to agents have one of their own below it: [`nuncio_hub::access::span`].
pub fn http_span(method: &Method, route: &str, incoming: Option<&TraceContext>) -> Span {
    let span = tracing::info_span!(
        target: "nuncio::trace",
        "http_request",
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
        http.route = route,
        status = tracing::field::Empty,
        trace_id = tracing::field::Empty,
    );
    hang(&span, incoming);
    span
}

/// Tells whether a span is exported, so that others can hang below it.
pub fn is_exported(span: &Span) -> bool {
    span.context().span().span_context().is_valid()
}

/// Hangs a span below what a request brought.
fn hang(span: &Span, incoming: Option<&TraceContext>) {
    if let Some(incoming) = incoming {
        let parent = Context::new().with_remote_span_context(incoming.to_remote());
        // It fails if nothing is exported, and then there is nothing to hang it below.
        let _ = span.set_parent(parent);
    }
    span.record("trace_id", outgoing(span, incoming).trace_id());
}

/// Returns what a request that is sent within a span carries: the span itself if it is
/// exported, otherwise a child of what came in, otherwise a new trace.
pub fn outgoing(span: &Span, incoming: Option<&TraceContext>) -> TraceContext {
    let context = span.context();
    let exported = context.span().span_context().clone();
    if exported.is_valid() {
        return TraceContext {
            trace_id: exported.trace_id(),
            span_id: exported.span_id(),
            is_sampled: exported.is_sampled(),
            state: incoming.and_then(|incoming| incoming.state.clone()),
        };
    }
    incoming.map_or_else(TraceContext::root, TraceContext::child)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[track_caller]
    fn check(text: &str, expected: Option<bool>) {
        let read = TraceContext::parse(text).map(|context| context.is_sampled());
        assert_eq!(read, expected, "{text}");
    }

    #[test]
    fn only_what_the_specification_allows_is_read() {
        check(GOOD, Some(true));
        check("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", Some(false));
        check("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", Some(true));
        for text in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
            " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_child_is_in_the_same_trace_and_keeps_the_state() {
        let mut headers = HeaderMap::new();
        headers.insert(TRACEPARENT, HeaderValue::from_static(GOOD));
        headers.insert(TRACESTATE, HeaderValue::from_static("vendor=1"));
        let incoming = TraceContext::from_headers(&headers).unwrap();
        let child = incoming.child();
        assert_eq!(child.trace_id(), incoming.trace_id());
        assert_ne!(child.span_id(), incoming.span_id());
        let mut sent = HeaderMap::new();
        sent.insert(TRACESTATE, HeaderValue::from_static("of-somebody-else"));
        child.inject(&mut sent);
        assert_eq!(TraceContext::from_headers(&sent), Some(child));
        assert_eq!(sent[TRACESTATE], "vendor=1");
    }

    #[test]
    fn two_parents_are_none() {
        let mut headers = HeaderMap::new();
        headers.append(TRACEPARENT, HeaderValue::from_static(GOOD));
        headers.append(TRACEPARENT, HeaderValue::from_static(GOOD));
        assert_eq!(TraceContext::from_headers(&headers), None);
    }

    #[test]
    fn without_a_collector_the_context_is_passed_on() {
        let incoming = TraceContext::parse(GOOD).unwrap();
        let span = http_span(&Method::GET, "/", Some(&incoming));
        assert_eq!(outgoing(&span, Some(&incoming)).trace_id(), incoming.trace_id());
        assert!(!outgoing(&span, None).is_sampled());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(_ in 0..1) {
            let root = TraceContext::root();
            prop_assert_eq!(TraceContext::parse(&root.to_string()), Some(root));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            if let Some(context) = TraceContext::parse(&text) {
                prop_assert_eq!(TraceContext::parse(&context.to_string()), Some(context));
            }
        }
    }
}
