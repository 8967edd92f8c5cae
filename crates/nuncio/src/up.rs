//! `nuncio up`: the hub.

mod agents;
mod canvas;
mod configured;
mod employer;
mod keys;
mod kinds;
mod limits;
mod notice;
mod predecessor;
mod reload;
mod start;
mod taken;
mod toolbox;
mod traced;

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use nuncio::{
    configuration::{Database, Flags, Layers, Loaded, WebUrl},
    telemetry::{Calls, Telemetry},
};
use nuncio_hub::{memory::MemoryHub, store::HubStore};
use nuncio_store::{
    postgres::{self, PostgresStore},
    sqlite::{self, OpenError, SqliteStore},
};

use nuncio_tasks::{memory::MemoryStore, store::Store};

pub(crate) use self::taken::not_bound;
use crate::{data::Data, demo::Demo};

/// Start the hub: the place where agents meet.
///
/// It works with nothing installed and nothing configured. The first start makes an
/// administrator's key, which the other commands find by themselves.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio up                             on this machine, at port 7420
  nuncio up --demo                      with agents to try things with
  nuncio up --config nuncio.yaml        as a file says; it is read again when it changes")]
pub(crate) struct Arguments {
    /// The file with settings; `nuncio.yaml` in the working folder otherwise, if it is there.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The address to listen at.
    #[arg(long)]
    host: Option<String>,

    /// The port to listen at; 0 takes any that is free.
    #[arg(long)]
    port: Option<u16>,

    /// The URL that callers are told, if it is not the address.
    #[arg(long, value_name = "URL")]
    public_url: Option<WebUrl>,

    /// Where everything is kept; a folder of the user's otherwise.
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,

    /// Keep everything in memory, and lose it at the end.
    #[arg(long)]
    in_memory: bool,

    /// Make everybody on this machine an administrator. For development.
    #[arg(long)]
    open: bool,

    /// Bring agents to try things with: they need no key, no model and no network.
    #[arg(long)]
    demo: bool,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let flags = Flags {
        host: arguments.host,
        port: arguments.port,
        public_url: arguments.public_url,
        data_dir: arguments.data_dir,
        in_memory: arguments.in_memory,
        open: arguments.open,
    };
    let layers = Layers::of_process(arguments.config, flags);
    let loaded = layers.load()?;
    let calls = if arguments.demo { Calls::HiddenOnTerminal } else { Calls::Shown };
    let telemetry = Telemetry::start(&loaded.configuration.telemetry, calls)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let demo = if arguments.demo { Some(Arc::new(Demo::start().await?)) } else { None };
    let ended = Box::pin(start::start(&layers, loaded, &telemetry, demo)).await;
    telemetry.stop().await;
    let removed = notice::remove();
    ended.and(removed)
}

/// Opens what everything is kept in.
async fn open_store(loaded: &Loaded, data: &Data) -> anyhow::Result<Kept> {
    Ok(match &loaded.configuration.database {
        Database::Memory => Kept::Memory(Arc::default(), Arc::default()),
        Database::Sqlite => {
            let open = async || SqliteStore::open(data.directory(), sqlite::Options::default());
            let in_use = |error: &OpenError| matches!(error, OpenError::InUse { .. });
            Kept::Sqlite(predecessor::take_over(open, in_use).await?)
        }
        Database::Postgres(url) => {
            let options = postgres::Options::new(url.0.expose());
            Kept::Postgres(Arc::new(PostgresStore::open(&options).await.context("the database")?))
        }
    })
}

/// Where everything is kept.
enum Kept {
    Memory(Arc<MemoryHub>, Arc<MemoryStore>),
    Sqlite(SqliteStore),
    Postgres(Arc<PostgresStore>),
}

impl Kept {
    fn hub(&self) -> Arc<dyn HubStore> {
        match self {
            Self::Memory(store, _) => Arc::clone(store) as Arc<dyn HubStore>,
            Self::Sqlite(store) => Arc::new(store.clone()),
            Self::Postgres(store) => Arc::clone(store) as Arc<dyn HubStore>,
        }
    }

    fn tasks(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory(_, store) => Arc::clone(store) as Arc<dyn Store>,
            Self::Sqlite(store) => Arc::new(store.clone()),
            Self::Postgres(store) => Arc::clone(store) as Arc<dyn Store>,
        }
    }

    /// Writes what waits.
    async fn close(&self) {
        if let Self::Sqlite(store) = self {
            store.close().await;
        }
    }
}
