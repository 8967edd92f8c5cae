//! Tasks that want to be looked at later.

use std::time::Duration;

use nuncio_protocol::state::TaskState;
use nuncio_tasks::store::{Append, Claim, Claimed, Create, Head, Reason, Store, Tenancy, Wake};

use super::{
    Fixture,
    story::{
        LONG, SHORT, TERMINAL, ann, append, claim, eventually, follow, lease, moment, name, new,
        next_epoch, opening_as, owned, place, short_lease, signal, status, tenure, write,
    },
};

/// A task that waits for its caller is woken although nobody has it, and only once.
pub async fn a_wake_up_is_due_after_its_time_and_once(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, waiting(Wake::After(SHORT))).await;
    let woken = eventually_claimed(store).await;
    assert_eq!((&woken.head.id, woken.reason), (&head.id, Reason::Woken));
    assert_eq!((woken.head.epoch, woken.head.owned), (next_epoch(&head), true));
    let leave = Append { tenancy: Tenancy::End, ..append(&woken.head, follow(&woken.head)) };
    write(store, leave).await;
    assert!(claims_nothing(store).await, "the claim has cleared the wake-up");
}

/// An hour is not over yet.
pub async fn a_wake_up_does_not_come_before_its_time(fixture: Fixture) {
    let store = fixture.store();
    new(store, waiting(Wake::After(LONG))).await;
    new(store, waiting(Wake::Never)).await;
    let due = new(store, waiting(Wake::After(Duration::ZERO))).await;
    let woken = eventually_claimed(store).await;
    assert_eq!(woken.head.id, due.id);
    assert!(claims_nothing(store).await);
}

/// Whoever has the task looks after it.
pub async fn a_wake_up_waits_while_somebody_has_the_lease(fixture: Fixture) {
    let store = fixture.store();
    let opening = waiting(Wake::After(Duration::ZERO));
    let head = new(store, Create { lease: Some(lease("one")), ..opening }).await;
    assert!(claims_nothing(store).await);
    let leave = Append { tenancy: Tenancy::End, ..append(&head, follow(&head)) };
    write(store, leave).await;
    assert_eq!(eventually_claimed(store).await.reason, Reason::Woken);
}

/// By whoever writes.
pub async fn a_wake_up_can_be_moved_and_taken_back(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, waiting(Wake::After(Duration::ZERO))).await;
    let set = |wake| Append { wake, ..signal(&head, follow(&head)) };
    for later in [Wake::Never, Wake::Keep, Wake::After(LONG), Wake::Keep] {
        write(store, set(later)).await;
        assert!(claims_nothing(store).await, "{later:?}");
    }
    write(store, set(Wake::After(SHORT))).await;
    write(store, set(Wake::Keep)).await;
    assert_eq!(eventually_claimed(store).await.reason, Reason::Woken);
}

/// Nothing is to be done for a task that has ended.
pub async fn a_wake_up_ends_with_the_task(fixture: Fixture) {
    let store = fixture.store();
    let now = Wake::After(Duration::ZERO);
    for state in TERMINAL {
        for wake in [Wake::Keep, now] {
            let head = new(store, waiting(now)).await;
            write(store, Append { wake, ..append(&head, status(&head, state)) }).await;
            new(store, Create { wake, ..opening_as(&ann(), state, moment(0)) }).await;
        }
        let head = new(store, waiting(Wake::Never)).await;
        let head = write(store, append(&head, status(&head, state))).await;
        write(store, Append { wake: now, ..append(&head, follow(&head)) }).await;
    }
    assert!(claims_nothing(store).await);
}

/// It is due when the new owner leaves.
pub async fn a_claim_for_another_reason_leaves_the_wake_up(fixture: Fixture) {
    let store = fixture.store();
    let now = Wake::After(Duration::ZERO);
    let released = new(store, Create { wake: now, ..owned(&ann()) }).await;
    store.release(vec![tenure(&released)]).await.expect("released");
    let claimed = eventually_claimed(store).await;
    assert_eq!(claimed.reason, Reason::Released);
    write(store, ask(&claimed.head)).await;
    let woken = eventually_claimed(store).await;
    assert_eq!((&woken.head.id, woken.reason), (&released.id, Reason::Woken));

    let brief = Create { lease: Some(short_lease("one")), wake: now, ..owned(&ann()) };
    let abandoned = new(store, brief).await;
    let claimed = eventually_claimed(store).await;
    assert_eq!(claimed.reason, Reason::Abandoned { times: 1 });
    write(store, ask(&claimed.head)).await;
    let woken = eventually_claimed(store).await;
    assert_eq!((&woken.head.id, woken.reason), (&abandoned.id, Reason::Woken));
}

/// Others take it only as an orphan.
pub async fn a_wake_up_is_for_the_tasks_agent(fixture: Fixture) {
    let store = fixture.store();
    let other = place("acme", "other", "user:ann");
    let opening = opening_as(&other, TaskState::InputRequired, moment(0));
    new(store, Create { wake: Wake::After(Duration::ZERO), ..opening }).await;
    assert!(claims_nothing(store).await);
    let others = Claim { agents: vec![name("poet")], orphaned_after: SHORT, ..claim("two") };
    let woken = eventually("the task is an orphan", async || {
        store.claim(others.clone()).await.expect("claimed").pop()
    })
    .await;
    assert_eq!(woken.reason, Reason::Woken);
}

/// A task that waits for its caller, and that nobody has.
fn waiting(wake: Wake) -> Create {
    Create { wake, ..opening_as(&ann(), TaskState::InputRequired, moment(0)) }
}

/// The owner asks the caller and leaves.
fn ask(head: &Head) -> Append {
    Append { tenancy: Tenancy::End, ..append(head, status(head, TaskState::InputRequired)) }
}

async fn claims_nothing(store: &dyn Store) -> bool {
    store.claim(claim("nobody")).await.expect("claimed").is_empty()
}

async fn eventually_claimed(store: &dyn Store) -> Claimed {
    eventually("a task can be claimed", async || {
        let mut claimed = store.claim(claim("two")).await.expect("claimed");
        assert!(claimed.len() <= 1, "only one task needs an owner, claimed were {claimed:?}");
        claimed.pop()
    })
    .await
}
