//! Callers who come back, whatever becomes of the hub.

use std::time::Duration;

use futures_util::StreamExt as _;
use http::HeaderValue;
use nuncio_client::{Error, Interface, Options, Remote, Retries};
use nuncio_net::{Client, Errand, Guard, Policy, Purpose};
use nuncio_protocol::{
    dialect::WireForm,
    ids::{ContextId, MessageId, TaskId},
    json::{Object, Raw},
    message::{Message, Part},
    operation::{
        Request, Response, SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
    },
    service::{Answered, CallContext, Caller as Who, Event},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse, Task},
};
use tokio::time::{sleep, timeout};

use super::agent::PIECES;

/// How long a caller comes back before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(300);

/// Calls an agent through a hub.
pub(super) struct Caller(Remote);

/// What came of a call.
#[derive(Debug)]
pub(super) struct Came {
    pub(super) name: String,
    /// Why it did not come out, if it did not.
    pub(super) failure: Option<String>,
}

impl Caller {
    pub(super) fn new(hub: &str, agent: &str, key: &str) -> Self {
        let policy = Policy::default()
            .open(Purpose::Agent, "127.0.0.0/8".parse().expect("a range"))
            .allow_http(Errand::administrator(Purpose::Agent));
        let client = Client::new(Guard::new(policy));
        let url = format!("http://{hub}/agents/{agent}");
        let url = client.guard().check_url(&url, Errand::administrator(Purpose::Agent));
        let interface =
            Interface { url: url.expect("it is open"), form: WireForm::V1, tenant: None };
        // Whoever comes back here does so itself, and journals what it has.
        let mut options = Options { retries: Retries::none(), ..Options::default() };
        options.resumes.in_vain = 0;
        options.breaker.in_a_row = u32::MAX;
        options.breaker.in_window = u32::MAX;
        let value = HeaderValue::try_from(format!("Bearer {key}")).expect("a key is text");
        options.headers.insert(http::header::AUTHORIZATION, value);
        // A call that takes longer says at least where its task stands.
        options.headers.insert("a2a-request-timeout", HeaderValue::from(60_000));
        Self(Remote::builder(client, interface).options(options).build())
    }

    /// Sends under a key until the task has ended.
    pub(super) async fn send(&self, name: &str) -> Came {
        came(name, &self.until_ended(name).await)
    }

    /// The same, and returns the text of what came of it.
    pub(super) async fn run(&self, name: &str) -> String {
        let task = self.until_ended(name).await;
        assert_eq!(task.status.state, TaskState::Completed, "{name}: {:?}", task.status.message);
        let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
        parts.filter_map(Part::as_text).collect()
    }

    async fn until_ended(&self, name: &str) -> Task {
        let request = request(name);
        let mut last = None;
        let all = timeout(PATIENCE, async {
            loop {
                let sent = Request::SendMessage(request.clone());
                match self.0.call(keyed(name), sent).await.map(Answered::into_response) {
                    Ok(Ok(Response::SendMessage(SendMessageResponse::Task(task)))) => {
                        if last.insert(task).status.state.is_terminal() {
                            return;
                        }
                    }
                    Err(error) => check_passing(name, &error),
                    other => panic!("{name}: {other:?}"),
                }
                sleep(Duration::from_millis(20)).await;
            }
        });
        let ended = all.await;
        assert!(ended.is_ok(), "{name}: it does not end: {last:?}");
        last.expect("it has ended")
    }

    /// Streams, and comes back behind the last event, until the task has ended.
    pub(super) async fn stream(&self, name: &str) -> Came {
        let mut seen: Vec<Event> = Vec::new();
        let all = timeout(PATIENCE, async {
            while !seen.last().is_some_and(|event| value(event).is_last()) {
                if let Err(error) = self.read_on(name, &mut seen).await {
                    check_passing(name, &error);
                }
                sleep(Duration::from_millis(20)).await;
            }
        });
        all.await.unwrap_or_else(|_| panic!("{name}: it does not end: {:?}", seen.last()));
        // What was pieced together is what the hub has.
        let whole = timeout(PATIENCE, async {
            loop {
                match self.whole(task_of(&seen)).await {
                    Ok(whole) => return whole,
                    Err(error) => check_passing(name, &error),
                }
                sleep(Duration::from_millis(20)).await;
            }
        });
        assert_eq!(told(&seen), whole.await.expect("it comes back"), "{name}");
        came(name, &fold(&seen))
    }

    /// Reads all that ever happened to a task.
    async fn whole(&self, id: &TaskId) -> Result<Vec<StreamResponse>, Error> {
        let events = self.0.stream(behind(0), subscribe(id)).await?;
        let events: Vec<_> = events.collect().await;
        Ok(told(&events.into_iter().collect::<Result<Vec<_>, _>>()?))
    }

    /// Reads a stream until it breaks, from its beginning or from where it broke before.
    async fn read_on(&self, name: &str, seen: &mut Vec<Event>) -> Result<(), Error> {
        let mut events = match seen.last() {
            None => {
                let request = Request::SendStreamingMessage(request(name));
                self.0.stream(keyed(name), request).await?
            }
            Some(last) => {
                let last = last.seq.expect("events are numbered");
                let mut events = self.0.stream(behind(last), subscribe(task_of(seen))).await?;
                let again = match events.next().await {
                    Some(event) => event?,
                    None => return Ok(()),
                };
                assert_eq!(again.seq, Some(last), "{name}: it begins as of then");
                events
            }
        };
        while let Some(event) = events.next().await {
            let event = event?;
            assert_eq!(event.seq, Some(seen.len() as u64 + 1), "{name}: {seen:?}");
            seen.push(event);
        }
        Ok(())
    }
}

/// A message that says more about itself than it must.
fn request(name: &str) -> SendMessageRequest {
    let mut request = SendMessageRequest::new(Message::user(name));
    // The same each time, or it is another request.
    request.message.message_id = MessageId::parse(name).expect("a name is an id");
    request.message.context_id = ContextId::parse(&format!("context-{name}")).ok();
    request.metadata = Some(Object::from_members([("why", Raw::string("to prove it"))]));
    request.configuration = Some(SendMessageConfiguration {
        accepted_output_modes: vec!["text/plain".to_owned()],
        ..Default::default()
    });
    request
}

fn keyed(key: &str) -> CallContext {
    let key = Some(key.to_owned());
    CallContext { idempotency_key: key, ..CallContext::new(Who::Anonymous) }
}

fn behind(seq: u64) -> CallContext {
    CallContext { last_event: Some(seq), ..CallContext::new(Who::Anonymous) }
}

fn subscribe(id: &TaskId) -> Request {
    Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id: id.clone() })
}

/// Whoever is told anything but that nobody is there now has lost something.
#[track_caller]
fn check_passing(name: &str, error: &Error) {
    let is_gone = matches!(error, Error::Net(_) | Error::Cut { .. } | Error::Interrupted { .. });
    let is_busy = matches!(error, Error::Status { status, .. } if status.is_server_error());
    assert!(is_gone || is_busy || error.is_failure_of_peer(), "{name}: {error:?}");
}

fn came(name: &str, task: &Task) -> Came {
    let name = name.to_owned();
    if task.status.state != TaskState::Completed {
        let why = task.status.message.as_ref().map(|message| message.text());
        let why = why.unwrap_or_else(|| task.status.state.as_str().to_owned());
        return Came { name, failure: Some(why) };
    }
    let expected: String = (0..PIECES).map(|index| index.to_string() + " ").collect();
    let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
    let text: String = parts.filter_map(Part::as_text).collect();
    assert_eq!(text, expected, "{name}");
    Came { name, failure: None }
}

/// Puts together what events say.
fn fold(events: &[Event]) -> Task {
    let StreamResponse::Task(task) = value(&events[0]) else { panic!("{:?}", events[0]) };
    let mut task = task.clone();
    for event in &events[1..] {
        match value(event) {
            StreamResponse::StatusUpdate(update) => task.status = update.status.clone(),
            StreamResponse::ArtifactUpdate(update) => match task.artifacts.first_mut() {
                Some(artifact) if update.append => {
                    artifact.parts.extend(update.artifact.parts.iter().cloned());
                }
                _ => task.artifacts = vec![update.artifact.clone()],
            },
            other => panic!("neither status nor artifact: {other:?}"),
        }
    }
    task
}

fn task_of(events: &[Event]) -> &TaskId {
    match value(&events[0]) {
        StreamResponse::Task(task) => &task.id,
        other => panic!("the first event is the task, not {other:?}"),
    }
}

fn told(events: &[Event]) -> Vec<StreamResponse> {
    events.iter().map(|event| value(event).clone()).collect()
}

fn value(event: &Event) -> &StreamResponse {
    event.response.value().expect("it has been read before")
}
