//! The HTTP+JSON binding: method and path say what is asked.

use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
    request::Parts,
};
use nuncio_protocol::{
    dialect::WireForm,
    error::Error,
    http::{HttpCall, HttpForm, HttpReply},
    operation::Operation,
    service::{CallContext, Outcome},
};

use crate::{
    body::Body,
    dialects::names,
    endpoint::{Inner, Sender},
    respond,
    sse::{self, Encoder},
};

/// Answers a call.
pub(crate) async fn answer(
    endpoint: &Inner,
    form: WireForm,
    mut ctx: CallContext,
    head: &Parts,
    body: &[u8],
) -> Response<Body> {
    let Some(rules) = endpoint.dialects.http(form, endpoint.table()) else {
        return respond::status(StatusCode::NOT_FOUND);
    };
    let call = HttpCall {
        method: head.method.as_str(),
        path: head.uri.path(),
        query: head.uri.query().unwrap_or_default(),
        body,
    };
    let read = rules.read_call(&call).and_then(|mut request| {
        endpoint.dialects.check(form, head, &mut ctx, &mut request)?;
        Ok(request)
    });
    let request = match read {
        Ok(request) => request,
        Err(error) => return refuse(&*rules, &head.headers, &error),
    };
    let operation = request.operation();
    let name = names::name_in(form, &request, rules.task_alias(&call));
    match endpoint.call(ctx, request, name, Sender::of(&head.extensions)).await {
        Ok((Outcome::Answer(answer), _)) if form == WireForm::V1Http => {
            respond::document(StatusCode::OK, media_type(&head.headers), answer.json())
        }
        Ok((Outcome::Answer(answer), _)) => match answer.into_response() {
            Ok(response) => reply(rules.write_reply(operation, Ok(&response)), &head.headers),
            Err(error) => refuse(&*rules, &head.headers, &error),
        },
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
