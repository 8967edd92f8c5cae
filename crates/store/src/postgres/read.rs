//! Reading tasks and logs.

use std::collections::HashMap;

use futures_util::future::join;
use nuncio_protocol::ids::TaskId;
use nuncio_tasks::{
    log::{Entry, Seq, Snapshot},
    scope::{Place, Scope},
    store::{Error, Head, Limit, Loaded, Mark, Tail, TaskRef, Want},
};
use tokio_postgres::Row;

use super::{
    connection::Connection,
    error::Failure,
    place::Places,
    row::{self, OWN_COLUMNS, own_columns},
    text::quote,
};
use crate::piece;

/// How often reading begins anew when logs are removed meanwhile.
const MOST_TRIES: usize = 4;

/// The task of a tenant with an identifier.
///
/// The bounds and the order leave one index, as in `task_by_id`.
macro_rules! task {
    () => {
        " FROM tasks t WHERE t.tenant = $1 AND t.id >= $2 AND t.id <= $2 \
         ORDER BY t.tenant, t.id LIMIT 1"
    };
}

const FIND: &str = concat!("SELECT ", own_columns!(), task!());

/// With nothing of a snapshot that is newer than wanted, nor the parts that are not.
const LOAD: &str = concat!(
    "SELECT ",
    own_columns!(),
    ", CASE WHEN t.snapshot <= $5 THEN t.snapshot END, CASE WHEN t.snapshot <= $5 THEN t.head END, \
     CASE WHEN $3 AND t.snapshot <= $5 THEN t.history END, \
     CASE WHEN $4 AND t.snapshot <= $5 THEN t.artifacts END",
    task!()
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
    places: &Places,
    scope: &Scope,
    id: &TaskId,
) -> Result<Option<Head>, Failure> {
    let Some(tenant) = places.tenant(connection, &scope.tenant).await? else { return Ok(None) };
    let rows = connection.query(FIND, &[&tenant, &quote(id.as_str())]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let names = places.names(connection, std::iter::once(row::place(row))).await?;
    let place = names.of(row::place(row))?;
    Ok(scope.sees(place).then(|| row::own_head(row, place)).transpose()?)
}

pub(super) async fn load(
    connection: &Connection,
    places: &Places,
    scope: &Scope,
    id: &TaskId,
    want: Want,
) -> Result<Option<Loaded>, Failure> {
    let Some(tenant) = places.tenant(connection, &scope.tenant).await? else { return Ok(None) };
    let id = quote(id.as_str());
    let at = want.at.map_or(i64::MAX, |at| row::signed(at.0));
    for _ in 0..MOST_TRIES {
        let rows =
            connection.query(LOAD, &[&tenant, &id, &want.history, &want.artifacts, &at]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let names = places.names(connection, std::iter::once(row::place(row))).await?;
        let place = names.of(row::place(row))?;
        if !scope.sees(place) {
            return Ok(None);
        }
        let loaded = with_entries(connection, vec![found(row, want, place)?]).await?;
        if let Some(loaded) = loaded.and_then(|mut loaded| loaded.pop()) {
            return Ok(Some(loaded));
        }
    }
    Err(Error::Spoilt("a log has a gap".to_owned()).into())
}

/// Reads a head and a snapshot, of which the latter may be missing.
pub(super) fn found(row: &Row, want: Want, place: &Place) -> Result<Loaded, Error> {
    let head = row::own_head(row, place)?;
    Ok(Loaded { head, snapshot: row::snapshot(row, OWN_COLUMNS), entries: Vec::new(), want })
}

/// Adds to tasks the entries behind their snapshots. Most need none, and stay where they are: a
/// page of them is large enough for every move to be seen.
///
/// `None` if a log was removed since the head of its task was read: there is a snapshot now that
/// makes it superfluous, or the task is gone.
pub(super) async fn with_entries(
    connection: &Connection,
    mut tasks: Vec<Loaded>,
) -> Result<Option<Vec<Loaded>>, Failure> {
    let mut wanted: [Vec<i64>; 3] = Default::default();
    for loaded in &tasks {
        let (after, upto) = span(loaded);
        if after < upto {
            wanted[0].push(loaded.head.reference.0);
            wanted[1].push(row::signed(after.0));
            wanted[2].push(row::signed(upto.0));
        }
    }
    if wanted[0].is_empty() {
        return Ok(Some(tasks));
    }
    let [keys, after, upto] = &wanted;
    let mut entries: HashMap<i64, Vec<Entry>> = HashMap::new();
    for row in connection.query(ENTRIES, &[keys, after, upto]).await? {
        entries.entry(row.get(0)).or_default().extend(row::entries(&row, 1)?);
    }
    for loaded in &mut tasks {
        let (after, upto) = span(loaded);
        loaded.entries = entries.remove(&loaded.head.reference.0).unwrap_or_default();
        loaded.entries.retain(|entry| after < entry.seq && entry.seq <= upto);
        if loaded.entries.len() as u64 == upto.0.saturating_sub(after.0) {
            continue;
        }
        if loaded.snapshot.is_some() || loaded.want.at.is_none() {
            return Ok(None);
        }
        // The log does not reach back so far.
        loaded.entries.clear();
    }
    Ok(Some(tasks))
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
