//! Every request of a hub as part of a trace.

use axum::{
    Router,
    extract::{MatchedPath, Request},
    middleware::{Next, from_fn},
    response::Response,
};
use nuncio::telemetry::trace::{TraceContext, http_span, is_exported, outgoing};
use tracing::Instrument as _;

/// Makes a span of every request, below what the request brought.
pub(super) fn traced(router: Router) -> Router {
    router.layer(from_fn(trace))
}

async fn trace(mut request: Request, next: Next) -> Response {
    let incoming = TraceContext::from_headers(request.headers());
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let span = http_span(request.method(), route, incoming.as_ref());
    // What agents do because of it hangs below it. A trace that nobody sees and nobody has begun
    // is left to the gateway: callers may name theirs in the message.
    if incoming.is_some() || is_exported(&span) {
        outgoing(&span, incoming.as_ref()).inject(request.headers_mut());
    }
    let response = next.run(request).instrument(span.clone()).await;
    span.record("status", response.status().as_u16());
    response
}
