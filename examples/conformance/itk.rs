//! Instructions of the integration test kit (ITK), by which agents of several SDKs call each
//! other in chains: a part of a message says what to answer, and whom to call.

use std::{sync::LazyLock, time::Duration};

use anyhow::{Context as _, anyhow, bail};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture};
use nuncio_client::{
    Agent, Client, Find, Origin,
    discover::{Ask, Source},
    negotiate::Terms,
};
use nuncio_net::{Client as NetClient, Errand, Guard, Policy, Purpose, Trust};
use nuncio_protocol::{
    card::{AgentCard, Binding},
    ids::TaskId,
    message::{Content, Message, Part},
    operation::{
        CancelTaskRequest, Request, Response, SendMessageConfiguration, SendMessageRequest,
        SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::{CallContext, Caller},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse, TaskStatus},
};
use nuncio_server::{Failure, Output};
use prost::Message as _;

/// How the part is marked that is an instruction.
pub(crate) const MEDIA_TYPE: &str = "application/x-protobuf";
const FILE_NAME: &str = "instruction.bin";

/// What a task says that is held, so that whoever comes back knows that it has heard all.
const FINISHED: &str = "task-finished";

/// A task that is held says so this often.
const HELD: (u32, Duration) = (5, Duration::from_secs(2));

/// What to do.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Instruction {
    #[prost(oneof = "Step", tags = "1, 2, 3")]
    step: Option<Step>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Step {
    #[prost(message, tag = "1")]
    CallAgent(Box<CallAgent>),
    #[prost(message, tag = "2")]
    ReturnResponse(ReturnResponse),
    #[prost(message, tag = "3")]
    Steps(SeriesOfSteps),
}

#[derive(Clone, PartialEq, prost::Message)]
struct CallAgent {
    #[prost(string, tag = "1")]
    transport: String,
    #[prost(string, tag = "2")]
    agent_card_uri: String,
    #[prost(message, optional, boxed, tag = "3")]
    instruction: Option<Box<Instruction>>,
    #[prost(bool, tag = "4")]
    streaming: bool,
    #[prost(oneof = "Behavior", tags = "5, 6, 7")]
    behavior: Option<Behavior>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Behavior {
    #[prost(message, tag = "5")]
    SendMessage(Nothing),
    #[prost(message, tag = "6")]
    PushNotification(PushNotification),
    #[prost(message, tag = "7")]
    Resubscribe(Nothing),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Nothing {}

#[derive(Clone, PartialEq, prost::Message)]
struct PushNotification {
    #[prost(string, tag = "1")]
    url: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ReturnResponse {
    #[prost(string, tag = "1")]
    response: String,
    #[prost(bool, tag = "2")]
    hold_task: bool,
}

/// Answers are joined by lines, whatever the kit's `response_generator` (2) says: it knows one.
#[derive(Clone, PartialEq, prost::Message)]
struct SeriesOfSteps {
    #[prost(message, repeated, tag = "1")]
    instructions: Vec<Instruction>,
}

impl Instruction {
    /// Finds the instruction in a message, if there is one.
    pub(crate) fn find(message: &Message) -> Option<Result<Self, Failure>> {
        let is_marked = |part: &&Part| part.media_type == MEDIA_TYPE || part.filename == FILE_NAME;
        let part = message.parts.iter().find(is_marked)?;
        let Content::Raw(bytes) = &part.content else {
            return Some(Err(Failure::new("an instruction is the bytes of a file")));
        };
        let read = Self::decode(bytes.clone());
        Some(read.map_err(|error| Failure::new(format!("no instruction: {error}"))))
    }

    /// Follows it, and completes the task with what came of it.
    pub(crate) async fn follow(self, output: &Output) -> Result<(), Failure> {
        output.status(TaskState::Working, None).await?;
        let text = self.answer(output).await.map_err(|error| Failure::new(format!("{error:#}")))?;
        Ok(output.status(TaskState::Completed, Some(Message::agent(text))).await?)
    }

    fn answer<'a>(&'a self, output: &'a Output) -> BoxFuture<'a, anyhow::Result<String>> {
        async move {
            match self.step.as_ref().context("the instruction says nothing")? {
                Step::ReturnResponse(response) if response.hold_task => {
                    hold(&response.response, output).await
                }
                Step::ReturnResponse(response) => Ok(response.response.clone()),
                Step::CallAgent(call) => call.answer().await,
                Step::Steps(series) => {
                    let mut answers = Vec::new();
                    for instruction in &series.instructions {
                        answers.push(instruction.answer(output).await?);
                    }
                    Ok(answers.join("\n"))
                }
            }
        }
        .boxed()
    }

    fn into_message(self) -> Message {
        let part = Part::raw(self.encode_to_vec());
        let part = part.with_filename(FILE_NAME).with_media_type(MEDIA_TYPE);
        Message { parts: vec![part], ..Message::user("") }
    }
}

/// Works until it is cancelled, and says now and then what there is to hear.
async fn hold(response: &str, output: &Output) -> anyhow::Result<String> {
    let (times, pause) = HELD;
    for _ in 0..times {
        output.working(format!("{response}\n{FINISHED}")).await?;
        tokio::time::sleep(pause).await;
    }
    std::future::pending().await
}

impl CallAgent {
    async fn answer(&self) -> anyhow::Result<String> {
        let agent = self.find().await?;
        let instruction =
            *self.instruction.clone().context("there is nothing to tell the agent")?;
        let mut request = SendMessageRequest::new(instruction.into_message());
        match &self.behavior {
            Some(Behavior::Resubscribe(_)) => return come_back(&agent, request).await,
            Some(Behavior::PushNotification(push)) => {
                let mut config =
                    TaskPushNotificationConfig::new(format!("{}/notifications", push.url));
                "itk".clone_into(&mut config.token);
                request.configuration = Some(SendMessageConfiguration {
                    task_push_notification_config: Some(config),
                    ..SendMessageConfiguration::default()
                });
            }
            Some(Behavior::SendMessage(_)) | None => {}
        }
        if self.streaming { stream(&agent, request).await } else { send(&agent, request).await }
    }

    async fn find(&self) -> anyhow::Result<Agent> {
        let binding = match self.transport.to_lowercase().as_str() {
            "jsonrpc" => Binding::JsonRpc,
            "grpc" => Binding::Grpc,
            "http_json" | "rest" => Binding::HttpJson,
            other => bail!("transport is jsonrpc, grpc or http_json, not {other}"),
        };
        let ask = Ask::new(Source::parse(&self.agent_card_uri)?, Trust::Administrator);
        let card = CLIENT.agent(Find::new(ask.clone())).await?.card();
        let terms = Terms::default().bindings([binding]);
        Ok(CLIENT.agent(Find::new(ask).terms(near(&card, terms))).await?)
    }
}

/// Lets a card of this machine name other ports of it, as agents do that have one for gRPC.
fn near(card: &AgentCard, terms: Terms) -> Terms {
    let urls = card.supported_interfaces.iter().map(|interface| &interface.url);
    let origins = urls.filter_map(|url| {
        let is_whole = url.contains("://");
        Origin::parse(&if is_whole { url.to_owned() } else { format!("http://{url}") }).ok()
    });
    origins.filter(Origin::is_loopback).fold(terms, Terms::allow_origin)
}

async fn send(agent: &Agent, request: SendMessageRequest) -> anyhow::Result<String> {
    let answered = agent.call(nobody(), Request::SendMessage(request)).boxed().await?;
    match answered.into_response()? {
        Response::SendMessage(SendMessageResponse::Message(message)) => Ok(message.text()),
        Response::SendMessage(SendMessageResponse::Task(task)) => {
            Ok(said(&task.status).unwrap_or_default())
        }
        other => bail!("the agent answers {other:?}"),
    }
}

async fn stream(agent: &Agent, request: SendMessageRequest) -> anyhow::Result<String> {
    let request = Request::SendStreamingMessage(request);
    let mut events = agent.stream(nobody(), request).boxed().await?;
    let mut texts: Vec<String> = Vec::new();
    while let Some(event) = events.next().await {
        texts.extend(told(event?.response.value()?));
    }
    Ok(texts.join("\n"))
}

/// Begins a task, leaves, comes back to it, hears it to its end, and ends it.
async fn come_back(agent: &Agent, request: SendMessageRequest) -> anyhow::Result<String> {
    let request = Request::SendStreamingMessage(request);
    let mut events = agent.stream(nobody(), request).boxed().await?;
    let first = events.next().await.context("the stream is empty")??;
    let id = task_of(first.response.value()?).context("the first event names no task")?;
    drop(events);
    let subscribe = SubscribeToTaskRequest { tenant: None, id: id.clone() };
    let subscribe = Request::SubscribeToTask(subscribe);
    let mut events = agent.stream(nobody(), subscribe).boxed().await?;
    let heard = loop {
        let event = events.next().await.ok_or_else(|| anyhow!("the stream ends before {FINISHED}"));
        match told(event??.response.value()?) {
            Some(text) if text.contains(FINISHED) => break text,
            _ => {}
        }
    };
    let cancel = CancelTaskRequest { tenant: None, id, metadata: None };
    agent.call(nobody(), Request::CancelTask(cancel)).boxed().await?;
    Ok(heard)
}

fn told(event: &StreamResponse) -> Option<String> {
    match event {
        StreamResponse::Message(message) => Some(message.text()),
        StreamResponse::Task(task) => said(&task.status),
        StreamResponse::StatusUpdate(update) => said(&update.status),
        StreamResponse::ArtifactUpdate(_) => None,
    }
}

fn said(status: &TaskStatus) -> Option<String> {
    status.message.as_ref().map(|message| message.text())
}

fn task_of(event: &StreamResponse) -> Option<TaskId> {
    match event {
        StreamResponse::Task(task) => Some(task.id.clone()),
        StreamResponse::StatusUpdate(update) => Some(update.task_id.clone()),
        StreamResponse::ArtifactUpdate(update) => Some(update.task_id.clone()),
        StreamResponse::Message(_) => None,
    }
}

fn nobody() -> CallContext {
    CallContext::new(Caller::Anonymous)
}

/// Calls agents of this machine only: the kit starts all of them there.
static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    let here = "127.0.0.0/8".parse().expect("a range");
    let policy =
        [Purpose::Card, Purpose::Agent].into_iter().fold(Policy::default(), |policy, purpose| {
            policy.open(purpose, here).allow_http(Errand::administrator(purpose))
        });
    Client::new(NetClient::new(Guard::new(policy)))
});
