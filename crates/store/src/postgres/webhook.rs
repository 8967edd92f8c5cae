//! Webhooks of tasks.

use nuncio_protocol::{
    ids::{PushConfigId, TaskId},
    version::Version,
};
use nuncio_tasks::store::{Error, NewWebhook, Sealed, TaskRef, Webhook, WebhookRef};
use tokio_postgres::{Row, types::ToSql};

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
const LOCK: &str = "SELECT webhooks FROM tasks WHERE key = $1 FOR UPDATE";

const REPLACE: &str = "UPDATE webhooks SET url = $3, secrets = $4, major = $5, minor = $6, \
    attempts = 0, epoch = epoch + 1, taken_until = NULL, \
    due_at = CASE WHEN sent < (SELECT seq FROM tasks WHERE key = $1) THEN clock_timestamp() END \
    WHERE task = $1 AND id = $2";

const INSERT: &str = "INSERT INTO webhooks (task, id, url, secrets, major, minor, sent) \
    VALUES ($1, $2, $3, $4, $5, $6, (SELECT seq FROM tasks WHERE key = $1))";

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

const DELETE: &str = "WITH gone AS (DELETE FROM webhooks WHERE task = $1 AND id = $2 RETURNING key), \
    letters AS (DELETE FROM dead_letters l USING gone WHERE l.webhook = gone.key) \
    UPDATE tasks SET webhooks = webhooks - 1 FROM gone WHERE tasks.key = $1";

/// What a statement is given.
type Parameter<'p> = &'p (dyn ToSql + Sync);

/// Keeps a webhook, in two round trips.
pub(super) async fn put(
    connection: &Connection,
    task: TaskRef,
    webhook: &NewWebhook,
    most: u32,
) -> Result<Webhook, Failure> {
    let answer = put_within(connection, task, webhook, most).await;
    connection.or_roll_back(answer).await
}

async fn put_within(
    connection: &Connection,
    task: TaskRef,
    webhook: &NewWebhook,
    most: u32,
) -> Result<Webhook, Failure> {
    let all = [LOCK, REPLACE, INSERT, COUNT, ONE];
    let [lock, replace, insert, count, one] = connection.prepare_all(all).await?;
    let (id, url) = (quote(webhook.id.as_str()), quote(&webhook.url));
    let version = [webhook.version.major, webhook.version.minor].map(i32::from);
    let of_task: [Parameter<'_>; 1] = [&task.0];
    let names: [Parameter<'_>; 2] = [&task.0, &id];
    let one_more: [Parameter<'_>; 2] = [&task.0, &1];
    let columns: [Parameter<'_>; 6] =
        [&task.0, &id, &url, &webhook.secrets.0, &version[0], &version[1]];
    let ((), locked, replaced) = tokio::try_join!(
        biased;
        connection.command("BEGIN"),
        connection.rows(&lock, &of_task),
        connection.run(&replace, &columns),
    )?;
    let Some(locked) = locked.first() else { return Err(Error::Gone.into()) };
    let is_new = replaced == 0;
    if is_new && u32::try_from(locked.get::<_, i32>(0)).unwrap_or_default() >= most {
        return Err(Error::TooMany { what: "webhooks", limit: most }.into());
    }
    let add = async {
        if is_new {
            tokio::try_join!(
                biased;
                connection.run(&insert, &columns),
                connection.run(&count, &one_more),
            )?;
        }
        Ok(())
    };
    let ((), rows, ()) = tokio::try_join!(
        biased;
        add,
        connection.rows(&one, &names),
        connection.command("COMMIT"),
    )?;
    let row = rows.first().ok_or(Failure::Lost("a webhook that was written is not there"))?;
    Ok(read(row)?)
}

pub(super) async fn all(connection: &Connection, task: TaskRef) -> Result<Vec<Webhook>, Failure> {
    let rows = connection.query(ALL, &[&task.0]).await?;
    Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
}

/// Removes a webhook, in one round trip.
pub(super) async fn delete(
    connection: &Connection,
    task: TaskRef,
    id: &PushConfigId,
) -> Result<(), Failure> {
    let [lock, delete] = connection.prepare_all([LOCK, DELETE]).await?;
    let id = quote(id.as_str());
    let (of_task, names): ([Parameter<'_>; 1], [Parameter<'_>; 2]) = ([&task.0], [&task.0, &id]);
    let deleted = tokio::try_join!(
        biased;
        connection.command("BEGIN"),
        connection.rows(&lock, &of_task),
        connection.run(&delete, &names),
        connection.command("COMMIT"),
    );
    connection.or_roll_back(deleted).await.map(drop)
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
