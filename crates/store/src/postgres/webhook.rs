//! Webhooks of tasks.

use nuncio_protocol::{
    ids::{PushConfigId, TaskId},
    version::Version,
};
use nuncio_tasks::store::{Error, NewWebhook, Sealed, TaskRef, Webhook, WebhookRef};
use tokio_postgres::Row;

use super::{
    connection::Connection,
    error::Failure,
    row::{self},
    text::{quote, unquote},
};

/// The columns of a webhook, which [`read`] reads, of `w` webhooks and `t` tasks.
macro_rules! webhook_columns {
    () => {
        "w.key, w.task, t.id, w.id, w.url, w.secrets, w.major, w.minor, w.sent"
    };
}

pub(super) use webhook_columns;

/// How many columns [`webhook_columns`] has.
pub(super) const WEBHOOK_COLUMNS: usize = 9;

/// Locks the task: whether there is room, and something to send, depends on it.
const LOCK: &str = "SELECT seq, webhooks FROM tasks WHERE key = $1 FOR UPDATE";

const REPLACE: &str = "UPDATE webhooks SET url = $3, secrets = $4, major = $5, minor = $6, \
    attempts = 0, epoch = epoch + 1, taken_until = NULL, \
    due_at = CASE WHEN sent < $7 THEN clock_timestamp() END WHERE task = $1 AND id = $2";

const INSERT: &str = "INSERT INTO webhooks (task, id, url, secrets, major, minor, sent) \
    VALUES ($1, $2, $3, $4, $5, $6, $7)";

const COUNT: &str = "UPDATE tasks SET webhooks = webhooks + $2 WHERE key = $1";

const ONE: &str = concat!(
    "SELECT ",
    webhook_columns!(),
    " FROM webhooks w JOIN tasks t ON t.key = w.task WHERE w.task = $1 AND w.id = $2"
);

const ALL: &str = concat!(
    "SELECT ",
    webhook_columns!(),
    " FROM webhooks w JOIN tasks t ON t.key = w.task WHERE w.task = $1 ORDER BY w.key"
);

const DELETE: &str = "WITH gone AS (DELETE FROM webhooks WHERE task = $1 AND id = $2 RETURNING key) \
    DELETE FROM dead_letters l USING gone WHERE l.webhook = gone.key";

const IS_THERE: &str = "SELECT FROM webhooks WHERE task = $1 AND id = $2";

pub(super) async fn put(
    connection: &Connection,
    task: TaskRef,
    webhook: &NewWebhook,
    most: u32,
) -> Result<Webhook, Failure> {
    let client = connection.client();
    client.batch_execute("BEGIN").await?;
    match put_within(connection, task, webhook, most).await {
        Ok(webhook) => {
            client.batch_execute("COMMIT").await?;
            Ok(webhook)
        }
        Err(failure) => {
            client.batch_execute("ROLLBACK").await?;
            Err(failure)
        }
    }
}

async fn put_within(
    connection: &Connection,
    task: TaskRef,
    webhook: &NewWebhook,
    most: u32,
) -> Result<Webhook, Failure> {
    let locked = connection.query(LOCK, &[&task.0]).await?;
    let Some(locked) = locked.first() else { return Err(Error::Gone.into()) };
    let (seq, count): (i64, i32) = (locked.get(0), locked.get(1));
    let (id, url) = (quote(webhook.id.as_str()), quote(&webhook.url));
    let version = [webhook.version.major, webhook.version.minor].map(i32::from);
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
        [&task.0, &id, &url, &webhook.secrets.0, &version[0], &version[1], &seq];
    if connection.execute(REPLACE, &parameters).await? == 0 {
        if u32::try_from(count).unwrap_or_default() >= most {
            return Err(Error::TooMany { what: "webhooks", limit: most }.into());
        }
        connection.execute(INSERT, &parameters).await?;
        connection.execute(COUNT, &[&task.0, &1]).await?;
    }
    let rows = connection.query(ONE, &[&task.0, &id]).await?;
    let row = rows.first().ok_or(Failure::Lost("a webhook that was written is not there"))?;
    Ok(read(row)?)
}

pub(super) async fn all(connection: &Connection, task: TaskRef) -> Result<Vec<Webhook>, Failure> {
    let rows = connection.query(ALL, &[&task.0]).await?;
    Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
}

pub(super) async fn delete(
    connection: &Connection,
    task: TaskRef,
    id: &PushConfigId,
) -> Result<(), Failure> {
    let id = quote(id.as_str());
    let client = connection.client();
    client.batch_execute("BEGIN").await?;
    connection.query(LOCK, &[&task.0]).await?;
    if !connection.query(IS_THERE, &[&task.0, &id]).await?.is_empty() {
        connection.execute(DELETE, &[&task.0, &id]).await?;
        connection.execute(COUNT, &[&task.0, &-1]).await?;
    }
    client.batch_execute("COMMIT").await?;
    Ok(())
}

/// Reads a webhook from the columns of [`webhook_columns`].
pub(super) fn read(row: &Row) -> Result<Webhook, Error> {
    let spoilt = |error: nuncio_protocol::ids::InvalidId| Error::Spoilt(error.to_string());
    let number = |column: usize| u16::try_from(row.get::<_, i32>(column)).unwrap_or_default();
    Ok(Webhook {
        reference: WebhookRef(row.get(0)),
        task: TaskRef(row.get(1)),
        task_id: TaskId::parse(&unquote(row.get(2))).map_err(spoilt)?,
        id: PushConfigId::parse(&unquote(row.get(3))).map_err(spoilt)?,
        url: unquote(row.get(4)).into_owned(),
        secrets: Sealed(row.get(5)),
        version: Version { major: number(6), minor: number(7) },
        sent: row::seq(row.get(8)),
    })
}
