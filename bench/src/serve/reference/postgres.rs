//! The least that a task in Postgres can cost: a row each, and one insert for all who wait.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::{Client, NoTls};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS answers (body text NOT NULL)";
const INSERT: &str = "INSERT INTO answers SELECT * FROM unnest($1::text[])";

/// As many as can wait; more wait to wait.
const LONGEST_QUEUE: usize = 1024;

type Waiting = (Bytes, oneshot::Sender<()>);

/// A table that is written over one connection.
pub(super) struct Rows(mpsc::Sender<Waiting>);

impl Rows {
    pub(super) async fn open(url: &str) -> Result<Self> {
        let (client, connection) =
            tokio_postgres::connect(url, NoTls).await.context("connect to Postgres")?;
        // It ends with its client; what goes wrong is told there.
        tokio::spawn(connection);
        client.batch_execute(TABLE).await.context("make a table")?;
        let (rows, waiting) = mpsc::channel(LONGEST_QUEUE);
        tokio::spawn(async move {
            // Who waits is never answered: its sender is dropped.
            let _ = insert(client, waiting).await;
        });
        Ok(Self(rows))
    }

    /// Returns when the row is committed, and never if it cannot be.
    pub(super) async fn keep(&self, row: Bytes) {
        let (writer, written) = oneshot::channel();
        let is_taken = self.0.send((row, writer)).await.is_ok();
        if !is_taken || written.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

async fn insert(client: Client, mut waiting: mpsc::Receiver<Waiting>) -> Result<()> {
    let statement = client.prepare(INSERT).await?;
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, LONGEST_QUEUE).await > 0 {
        let texts = batch.iter().map(|(row, _)| std::str::from_utf8(row));
        let texts = texts.collect::<Result<Vec<&str>, _>>()?;
        client.execute(&statement, &[&texts]).await?;
        for (_, writer) in batch.drain(..) {
            let _gone = writer.send(());
        }
    }
    Ok(())
}
