//! Opens the store that a node is told to use.

use std::sync::Arc;

use anyhow::bail;
use nuncio_store::{
    postgres::{self, PostgresStore},
    sqlite::{self, SqliteStore},
};
use nuncio_tasks::{
    hints::{Hints, NoHints},
    store::Store,
};

use super::{Kept, Options};

/// What a node keeps tasks in, and how it hears of others.
pub(super) type Opened = (Arc<dyn Store>, Arc<dyn Hints>);

pub(super) async fn open(options: &Options) -> anyhow::Result<Opened> {
    match &options.kept {
        Kept::Memory => bail!("there is no store in memory yet"),
        Kept::Sqlite(directory) => {
            let directory = directory.clone();
            let opening = tokio::task::spawn_blocking(move || {
                SqliteStore::open(&directory, sqlite::Options::default())
            });
            Ok((Arc::new(opening.await??), Arc::new(NoHints)))
        }
        Kept::Postgres(url) => {
            let store = PostgresStore::open(&postgres::Options::new(url)).await?;
            Ok((Arc::new(store), Arc::new(NoHints)))
        }
    }
}
