//! A2A 0.3 on HTTP+JSON: the JSON of its protobuf messages below `/v1` (compatibility digest
//! §5).
//!
//! Decisions, most of them because this binding was never fixed and servers differ:
//!
//! - A webhook is created with `{"parent","configId","config"}`, which the SDKs read; read are
//!   also the webhook alone and the flat form.
//! - A stream is resumed with `GET`, as the protobuf annotation says; read is `POST`, too. Some
//!   servers know only that: a client to which they answer 404 or 405 may repeat the call so.
//! - An error is `{"code":…,"message":…,"data"?,"type"?}` with the JSON-RPC code and the name
//!   that the SDKs give it; errors of every other form seen are read by what they say, and by
//!   their status.
//! - `blocking` is always written. Protobuf leaves out what is false, so a configuration without
//!   it says not to wait, other than on [JSON-RPC](super::v03); no configuration says to wait.
//!   For the same reason a status without state is one with an unspecified state.
//! - `GET /v1/tasks` is answered, but never asked: too few servers know it.
//!
//! What this form has no place for stands in `docs/reference/translation.md`.

mod error;
mod write;

#[cfg(feature = "grpc")]
pub(crate) use error::{kind as error_kind, name as error_name};

use std::borrow::Cow;

use super::{
    loose::{Loose, read_state, read_task_push_config},
    v03,
};
use crate::{
    card::LegacyCard,
    error::Error,
    http::{
        self, HttpCall, HttpForm, HttpReply, HttpTarget, Query, Resource, id, not_found, read_list,
        segments,
    },
    ids::PushConfigId,
    json::{self, Writer, read_with, write_with},
    operation::{Operation, Request, Response, SendMessageRequest},
    state::TaskState,
    task::StreamResponse,
    wire::{Frame, StreamEnd, bad_answer, no_such_operation},
};

/// A2A 0.3 on HTTP+JSON.
#[derive(Clone, Copy, Debug)]
pub struct V03Http;

const LOOSE: Loose = Loose { makes_message_ids: false, omits_empty: false, nests_data: true };

impl HttpForm for V03Http {
    fn read_call(&self, call: &HttpCall<'_>) -> Result<Request, Error> {
        let segments = segments(call.path)?;
        let resource = resource(&segments).ok_or_else(|| not_found(call))?;
        let request = read_resource(call, resource)?;
        request.check()?;
        Ok(request)
    }

    fn write_call(&self, request: &Request) -> Result<HttpTarget, Error> {
        write_resource(request).ok_or_else(|| no_such_operation(request.operation()))
    }

    fn read_reply(
        &self,
        operation: Operation,
        status: u16,
        body: &[u8],
    ) -> Result<Response, Error> {
        if !(200..300).contains(&status) {
            return Err(error::read(status, body));
        }
        // Most servers answer this with nothing.
        if operation == Operation::DeleteTaskPushNotificationConfig {
            return Ok(Response::Deleted);
        }
        json::text(body)
            .and_then(|text| read_with(text, |reader| v03::read_response(LOOSE, operation, reader)))
            .map_err(|error| bad_answer(&error))
    }

    fn write_reply(&self, _: Operation, outcome: Result<&Response, &Error>) -> HttpReply {
        match outcome {
            Ok(response) => {
                let body = write_with(|writer| write_response(response, writer));
                HttpReply { status: 200, body }
            }
            Err(error) => error::reply(error),
        }
    }

    fn read_frame(&self, data: &str) -> Result<StreamResponse, Error> {
        match read_with(data, |reader| LOOSE.wrapped_event(reader)) {
            Ok(event) => Ok(event),
            Err(error) => Err(error::read_frame(data).unwrap_or_else(|| bad_answer(&error))),
        }
    }

    fn write_frame(&self, outcome: Result<&StreamResponse, &Error>, end: StreamEnd) -> Frame {
        match outcome {
            Ok(event) => Frame::data(write_with(|writer| write::event(event, end, writer))),
            Err(error) => Frame {
                event: Some("error"),
                data: write_with(|writer| error::write(error, writer)),
            },
        }
    }
}

/// Finds the resource that a path names: those of 1.0 below `v1`, but for the extended card.
fn resource(segments: &[Cow<'_, str>]) -> Option<Resource> {
    match segments {
        [v1, card] if v1 == "v1" && card == "card" => Some(Resource::ExtendedCard),
        [v1, card] if v1 == "v1" && card == "extendedAgentCard" => None,
        // The protobuf annotation of 0.3.0 says `task` in these paths, by mistake.
        [v1, task, id, configs, rest @ ..] if v1 == "v1" && task == "task" => {
            let mut plural = vec![Cow::from("tasks"), id.clone(), configs.clone()];
            plural.extend_from_slice(rest);
            Resource::parse(&plural)
        }
        [v1, rest @ ..] if v1 == "v1" => Resource::parse(rest),
        _ => None,
    }
}

fn read_resource(call: &HttpCall<'_>, resource: Resource) -> Result<Request, Error> {
    let query = Query::parse(call.query);
    Ok(match (call.method, resource) {
        ("POST", Resource::Send) => Request::SendMessage(read_send(call)?),
        ("POST", Resource::Stream) => Request::SendStreamingMessage(read_send(call)?),
        ("GET", Resource::Tasks) => Request::ListTasks(read_list(&query, state)?),
        ("POST", Resource::PushConfigs(task)) => read_creation(call, &task, &query)?,
        // All others say what they say by path and query, as in 1.0.
        (_, resource) => {
            let mut request = http::v1::read_resource(call, resource, &query)?;
            if let Request::GetTask(request) = &mut request {
                request.history_length = unless_zero(request.history_length);
            }
            request
        }
    })
}

fn read_send(call: &HttpCall<'_>) -> Result<SendMessageRequest, Error> {
    let mut request = read_with(json::text(call.body)?, |reader| LOOSE.send(reader))?;
    if let Some(wishes) = &mut request.configuration {
        wishes.history_length = unless_zero(wishes.history_length);
    }
    Ok(request)
}

fn read_creation(call: &HttpCall<'_>, task: &str, query: &Query<'_>) -> Result<Request, Error> {
    let config = read_with(json::text(call.body)?, read_task_push_config)?;
    let mut config = http::v1::of_task(config, task)?;
    // Where the body is the webhook alone, the annotation leaves its id to the query.
    if let (None, Some(text)) = (&config.id, query.get("configId", "config_id")) {
        config.id = Some(id(text, "configId", PushConfigId::parse)?);
    }
    Ok(Request::CreateTaskPushNotificationConfig(config))
}

/// Reads a state in the query, in any spelling.
fn state(text: &str) -> Option<TaskState> {
    let json = text.parse::<i32>().map_or_else(|_| json::to_string(text), |_| text.to_owned());
    read_with(&json, read_state).ok()
}

/// A number of 0 means unset in the protobuf messages of 0.3.
fn unless_zero(length: Option<i32>) -> Option<i32> {
    length.filter(|length| *length != 0)
}

fn write_resource(request: &Request) -> Option<HttpTarget> {
    let (path, body) = match request {
        Request::SendMessage(request) => {
            let wishes = request.configuration.clone().unwrap_or_default();
            let body = write_with(|writer| write::send(request, Some(&wishes), writer));
            ("/v1/message:send".to_owned(), body)
        }
        Request::SendStreamingMessage(request) => {
            let wishes = request.configuration.as_ref();
            let body = write_with(|writer| write::send(request, wishes, writer));
            ("/v1/message:stream".to_owned(), body)
        }
        Request::CreateTaskPushNotificationConfig(config) => {
            let path = http::v1::write_resource(request).path;
            (format!("/v1{path}"), write_with(|writer| write::creation(config, writer)))
        }
        Request::ListTasks(_) => return None,
        Request::GetExtendedAgentCard(_) => {
            return Some(HttpTarget { method: "GET", path: "/v1/card".into(), body: None });
        }
        _ => {
            // All others say what they say by path and query, as in 1.0.
            let mut request = request.clone();
            match &mut request {
                Request::GetTask(request) => {
                    request.history_length = unless_zero(request.history_length);
                }
                Request::CancelTask(request) => request.metadata = None,
                _ => {}
            }
            let target = http::v1::write_resource(&request);
            return Some(HttpTarget { path: format!("/v1{}", target.path), ..target });
        }
    };
    Some(HttpTarget { method: "POST", path, body: Some(body) })
}

fn write_response(response: &Response, writer: &mut Writer) {
    match response {
        Response::SendMessage(answer) => write::answer(answer, writer),
        Response::Task(task) => write::task(task, writer),
        Response::Tasks(page) => v03::write::tasks(page, writer, write::task),
        Response::PushConfig(config) => write::task_push_config(config, writer),
        Response::PushConfigs(page) => write::push_configs(page, writer),
        Response::Deleted => writer.object(|_| {}),
        Response::Card(card) => v03::write::card(card, LegacyCard::v03(card), writer),
    }
}

#[cfg(test)]
mod tests;
