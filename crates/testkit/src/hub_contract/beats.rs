//! Heartbeats, and silence.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use nuncio_protocol::time::Timestamp;

use super::{
    Fixture,
    story::{LONG, agent, beats, changes, eventually, version},
};

fn said(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(agent, body)| ((*agent).to_owned(), (*body).to_owned())).collect()
}

/// Each agent has one.
pub async fn a_beat_takes_the_place_of_the_one_before(fixture: Fixture) {
    let store = fixture.store();
    for (name, body) in [("a", "1"), ("b", "1"), ("a", "2"), ("a", "3")] {
        store.beat(agent(name), body.to_owned()).await.expect("written");
    }
    assert_eq!(beats(store, 0).await.1, said(&[("a", "3"), ("b", "1")]));
}

/// The stamp that is returned is the one that is kept.
pub async fn a_beat_is_stamped_by_the_store(fixture: Fixture) {
    let store = fixture.store();
    let mut last = None;
    for body in ["1", "2", "3"] {
        let stamp = store.beat(agent("a"), body.to_owned()).await.expect("written");
        let found = store.beats(0).await.expect("answered").beats;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].at, found[0].body.as_str()), (stamp, body));
        assert!(last <= Some(stamp), "{last:?} is behind {stamp:?}");
        last = Some(stamp);
        // Its clock is another one, but tells the same day.
        let apart = Timestamp::now().as_millis().abs_diff(stamp.as_millis());
        assert!(Duration::from_millis(apart) < LONG, "{stamp:?} is not now");
    }
}

/// Also one that says the same again.
pub async fn every_beat_is_behind_the_tick_before(fixture: Fixture) {
    let store = fixture.store();
    let (mut tick, none) = beats(store, 0).await;
    assert_eq!(none, []);
    for (name, body) in [("a", "1"), ("b", "1"), ("a", "2"), ("a", "2")] {
        store.beat(agent(name), body.to_owned()).await.expect("written");
        let (newest, fresh) = beats(store, tick).await;
        assert!(newest > tick);
        assert_eq!(fresh, said(&[(name, body)]));
        assert_eq!(beats(store, newest).await, (newest, Vec::new()));
        tick = newest;
    }
    assert_eq!(beats(store, u64::MAX).await, (tick, Vec::new()));
}

/// Else a reader would miss the next beat.
pub async fn a_tick_is_not_used_again_when_beats_are_forgotten(fixture: Fixture) {
    let store = fixture.store();
    store.beat(agent("a"), "1".to_owned()).await.expect("written");
    store.beat(agent("b"), "1".to_owned()).await.expect("written");
    let (tick, _) = beats(store, 0).await;
    store.forget_beats(agent("b")).await.expect("written");
    let (same, _) = beats(store, 0).await;
    assert!(same >= tick);
    store.beat(agent("c"), "1".to_owned()).await.expect("written");
    assert_eq!(beats(store, tick).await.1, said(&[("c", "1")]));
}

/// Those of the same agent are one in the end.
pub async fn beats_at_once_are_all_behind_the_tick(fixture: Fixture) {
    let store = fixture.shared();
    store.beat(agent("first"), "{}".to_owned()).await.expect("written");
    let (tick, _) = beats(&**store, 0).await;
    let senders: Vec<_> = (0..100)
        .map(|number| {
            let store = Arc::clone(store);
            let name = agent(&format!("agent {}", number % 50));
            tokio::spawn(async move { store.beat(name, "{}".to_owned()).await.expect("written") })
        })
        .collect();
    for sender in senders {
        sender.await.expect("no panic");
    }
    assert_eq!(beats(&**store, tick).await.1.len(), 50);
}

/// Whoever goes on from the tick that came with the last answer hears of everybody.
pub async fn a_reader_misses_no_beat(fixture: Fixture) {
    const SENDERS: usize = 4;
    const BEATS: usize = 25;
    let store = fixture.shared();
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                for number in 0..BEATS {
                    let name = agent(&format!("{sender} {number}"));
                    store.beat(name, "{}".to_owned()).await.expect("written");
                }
            })
        })
        .collect();
    let mut heard = BTreeSet::new();
    let mut tick = 0;
    eventually("everybody is heard", async || {
        let (newest, fresh) = beats(&**store, tick).await;
        tick = newest;
        heard.extend(fresh.into_iter().map(|(agent, _)| agent));
        (heard.len() == SENDERS * BEATS).then_some(())
    })
    .await;
    for sender in senders {
        sender.await.expect("no panic");
    }
}

/// And only for longer than was asked for.
pub async fn who_has_not_beaten_for_long_is_silent(fixture: Fixture) {
    let store = fixture.store();
    let (a, b) = (agent("a"), agent("b"));
    store.beat(a.clone(), "{}".to_owned()).await.expect("written");
    store.beat(b.clone(), "{}".to_owned()).await.expect("written");
    eventually("both are silent", async || {
        let mut silent = store.silent(Duration::from_millis(20)).await.expect("answered");
        silent.sort();
        (silent == [a.clone(), b.clone()]).then_some(())
    })
    .await;
    assert_eq!(store.silent(LONG).await.expect("answered"), []);
    assert_eq!(store.silent(Duration::MAX).await.expect("answered"), []);
}

/// The store knows nothing of such agents.
pub async fn who_never_beat_is_not_silent(fixture: Fixture) {
    let store = fixture.store();
    assert_eq!(store.silent(Duration::ZERO).await.expect("answered"), []);
}

/// The agent is not silent either, and may beat again.
pub async fn forgotten_beats_are_gone(fixture: Fixture) {
    let store = fixture.store();
    store.beat(agent("a"), "1".to_owned()).await.expect("written");
    store.beat(agent("b"), "1".to_owned()).await.expect("written");
    store.forget_beats(agent("a")).await.expect("written");
    store.forget_beats(agent("stranger")).await.expect("answered");
    assert_eq!(beats(store, 0).await.1, said(&[("b", "1")]));
    let silent = eventually("one is silent", async || {
        let silent = store.silent(Duration::ZERO).await.expect("answered");
        (!silent.is_empty()).then_some(silent)
    });
    assert_eq!(silent.await, [agent("b")]);
    store.beat(agent("a"), "2".to_owned()).await.expect("written");
    assert_eq!(beats(store, 0).await.1, said(&[("a", "2"), ("b", "1")]));
}

/// Neither do lines of the trail.
pub async fn beats_change_no_version(fixture: Fixture) {
    let store = fixture.store();
    let before = version(store).await;
    store.beat(agent("a"), "1".to_owned()).await.expect("written");
    store.forget_beats(agent("a")).await.expect("written");
    store.audit(vec!["{}".to_owned()]).await.expect("written");
    assert_eq!(changes(store, before).await.version, before);
    assert_eq!(store.last_event().await.expect("answered"), 0);
}
