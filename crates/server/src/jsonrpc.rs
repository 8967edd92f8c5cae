//! The JSON-RPC binding: one POST, one JSON document.

use std::future::ready;

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Either},
};
use http::{Response, StatusCode, request::Parts};
use nuncio_protocol::{
    dialect::{WireForm, pocketpaw},
    error::Error,
    json,
    jsonrpc::{Id, Refusal},
    operation::{Request, SendMessageConfiguration},
    service::{Answered, CallContext, Outcome},
    wire::{Call, Echo, JsonRpcForm},
};

use crate::{
    body::Body,
    dialects::{Ending, names},
    endpoint::{Inner, Sender},
    respond,
    sse::{self, Encoder},
    streams::Place,
};

/// Answers a call. It is read at once, and handed to the agent.
pub(crate) fn answer<'a>(
    endpoint: &'a Inner,
    form: WireForm,
    ctx: CallContext,
    head: &'a Parts,
    body: &'a [u8],
) -> impl Future<Output = Response<Body>> + Send + use<'a> {
    let begun = match endpoint.dialects.json_rpc(form) {
        Some(rules) => read(endpoint, form, rules, ctx, head, body),
        None => Begun::Answered(respond::status(StatusCode::NOT_FOUND)),
    };
    match begun {
        Begun::Answered(response) => Either::Left(ready(response)),
        Begun::Later(answer) => Either::Right(Either::Left(answer)),
        Begun::Called(called, said) => {
            Either::Right(Either::Right(called.map(move |called| finish(endpoint, called, said))))
        }
    }
}

fn read<'a>(
    endpoint: &'a Inner,
    form: WireForm,
    rules: Box<dyn JsonRpcForm>,
    ctx: CallContext,
    head: &'a Parts,
    body: &'a [u8],
) -> Begun<'a, impl Future<Output = Called> + Send + use<'a>> {
    let text = match json::text(body) {
        Ok(text) => text,
        Err(error) => return Begun::Answered(refuse(&*rules, &Id::null(), &error.into())),
    };
    if form == WireForm::PocketPaw && text.trim_start().starts_with('[') {
        return Begun::Later(batch(endpoint, rules, ctx, head, text).boxed());
    }
    match rules.read_call(text) {
        Ok(call) => begin(endpoint, form, rules, ctx, head, call),
        Err(Refusal { id, error }) if reads_events_alone(form, head) => {
            Begun::Answered(sse::refuse(&error, &Encoder::json_rpc(rules, echo_of(id))))
        }
        Err(Refusal { id, error }) => Begun::Answered(refuse(&*rules, &id, &error)),
    }
}

/// How far a call has come that was just read.
enum Begun<'a, F> {
    /// It is answered.
    Answered(Response<Body>),
    /// It is several, or nobody waits for what comes of it.
    Later(BoxFuture<'a, Response<Body>>),
    /// The agent has it.
    Called(F, Said),
}

/// What has to be known of a call to answer it.
struct Said {
    form: WireForm,
    rules: Box<dyn JsonRpcForm>,
    echo: Echo,
    in_stream: bool,
    /// Boxed: it is large, and few need it.
    ending: Option<Box<Ending>>,
}

/// Hands a call to the agent. It waits for nothing, so that nobody has to keep what was read.
fn begin<'a>(
    endpoint: &'a Inner,
    form: WireForm,
    rules: Box<dyn JsonRpcForm>,
    mut ctx: CallContext,
    head: &'a Parts,
    call: Call,
) -> Begun<'a, impl Future<Output = Called> + Send + use<'a>> {
    let Call { echo, mut request, task_alias } = call;
    if let Err(error) = endpoint.dialects.check(form, head, &mut ctx, &mut request) {
        let mut response = reply_with(&*rules, &echo, &error);
        // The path names what is not there (C-16).
        if matches!(form, WireForm::Upal | WireForm::Molecule) {
            *response.status_mut() = StatusCode::NOT_FOUND;
        }
        return Begun::Answered(response);
    }
    let name = names::name_in(form, &request, task_alias);
    let sender = Sender::of(&head.extensions);
    if echo.id.is_none() {
        return Begun::Later(notify(endpoint, ctx, request, name, sender).boxed());
    }
    let in_stream = request.operation().is_streaming() && reads_events_alone(form, head);
    let ending = endpoint.dialects.ending(form, &ctx).map(Box::new);
    let called = endpoint.call(ctx, request, name, sender);
    Begun::Called(called, Said { form, rules, echo, in_stream, ending })
}

type Called = Result<(Outcome, Option<Place>), Error>;

/// Answers with what came of a call.
fn finish(endpoint: &Inner, called: Called, said: Said) -> Response<Body> {
    let Said { form, rules, echo, in_stream, ending } = said;
    match called {
        Ok((Outcome::Answer(answer), _)) if form == WireForm::V1 => {
            respond::document(StatusCode::OK, respond::JSON, enclose(&echo, &answer))
        }
        Ok((Outcome::Answer(answer), _)) => match answer.into_response() {
            Ok(response) => {
                let text = rules.write_reply(&echo, Ok(&response));
                respond::document(StatusCode::OK, respond::JSON, text)
            }
            Err(error) => reply_with(&*rules, &echo, &error),
        },
        Ok((Outcome::Events(events), place)) => {
            let events = match ending {
                Some(ending) => ending.put(&endpoint.service, events),
                None => events,
            };
            let encoder = match form {
                WireForm::V1 => Encoder::v1(&echo),
                _ => Encoder::json_rpc(rules, echo),
            };
            sse::answer(events, place, encoder)
        }
        Err(error) if in_stream && respond::json_rpc_status(&error) == StatusCode::OK => {
            sse::refuse(&error, &Encoder::json_rpc(rules, echo))
        }
        Err(error) => reply_with(&*rules, &echo, &error),
    }
}

/// Tells whether an error must be an event to be read: the SDKs of 0.3 read nothing else where
/// they asked for a stream.
fn reads_events_alone(form: WireForm, head: &Parts) -> bool {
    form == WireForm::V03 && sse::is_all_that_is_read(&head.headers)
}

/// Does what a notification says. It is never answered, so nobody waits for it either.
async fn notify(
    endpoint: &Inner,
    ctx: CallContext,
    request: Request,
    name: Option<String>,
    sender: Sender<'_>,
) -> Response<Body> {
    let request = match request {
        Request::SendMessage(mut send) | Request::SendStreamingMessage(mut send) => {
            send.configuration
                .get_or_insert_with(SendMessageConfiguration::default)
                .return_immediately = true;
            Request::SendMessage(send)
        }
        other => other,
    };
    if !request.operation().is_streaming()
        && let Err(error) = endpoint.call(ctx, request, name, sender).await
    {
        tracing::debug!(%error, "a notification could not be followed");
    }
    respond::status(StatusCode::NO_CONTENT)
}

/// Answers several calls, one after the other (PD-04).
async fn batch(
    endpoint: &Inner,
    rules: Box<dyn JsonRpcForm>,
    mut ctx: CallContext,
    head: &Parts,
    text: &str,
) -> Response<Body> {
    let calls = match pocketpaw::read_batch(&*rules, text) {
        Ok(calls) => calls.unwrap_or_default(),
        Err(error) => return refuse(&*rules, &Id::null(), &error),
    };
    let mut replies = Vec::new();
    for call in calls {
        let reply = match call {
            Err(Refusal { id, error }) => Some(rules.write_reply(&echo_of(id), Err(&error))),
            Ok(Call { echo, mut request, task_alias }) => {
                let form = WireForm::PocketPaw;
                let name = names::name_in(form, &request, task_alias);
                let outcome = match endpoint.dialects.check(form, head, &mut ctx, &mut request) {
                    Ok(()) => {
                        let sender = Sender::of(&head.extensions);
                        endpoint.call(ctx.clone(), request, name, sender).await
                    }
                    Err(error) => Err(error),
                };
                let response = match outcome {
                    // Streams are refused when the batch is read.
                    Ok((Outcome::Events(_), _)) => continue,
                    Ok((Outcome::Answer(answer), _)) => answer.into_response(),
                    Err(error) => Err(error),
                };
                echo.id.is_some().then(|| rules.write_reply(&echo, response.as_ref()))
            }
        };
        replies.extend(reply);
    }
    match pocketpaw::write_batch(&replies) {
        Some(text) => respond::document(StatusCode::OK, respond::JSON, text),
        None => respond::status(StatusCode::NO_CONTENT),
    }
}

/// Puts the text of an answer into the envelope of A2A 1.0, unread.
fn enclose(echo: &Echo, answer: &Answered) -> Vec<u8> {
    let (id, result) = (echo.id(), answer.json());
    let mut text = Vec::with_capacity(result.len() + id.as_str().len() + 48);
    text.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    text.extend_from_slice(id.as_str().as_bytes());
    text.extend_from_slice(br#","result":"#);
    text.extend_from_slice(&result);
    text.push(b'}');
    text
}

/// Refuses a body that was not read, with the id it has, if it has one.
pub(crate) fn refuse_unread(rules: &dyn JsonRpcForm, body: &[u8], error: &Error) -> Response<Body> {
    match json::text(body).map(|text| rules.read_call(text)) {
        Ok(Ok(call)) => reply_with(rules, &call.echo, error),
        Ok(Err(Refusal { id, .. })) => refuse(rules, &id, error),
        Err(_) => refuse(rules, &Id::null(), error),
    }
}

fn refuse(rules: &dyn JsonRpcForm, id: &Id, error: &Error) -> Response<Body> {
    reply_with(rules, &echo_of(id.clone()), error)
}

fn reply_with(rules: &dyn JsonRpcForm, echo: &Echo, error: &Error) -> Response<Body> {
    let text = rules.write_reply(echo, Err(error));
    let mut response = respond::document(respond::json_rpc_status(error), respond::JSON, text);
    respond::retry_after(&mut response, error);
    response
}

/// Echoes an id of a request whose operation is not known; errors do not depend on that.
fn echo_of(id: Id) -> Echo {
    Echo::new(id, nuncio_protocol::operation::Operation::SendMessage)
}
