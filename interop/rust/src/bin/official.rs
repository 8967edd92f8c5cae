//! An agent on the official Rust SDK, on JSON-RPC, HTTP+JSON and gRPC, in A2A 1.0.
//! Prints `listening on URL`, ends when its input does.

use std::{error::Error, sync::Arc};

use a2a::{
    A2AError, AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Artifact, Message, Part,
    Role, StreamResponse, TRANSPORT_PROTOCOL_GRPC, TRANSPORT_PROTOCOL_HTTP_JSON,
    TRANSPORT_PROTOCOL_JSONRPC, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use a2a_grpc::GrpcHandler;
use a2a_pb::proto::a2a_service_server::A2aServiceServer;
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, HttpPushSender, HttpPushSenderConfig,
    InMemoryPushConfigStore, InMemoryTaskStore, StaticAgentCard, agent_card::agent_card_router,
    jsonrpc::jsonrpc_router, rest::rest_router,
};
use axum::{Router, serve::ListenerExt as _};
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use nuncio_interop_rust::{ARTIFACT, PAUSE, Step, message_in, steps, until_input_ends};
use tokio::net::TcpListener;
use tonic::transport::{Server, server::TcpIncoming};

type Events = BoxStream<'static, Result<StreamResponse, A2AError>>;

struct Agent;

impl AgentExecutor for Agent {
    fn execute(&self, context: ExecutorContext) -> Events {
        let turn = Turn { task: context.task_id, context: context.context_id };
        let text = context.message.as_ref().and_then(Message::text).unwrap_or_default().to_owned();
        if let Some(answer) = message_in(&text) {
            let mut message = Message::new(Role::Agent, vec![Part::text(answer)]);
            message.context_id = Some(turn.context);
            return stream::iter([Ok(StreamResponse::Message(message))]).boxed();
        }
        let begun = context.stored_task.unwrap_or_else(|| Task {
            id: turn.task.clone(),
            context_id: turn.context.clone(),
            status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: None },
            artifacts: None,
            history: context.message.map(|message| vec![message]),
            metadata: None,
        });
        let head = [Ok(StreamResponse::Task(begun)), Ok(turn.status(TaskState::Working, None))];
        let steps = steps(&text);
        let is_over = !steps.iter().any(|step| matches!(step, Step::Ask(_)));
        let end = is_over.then(|| Ok(turn.status(TaskState::Completed, None)));
        let work = stream::iter(steps).then(move |step| turn.clone().take(step));
        stream::iter(head).chain(work).chain(stream::iter(end)).boxed()
    }

    fn cancel(&self, context: ExecutorContext) -> Events {
        let turn = Turn { task: context.task_id, context: context.context_id };
        stream::iter([Ok(turn.status(TaskState::Canceled, None))]).boxed()
    }
}

#[derive(Clone)]
struct Turn {
    task: String,
    context: String,
}

impl Turn {
    async fn take(self, step: Step) -> Result<StreamResponse, A2AError> {
        match step {
            Step::Hold => std::future::pending().await,
            Step::Ask(question) => Ok(self.status(TaskState::InputRequired, Some(question))),
            Step::Piece { text, append, last } => {
                if append {
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                    task_id: self.task,
                    context_id: self.context,
                    artifact: Artifact {
                        artifact_id: ARTIFACT.into(),
                        name: None,
                        description: None,
                        parts: vec![Part::text(text)],
                        metadata: None,
                        extensions: None,
                    },
                    append: Some(append),
                    last_chunk: Some(last),
                    metadata: None,
                }))
            }
        }
    }

    fn status(&self, state: TaskState, question: Option<&str>) -> StreamResponse {
        let message = question.map(|text| {
            let mut message = Message::new(Role::Agent, vec![Part::text(text)]);
            message.task_id = Some(self.task.clone());
            message.context_id = Some(self.context.clone());
            message
        });
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: self.task.clone(),
            context_id: self.context.clone(),
            status: TaskStatus { state, message, timestamp: None },
            metadata: None,
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let grpc = TcpListener::bind("127.0.0.1:0").await?;
    let card = card(&url, &grpc.local_addr()?.to_string());
    let extended = AgentCard { description: "does more for those it knows".into(), ..card.clone() };
    // The webhooks of this machine are the only ones that are tried.
    let sender = HttpPushSender::new(Some(HttpPushSenderConfig {
        validate_urls: false,
        ..HttpPushSenderConfig::default()
    }));
    let handler = Arc::new(
        DefaultRequestHandler::new(Agent, InMemoryTaskStore::new())
            .with_push_notifications(InMemoryPushConfigStore::new(), sender)
            .with_extended_agent_card(extended)
            .with_capabilities(card.capabilities.clone()),
    );
    let service = A2aServiceServer::new(GrpcHandler::new(Arc::clone(&handler)));
    let incoming = TcpIncoming::from(grpc).with_nodelay(Some(true));
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    let app = Router::new()
        .nest("/rpc", jsonrpc_router(Arc::clone(&handler)))
        .nest("/rest", rest_router(handler))
        .merge(agent_card_router(Arc::new(StaticAgentCard::new(card))));
    let listener = listener.tap_io(|stream| {
        // Only the speed depends on it.
        let _ = stream.set_nodelay(true);
    });
    tokio::spawn(async { axum::serve(listener, app).await });
    Ok(until_input_ends(&url).await?)
}

fn card(url: &str, grpc: &str) -> AgentCard {
    AgentCard {
        name: "Rust agent".into(),
        description: "does as it is told".into(),
        version: "1".into(),
        supported_interfaces: vec![
            AgentInterface::new(format!("{url}/rpc"), TRANSPORT_PROTOCOL_JSONRPC),
            AgentInterface::new(format!("{url}/rest"), TRANSPORT_PROTOCOL_HTTP_JSON),
            AgentInterface::new(grpc, TRANSPORT_PROTOCOL_GRPC),
        ],
        capabilities: AgentCapabilities {
            streaming: Some(true),
            push_notifications: Some(true),
            extended_agent_card: Some(true),
            ..AgentCapabilities::default()
        },
        default_input_modes: vec!["text/plain".into()],
        default_output_modes: vec!["text/plain".into()],
        skills: vec![AgentSkill {
            id: "echo".into(),
            name: "echo".into(),
            description: "says it back".into(),
            tags: vec!["echo".into()],
            examples: None,
            input_modes: None,
            output_modes: None,
            security_requirements: None,
        }],
        provider: None,
        documentation_url: None,
        icon_url: None,
        security_schemes: None,
        security_requirements: None,
        signatures: None,
    }
}
