//! The least that a server which means it can do: read, keep, write.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{Answer, Ask};
use crate::serve::wire;

const SHARDS: usize = 64;

/// A constant: the least that a clock can cost is nothing.
const NOW: &str = "2026-01-01T00:00:00.000Z";

/// Tasks by their identifiers.
pub(super) struct Tasks([Mutex<HashMap<Uuid, Bytes>>; SHARDS]);

impl Tasks {
    pub(super) fn answer(&self, request: &[u8]) -> Answer {
        let request: Request<'_> = match serde_json::from_slice(request) {
            Ok(request) => request,
            Err(_) => return Answer::Whole(Bytes::from_static(UNREADABLE)),
        };
        match (&*request.method, request.params.message) {
            ("SendStreamingMessage", Some(message)) => Answer::Events(self.stream(&message)),
            ("SendMessage", Some(message)) => {
                Answer::Whole(wrapped(request.id, &[br#"{"task":"#, &self.send(&message), b"}"]))
            }
            ("ListTasks", _) => Answer::Whole(wrapped(request.id, &[&self.list()])),
            _ => {
                let task = request.params.id.and_then(|id| self.get(&id));
                Answer::Whole(task.map_or_else(
                    || Bytes::from_static(UNREADABLE),
                    |task| wrapped(request.id, &[&task]),
                ))
            }
        }
    }

    fn send(&self, message: &Message<'_>) -> Bytes {
        let identity = Identity::new();
        let task = Bytes::from(write(&Task::of(&identity, "TASK_STATE_COMPLETED", message)));
        self.keep(&identity, task.clone());
        task
    }

    fn keep(&self, identity: &Identity, task: Bytes) {
        let mut shard = self.shard(identity.uuid).lock().unwrap_or_else(PoisonError::into_inner);
        shard.insert(identity.uuid, task);
    }

    fn get(&self, id: &str) -> Option<Bytes> {
        let id = Uuid::try_parse(id).ok()?;
        let shard = self.shard(id).lock().unwrap_or_else(PoisonError::into_inner);
        shard.get(&id).cloned()
    }

    /// A page of any tasks, without order: just so that a load on it can be tried.
    fn list(&self) -> Vec<u8> {
        let mut page = br#"{"tasks":["#.to_vec();
        let mut listed = 0;
        for shard in &self.0 {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            for task in shard.values().take(wire::PAGE - listed) {
                if listed > 0 {
                    page.push(b',');
                }
                page.extend_from_slice(task);
                listed += 1;
            }
        }
        page.extend_from_slice(br#"],"nextPageToken":"","pageSize":50,"totalSize":0}"#);
        page
    }

    /// Runs the agent in a task of its own.
    fn stream(&self, message: &Message<'_>) -> mpsc::Receiver<Bytes> {
        let (events, receiver) = mpsc::channel(256);
        let identity = Identity::new();
        let text = message.parts.first().map_or("", |part| &*part.text);
        let ask = Ask::read(text);
        let task = write(&Task::of(&identity, "TASK_STATE_SUBMITTED", message));
        self.keep(&identity, Bytes::from(task.clone()));
        // Whoever stops to read ends the agent.
        tokio::spawn(async move {
            let _ = run(ask, identity, task, events).await;
        });
        receiver
    }

    fn shard(&self, id: Uuid) -> &Mutex<HashMap<Uuid, Bytes>> {
        &self.0[usize::from(id.as_bytes()[0]) % SHARDS]
    }
}

impl Default for Tasks {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

async fn run(
    ask: Ask,
    identity: Identity,
    task: Vec<u8>,
    events: mpsc::Sender<Bytes>,
) -> Result<(), mpsc::error::SendError<Bytes>> {
    events.send(Event::task(task).write()).await?;
    events.send(Event::working(&identity).write()).await?;
    let chunks = match ask {
        Ask::Hold => {
            events.closed().await;
            return Ok(());
        }
        Ask::Chunks(chunks) => chunks,
        Ask::Echo => 1,
    };
    for index in 0..chunks {
        tokio::task::yield_now().await;
        events.send(Event::chunk(&identity, index, chunks).write()).await?;
    }
    events.send(Event::completed(&identity).write()).await
}

const UNREADABLE: &[u8] =
    br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not for a reference"}}"#;

/// A result in its envelope.
fn wrapped(id: u64, result: &[&[u8]]) -> Bytes {
    let length: usize = result.iter().map(|part| part.len()).sum();
    let mut text = Vec::with_capacity(length + 64);
    text.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    text.extend_from_slice(id.to_string().as_bytes());
    text.extend_from_slice(br#","result":"#);
    for part in result {
        text.extend_from_slice(part);
    }
    text.push(b'}');
    Bytes::from(text)
}

fn write(value: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::with_capacity(640);
    serde_json::to_writer(&mut text, value).expect("the structs have text keys only");
    text
}

/// A completed echo of [`wire::TEXT`].
pub(super) fn echo(identity: &Identity, message_id: &str) -> Vec<u8> {
    let message = Message {
        message_id: message_id.into(),
        role: "ROLE_USER".into(),
        parts: vec![Part { text: wire::TEXT.into() }],
    };
    write(&Task::of(identity, "TASK_STATE_COMPLETED", &message))
}

/// The identifiers of one task.
pub(super) struct Identity {
    uuid: Uuid,
    task: String,
    context: String,
}

impl Identity {
    pub(super) fn new() -> Self {
        let uuid = Uuid::new_v4();
        Self { uuid, task: uuid.to_string(), context: Uuid::new_v4().to_string() }
    }
}

#[derive(Deserialize)]
struct Request<'a> {
    id: u64,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the protocol's names")]
struct Message<'a> {
    #[serde(borrow)]
    message_id: Cow<'a, str>,
    #[serde(borrow)]
    role: Cow<'a, str>,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Task<'a> {
    id: &'a str,
    context_id: &'a str,
    status: Status<'a>,
    artifacts: [Artifact<'a>; 1],
    history: [&'a Message<'a>; 1],
}

impl<'a> Task<'a> {
    fn of(identity: &'a Identity, state: &'a str, message: &'a Message<'a>) -> Self {
        Self {
            id: &identity.task,
            context_id: &identity.context,
            status: Status { state, timestamp: NOW },
            artifacts: [Artifact { artifact_id: "out", parts: Cow::Borrowed(&message.parts) }],
            history: [message],
        }
    }
}

#[derive(Serialize)]
pub(super) struct Status<'a> {
    state: &'a str,
    timestamp: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Artifact<'a> {
    artifact_id: &'a str,
    parts: Cow<'a, [Part<'a>]>,
}

impl Clone for Part<'_> {
    fn clone(&self) -> Self {
        Self { text: self.text.clone() }
    }
}

/// What a stream says, one at a time.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Event<'a> {
    Task(Box<RawValue>),
    #[serde(rename_all = "camelCase")]
    StatusUpdate {
        task_id: &'a str,
        context_id: &'a str,
        status: Status<'a>,
    },
    #[serde(rename_all = "camelCase")]
    ArtifactUpdate {
        task_id: &'a str,
        context_id: &'a str,
        artifact: Artifact<'a>,
        append: bool,
        last_chunk: bool,
    },
}

#[derive(Serialize)]
struct Envelope<'a, 'event> {
    jsonrpc: &'a str,
    id: u64,
    result: &'a Event<'event>,
}

impl<'a> Event<'a> {
    pub(super) fn task(task: Vec<u8>) -> Self {
        let text = String::from_utf8(task).expect("JSON is text");
        Self::Task(RawValue::from_string(text).expect("a task is JSON"))
    }

    pub(super) fn working(identity: &'a Identity) -> Self {
        Self::status(identity, "TASK_STATE_WORKING")
    }

    pub(super) fn completed(identity: &'a Identity) -> Self {
        Self::status(identity, "TASK_STATE_COMPLETED")
    }

    pub(super) fn chunk(identity: &'a Identity, index: usize, chunks: usize) -> Self {
        let parts = vec![Part { text: wire::chunk(index) }];
        Self::ArtifactUpdate {
            task_id: &identity.task,
            context_id: &identity.context,
            artifact: Artifact { artifact_id: "out", parts: Cow::Owned(parts) },
            append: index > 0,
            last_chunk: index + 1 == chunks,
        }
    }

    fn status(identity: &'a Identity, state: &'a str) -> Self {
        Self::StatusUpdate {
            task_id: &identity.task,
            context_id: &identity.context,
            status: Status { state, timestamp: NOW },
        }
    }

    /// Writes the event as it is sent.
    pub(super) fn write(&self) -> Bytes {
        let mut text = Vec::with_capacity(320);
        text.extend_from_slice(b"data: ");
        serde_json::to_writer(&mut text, &Envelope { jsonrpc: "2.0", id: 1, result: self })
            .expect("the structs have text keys only");
        text.extend_from_slice(b"\n\n");
        Bytes::from(text)
    }
}
