//! What a store remembers after it was closed. Stores that forget everything, and so cannot be
//! opened again, pass these checks as they are.

use nuncio_hub::store::{Commit, Kind, Version};

use super::{
    Fixture,
    story::{
        LONG, agent, all_of, beats, changes, commit, event, events, put, record, removal, trail,
    },
};

/// Something of everything.
fn something(number: u32) -> Commit {
    Commit {
        records: vec![record(Kind::Agent, &number.to_string(), "{}"), removal(Kind::Rule, "gone")],
        events: vec![event("A"), event("B")],
        audit: vec!["{}".to_owned()],
        ..Commit::default()
    }
}

/// Records, removals, events, heartbeats and the trail.
pub async fn everything_is_there_after_opening_again(mut fixture: Fixture) {
    let store = fixture.store();
    put(store, vec![record(Kind::Rule, "gone", "{}")]).await;
    commit(store, something(1)).await;
    commit(store, something(2)).await;
    store.audit(vec!["{\"alone\":true}".to_owned()]).await.expect("written");
    store.beat(agent("a"), "1".to_owned()).await.expect("written");
    store.beat(agent("b"), "1".to_owned()).await.expect("written");
    store.forget_beats(agent("b")).await.expect("written");
    let before = (
        changes(store, Version(0)).await,
        changes(store, Version(1)).await,
        events(store, all_of("acme")).await,
        store.last_event().await.expect("answered"),
        store.beats(0).await.expect("answered"),
        trail(store).await,
    );
    if !fixture.reopen().await {
        return;
    }

    let store = fixture.store();
    let after = (
        changes(store, Version(0)).await,
        changes(store, Version(1)).await,
        events(store, all_of("acme")).await,
        store.last_event().await.expect("answered"),
        store.beats(0).await.expect("answered"),
        trail(store).await,
    );
    assert_eq!(after, before);
    assert_eq!(store.silent(LONG).await.expect("answered"), []);
}

/// Versions, events, ticks and lines.
pub async fn numbers_go_on_after_opening_again(mut fixture: Fixture) {
    let store = fixture.store();
    let (version, last_event) = commit(store, something(1)).await;
    store.beat(agent("a"), "1".to_owned()).await.expect("written");
    store.beat(agent("b"), "1".to_owned()).await.expect("written");
    store.forget_beats(agent("b")).await.expect("written");
    let (tick, _) = beats(store, 0).await;
    if !fixture.reopen().await {
        return;
    }

    let store = fixture.store();
    let (next, last) = commit(store, something(2)).await;
    assert_eq!((next, last), (Version(version.0 + 1), last_event + 2));
    store.beat(agent("c"), "1".to_owned()).await.expect("written");
    let fresh = beats(store, tick).await.1;
    assert_eq!(fresh, [("c".to_owned(), "1".to_owned())]);
    store.audit(vec!["{}".to_owned()]).await.expect("written");
    assert_eq!(trail(store).await.len(), 3);
}
