//! Webhooks, which are cursors over logs.

use nuncio_protocol::{
    ids::{PushConfigId, TaskId},
    version::Version,
};
use nuncio_tasks::{
    log::Seq,
    store::{Error, NewWebhook, Sealed, TaskRef, Webhook, WebhookRef},
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    fault::Fault,
    row::{integer, natural, parse},
    writer::Writing,
};

/// Selects webhooks for [`read`].
macro_rules! select_webhooks {
    ($rest:literal) => {
        concat!(
            "SELECT w.key, w.task, t.id, w.id, w.url, w.secrets, w.version, w.sent, w.epoch, \
             w.attempts, t.seq, t.tenant FROM webhooks w JOIN tasks t ON t.key = w.task ",
            $rest
        )
    };
}
pub(super) use select_webhooks;

pub(super) fn put(
    writing: Writing<'_>,
    task: TaskRef,
    webhook: &NewWebhook,
    most: u32,
) -> Result<Webhook, Fault> {
    let connection = writing.connection;
    let head = connection
        .prepare_cached("SELECT seq, webhooks FROM tasks WHERE key = ?1")?
        .query_row((task.0,), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
        .optional()?;
    let Some((seq, there)) = head else { return Err(Error::Gone.into()) };
    let is_new = find(connection, task, &webhook.id)?.is_none();
    if is_new && there >= i64::from(most) {
        return Err(Error::TooMany { what: "webhooks", limit: most }.into());
    }
    let seq = Seq(u64::try_from(seq).unwrap_or_default());
    put_all(writing, task, std::slice::from_ref(webhook), seq, seq)?;
    find(connection, task, &webhook.id)?.ok_or(Fault::Refused(Error::Gone))
}

/// Keeps webhooks. New ones get the events behind `sent`, of a log that ends at `end`.
pub(super) fn put_all(
    writing: Writing<'_>,
    task: TaskRef,
    webhooks: &[NewWebhook],
    sent: Seq,
    end: Seq,
) -> Result<(), Fault> {
    if webhooks.is_empty() {
        return Ok(());
    }
    let connection = writing.connection;
    let due_at = (sent < end).then_some(writing.now.wall);
    // One that is replaced goes on where it was. The epoch keeps its deliveries from being
    // settled.
    let mut statement = connection.prepare_cached(
        "INSERT INTO webhooks (task, id, url, secrets, version, sent, due_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
         ON CONFLICT (task, id) DO UPDATE SET url = excluded.url, secrets = excluded.secrets, \
         version = excluded.version, attempts = 0, epoch = epoch + 1, lease_until = NULL, \
         due_at = CASE WHEN sent < ?8 THEN ?9 END",
    )?;
    for webhook in webhooks {
        statement.execute((
            task.0,
            webhook.id.as_str(),
            &webhook.url,
            &webhook.secrets.0,
            webhook.version.to_string(),
            integer(sent.0),
            due_at,
            integer(end.0),
            writing.now.wall,
        ))?;
    }
    count(connection, task)
}

/// Makes the webhooks of a task due that have nothing to send yet.
pub(super) fn wake(writing: Writing<'_>, task: TaskRef) -> Result<(), Fault> {
    writing
        .connection
        .prepare_cached("UPDATE webhooks SET due_at = ?2 WHERE task = ?1 AND due_at IS NULL")?
        .execute((task.0, writing.now.wall))?;
    Ok(())
}

pub(super) fn all(connection: &Connection, task: TaskRef) -> Result<Vec<Webhook>, Fault> {
    let sql = select_webhooks!("WHERE w.task = ?1 ORDER BY w.key");
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((task.0,))?;
    let mut webhooks = Vec::new();
    while let Some(row) = rows.next()? {
        webhooks.push(read(row)?);
    }
    Ok(webhooks)
}

pub(super) fn delete(writing: Writing<'_>, task: TaskRef, id: &PushConfigId) -> Result<(), Fault> {
    writing
        .connection
        .prepare_cached("DELETE FROM webhooks WHERE task = ?1 AND id = ?2")?
        .execute((task.0, id.as_str()))?;
    count(writing.connection, task)
}

/// Reads a webhook from the start of a row.
pub(super) fn read(row: &Row<'_>) -> Result<Webhook, Fault> {
    let version = |text: &str| Version::parse(text).ok_or_else(|| format!("{text} is no version"));
    Ok(Webhook {
        reference: WebhookRef(row.get(0)?),
        task: TaskRef(row.get(1)?),
        task_id: parse(row, 2, TaskId::parse)?,
        id: parse(row, 3, PushConfigId::parse)?,
        url: row.get(4)?,
        secrets: Sealed(row.get(5)?),
        version: parse(row, 6, version)?,
        sent: Seq(natural(row, 7)?),
    })
}

fn find(
    connection: &Connection,
    task: TaskRef,
    id: &PushConfigId,
) -> Result<Option<Webhook>, Fault> {
    let sql = select_webhooks!("WHERE w.task = ?1 AND w.id = ?2");
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((task.0, id.as_str()))?;
    rows.next()?.map(read).transpose()
}

/// Writes down how many webhooks a task has, so that those without pay nothing for them.
fn count(connection: &Connection, task: TaskRef) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "UPDATE tasks SET webhooks = (SELECT count(*) FROM webhooks WHERE task = ?1) \
             WHERE key = ?1",
        )?
        .execute((task.0,))?;
    Ok(())
}
