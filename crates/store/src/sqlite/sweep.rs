//! Removing what has been kept long enough.

use nuncio_protocol::state::TaskState;
use nuncio_tasks::store::{Keep, Retention, Swept, TaskRef, Want};
use rusqlite::Connection;

use super::{
    create::write_snapshot,
    fault::Fault,
    place::{PlaceKey, WHOLE_TENANT},
    read::{self, Reading},
    row::Stored,
    writer::Writing,
};

pub(super) fn sweep(
    writing: Writing<'_>,
    retention: &Retention,
    most: usize,
) -> Result<Swept, Fault> {
    let now = writing.now;
    // It reads the tallies.
    writing.ledger.write(writing.connection)?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut swept = Swept::default();
    let mut left = most;
    for (state, keep) in retention.tasks.iter().filter(|(state, _)| state.is_terminal()) {
        for (tenant, tasks) in tenants_with(writing.connection, *state)? {
            let old = too_old(writing, tenant, *state, keep, left)?;
            let kept = tasks - i64::try_from(old.len()).unwrap_or_default();
            remove_all(writing, tenant, *state, &old)?;
            left -= tasks - kept;
            let many = too_many(writing, tenant, *state, keep, kept, left)?;
            remove_all(writing, tenant, *state, &many)?;
            left -= i64::try_from(many.len()).unwrap_or_default();
            swept.tasks += old.len() + many.len();
        }
    }
    if let Some(age) = retention.logs {
        swept.logs = cut_logs(writing, now.before(age), most)?;
    }
    if let Some(age) = retention.keys {
        swept.keys = remove_keys(writing.connection, now.before(age), most)?;
    }
    if let Some(age) = retention.dead_letters {
        swept.dead_letters = writing
            .connection
            .prepare_cached(
                "DELETE FROM dead_letters WHERE key IN ( \
                 SELECT key FROM dead_letters WHERE died_at <= ?1 ORDER BY died_at LIMIT ?2)",
            )?
            .execute((now.before(age), most))?;
    }
    Ok(swept)
}

/// The tenants that have tasks in a state, and how many.
fn tenants_with(connection: &Connection, state: TaskState) -> Result<Vec<(i64, i64)>, Fault> {
    let tenants = connection
        .prepare_cached(
            "SELECT c.tenant, c.tasks FROM tenants n CROSS JOIN tallies c \
             ON c.tenant = n.key AND c.place = ?1 AND c.state = ?2 WHERE c.tasks > 0",
        )?
        .query_map((WHOLE_TENANT, state.number()), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(tenants)
}

/// A task to be removed, and the place that it leaves.
type Leaving = (i64, i64);

fn too_old(
    writing: Writing<'_>,
    tenant: i64,
    state: TaskState,
    keep: &Keep,
    most: i64,
) -> Result<Vec<Leaving>, Fault> {
    match keep.age {
        Some(age) => first_ended(writing, tenant, state, writing.now.before(age), most),
        None => Ok(Vec::new()),
    }
}

fn too_many(
    writing: Writing<'_>,
    tenant: i64,
    state: TaskState,
    keep: &Keep,
    tasks: i64,
    most: i64,
) -> Result<Vec<Leaving>, Fault> {
    let count = keep.count.map_or(i64::MAX, |count| i64::try_from(count).unwrap_or(i64::MAX));
    let surplus = tasks.saturating_sub(count).min(most);
    if surplus <= 0 {
        return Ok(Vec::new());
    }
    first_ended(writing, tenant, state, i64::MAX, surplus)
}

/// Finds those that ended first.
fn first_ended(
    writing: Writing<'_>,
    tenant: i64,
    state: TaskState,
    until: i64,
    most: i64,
) -> Result<Vec<Leaving>, Fault> {
    let leaving = writing
        .connection
        .prepare_cached(
            "SELECT key, place FROM ( \
             SELECT * FROM (SELECT key, place, ended_at FROM tasks WHERE tenant = ?1 \
                AND state = ?2 AND is_cut = 0 AND ended_at IS NOT NULL AND ended_at <= ?3 \
                ORDER BY ended_at, key LIMIT ?4) UNION ALL \
             SELECT * FROM (SELECT key, place, ended_at FROM tasks WHERE tenant = ?1 \
                AND state = ?2 AND is_cut = 1 AND ended_at IS NOT NULL AND ended_at <= ?3 \
                ORDER BY ended_at, key LIMIT ?4)) ORDER BY ended_at, key LIMIT ?4",
        )?
        .query_map((tenant, state.number(), until, most), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(leaving)
}

fn remove_all(
    writing: Writing<'_>,
    tenant: i64,
    state: TaskState,
    tasks: &[Leaving],
) -> Result<(), Fault> {
    let mut statement = writing.connection.prepare_cached("DELETE FROM tasks WHERE key = ?1")?;
    for (task, place) in tasks {
        statement.execute((task,))?;
        writing.ledger.tally(PlaceKey { tenant, place: *place }, state, -1);
    }
    Ok(())
}

fn remove_keys(connection: &Connection, until: i64, most: i64) -> Result<usize, Fault> {
    let keys: Vec<(i64, String)> = connection
        .prepare_cached(
            "SELECT place, text FROM keys WHERE used_at <= ?1 ORDER BY used_at LIMIT ?2",
        )?
        .query_map((until, most), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut statement =
        connection.prepare_cached("DELETE FROM keys WHERE place = ?1 AND text = ?2")?;
    for key in &keys {
        statement.execute((key.0, &key.1))?;
    }
    Ok(keys.len())
}

/// Removes logs of tasks that have a snapshot of their end, and makes it where it is missing.
fn cut_logs(writing: Writing<'_>, until: i64, most: i64) -> Result<usize, Fault> {
    let mut tasks = Vec::new();
    for state in TaskState::ALL.iter().filter(|state| state.is_terminal()) {
        for (tenant, _) in tenants_with(writing.connection, *state)? {
            let left = most - i64::try_from(tasks.len()).unwrap_or(i64::MAX);
            tasks.extend(uncut(writing, tenant, *state, until, left)?);
        }
    }
    let mut cut = 0;
    for task in tasks {
        let is_kept = has_snapshot(writing, task)?;
        if is_kept {
            writing
                .connection
                .prepare_cached("DELETE FROM pieces WHERE task = ?1")?
                .execute((task.0,))?;
            cut += 1;
        }
        writing
            .connection
            .prepare_cached("UPDATE tasks SET is_cut = 1 WHERE key = ?1")?
            .execute((task.0,))?;
    }
    Ok(cut)
}

/// Finds those whose log is superfluous, and that ended first.
fn uncut(
    writing: Writing<'_>,
    tenant: i64,
    state: TaskState,
    until: i64,
    most: i64,
) -> Result<Vec<TaskRef>, Fault> {
    let tasks = writing
        .connection
        .prepare_cached(
            "SELECT key FROM tasks t WHERE tenant = ?1 AND state = ?2 AND is_cut = 0 \
             AND ended_at IS NOT NULL AND ended_at <= ?3 AND (webhooks = 0 OR NOT EXISTS ( \
             SELECT 1 FROM webhooks w WHERE w.task = t.key AND (w.due_at IS NOT NULL OR EXISTS ( \
             SELECT 1 FROM dead_letters l WHERE l.webhook = w.key AND l.due_at IS NOT NULL)))) \
             ORDER BY ended_at LIMIT ?4",
        )?
        .query_map((tenant, state.number(), until, most), |row| row.get(0).map(TaskRef))?
        .collect::<Result<_, _>>()?;
    Ok(tasks)
}

/// Tells whether there is a snapshot of a task's end, once made if it can be. A log that makes
/// no sense stays for somebody to look at.
fn has_snapshot(writing: Writing<'_>, task: TaskRef) -> Result<bool, Fault> {
    let Writing { connection, now, .. } = writing;
    let is_there = connection
        .prepare_cached(
            "SELECT 1 FROM tasks t LEFT JOIN snapshots s ON s.key = t.key \
             WHERE t.key = ?1 AND t.seq IN (t.snapshot, s.seq)",
        )?
        .exists((task.0,))?;
    if is_there {
        return Ok(true);
    }
    let Some(stored) = Stored::by_key(connection, task, &now)? else { return Ok(false) };
    let place = stored.head.place;
    let Some(Reading::Whole(loaded)) =
        read::load(connection, task, place, Want::ALL, &now, u64::MAX)?
    else {
        return Ok(false);
    };
    match loaded.fold() {
        Ok(folded) => {
            write_snapshot(connection, task, &folded.snapshot())?;
            Ok(true)
        }
        Err(error) => {
            tracing::warn!(task = task.0, %error, "a log cannot be read and is kept");
            Ok(false)
        }
    }
}
