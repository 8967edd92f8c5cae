//! Streams: whether they come, what is in them, and how they end.

use futures_util::StreamExt as _;
use nuncio_client::Error;
use nuncio_net::{Response as HttpResponse, sse};
use nuncio_protocol::{
    error::{Error as ProtocolError, ErrorKind},
    jsonrpc::Id,
    message::Message,
    operation::{Request, SendMessageRequest, SubscribeToTaskRequest},
    state::TaskState,
    task::StreamResponse,
};
use tokio::time::{Instant, timeout_at};

use super::{
    check::Check,
    conversation::WORDS,
    patient::Patient,
    report::Report,
    wire::{MAX_ANSWER, Reply, chain, media_type},
};

/// The extension by which a card promises that streams resume.
const RESUME: &str = "urn:nuncio:extension:resume:v1";

/// A stream as it came.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    /// What the answer says to be; nothing on gRPC.
    media_type: Option<String>,
    events: Vec<Heard>,
    /// What the agent said instead of a stream, or at its end.
    error: Option<ProtocolError>,
    /// What is wrong with the stream.
    broken: Option<String>,
    /// How the connection broke off.
    cut: Option<String>,
    /// Whether the agent closed the stream.
    is_closed: bool,
}

#[derive(Debug)]
struct Heard {
    id: Option<String>,
    event: StreamResponse,
}

pub(crate) async fn check(patient: &Patient<'_>, report: &mut Report) {
    let request = || Request::SendStreamingMessage(SendMessageRequest::new(Message::user(WORDS)));
    if patient.card.capabilities.streaming != Some(true) {
        let recording = record(patient, request(), None).await;
        undeclared(&recording, report);
        return report.skip_rest_of(&["streaming"], "the card does not promise streaming");
    }
    let recording = record(patient, request(), None).await;
    if recording.events.is_empty() {
        report.fail(Check::StreamingWorks, recording.said());
        return report.skip_rest_of(&["streaming"], "there is no stream");
    }
    report.pass(Check::StreamingWorks);
    look(&recording, report);
    ids(patient, &recording, report).await;
    finished(patient, report).await;
    let why = "the card promises streaming";
    report.skip(Check::StreamingUndeclared, why);
    report.skip(Check::StreamingHeartbeat, "the stream was over before one was due");
}

fn undeclared(recording: &Recording, report: &mut Report) {
    let check = Check::StreamingUndeclared;
    match recording.refusal() {
        Some(ErrorKind::UnsupportedOperation | ErrorKind::MethodNotFound) => report.pass(check),
        Some(ErrorKind::Internal) | None => report.fail(check, recording.said()),
        Some(kind) => report.warn(check, format!("it is refused with {kind:?}")),
    }
}

fn look(recording: &Recording, report: &mut Report) {
    match recording.media_type.as_deref() {
        None => report.skip(Check::StreamingContentType, "gRPC has streams of its own"),
        Some("text/event-stream") => report.pass(Check::StreamingContentType),
        Some(other) => report.fail(Check::StreamingContentType, format!("it comes as `{other}`")),
    }
    let first = recording.events.first().map(|heard| &heard.event);
    let is_task = matches!(first, Some(StreamResponse::Task(_) | StreamResponse::Message(_)));
    report.pass_if(Check::StreamingFirst, is_task, "the first event is an update");
    match (&recording.broken, &recording.error) {
        (Some(what), _) => report.fail(Check::StreamingEvents, what),
        (None, Some(error)) => {
            report.fail(Check::StreamingEvents, format!("it ends with an error: {error}"));
        }
        (None, None) => {
            let text = format!("{} events can be read", recording.events.len());
            report.pass_with(Check::StreamingEvents, text);
        }
    }
    if recording.has_ended() {
        report.pass(Check::StreamingEnds);
        let text = "it stays open after its last event";
        report.pass_if(Check::StreamingCloses, recording.is_closed, text);
    } else if let Some(cut) = &recording.cut {
        report.fail(Check::StreamingEnds, format!("it breaks off: {cut}"));
        report.skip(Check::StreamingCloses, "the task has not ended");
    } else if recording.broken.is_some() {
        report.skip(Check::StreamingEnds, "not every event can be read");
        report.skip(Check::StreamingCloses, "not every event can be read");
    } else if recording.is_closed {
        report.fail(Check::StreamingEnds, "it is closed before the task has ended");
        report.skip(Check::StreamingCloses, "the task has not ended");
    } else {
        report.warn(Check::StreamingEnds, "the task did not end in time; raise `--timeout`");
        report.skip(Check::StreamingCloses, "the task has not ended");
    }
}

async fn ids(patient: &Patient<'_>, recording: &Recording, report: &mut Report) {
    let (check, resume) = (Check::StreamingIds, Check::StreamingResume);
    let mut extensions = patient.card.capabilities.extensions.iter();
    let is_promised = extensions.any(|one| one.uri == RESUME);
    if patient.is_grpc() {
        report.skip(check, "gRPC has no such ids");
        return report.skip(resume, "gRPC has no such ids");
    }
    // Behind the last event but one, so that a whole replay is told from a resume.
    let all = &recording.events;
    let last_seen = all.len().saturating_sub(2);
    let id = all.get(last_seen).and_then(|heard| heard.id.clone());
    match (&id, is_promised) {
        (Some(_), _) => report.pass(check),
        (None, true) => report.fail(check, "the card promises resuming, and events have no ids"),
        // A2A does not ask for them.
        (None, false) => report.skip(check, "events have no ids, and the card promises none"),
    }
    let task = recording.events.iter().find_map(|heard| match &heard.event {
        StreamResponse::Task(task) => Some(task.id.clone()),
        _ => None,
    });
    let (Some(id), Some(task), true) = (id, task, is_promised) else {
        return report.skip(resume, "the card does not promise it");
    };
    let request = Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id: task });
    let again = record(patient, request, Some(&id)).await;
    // It may begin with the task as it is now (A2A §3.1.6).
    let news = again.events.iter().filter(|heard| !matches!(heard.event, StreamResponse::Task(_)));
    let news: Vec<_> = news.map(|heard| &heard.id).collect();
    let wanted: Vec<_> = all[last_seen + 1..].iter().map(|heard| &heard.id).collect();
    let text =
        format!("behind {id} came {} events, not {}: {}", news.len(), wanted.len(), again.said());
    report.pass_if(resume, news == wanted, text);
}

/// Follows a task that has ended.
async fn finished(patient: &Patient<'_>, report: &mut Report) {
    let check = Check::StreamingFinished;
    let Some(task) = patient.finished() else {
        return report.skip(check, "there is no task that has ended");
    };
    let id = task.id.clone();
    let request = Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id });
    let recording = record(patient, request, None).await;
    match recording.refusal() {
        Some(ErrorKind::UnsupportedOperation) => report.pass(check),
        Some(ErrorKind::Internal) => report.fail(check, recording.said()),
        Some(_) if !patient.is_v1() => report.pass(check),
        Some(kind) => report.warn(check, format!("it is refused with {kind:?}")),
        // 0.3 lets agents answer with the task as it is.
        None if !patient.is_v1() && recording.has_ended() => report.pass(check),
        None => report.fail(check, recording.said()),
    }
}

/// Asks for a stream and reads it to its end, or as long as there is patience.
pub(crate) async fn record(
    patient: &Patient<'_>,
    request: Request,
    last_id: Option<&str>,
) -> Recording {
    let end = Instant::now() + patient.wire.patience;
    let mut recording = Recording::default();
    let Some(sent) = patient.written(request.clone(), &Id::number(1)) else {
        follow(patient, request, end, &mut recording).await;
        return recording;
    };
    let mut sent = sent.header("accept", "text/event-stream").header("a2a-extensions", RESUME);
    if let Some(id) = last_id {
        sent = sent.header("last-event-id", id);
    }
    match patient.wire.open(sent).await {
        Ok((response, _)) => read(patient, response, end, &mut recording).await,
        Err(error) => recording.broken = Some(chain(&error)),
    }
    recording
}

async fn read(
    patient: &Patient<'_>,
    response: HttpResponse,
    end: Instant,
    recording: &mut Recording,
) {
    let media = media_type(response.headers());
    recording.media_type = Some(media.clone());
    let limits = sse::Limits { line: MAX_ANSWER, event: MAX_ANSWER, stream: MAX_ANSWER as u64 };
    let mut decoder = sse::Decoder::new(limits);
    if !response.status().is_success() || media != "text/event-stream" {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = match response.collect(MAX_ANSWER).await {
            Ok(body) => body,
            Err(error) => {
                recording.broken = Some(chain(&error));
                return;
            }
        };
        let reply = Reply { status, headers, body, waited: std::time::Duration::ZERO };
        if let Some(told) = patient.told(&reply) {
            recording.error = Some(told.error);
            return;
        }
        // It may be a stream that says to be something else.
        decoder.push(reply.body);
        recording.is_closed = recording.take_all(patient, &mut decoder);
        if recording.events.is_empty() {
            recording.broken = Some(format!("{status} with `{media}` is no stream"));
        }
        return;
    }
    let mut body = response.into_body();
    loop {
        match timeout_at(end, body.chunk()).await {
            Ok(Ok(Some(piece))) => decoder.push(piece),
            Ok(Ok(None)) => {
                recording.is_closed = true;
                return;
            }
            Ok(Err(nuncio_net::Error::Timeout { .. })) | Err(_) => return,
            Ok(Err(error)) => {
                recording.cut = Some(chain(&error));
                return;
            }
        }
        if !recording.take_all(patient, &mut decoder) {
            return;
        }
    }
}

/// Follows a stream of gRPC.
async fn follow(patient: &Patient<'_>, request: Request, end: Instant, recording: &mut Recording) {
    let mut events = match patient.remote().stream(patient.context(), request).await {
        Ok(events) => events,
        Err(error) => return recording.refuse(error),
    };
    loop {
        match timeout_at(end, events.next()).await {
            Err(_) => return,
            Ok(None) => {
                recording.is_closed = true;
                return;
            }
            Ok(Some(Err(error))) => return recording.refuse(error),
            Ok(Some(Ok(event))) => match event.response.into_value() {
                Ok(event) => recording.events.push(Heard { id: None, event }),
                Err(error) => return recording.broken = Some(error.to_string()),
            },
        }
    }
}

impl Recording {
    /// Returns how the agent refused to stream, if it did.
    pub(crate) fn refusal(&self) -> Option<ErrorKind> {
        let error = self.error.as_ref().filter(|_| self.events.is_empty());
        error.map(ProtocolError::kind)
    }

    /// Says for people what came.
    pub(crate) fn said(&self) -> String {
        match (&self.error, &self.broken) {
            (Some(error), _) => format!("{:?}: {}", error.kind(), error.message()),
            (None, Some(broken)) => broken.clone(),
            (None, None) if self.cut.is_some() => self.cut.clone().unwrap_or_default(),
            (None, None) if self.is_closed => format!("a stream of {} events", self.events.len()),
            (None, None) => format!("a stream that stays open after {} events", self.events.len()),
        }
    }

    /// Tells whether the task has ended, or waits for somebody.
    fn has_ended(&self) -> bool {
        let states = self.events.iter().rev().find_map(|heard| heard.event.state());
        let is_message = matches!(
            self.events.last().map(|heard| &heard.event),
            Some(StreamResponse::Message(_))
        );
        is_message
            || states.is_some_and(|state: TaskState| state.is_terminal() || state.is_interrupted())
    }

    /// Takes all events that are complete; returns whether the stream can be read on.
    fn take_all(&mut self, patient: &Patient<'_>, decoder: &mut sse::Decoder) -> bool {
        loop {
            match decoder.next_event() {
                Ok(Some(event)) if self.take(patient, &event) => {}
                Ok(Some(_)) => return false,
                Ok(None) => return true,
                Err(error) => {
                    self.broken = Some(error.to_string());
                    return false;
                }
            }
        }
    }

    /// Takes an event; returns whether the stream can be read on.
    fn take(&mut self, patient: &Patient<'_>, event: &sse::Event) -> bool {
        let Ok(data) = std::str::from_utf8(&event.data) else {
            self.broken = Some(format!("event {} is not UTF-8", event.number));
            return false;
        };
        let form = patient.interface.form;
        let read = match (form.json_rpc("nuncio doctor"), form.http()) {
            (Some(form), _) => form.read_frame(data),
            (None, Some(form)) => form.read_frame(data),
            (None, None) => return false,
        };
        let id = event.id.as_ref().map(|id| String::from_utf8_lossy(id).into_owned());
        match read {
            Ok(event) => self.events.push(Heard { id, event }),
            Err(error) if error.kind() == ErrorKind::InvalidAgentResponse => {
                self.broken = Some(format!("event {}: {error}", event.number));
                return false;
            }
            Err(error) => {
                self.error = Some(error);
                return true;
            }
        }
        true
    }

    fn refuse(&mut self, error: Error) {
        match error {
            Error::Peer(error) => self.error = Some(error),
            Error::Unsayable { cause, .. } => self.error = Some(cause),
            error @ (Error::Net(_) | Error::Cut { .. } | Error::Interrupted { .. })
                if !self.events.is_empty() =>
            {
                self.cut = Some(chain(&error));
            }
            error => self.broken = Some(chain(&error)),
        }
    }
}
