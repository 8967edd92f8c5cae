//! Leases of tasks.

use nuncio_tasks::store::{Claim, Claimed, Lease, Reason, TaskRef, Tenure};

use super::{
    connection::Connection,
    error::Failure,
    row::{self, HEAD_COLUMNS, count, head_columns, micros, signed},
    text::quote,
};

/// Takes locked tasks: `$reason` says why, of the row as it was, and `$set` what else changes.
///
/// Parameters: the owner, how long in microseconds, the agents, the time until another agent's
/// task is an orphan, and how many.
macro_rules! take {
    ($condition:expr, $reason:expr, $set:expr) => {
        concat!(
            "WITH due AS (SELECT t.key, ",
            $reason,
            " AS reason FROM tasks t \
             JOIN places p ON p.key = t.place CROSS JOIN (SELECT clock_timestamp() AS at) now \
             WHERE ",
            $condition,
            " LIMIT $5 FOR UPDATE OF t SKIP LOCKED) \
             UPDATE tasks t SET lease = 1, lease_owner = $1, epoch = t.epoch + 1, \
             lease_until = clock_timestamp() + $2::bigint * interval '1 microsecond', ",
            $set,
            " FROM due, places p, tenants n \
             WHERE t.key = due.key AND p.key = t.place AND n.key = t.tenant \
             RETURNING ",
            head_columns!(),
            ", due.reason, t.abandoned"
        )
    };
}

/// Whether a process may take a task that has needed an owner since `$since`.
macro_rules! is_for_us {
    ($since:expr) => {
        concat!(
            "(p.agent = ANY($3::text[]) OR ",
            $since,
            " <= now.at - $4::bigint * interval '1 microsecond')"
        )
    };
}

const ABANDONED: i16 = 1;
const RELEASED: i16 = 2;

/// The index has the tasks with a lease; whether it is over does not stand there, so that
/// renewals need not touch it.
const TAKE_OVER: &str = take!(
    concat!("t.lease > 0 AND t.lease_until <= now.at AND ", is_for_us!("t.lease_until")),
    "CASE WHEN t.lease = 1 THEN 1::smallint ELSE 2::smallint END",
    "abandoned = t.abandoned + CASE WHEN due.reason = 1 THEN 1 ELSE 0 END"
);

const WAKE: &str = take!(
    concat!(
        "t.wake_at <= (SELECT clock_timestamp()) AND t.lease = 0 AND ",
        is_for_us!("t.wake_at")
    ),
    "3::smallint",
    "wake_at = NULL"
);

/// Locks in the order of keys, as everybody does. The sum keeps the planner from going through
/// all leases of the store instead of those that are held.
macro_rules! held {
    ($condition:expr) => {
        concat!(
            "WITH held AS (SELECT t.key FROM unnest($1::bigint[], $2::bigint[]) u (key, epoch) \
             JOIN tasks t ON t.key = u.key AND t.epoch = u.epoch WHERE ",
            $condition,
            " ORDER BY t.key FOR UPDATE OF t) "
        )
    };
}

const RENEW: &str = concat!(
    held!("t.lease + 0 = 1 AND t.lease_owner = $3"),
    "UPDATE tasks t SET lease_until = clock_timestamp() + $4::bigint * interval '1 microsecond' \
     FROM held WHERE t.key = held.key RETURNING t.key"
);

const RELEASE: &str = concat!(
    held!("t.lease + 0 = 1"),
    "UPDATE tasks t SET lease = 2, lease_owner = NULL, lease_until = clock_timestamp() \
     FROM held WHERE t.key = held.key"
);

pub(super) async fn claim(connection: &Connection, claim: &Claim) -> Result<Vec<Claimed>, Failure> {
    let owner = quote(claim.lease.owner.as_str());
    let lasts = micros(claim.lease.lasts);
    let agents: Vec<_> = claim.agents.iter().map(|agent| quote(agent.as_str())).collect();
    let orphaned = micros(claim.orphaned_after);
    let mut claimed = Vec::new();
    for statement in [TAKE_OVER, WAKE] {
        let most = count(claim.most - claimed.len());
        if most == 0 {
            break;
        }
        let rows =
            connection.query(statement, &[&owner, &lasts, &agents, &orphaned, &most]).await?;
        for row in rows {
            let times: i32 = row.get(HEAD_COLUMNS + 1);
            let reason = match row.get(HEAD_COLUMNS) {
                ABANDONED => Reason::Abandoned { times: u32::try_from(times).unwrap_or_default() },
                RELEASED => Reason::Released,
                _ => Reason::Woken,
            };
            claimed.push(Claimed { head: row::head(&row, 0)?, reason });
        }
    }
    Ok(claimed)
}

pub(super) async fn renew(
    connection: &Connection,
    lease: &Lease,
    held: &[Tenure],
) -> Result<Vec<TaskRef>, Failure> {
    let (keys, epochs) = columns(held);
    let owner = quote(lease.owner.as_str());
    let lasts = micros(lease.lasts);
    let rows = connection.query(RENEW, &[&keys, &epochs, &owner, &lasts]).await?;
    let renewed: std::collections::HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    let lost = held.iter().map(|tenure| tenure.task).filter(|task| !renewed.contains(&task.0));
    Ok(lost.collect())
}

pub(super) async fn release(connection: &Connection, held: &[Tenure]) -> Result<(), Failure> {
    let (keys, epochs) = columns(held);
    connection.execute(RELEASE, &[&keys, &epochs]).await?;
    Ok(())
}

fn columns(held: &[Tenure]) -> (Vec<i64>, Vec<i64>) {
    held.iter().map(|tenure| (tenure.task.0, signed(tenure.epoch.0))).unzip()
}
