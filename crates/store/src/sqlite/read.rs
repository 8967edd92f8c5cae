//! Reading single tasks.

use nuncio_protocol::ids::TaskId;
use nuncio_tasks::{
    log::{Entry, Seq, Snapshot},
    scope::{Place, Scope},
    store::{Head, Limit, Loaded, Mark, Tail, TaskRef, Want},
};
use rusqlite::{CachedStatement, Connection, Row};

use super::{
    clock::Moment,
    fault::Fault,
    names::Names,
    row::{self, TASK_COLUMNS, integer, natural, task_columns},
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

/// A task with its snapshot, if that is short, without the texts that are not wanted (?1, ?2).
macro_rules! select_whole {
    ($rest:literal) => {
        concat!(
            "SELECT ",
            task_columns!("NULL, NULL, NULL"),
            ", t.snapshot, t.head, CASE WHEN ?1 THEN t.history END, \
             CASE WHEN ?2 THEN t.artifacts END FROM tasks t WHERE ",
            $rest
        )
    };
}

/// A snapshot that stands apart. Texts that are not wanted are not touched.
const APART: &str = "SELECT seq, task, CASE WHEN ?2 THEN history END, \
    CASE WHEN ?3 THEN artifacts END FROM snapshots WHERE key = ?1";

/// Finds a task within a scope, and reads it if it has no more text than so many bytes.
pub(super) fn find(
    connection: &Connection,
    names: &Names,
    scope: &Scope,
    id: &TaskId,
    want: Want,
    now: &Moment,
    most_bytes: u64,
) -> Result<Option<Reading>, Fault> {
    let Some(tenant) = names.tenant(connection, &scope.tenant)? else { return Ok(None) };
    let sql = select_whole!("t.id = ?3 AND t.tenant = ?4");
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((want.history, want.artifacts, id.as_str(), tenant))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let place = names.place(connection, row::place(row)?, &scope.tenant)?;
    if !scope.sees(&place) {
        return Ok(None);
    }
    let head = row::head(row, now, place)?;
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
    Reader::new(connection, want)?.load(task, place, now, most_bytes)
}

/// Reads one task after the other, by what was prepared once.
pub(super) struct Reader<'c> {
    connection: &'c Connection,
    statement: CachedStatement<'c>,
    want: Want,
}

impl<'c> Reader<'c> {
    pub(super) fn new(connection: &'c Connection, want: Want) -> Result<Self, Fault> {
        let statement = connection.prepare_cached(select_whole!("t.key = ?3"))?;
        Ok(Self { connection, statement, want })
    }

    /// Reads a task as [`load`] does.
    pub(super) fn load(
        &mut self,
        task: TaskRef,
        place: Place,
        now: &Moment,
        most_bytes: u64,
    ) -> Result<Option<Reading>, Fault> {
        let want = self.want;
        let mut rows = self.statement.query((want.history, want.artifacts, task.0))?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let head = row::head(row, now, place)?;
        with_texts(self.connection, row, head, want, most_bytes).map(Some)
    }
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
    // The row stays open while the rest is read, so all is of one state.
    let snapshot = match row::snapshot(row, TASK_COLUMNS)? {
        Some(snapshot) => Some(snapshot),
        None => apart(connection, head.reference, want)?,
    };
    with_entries(connection, head, snapshot, want).map(Reading::Whole)
}

/// Reads a snapshot that stands apart.
fn apart(connection: &Connection, task: TaskRef, want: Want) -> Result<Option<Snapshot>, Fault> {
    let mut statement = connection.prepare_cached(APART)?;
    let mut rows = statement.query((task.0, want.history, want.artifacts))?;
    rows.next()?.map_or(Ok(None), |row| row::snapshot(row, 0))
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
