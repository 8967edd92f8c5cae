//! An agent on `a2a-protocol-server`, on JSON-RPC, HTTP+JSON and gRPC, in A2A 1.0.
//! Prints `listening on URL`, ends when its input does.

use std::{error::Error, sync::Arc};

use a2a_protocol_server::{
    CombinedDispatcher, EventEmitter, GrpcConfig, GrpcDispatcher, HttpPushSender,
    RequestHandlerBuilder, Server, agent_executor,
};
use a2a_protocol_types::{
    AgentCapabilities, AgentCard, AgentInterface, AgentSkill, ContextId, Message, Part,
    StreamResponse, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use nuncio_interop_rust::{ARTIFACT, PAUSE, Step, message_in, steps, until_input_ends};
use tokio::net::TcpListener;

struct Agent;

agent_executor!(Agent, |context, queue| async {
    let emit = EventEmitter::new(context, queue);
    let text = context.message.text().unwrap_or_default();
    if let Some(answer) = message_in(text) {
        let id = format!("answer-{}", context.message.id);
        let message = Message::agent_text(id, answer).with_context_id(context.context_id.as_str());
        return queue.write(StreamResponse::Message(message)).await;
    }
    emit.status(TaskState::Working).await?;
    for step in steps(text) {
        match step {
            Step::Hold => {
                context.cancellation_token.cancelled().await;
                return Ok(());
            }
            Step::Ask(question) => {
                let id = format!("question-{}", context.message.id);
                let mut status = TaskStatus::new(TaskState::InputRequired);
                status.message = Some(Message::agent_text(id, question));
                let update = TaskStatusUpdateEvent {
                    task_id: context.task_id.clone(),
                    context_id: ContextId::new(context.context_id.clone()),
                    status,
                    metadata: None,
                };
                return queue.write(StreamResponse::StatusUpdate(update)).await;
            }
            Step::Piece { text, append, last } => {
                if append {
                    tokio::time::sleep(PAUSE).await;
                }
                let parts = vec![Part::text(text)];
                emit.artifact(ARTIFACT, parts, Some(append), Some(last)).await?;
            }
        }
        if emit.is_cancelled() {
            return Ok(());
        }
    }
    emit.status(TaskState::Completed).await
});

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", server.local_addr()?);
    let grpc = TcpListener::bind("127.0.0.1:0").await?;
    let capabilities = AgentCapabilities::none()
        .with_streaming(true)
        .with_push_notifications(true)
        .with_extended_agent_card(true);
    let card = AgentCard::new("Rust agent", "1", AgentInterface::jsonrpc(format!("{url}/rpc")))
        .with_interface(AgentInterface::rest(&url))
        .with_interface(AgentInterface::grpc(format!("http://{}", grpc.local_addr()?)))
        .with_description("does as it is told")
        .with_capabilities(capabilities)
        .with_skill(AgentSkill::new("echo", "echo", "says it back").with_tags(["echo"]));
    let extended = card.clone().with_description("does more for those it knows");
    let handler = RequestHandlerBuilder::new(Agent)
        .with_agent_card(card)
        .with_extended_agent_card(extended)
        .allow_unauthenticated_extended_card()
        // The webhooks of this machine are the only ones that are tried.
        .with_push_sender(HttpPushSender::new().allow_private_urls())
        .build()?;
    let handler = Arc::new(handler);
    GrpcDispatcher::new(Arc::clone(&handler), GrpcConfig::default()).serve_with_listener(grpc)?;
    let dispatcher = CombinedDispatcher::new(handler).with_jsonrpc_path("/rpc")?;
    tokio::spawn(server.serve_with_shutdown(dispatcher, std::future::pending()));
    Ok(until_input_ends(&url).await?)
}
