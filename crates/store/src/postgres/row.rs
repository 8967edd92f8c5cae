//! From rows to what the rest of the program knows.

use std::time::Duration;

use bytes::Bytes;
use nuncio_protocol::{
    ids::{ContextId, InvalidId, TaskId},
    state::TaskState,
    time::Timestamp,
};
use nuncio_tasks::{
    log::{Entry, Seq, Snapshot},
    scope::{Name, Place, Scope},
    store::{Epoch, Error, Head, Page, TaskRef, Want, order},
};
use tokio_postgres::Row;

use super::text::{quote, unquote};
use crate::piece;

/// The columns of a head, which [`head`] reads, of `t` tasks, `p` places and `n` tenants.
macro_rules! head_columns {
    () => {
        "t.key, t.id, t.context, n.name, p.agent, p.caller, t.state, t.updated, \
         t.updated_nanos, t.seq, t.bytes, t.epoch, \
         coalesce(t.lease = 1 AND t.lease_until > clock_timestamp(), false)"
    };
}

/// The columns of a head without the names of its place, which [`own_head`] reads, of `t` tasks.
macro_rules! own_columns {
    () => {
        "t.key, t.place, t.id, t.context, t.state, t.updated, t.updated_nanos, t.seq, t.bytes, \
         t.epoch, coalesce(t.lease = 1 AND t.lease_until > clock_timestamp(), false)"
    };
}

/// The tables that [`head_columns`] names.
macro_rules! head_tables {
    () => {
        concat!("tasks t CROSS JOIN ", place_of_task!(), " CROSS JOIN ", tenant_of_task!())
    };
}

/// The place of a task `t` as `p`. The fence leaves the planner no other way than from the task
/// to its place: for a table that it thinks empty, it would rather go through all of it.
macro_rules! place_of_task {
    () => {
        "LATERAL (SELECT * FROM places p WHERE p.key = t.place OFFSET 0) p"
    };
}

/// The tenant of a task `t` as `n`, in the same way.
macro_rules! tenant_of_task {
    () => {
        "LATERAL (SELECT * FROM tenants n WHERE n.key = t.tenant OFFSET 0) n"
    };
}

/// The task of a tenant with an identifier, as a subquery for a lateral join.
///
/// Bounds in place of an equality, and the order, which is that of one index alone: with others
/// that begin with the tenant, too, all tasks of it would have to be sorted. An equality would
/// make the order superfluous, and the planner takes any of these indexes while it thinks that
/// there are few tasks, and filters.
macro_rules! task_by_id {
    ($tenant:literal, $id:literal) => {
        concat!(
            "LATERAL (SELECT * FROM tasks t WHERE t.tenant = ",
            $tenant,
            " AND t.id >= ",
            $id,
            " AND t.id <= ",
            $id,
            " ORDER BY t.tenant, t.id LIMIT 1) t"
        )
    };
}

/// What a scope asks of `n` tenants and `p` places, with its names as $1, $2 and $3.
macro_rules! in_scope {
    () => {
        "n.name = $1 AND ($2::text IS NULL OR p.agent = $2) AND ($3::text IS NULL OR p.caller = $3)"
    };
}

pub(super) use {
    head_columns, head_tables, in_scope, own_columns, place_of_task, task_by_id, tenant_of_task,
};

/// How many columns [`head_columns`] has.
pub(super) const HEAD_COLUMNS: usize = 13;

/// How many columns [`own_columns`] has.
pub(super) const OWN_COLUMNS: usize = 11;

/// The names of a scope as parameters.
pub(super) struct ScopeNames {
    pub(super) tenant: String,
    pub(super) agent: Option<String>,
    pub(super) caller: Option<String>,
}

impl From<&Scope> for ScopeNames {
    fn from(scope: &Scope) -> Self {
        let text = |name: &Name| quote(name.as_str()).into_owned();
        Self {
            tenant: text(&scope.tenant),
            agent: scope.agent.as_ref().map(text),
            caller: scope.caller.as_ref().map(text),
        }
    }
}

/// Reads a head from the columns of [`head_columns`], of which `from` is the first.
pub(super) fn head(row: &Row, from: usize) -> Result<Head, Error> {
    let text = |column: usize| unquote(row.get(from + column));
    Ok(Head {
        reference: TaskRef(row.get(from)),
        id: TaskId::parse(&text(1)).map_err(spoilt_id)?,
        context: ContextId::parse(&text(2)).map_err(spoilt_id)?,
        place: Place { tenant: name(&text(3))?, agent: name(&text(4))?, caller: name(&text(5))? },
        state: state(row.get(from + 6))?,
        updated: moment(row.get(from + 7), row.get(from + 8))?,
        seq: seq(row.get(from + 9)),
        bytes: unsigned(row.get(from + 10)),
        epoch: Epoch(unsigned(row.get(from + 11))),
        owned: row.get(from + 12),
    })
}

/// The number of the place, in a row of [`own_columns`].
pub(super) fn place(row: &Row) -> i64 {
    row.get(1)
}

/// The number of the state, in a row of [`own_columns`].
pub(super) fn state_column(row: &Row) -> i16 {
    row.get(4)
}

/// What tasks are ordered by, in a row of [`own_columns`].
pub(super) fn order_columns(row: &Row) -> (i64, &str) {
    (row.get(5), row.get(2))
}

/// Reads a head from the columns of [`own_columns`] at the start of a row, with the names that
/// belong to its place.
pub(super) fn own_head(row: &Row, place: &Place) -> Result<Head, Error> {
    Ok(Head {
        reference: TaskRef(row.get(0)),
        id: TaskId::parse(&unquote(row.get(2))).map_err(spoilt_id)?,
        context: ContextId::parse(&unquote(row.get(3))).map_err(spoilt_id)?,
        place: place.clone(),
        state: state(row.get(4))?,
        updated: moment(row.get(5), row.get(6))?,
        seq: seq(row.get(7)),
        bytes: unsigned(row.get(8)),
        epoch: Epoch(unsigned(row.get(9))),
        owned: row.get(10),
    })
}

/// Reads a snapshot from its place and three texts, of which `from` is the first column.
pub(super) fn snapshot(row: &Row, from: usize) -> Option<Snapshot> {
    let text = |column: usize| {
        let text: Option<&[u8]> = row.get(from + column);
        Bytes::copy_from_slice(text.unwrap_or_default())
    };
    let place: Option<i64> = row.get(from);
    place.map(|place| Snapshot {
        seq: seq(place),
        task: text(1),
        history: text(2),
        artifacts: text(3),
    })
}

/// Reads entries from the place of the last of them and their body, of which `from` is the
/// first column.
pub(super) fn entries(row: &Row, from: usize) -> Result<Vec<Entry>, Error> {
    piece::entries(seq(row.get(from)), Bytes::copy_from_slice(row.get(from + 1)))
}

pub(super) fn state(number: i16) -> Result<TaskState, Error> {
    TaskState::from_number(number.into())
        .ok_or_else(|| Error::Spoilt(format!("there is no state {number}")))
}

/// The number of a state as a column has it.
pub(super) fn state_number(state: TaskState) -> i16 {
    i16::try_from(state.number()).unwrap_or_default()
}

/// Splits a moment into the number that orders it and the nanoseconds beyond.
pub(super) fn moment_columns(moment: Timestamp) -> (i64, i16) {
    let (_, nanos) = moment.to_parts();
    (order(moment), i16::try_from(nanos % 1000).unwrap_or_default())
}

pub(super) fn moment(micros: i64, nanos: i16) -> Result<Timestamp, Error> {
    let within = i32::try_from(micros.rem_euclid(1_000_000)).unwrap_or_default();
    Timestamp::from_parts(micros.div_euclid(1_000_000), within * 1000 + i32::from(nanos))
        .ok_or_else(|| Error::Spoilt(format!("there is no moment {micros}")))
}

pub(super) fn seq(number: i64) -> Seq {
    Seq(unsigned(number))
}

/// Numbers of ours are never negative.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// No number of ours comes near the limit.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number of rows as a limit.
pub(super) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Microseconds for the database's clock, which ends in the year 294276.
pub(super) fn micros(duration: Duration) -> i64 {
    const CENTURY: i64 = 100 * 366 * 24 * 3600 * 1_000_000;
    i64::try_from(duration.as_micros()).unwrap_or(CENTURY).min(CENTURY)
}

/// The parts that a page of a list has of every task.
pub(super) fn want_of(page: &Page) -> Want {
    Want { at: None, history: page.history, artifacts: page.artifacts }
}

fn spoilt_id(error: InvalidId) -> Error {
    Error::Spoilt(error.to_string())
}

/// Reads the name of a tenant, an agent or a caller.
pub(super) fn name(text: &str) -> Result<Name, Error> {
    Name::parse(text).map_err(|error| Error::Spoilt(error.to_string()))
}
