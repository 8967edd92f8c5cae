//! Tasks that were opened for others.

use nuncio_protocol::{ids::TaskId, state::TaskState};
use nuncio_tasks::{
    scope::{Place, Scope},
    store::{Create, Created, Head, Store, TaskRef},
};

use super::{
    Fixture,
    story::{acme, ann, append, bob, end, key, name, new, opening, owned, place, progress, write},
};

/// Any identifier, also of a task that nobody has seen; and most tasks have none.
pub async fn a_task_knows_what_it_was_opened_for(fixture: Fixture) {
    let store = fixture.store();
    let root = new(store, owned(&ann())).await;
    for parent in [root.id.clone(), id("\0 \u{1}'\"é"), id(&"x".repeat(256))] {
        let child = new(store, child_of(opening(&bob()), &parent)).await;
        assert_eq!(parent_of(store, &child).await, Some(parent.clone()));
        assert_eq!(children(store, &acme(), &parent, 10).await, [child]);
    }
    assert_eq!(parent_of(store, &root).await, None);
    let gone = Head { reference: TaskRef(1 << 40), ..root };
    assert_eq!(parent_of(store, &gone).await, None);
}

/// As they are now, whatever has become of them since.
pub async fn children_are_found_in_the_order_of_their_opening(fixture: Fixture) {
    let store = fixture.store();
    let (root, other) = (new(store, owned(&ann())).await, new(store, owned(&ann())).await);
    let places = [ann(), bob(), place("acme", "other", "user:ann")];
    let mut expected = Vec::new();
    for number in 0..12 {
        let opening = owned(&places[number % places.len()]);
        expected.push(new(store, child_of(opening, &root.id)).await);
        new(store, child_of(owned(&ann()), &other.id)).await;
        new(store, owned(&ann())).await;
    }
    for head in expected.iter_mut().step_by(3) {
        *head = write(store, append(head, progress(head, "on it"))).await;
    }
    expected[4] = end(store, &expected[4], TaskState::Completed).await;
    assert_eq!(children(store, &acme(), &root.id, 100).await, expected);
    for most in [0, 1, 5, 12] {
        assert_eq!(children(store, &acme(), &root.id, most).await, expected[..most]);
    }
    let grandchild = new(store, child_of(owned(&bob()), &expected[0].id)).await;
    assert_eq!(children(store, &acme(), &expected[0].id, 10).await, [grandchild]);
    assert_eq!(children(store, &acme(), &root.id, 100).await.len(), 12);
}

/// Within a scope there are those that it sees, and no more of them than were asked for.
pub async fn foreign_children_are_absent(fixture: Fixture) {
    let store = fixture.store();
    let parent = id("root");
    let places: Vec<Place> = [
        ("acme", "echo", "user:ann"),
        ("acme", "echo", "user:bob"),
        ("acme", "other", "user:ann"),
        ("evil", "echo", "user:ann"),
    ]
    .map(|(tenant, agent, caller)| place(tenant, agent, caller))
    .into();
    let mut heads = Vec::new();
    for place in places.iter().cycle().take(3 * places.len()) {
        heads.push(new(store, child_of(opening(place), &parent)).await);
    }
    for tenant in ["acme", "evil", "nobody"] {
        for agent in [None, Some("echo"), Some("other"), Some("nobody")] {
            for caller in [None, Some("user:ann"), Some("user:bob"), Some("nobody")] {
                let (agent, caller) = (agent.map(name), caller.map(name));
                let scope = Scope { tenant: name(tenant), agent, caller };
                let seen = heads.iter().filter(|head| scope.sees(&head.place));
                let expected: Vec<Head> = seen.take(4).cloned().collect();
                assert_eq!(children(store, &scope, &parent, 4).await, expected, "{scope:?}");
            }
        }
    }
}

/// The second time the same request comes, whoever it is for.
pub async fn a_repeated_request_changes_no_parent(fixture: Fixture) {
    let store = fixture.store();
    let keyed = |parent| Create { key: Some(key("k", 1)), ..child_of(opening(&ann()), parent) };
    let (first, second) = (id("first"), id("second"));
    let head = new(store, keyed(&first)).await;
    let again = store.create(keyed(&second)).await.expect("answered");
    assert!(matches!(again, Created::Repeated(Some(_))), "found {again:?}");
    assert_eq!(parent_of(store, &head).await, Some(first));
    assert_eq!(children(store, &acme(), &second, 10).await, []);
}

pub(super) fn child_of(create: Create, parent: &TaskId) -> Create {
    Create { parent: Some(parent.clone()), ..create }
}

async fn parent_of(store: &dyn Store, head: &Head) -> Option<TaskId> {
    store.parent(head.reference).await.expect("the store answers")
}

async fn children(store: &dyn Store, scope: &Scope, parent: &TaskId, most: usize) -> Vec<Head> {
    store.children(scope, parent, most).await.expect("the store answers")
}

fn id(text: &str) -> TaskId {
    TaskId::parse(text).expect("a short text is an identifier")
}
