//! Calls in any form.

use std::io;

use http::HeaderMap;
use nuncio_protocol::{
    dialect::WireForm,
    http::{HttpForm, HttpTarget},
    jsonrpc::Id,
    operation::{Operation, Request, Response},
    task::StreamResponse,
    version::Version,
    wire::JsonRpcForm,
};

use super::{Binding, Frames, Http, Refused, Reply, grpc};

const JSON: (&str, &str) = ("content-type", "application/json");

/// A client that speaks one binding in one version.
#[derive(Clone, Debug)]
pub struct Wire {
    /// The binding.
    pub binding: Binding,
    /// The version.
    pub version: Version,
    /// What it calls, and with which headers.
    pub http: Http,
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its number; gRPC has none.
    pub seq: Option<u64>,
    /// What it says.
    pub response: StreamResponse,
}

/// A stream that is open.
#[derive(Debug)]
pub struct Events(Kind);

#[derive(Debug)]
enum Kind {
    Frames { frames: Frames, binding: Binding, version: Version },
    Messages(grpc::Messages),
}

impl Wire {
    /// All bindings in both versions.
    pub fn all(http: &Http) -> Vec<Self> {
        let versions = [Version::V1_0, Version::V0_3];
        let pairs = versions.into_iter().flat_map(|version| Binding::ALL.map(|b| (b, version)));
        pairs.map(|(binding, version)| Self { binding, version, http: http.clone() }).collect()
    }

    /// All bindings in 1.0.
    pub fn current(http: &Http) -> Vec<Self> {
        Self::all(http).into_iter().filter(|wire| wire.version == Version::V1_0).collect()
    }

    /// The same with another header.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        Self { http: self.http.clone().with(name, value), ..self.clone() }
    }

    /// Tells whether its form has an operation.
    pub fn has(&self, operation: Operation) -> bool {
        self.version == Version::V1_0 || operation != Operation::ListTasks
    }

    /// Makes a call.
    ///
    /// # Panics
    /// If there is no answer, or one against the form.
    pub async fn call(&self, request: Request) -> Result<Response, Refused> {
        self.try_call(request).await.expect("the server answers")
    }

    /// Makes a call to a server that may go away meanwhile.
    ///
    /// # Panics
    /// If the answer is against the form.
    pub async fn try_call(&self, request: Request) -> io::Result<Result<Response, Refused>> {
        let operation = request.operation();
        let headers = [("a2a-version", self.version_name()), JSON];
        Ok(match self.binding {
            Binding::JsonRpc => {
                let form = json_rpc(self.version);
                let body = form.write_call(&Id::number(7), &request).expect("the form has it");
                let reply = self.http.try_request("POST", "/", &headers, body).await?;
                assert_eq!(reply.header("content-type"), "application/json");
                if reply.json()["error"].is_object() {
                    return Ok(Err(Refused::json_rpc(self.version, &reply)));
                }
                let answered = form.read_reply(operation, reply.text());
                Ok(answered.unwrap_or_else(|error| panic!("{error}: {}", reply.text())))
            }
            Binding::HttpJson => {
                let form = http_form(self.version);
                let HttpTarget { method, path, body } =
                    form.write_call(&request).expect("the form has it");
                let body = body.unwrap_or_default();
                let reply = self.http.try_request(method, &path, &headers, body).await?;
                if reply.status != 200 {
                    return Ok(Err(Refused::http(self.version, &reply)));
                }
                let answered = form.read_reply(operation, reply.status, &reply.body);
                Ok(answered.unwrap_or_else(|error| panic!("{error}: {}", reply.text())))
            }
            Binding::Grpc => {
                let headers = self.grpc_headers(None);
                let answered = grpc::call(&self.http, &headers, self.version, request).await?;
                answered.map_err(|status| Refused::grpc(&status))
            }
        })
    }

    /// Makes a call that is answered with a stream, from behind an event if one is named.
    ///
    /// # Panics
    /// If there is no answer, or one against the form.
    pub async fn stream(
        &self,
        request: Request,
        last_event: Option<u64>,
    ) -> Result<Events, Refused> {
        self.try_stream(request, last_event).await.expect("the server answers")
    }

    /// The same from a server that may go away meanwhile.
    ///
    /// # Panics
    /// If the answer is against the form.
    pub async fn try_stream(
        &self,
        request: Request,
        last_event: Option<u64>,
    ) -> io::Result<Result<Events, Refused>> {
        let last = last_event.map(|seq| seq.to_string());
        let mut headers = vec![("a2a-version", self.version_name()), JSON];
        headers.extend(last.iter().map(|seq| ("last-event-id", seq.as_str())));
        let response = match self.binding {
            Binding::JsonRpc => {
                let body = json_rpc(self.version).write_call(&Id::text("s"), &request);
                self.http.open("POST", "/", &headers, body.expect("the form has it")).await?
            }
            Binding::HttpJson => {
                let HttpTarget { method, path, body } =
                    http_form(self.version).write_call(&request).expect("the form has it");
                self.http.open(method, &path, &headers, body.unwrap_or_default()).await?
            }
            Binding::Grpc => {
                let headers = self.grpc_headers(last_event);
                let opened = grpc::stream(&self.http, &headers, self.version, request).await?;
                return Ok(match opened {
                    Ok(messages) => Ok(Events(Kind::Messages(messages))),
                    Err(status) => Err(Refused::grpc(&status)),
                });
            }
        };
        let kind = response.headers().get("content-type");
        if kind.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream")) {
            let frames = Frames::of(response);
            let (binding, version) = (self.binding, self.version);
            return Ok(Ok(Events(Kind::Frames { frames, binding, version })));
        }
        let reply = Reply::of(response).await?;
        Ok(Err(Refused::read(self.binding, self.version, &reply)))
    }

    /// Calls a procedure of gRPC with these bytes as its message.
    ///
    /// # Panics
    /// If there is no answer, or one that is not of gRPC.
    pub async fn rpc(&self, method: &str, message: &[u8]) -> Result<(), Refused> {
        let package = if self.version == Version::V1_0 { "lf.a2a.v1" } else { "a2a.v1" };
        let length = u32::try_from(message.len()).expect("a short message");
        let framed = [&[0], &length.to_be_bytes()[..], message].concat();
        let path = format!("/{package}.A2AService/{method}");
        let headers = [
            ("a2a-version", self.version_name()),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        ];
        let reply = self.http.clone().http2().request("POST", &path, &headers, framed).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, "application/grpc"));
        // A refusal comes with the head, since nothing else is said.
        match tonic::Status::from_header_map(&reply.headers) {
            Some(status) if status.code() != tonic::Code::Ok => Err(Refused::grpc(&status)),
            _ => Ok(()),
        }
    }

    fn version_name(&self) -> &'static str {
        if self.version == Version::V1_0 { "1.0" } else { "0.3" }
    }

    fn grpc_headers(&self, last_event: Option<u64>) -> HeaderMap {
        let mut headers = self.http.headers().clone();
        headers.insert("a2a-version", self.version_name().parse().expect("a fit value"));
        if let Some(seq) = last_event {
            headers.insert("last-event-id", seq.into());
        }
        headers
    }
}

impl Events {
    /// Returns the next event, `None` at the end or when the connection breaks.
    ///
    /// # Panics
    /// If it is against the form.
    pub async fn next(&mut self) -> Option<Result<Event, Refused>> {
        match &mut self.0 {
            Kind::Messages(messages) => Some(match messages.next().await? {
                Ok(response) => Ok(Event { seq: None, response }),
                Err(status) => Err(Refused::grpc(&status)),
            }),
            Kind::Frames { frames, binding, version } => {
                let frame = frames.next().await?;
                let document: serde_json::Value = serde_json::from_str(&frame.data).expect("JSON");
                let read = if *binding == Binding::JsonRpc {
                    assert_eq!(document["id"], "s", "{document}");
                    if document["error"].is_object() {
                        return Some(Err(Refused::json_rpc_document(*version, 200, &document)));
                    }
                    json_rpc(*version).read_frame(&frame.data)
                } else {
                    let is_error = document["error"].is_object() || document["code"].is_i64();
                    match http_form(*version).read_frame(&frame.data) {
                        Err(error) if is_error => {
                            return Some(Err(Refused::frame(error, &frame.data)));
                        }
                        read => read,
                    }
                };
                let response = read.unwrap_or_else(|error| panic!("{error}: {}", frame.data));
                Some(Ok(Event { seq: frame.id, response }))
            }
        }
    }

    /// Reads to the end.
    ///
    /// # Panics
    /// If it ends with an error.
    pub async fn rest(mut self) -> Vec<Event> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event.unwrap_or_else(|refused| panic!("the stream broke: {refused:?}")));
        }
        all
    }
}

fn json_rpc(version: Version) -> Box<dyn JsonRpcForm> {
    let form = if version == Version::V1_0 { WireForm::V1 } else { WireForm::V03 };
    form.json_rpc("").expect("it is on JSON-RPC")
}

fn http_form(version: Version) -> Box<dyn HttpForm> {
    let form = if version == Version::V1_0 { WireForm::V1Http } else { WireForm::V03Http };
    form.http().expect("it is on HTTP")
}
