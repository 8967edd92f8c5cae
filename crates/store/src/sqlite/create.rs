//! Opening tasks.

use nuncio_protocol::state::Phase;
use nuncio_tasks::{
    log::{Batch, Seq, Snapshot},
    store::{Create, Created, Epoch, Error, Head, TaskRef, Wake, order},
};
use rusqlite::{Connection, OptionalExtension, ffi};

use super::{
    extras,
    fault::Fault,
    keys,
    place::{self, PlaceKey},
    row::{Holding, Stored, integer, moment, nanos_beyond},
    webhook,
    writer::Writing,
};
use crate::piece::{self, Piece};

pub(super) fn create(writing: Writing<'_>, create: &Create) -> Result<Created, Fault> {
    let Writing { connection, now, ledger } = writing;
    create.check_note()?;
    let place = place::intern(writing, &create.place)?;
    if let Some(key) = &create.key
        && let Some(used) = keys::find(connection, place.place, key)?
    {
        let stored = Stored::by_key(connection, used.task, &now)?;
        return Ok(Created::Repeated(stored.map(|stored| stored.head)));
    }
    check(writing, place, create)?;
    let head = insert(writing, place, create)?;
    write_entries(connection, head.reference, Seq::START, &create.batch)?;
    if let Some(snapshot) = create.snapshot.as_ref()
        && snapshot.seq == head.seq
        && !is_short(snapshot)
    {
        write_snapshot_apart(connection, head.reference, snapshot)?;
    }
    ledger.tally(place, head.state, 1);
    if let Some(key) = &create.key {
        keys::insert(writing, place.place, key, &head, Seq(1))?;
    }
    webhook::put_all(writing, head.reference, &create.webhooks, Seq::START, head.seq)?;
    if let Some(note) = &create.note {
        extras::write_note(connection, head.reference, note)?;
    }
    if let Some(parent) = &create.parent {
        extras::write_parent(connection, head.reference, place.tenant, parent)?;
    }
    Ok(Created::New(head))
}

fn check(writing: Writing<'_>, place: PlaceKey, create: &Create) -> Result<(), Fault> {
    let connection = writing.connection;
    let caller = create.place.caller.as_str();
    if create.context_is_given
        && is_foreign(connection, create.batch.context().as_str(), place.tenant, caller)?
    {
        return Err(Error::ForeignContext.into());
    }
    let limit = create.most_unfinished;
    if !create.batch.to().is_terminal()
        && place::unfinished(writing, place.tenant, caller)? >= i64::from(limit)
    {
        return Err(Error::TooMany { what: "unfinished tasks", limit }.into());
    }
    Ok(())
}

/// Tells whether another caller of the tenant has a task in a conversation.
fn is_foreign(
    connection: &Connection,
    context: &str,
    tenant: i64,
    caller: &str,
) -> Result<bool, Fault> {
    let found = connection
        .prepare_cached(
            "SELECT 1 FROM tasks t JOIN places p ON p.key = t.place \
             WHERE t.context = ?1 AND p.tenant = ?2 AND p.caller <> ?3 LIMIT 1",
        )?
        .query_row((context, tenant, caller), |_| Ok(()))
        .optional()?;
    Ok(found.is_some())
}

fn insert(writing: Writing<'_>, place: PlaceKey, create: &Create) -> Result<Head, Fault> {
    let Writing { connection, now, .. } = writing;
    let batch = &create.batch;
    let state = batch.to();
    let updated = batch.updated().map_or_else(|| moment(0, 0), Ok)?;
    let seq = Seq::START.plus(batch.records().len());
    let (holding, until) = match (state.phase(), &create.lease) {
        (Phase::Terminal, _) | (Phase::Interrupted, None) => (Holding::Free, now.elapsed),
        (_, Some(lease)) => (Holding::Held, now.lease_end(lease.lasts)),
        (Phase::Active, None) => (Holding::Wanted, now.elapsed),
    };
    let epoch = Epoch(u64::from(create.lease.is_some()));
    let wake_at = match create.wake {
        Wake::After(delay) if !state.is_terminal() => Some(now.after(delay)),
        Wake::After(_) | Wake::Never | Wake::Keep => None,
    };
    let snapshot = create.snapshot.as_ref();
    let snapshot = snapshot.filter(|snapshot| snapshot.seq == seq && is_short(snapshot));
    let key = connection
        .prepare_cached(
            "INSERT INTO tasks (id, context, tenant, place, state, updated, updated_nanos, seq, \
             bytes, epoch, lease, lease_run, lease_until, wake_at, ended_at, snapshot, head, \
             history, artifacts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, \
             ?14, ?15, ?16, ?17, ?18, ?19)",
        )?
        .insert(rusqlite::params![
            batch.task().as_str(),
            batch.context().as_str(),
            place.tenant,
            place.place,
            state.number(),
            order(updated),
            nanos_beyond(updated),
            integer(seq.0),
            integer(batch.bytes() as u64),
            integer(epoch.0),
            holding as i64,
            now.run,
            until,
            wake_at,
            state.is_terminal().then_some(now.wall),
            snapshot.map(|snapshot| integer(snapshot.seq.0)),
            snapshot.map(|snapshot| text(&snapshot.task)).transpose()?,
            snapshot.map(|snapshot| text(&snapshot.history)).transpose()?,
            snapshot.map(|snapshot| text(&snapshot.artifacts)).transpose()?,
        ])
        .map_err(|error| match error.sqlite_error() {
            // Nothing else of a new row is unique. A look before would cost more than this.
            Some(failure) if failure.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE => {
                Fault::Refused(Error::Exists(batch.task().clone()))
            }
            _ => error.into(),
        })?;
    Ok(Head {
        reference: TaskRef(key),
        id: batch.task().clone(),
        context: batch.context().clone(),
        place: create.place.clone(),
        state,
        updated,
        seq,
        bytes: batch.bytes() as u64,
        epoch,
        owned: holding == Holding::Held && now.is_within(now.run, until),
    })
}

/// Writes the records of a batch behind a place in a log.
pub(super) fn write_entries(
    connection: &Connection,
    task: TaskRef,
    after: Seq,
    batch: &Batch,
) -> Result<(), Fault> {
    let mut statement =
        connection.prepare_cached("INSERT INTO pieces (task, seq, body) VALUES (?1, ?2, ?3)")?;
    for Piece { last, body } in piece::pieces(after, batch.records())? {
        statement.execute((task.0, integer(last.0), body))?;
    }
    Ok(())
}

/// A snapshot of so many bytes stands in the row of its task. Some of them fit on a page, so that
/// to write the row anew is still to write one page.
const SHORT_SNAPSHOT: usize = 2048;

fn is_short(snapshot: &Snapshot) -> bool {
    let Snapshot { task, history, artifacts, .. } = snapshot;
    task.len() + history.len() + artifacts.len() <= SHORT_SNAPSHOT
}

/// Keeps a snapshot in place of an older one.
///
/// Invariant: a task has one, in its row or apart.
pub(super) fn write_snapshot(
    connection: &Connection,
    task: TaskRef,
    snapshot: &Snapshot,
) -> Result<(), Fault> {
    if !is_short(snapshot) {
        connection
            .prepare_cached(
                "UPDATE tasks SET snapshot = NULL, head = NULL, history = NULL, artifacts = NULL \
                 WHERE key = ?1 AND snapshot IS NOT NULL",
            )?
            .execute((task.0,))?;
        return write_snapshot_apart(connection, task, snapshot);
    }
    connection.prepare_cached("DELETE FROM snapshots WHERE key = ?1")?.execute((task.0,))?;
    connection
        .prepare_cached(
            "UPDATE tasks SET snapshot = ?2, head = ?3, history = ?4, artifacts = ?5 \
             WHERE key = ?1",
        )?
        .execute((
            task.0,
            integer(snapshot.seq.0),
            text(&snapshot.task)?,
            text(&snapshot.history)?,
            text(&snapshot.artifacts)?,
        ))?;
    Ok(())
}

fn write_snapshot_apart(
    connection: &Connection,
    task: TaskRef,
    snapshot: &Snapshot,
) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO snapshots (key, seq, task, history, artifacts) \
             VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT DO UPDATE SET seq = excluded.seq, task = excluded.task, \
             history = excluded.history, artifacts = excluded.artifacts",
        )?
        .execute((
            task.0,
            integer(snapshot.seq.0),
            text(&snapshot.task)?,
            text(&snapshot.history)?,
            text(&snapshot.artifacts)?,
        ))?;
    Ok(())
}

fn text(json: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(json).map_err(|error| Fault::spoilt(error.to_string()))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nuncio_tasks::{
        scope::{Name, Place},
        store::Want,
    };

    use super::*;
    use crate::sqlite::{clock::Moment, migrations, read};

    const TASK: TaskRef = TaskRef(1);

    fn opened() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        migrations::migrate(&mut connection).unwrap();
        connection
            .execute_batch(
                "INSERT INTO tenants (name) VALUES ('acme'); \
                 INSERT INTO places (tenant, caller, agent) VALUES (1, 'ann', 'echo'); \
                 INSERT INTO tasks (id, context, tenant, place, state, updated, updated_nanos, \
                    seq, bytes, epoch, lease, lease_run, lease_until) \
                 VALUES ('one', 'talk', 1, 1, 3, 0, 0, 4, 30, 1, 0, 1, 0)",
            )
            .unwrap();
        connection
    }

    fn snapshot(bytes: usize) -> Snapshot {
        let text = Bytes::from("x".repeat(bytes));
        Snapshot { seq: Seq(4), task: text.clone(), history: text.clone(), artifacts: text }
    }

    fn kept(connection: &Connection, want: Want) -> Snapshot {
        let name = |text: &str| Name::parse(text).unwrap();
        let place = Place { tenant: name("acme"), agent: name("echo"), caller: name("ann") };
        let now = Moment { run: 1, elapsed: 0, wall: 0 };
        let found = read::load(connection, TASK, place, want, &now, u64::MAX).unwrap().unwrap();
        found.whole().expect("all may be read").snapshot.expect("there is one")
    }

    /// How many there are in the rows of tasks and apart.
    fn places(connection: &Connection) -> (i64, i64) {
        let sql = "SELECT (SELECT count(head) FROM tasks), (SELECT count(*) FROM snapshots)";
        connection.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }

    #[test]
    fn a_snapshot_is_kept_once_however_long_it_becomes() {
        let connection = opened();
        let (short, long) = (SHORT_SNAPSHOT / 3, SHORT_SNAPSHOT / 3 + 1);
        for (bytes, expected) in [(short, (1, 0)), (long, (0, 1)), (short, (1, 0)), (1, (1, 0))] {
            write_snapshot(&connection, TASK, &snapshot(bytes)).unwrap();
            assert_eq!(places(&connection), expected, "{bytes}");
            assert_eq!(kept(&connection, Want::ALL), snapshot(bytes));
            let none =
                Snapshot { history: Bytes::new(), artifacts: Bytes::new(), ..snapshot(bytes) };
            let head = Want { history: false, artifacts: false, ..Want::ALL };
            assert_eq!(kept(&connection, head), none);
        }
    }
}
