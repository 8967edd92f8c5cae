//! What becomes of a lease when a task is written.

use nuncio_protocol::state::{Phase, TaskState};
use nuncio_tasks::store::{Lease, Tenancy};

/// Nobody has the task or needs to.
pub(super) const NONE: i16 = 0;
/// Somebody has it, perhaps no longer in time.
pub(super) const HELD: i16 = 1;
/// Nobody has it although the agent has the turn.
pub(super) const NEEDED: i16 = 3;

/// A change of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Keep,
    /// From now on nobody has it.
    To(i16),
    Take(Lease),
}

/// Decides what becomes of the lease of a task that goes to state `to`.
pub(super) fn change(lease: i16, is_owned: bool, to: TaskState, tenancy: &Tenancy) -> Change {
    let without = match to.phase() {
        Phase::Active => NEEDED,
        Phase::Interrupted | Phase::Terminal => NONE,
    };
    match tenancy {
        _ if to.is_terminal() => Change::To(NONE),
        Tenancy::Take(lease) if !is_owned => Change::Take(lease.clone()),
        Tenancy::End if lease != without => Change::To(without),
        // Who has the turn has changed, and nobody has the task.
        _ if matches!(lease, NONE | NEEDED) && lease != without => Change::To(without),
        Tenancy::Keep | Tenancy::End | Tenancy::Take(_) => Change::Keep,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nuncio_tasks::scope::Name;

    use super::*;

    const GIVEN_BACK: i16 = 2;

    fn taker() -> Lease {
        Lease { owner: Name::parse("me").unwrap(), lasts: Duration::from_secs(15) }
    }

    #[track_caller]
    fn check(lease: i16, is_owned: bool, to: TaskState, tenancy: &Tenancy, expected: &Change) {
        assert_eq!(&change(lease, is_owned, to, tenancy), expected);
    }

    #[test]
    fn an_ended_task_has_no_lease() {
        for tenancy in [Tenancy::Keep, Tenancy::End, Tenancy::Take(taker())] {
            for lease in [NONE, HELD, GIVEN_BACK, NEEDED] {
                check(lease, lease == HELD, TaskState::Completed, &tenancy, &Change::To(NONE));
            }
        }
    }

    #[test]
    fn a_lease_is_taken_unless_somebody_has_it() {
        let take = Tenancy::Take(taker());
        check(HELD, true, TaskState::Working, &take, &Change::Keep);
        for lease in [NONE, HELD, GIVEN_BACK, NEEDED] {
            check(lease, false, TaskState::Working, &take, &Change::Take(taker()));
        }
    }

    #[test]
    fn whoever_has_the_turn_decides_whether_an_owner_is_needed() {
        check(NONE, false, TaskState::Working, &Tenancy::Keep, &Change::To(NEEDED));
        check(NEEDED, false, TaskState::InputRequired, &Tenancy::Keep, &Change::To(NONE));
        check(HELD, false, TaskState::InputRequired, &Tenancy::Keep, &Change::Keep);
        check(GIVEN_BACK, false, TaskState::InputRequired, &Tenancy::Keep, &Change::Keep);
        check(HELD, true, TaskState::InputRequired, &Tenancy::End, &Change::To(NONE));
        check(HELD, true, TaskState::Working, &Tenancy::End, &Change::To(NEEDED));
    }
}
