//! What is not seen is not there.

use nuncio_protocol::{
    ids::ContextId,
    state::TaskState,
    task::{Task, TaskStatus},
};
use nuncio_tasks::{
    scope::{Place, Scope},
    store::{Create, DeadLetterId, Filter, Lease, Page, Progress, Store, Want},
};

use super::{
    Fixture,
    story::{LONG, ann, bob, moment, name, new, opening, opening_of, owned, place, webhook},
};

/// Another tenant's, agent's or caller's task is as absent as one that never was.
pub async fn foreign_tasks_are_absent(fixture: Fixture) {
    let store = fixture.store();
    let places = places();
    let mut heads = Vec::new();
    for place in &places {
        heads.push(new(store, opening(place)).await);
    }
    for scope in scopes() {
        for head in &heads {
            let seen = scope.sees(&head.place);
            let found = store.find(&scope, &head.id).await.expect("the store answers");
            assert_eq!(found.as_ref(), seen.then_some(head), "{scope:?}");
            for want in [Want::ALL, Want::at(head.seq)] {
                let loaded = store.load(&scope, &head.id, want).await.expect("the store answers");
                assert_eq!(loaded.map(|loaded| loaded.head).as_ref(), seen.then_some(head));
            }
        }
        let page = Page { after: None, size: 100, history: true, artifacts: true };
        let listed = store.list(&scope, Filter::default(), page).await.expect("listed");
        let expected = heads.iter().filter(|head| scope.sees(&head.place)).count();
        assert_eq!((listed.total, listed.tasks.len()), (expected as u64, expected), "{scope:?}");
        assert!(listed.tasks.iter().all(|task| scope.sees(&task.head.place)), "{scope:?}");
    }
}

/// Nothing crosses a tenant, not even an identifier.
pub async fn an_equal_identifier_of_another_tenant_is_another_task(fixture: Fixture) {
    let store = fixture.store();
    let ours = new(store, opening(&ann())).await;
    let context = ContextId::generate();
    let status = TaskStatus::new(TaskState::Working, moment(7));
    let task = Task::new(ours.id.clone(), context.clone(), status);
    let theirs = new(store, opening_of(&place("evil", "echo", "user:ann"), &task, context)).await;
    for head in [ours, theirs] {
        let scope = Scope::tenant(head.place.tenant.clone());
        assert_eq!(store.find(&scope, &head.id).await.expect("the store answers"), Some(head));
    }
}

/// Neither read nor sent again.
pub async fn foreign_dead_letters_are_absent(fixture: Fixture) {
    let store = fixture.store();
    for place in places() {
        let webhooks = vec![webhook("hook")];
        new(store, Create { webhooks, ..owned(&place) }).await;
    }
    let lease = Lease { owner: name("sender"), lasts: LONG };
    for delivery in store.claim_deliveries(lease.clone(), 100).await.expect("claimed") {
        let dead = Progress::Dead { error: "no".to_owned() };
        assert!(store.settle(&delivery, dead).await.expect("settled"));
    }
    let everything = all_letters(store).await;
    assert_eq!(everything.len(), places().len());
    for scope in scopes() {
        let letters = store.dead_letters(&scope, 100).await.expect("read");
        for (place, letter) in &everything {
            let seen = scope.sees(place);
            assert_eq!(letters.iter().any(|found| found.id == *letter), seen, "{scope:?}");
            if !seen {
                assert!(!store.resend(&scope, *letter).await.expect("answered"), "{scope:?}");
            }
        }
    }
    assert!(store.claim_deliveries(lease, 100).await.expect("claimed").is_empty());
}

async fn all_letters(store: &dyn Store) -> Vec<(Place, DeadLetterId)> {
    let mut all = Vec::new();
    for place in places() {
        let letters = store.dead_letters(&(&place).into(), 100).await.expect("read");
        all.extend(letters.into_iter().map(|letter| (place.clone(), letter.id)));
    }
    all
}

fn places() -> Vec<Place> {
    vec![
        ann(),
        bob(),
        place("acme", "other", "user:ann"),
        place("acme", "other", "user:bob"),
        place("evil", "echo", "user:ann"),
    ]
}

/// Every scope that can be made of what the places have, and one of nobody.
fn scopes() -> Vec<Scope> {
    let mut scopes = Vec::new();
    for tenant in ["acme", "evil", "nobody"] {
        for agent in [None, Some("echo"), Some("other"), Some("nobody")] {
            for caller in [None, Some("user:ann"), Some("user:bob"), Some("nobody")] {
                scopes.push(Scope {
                    tenant: name(tenant),
                    agent: agent.map(name),
                    caller: caller.map(name),
                });
            }
        }
    }
    scopes
}
