//! Reading single tasks.

use nuncio_protocol::ids::TaskId;
use nuncio_tasks::{
    log::{Entry, Seq, Snapshot},
    scope::{Place, Scope},
    store::{Head, Limit, Loaded, Mark, Tail, TaskRef, Want},
};
use rusqlite::{Connection, Row};

use super::{
    clock::Moment,
    fault::Fault,
    row::{self, Stored, TASK_COLUMNS, integer, natural, task_columns},
};

/// A task as far as it could be read.
#[expect(clippy::large_enum_variant, reason = "nearly all are whole, and taken apart at once")]
pub(super) enum Reading {
    Whole(Loaded),
    /// It has more text than was allowed.
    TooLong,
}

impl Reading {
    /// Returns the task, if it was read.
    pub(super) fn whole(self) -> Option<Loaded> {
        match self {
            Self::Whole(loaded) => Some(loaded),
            Self::TooLong => None,
        }
    }
}

/// The columns of a snapshot, without the texts that are not wanted (?1, ?2) and without any of
/// a task that has more text than allowed (?3). What is left out is not touched.
macro_rules! snapshot_columns {
    () => {
        "s.seq, CASE WHEN t.bytes <= ?3 THEN s.task END, \
         CASE WHEN ?1 AND t.bytes <= ?3 THEN s.history END, \
         CASE WHEN ?2 AND t.bytes <= ?3 THEN s.artifacts END"
    };
}

/// Finds a task within a scope, and reads it if it has no more text than so many bytes.
pub(super) fn find(
    connection: &Connection,
    scope: &Scope,
    id: &TaskId,
    want: Want,
    now: &Moment,
    most_bytes: u64,
) -> Result<Option<Reading>, Fault> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        task_columns!("n.name, p.agent, p.caller"),
        ", ",
        snapshot_columns!(),
        " FROM tasks t JOIN places p ON p.key = t.place JOIN tenants n ON n.key = t.tenant \
         LEFT JOIN snapshots s ON s.key = t.key WHERE t.id = ?4 AND n.name = ?5"
    ))?;
    let mut rows = statement.query((
        want.history,
        want.artifacts,
        integer(most_bytes),
        id.as_str(),
        scope.tenant.as_str(),
    ))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let head = Stored::read(row, now)?.head;
    if !scope.sees(&head.place) {
        return Ok(None);
    }
    with_texts(connection, row, head, want, most_bytes).map(Some)
}

/// Reads a task by its handle, whose place is known, if it has no more text than so many bytes.
pub(super) fn load(
    connection: &Connection,
    task: TaskRef,
    place: Place,
    want: Want,
    now: &Moment,
    most_bytes: u64,
) -> Result<Option<Reading>, Fault> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        task_columns!("NULL, NULL, NULL"),
        ", ",
        snapshot_columns!(),
        " FROM tasks t LEFT JOIN snapshots s ON s.key = t.key WHERE t.key = ?4"
    ))?;
    let mut rows = statement.query((want.history, want.artifacts, integer(most_bytes), task.0))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let head = Stored::read_at(row, now, place)?.head;
    with_texts(connection, row, head, want, most_bytes).map(Some)
}

/// Reads the texts of a task whose row was found, if it has no more than so many bytes.
fn with_texts(
    connection: &Connection,
    row: &Row<'_>,
    head: Head,
    want: Want,
    most_bytes: u64,
) -> Result<Reading, Fault> {
    if head.bytes > most_bytes {
        return Ok(Reading::TooLong);
    }
    // The row stays open while the entries are read, so all is of one state.
    let snapshot = row::snapshot(row, TASK_COLUMNS)?;
    with_entries(connection, head, snapshot, want).map(Reading::Whole)
}

/// Adds the entries that are wanted behind a snapshot, or without one if it is too new.
fn with_entries(
    connection: &Connection,
    head: Head,
    snapshot: Option<Snapshot>,
    want: Want,
) -> Result<Loaded, Fault> {
    let at = want.at.map_or(head.seq, |at| at.min(head.seq));
    let snapshot = snapshot.filter(|snapshot| snapshot.seq <= at);
    let after = snapshot.as_ref().map_or(Seq::START, |snapshot| snapshot.seq);
    let mut entries: Vec<Entry> = Vec::new();
    if after < at {
        let mut statement = connection.prepare_cached(ENTRIES)?;
        let mut rows = statement.query((head.reference.0, integer(after.0)))?;
        while entries.last().is_none_or(|entry| entry.seq < at)
            && let Some(row) = rows.next()?
        {
            entries.extend(row::entries(row)?);
        }
        entries.retain(|entry| after < entry.seq && entry.seq <= at);
    }
    let reaches_back =
        entries.first().map_or(after == at, |entry: &Entry| entry.seq == after.next());
    if !reaches_back {
        return Ok(Loaded { head, snapshot: None, entries: Vec::new(), want });
    }
    Ok(Loaded { head, snapshot, entries, want })
}

/// Pieces that have entries behind a place.
const ENTRIES: &str = "SELECT seq, body FROM pieces WHERE task = ?1 AND seq > ?2 ORDER BY seq";

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
    let mut tail = Tail { entries: Vec::new(), mark: Some(mark) };
    if after >= mark.seq {
        return Ok(tail);
    }
    let mut statement = connection.prepare_cached(ENTRIES)?;
    let mut rows = statement.query((mark.task.0, integer(after.0)))?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        for entry in row::entries(row)?.into_iter().filter(|entry| entry.seq > after) {
            bytes += entry.record.bytes();
            tail.entries.push(entry);
            if tail.entries.len() >= limit.entries || bytes >= limit.bytes {
                return Ok(tail);
            }
        }
    }
    Ok(tail)
}
