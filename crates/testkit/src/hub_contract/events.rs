//! The log of events.

use nuncio_hub::store::{Commit, EventQuery, LoggedEvent, NewEvent};
use nuncio_protocol::time::Timestamp;

use super::{
    Fixture,
    story::{agent, all_of, commit, event, events, organisation},
};

fn with_events(events: Vec<NewEvent>) -> Commit {
    Commit { events, ..Commit::default() }
}

/// Across commits, also such as have none.
pub async fn events_are_numbered_without_a_gap(fixture: Fixture) {
    let store = fixture.store();
    commit(store, with_events(vec![event("A"), event("B")])).await;
    commit(store, Commit::default()).await;
    commit(store, with_events(vec![event("C"), event("D"), event("E")])).await;
    let logged = events(store, all_of("acme")).await;
    let found: Vec<(u64, &str)> =
        logged.iter().map(|logged| (logged.seq, logged.event.name.as_str())).collect();
    assert_eq!(found, [(1, "A"), (2, "B"), (3, "C"), (4, "D"), (5, "E")]);
    assert_eq!(store.last_event().await.expect("answered"), 5);
}

/// So does the store when it is asked.
pub async fn a_commit_tells_the_last_event_new_or_old(fixture: Fixture) {
    let store = fixture.store();
    for (count, last) in [(0, 0), (2, 2), (0, 2), (3, 5), (0, 5)] {
        let new = vec![event("A"); count];
        assert_eq!(commit(store, with_events(new)).await.1, last);
        assert_eq!(store.last_event().await.expect("answered"), last);
    }
}

/// Organisation, agent, name, the event before, and how many.
pub async fn every_filter_and_all_together_hold(fixture: Fixture) {
    let store = fixture.store();
    let organisations = ["acme", "globex", "a"];
    let agents = [None, Some("echo"), Some("other")];
    let names = ["ONLINE", "OFFLINE", "online"];
    let mut log = Vec::new();
    for _ in 0..3 {
        for organisation_name in organisations {
            for agent_name in agents {
                for name in names {
                    log.push(NewEvent {
                        organisation: organisation(organisation_name),
                        agent: agent_name.map(agent),
                        ..event(name)
                    });
                }
            }
        }
    }
    let total = log.len() as u64;
    for part in log.chunks(7) {
        commit(store, with_events(part.to_vec())).await;
    }
    let log: Vec<LoggedEvent> =
        (1..).zip(log).map(|(seq, event)| LoggedEvent { seq, event }).collect();
    for organisation_name in ["acme", "globex", "a", "nobody"] {
        for agent_name in [None, Some("echo"), Some("stranger")] {
            for name in [None, Some("ONLINE"), Some("GONE")] {
                for (after, limit) in [(0, 1000), (30, 2), (total, 10), (u64::MAX, 10), (0, 0)] {
                    let query = EventQuery {
                        organisation: organisation(organisation_name),
                        agent: agent_name.map(agent),
                        name: name.map(str::to_owned),
                        after,
                        limit,
                    };
                    let expected: Vec<LoggedEvent> =
                        log.iter().filter(|one| is_wanted(&query, one)).cloned().collect();
                    let most = expected.len().min(limit as usize);
                    assert_eq!(events(store, query.clone()).await, expected[..most], "{query:?}");
                }
            }
        }
    }
}

fn is_wanted(query: &EventQuery, LoggedEvent { seq, event }: &LoggedEvent) -> bool {
    *seq > query.after
        && event.organisation == query.organisation
        && (query.agent.is_none() || query.agent == event.agent)
        && query.name.as_ref().is_none_or(|name| *name == event.name)
}

/// Whoever goes on behind the last event of a page misses none.
pub async fn pages_of_events_hold_each_once(fixture: Fixture) {
    let store = fixture.store();
    for _ in 0..5 {
        let foreign = NewEvent { organisation: organisation("globex"), ..event("F") };
        commit(store, with_events(vec![event("A"), foreign, event("B")])).await;
    }
    let all = events(store, all_of("acme")).await;
    let mut paged: Vec<LoggedEvent> = Vec::new();
    loop {
        let after = paged.last().map_or(0, |last| last.seq);
        let page = events(store, EventQuery { after, limit: 3, ..all_of("acme") }).await;
        if page.is_empty() {
            break;
        }
        paged.extend(page);
    }
    assert_eq!(paged.len(), 10);
    assert_eq!(paged, all);
}

/// To the nanosecond, and before 1970.
pub async fn an_event_reads_back_as_it_was_written(fixture: Fixture) {
    let store = fixture.store();
    let moments = [(0, 0), (1_780_000_000, 999_999_999), (-86_400, 0), (-5, 999_999_999)];
    let written = moments.map(|(seconds, nanos)| NewEvent {
        organisation: organisation("é\0\u{1} org"),
        name: "A\0B".to_owned(),
        agent: Some(agent("\u{1}\0 agent")),
        at: Timestamp::from_parts(seconds, nanos).expect("it is on the calendar"),
        payload: r#"{"text":"'é\u0000"}"#.to_owned(),
    });
    commit(store, with_events(written.to_vec())).await;
    let query = EventQuery {
        agent: written[0].agent.clone(),
        name: Some(written[0].name.clone()),
        ..all_of(written[0].organisation.as_str())
    };
    let read = events(store, query).await;
    assert_eq!(read.into_iter().map(|logged| logged.event).collect::<Vec<_>>(), written);
}
