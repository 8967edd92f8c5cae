//! The echo agent on the official Rust SDK. Reads `PORT`, `GRPC_PORT` and `STORE` (`memory`).

use std::{error::Error, net::Ipv4Addr, sync::Arc};

use a2a::{
    A2AError, AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Artifact, Message, Part,
    StreamResponse, TRANSPORT_PROTOCOL_JSONRPC, Task, TaskArtifactUpdateEvent, TaskState,
    TaskStatus, TaskStatusUpdateEvent,
};
use a2a_grpc::GrpcHandler;
use a2a_pb::proto::a2a_service_server::A2aServiceServer;
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore, StaticAgentCard,
    agent_card::agent_card_router, jsonrpc::jsonrpc_router,
};
use axum::serve::ListenerExt as _;
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use nuncio_bench_peers::{ARTIFACT, Asked, CHUNK, port};
use tokio::net::TcpListener;
use tonic::transport::Server;

type Events = BoxStream<'static, Result<StreamResponse, A2AError>>;

struct Echo;

impl AgentExecutor for Echo {
    fn execute(&self, context: ExecutorContext) -> Events {
        let turn = Turn { task: context.task_id, context: context.context_id };
        let text = context.message.as_ref().and_then(Message::text).unwrap_or_default().to_owned();
        let begun = StreamResponse::Task(Task {
            id: turn.task.clone(),
            context_id: turn.context.clone(),
            status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: None },
            artifacts: None,
            history: context.message.map(|message| vec![message]),
            metadata: None,
        });
        let head = stream::iter([Ok(begun), Ok(turn.status(TaskState::Working))]);
        let end = stream::iter([Ok(turn.status(TaskState::Completed))]);
        match Asked::read(&text) {
            Asked::Hold => head.chain(stream::pending()).boxed(),
            Asked::Echo => {
                let echo = stream::iter([Ok(turn.artifact(text, false, true))]);
                head.chain(echo).chain(end).boxed()
            }
            Asked::Chunks(count) => {
                let chunks = stream::iter(0..count).then(move |index| {
                    let turn = turn.clone();
                    async move {
                        tokio::task::yield_now().await;
                        Ok(turn.artifact(CHUNK.to_owned(), index > 0, index + 1 == count))
                    }
                });
                head.chain(chunks).chain(end).boxed()
            }
        }
    }

    fn cancel(&self, context: ExecutorContext) -> Events {
        let turn = Turn { task: context.task_id, context: context.context_id };
        stream::iter([Ok(turn.status(TaskState::Canceled))]).boxed()
    }
}

#[derive(Clone)]
struct Turn {
    task: String,
    context: String,
}

impl Turn {
    fn status(&self, state: TaskState) -> StreamResponse {
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: self.task.clone(),
            context_id: self.context.clone(),
            status: TaskStatus { state, message: None, timestamp: None },
            metadata: None,
        })
    }

    fn artifact(&self, text: String, append: bool, last: bool) -> StreamResponse {
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: self.task.clone(),
            context_id: self.context.clone(),
            artifact: Artifact {
                artifact_id: ARTIFACT.to_owned(),
                name: None,
                description: None,
                parts: vec![Part::text(text)],
                metadata: None,
                extensions: None,
            },
            append: Some(append),
            last_chunk: Some(last),
            metadata: None,
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::var("STORE").is_ok_and(|store| store != "memory") {
        return Err("the SDK has no other store than the one in memory".into());
    }
    let (port, grpc_port) = (port("PORT")?, port("GRPC_PORT")?);
    let handler = Arc::new(DefaultRequestHandler::new(Echo, InMemoryTaskStore::new()));
    let grpc = A2aServiceServer::new(GrpcHandler::new(Arc::clone(&handler)));
    let router = jsonrpc_router(handler)
        .merge(agent_card_router(Arc::new(StaticAgentCard::new(card(port)))));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    // Without this every answer would wait 40 ms.
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap_or_default());
    let grpc = Server::builder().add_service(grpc).serve((Ipv4Addr::LOCALHOST, grpc_port).into());
    tokio::spawn(grpc);
    Ok(axum::serve(listener, router).await?)
}

fn card(port: u16) -> AgentCard {
    let url = format!("http://127.0.0.1:{port}/");
    AgentCard {
        name: "echo".to_owned(),
        description: "says it back".to_owned(),
        version: "1".to_owned(),
        supported_interfaces: vec![AgentInterface::new(url, TRANSPORT_PROTOCOL_JSONRPC)],
        capabilities: AgentCapabilities { streaming: Some(true), ..AgentCapabilities::default() },
        default_input_modes: vec!["text/plain".to_owned()],
        default_output_modes: vec!["text/plain".to_owned()],
        skills: vec![AgentSkill {
            id: "echo".to_owned(),
            name: "echo".to_owned(),
            description: "says it back".to_owned(),
            tags: vec!["echo".to_owned()],
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
