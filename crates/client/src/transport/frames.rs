//! Answers that are streams.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::HeaderMap;
use nuncio_net::{
    Response,
    client::ResponseBody,
    sse::{self, Decoder},
};
use nuncio_protocol::{
    grpc::{v1, v03},
    json::Shared,
    task::StreamResponse,
};
use tonic::Streaming;

use super::{
    Form, Limits, Wire,
    answer::{ContentType, Document, content_type},
    grpc,
    headers::{EXTENSIONS, LEGACY_EXTENSIONS, RESUME},
    jsonrpc, rest,
};
use crate::{
    error::Error,
    watch::{Head, Watched},
};

/// An event as it came.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The `id:` of the frame.
    pub(crate) id: Option<Bytes>,
    /// What happened. It has been read once, so it can be.
    pub(crate) response: Shared<StreamResponse>,
}

/// An open stream. Dropping it closes the exchange at once.
#[derive(Debug)]
pub(crate) struct Frames {
    source: Source,
    /// How many frames have come.
    count: u64,
    /// Whether the ids of its frames are numbers behind which it can be resumed.
    pub(crate) is_resumable: bool,
    watched: Option<Arc<Watched>>,
}

#[derive(Debug)]
enum Source {
    Events { wire: Arc<Wire>, id: u64, body: Box<ResponseBody>, decoder: Box<Decoder> },
    V1(Box<Streaming<v1::StreamResponse>>),
    V03(Box<Streaming<v03::StreamResponse>>),
}

/// Opens a stream of server-sent events, if the answer is one.
pub(super) fn open(
    wire: &Arc<Wire>,
    response: Response,
    id: u64,
    limits: Limits,
    watched: Option<&Arc<Watched>>,
) -> Result<Frames, Box<Response>> {
    let (kind, _) = content_type(response.headers());
    let is_stream = matches!(kind, ContentType::Events | ContentType::Missing);
    if !response.status().is_success() || !is_stream {
        return Err(Box::new(response));
    }
    let is_resumable = is_resumable(response.headers());
    if let Some(watched) = watched {
        watched.answer(&Head::of(&response), None);
    }
    let source = Source::Events {
        wire: Arc::clone(wire),
        id,
        body: Box::new(response.into_body()),
        decoder: Box::new(Decoder::new(limits.stream)),
    };
    Ok(Frames { source, count: 0, is_resumable, watched: watched.cloned() })
}

/// Says what an answer is that is no stream. It can only be an error; an answer is not what was
/// asked for.
pub(super) async fn no_stream(
    wire: &Arc<Wire>,
    response: Box<Response>,
    id: u64,
    limits: Limits,
    watched: Option<&Arc<Watched>>,
) -> Error {
    let document = match Document::read(*response, limits.answer, watched).await {
        Ok(document) => document,
        Err(error) => return error,
    };
    let operation = nuncio_protocol::operation::Operation::GetTask;
    let answered = match &wire.form {
        Form::JsonRpc(form) => {
            jsonrpc::read(&**form, wire.interface.form, operation, id, &document)
        }
        Form::Http(form) => rest::read(&**form, wire.interface.form, operation, &document),
        Form::Grpc => Err(document.not_a2a("no stream of gRPC")),
    };
    match answered {
        Err(error @ (Error::Peer(_) | Error::Status { .. } | Error::WrongId { .. })) => error,
        Ok(_) | Err(_) => document.not_a2a("no stream of events"),
    }
}

/// Tells whether the peer says that it numbers its events for those who come back.
pub(super) fn is_resumable(headers: &HeaderMap) -> bool {
    [EXTENSIONS, LEGACY_EXTENSIONS]
        .iter()
        .flat_map(|name| headers.get_all(name))
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.split(',').any(|uri| uri.trim() == RESUME))
}

impl Frames {
    pub(super) fn v1(
        messages: Streaming<v1::StreamResponse>,
        watched: Option<Arc<Watched>>,
    ) -> Self {
        Self { source: Source::V1(Box::new(messages)), count: 0, is_resumable: false, watched }
    }

    pub(super) fn v03(
        messages: Streaming<v03::StreamResponse>,
        watched: Option<Arc<Watched>>,
    ) -> Self {
        Self { source: Source::V03(Box::new(messages)), count: 0, is_resumable: false, watched }
    }

    /// Returns the next event, `None` at an orderly end.
    pub(crate) async fn next(&mut self) -> Option<Result<Frame, Error>> {
        let frame = self.read().await;
        self.count += 1;
        if let Some(watched) = &self.watched {
            match &frame {
                None => watched.ended(),
                Some(Err(error)) => watched.failed(error),
                Some(Ok(_)) => {}
            }
        }
        frame
    }

    async fn read(&mut self) -> Option<Result<Frame, Error>> {
        let number = self.number();
        let watched = self.watched.as_ref();
        match &mut self.source {
            Source::Events { wire, id, body, decoder } => {
                let event = match next_event(body, decoder).await {
                    Ok(Some(event)) => event,
                    Ok(None) => return None,
                    Err(error) => return Some(Err(error)),
                };
                if let Some(watched) = watched {
                    watched.event(event.id.as_deref(), &event.data);
                }
                Some(wire.read_frame(*id, event))
            }
            Source::V1(messages) => {
                let next = messages.message().await;
                if let (Some(watched), Ok(Some(message))) = (watched, &next) {
                    watched.event_of(message);
                }
                next.transpose().map(|next| grpc::frame(next, number, false))
            }
            Source::V03(messages) => {
                let next = messages.message().await;
                if let (Some(watched), Ok(Some(message))) = (watched, &next) {
                    watched.event_of(message);
                }
                next.transpose().map(|next| grpc::frame(next, number, true))
            }
        }
    }

    /// Returns how long the peer wants its readers to wait before they come back.
    pub(crate) fn retry(&self) -> Option<Duration> {
        match &self.source {
            Source::Events { decoder, .. } => decoder.retry(),
            Source::V1(_) | Source::V03(_) => None,
        }
    }

    /// Returns the same if it has said so after its last event.
    pub(crate) fn parting(&self) -> Option<Duration> {
        match &self.source {
            Source::Events { decoder, .. } => decoder.parting(),
            Source::V1(_) | Source::V03(_) => None,
        }
    }

    /// Returns the number of the frame that comes next, counted from 1.
    pub(crate) const fn number(&self) -> u64 {
        self.count + 1
    }
}

impl Wire {
    fn read_frame(&self, id: u64, event: sse::Event) -> Result<Frame, Error> {
        let form = self.interface.form;
        let response = match &self.form {
            Form::JsonRpc(rules) => {
                jsonrpc::read_frame(&**rules, form, id, event.number, &event.data)?
            }
            Form::Http(rules) => rest::read_frame(&**rules, form, event.number, &event.data)?,
            Form::Grpc => {
                let cause = "no message of gRPC".to_owned();
                return Err(Error::StreamMalformed { frame: event.number, cause });
            }
        };
        Ok(Frame { id: event.id, response })
    }
}

async fn next_event(
    body: &mut ResponseBody,
    decoder: &mut Decoder,
) -> Result<Option<sse::Event>, Error> {
    loop {
        if let Some(event) = decoder.next_event()? {
            return Ok(Some(event));
        }
        match body.chunk().await? {
            Some(chunk) => decoder.push(chunk),
            None if decoder.is_inside_event() => {
                return Err(Error::Cut { frame: decoder.frame() });
            }
            None => return Ok(None),
        }
    }
}
