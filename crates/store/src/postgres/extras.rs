//! What only some tasks have: notes and parents.

use bytes::Bytes;
use nuncio_protocol::ids::TaskId;
use nuncio_tasks::store::{Error, Head, Key, TaskRef};

use super::{
    connection::Connection,
    error::Failure,
    row::{self, ScopeNames, head_columns, in_scope, place_of_task},
    text::{quote, unquote},
};

const NOTE: &str = "SELECT note FROM notes WHERE task = $1";

const PARENT: &str = "SELECT parent FROM parents WHERE task = $1";

/// In the order of their keys, which is that of their opening. The bounds and the order of the
/// inner query are for the index, as in `task_by_id`.
const CHILDREN: &str = concat!(
    "SELECT ",
    head_columns!(),
    " FROM ",
    "tenants n CROSS JOIN LATERAL (SELECT * FROM parents c WHERE c.tenant = n.key \
        AND c.parent >= $4 AND c.parent <= $4 ORDER BY c.tenant, c.parent, c.task OFFSET 0) c \
     CROSS JOIN LATERAL (SELECT * FROM tasks t WHERE t.key = c.task OFFSET 0) t CROSS JOIN ",
    place_of_task!(),
    " WHERE ",
    in_scope!(),
    " ORDER BY c.parent, c.task LIMIT $5"
);

const USED: &str = "SELECT k.request FROM tenants n \
    CROSS JOIN LATERAL (SELECT * FROM places p \
        WHERE p.tenant = n.key AND p.agent = $2 AND p.caller = $3 OFFSET 0) p \
    CROSS JOIN LATERAL (SELECT * FROM keys k WHERE k.place = p.key \
        AND k.digest = sha256(convert_to($4, 'UTF8')) OFFSET 0) k \
    WHERE n.name = $1";

/// Tells whether a key stands for something that was done at a place.
pub(super) async fn is_used(
    connection: &Connection,
    place: &ScopeNames,
    key: &Key,
) -> Result<bool, Failure> {
    let text = quote(&key.text);
    let rows = connection.query(USED, &[&place.tenant, &place.agent, &place.caller, &text]).await?;
    match rows.first().map(|row| row.get::<_, &[u8]>(0)) {
        Some(request) if request != key.request => Err(Error::KeyReused.into()),
        found => Ok(found.is_some()),
    }
}

pub(super) async fn note(connection: &Connection, task: TaskRef) -> Result<Option<Bytes>, Failure> {
    let rows = connection.query(NOTE, &[&task.0]).await?;
    Ok(rows.first().map(|row| Bytes::copy_from_slice(row.get(0))))
}

pub(super) async fn parent(
    connection: &Connection,
    task: TaskRef,
) -> Result<Option<TaskId>, Failure> {
    let rows = connection.query(PARENT, &[&task.0]).await?;
    let parse = |text: &str| TaskId::parse(&unquote(text));
    let parent = rows.first().map(|row| parse(row.get(0))).transpose();
    Ok(parent.map_err(|error| Error::Spoilt(error.to_string()))?)
}

pub(super) async fn children(
    connection: &Connection,
    scope: &ScopeNames,
    parent: &TaskId,
    most: usize,
) -> Result<Vec<Head>, Failure> {
    let (parent, most) = (quote(parent.as_str()), row::count(most));
    let rows = connection
        .query(CHILDREN, &[&scope.tenant, &scope.agent, &scope.caller, &parent, &most])
        .await?;
    Ok(rows.iter().map(|row| row::head(row, 0)).collect::<Result<_, _>>()?)
}
