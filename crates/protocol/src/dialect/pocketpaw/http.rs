//! The HTTP routes (P-13, PD-05).

use crate::{
    error::{Error, ErrorKind},
    http::{
        HttpCall, HttpForm, HttpReply, HttpTarget, Query, QueryWriter, encode_segment, not_found,
        segments,
    },
    ids::TaskId,
    json::{self, Kind, Raw, read_with, write_with},
    operation::{GetTaskRequest, Operation, Request, Response},
    task::StreamResponse,
    wire::{Frame, StreamEnd, bad_answer, no_such_operation},
};

use super::{code, read, write};

/// `PocketPaw` on its own HTTP routes, all below `/a2a/tasks`.
#[derive(Clone, Copy, Debug)]
pub struct PocketPawHttp;

impl HttpForm for PocketPawHttp {
    fn read_call(&self, call: &HttpCall<'_>) -> Result<Request, Error> {
        let request = match Route::of(call)? {
            Route::Send(operation) => {
                let body = json::text(call.body)?;
                return Ok(read_with(body, |reader| read::request(operation, reader))?);
            }
            Route::Get(id) => {
                let query = Query::parse(call.query);
                let history_length = query.int("historyLength", "history_length")?;
                Request::GetTask(GetTaskRequest { tenant: None, id, history_length })
            }
            Route::Cancel(id) => {
                let body = if call.body.is_empty() { "{}" } else { json::text(call.body)? };
                let read = read_with(body, |reader| read::cancel(Some(id), reader));
                Request::CancelTask(read?)
            }
        };
        request.check()?;
        Ok(request)
    }

    fn task_alias(&self, call: &HttpCall<'_>) -> Option<String> {
        match Route::of(call).ok()? {
            Route::Send(_) => read::task_alias(json::text(call.body).ok()?),
            Route::Get(_) | Route::Cancel(_) => None,
        }
    }

    fn write_call(&self, request: &Request) -> Result<HttpTarget, Error> {
        write::check_task(request)?;
        let task = |id: &TaskId| format!("/a2a/tasks/{}", encode_segment(id.as_str()));
        let post = |path: String, body| HttpTarget { method: "POST", path, body };
        let body = || Some(write_with(|writer| write::request(request, writer)));
        Ok(match request {
            Request::SendMessage(_) => post("/a2a/tasks/send".into(), body()),
            Request::SendStreamingMessage(_) => post("/a2a/tasks/send/stream".into(), body()),
            Request::GetTask(request) => {
                let mut query = QueryWriter::default();
                query.add("history_length", request.history_length);
                HttpTarget { method: "GET", path: query.onto(task(&request.id)), body: None }
            }
            Request::CancelTask(request) => {
                let body = request.metadata.as_ref().and_then(|_| body());
                post(format!("{}/cancel", task(&request.id)), body)
            }
            _ => return Err(no_such_operation(request.operation())),
        })
    }

    fn read_reply(
        &self,
        operation: Operation,
        status: u16,
        body: &[u8],
    ) -> Result<Response, Error> {
        if !(200..300).contains(&status) {
            return Err(read_error(status, body));
        }
        json::text(body)
            .and_then(|text| read_with(text, |reader| read::response(operation, reader)))
            .map_err(|error| bad_answer(&error))
    }

    fn write_reply(&self, operation: Operation, outcome: Result<&Response, &Error>) -> HttpReply {
        match outcome {
            Ok(response) => HttpReply {
                status: 200,
                body: write_with(|writer| write::response(operation, response, writer)),
            },
            Err(error) => HttpReply { status: code::http_status(error), body: write_error(error) },
        }
    }

    fn read_frame(&self, data: &str) -> Result<StreamResponse, Error> {
        read_with(data, read::event)
            .map_err(|error| find_error(data).unwrap_or_else(|| bad_answer(&error)))
    }

    fn write_frame(&self, outcome: Result<&StreamResponse, &Error>, end: StreamEnd) -> Frame {
        let (event, data) = match outcome {
            Ok(event) => {
                let name = match event {
                    StreamResponse::ArtifactUpdate(_) => "task_artifact_update",
                    _ => "task_status_update",
                };
                (name, write_with(|writer| write::event(event, end, writer)))
            }
            Err(error) => ("error", write_error(error)),
        };
        Frame { event: Some(event), data }
    }
}

/// What method and path ask for.
enum Route {
    Send(Operation),
    Get(TaskId),
    Cancel(TaskId),
}

impl Route {
    /// Finds the route; `/a2a` may be part of the interface's URL instead of the path.
    fn of(call: &HttpCall<'_>) -> Result<Self, Error> {
        let segments = segments(call.path)?;
        let segments: Vec<&str> = segments.iter().map(|segment| &**segment).collect();
        Ok(match (call.method, segments.strip_prefix(&["a2a"]).unwrap_or(&segments)) {
            ("POST", ["tasks", "send"]) => Self::Send(Operation::SendMessage),
            ("POST", ["tasks", "send", "stream"]) => Self::Send(Operation::SendStreamingMessage),
            ("GET", ["tasks", id]) => Self::Get(task_id(id)?),
            ("POST", ["tasks", id, "cancel"]) => Self::Cancel(task_id(id)?),
            _ => return Err(not_found(call)),
        })
    }
}

fn task_id(text: &str) -> Result<TaskId, Error> {
    read::check_task_name(text).map_err(|error| error.inside("task_id"))?;
    crate::http::id(text, "task_id", TaskId::parse)
}

/// Writes an error: `detail` for those who know `PocketPaw`, and the whole of it in `error`.
fn write_error(error: &Error) -> String {
    write_with(|writer| {
        writer.object(|object| {
            object.member("detail", error.message());
            object.with("error", |writer| code::write(error, writer));
        });
    })
}

/// Reads an error body. Whatever it is, an error comes of it: the status alone says enough.
fn read_error(status: u16, body: &[u8]) -> Error {
    let text = json::text(body).unwrap_or_default();
    find_error(text).unwrap_or_else(|| {
        let kind = ErrorKind::from_http_status(status);
        let message = find_detail(text).unwrap_or_else(|| format!("the peer answered {status}"));
        Error::new(kind, message)
    })
}

fn find_error(text: &str) -> Option<Error> {
    let mut error = None;
    read_with(text, |reader| {
        reader.members(|reader, key| {
            if key == "error" && reader.peek()? == Kind::Object {
                error = Some(code::read(reader)?);
                return Ok(());
            }
            reader.skip()
        })
    })
    .ok()?;
    error
}

/// Finds the words of an error, which are a text or, about a bad body, a list of complaints.
fn find_detail(text: &str) -> Option<String> {
    let mut detail: Option<Raw> = None;
    read_with(text, |reader| {
        reader.members(|reader, key| {
            if key == "detail" {
                detail = Some(reader.raw()?);
                return Ok(());
            }
            reader.skip()
        })
    })
    .ok()?;
    detail.map(|detail| detail.as_text().unwrap_or_else(|| detail.as_str().to_owned()))
}
