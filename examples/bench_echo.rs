//! The echo agent that benchmarks measure.
//!
//!     PORT=7420 STORE=memory cargo run --release --example bench_echo
//!
//! | text | what happens |
//! |---|---|
//! | `chunks:N` | working, N chunks of 32 bytes appended to artifact `out`, completed |
//! | `hold` | working, then nothing until it is cancelled |
//! | anything else | working, artifact `out` with the text, completed |
//!
//! `PORT` is required. `GRPC_PORT` gives gRPC a port of its own; it is served on `PORT` anyhow.
//! `STORE` is `memory`, `sqlite:DIRECTORY` or `postgres://…`.

use std::{env, sync::Arc};

use anyhow::{Context as _, bail};
use nuncio_net::{Client, Guard, Policy};
use nuncio_protocol::{ids::ArtifactId, message::Part, state::TaskState, task::Artifact};
use nuncio_server::{Agent, Chunk, Conduct, Failure, Limits, Output, Server, Turn};
use nuncio_store::{postgres, sqlite};
use nuncio_tasks::{
    engine::Settings,
    memory::MemoryStore,
    push::{Push, SealingKey},
    store::Store,
};

/// As in the `nuncio` program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Echo;

impl Agent for Echo {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        output.status(TaskState::Working, None).await?;
        let text = turn.message.text();
        let id = ArtifactId::parse("out")?;
        if text == "hold" {
            std::future::pending::<()>().await;
        }
        match text.strip_prefix("chunks:").map(str::parse::<u32>) {
            Some(count) => {
                let count = count?;
                for number in 0..count {
                    tokio::task::yield_now().await;
                    let piece = Part::text(format!("{number:08} abcdefghijklmnopqrstuvw"));
                    let chunk = Chunk { append: number > 0, last: number + 1 == count };
                    output.put(Artifact::new(id.clone(), vec![piece]), chunk).await?;
                }
            }
            None => output.artifact(Artifact::new(id, vec![Part::text(text)])).await?,
        }
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        // It changes nothing outside, so its short turns may be written as one.
        Conduct { begins_early: true, ..Conduct::default() }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let port = env::var("PORT").context("PORT must be set")?;
    let kept = env::var("STORE").unwrap_or_else(|_| "memory".to_owned());
    let mut limits = Limits::default();
    limits.streams.open = 100_000;
    limits.connections.connections_per_address = 100_000;
    limits.connections.connections = 100_000;
    let mut settings = Settings::default();
    settings.unfinished_tasks = 10_000_000;
    let push = Push::new(Client::new(Guard::new(Policy::default())), SealingKey::generate());
    let mut server = Server::new("echo", Echo)
        .store(store(&kept).await?)
        .push(push)
        .settings(settings)
        .limits(limits);
    if let Ok(port) = env::var("GRPC_PORT") {
        server = server.grpc_address(format!("127.0.0.1:{port}"));
    }
    Ok(server.serve(&format!("127.0.0.1:{port}")).await?)
}

async fn store(name: &str) -> anyhow::Result<Arc<dyn Store>> {
    if name == "memory" {
        return Ok(Arc::new(MemoryStore::default()));
    }
    if let Some(directory) = name.strip_prefix("sqlite:") {
        return Ok(Arc::new(sqlite::SqliteStore::open(
            directory.as_ref(),
            sqlite::Options::default(),
        )?));
    }
    if name.starts_with("postgres://") {
        return Ok(Arc::new(postgres::PostgresStore::open(&postgres::Options::new(name)).await?));
    }
    bail!("STORE must be memory, sqlite:DIRECTORY or postgres://…, not {name}")
}
