//! What is sent to webhooks, and what they would not take.

use nuncio_protocol::ids::{PushConfigId, TaskId};
use nuncio_tasks::{
    log::Seq,
    scope::{Name, Place, Scope},
    store::{DeadLetter, DeadLetterId, Delivery, Epoch, Lease, Progress},
};
use rusqlite::{Connection, Row};

use super::{
    fault::Fault,
    place,
    row::{integer, moment, natural, parse},
    webhook::{self, select_webhooks},
    writer::Writing,
};

/// Takes webhooks that have something to be sent: first dead letters that somebody asked for
/// again, then events, those first that have been due for longest.
pub(super) fn claim(
    writing: Writing<'_>,
    lease: &Lease,
    most: usize,
) -> Result<Vec<Delivery>, Fault> {
    let Writing { connection, now, .. } = writing;
    let mut deliveries = Vec::new();
    let letters = Due {
        sql: "SELECT l.webhook, l.key, l.seq, l.attempts FROM dead_letters l \
              JOIN webhooks w ON w.key = l.webhook WHERE l.due_at IS NOT NULL AND l.due_at <= ?1 \
              AND (w.lease_until IS NULL OR w.lease_run <> ?2 OR w.lease_until <= ?3) \
              ORDER BY l.due_at LIMIT ?4",
        read: |row| {
            Ok(Some(Again {
                letter: DeadLetterId(row.get(1)?),
                seq: Seq(natural(row, 2)?),
                attempts: row.get(3)?,
            }))
        },
    };
    let events = Due {
        sql: "SELECT w.key FROM webhooks w WHERE w.due_at IS NOT NULL AND w.due_at <= ?1 \
              AND (w.lease_until IS NULL OR w.lease_run <> ?2 OR w.lease_until <= ?3) \
              ORDER BY w.due_at LIMIT ?4",
        read: |_| Ok(None),
    };
    for due in [letters, events] {
        let left = i64::try_from(most - deliveries.len()).unwrap_or(i64::MAX);
        let mut statement = connection.prepare_cached(due.sql)?;
        let mut rows = statement.query((now.wall, now.run, now.elapsed, left))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, (due.read)(row)?));
        }
        for (webhook, again) in found {
            deliveries.extend(take(writing, lease, webhook, again)?);
        }
    }
    Ok(deliveries)
}

struct Due {
    sql: &'static str,
    read: fn(&Row<'_>) -> Result<Option<Again>, Fault>,
}

/// A dead letter that is to be sent again.
struct Again {
    letter: DeadLetterId,
    seq: Seq,
    attempts: u32,
}

/// Takes a webhook, unless it was taken a moment ago for another letter.
fn take(
    writing: Writing<'_>,
    lease: &Lease,
    webhook: i64,
    again: Option<Again>,
) -> Result<Option<Delivery>, Fault> {
    let Writing { connection, now, .. } = writing;
    let taken = connection
        .prepare_cached(
            "UPDATE webhooks SET epoch = epoch + 1, lease_run = ?2, lease_until = ?3 \
             WHERE key = ?1 AND (lease_until IS NULL OR lease_run <> ?2 OR lease_until <= ?4)",
        )?
        .execute((webhook, now.run, now.lease_end(lease.lasts), now.elapsed))?;
    if taken == 0 {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(select_webhooks!("WHERE w.key = ?1"))?;
    let mut rows = statement.query((webhook,))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let webhook = webhook::read(row)?;
    let (seq, attempts, again) = match again {
        Some(again) => (again.seq, again.attempts, Some(again.letter)),
        None => (webhook.sent.next(), row.get(9)?, None),
    };
    let epoch = Epoch(natural(row, 8)?);
    Ok(Some(Delivery { webhook, epoch, seq, attempts, again }))
}

/// Writes down how sending went.
pub(super) fn settle(
    writing: Writing<'_>,
    delivery: &Delivery,
    progress: &Progress,
) -> Result<bool, Fault> {
    let Some(webhook) = Taken::find(writing.connection, delivery)? else { return Ok(false) };
    match delivery.again {
        Some(letter) => settle_letter(writing, &webhook, delivery, letter, progress),
        None if delivery.seq != webhook.sent.next() || webhook.sent >= webhook.end => Ok(false),
        None => settle_event(writing, &webhook, delivery, progress).map(|()| true),
    }
}

/// A webhook of which a delivery is under way.
struct Taken {
    key: i64,
    sent: Seq,
    attempts: u32,
    end: Seq,
    tenant: i64,
}

impl Taken {
    fn find(connection: &Connection, delivery: &Delivery) -> Result<Option<Self>, Fault> {
        let sql =
            select_webhooks!("WHERE w.key = ?1 AND w.epoch = ?2 AND w.lease_until IS NOT NULL");
        let mut statement = connection.prepare_cached(sql)?;
        let key = (delivery.webhook.reference.0, integer(delivery.epoch.0));
        let mut rows = statement.query(key)?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some(Self {
            key: row.get(0)?,
            sent: Seq(natural(row, 7)?),
            attempts: row.get(9)?,
            end: Seq(natural(row, 10)?),
            tenant: row.get(11)?,
        }))
    }
}

fn settle_event(
    writing: Writing<'_>,
    webhook: &Taken,
    delivery: &Delivery,
    progress: &Progress,
) -> Result<(), Fault> {
    let Writing { connection, now, .. } = writing;
    let next_due = (delivery.seq < webhook.end).then_some(now.wall);
    let (sent, attempts, due_at) = match progress {
        Progress::Sent | Progress::Dead { .. } => (delivery.seq, 0, next_due),
        Progress::Retry { after, .. } => {
            (webhook.sent, webhook.attempts.saturating_add(1), Some(now.after(*after)))
        }
        Progress::Released => (webhook.sent, webhook.attempts, Some(now.wall)),
    };
    if let Progress::Dead { error } = progress {
        connection
            .prepare_cached(
                "INSERT INTO dead_letters (tenant, webhook, url, seq, attempts, error, died_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute((
                webhook.tenant,
                webhook.key,
                &delivery.webhook.url,
                integer(delivery.seq.0),
                webhook.attempts.saturating_add(1),
                error,
                now.wall,
            ))?;
    }
    let stays_taken = *progress == Progress::Sent && due_at.is_some();
    connection
        .prepare_cached(
            "UPDATE webhooks SET sent = ?2, attempts = ?3, due_at = ?4, \
             lease_until = CASE WHEN ?5 THEN lease_until END WHERE key = ?1",
        )?
        .execute((webhook.key, integer(sent.0), attempts, due_at, stays_taken))?;
    Ok(())
}

/// A letter that is sent again changes nothing but itself.
fn settle_letter(
    writing: Writing<'_>,
    webhook: &Taken,
    delivery: &Delivery,
    letter: DeadLetterId,
    progress: &Progress,
) -> Result<bool, Fault> {
    let Writing { connection, now, .. } = writing;
    let key = (letter.0, webhook.key);
    let is_there = match progress {
        Progress::Sent => connection
            .prepare_cached("DELETE FROM dead_letters WHERE key = ?1 AND webhook = ?2")?
            .execute(key)?,
        Progress::Retry { after, error } => connection
            .prepare_cached(
                "UPDATE dead_letters SET due_at = ?3, error = ?4, attempts = ?5 \
                 WHERE key = ?1 AND webhook = ?2",
            )?
            .execute((
                key.0,
                key.1,
                now.after(*after),
                error,
                delivery.attempts.saturating_add(1),
            ))?,
        Progress::Dead { error } => connection
            .prepare_cached(
                "UPDATE dead_letters SET due_at = NULL, error = ?3, attempts = ?4, \
                 died_at = ?5 WHERE key = ?1 AND webhook = ?2",
            )?
            .execute((key.0, key.1, error, delivery.attempts.saturating_add(1), now.wall))?,
        Progress::Released => connection
            .prepare_cached("UPDATE dead_letters SET due_at = ?3 WHERE key = ?1 AND webhook = ?2")?
            .execute((key.0, key.1, now.wall))?,
    };
    connection
        .prepare_cached("UPDATE webhooks SET lease_until = NULL WHERE key = ?1")?
        .execute((webhook.key,))?;
    Ok(is_there > 0)
}

/// Reads dead letters within a scope, the newest first.
pub(super) fn dead_letters(
    connection: &Connection,
    scope: &Scope,
    most: usize,
) -> Result<Vec<DeadLetter>, Fault> {
    let mut letters = Vec::new();
    let Some(tenant) = place::tenant(connection, scope.tenant.as_str())? else {
        return Ok(letters);
    };
    let mut statement = connection.prepare_cached(
        "SELECT l.key, t.id, w.id, l.url, l.seq, l.attempts, l.error, l.died_at, p.agent, \
         p.caller FROM dead_letters l JOIN webhooks w ON w.key = l.webhook \
         JOIN tasks t ON t.key = w.task JOIN places p ON p.key = t.place \
         WHERE l.tenant = ?1 ORDER BY l.key DESC",
    )?;
    let mut rows = statement.query((tenant,))?;
    while letters.len() < most
        && let Some(row) = rows.next()?
    {
        let place = Place {
            tenant: scope.tenant.clone(),
            agent: parse(row, 8, Name::parse)?,
            caller: parse(row, 9, Name::parse)?,
        };
        if scope.sees(&place) {
            letters.push(DeadLetter {
                id: DeadLetterId(row.get(0)?),
                task: parse(row, 1, TaskId::parse)?,
                webhook: parse(row, 2, PushConfigId::parse)?,
                url: row.get(3)?,
                seq: Seq(natural(row, 4)?),
                attempts: row.get(5)?,
                error: row.get(6)?,
                at: moment(row.get(7)?, 0)?,
            });
        }
    }
    Ok(letters)
}

/// Makes a dead letter due.
pub(super) fn resend(
    writing: Writing<'_>,
    scope: &Scope,
    letter: DeadLetterId,
) -> Result<bool, Fault> {
    let changed = writing
        .connection
        .prepare_cached(
            "UPDATE dead_letters SET due_at = ?2 WHERE key = ?1 AND EXISTS ( \
             SELECT 1 FROM webhooks w JOIN tasks t ON t.key = w.task \
             JOIN places p ON p.key = t.place JOIN tenants n ON n.key = t.tenant \
             WHERE w.key = dead_letters.webhook AND n.name = ?3 \
             AND (?4 IS NULL OR p.agent = ?4) AND (?5 IS NULL OR p.caller = ?5))",
        )?
        .execute((
            letter.0,
            writing.now.wall,
            scope.tenant.as_str(),
            scope.agent.as_ref().map(Name::as_str),
            scope.caller.as_ref().map(Name::as_str),
        ))?;
    Ok(changed > 0)
}
