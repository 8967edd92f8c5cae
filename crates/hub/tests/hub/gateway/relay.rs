//! Agents that call others because they were called.

use std::sync::{Arc, OnceLock};

use futures_util::StreamExt as _;
use http::HeaderValue;
use nuncio_client::{Options, Remote};
use nuncio_protocol::{
    dialect::WireForm,
    message::Message,
    operation::{Request, SendMessageRequest},
    state::TaskState,
    task::StreamResponse,
};
use nuncio_server::{Agent, Chunk, Failure, Output, Turn};

use super::{
    agents::{PARENT, Served, Skilled},
    callers::{somebody, value},
    stage::Stage,
    world::World,
};

/// Hands every message to another agent, through the hub, and what comes of it back.
pub(crate) struct Relay {
    stage: Stage,
    line: Arc<OnceLock<Line>>,
}

/// How an agent calls another.
struct Line {
    world: Arc<World>,
    token: String,
    next: String,
    form: WireForm,
}

/// Brings in an agent of this name that hands everything to the next, in this form.
pub(crate) async fn relay(
    world: &Arc<World>,
    (name, parent): (&str, Option<&str>),
    (next, form): (&str, WireForm),
    stage: &Stage,
) -> Served {
    let line = Arc::new(OnceLock::new());
    let agent = Relay { stage: stage.clone(), line: Arc::clone(&line) };
    let served = Served::start(form, Skilled::Resumes, stage, agent).await;
    let new = serde_json::json!({ "name": name, "card_url": served.url(), "parent": parent });
    let id = world.add_as(&new).await;
    let token = world.token(&id).await;
    let (world, next) = (Arc::clone(world), next.to_owned());
    line.set(Line { world, token, next, form }).ok().expect("it is set once");
    served
}

impl Line {
    /// Calls because of a task.
    fn remote(&self, parent: Option<&str>) -> Remote {
        let mut options = Options::default();
        let header = |text: &str| HeaderValue::try_from(text).expect("it is text");
        let token = format!("Bearer {}", self.token);
        options.headers.insert(http::header::AUTHORIZATION, header(&token));
        if let Some(parent) = parent {
            options.headers.insert(PARENT, header(parent));
        }
        self.world.remote_with(&self.next, self.form, options)
    }
}

impl Agent for Relay {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let _running = self.stage.begin("relay");
        let line = self.line.get().ok_or_else(|| Failure::new("it is not connected"))?;
        let remote = line.remote(self.stage.parent().as_deref());
        let request = SendMessageRequest::new(Message::user(turn.message.text()));
        let request = Request::SendStreamingMessage(request);
        // What is refused is told in the words of whoever refused it.
        let told = |error: nuncio_client::Error| Failure::new(error.to_string());
        let mut events = remote.stream(somebody(), request).await.map_err(told)?;
        while let Some(event) = events.next().await {
            match value(&event.map_err(told)?) {
                StreamResponse::ArtifactUpdate(update) => {
                    let chunk = Chunk { append: update.append, last: update.last_chunk };
                    output.put(update.artifact.clone(), chunk).await?;
                }
                StreamResponse::StatusUpdate(update)
                    if update.status.state == TaskState::Failed =>
                {
                    let why = update.status.message.as_ref().map(|message| message.text());
                    return Err(Failure::new(why.unwrap_or_default()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
