//! Listing tasks.
//!
//! Each pair of a place and a state is a stream of tasks in the order of the list, and so is
//! each pair of a tenant and a state; an index holds both. A page is merged from the streams
//! that a scope and a filter leave, and the total is the sum of their tallies. So a page costs
//! the same whether there are a thousand tasks or a million.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet},
};

use nuncio_protocol::state::TaskState;
use nuncio_tasks::{
    scope::Scope,
    store::{Filter, Listed, Page, Position, TaskRef, Want, order_from},
};
use rusqlite::{Connection, Row};

use super::{
    clock::Moment,
    fault::Fault,
    names::Names,
    place::{self, WHOLE_TENANT},
    read::{Reader, Reading},
    row,
};

/// Which page of which list.
pub(super) struct Question {
    pub(super) scope: Scope,
    pub(super) filter: Filter,
    pub(super) page: Page,
}

impl Question {
    /// Tells whether the page takes no longer than to read what is on it.
    pub(super) fn is_short(&self) -> bool {
        let is_few_streams = self.scope.agent.is_some() == self.scope.caller.is_some();
        is_few_streams
            && self.filter.context.is_none()
            && self.filter.updated_from.is_none()
            && self.page.size <= MOST_AT_ONCE
    }
}

/// So many tasks are read on the caller's thread.
const MOST_AT_ONCE: usize = 100;

/// Reads a page; nothing if the tasks on it have more text than so many bytes.
pub(super) fn list(
    connection: &Connection,
    names: &Names,
    Question { scope, filter, page }: &Question,
    now: &Moment,
    most_bytes: u64,
) -> Result<Option<Listed>, Fault> {
    let mut found = Found { first: Newest::of(page), total: 0 };
    if let Some(tenant) = names.tenant(connection, &scope.tenant)? {
        let places = place::within(connection, tenant, scope)?;
        let search = Search { connection, filter, after: page.after.as_ref(), tenant };
        match &filter.context {
            Some(context) => search.conversation(context.as_str(), places, &mut found)?,
            None => search.streams(places, &mut found)?,
        }
    }
    let mut keys = found.first.into_sorted();
    let more = keys.len() > page.size;
    keys.truncate(page.size);
    let want = Want { at: None, history: page.history, artifacts: page.artifacts };
    let mut tasks = Vec::with_capacity(keys.len());
    let mut reader = Reader::new(connection, want)?;
    let mut left = most_bytes;
    for (task, place) in keys {
        let place = names.place(connection, place, &scope.tenant)?;
        match reader.load(task, place, now, left)? {
            Some(Reading::Whole(loaded)) => {
                left -= loaded.head.bytes.min(left);
                tasks.push(loaded);
            }
            Some(Reading::TooLong) => return Ok(None),
            None => {}
        }
    }
    Ok(Some(Listed { tasks, total: found.total, more }))
}

struct Search<'a> {
    connection: &'a Connection,
    filter: &'a Filter,
    after: Option<&'a Position>,
    tenant: i64,
}

/// What a search has come upon so far.
struct Found {
    first: Newest,
    total: u64,
}

/// Tasks of one state in the order of the list.
struct Stream {
    /// A place, or the whole tenant.
    place: i64,
    state: i32,
    tasks: i64,
}

impl Search<'_> {
    /// Searches by scope, and by state if the filter says so.
    fn streams(&self, places: Option<Vec<i64>>, found: &mut Found) -> Result<(), Fault> {
        let Some(places) = places else {
            let streams = self.tallied(WHOLE_TENANT)?;
            self.count(&streams, found)?;
            return self.merge(&streams, None, &mut found.first);
        };
        let mut streams = Vec::new();
        for place in &places {
            streams.extend(self.tallied(*place)?);
        }
        self.count(&streams, found)?;
        let whole = if streams.len() > FEW { self.tallied(WHOLE_TENANT)? } else { Vec::new() };
        if is_walk_cheaper(&streams, &whole, found.first.wanted) {
            let places = places.into_iter().collect();
            return self.merge(&whole, Some(&places), &mut found.first);
        }
        self.merge(&streams, None, &mut found.first)
    }

    fn tallied(&self, place: i64) -> Result<Vec<Stream>, Fault> {
        let mut statement = self.connection.prepare_cached(
            "SELECT state, tasks FROM tallies \
             WHERE tenant = ?1 AND place = ?2 AND tasks > 0 ORDER BY tasks DESC",
        )?;
        let mut rows = statement.query((self.tenant, place))?;
        let mut streams = Vec::new();
        while let Some(row) = rows.next()? {
            let stream = Stream { place, state: row.get(0)?, tasks: row.get(1)? };
            if self.filter.wants(row::state(stream.state)?) {
                streams.push(stream);
            }
        }
        Ok(streams)
    }

    fn count(&self, streams: &[Stream], found: &mut Found) -> Result<(), Fault> {
        for stream in streams {
            let tasks = match self.filter.updated_from {
                None => stream.tasks,
                Some(from) => self
                    .connection
                    .prepare_cached(if stream.place == WHOLE_TENANT {
                        "SELECT count(*) FROM tasks \
                         WHERE tenant = ?1 AND state = ?2 AND updated >= ?3"
                    } else {
                        "SELECT count(*) FROM tasks \
                         WHERE place = ?1 AND state = ?2 AND updated >= ?3"
                    })?
                    .query_row((self.root(stream), stream.state, order_from(from)), |row| {
                        row.get(0)
                    })?,
            };
            found.total += u64::try_from(tasks).unwrap_or_default();
        }
        Ok(())
    }

    /// Takes from each stream what belongs on the page, of the given places only.
    fn merge(
        &self,
        streams: &[Stream],
        places: Option<&HashSet<i64>>,
        first: &mut Newest,
    ) -> Result<(), Fault> {
        let from = self.filter.updated_from.map_or(i64::MIN, order_from);
        let before = self.after.map_or((i64::MAX, ""), |after| (after.updated, after.id.as_str()));
        for stream in streams {
            // A stream is left as soon as the page is full of newer tasks, so it needs no limit.
            let mut statement =
                self.connection.prepare_cached(if stream.place == WHOLE_TENANT {
                    "SELECT updated, id, key, place FROM tasks \
                     WHERE tenant = ?1 AND state = ?2 AND updated >= ?3 \
                     AND (updated, id) < (?4, ?5) \
                     ORDER BY updated DESC, id DESC"
                } else {
                    "SELECT updated, id, key, place FROM tasks \
                     WHERE place = ?1 AND state = ?2 AND updated >= ?3 \
                     AND (updated, id) < (?4, ?5) \
                     ORDER BY updated DESC, id DESC"
                })?;
            let mut rows =
                statement.query((self.root(stream), stream.state, from, before.0, before.1))?;
            while let Some(row) = rows.next()? {
                if places.is_some_and(|places| row.get(3).is_ok_and(|key| !places.contains(&key))) {
                    continue;
                }
                if !first.offer(row)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Searches one conversation. It has as many tasks as a caller and an agent have turns, so
    /// all are looked at.
    fn conversation(
        &self,
        context: &str,
        places: Option<Vec<i64>>,
        found: &mut Found,
    ) -> Result<(), Fault> {
        let places: Option<HashSet<i64>> = places.map(|places| places.into_iter().collect());
        let from = self.filter.updated_from.map_or(i64::MIN, order_from);
        let mut statement = self.connection.prepare_cached(
            "SELECT updated, id, key, place, state FROM tasks \
             WHERE context = ?1 AND tenant = ?2 AND updated >= ?3",
        )?;
        let mut rows = statement.query((context, self.tenant, from))?;
        while let Some(row) = rows.next()? {
            let (place, state): (i64, TaskState) = (row.get(3)?, row::state(row.get(4)?)?);
            if places.as_ref().is_none_or(|places| places.contains(&place))
                && self.filter.wants(state)
            {
                found.total += 1;
                if self.is_behind(row)? {
                    found.first.offer(row)?;
                }
            }
        }
        Ok(())
    }

    fn root(&self, stream: &Stream) -> i64 {
        if stream.place == WHOLE_TENANT { self.tenant } else { stream.place }
    }

    /// Tells whether a row stands behind the page before.
    fn is_behind(&self, row: &Row<'_>) -> Result<bool, Fault> {
        let Some(after) = self.after else { return Ok(true) };
        let updated: i64 = row.get(0)?;
        Ok((updated, id(row)?) < (after.updated, after.id.as_str()))
    }
}

/// So few streams are merged without further thought.
const FEW: usize = 16;

/// Beginning a stream takes about as long as reading so many rows of one.
const ROWS_PER_STREAM: i64 = 8;

/// Decides whether to walk through the tasks of the whole tenant, leaving out those of other
/// places, rather than to begin a stream for each place.
fn is_walk_cheaper(streams: &[Stream], whole: &[Stream], wanted: usize) -> bool {
    let sum = |streams: &[Stream]| streams.iter().map(|stream| stream.tasks).sum::<i64>();
    let (seen, all) = (sum(streams), sum(whole));
    let steps = i64::try_from(wanted).unwrap_or(i64::MAX).saturating_mul(all) / seen.max(1);
    let begun = i64::try_from(streams.len()).unwrap_or(i64::MAX);
    streams.len() > FEW && steps < begun.saturating_mul(ROWS_PER_STREAM)
}

fn id<'a>(row: &'a Row<'_>) -> Result<&'a str, Fault> {
    row.get_ref(1)?.as_str().map_err(|error| Fault::spoilt(error.to_string()))
}

/// The newest tasks of all that were offered: a page, and one more to tell whether there are
/// more.
struct Newest {
    wanted: usize,
    /// The oldest on top.
    heap: BinaryHeap<Reverse<Offered>>,
}

/// Time, identifier, handle and place of a task.
type Offered = (i64, Box<str>, i64, i64);

impl Newest {
    fn of(page: &Page) -> Self {
        Self { wanted: page.size.saturating_add(1), heap: BinaryHeap::new() }
    }

    /// Takes a task if it is new enough, and tells whether it was.
    fn offer(&mut self, row: &Row<'_>) -> Result<bool, Fault> {
        let updated: i64 = row.get(0)?;
        let id = id(row)?;
        if self.heap.len() >= self.wanted {
            let is_newer = self
                .heap
                .peek()
                .is_some_and(|Reverse(oldest)| (oldest.0, &*oldest.1) < (updated, id));
            if !is_newer {
                return Ok(false);
            }
            self.heap.pop();
        }
        self.heap.push(Reverse((updated, id.into(), row.get(2)?, row.get(3)?)));
        Ok(true)
    }

    /// Returns the newest first, each with its place.
    fn into_sorted(self) -> Vec<(TaskRef, i64)> {
        let sorted = self.heap.into_sorted_vec().into_iter();
        sorted.map(|Reverse((_, _, key, place))| (TaskRef(key), place)).collect()
    }
}
