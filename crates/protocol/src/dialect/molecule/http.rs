//! Molecule's status check, `GET /tasks/{id}` (M-27).

use std::time::Duration;

use super::{Molecule, read_event, read_task};
use crate::{
    error::{Error, ErrorKind, ErrorTable},
    http::{
        HttpCall, HttpForm, HttpReply, HttpTarget, Query, QueryWriter, Resource, encode_segment,
        id, not_found, segments,
    },
    ids::TaskId,
    json::{self, Kind, Reader, Writer, read_value, read_with, write_with},
    operation::{GetTaskRequest, Operation, Request, Response},
    task::StreamResponse,
    wire::{Frame, JsonRpcForm, StreamEnd, bad_answer, no_such_operation},
};

/// Molecule's status check.
#[derive(Clone, Copy, Debug, Default)]
pub struct MoleculeHttp {
    /// Whether tasks are written in the flat view. Both are always read.
    pub flat: bool,
}

impl MoleculeHttp {
    /// Returns the form of the same objects on JSON-RPC.
    fn objects(self) -> Molecule {
        Molecule { flat: self.flat }
    }
}

impl HttpForm for MoleculeHttp {
    fn read_call(&self, call: &HttpCall<'_>) -> Result<Request, Error> {
        let segments = segments(call.path)?;
        let Some(Resource::Task(task)) =
            Resource::parse(&segments).filter(|_| call.method == "GET")
        else {
            return Err(not_found(call));
        };
        let query = Query::parse(call.query);
        let request = Request::GetTask(GetTaskRequest {
            tenant: None,
            id: id(&task, "id", TaskId::parse)?,
            history_length: query.int("historyLength", "history_length")?,
        });
        request.check()?;
        Ok(request)
    }

    fn write_call(&self, request: &Request) -> Result<HttpTarget, Error> {
        let Request::GetTask(request) = request else {
            return Err(no_such_operation(request.operation()));
        };
        let mut query = QueryWriter::default();
        query.add("historyLength", request.history_length);
        let path = query.onto(format!("/tasks/{}", encode_segment(request.id.as_str())));
        Ok(HttpTarget { method: "GET", path, body: None })
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
        if operation != Operation::GetTask {
            return Err(no_such_operation(operation));
        }
        json::text(body)
            .and_then(|text| read_with(text, |reader| read_task(None, reader)))
            .map(Response::Task)
            .map_err(|error| bad_answer(&error))
    }

    fn write_reply(&self, operation: Operation, outcome: Result<&Response, &Error>) -> HttpReply {
        match outcome {
            Ok(response) => {
                let objects = self.objects();
                let write =
                    |writer: &mut Writer| objects.write_response(operation, response, writer);
                HttpReply { status: 200, body: write_with(write) }
            }
            Err(error) => HttpReply {
                status: error.kind().http_status(ErrorTable::V1_0_0),
                body: write_error(error),
            },
        }
    }

    fn read_frame(&self, data: &str) -> Result<StreamResponse, Error> {
        read_with(data, |reader| read_event(None, reader)).map_err(|error| bad_answer(&error))
    }

    fn write_frame(&self, outcome: Result<&StreamResponse, &Error>, end: StreamEnd) -> Frame {
        Frame::data(match outcome {
            Ok(event) => write_with(|writer| self.objects().write_event(event, end, writer)),
            Err(error) => write_error(error),
        })
    }
}

/// Writes `{"error":<text>,"reason":…,"retry_after"?:<seconds>}`.
fn write_error(error: &Error) -> String {
    write_with(|writer| {
        writer.object(|object| {
            object.member("error", error.message());
            object.member("reason", error.reason());
            if let Some(delay) = error.retry_after() {
                let seconds = delay.as_secs() + u64::from(delay.subsec_nanos() > 0);
                object.with("retry_after", |writer| {
                    writer.int(i64::try_from(seconds).unwrap_or(i64::MAX));
                });
            }
        });
    })
}

fn read_error(status: u16, body: &[u8]) -> Error {
    let mut message: Option<String> = None;
    let mut reason: Option<String> = None;
    let mut retry_after = None;
    let read = json::text(body).and_then(|text| {
        read_with(text, |reader: &mut Reader<'_>| {
            reader.members(|reader, key| {
                match (&*key, reader.peek()?) {
                    ("error" | "message", Kind::String) => message = read_value(reader)?,
                    ("reason", Kind::String) => reason = read_value(reader)?,
                    ("retry_after", Kind::Number) => retry_after = reader.int32().ok(),
                    _ => reader.skip()?,
                }
                Ok(())
            })
        })
    });
    let Some(message) = message.filter(|_| read.is_ok()) else {
        return Error::read_http(status, body);
    };
    let kind = reason.as_deref().and_then(ErrorKind::from_reason);
    let mut error =
        Error::new(kind.unwrap_or_else(|| ErrorKind::from_http_status(status)), message);
    if let Some(reason) = reason {
        error = error.with_reason(reason);
    }
    match retry_after.and_then(|seconds| u64::try_from(seconds).ok()) {
        Some(seconds) => error.with_retry_after(Duration::from_secs(seconds)),
        None => error,
    }
}
