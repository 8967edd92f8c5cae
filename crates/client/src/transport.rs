//! One call in one wire form: what is sent, and what the answer means.
//!
//! Nothing here tries twice. [`Remote`](crate::Remote) does, and it knows when it may.

mod answer;
mod frames;
mod grpc;
mod headers;
mod jsonrpc;
mod rest;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use http::{HeaderMap, Method};
use nuncio_net::{CheckedUrl, Client, Guard, Request as HttpRequest, Timeouts, sse};
use nuncio_protocol::{
    dialect::WireForm,
    error::Error as ProtocolError,
    http::HttpForm,
    json::Shared,
    operation::{Operation, Request, Response},
    service::Answered,
    wire::JsonRpcForm,
};

use crate::{
    error::Error,
    interface::Interface,
    watch::{Watched, Watching},
};

pub(crate) use self::{
    frames::{Frame, Frames},
    headers::{LAST_EVENT_ID, of as headers},
};

/// How much a peer may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Limits {
    /// The most bytes of an answer that is no stream.
    pub answer: usize,
    /// How much a stream may hold.
    pub stream: sse::Limits,
}

impl Default for Limits {
    /// An answer 10 MiB; streams as [`sse::Limits`] says.
    fn default() -> Self {
        Self { answer: 10 << 20, stream: sse::Limits::default() }
    }
}

/// Speaks with one interface of a peer.
#[derive(Debug)]
pub(crate) struct Transport {
    client: Client,
    wire: Arc<Wire>,
    limits: Limits,
    ids: AtomicU64,
}

/// The interface, and how to read and write what it speaks.
pub(crate) struct Wire {
    pub(crate) interface: Interface,
    form: Form,
}

enum Form {
    JsonRpc(Box<dyn JsonRpcForm>),
    Http(Box<dyn HttpForm>),
    Grpc,
}

/// A request as it is written, once for however many attempts.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) operation: Operation,
    pub(crate) headers: HeaderMap,
    written: Written,
}

/// What every attempt has of its own.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// Those of the request.
    pub(crate) headers: HeaderMap,
    pub(crate) proof: Option<Box<Proof>>,
    pub(crate) timeouts: Timeouts,
}

#[derive(Debug)]
enum Written {
    Document { method: Method, url: CheckedUrl, body: Bytes, id: u64 },
    Grpc(Box<Request>),
}

/// What proves who we are: headers, and the URL, in whose query it may stand instead.
#[derive(Debug)]
pub(crate) struct Proof {
    pub(crate) headers: HeaderMap,
    pub(crate) url: CheckedUrl,
}

/// What came back.
#[derive(Debug)]
pub(crate) enum Opened {
    Answer(Answered),
    Frames(Frames),
}

impl Transport {
    /// The agent is the one of ours that calls; the capability envelope names it.
    pub(crate) fn new(client: Client, interface: Interface, agent: &str, limits: Limits) -> Self {
        let form = match (interface.form.json_rpc(agent), interface.form.http()) {
            (Some(form), _) => Form::JsonRpc(form),
            (None, Some(form)) => Form::Http(form),
            (None, None) => Form::Grpc,
        };
        let wire = Arc::new(Wire { interface, form });
        Self { client, wire, limits, ids: AtomicU64::new(1) }
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.wire.interface
    }

    pub(crate) fn guard(&self) -> &Guard {
        self.client.guard()
    }

    /// Writes a request.
    pub(crate) fn prepare(
        &self,
        mut request: Request,
        mut headers: HeaderMap,
    ) -> Result<Prepared, Error> {
        let interface = &self.wire.interface;
        let operation = request.operation();
        if let Some(tenant) = &interface.tenant {
            request.set_tenant(Some(tenant.clone()));
        }
        let written = match &self.wire.form {
            Form::JsonRpc(form) => {
                let id = self.ids.fetch_add(1, Ordering::Relaxed);
                let body = jsonrpc::write(&**form, id, &request)
                    .map_err(|cause| self.unsayable(operation, cause))?;
                Written::Document { method: Method::POST, url: interface.url.clone(), body, id }
            }
            Form::Http(form) => {
                let target =
                    form.write_call(&request).map_err(|cause| self.unsayable(operation, cause))?;
                rest::write(target, &interface.url, &mut headers)?
            }
            Form::Grpc => Written::Grpc(Box::new(request)),
        };
        Ok(Prepared { operation, headers, written })
    }

    /// Begins to show an attempt to somebody.
    pub(crate) fn watch(
        &self,
        watching: &Watching,
        prepared: &Prepared,
        attempt: &Attempt,
    ) -> Arc<Watched> {
        let Interface { form, .. } = self.wire.interface;
        let sent = (prepared.url(&self.wire.interface), &attempt.headers);
        watching.begin(form, sent, attempt.proof.as_deref())
    }

    /// Sends a request, with what proves who we are, and reads the answer or opens the stream.
    pub(crate) async fn send(
        &self,
        prepared: &Prepared,
        attempt: Attempt,
        watched: Option<&Arc<Watched>>,
    ) -> Result<Opened, Error> {
        let Attempt { mut headers, proof, timeouts } = attempt;
        let mut proven = None;
        if let Some(proof) = proof {
            let Proof { headers: more, url } = *proof;
            headers.extend(more);
            proven = Some(url);
        }
        let operation = prepared.operation;
        let (method, url, body, id) = match &prepared.written {
            Written::Document { method, url, body, id } => (method, url, body, *id),
            Written::Grpc(request) => {
                let (wire, limits, watched) = (&self.wire, self.limits, watched.cloned());
                let call = grpc::Call { wire, headers, timeouts, limits, watched };
                // Large, and not every caller is to carry it.
                return Box::pin(call.send(&self.client, request)).await.map_err(
                    |error| match error {
                        grpc::Failure::Unsayable(cause) => self.unsayable(operation, cause),
                        grpc::Failure::Error(error) => error,
                    },
                );
            }
        };
        if let Some(watched) = watched {
            watched.request(method, url, &headers, body);
        }
        let url = proven.as_ref().unwrap_or(url);
        let request = HttpRequest::new(method.clone(), url, body.clone());
        let request = request.timeouts(timeouts).headers(headers);
        let response = self.client.send(request).await?;
        answer::check_redirect(&response)?;
        if operation.is_streaming() {
            return match frames::open(&self.wire, response, id, self.limits, watched) {
                Ok(frames) => Ok(Opened::Frames(frames)),
                // Rare: not every stream is to carry it.
                Err(response) => {
                    let no_stream =
                        frames::no_stream(&self.wire, response, id, self.limits, watched);
                    Err(Box::pin(no_stream).await)
                }
            };
        }
        let document = answer::Document::read(response, self.limits.answer, watched).await?;
        let answer = match &self.wire.form {
            Form::JsonRpc(form) => {
                jsonrpc::read(&**form, self.wire.interface.form, operation, id, &document)
            }
            Form::Http(form) => rest::read(&**form, self.wire.interface.form, operation, &document),
            Form::Grpc => Err(document.not_a2a("no answer of gRPC")),
        };
        answer.map(Opened::Answer)
    }

    fn unsayable(&self, operation: Operation, cause: ProtocolError) -> Error {
        Error::Unsayable { operation, form: self.wire.interface.form.name(), cause }
    }
}

impl Prepared {
    /// Returns where the request goes.
    pub(crate) fn url<'a>(&'a self, interface: &'a Interface) -> &'a CheckedUrl {
        match &self.written {
            Written::Document { url, .. } => url,
            Written::Grpc(_) => &interface.url,
        }
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("interface", &self.interface).finish_non_exhaustive()
    }
}

/// Shares an answer that was read.
fn answered(response: Response) -> Answered {
    match response {
        Response::SendMessage(answer) => Answered::SendMessage(Shared::new(answer)),
        Response::Task(task) => Answered::Task(Shared::new(task)),
        Response::Tasks(page) => Answered::Tasks(Shared::new(page)),
        other => Answered::Other(Box::new(other)),
    }
}

/// Shares an answer in the form of 1.0 without reading it, if it is one that can be passed on
/// so. The text must be JSON.
fn unread(operation: Operation, text: Bytes) -> Option<Answered> {
    Some(match operation {
        Operation::SendMessage => Answered::SendMessage(Shared::from_json(text)),
        Operation::GetTask | Operation::CancelTask => Answered::Task(Shared::from_json(text)),
        Operation::ListTasks => Answered::Tasks(Shared::from_json(text)),
        _ => return None,
    })
}

/// Tells whether a form is A2A itself, of whatever version, and no dialect.
const fn is_official(form: WireForm) -> bool {
    matches!(
        form,
        WireForm::V1
            | WireForm::V1Http
            | WireForm::V1Grpc
            | WireForm::V03
            | WireForm::V03Http
            | WireForm::V03Grpc
            | WireForm::V02
    )
}
