//! Idempotency keys.

use nuncio_protocol::ids::TaskId;
use nuncio_tasks::{
    log::Seq,
    store::{Error, Head, Key, TaskRef},
};
use rusqlite::Connection;

use super::{
    fault::Fault,
    row::{integer, natural, parse},
    writer::Writing,
};

/// What a key was used for.
#[derive(Debug)]
pub(super) struct Used {
    pub(super) task: TaskRef,
    pub(super) task_id: TaskId,
    /// The first entry that came of it.
    pub(super) seq: Seq,
}

/// Finds what the same request with the same key has done. Another request is refused.
pub(super) fn find(connection: &Connection, place: i64, key: &Key) -> Result<Option<Used>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT request, task, task_id, seq FROM keys WHERE place = ?1 AND text = ?2",
    )?;
    let mut rows = statement.query((place, &key.text))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let request = row.get_ref(0)?.as_blob().map_err(|error| Fault::spoilt(error.to_string()))?;
    if request != key.request {
        return Err(Error::KeyReused.into());
    }
    Ok(Some(Used {
        task: TaskRef(row.get(1)?),
        task_id: parse(row, 2, TaskId::parse)?,
        seq: Seq(natural(row, 3)?),
    }))
}

/// Lets go of the key that opened a task.
pub(super) fn forget(connection: &Connection, task: TaskRef) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM keys WHERE task = ?1 AND seq = 1")?
        .execute((task.0,))?;
    Ok(())
}

pub(super) fn insert(
    writing: Writing<'_>,
    place: i64,
    key: &Key,
    head: &Head,
    seq: Seq,
) -> Result<(), Fault> {
    writing
        .connection
        .prepare_cached(
            "INSERT INTO keys (place, text, request, task, task_id, seq, used_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((
            place,
            &key.text,
            key.request.as_slice(),
            head.reference.0,
            head.id.as_str(),
            integer(seq.0),
            writing.now.wall,
        ))?;
    Ok(())
}
