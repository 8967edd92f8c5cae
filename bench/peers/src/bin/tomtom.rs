//! The echo agent on `a2a-protocol-server`. Reads `PORT`, `GRPC_PORT` and `STORE` (`memory` or
//! `sqlite:PATH`).

use std::{error::Error, sync::Arc};

use a2a_protocol_server::{
    CombinedDispatcher, EventEmitter, GrpcConfig, GrpcDispatcher, RequestHandlerBuilder,
    SqliteTaskStore, TaskStoreConfig, agent_executor, serve,
};
use a2a_protocol_types::{
    AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, TaskState,
};
use nuncio_bench_peers::{ARTIFACT, Asked, CHUNK, port};

struct Echo;

agent_executor!(Echo, |context, queue| async {
    let emit = EventEmitter::new(context, queue);
    let text = context.message.text().unwrap_or_default();
    emit.status(TaskState::Working).await?;
    match Asked::read(text) {
        Asked::Hold => {
            context.cancellation_token.cancelled().await;
            return Ok(());
        }
        Asked::Echo => {
            emit.artifact(ARTIFACT, vec![Part::text(text)], Some(false), Some(true)).await?;
        }
        Asked::Chunks(count) => {
            for index in 0..count {
                tokio::task::yield_now().await;
                let (append, last) = (Some(index > 0), Some(index + 1 == count));
                emit.artifact(ARTIFACT, vec![Part::text(CHUNK)], append, last).await?;
            }
        }
    }
    emit.status(TaskState::Completed).await
});

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (port, grpc_port) = (port("PORT")?, port("GRPC_PORT")?);
    let url = format!("http://127.0.0.1:{port}/");
    let card = AgentCard::new("echo", "1", AgentInterface::jsonrpc(&url))
        .with_description("says it back")
        .with_capabilities(AgentCapabilities::none().with_streaming(true))
        .with_skill(AgentSkill::new("echo", "echo", "says it back").with_tags(["echo"]));
    let builder = RequestHandlerBuilder::new(Echo).with_agent_card(card);
    let store = std::env::var("STORE").unwrap_or_else(|_| "memory".to_owned());
    let builder = match store.strip_prefix("sqlite:") {
        Some(path) => {
            let url = format!("sqlite:{path}?mode=rwc");
            builder.with_task_store(SqliteTaskStore::with_migrations(&url).await?)
        }
        // By default it forgets all but 10,000 tasks, and so could not be made to grow.
        None => builder.with_task_store_config(TaskStoreConfig::default().with_max_capacity(None)),
    };
    let handler = Arc::new(builder.build()?);
    let grpc = GrpcDispatcher::new(Arc::clone(&handler), GrpcConfig::default());
    tokio::spawn(async move { grpc.serve(format!("127.0.0.1:{grpc_port}")).await });
    serve(format!("127.0.0.1:{port}"), CombinedDispatcher::new(handler)).await?;
    Ok(())
}
