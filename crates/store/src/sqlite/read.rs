//! Reading single tasks.

use nuncio_tasks::{
    log::{Entry, Seq, Snapshot},
    store::{Head, Limit, Loaded, Mark, Tail, TaskRef, Want},
};
use rusqlite::Connection;

use super::{
    fault::Fault,
    row::{self, integer, natural, text},
};

/// Reads what there is of a task behind its head.
pub(super) fn load(connection: &Connection, head: Head, want: Want) -> Result<Loaded, Fault> {
    let at = want.at.map_or(head.seq, |at| at.min(head.seq));
    let snapshot = snapshot(connection, head.reference, at, want)?;
    let after = snapshot.as_ref().map_or(Seq::START, |snapshot| snapshot.seq);
    let mut entries = Vec::new();
    if after < at {
        let mut statement = connection.prepare_cached(
            "SELECT seq, kind, event, message FROM events \
             WHERE task = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq",
        )?;
        let mut rows = statement.query((head.reference.0, integer(after.0), integer(at.0)))?;
        while let Some(row) = rows.next()? {
            entries.push(row::entry(row)?);
        }
    }
    let reaches_back =
        entries.first().map_or(after == at, |entry: &Entry| entry.seq == after.next());
    if !reaches_back {
        return Ok(Loaded { head, snapshot: None, entries: Vec::new(), want });
    }
    Ok(Loaded { head, snapshot, entries, want })
}

/// Reads the snapshot, if it is not newer than a place. Columns that are not wanted are not
/// touched.
fn snapshot(
    connection: &Connection,
    task: TaskRef,
    at: Seq,
    want: Want,
) -> Result<Option<Snapshot>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, task, CASE WHEN ?3 THEN history END, CASE WHEN ?4 THEN artifacts END \
         FROM snapshots WHERE key = ?1 AND seq <= ?2",
    )?;
    let mut rows = statement.query((task.0, integer(at.0), want.history, want.artifacts))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Snapshot {
        seq: Seq(natural(row, 0)?),
        task: text(row, 1)?,
        history: text(row, 2)?,
        artifacts: text(row, 3)?,
    }))
}

/// Reads how far a task has come, and the size of its log.
pub(super) fn mark(connection: &Connection, task: TaskRef) -> Result<Option<(Mark, u64)>, Fault> {
    let mut statement =
        connection.prepare_cached("SELECT seq, state, bytes FROM tasks WHERE key = ?1")?;
    let mut rows = statement.query((task.0,))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mark = Mark { task, seq: Seq(natural(row, 0)?), state: row::state(row.get(1)?)? };
    Ok(Some((mark, natural(row, 2)?)))
}

pub(super) fn marks(connection: &Connection, tasks: &[TaskRef]) -> Result<Vec<Mark>, Fault> {
    let mut marks = Vec::with_capacity(tasks.len());
    for task in tasks {
        marks.extend(mark(connection, *task)?.map(|(mark, _)| mark));
    }
    Ok(marks)
}

/// Reads entries behind a place until the limit is reached.
pub(super) fn tail(
    connection: &Connection,
    mark: Mark,
    after: Seq,
    limit: Limit,
) -> Result<Tail, Fault> {
    let mut entries: Vec<Entry> = Vec::new();
    if after < mark.seq {
        let mut statement = connection.prepare_cached(
            "SELECT seq, kind, event, message FROM events \
             WHERE task = ?1 AND seq > ?2 ORDER BY seq",
        )?;
        let mut rows = statement.query((mark.task.0, integer(after.0)))?;
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            let entry = row::entry(row)?;
            bytes += entry.record.bytes();
            entries.push(entry);
            if entries.len() >= limit.entries || bytes >= limit.bytes {
                break;
            }
        }
    }
    Ok(Tail { entries, mark: Some(mark) })
}
