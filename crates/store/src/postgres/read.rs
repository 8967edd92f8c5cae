//! Reading tasks and logs.

use std::collections::HashMap;

use futures_util::future::join;
use nuncio_protocol::ids::TaskId;
use nuncio_tasks::{
    log::{Entry, Seq, Snapshot},
    store::{Error, Head, Limit, Loaded, Mark, Tail, TaskRef, Want},
};
use tokio_postgres::Row;

use super::{
    connection::Connection,
    error::Failure,
    row::{
        self, HEAD_COLUMNS, ScopeNames, head_columns, in_scope, named_task, place_of_task,
        snapshot_columns, task_by_id,
    },
    text::quote,
};
use crate::piece;

/// How often reading begins anew when logs are removed meanwhile.
const MOST_TRIES: usize = 4;

const FIND: &str =
    concat!("SELECT ", head_columns!(), " FROM ", named_task!(), " WHERE ", in_scope!());

const LOAD: &str = concat!(
    "SELECT ",
    head_columns!(),
    ", ",
    snapshot_columns!("$7", "$5", "$6"),
    " FROM ",
    named_task!(),
    " WHERE ",
    in_scope!()
);

/// Up to the piece that has the last entry in it, of each task in their order.
const ENTRIES: &str = "SELECT e.task, e.seq, e.body \
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) u (task, after, upto) \
    CROSS JOIN LATERAL (SELECT min(p.seq) AS seq FROM pieces p \
        WHERE p.task = u.task AND p.seq >= u.upto) last \
    CROSS JOIN LATERAL (SELECT * FROM pieces e \
        WHERE e.task = u.task AND e.seq > u.after AND e.seq <= last.seq \
        ORDER BY e.task, e.seq OFFSET 0) e";

/// The sizes are known without reading the bodies.
const TAIL: &str = "SELECT seq, body FROM ( \
        SELECT seq, body, sum(size) OVER (ORDER BY seq) - size AS before FROM ( \
            SELECT seq, body, octet_length(body) AS size \
            FROM pieces WHERE task = $1 AND seq > $2 ORDER BY seq LIMIT $3) e) e \
    WHERE before < $4 ORDER BY seq";

const MARKS: &str = "SELECT key, seq, state FROM tasks WHERE key = ANY($1::bigint[])";

pub(super) async fn find(
    connection: &Connection,
    scope: &ScopeNames,
    id: &TaskId,
) -> Result<Option<Head>, Failure> {
    let id = quote(id.as_str());
    let rows = connection.query(FIND, &[&scope.tenant, &scope.agent, &scope.caller, &id]).await?;
    Ok(rows.first().map(|row| row::head(row, 0)).transpose()?)
}

pub(super) async fn load(
    connection: &Connection,
    scope: &ScopeNames,
    id: &TaskId,
    want: Want,
) -> Result<Option<Loaded>, Failure> {
    let id = quote(id.as_str());
    let at = want.at.map_or(i64::MAX, |at| row::signed(at.0));
    for _ in 0..MOST_TRIES {
        let rows = connection
            .query(
                LOAD,
                &[
                    &scope.tenant,
                    &scope.agent,
                    &scope.caller,
                    &id,
                    &want.history,
                    &want.artifacts,
                    &at,
                ],
            )
            .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let mut loaded = with_entries(connection, vec![found(row, want, None)?]).await?;
        if let Some(Some(loaded)) = loaded.pop() {
            return Ok(Some(loaded));
        }
    }
    Err(Error::Spoilt("a log has a gap".to_owned()).into())
}

/// Reads a head and a snapshot, of which the latter may be missing, beside another task.
pub(super) fn found(row: &Row, want: Want, other: Option<&Loaded>) -> Result<Loaded, Error> {
    let head = row::head_beside(row, 0, other.map(|other| &other.head))?;
    Ok(Loaded { head, snapshot: row::snapshot(row, HEAD_COLUMNS), entries: Vec::new(), want })
}

/// Adds to tasks the entries behind their snapshots.
///
/// `None` for a task whose log was removed since its head was read: there is a snapshot now
/// that makes it superfluous, or the task is gone.
pub(super) async fn with_entries(
    connection: &Connection,
    found: Vec<Loaded>,
) -> Result<Vec<Option<Loaded>>, Failure> {
    let mut wanted: [Vec<i64>; 3] = Default::default();
    for loaded in &found {
        let (after, upto) = span(loaded);
        if after < upto {
            wanted[0].push(loaded.head.reference.0);
            wanted[1].push(row::signed(after.0));
            wanted[2].push(row::signed(upto.0));
        }
    }
    let mut entries: HashMap<i64, Vec<Entry>> = HashMap::new();
    if !wanted[0].is_empty() {
        let [tasks, after, upto] = &wanted;
        for row in connection.query(ENTRIES, &[tasks, after, upto]).await? {
            entries.entry(row.get(0)).or_default().extend(row::entries(&row, 1)?);
        }
    }
    let complete = found.into_iter().map(|mut loaded| {
        let (after, upto) = span(&loaded);
        loaded.entries = entries.remove(&loaded.head.reference.0).unwrap_or_default();
        loaded.entries.retain(|entry| after < entry.seq && entry.seq <= upto);
        let is_whole = loaded.entries.len() as u64 == upto.0.saturating_sub(after.0);
        if !is_whole && loaded.snapshot.is_none() && loaded.want.at.is_some() {
            // The log does not reach back so far.
            loaded.entries.clear();
            return Some(loaded);
        }
        is_whole.then_some(loaded)
    });
    Ok(complete.collect())
}

/// The places between which entries are wanted.
fn span(loaded: &Loaded) -> (Seq, Seq) {
    let after = loaded.snapshot.as_ref().map_or(Seq::START, |snapshot: &Snapshot| snapshot.seq);
    let upto = loaded.want.at.unwrap_or(loaded.head.seq).min(loaded.head.seq);
    (after, upto)
}

pub(super) async fn tail(
    connection: &Connection,
    task: TaskRef,
    after: Seq,
    limit: Limit,
) -> Result<Tail, Failure> {
    let (behind, most) = (row::signed(after.0), row::count(limit.entries.max(1)));
    // A piece has more in it than its texts, and perhaps some that are not behind the place.
    let size = row::count(limit.bytes.saturating_mul(2).saturating_add(piece::MOST_BYTES));
    connection.refresh_plans().await?;
    let tail = connection.prepare(TAIL).await?;
    let marks = connection.prepare(MARKS).await?;
    let client = connection.client();
    // The entries first, so that the mark is never behind them.
    let (rows, mark) = join(
        client.query(&tail, &[&task.0, &behind, &most, &size]),
        client.query(&marks, &[&vec![task.0]]),
    )
    .await;
    let mark = mark?.first().map(read_mark).transpose()?;
    let mut tail = Tail { entries: Vec::new(), mark };
    let mut bytes = 0;
    for row in rows? {
        for entry in row::entries(&row, 0)?.into_iter().filter(|entry| entry.seq > after) {
            bytes += entry.record.bytes();
            tail.entries.push(entry);
            if tail.entries.len() >= limit.entries || bytes >= limit.bytes {
                return Ok(tail);
            }
        }
    }
    Ok(tail)
}

pub(super) async fn marks(
    connection: &Connection,
    tasks: &[TaskRef],
) -> Result<Vec<Mark>, Failure> {
    let tasks: Vec<i64> = tasks.iter().map(|task| task.0).collect();
    let rows = connection.query(MARKS, &[&tasks]).await?;
    Ok(rows.iter().map(read_mark).collect::<Result<_, _>>()?)
}

fn read_mark(row: &Row) -> Result<Mark, Error> {
    Ok(Mark {
        task: TaskRef(row.get(0)),
        seq: row::seq(row.get(1)),
        state: row::state(row.get(2))?,
    })
}
