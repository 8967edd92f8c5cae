//! Sending events to webhooks.
//!
//! Whoever holds the lock of a webhook may change it and its dead letters. Where an end of the
//! log decides, the lock of the task is taken first, as in every batch.

use nuncio_protocol::ids::{InvalidId, PushConfigId, TaskId};
use nuncio_tasks::store::{DeadLetter, DeadLetterId, Delivery, Epoch, Error, Lease, Progress};
use tokio_postgres::{Row, types::ToSql};

use super::{
    connection::Connection,
    error::Failure,
    row::{self, ScopeNames, count, in_scope, micros, signed},
    text::{quote, unquote},
    webhook::{self, WEBHOOK_COLUMNS, webhook_columns},
};

const CLAIM: &str = concat!(
    "WITH due AS (SELECT key FROM webhooks WHERE due_at <= (SELECT clock_timestamp()) \
        AND (taken_until IS NULL OR taken_until <= clock_timestamp()) \
        ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED) \
     UPDATE webhooks w SET epoch = w.epoch + 1, \
        taken_until = clock_timestamp() + $1::bigint * interval '1 microsecond' \
     FROM due, tasks t WHERE w.key = due.key AND t.key = w.task \
     RETURNING ",
    webhook_columns!(),
    ", w.epoch, w.sent + 1, w.attempts, NULL::bigint"
);

/// Of each webhook the oldest letter.
const CLAIM_LETTERS: &str = concat!(
    "WITH letter AS (SELECT DISTINCT ON (webhook) webhook, key, seq, attempts FROM dead_letters \
        WHERE due_at <= (SELECT clock_timestamp()) ORDER BY webhook, key), \
     due AS (SELECT w.key, letter.key AS letter, letter.seq, letter.attempts \
        FROM letter JOIN webhooks w ON w.key = letter.webhook \
        WHERE w.taken_until IS NULL OR w.taken_until <= clock_timestamp() \
        LIMIT $2 FOR UPDATE OF w SKIP LOCKED) \
     UPDATE webhooks w SET epoch = w.epoch + 1, \
        taken_until = clock_timestamp() + $1::bigint * interval '1 microsecond' \
     FROM due, tasks t WHERE w.key = due.key AND t.key = w.task \
     RETURNING ",
    webhook_columns!(),
    ", w.epoch, due.seq, due.attempts, due.letter"
);

const LOCK_TASK: &str = "SELECT FROM tasks WHERE key = (SELECT task FROM webhooks WHERE key = $1) \
    FOR UPDATE";

/// Locks a delivery that goes on: nobody has replaced, ended or taken it, and its event is the
/// one behind what was sent.
const LOCK_DELIVERY: &str = "SELECT FROM webhooks WHERE key = $1 AND epoch = $2 \
    AND taken_until IS NOT NULL AND sent = $3::bigint - 1 FOR UPDATE";

const LOCK_LETTER: &str = "SELECT FROM webhooks w JOIN dead_letters l ON l.webhook = w.key \
    WHERE w.key = $1 AND w.epoch = $2 AND w.taken_until IS NOT NULL AND l.key = $3 \
        AND l.due_at IS NOT NULL FOR UPDATE";

const SENT: &str = "UPDATE webhooks w SET sent = w.sent + 1, attempts = 0, \
        due_at = CASE WHEN w.sent + 1 < t.seq THEN clock_timestamp() END, \
        taken_until = CASE WHEN w.sent + 1 < t.seq THEN w.taken_until END \
    FROM tasks t WHERE t.key = w.task AND w.key = $1";

const RETRY: &str = "UPDATE webhooks SET attempts = attempts + 1, taken_until = NULL, \
        due_at = clock_timestamp() + $2::bigint * interval '1 microsecond' WHERE key = $1";

const BURY: &str = "INSERT INTO dead_letters (tenant, task, webhook, url, seq, attempts, error) \
    SELECT t.tenant, t.key, w.key, w.url, w.sent + 1, w.attempts + 1, $2 \
    FROM webhooks w JOIN tasks t ON t.key = w.task WHERE w.key = $1";

const DEAD: &str = "UPDATE webhooks w SET sent = w.sent + 1, attempts = 0, taken_until = NULL, \
        due_at = CASE WHEN w.sent + 1 < t.seq THEN clock_timestamp() END \
    FROM tasks t WHERE t.key = w.task AND w.key = $1";

const RELEASE: &str =
    "UPDATE webhooks SET taken_until = NULL, due_at = clock_timestamp() WHERE key = $1";

const END: &str = "UPDATE webhooks SET taken_until = NULL WHERE key = $1";

const LETTER_SENT: &str = "DELETE FROM dead_letters WHERE key = $1";

const LETTER_RETRY: &str = "UPDATE dead_letters SET attempts = attempts + 1, error = $3, \
    due_at = clock_timestamp() + $2::bigint * interval '1 microsecond' WHERE key = $1";

const LETTER_DEAD: &str = "UPDATE dead_letters SET attempts = attempts + 1, error = $2, \
    due_at = NULL, died_at = clock_timestamp() WHERE key = $1";

const LETTER_RELEASED: &str = "UPDATE dead_letters SET due_at = clock_timestamp() WHERE key = $1";

const LETTERS: &str = concat!(
    "SELECT l.key, t.id, w.id, l.url, l.seq, l.attempts, l.error, \
        (extract(epoch FROM l.died_at) * 1000000)::bigint \
     FROM tenants n JOIN dead_letters l ON l.tenant = n.key JOIN tasks t ON t.key = l.task \
     JOIN places p ON p.key = t.place JOIN webhooks w ON w.key = l.webhook \
     WHERE ",
    in_scope!(),
    " ORDER BY l.died_at DESC, l.key DESC LIMIT $4"
);

const RESEND: &str = concat!(
    "UPDATE dead_letters l SET due_at = clock_timestamp() \
     FROM tenants n, tasks t, places p WHERE l.key = $4 AND n.key = l.tenant AND t.key = l.task \
        AND p.key = t.place AND ",
    in_scope!()
);

pub(super) async fn claim(
    connection: &Connection,
    lease: &Lease,
    most: usize,
) -> Result<Vec<Delivery>, Failure> {
    let lasts = micros(lease.lasts);
    let mut deliveries = Vec::new();
    for statement in [CLAIM, CLAIM_LETTERS] {
        let left = count(most - deliveries.len());
        if left == 0 {
            break;
        }
        for row in connection.query(statement, &[&lasts, &left]).await? {
            deliveries.push(read(&row)?);
        }
    }
    Ok(deliveries)
}

fn read(row: &Row) -> Result<Delivery, Error> {
    let again: Option<i64> = row.get(WEBHOOK_COLUMNS + 3);
    Ok(Delivery {
        webhook: webhook::read(row)?,
        epoch: Epoch(row::unsigned(row.get(WEBHOOK_COLUMNS))),
        seq: row::seq(row.get(WEBHOOK_COLUMNS + 1)),
        attempts: u32::try_from(row.get::<_, i32>(WEBHOOK_COLUMNS + 2)).unwrap_or_default(),
        again: again.map(DeadLetterId),
    })
}

/// Lock, look, write.
pub(super) async fn settle(
    connection: &Connection,
    delivery: &Delivery,
    progress: &Progress,
) -> Result<bool, Failure> {
    let client = connection.client();
    let webhook = delivery.webhook.reference.0;
    let epoch = signed(delivery.epoch.0);
    client.batch_execute("BEGIN").await?;
    connection.query(LOCK_TASK, &[&webhook]).await?;
    let lock = match delivery.again {
        None => {
            connection.query(LOCK_DELIVERY, &[&webhook, &epoch, &signed(delivery.seq.0)]).await?
        }
        Some(letter) => connection.query(LOCK_LETTER, &[&webhook, &epoch, &letter.0]).await?,
    };
    if lock.is_empty() {
        client.batch_execute("ROLLBACK").await?;
        return Ok(false);
    }
    let error = match progress {
        Progress::Retry { error, .. } | Progress::Dead { error } => quote(error),
        Progress::Sent | Progress::Released => quote(""),
    };
    let after = match progress {
        Progress::Retry { after, .. } => micros(*after),
        _ => 0,
    };
    let letter = delivery.again.map_or(0, |letter| letter.0);
    let steps: Vec<(&'static str, Vec<&(dyn ToSql + Sync)>)> = match (delivery.again, progress) {
        (None, Progress::Sent) => vec![(SENT, vec![&webhook])],
        (None, Progress::Retry { .. }) => vec![(RETRY, vec![&webhook, &after])],
        (None, Progress::Dead { .. }) => {
            vec![(BURY, vec![&webhook, &error]), (DEAD, vec![&webhook])]
        }
        (None, Progress::Released) => vec![(RELEASE, vec![&webhook])],
        (Some(_), Progress::Sent) => vec![(LETTER_SENT, vec![&letter]), (END, vec![&webhook])],
        (Some(_), Progress::Retry { .. }) => {
            vec![(LETTER_RETRY, vec![&letter, &after, &error]), (END, vec![&webhook])]
        }
        (Some(_), Progress::Dead { .. }) => {
            vec![(LETTER_DEAD, vec![&letter, &error]), (END, vec![&webhook])]
        }
        (Some(_), Progress::Released) => {
            vec![(LETTER_RELEASED, vec![&letter]), (END, vec![&webhook])]
        }
    };
    for (statement, parameters) in steps {
        connection.execute(statement, &parameters).await?;
    }
    client.batch_execute("COMMIT").await?;
    Ok(true)
}

pub(super) async fn dead_letters(
    connection: &Connection,
    scope: &ScopeNames,
    most: usize,
) -> Result<Vec<DeadLetter>, Failure> {
    let most = count(most);
    let rows =
        connection.query(LETTERS, &[&scope.tenant, &scope.agent, &scope.caller, &most]).await?;
    Ok(rows.iter().map(read_letter).collect::<Result<_, _>>()?)
}

fn read_letter(row: &Row) -> Result<DeadLetter, Error> {
    let spoilt = |error: InvalidId| Error::Spoilt(error.to_string());
    Ok(DeadLetter {
        id: DeadLetterId(row.get(0)),
        task: TaskId::parse(&unquote(row.get(1))).map_err(spoilt)?,
        webhook: PushConfigId::parse(&unquote(row.get(2))).map_err(spoilt)?,
        url: unquote(row.get(3)).into_owned(),
        seq: row::seq(row.get(4)),
        attempts: u32::try_from(row.get::<_, i32>(5)).unwrap_or_default(),
        error: unquote(row.get(6)).into_owned(),
        at: row::moment(row.get(7), 0)?,
    })
}

pub(super) async fn resend(
    connection: &Connection,
    scope: &ScopeNames,
    letter: DeadLetterId,
) -> Result<bool, Failure> {
    let touched = connection
        .execute(RESEND, &[&scope.tenant, &scope.agent, &scope.caller, &letter.0])
        .await?;
    Ok(touched > 0)
}
