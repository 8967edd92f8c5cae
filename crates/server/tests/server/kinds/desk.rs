//! An agent at work, in an engine of its own.

use std::sync::Arc;

use futures_util::StreamExt as _;
use nuncio_net::{
    Client, Guard, Policy,
    egress::{Errand, Purpose},
};
use nuncio_protocol::{
    card::AgentCard,
    ids::TaskId,
    message::Message,
    operation::{CancelTaskRequest, SendMessageConfiguration, SendMessageRequest},
    service::{A2aService as _, CallContext, Caller, read},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse, Task},
};
use nuncio_server::{Agent, LocalAgent};
use nuncio_tasks::{engine::Tasks, memory::MemoryStore, scope::Name};

/// An agent at work.
pub(crate) struct Desk {
    pub(crate) tasks: Tasks,
    pub(crate) service: LocalAgent,
}

impl Desk {
    pub(crate) fn hire(agent: impl Agent) -> Self {
        Self::over(Arc::new(MemoryStore::default()), agent)
    }

    /// Works on what a store has.
    pub(crate) fn over(store: Arc<MemoryStore>, agent: impl Agent) -> Self {
        let name = Name::parse("agent").expect("a name");
        let tasks = Tasks::builder(store).agent(name.clone(), agent).start();
        let card = AgentCard::builder("agent").input_modes(["*/*"]).output_modes(["*/*"]);
        let card = card.streaming().build();
        let service = LocalAgent::new(tasks.clone(), name, &card).expect("a name");
        Self { tasks, service }
    }

    pub(crate) async fn ask(&self, text: &str) -> Task {
        self.send(Message::user(text)).await
    }

    pub(crate) async fn send(&self, message: Message) -> Task {
        let request = SendMessageRequest::new(message);
        let sent = self.service.send_message(context("ann"), request).await.expect("an answer");
        match read(sent).expect("it can be read") {
            SendMessageResponse::Task(task) => task,
            SendMessageResponse::Message(message) => panic!("no task: {message:?}"),
        }
    }

    /// Sends a message, and does not wait for what comes of it.
    pub(crate) async fn begin(&self, message: Message) -> TaskId {
        let mut request = SendMessageRequest::new(message);
        request.configuration =
            Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
        let sent = self.service.send_message(context("ann"), request).await.expect("an answer");
        match read(sent).expect("it can be read") {
            SendMessageResponse::Task(task) => task.id,
            SendMessageResponse::Message(message) => panic!("no task: {message:?}"),
        }
    }

    /// Sends a message, and follows what comes of it.
    pub(crate) async fn follow(&self, text: &str) -> Vec<StreamResponse> {
        let request = SendMessageRequest::new(Message::user(text));
        let events = self.service.send_streaming_message(context("ann"), request).await;
        let events = events.expect("a stream");
        let read = events
            .map(|event| event.expect("an event").response.into_value().expect("it can be read"));
        read.collect().await
    }

    /// Waits until a task has ended, or asks something.
    pub(crate) async fn end_of(&self, id: &TaskId) -> Task {
        let request =
            nuncio_protocol::operation::SubscribeToTaskRequest { tenant: None, id: id.clone() };
        // One that has ended cannot be followed.
        if let Ok(mut events) = self.service.subscribe_to_task(context("ann"), request).await {
            while events.next().await.is_some() {}
        }
        self.look_at(id).await
    }

    /// Returns a task as it stands.
    pub(crate) async fn look_at(&self, id: &TaskId) -> Task {
        let request = nuncio_protocol::operation::GetTaskRequest {
            tenant: None,
            id: id.clone(),
            history_length: None,
        };
        let task = self.service.get_task(context("ann"), request).await.expect("it is there");
        read(task).expect("it can be read")
    }

    pub(crate) async fn cancel(&self, id: &TaskId) -> Task {
        let request = CancelTaskRequest { tenant: None, id: id.clone(), metadata: None };
        let task = self.service.cancel_task(context("ann"), request).await.expect("it ends");
        read(task).expect("it can be read")
    }
}

pub(crate) fn context(caller: &str) -> CallContext {
    CallContext::new(Caller::User(caller.into()))
}

/// Reaches servers on this machine, as an administrator may allow.
pub(crate) fn client() -> Client {
    let errand = Errand::administrator(Purpose::Agent);
    let policy = Policy::default().allow_http(errand);
    let policy = policy.open(Purpose::Agent, "127.0.0.0/8".parse().expect("a range"));
    Client::new(Guard::new(policy))
}

/// Returns the text of all results.
pub(crate) fn text(task: &Task) -> String {
    let words = task.artifacts.iter().map(|artifact| {
        let parts = artifact.parts.iter().filter_map(|part| part.as_text());
        parts.collect::<String>()
    });
    words.collect()
}

/// Returns why a task has failed.
#[track_caller]
pub(crate) fn failure(task: &Task) -> String {
    assert_eq!(task.status.state, TaskState::Failed, "{task:?}");
    task.status.message.as_ref().map(|message| message.text()).unwrap_or_default()
}

/// Returns what was said about the work while it went on.
pub(crate) fn words(events: &[StreamResponse]) -> Vec<String> {
    let words = events.iter().filter_map(|event| match event {
        StreamResponse::StatusUpdate(update) if update.status.state == TaskState::Working => {
            Some(update.status.message.as_ref()?.text())
        }
        _ => None,
    });
    words.collect()
}
