//! An agent, or anything else that speaks A2A, as a tool.

use std::{fmt, sync::Arc};

use futures_util::StreamExt as _;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::TaskId,
    json::Object,
    message::{Content, Message, Part},
    operation::{CancelTaskRequest, GetTaskRequest, SendMessageRequest},
    service::{A2aService, CallContext, Events, read},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse, Task},
};

use super::{About, Boxed, Call, Named, Tool};

/// What the model has to give.
const SCHEMA: &str = r#"{"type":"object","properties":{"message":{"type":"string","description":"What is to be done, with all that one needs to know for it: nothing else is seen."}},"required":["message"]}"#;

/// Hands a job to another agent, a workflow, or whatever else is an [`A2aService`].
///
/// The model gives it a `message`. What the other says while it works is passed on as progress. A
/// task that fails is an error for the model; one that asks something back is one too, with the
/// question. Whoever stops waiting cancels the task.
#[derive(Clone)]
pub struct Delegate {
    about: About,
    service: Arc<dyn A2aService>,
    callers: Arc<dyn Fn(&Call) -> CallContext + Send + Sync>,
}

impl Delegate {
    /// Makes a tool of a service. `callers` says as whom it is called, and because of which task.
    pub fn new(
        named: Named,
        service: Arc<dyn A2aService>,
        callers: impl Fn(&Call) -> CallContext + Send + Sync + 'static,
    ) -> Self {
        Self { about: named.about(SCHEMA), service, callers: Arc::new(callers) }
    }

    async fn ask(&self, input: Object, call: &Call) -> Result<Vec<Part>, String> {
        let message = input.get("message").and_then(|message| message.as_text());
        let message = message.ok_or("`message` must be a text that says what is to be done")?;
        let ctx = (self.callers)(call);
        let request = SendMessageRequest::new(Message::user(message));
        let followed = self.service.send_streaming_message(ctx.clone(), request.clone()).await;
        match followed {
            Ok(events) => self.follow(events, ctx, call).await,
            Err(error) if error.kind() == ErrorKind::UnsupportedOperation => {
                let answer = self.service.send_message(ctx, request).await;
                match answer.and_then(read).map_err(|error| told(&error))? {
                    SendMessageResponse::Message(message) => Ok(message.parts),
                    SendMessageResponse::Task(task) => outcome(task),
                }
            }
            Err(error) => Err(told(&error)),
        }
    }

    /// Follows a task to its end, or to where it asks something.
    async fn follow(
        &self,
        mut events: Events,
        ctx: CallContext,
        call: &Call,
    ) -> Result<Vec<Part>, String> {
        let mut left = Left { service: Arc::clone(&self.service), ctx: ctx.clone(), task: None };
        while let Some(event) = events.next().await {
            let event = event.map_err(|error| told(&error))?;
            let event = event.response.into_value();
            let event = event.map_err(|error| format!("its answer cannot be read: {error}"))?;
            let (task, status) = match event {
                StreamResponse::Message(message) => return Ok(message.parts),
                StreamResponse::Task(task) => (task.id, Some(task.status)),
                StreamResponse::StatusUpdate(update) => (update.task_id, Some(update.status)),
                StreamResponse::ArtifactUpdate(update) => (update.task_id, None),
            };
            left.task = Some(task.clone());
            let Some(status) = status else { continue };
            if status.state.is_terminal() || status.state.is_interrupted() {
                let request = GetTaskRequest { tenant: None, id: task, history_length: Some(0) };
                let task = self.service.get_task(ctx, request).await;
                let task = task.and_then(read).map_err(|error| told(&error))?;
                if task.status.state.is_terminal() {
                    left.task = None;
                }
                return outcome(task);
            }
            if let Some(words) = status.message.filter(|_| status.state == TaskState::Working) {
                let words = format!("{}: {}", self.about.name, words.text());
                call.working(words).await.map_err(|error| error.to_string())?;
            }
        }
        Err("its answer broke off".to_owned())
    }
}

/// A task that nobody waits for any more is cancelled.
struct Left {
    service: Arc<dyn A2aService>,
    ctx: CallContext,
    task: Option<TaskId>,
}

impl Drop for Left {
    fn drop(&mut self) {
        let Some(id) = self.task.take() else { return };
        let (service, ctx) = (Arc::clone(&self.service), self.ctx.clone());
        tokio::spawn(async move {
            let request = CancelTaskRequest { tenant: None, id, metadata: None };
            // It may have ended by itself.
            service.cancel_task(ctx, request).await.ok();
        });
    }
}

/// Returns what a task has come to.
fn outcome(task: Task) -> Result<Vec<Part>, String> {
    let state = task.status.state;
    let said = task.status.message;
    if state == TaskState::Completed {
        let given = task.artifacts.into_iter().flat_map(|artifact| joined(artifact.parts));
        let given: Vec<Part> = given.collect();
        return Ok(if given.is_empty() {
            said.map(|message| message.parts).unwrap_or_default()
        } else {
            given
        });
    }
    let said = said.map(|message| message.text()).unwrap_or_default();
    Err(match state {
        TaskState::InputRequired => {
            format!("it asks something and was left; ask again with the answer: {said}")
        }
        TaskState::AuthRequired => format!("it wants a credential that nobody has: {said}"),
        _ => format!("its task ended as {}: {said}", state.as_str()),
    })
}

/// Joins the texts of a result: one that was streamed is in as many pieces as it came in.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        if let Content::Text(more) = &part.content
            && part.filename.is_empty()
            && let Some(Part { content: Content::Text(text), filename, .. }) = joined.last_mut()
            && filename.is_empty()
        {
            text.push_str(more);
            continue;
        }
        joined.push(part);
    }
    joined
}

fn told(error: &Error) -> String {
    format!("it could not be asked: {}", error.message())
}

impl Tool for Delegate {
    fn about(&self) -> &About {
        &self.about
    }

    fn call<'a>(&'a self, input: Object, call: &'a Call) -> Boxed<'a, Result<Vec<Part>, String>> {
        Box::pin(self.ask(input, call))
    }
}

impl fmt::Debug for Delegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delegate").field("about", &self.about).finish_non_exhaustive()
    }
}
