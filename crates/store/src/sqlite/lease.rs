//! Who works on what.

use std::{collections::HashSet, time::Duration};

use nuncio_tasks::{
    scope::Name,
    store::{Claim, Claimed, Lease, Reason, TaskRef, Tenure},
};

use super::{
    clock::{Moment, micros},
    fault::Fault,
    row::{Holding, Stored, integer, select_tasks},
    writer::Writing,
};

/// Takes tasks that need an owner.
pub(super) fn claim(writing: Writing<'_>, claim: &Claim) -> Result<Vec<Claimed>, Fault> {
    let wanted = needing_an_owner(writing, claim)?;
    wanted.into_iter().map(|(stored, reason)| take(writing, &claim.lease, stored, reason)).collect()
}

/// Finds tasks that need an owner, those first that have needed one for longest.
fn needing_an_owner(writing: Writing<'_>, claim: &Claim) -> Result<Vec<(Stored, Reason)>, Fault> {
    let Writing { connection, now, .. } = writing;
    let agents: HashSet<&Name> = claim.agents.iter().collect();
    let is_ours = |stored: &Stored, needed_for: i64| {
        agents.contains(&stored.head.place.agent) || needed_for >= micros(claim.orphaned_after)
    };
    let mut found = Vec::new();

    // Leases of earlier runs are over since this one began.
    let earlier =
        select_tasks!("WHERE t.lease > 0 AND t.lease_run < ?1 ORDER BY t.lease_run, t.lease_until");
    let over = select_tasks!(
        "WHERE t.lease > 0 AND t.lease_run = ?1 AND t.lease_until <= ?2 ORDER BY t.lease_until"
    );
    for (sql, until) in [(earlier, None), (over, Some(now.elapsed))] {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = match until {
            None => statement.query((now.run,))?,
            Some(until) => statement.query((now.run, until))?,
        };
        while found.len() < claim.most
            && let Some(row) = rows.next()?
        {
            let stored = Stored::read(row, &now)?;
            let since = if until.is_some() { row.get(14)? } else { 0 };
            if is_ours(&stored, now.elapsed.saturating_sub(since)) {
                let reason = reason(&stored);
                found.push((stored, reason));
            }
        }
    }

    let due = select_tasks!(
        "WHERE t.wake_at IS NOT NULL AND t.wake_at <= ?1 AND t.lease = 0 ORDER BY t.wake_at"
    );
    let mut statement = connection.prepare_cached(due)?;
    let mut rows = statement.query((now.wall,))?;
    while found.len() < claim.most
        && let Some(row) = rows.next()?
    {
        let stored = Stored::read(row, &now)?;
        let needed_for = stored.wake_at.map_or(0, |wake_at| now.wall.saturating_sub(wake_at));
        if is_ours(&stored, needed_for) {
            found.push((stored, Reason::Woken));
        }
    }
    Ok(found)
}

fn reason(stored: &Stored) -> Reason {
    match stored.holding {
        Holding::Held => Reason::Abandoned { times: stored.abandoned.saturating_add(1) },
        Holding::Free | Holding::Released | Holding::Wanted => Reason::Released,
    }
}

fn take(
    writing: Writing<'_>,
    lease: &Lease,
    mut stored: Stored,
    reason: Reason,
) -> Result<Claimed, Fault> {
    let Writing { connection, now, .. } = writing;
    let until = now.lease_end(lease.lasts);
    let head = &mut stored.head;
    head.epoch.0 += 1;
    head.owned = now.is_within(now.run, until);
    let abandoned = match reason {
        Reason::Abandoned { times } => times,
        Reason::Released | Reason::Woken => stored.abandoned,
    };
    connection
        .prepare_cached(
            "UPDATE tasks SET epoch = ?2, lease = ?3, lease_run = ?4, lease_until = ?5, \
             abandoned = ?6 WHERE key = ?1",
        )?
        .execute((
            head.reference.0,
            integer(head.epoch.0),
            Holding::Held as i64,
            now.run,
            until,
            abandoned,
        ))?;
    if reason == Reason::Woken {
        connection
            .prepare_cached("UPDATE tasks SET wake_at = NULL WHERE key = ?1")?
            .execute((head.reference.0,))?;
    }
    Ok(Claimed { head: stored.head, reason })
}

/// Prolongs leases, and returns those that are lost.
pub(super) fn renew(
    writing: Writing<'_>,
    lasts: Duration,
    held: &[Tenure],
) -> Result<Vec<TaskRef>, Fault> {
    let until = writing.now.lease_end(lasts);
    change(writing, held, Holding::Held, until)
}

/// Gives leases back.
pub(super) fn release(writing: Writing<'_>, held: &[Tenure]) -> Result<(), Fault> {
    change(writing, held, Holding::Released, writing.now.elapsed).map(drop)
}

/// Changes leases that are held, and returns those that are not.
fn change(
    writing: Writing<'_>,
    held: &[Tenure],
    holding: Holding,
    until: i64,
) -> Result<Vec<TaskRef>, Fault> {
    let Moment { run, .. } = writing.now;
    let mut statement = writing.connection.prepare_cached(
        "UPDATE tasks SET lease = ?3, lease_run = ?4, lease_until = ?5 \
         WHERE key = ?1 AND epoch = ?2 AND lease = 1",
    )?;
    let mut lost = Vec::new();
    for tenure in held {
        let key = (tenure.task.0, integer(tenure.epoch.0), holding as i64, run, until);
        if statement.execute(key)? == 0 {
            lost.push(tenure.task);
        }
    }
    Ok(lost)
}
