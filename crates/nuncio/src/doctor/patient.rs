//! One interface of the agent, to be called properly or not.

use nuncio_client::{Clocks, Error, Interface, Limits, Options, Remote, Resumes, Retries};
use nuncio_protocol::{
    card::AgentCard,
    dialect::WireForm,
    error::{Error as ProtocolError, ErrorKind},
    ids::TaskId,
    json::{Kind, read_with},
    jsonrpc::{self, Id},
    operation::{GetTaskRequest, Request, Response},
    service::{CallContext, Caller},
    task::{SendMessageResponse, Task},
};

use super::wire::{MAX_ANSWER, Reply, Sent, Wire, chain};

/// One interface of the agent.
pub(crate) struct Patient<'a> {
    pub(crate) wire: &'a Wire,
    pub(crate) interface: &'a Interface,
    pub(crate) card: &'a AgentCard,
    /// What came of the first message.
    pub(crate) answer: Option<SendMessageResponse>,
    extensions: String,
}

/// An error as it stands in an answer.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) error: ProtocolError,
    /// The number in the answer, which the kind may not show.
    pub(crate) code: Option<i32>,
    pub(crate) has_message: bool,
    pub(crate) has_details: bool,
}

impl<'a> Patient<'a> {
    pub(crate) fn new(wire: &'a Wire, interface: &'a Interface, card: &'a AgentCard) -> Self {
        let extensions = card.capabilities.extensions.iter();
        let required = extensions.filter(|one| one.required).map(|one| one.uri.as_str());
        let extensions = required.collect::<Vec<_>>().join(", ");
        Self { wire, interface, card, answer: None, extensions }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.interface.form.name()
    }

    pub(crate) fn is_json_rpc(&self) -> bool {
        self.interface.form.json_rpc("").is_some()
    }

    pub(crate) fn is_grpc(&self) -> bool {
        matches!(self.interface.form, WireForm::V1Grpc | WireForm::V03Grpc)
    }

    pub(crate) fn is_v1(&self) -> bool {
        matches!(self.interface.form, WireForm::V1 | WireForm::V1Http | WireForm::V1Grpc)
    }

    /// Returns the task that came of the first message.
    pub(crate) fn task(&self) -> Option<&Task> {
        match &self.answer {
            Some(SendMessageResponse::Task(task)) => Some(task),
            _ => None,
        }
    }

    pub(crate) fn finished(&self) -> Option<&Task> {
        self.task().filter(|task| task.status.state.is_terminal())
    }

    /// Makes a proper call.
    pub(crate) async fn call(&self, request: Request) -> Result<Response, Error> {
        let answered = self.remote().call(self.context(), request).await?;
        answered.into_response().map_err(Error::Peer)
    }

    /// Calls without anything that remembers earlier calls.
    pub(crate) fn remote(&self) -> Remote {
        let patience = self.wire.patience;
        let options = Options {
            clocks: Clocks {
                first_byte: patience,
                wait: patience,
                idle: patience,
                whole: patience,
            },
            limits: Limits { answer: MAX_ANSWER, ..Limits::default() },
            retries: Retries::none(),
            resumes: Resumes { in_vain: 0, ..Resumes::default() },
            agent: "nuncio doctor".to_owned(),
            ..Options::default()
        };
        let mut builder =
            Remote::builder(self.wire.net.clone(), self.interface.clone()).options(options);
        if let Some(credentials) = &self.wire.credentials {
            builder = builder.credentials(credentials.clone());
        }
        builder.build()
    }

    pub(crate) fn context(&self) -> CallContext {
        let mut ctx = CallContext::new(Caller::Anonymous);
        let required = self.extensions.split(", ").filter(|uri| !uri.is_empty());
        ctx.extensions = required.map(str::to_owned).collect();
        ctx
    }

    /// Writes a request as the interface wants it, to be spoilt. Nothing on gRPC, and nothing
    /// if the form lacks the operation.
    pub(crate) fn written(&self, mut request: Request, id: &Id) -> Option<Sent<'_>> {
        request.set_tenant(self.interface.tenant.clone());
        let url = &self.interface.url;
        let sent = if let Some(form) = self.interface.form.json_rpc("nuncio doctor") {
            Sent::post(url, form.write_call(id, &request).ok()?)
        } else {
            let target = self.interface.form.http()?.write_call(&request).ok()?;
            let url = url.below(&target.path).ok()?;
            Sent {
                method: http::Method::from_bytes(target.method.as_bytes()).ok()?,
                ..Sent::post(&url, target.body.unwrap_or_default())
            }
        };
        Some(self.addressed(sent))
    }

    /// Adds the headers that every request has.
    pub(crate) fn addressed<'b>(&'b self, sent: Sent<'b>) -> Sent<'b> {
        let version = if self.is_v1() { "1.0" } else { "0.3" };
        let mut sent = sent
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if self.interface.form != WireForm::V02 {
            sent = sent.header("a2a-version", version);
        }
        if !self.extensions.is_empty() {
            sent = sent.header("a2a-extensions", &self.extensions);
        }
        sent
    }

    /// Returns the error in an answer, if it is one.
    pub(crate) fn told(&self, reply: &Reply) -> Option<Told> {
        if self.is_json_rpc() {
            return told_json_rpc(reply);
        }
        (!reply.status.is_success()).then(|| told_http(reply))
    }
}

/// Returns a request for a task that nobody has.
pub(crate) fn unknown_task() -> Request {
    Request::GetTask(GetTaskRequest { tenant: None, id: unknown_id(), history_length: None })
}

/// Returns the id of a task that nobody has.
pub(crate) fn unknown_id() -> TaskId {
    TaskId::generate()
}

/// Returns the kind of an error that the agent answered with.
pub(crate) fn kind<T>(outcome: &Result<T, Error>) -> Option<ErrorKind> {
    match outcome {
        Err(Error::Peer(error)) => Some(error.kind()),
        _ => None,
    }
}

/// Tells whether the form of the interface has no such operation.
pub(crate) fn is_unsayable<T>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Unsayable { .. }))
}

/// Says for people what came of a call.
pub(crate) fn said<T>(outcome: &Result<T, Error>) -> String {
    match outcome {
        Ok(_) => "it was done".to_owned(),
        Err(Error::Peer(error)) => format!("{:?}: {}", error.kind(), error.message()),
        Err(error) => chain(error),
    }
}

fn told_json_rpc(reply: &Reply) -> Option<Told> {
    let Ok(jsonrpc::Reply::Error(text)) = jsonrpc::read_reply(reply.text()) else { return None };
    let (mut code, mut has_message, mut has_details) = (None, false, false);
    // What cannot be read has none of them.
    let _ = read_with(text, |reader| {
        reader.members(|reader, key| {
            match &*key {
                "code" if reader.peek()? == Kind::Number => code = reader.number()?.parse().ok(),
                "message" if reader.peek()? == Kind::String => {
                    has_message = !reader.string()?.is_empty();
                }
                "data" if reader.peek()? == Kind::Array => {
                    has_details = true;
                    reader.skip()?;
                }
                _ => reader.skip()?,
            }
            Ok(())
        })
    });
    let error = read_with(text, ProtocolError::read_jsonrpc)
        .unwrap_or_else(|error| ProtocolError::new(ErrorKind::Internal, error.to_string()));
    Some(Told { error, code, has_message, has_details })
}

fn told_http(reply: &Reply) -> Told {
    let (mut has_message, mut has_details) = (false, false);
    // What cannot be read has neither.
    let _ = read_with(reply.text(), |reader| {
        reader.members(|reader, key| {
            if key != "error" || reader.peek()? != Kind::Object {
                return reader.skip();
            }
            reader.members(|reader, key| {
                match &*key {
                    "message" if reader.peek()? == Kind::String => {
                        has_message = !reader.string()?.is_empty();
                    }
                    "details" if reader.peek()? == Kind::Array => {
                        has_details = true;
                        reader.skip()?;
                    }
                    _ => reader.skip()?,
                }
                Ok(())
            })
        })
    });
    let error = ProtocolError::read_http(reply.status.as_u16(), &reply.body);
    Told { error, code: Some(i32::from(reply.status.as_u16())), has_message, has_details }
}
