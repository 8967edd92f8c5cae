//! From rows to what the contract speaks of. Rows are not trusted: whoever can write to the
//! file can write nonsense.

use bytes::Bytes;
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    state::TaskState,
    time::Timestamp,
};
use nuncio_tasks::{
    log::{Entry, Seq, Snapshot},
    scope::{Name, Place, Scope},
    store::{Epoch, Head, TaskRef},
};
use rusqlite::{Connection, Row, types::ValueRef};

use super::{clock::Moment, fault::Fault, names::Names};
use crate::piece;

/// Selects tasks for [`Stored::read`].
macro_rules! select_tasks {
    ($rest:literal) => {
        concat!(
            "SELECT ",
            $crate::sqlite::row::task_columns!("n.name, p.agent, p.caller"),
            " FROM tasks t JOIN places p ON p.key = t.place JOIN tenants n ON n.key = t.tenant ",
            $rest
        )
    };
}

/// The columns of a task, with those of the names of its place.
macro_rules! task_columns {
    ($names:literal) => {
        concat!(
            "t.key, t.id, t.context, ",
            $names,
            ", t.state, t.updated, t.updated_nanos, t.seq, t.bytes, t.epoch, t.lease, \
             t.lease_run, t.lease_until, t.tenant, t.place, t.abandoned, t.webhooks, t.wake_at"
        )
    };
}
pub(super) use {select_tasks, task_columns};

/// How many columns [`task_columns`] has.
pub(super) const TASK_COLUMNS: usize = 20;

/// Who has a task. Numbers are those in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holding {
    /// Nobody has it, and nobody needs to.
    Free = 0,
    /// Somebody has it, or is gone with it.
    Held = 1,
    /// Somebody gave it back.
    Released = 2,
    /// Nobody has it, although the agent has the turn.
    Wanted = 3,
}

/// A task as its row has it.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) head: Head,
    pub(super) tenant: i64,
    pub(super) place: i64,
    pub(super) holding: Holding,
    pub(super) abandoned: u32,
    pub(super) webhooks: i64,
    pub(super) wake_at: Option<i64>,
}

impl Stored {
    pub(super) fn by_key(
        connection: &Connection,
        task: TaskRef,
        now: &Moment,
    ) -> Result<Option<Self>, Fault> {
        let mut statement = connection.prepare_cached(select_tasks!("WHERE t.key = ?1"))?;
        let mut rows = statement.query((task.0,))?;
        rows.next()?.map(|row| Self::read(row, now)).transpose()
    }

    /// Finds the head of a task within a scope; outside it there is nothing.
    pub(super) fn find(
        connection: &Connection,
        names: &Names,
        scope: &Scope,
        id: &TaskId,
        now: &Moment,
    ) -> Result<Option<Head>, Fault> {
        let Some(tenant) = names.tenant(connection, &scope.tenant)? else { return Ok(None) };
        let mut statement = connection.prepare_cached(concat!(
            "SELECT ",
            task_columns!("NULL, NULL, NULL"),
            " FROM tasks t WHERE t.id = ?1 AND t.tenant = ?2"
        ))?;
        let mut rows = statement.query((id.as_str(), tenant))?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let place = names.place(connection, place(row)?, &scope.tenant)?;
        if !scope.sees(&place) {
            return Ok(None);
        }
        head(row, now, place).map(Some)
    }

    pub(super) fn read(row: &Row<'_>, now: &Moment) -> Result<Self, Fault> {
        let place = Place {
            tenant: parse(row, 3, Name::parse)?,
            agent: parse(row, 4, Name::parse)?,
            caller: parse(row, 5, Name::parse)?,
        };
        Self::read_at(row, now, place)
    }

    fn read_at(row: &Row<'_>, now: &Moment, place: Place) -> Result<Self, Fault> {
        Ok(Self {
            head: head(row, now, place)?,
            tenant: row.get(15)?,
            place: row.get(16)?,
            holding: holding(row)?,
            abandoned: row.get(17)?,
            webhooks: row.get(18)?,
            wake_at: row.get(19)?,
        })
    }
}

/// Reads the head of a task from a row of [`task_columns`], with the names of its place.
pub(super) fn head(row: &Row<'_>, now: &Moment, place: Place) -> Result<Head, Fault> {
    let is_held = holding(row)? == Holding::Held;
    Ok(Head {
        reference: TaskRef(row.get(0)?),
        id: parse(row, 1, TaskId::parse)?,
        context: parse(row, 2, ContextId::parse)?,
        place,
        state: state(row.get(6)?)?,
        updated: moment(row.get(7)?, row.get(8)?)?,
        seq: Seq(natural(row, 9)?),
        bytes: natural(row, 10)?,
        epoch: Epoch(natural(row, 11)?),
        owned: is_held && now.is_within(row.get(13)?, row.get(14)?),
    })
}

fn holding(row: &Row<'_>) -> Result<Holding, Fault> {
    match row.get(12)? {
        0 => Ok(Holding::Free),
        1 => Ok(Holding::Held),
        2 => Ok(Holding::Released),
        3 => Ok(Holding::Wanted),
        number => Err(Fault::spoilt(format!("{number} is no state of a lease"))),
    }
}

/// The number of the place, in a row of [`task_columns`].
pub(super) fn place(row: &Row<'_>) -> Result<i64, Fault> {
    Ok(row.get(16)?)
}

/// Reads a snapshot from `seq, task, history, artifacts`, of which `from` is the first column.
pub(super) fn snapshot(row: &Row<'_>, from: usize) -> Result<Option<Snapshot>, Fault> {
    if row.get_ref(from)? == ValueRef::Null {
        return Ok(None);
    }
    Ok(Some(Snapshot {
        seq: Seq(natural(row, from)?),
        task: text(row, from + 1)?,
        history: text(row, from + 2)?,
        artifacts: text(row, from + 3)?,
    }))
}

/// Reads entries from `seq, body` at the start of a row.
pub(super) fn entries(row: &Row<'_>) -> Result<Vec<Entry>, Fault> {
    let body = row.get_ref(1)?.as_blob().map_err(|error| Fault::spoilt(error.to_string()))?;
    let last = Seq(natural(row, 0)?);
    Ok(piece::entries(last, Bytes::copy_from_slice(body))?)
}

/// Copies a text; nothing if there is none.
pub(super) fn text(row: &Row<'_>, column: usize) -> Result<Bytes, Fault> {
    match row.get_ref(column)? {
        ValueRef::Text(text) => Ok(Bytes::copy_from_slice(text)),
        ValueRef::Null => Ok(Bytes::new()),
        other => Err(Fault::spoilt(format!("a text was expected, not {}", other.data_type()))),
    }
}

/// Reads a name or an identifier.
pub(super) fn parse<T, E: std::fmt::Display>(
    row: &Row<'_>,
    column: usize,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, Fault> {
    let text = row.get_ref(column)?.as_str().map_err(|error| Fault::spoilt(error.to_string()))?;
    parse(text).map_err(|error| Fault::spoilt(error.to_string()))
}

pub(super) fn natural(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| Fault::spoilt(format!("{number} is negative")))
}

/// Writes a number that is never so large: it counts what was written one by one.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn state(number: i32) -> Result<TaskState, Fault> {
    TaskState::from_number(number)
        .ok_or_else(|| Fault::spoilt(format!("{number} is no state of a task")))
}

/// Puts a moment together from microseconds and the nanoseconds beyond.
pub(super) fn moment(micros: i64, nanos: i32) -> Result<Timestamp, Fault> {
    // The remainder is below a million, so a thousand times it fits.
    let below_a_second = i32::try_from(micros.rem_euclid(1_000_000)).unwrap_or_default() * 1000;
    below_a_second
        .checked_add(nanos)
        .and_then(|nanos| Timestamp::from_parts(micros.div_euclid(1_000_000), nanos))
        .ok_or_else(|| Fault::spoilt(format!("{micros} microseconds are on no calendar")))
}

/// The part of a moment that microseconds leave out.
pub(super) fn nanos_beyond(moment: Timestamp) -> i32 {
    moment.to_parts().1 % 1000
}
