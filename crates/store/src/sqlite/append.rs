//! Writing behind the log of a task.

use nuncio_protocol::state::Phase;
use nuncio_tasks::store::{Append, Appended, Error, Tenancy, Wake, order};

use super::{
    create::{write_entries, write_snapshot},
    extras,
    fault::Fault,
    keys,
    place::PlaceKey,
    row::{Holding, Stored, integer, nanos_beyond},
    webhook,
    writer::Writing,
};

pub(super) fn append(writing: Writing<'_>, append: &Append) -> Result<Appended, Fault> {
    let Writing { connection, now, .. } = writing;
    append.check_note()?;
    let mut stored =
        Stored::by_key(connection, append.task, &now)?.ok_or(Fault::Refused(Error::Gone))?;
    if let Some(key) = &append.key
        && let Some(used) = keys::find(connection, stored.place, key)?
    {
        return Ok(Appended::Repeated { task: used.task_id, seq: used.seq });
    }
    check(&stored, append)?;

    let before = stored.head.seq;
    write_entries(connection, append.task, before, &append.batch)?;
    write_progress(writing, &mut stored, append)?;
    let taken = write_tenancy(writing, &mut stored, append)?;
    let head = stored.head;
    if let Some(snapshot) = append.snapshot.as_ref().filter(|snapshot| snapshot.seq == head.seq) {
        write_snapshot(connection, append.task, snapshot)?;
    }
    if append.forget_key {
        keys::forget(connection, append.task)?;
    }
    if let Some(key) = &append.key {
        let first = if append.batch.is_empty() { head.seq } else { before.next() };
        keys::insert(writing, stored.place, key, &head, first)?;
    }
    if stored.webhooks > 0 && !append.batch.is_empty() {
        webhook::wake(writing, append.task)?;
    }
    webhook::put_all(writing, append.task, &append.webhooks, before, head.seq)?;
    if let Some(note) = &append.note {
        extras::write_note(connection, append.task, note)?;
    }
    Ok(Appended::Done { head, taken })
}

fn check(stored: &Stored, append: &Append) -> Result<(), Fault> {
    let current = stored.head.epoch;
    if let Some(held) = append.epoch.filter(|held| *held != current) {
        return Err(Error::Fenced { held, current }.into());
    }
    let (expected, found) = (append.batch.from(), stored.head.state);
    if expected != found {
        return Err(Error::StateChanged { expected, found }.into());
    }
    Ok(())
}

/// Moves the head. Columns that stay as they are are left out, because each that is named
/// costs a change of every index it is in.
fn write_progress(writing: Writing<'_>, stored: &mut Stored, append: &Append) -> Result<(), Fault> {
    let connection = writing.connection;
    let batch = &append.batch;
    if batch.is_empty() {
        return Ok(());
    }
    let head = &mut stored.head;
    let earlier = head.state;
    head.seq = head.seq.plus(batch.records().len());
    head.bytes += batch.bytes() as u64;
    head.state = batch.to();
    if head.state == earlier && batch.updated().is_none() {
        connection
            .prepare_cached("UPDATE tasks SET seq = ?2, bytes = ?3 WHERE key = ?1")?
            .execute((append.task.0, integer(head.seq.0), integer(head.bytes)))?;
        return Ok(());
    }
    head.updated = batch.updated().unwrap_or(head.updated);
    connection
        .prepare_cached(
            "UPDATE tasks SET seq = ?2, bytes = ?3, state = ?4, updated = ?5, \
             updated_nanos = ?6 WHERE key = ?1",
        )?
        .execute((
            append.task.0,
            integer(head.seq.0),
            integer(head.bytes),
            head.state.number(),
            order(head.updated),
            nanos_beyond(head.updated),
        ))?;
    if head.state != earlier {
        let key = PlaceKey { tenant: stored.tenant, place: stored.place };
        writing.ledger.tally(key, earlier, -1);
        writing.ledger.tally(key, head.state, 1);
    }
    Ok(())
}

/// Decides who has the task afterwards and when it wakes, and tells whether the lease was
/// taken.
fn write_tenancy(
    writing: Writing<'_>,
    stored: &mut Stored,
    append: &Append,
) -> Result<bool, Fault> {
    let now = writing.now;
    let phase = stored.head.state.phase();
    if append.batch.from().is_terminal() {
        return Ok(false);
    }
    let mut taken = false;
    // `None` leaves the lease as it is.
    let lease = match &append.tenancy {
        _ if phase == Phase::Terminal => Some((Holding::Free, now.elapsed)),
        Tenancy::Take(lease) if !stored.head.owned => {
            taken = true;
            stored.head.epoch.0 += 1;
            Some((Holding::Held, now.lease_end(lease.lasts)))
        }
        Tenancy::End => Some((without_owner(phase), now.elapsed)),
        Tenancy::Keep | Tenancy::Take(_) => match stored.holding {
            Holding::Held | Holding::Released => None,
            Holding::Free | Holding::Wanted => {
                let holding = without_owner(phase);
                (holding != stored.holding).then_some((holding, now.elapsed))
            }
        },
    };
    let wake_at = match append.wake {
        _ if phase == Phase::Terminal => None,
        Wake::Keep => stored.wake_at,
        Wake::Never => None,
        Wake::After(delay) => Some(now.after(delay)),
    };
    if let Some((holding, until)) = lease {
        stored.head.owned = holding == Holding::Held && now.is_within(now.run, until);
        writing
            .connection
            .prepare_cached(
                "UPDATE tasks SET epoch = ?2, lease = ?3, lease_run = ?4, lease_until = ?5 \
                 WHERE key = ?1",
            )?
            .execute((
                append.task.0,
                integer(stored.head.epoch.0),
                holding as i64,
                now.run,
                until,
            ))?;
    }
    if wake_at != stored.wake_at {
        writing
            .connection
            .prepare_cached("UPDATE tasks SET wake_at = ?2 WHERE key = ?1")?
            .execute((append.task.0, wake_at))?;
    }
    if phase == Phase::Terminal {
        writing
            .connection
            .prepare_cached("UPDATE tasks SET ended_at = ?2 WHERE key = ?1")?
            .execute((append.task.0, now.wall))?;
    }
    Ok(taken)
}

/// A task that nobody has needs an owner exactly while the agent has the turn.
fn without_owner(phase: Phase) -> Holding {
    if phase == Phase::Active { Holding::Wanted } else { Holding::Free }
}
