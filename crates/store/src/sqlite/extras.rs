//! What only some tasks have: notes and parents.

use bytes::Bytes;
use nuncio_protocol::ids::TaskId;
use nuncio_tasks::{
    scope::Scope,
    store::{Head, TaskRef},
};
use rusqlite::Connection;

use super::{
    clock::Moment,
    fault::Fault,
    row::{Stored, parse, select_tasks},
};

/// Keeps a note in place of an earlier one.
pub(super) fn write_note(connection: &Connection, task: TaskRef, note: &[u8]) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO notes (key, note) VALUES (?1, ?2) \
             ON CONFLICT DO UPDATE SET note = excluded.note",
        )?
        .execute((task.0, note))?;
    Ok(())
}

pub(super) fn note(connection: &Connection, task: TaskRef) -> Result<Option<Bytes>, Fault> {
    let mut statement = connection.prepare_cached("SELECT note FROM notes WHERE key = ?1")?;
    let mut rows = statement.query((task.0,))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let note = row.get_ref(0)?.as_blob().map_err(|error| Fault::spoilt(error.to_string()))?;
    Ok(Some(Bytes::copy_from_slice(note)))
}

pub(super) fn write_parent(
    connection: &Connection,
    task: TaskRef,
    tenant: i64,
    parent: &TaskId,
) -> Result<(), Fault> {
    connection
        .prepare_cached("INSERT INTO parents (key, tenant, parent) VALUES (?1, ?2, ?3)")?
        .execute((task.0, tenant, parent.as_str()))?;
    Ok(())
}

pub(super) fn parent(connection: &Connection, task: TaskRef) -> Result<Option<TaskId>, Fault> {
    let mut statement = connection.prepare_cached("SELECT parent FROM parents WHERE key = ?1")?;
    let mut rows = statement.query((task.0,))?;
    rows.next()?.map(|row| parse(row, 0, TaskId::parse)).transpose()
}

/// Finds children in the order of their keys, which is that of their opening.
pub(super) fn children(
    connection: &Connection,
    scope: &Scope,
    parent: &TaskId,
    most: usize,
    now: &Moment,
) -> Result<Vec<Head>, Fault> {
    let mut statement = connection.prepare_cached(select_tasks!(
        "JOIN parents c ON c.key = t.key AND c.tenant = n.key \
         WHERE n.name = ?1 AND c.parent = ?2 ORDER BY c.key"
    ))?;
    let mut rows = statement.query((scope.tenant.as_str(), parent.as_str()))?;
    let mut children = Vec::new();
    while children.len() < most
        && let Some(row) = rows.next()?
    {
        let Stored { head, .. } = Stored::read(row, now)?;
        if scope.sees(&head.place) {
            children.push(head);
        }
    }
    Ok(children)
}
