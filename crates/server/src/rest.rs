//! The HTTP+JSON binding: method and path say what is asked.

use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
    request::Parts,
};
use nuncio_net::listen::Peer;
use nuncio_protocol::{
    dialect::WireForm,
    error::{Error, ErrorTable},
    http::{HttpCall, HttpForm, HttpReply, V1Http},
    operation::Operation,
    service::{CallContext, Outcome},
};

use crate::{
    body::Body,
    endpoint::Endpoint,
    respond,
    sse::{self, Encoder},
};

/// Answers a call.
pub(crate) async fn answer(
    endpoint: &Endpoint,
    form: WireForm,
    ctx: CallContext,
    head: &Parts,
    path: &str,
    body: &[u8],
) -> Response<Body> {
    let Some(rules) = rules(form, endpoint.table()) else {
        return respond::status(StatusCode::NOT_FOUND);
    };
    let call = HttpCall {
        method: head.method.as_str(),
        path,
        query: head.uri.query().unwrap_or_default(),
        body,
    };
    let request = match rules.read_call(&call) {
        Ok(request) => request,
        Err(error) => return refuse(&*rules, &head.headers, &error),
    };
    let operation = request.operation();
    let alias = rules.task_alias(&call);
    let peer = head.extensions.get::<Peer>();
    match endpoint.call(ctx, request, alias, peer).await {
        Ok((Outcome::Response(response), _)) => {
            reply(rules.write_reply(operation, Ok(&response)), &head.headers)
        }
        Ok((Outcome::Events(events), place)) => {
            let encoder = match form {
                WireForm::V1Http => Encoder::v1_http(rules, operation),
                _ => Encoder::http(rules, operation),
            };
            sse::answer(events, place, encoder)
        }
        Err(error) => refuse(&*rules, &head.headers, &error),
    }
}

/// Returns the reader and writer of a form.
pub(crate) fn rules(form: WireForm, table: ErrorTable) -> Option<Box<dyn HttpForm>> {
    match form {
        WireForm::V1Http => Some(Box::new(V1Http { table })),
        other => other.http(),
    }
}

/// Refuses a call.
pub(crate) fn refuse(rules: &dyn HttpForm, headers: &HeaderMap, error: &Error) -> Response<Body> {
    // Errors do not depend on the operation.
    let mut response = reply(rules.write_reply(Operation::SendMessage, Err(error)), headers);
    respond::retry_after(&mut response, error);
    response
}

fn reply(reply: HttpReply, headers: &HeaderMap) -> Response<Body> {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    respond::document(status, media_type(headers), reply.body)
}

/// Answers with A2A's own media type to those who know it: many clients take only plain JSON.
fn media_type(headers: &HeaderMap) -> HeaderValue {
    let names_it =
        [ACCEPT, CONTENT_TYPE].iter().flat_map(|name| headers.get_all(name)).any(|value| {
            value.to_str().is_ok_and(|text| text.to_ascii_lowercase().contains("a2a+json"))
        });
    if names_it { respond::A2A_JSON } else { respond::JSON }
}
