//! Removing what has been kept long enough.

use std::{collections::BTreeSet, time::Duration};

use nuncio_protocol::state::TaskState;
use nuncio_tasks::store::{Keep, Retention, Swept};

use super::{
    connection::Connection,
    error::Failure,
    row::{self, micros, state_number},
};

/// How long a sweep may take. Nobody waits for it.
pub(super) const SWEEP: Duration = Duration::from_secs(30);

/// The slot in which all sweeps count; no writer has it.
const SLOT: i32 = -1;

const PATIENCE: &str = "SET LOCAL statement_timeout = '30s'";

const OVER_AGE: &str = "SELECT due.key FROM tenants n CROSS JOIN (VALUES (false), (true)) cut (yes) \
    CROSS JOIN LATERAL ( \
        SELECT t.key FROM tasks t WHERE t.tenant = n.key AND t.state = $1 AND t.is_cut = cut.yes \
            AND t.ended_at <= (SELECT clock_timestamp()) - $2::bigint * interval '1 microsecond' \
        ORDER BY t.ended_at LIMIT $3) due LIMIT $3";

/// Tenants with more than are kept, and of each the ones that ended first.
const OVER_COUNT: &str = "SELECT due.key FROM ( \
        SELECT tenant, sum(tasks)::bigint - $2::bigint AS surplus FROM counts \
        WHERE place = 0 AND state = $1 GROUP BY tenant HAVING sum(tasks) > $2::bigint) n \
    CROSS JOIN LATERAL ( \
        SELECT ended.key FROM (VALUES (false), (true)) cut (yes) CROSS JOIN LATERAL ( \
            SELECT t.key, t.ended_at FROM tasks t WHERE t.tenant = n.tenant AND t.state = $1 \
                AND t.is_cut = cut.yes AND t.ended_at IS NOT NULL \
            ORDER BY t.ended_at, t.key LIMIT least(n.surplus, $3)) ended \
        ORDER BY ended.ended_at, ended.key LIMIT least(n.surplus, $3)) due \
    LIMIT $3";

/// Whoever writes to a task now is the next sweep's business.
const LOCK: &str = "SELECT key FROM tasks WHERE key = ANY($1::bigint[]) \
    ORDER BY key FOR UPDATE SKIP LOCKED";

const BELONGINGS: [&str; 5] = [
    "DELETE FROM pieces WHERE task = ANY($1::bigint[])",
    "DELETE FROM webhooks WHERE task = ANY($1::bigint[])",
    "DELETE FROM dead_letters WHERE task = ANY($1::bigint[])",
    "DELETE FROM notes WHERE task = ANY($1::bigint[])",
    "DELETE FROM parents WHERE task = ANY($1::bigint[])",
];

const DELETE: &str = "WITH gone AS (DELETE FROM tasks WHERE key = ANY($1::bigint[]) \
        RETURNING tenant, place, state), \
    lost AS (SELECT tenant, place, state, count(*) AS tasks FROM gone GROUP BY 1, 2, 3 \
        UNION ALL SELECT tenant, 0, state, count(*) FROM gone GROUP BY 1, 3) \
    INSERT INTO counts (tenant, place, state, writer, tasks) \
    SELECT tenant, place, state, $2::int, -tasks FROM lost ORDER BY 1, 2, 3 \
    ON CONFLICT (tenant, place, state, writer) DO UPDATE SET tasks = counts.tasks + excluded.tasks";

/// A log goes if nothing is lost with it: there is a snapshot of the end, and no webhook or
/// dead letter waits for one of its events.
const CUT: &str = "WITH due AS (SELECT uncut.key FROM tenants n \
        CROSS JOIN unnest($3::smallint[]) state (number) CROSS JOIN LATERAL ( \
            SELECT t.key FROM tasks t WHERE t.tenant = n.key AND t.state = state.number \
                AND NOT t.is_cut AND t.snapshot = t.seq AND t.ended_at <= \
                    (SELECT clock_timestamp()) - $1::bigint * interval '1 microsecond' \
                AND NOT EXISTS (SELECT FROM webhooks w WHERE w.task = t.key \
                    AND w.due_at IS NOT NULL) \
                AND NOT EXISTS (SELECT FROM dead_letters l WHERE l.task = t.key \
                    AND l.due_at IS NOT NULL) \
            ORDER BY t.ended_at LIMIT $2 FOR UPDATE OF t SKIP LOCKED) uncut LIMIT $2), \
    gone AS (DELETE FROM pieces e USING due WHERE e.task = due.key) \
    UPDATE tasks t SET is_cut = true FROM due WHERE t.key = due.key";

const KEYS: &str = "DELETE FROM keys k USING (SELECT place, digest FROM keys \
        WHERE used_at <= (SELECT clock_timestamp()) - $1::bigint * interval '1 microsecond' \
        ORDER BY used_at LIMIT $2 FOR UPDATE SKIP LOCKED) due \
    WHERE k.place = due.place AND k.digest = due.digest";

const LETTERS: &str = "DELETE FROM dead_letters l USING (SELECT key FROM dead_letters \
        WHERE died_at <= (SELECT clock_timestamp()) - $1::bigint * interval '1 microsecond' \
        ORDER BY died_at LIMIT $2 FOR UPDATE SKIP LOCKED) due \
    WHERE l.key = due.key";

pub(super) async fn sweep(
    connection: &Connection,
    retention: &Retention,
    most: usize,
) -> Result<Swept, Failure> {
    let mut swept = Swept { tasks: tasks(connection, retention, most).await?, ..Swept::default() };
    let rows = row::count(most);
    if let Some(age) = retention.logs {
        let ends = TaskState::ALL.iter().filter(|state| state.is_terminal());
        let ends: Vec<i16> = ends.map(|state| state_number(*state)).collect();
        let removed = connection.execute(CUT, &[&micros(age), &rows, &ends]).await?;
        swept.logs = usize::try_from(removed).unwrap_or(usize::MAX);
    }
    for (age, statement, count) in [
        (retention.keys, KEYS, &mut swept.keys),
        (retention.dead_letters, LETTERS, &mut swept.dead_letters),
    ] {
        if let Some(age) = age {
            let removed = connection.execute(statement, &[&micros(age), &rows]).await?;
            *count = usize::try_from(removed).unwrap_or(usize::MAX);
        }
    }
    Ok(swept)
}

async fn tasks(
    connection: &Connection,
    retention: &Retention,
    most: usize,
) -> Result<usize, Failure> {
    let mut due = BTreeSet::new();
    for (state, keep) in retention.tasks.iter().filter(|(state, _)| state.is_terminal()) {
        due.extend(over(connection, *state, *keep, most).await?);
    }
    if due.is_empty() || most == 0 {
        return Ok(0);
    }
    let due: Vec<i64> = due.into_iter().take(most).collect();
    let client = connection.client();
    client.batch_execute("BEGIN").await?;
    client.batch_execute(PATIENCE).await?;
    let rows = connection.query(LOCK, &[&due]).await?;
    let locked: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    for statement in BELONGINGS {
        connection.execute(statement, &[&locked]).await?;
    }
    connection.execute(DELETE, &[&locked, &SLOT]).await?;
    client.batch_execute("COMMIT").await?;
    Ok(locked.len())
}

/// Finds tasks that are too old or too many. What has ended does not change any more, so it
/// need not be locked to be judged.
async fn over(
    connection: &Connection,
    state: TaskState,
    keep: Keep,
    most: usize,
) -> Result<Vec<i64>, Failure> {
    let (state, most) = (state_number(state), row::count(most));
    let mut found = Vec::new();
    if let Some(age) = keep.age {
        found.extend(connection.query(OVER_AGE, &[&state, &micros(age), &most]).await?);
    }
    if let Some(count) = keep.count {
        let count = row::signed(count);
        found.extend(connection.query(OVER_COUNT, &[&state, &count, &most]).await?);
    }
    Ok(found.iter().map(|row| row.get(0)).collect())
}
