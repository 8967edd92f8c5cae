//! Opens the store that a node is told to use.

use std::sync::Arc;

use nuncio_store::{
    postgres::{self, NotifyHints, PostgresStore},
    redis::RedisHints,
    sqlite::{self, SqliteStore},
};
use nuncio_tasks::{
    hints::{Hints, NoHints},
    memory::MemoryStore,
    store::Store,
};

use super::{Kept, Options};

/// The channel of the hints.
const CHANNEL: &str = "nuncio";

/// What a node keeps tasks in, and how it hears of others.
pub(super) type Opened = (Arc<dyn Store>, Arc<dyn Hints>);

pub(super) async fn open(options: &Options) -> anyhow::Result<Opened> {
    match &options.kept {
        Kept::Memory => Ok((Arc::new(MemoryStore::new()), Arc::new(NoHints))),
        Kept::Sqlite(directory) => {
            let directory = directory.clone();
            let opening = tokio::task::spawn_blocking(move || {
                SqliteStore::open(&directory, sqlite::Options::default())
            });
            Ok((Arc::new(opening.await??), Arc::new(NoHints)))
        }
        Kept::Postgres(url) => {
            let addressed = postgres::Options::new(url);
            let store = Arc::new(PostgresStore::open(&addressed).await?);
            let hints: Arc<dyn Hints> = match &options.redis {
                Some(redis) => Arc::new(RedisHints::start(redis, CHANNEL)?),
                None => Arc::new(NotifyHints::start(&addressed)?),
            };
            Ok((store, hints))
        }
    }
}
