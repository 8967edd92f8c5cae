//! Who owns a task, and who takes it when nobody does.

use std::{sync::Arc, time::Duration};

use nuncio_protocol::state::TaskState;
use nuncio_tasks::{
    scope::Place,
    store::{Append, Claim, Claimed, Create, Epoch, Error, Head, Reason, Store, Tenancy, Wake},
};

use super::{
    Fixture,
    story::{
        SHORT, TERMINAL, UNFINISHED, ann, append, cancel, claim, end, eventually, input, lease,
        moment, name, new, next_epoch, opening, opening_as, owned, place, progress, refused,
        reread, short_lease, signal, status, tenure, write, written,
    },
};

/// A task that is opened by its owner is in epoch 1.
pub async fn a_lease_begins_with_the_task(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    assert_eq!((head.epoch, head.owned), (Epoch(1), true));
    assert_eq!(reread(store, &head).await, head);
    let head = write(store, append(&head, progress(&head, "on it"))).await;
    assert_eq!((head.epoch, head.owned), (Epoch(1), true));
}

/// Whoever comes second is told that the lease was not taken, but is heard.
pub async fn a_lease_is_taken_only_when_nobody_has_it(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, opening(&ann())).await;
    let (head, taken) = written(store, take(&head, "one")).await;
    assert!(taken);
    assert_eq!((head.epoch, head.owned), (Epoch(1), true));
    for owner in ["one", "two"] {
        let (after, taken) = written(store, take(&head, owner)).await;
        assert!(!taken);
        assert_eq!((after.epoch, after.owned), (Epoch(1), true));
    }
    assert_eq!(reread(store, &head).await.seq.0, 4);
    // The first one's lease is what it was.
    assert_eq!(store.renew(lease("one"), vec![tenure(&head)]).await.expect("renewed"), []);
    write(store, append(&head, progress(&head, "on it"))).await;
}

/// A lease that has run out is nobody's.
pub async fn a_lease_that_is_over_can_be_taken(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, Create { lease: Some(short_lease("one")), ..opening(&ann()) }).await;
    eventually("the lease is over", async || (!reread(store, &head).await.owned).then_some(()))
        .await;
    let (after, taken) = written(store, take(&head, "two")).await;
    assert!(taken);
    assert_eq!((after.epoch, after.owned), (next_epoch(&head), true));
    let late = append(&head, progress(&head, "late"));
    assert!(matches!(refused(store, late).await, Error::Fenced { .. }));
}

/// Of many who take the lease at the same time, one gets it.
pub async fn a_lease_of_two_takers_at_once_goes_to_one(fixture: Fixture) {
    let head = new(fixture.store(), opening(&ann())).await;
    let takers: Vec<_> = (0..20)
        .map(|number| {
            let store = Arc::clone(fixture.shared());
            let take = take(&head, &format!("taker {number}"));
            tokio::spawn(async move { written(&*store, take).await })
        })
        .collect();
    let mut winners = 0;
    for taker in takers {
        let (head, taken) = taker.await.expect("the taker is done");
        assert_eq!(head.epoch, Epoch(1));
        winners += usize::from(taken);
    }
    assert_eq!(winners, 1);
}

/// Whatever the owner says about the lease, it is over when the task is.
pub async fn a_lease_ends_with_the_task(fixture: Fixture) {
    let store = fixture.store();
    for state in TERMINAL {
        for tenancy in [Tenancy::Keep, Tenancy::End, Tenancy::Take(lease("one"))] {
            let head = new(store, owned(&ann())).await;
            let closing = Append { tenancy, ..append(&head, status(&head, state)) };
            let (ended, taken) = written(store, closing).await;
            assert!(!taken);
            assert_eq!((ended.epoch, ended.owned), (head.epoch, false));
            let lost = store.renew(lease("one"), vec![tenure(&head)]).await.expect("renewed");
            assert_eq!(lost, [head.reference]);
        }
        let head = new(store, opening(&ann())).await;
        let last =
            Append { tenancy: Tenancy::Take(lease("one")), ..append(&head, status(&head, state)) };
        let (ended, taken) = written(store, last).await;
        assert!(!taken, "there is nothing to be owned");
        assert!(!ended.owned);
    }
    assert_eq!(claimed(store, claim("two")).await, []);
}

/// A task that asks its caller needs no owner until it is answered.
pub async fn a_lease_can_end_while_the_task_waits(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let asking = write(store, ask(&head)).await;
    assert_eq!((asking.epoch, asking.owned), (head.epoch, false));
    let answer =
        Append { tenancy: Tenancy::Take(lease("two")), ..signal(&asking, input(&asking, "this")) };
    let (working, taken) = written(store, answer).await;
    assert!(taken);
    assert_eq!(working.epoch, next_epoch(&head));
}

/// As long as the lease lasts.
pub async fn a_held_task_is_not_claimed(fixture: Fixture) {
    let store = fixture.store();
    for state in UNFINISHED {
        let opening = opening_as(&ann(), state, moment(0));
        new(store, Create { lease: Some(lease("one")), ..opening }).await;
    }
    assert_eq!(claimed(store, greedy("two")).await, []);
}

/// Nobody can go on with it but its caller.
pub async fn a_task_that_waits_for_its_caller_is_not_claimed(fixture: Fixture) {
    let store = fixture.store();
    for state in [TaskState::InputRequired, TaskState::AuthRequired] {
        new(store, opening_as(&ann(), state, moment(0))).await;
        let head = new(store, owned(&ann())).await;
        let asks = Append { tenancy: Tenancy::End, ..append(&head, status(&head, state)) };
        write(store, asks).await;
    }
    assert_eq!(claimed(store, greedy("two")).await, []);
}

/// There is nothing to be done.
pub async fn an_ended_task_is_not_claimed(fixture: Fixture) {
    let store = fixture.store();
    for state in TERMINAL {
        new(store, opening_as(&ann(), state, moment(0))).await;
        let head = new(store, owned(&ann())).await;
        end(store, &head, state).await;
        let head = new(store, owned(&ann())).await;
        store.release(vec![tenure(&head)]).await.expect("released");
        end(store, &head, state).await;
    }
    assert_eq!(claimed(store, greedy("two")).await, []);
}

/// At once, in whatever unfinished state.
pub async fn a_task_that_was_given_back_is_claimed(fixture: Fixture) {
    let store = fixture.store();
    for state in UNFINISHED {
        let opening = opening_as(&ann(), state, moment(0));
        let head = new(store, Create { lease: Some(lease("one")), ..opening }).await;
        store.release(vec![tenure(&head)]).await.expect("released");
        assert!(!reread(store, &head).await.owned);
        let claimed = claim_one(store, claim("two")).await;
        assert_eq!((claimed.head.id, claimed.reason), (head.id, Reason::Released));
    }
}

/// Somebody may open a task that only others can work on.
pub async fn a_task_that_nobody_ever_had_is_claimed(fixture: Fixture) {
    let store = fixture.store();
    for state in [TaskState::Submitted, TaskState::Working] {
        let head = new(store, opening_as(&ann(), state, moment(0))).await;
        let claimed = claim_one(store, claim("two")).await;
        assert_eq!((claimed.head.id, claimed.reason), (head.id, Reason::Released));
        assert_eq!(claimed.head.epoch, Epoch(1));
    }
}

/// Somebody may answer a task that only others can work on.
pub async fn a_task_that_works_again_without_an_owner_is_claimed(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let asking = write(store, ask(&head)).await;
    let answered = write(store, signal(&asking, input(&asking, "this"))).await;
    assert!(!answered.owned);
    let claimed = claim_one(store, claim("two")).await;
    assert_eq!((claimed.head.id, claimed.reason), (head.id, Reason::Released));
}

/// When the lease has run out, and not as if it were given back.
pub async fn a_task_whose_owner_is_gone_is_claimed_as_abandoned(fixture: Fixture) {
    let store = fixture.store();
    let opening = Create { lease: Some(short_lease("one")), ..opening(&ann()) };
    let head = new(store, opening).await;
    let claimed = eventually_claimed(store, claim("two")).await;
    assert_eq!((claimed.head.id, claimed.reason), (head.id, Reason::Abandoned { times: 1 }));
}

/// Its owner may have waited for a credential to come another way.
pub async fn a_waiting_task_whose_owner_is_gone_is_claimed(fixture: Fixture) {
    let store = fixture.store();
    let opening = opening_as(&ann(), TaskState::AuthRequired, moment(0));
    let head = new(store, Create { lease: Some(short_lease("one")), ..opening }).await;
    let claimed = eventually_claimed(store, claim("two")).await;
    assert_eq!((claimed.head.id, claimed.reason), (head.id, Reason::Abandoned { times: 1 }));
}

/// So that a task which kills its owners can be given up; a task that was given back has
/// killed nobody.
pub async fn every_abandonment_is_counted(fixture: Fixture) {
    let store = fixture.store();
    new(store, Create { lease: Some(short_lease("one")), ..opening(&ann()) }).await;
    let brief = Claim { lease: short_lease("two"), ..claim("two") };
    for times in 1..=3 {
        let claimed = eventually_claimed(store, brief.clone()).await;
        assert_eq!(claimed.reason, Reason::Abandoned { times });
        assert_eq!(claimed.head.epoch, Epoch(u64::from(times) + 1));
    }
    let claimed = eventually_claimed(store, claim("three")).await;
    assert_eq!(claimed.reason, Reason::Abandoned { times: 4 });
    store.release(vec![tenure(&claimed.head)]).await.expect("released");
    let claimed = claim_one(store, brief).await;
    assert_eq!(claimed.reason, Reason::Released);
    let claimed = eventually_claimed(store, claim("four")).await;
    assert_eq!(claimed.reason, Reason::Abandoned { times: 5 });
}

/// From then on only the new owner is heard.
pub async fn a_claim_raises_the_epoch_and_fences_the_old_owner(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    store.release(vec![tenure(&head)]).await.expect("released");
    let claimed = claim_one(store, claim("two")).await.head;
    assert_eq!((claimed.epoch, claimed.owned), (next_epoch(&head), true));
    assert_eq!(reread(store, &head).await, claimed);
    let late = append(&head, progress(&head, "late"));
    match refused(store, late).await {
        Error::Fenced { held, current } => assert_eq!((held, current), (head.epoch, claimed.epoch)),
        other => panic!("expected a fence, found {other:?}"),
    }
    write(store, append(&claimed, progress(&claimed, "on it"))).await;
    write(store, signal(&claimed, cancel(&claimed))).await;
}

/// And the rest the next time.
pub async fn a_claim_takes_no_more_than_asked_for(fixture: Fixture) {
    let store = fixture.store();
    for number in 0..5 {
        let agent = if number % 2 == 0 { "echo" } else { "poet" };
        new(store, opening(&place("acme", agent, "user:ann"))).await;
    }
    for expected in [2, 2, 1, 0] {
        let agents = vec![name("echo"), name("poet")];
        let claim = Claim { most: 2, agents, ..claim("two") };
        assert_eq!(claimed(store, claim).await.len(), expected);
    }
}

/// Processes that look at the same time do not get the same task.
pub async fn claims_at_once_take_each_task_once(fixture: Fixture) {
    for _ in 0..40 {
        new(fixture.store(), opening(&ann())).await;
    }
    let claimers: Vec<_> = (0..8)
        .map(|number| {
            let store = Arc::clone(fixture.shared());
            tokio::spawn(async move {
                let mut taken = Vec::new();
                loop {
                    let claim = Claim { most: 7, ..claim(&format!("claimer {number}")) };
                    let claimed = store.claim(claim).await.expect("claimed");
                    if claimed.is_empty() {
                        return taken;
                    }
                    taken.extend(claimed.into_iter().map(|claimed| claimed.head));
                }
            })
        })
        .collect();
    let mut taken = Vec::new();
    for claimer in claimers {
        taken.extend(claimer.await.expect("the claimer is done"));
    }
    // A claimer that saw nothing while others were busy may have left some for the next time.
    taken.extend(claimed(fixture.store(), claim("last")).await.into_iter().map(|(head, _)| head));
    assert!(taken.iter().all(|head| head.epoch == Epoch(1)));
    taken.sort_by_key(|head| head.reference);
    taken.dedup_by_key(|head| head.reference);
    assert_eq!(taken.len(), 40);
}

/// Of whatever tenant, and not those of others.
pub async fn a_claim_takes_the_tasks_of_its_agents(fixture: Fixture) {
    let store = fixture.store();
    let wanted = [ann(), place("evil", "echo", "user:eve"), place("acme", "poet", "user:ann")];
    for place in &wanted {
        new(store, opening(place)).await;
    }
    new(store, opening(&place("acme", "other", "user:ann"))).await;
    let agents = vec![name("echo"), name("poet")];
    let mut places: Vec<Place> = claimed(store, Claim { agents, ..claim("two") })
        .await
        .into_iter()
        .map(|(head, _)| head.place)
        .collect();
    places.sort_by_key(|place| wanted.iter().position(|wanted| wanted == place));
    assert_eq!(places, wanted);
    assert_eq!(claimed(store, Claim { agents: Vec::new(), ..claim("two") }).await, []);
}

/// When no process has the agent for some time, somebody has to tell the caller.
pub async fn a_task_of_another_agent_is_claimed_when_orphaned(fixture: Fixture) {
    let store = fixture.store();
    let other = place("acme", "other", "user:ann");
    let released = new(store, owned(&other)).await;
    assert_eq!(claimed(store, greedy("two")).await, [], "it has an owner");
    store.release(vec![tenure(&released)]).await.expect("released");
    assert_eq!(claimed(store, claim("two")).await, [], "it has not been an orphan for an hour");
    let patient = Claim { orphaned_after: SHORT, ..claim("two") };
    let claimed = eventually_claimed(store, patient.clone()).await;
    assert_eq!((claimed.head.id, claimed.reason), (released.id, Reason::Released));

    let abandoned = new(store, Create { lease: Some(short_lease("one")), ..opening(&other) }).await;
    let claimed = eventually_claimed(store, patient).await;
    assert_eq!((claimed.head.id, claimed.reason), (abandoned.id, Reason::Abandoned { times: 1 }));
}

/// A lease that is renewed does not run out.
pub async fn a_renewed_lease_goes_on(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, Create { lease: Some(short_lease("one")), ..opening(&ann()) }).await;
    let watch = new(store, Create { lease: Some(short_lease("one")), ..opening(&ann()) }).await;
    let lost = store.renew(lease("one"), vec![tenure(&head)]).await.expect("renewed");
    assert_eq!(lost, []);
    // Another lease of the same length has run out; this one has not.
    let claimed = eventually_claimed(store, claim("two")).await;
    assert_eq!(claimed.head.id, watch.id);
    let head = reread(store, &head).await;
    assert_eq!((head.epoch, head.owned), (Epoch(1), true));
}

/// As long as nobody else has taken the task, its owner can go on.
pub async fn a_lease_that_has_only_run_out_is_renewed(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, Create { lease: Some(short_lease("one")), ..opening(&ann()) }).await;
    eventually("the lease is over", async || (!reread(store, &head).await.owned).then_some(()))
        .await;
    let late = write(store, append(&head, progress(&head, "still here"))).await;
    assert!(!late.owned, "a write does not prolong the lease");
    let lost = store.renew(lease("one"), vec![tenure(&head)]).await.expect("renewed");
    assert_eq!(lost, []);
    assert!(reread(store, &head).await.owned);
    assert_eq!(claimed(store, claim("two")).await, []);
}

/// An owner learns what it owns no longer, and keeps the rest.
pub async fn lost_leases_are_told(fixture: Fixture) {
    let store = fixture.store();
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(new(store, owned(&ann())).await);
    }
    let [kept, released, taken, done, asking] = &held[..] else { panic!("there are five") };
    store.release(vec![tenure(released), tenure(taken)]).await.expect("released");
    write(store, take(taken, "two")).await;
    end(store, done, TaskState::Completed).await;
    write(store, ask(asking)).await;
    let tenures = held.iter().map(tenure).collect();
    let mut lost = store.renew(lease("one"), tenures).await.expect("renewed");
    lost.sort_unstable();
    let mut expected = [released.reference, taken.reference, done.reference, asking.reference];
    expected.sort_unstable();
    assert_eq!(lost, expected);
    assert!(reread(store, kept).await.owned);
    assert!(!reread(store, released).await.owned, "a lost lease is not renewed");
    assert_eq!(store.renew(lease("one"), Vec::new()).await.expect("renewed"), []);
}

/// What others own since is not given back by the old owner.
pub async fn a_lost_lease_cannot_be_given_back(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    store.release(vec![tenure(&head)]).await.expect("released");
    let taken = write(store, take(&head, "two")).await;
    store.release(vec![tenure(&head)]).await.expect("released");
    assert_eq!(reread(store, &head).await, taken);
    let asking = new(store, owned(&ann())).await;
    write(store, ask(&asking)).await;
    store.release(vec![tenure(&asking)]).await.expect("released");
    assert_eq!(claimed(store, greedy("three")).await, []);
}

/// Anybody's word, with a wish for the lease.
fn take(head: &Head, owner: &str) -> Append {
    Append { tenancy: Tenancy::Take(lease(owner)), ..signal(head, cancel(head)) }
}

/// The owner asks the caller and leaves.
fn ask(head: &Head) -> Append {
    Append {
        tenancy: Tenancy::End,
        wake: Wake::Keep,
        ..append(head, status(head, TaskState::InputRequired))
    }
}

/// A claim of everything that can be claimed, orphans included.
fn greedy(owner: &str) -> Claim {
    Claim { orphaned_after: Duration::ZERO, ..claim(owner) }
}

async fn claimed(store: &dyn Store, claim: Claim) -> Vec<(Head, Reason)> {
    let claimed = store.claim(claim).await.expect("claimed");
    claimed.into_iter().map(|claimed| (claimed.head, claimed.reason)).collect()
}

/// Claims the one task that can be claimed.
async fn claim_one(store: &dyn Store, claim: Claim) -> Claimed {
    let mut claimed = store.claim(claim).await.expect("claimed");
    assert_eq!(claimed.len(), 1, "one task needs an owner, claimed were {claimed:?}");
    claimed.remove(0)
}

async fn eventually_claimed(store: &dyn Store, claim: Claim) -> Claimed {
    eventually("a task can be claimed", async || {
        let mut claimed = store.claim(claim.clone()).await.expect("claimed");
        assert!(claimed.len() <= 1, "only one task needs an owner, claimed were {claimed:?}");
        claimed.pop()
    })
    .await
}
