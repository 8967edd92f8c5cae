//! Records, and who may change them.

use std::sync::Arc;

use nuncio_hub::store::{Changes, Commit, Committed, HubStore, Kind, Version};

use super::{
    Fixture,
    story::{
        Documents, all_of, apply, changes, commit, event, events, put, record, removal, trail,
        version,
    },
};

/// How many write at once.
const WRITERS: usize = 100;

/// A new store has no records, no events and no trail.
pub async fn nothing_was_ever_written_at_version_0(fixture: Fixture) {
    let store = fixture.store();
    assert_eq!(changes(store, Version(0)).await, Changes::default());
    assert_eq!(store.last_event().await.expect("answered"), 0);
    assert_eq!(trail(store).await, []);
}

/// Versions are numbered without a gap, from 1.
pub async fn a_commit_is_one_version_more(fixture: Fixture) {
    let store = fixture.store();
    for number in 1..=5 {
        let records = vec![record(Kind::Agent, "echo", &number.to_string())];
        let done = Committed::Done { version: Version(number), last_event: 0 };
        let commit = Commit { seen: Version(number - 1), records, ..Commit::default() };
        assert_eq!(store.commit(commit).await.expect("answered"), done);
        assert_eq!(version(store).await, Version(number));
    }
}

/// Neither records nor events nor lines.
pub async fn a_commit_that_has_not_seen_the_newest_writes_nothing(fixture: Fixture) {
    check_refused(fixture.store(), |newest| newest - 1).await;
}

/// A version that nobody has written yet is not the one that is there.
pub async fn a_commit_that_has_seen_the_future_writes_nothing(fixture: Fixture) {
    check_refused(fixture.store(), |newest| newest + 1).await;
}

async fn check_refused(store: &dyn HubStore, seen: impl Fn(u64) -> u64) {
    put(store, vec![record(Kind::Agent, "echo", "1"), record(Kind::Rule, "r", "1")]).await;
    let newest = put(store, vec![record(Kind::Agent, "echo", "2")]).await;
    let before = changes(store, Version(0)).await;
    let late = Commit {
        seen: Version(seen(newest.0)),
        records: vec![record(Kind::Agent, "echo", "3"), removal(Kind::Rule, "r")],
        events: vec![event("LATE")],
        audit: vec!["late".to_owned()],
    };
    assert_eq!(store.commit(late).await.expect("answered"), Committed::Behind);
    assert_eq!(changes(store, Version(0)).await, before);
    assert_eq!(store.last_event().await.expect("answered"), 0);
    assert_eq!(events(store, all_of("acme")).await, []);
    assert_eq!(trail(store).await, []);
}

/// Whoever commits is told a version of their own.
pub async fn an_empty_commit_is_a_version_too(fixture: Fixture) {
    let store = fixture.store();
    let (version, last_event) = commit(store, Commit::default()).await;
    assert_eq!((version, last_event), (Version(1), 0));
    assert_eq!(changes(store, Version(0)).await, Changes { version, records: Vec::new() });
}

/// However often it was written in between.
pub async fn changes_have_each_record_once_as_it_is_now(fixture: Fixture) {
    let store = fixture.store();
    let first =
        put(store, vec![record(Kind::Agent, "a", "1"), record(Kind::Agent, "b", "1")]).await;
    let second =
        put(store, vec![record(Kind::Agent, "a", "2"), record(Kind::Rule, "c", "2")]).await;
    let third = put(store, vec![record(Kind::Agent, "a", "3")]).await;
    let [a, b, c] = [
        record(Kind::Agent, "a", "3"),
        record(Kind::Agent, "b", "1"),
        record(Kind::Rule, "c", "2"),
    ];
    for (after, records) in [
        (Version(0), vec![a.clone(), b, c.clone()]),
        (first, vec![a.clone(), c]),
        (second, vec![a]),
        (third, Vec::new()),
    ] {
        assert_eq!(changes(store, after).await, Changes { version: third, records });
    }
}

/// Also behind a version that is not there yet.
pub async fn changes_behind_the_newest_are_none(fixture: Fixture) {
    let store = fixture.store();
    let version = put(store, vec![record(Kind::Agent, "a", "1")]).await;
    for after in [version, Version(version.0 + 1), Version(u64::MAX)] {
        assert_eq!(changes(store, after).await, Changes { version, records: Vec::new() });
    }
}

/// Others learn that it is gone.
pub async fn a_removed_record_is_told_without_a_body(fixture: Fixture) {
    let store = fixture.store();
    let there = put(store, vec![record(Kind::Key, "a", "1"), record(Kind::Key, "b", "1")]).await;
    let gone = put(store, vec![removal(Kind::Key, "a")]).await;
    let expected = Changes { version: gone, records: vec![removal(Kind::Key, "a")] };
    assert_eq!(changes(store, there).await, expected);
    assert_eq!(changes(store, gone).await.records, []);
    // Who knew nothing may be told or not.
    let mut documents = Documents::new();
    apply(&mut documents, &changes(store, Version(0)).await);
    let expected = Documents::from([((Kind::Key, "b".to_owned()), "1".to_owned())]);
    assert_eq!(documents, expected);
}

/// And is then told as any other.
pub async fn a_removed_record_can_come_back(fixture: Fixture) {
    let store = fixture.store();
    put(store, vec![record(Kind::Key, "a", "1")]).await;
    let gone = put(store, vec![removal(Kind::Key, "a")]).await;
    put(store, vec![record(Kind::Key, "a", "2")]).await;
    for after in [Version(0), gone] {
        assert_eq!(changes(store, after).await.records, [record(Kind::Key, "a", "2")]);
    }
}

/// A key counts within its kind.
pub async fn records_of_other_kinds_are_other_records(fixture: Fixture) {
    let store = fixture.store();
    let named = |kind: Kind| record(kind, "same", kind.as_str());
    let first = put(store, Kind::ALL.map(named).to_vec()).await;
    let mut all = Kind::ALL.map(named).to_vec();
    all.sort_by_key(|record| record.kind);
    assert_eq!(changes(store, Version(0)).await.records, all);
    put(store, vec![removal(Kind::Rule, "same")]).await;
    assert_eq!(changes(store, first).await.records, [removal(Kind::Rule, "same")]);
}

/// Whatever is in them, and however long they are.
pub async fn texts_come_back_byte_by_byte(fixture: Fixture) {
    let store = fixture.store();
    let texts = ["", " ", "a", "A", "é", "e\u{301}", "\0", "\u{1}", "\0\u{1}", "'\"\\%_", "🦀\n"];
    let mut records: Vec<_> = texts.iter().map(|text| record(Kind::Rule, text, text)).collect();
    // Longer than a page.
    let long = "é\u{1}".repeat(400);
    records.push(record(Kind::Rule, &long, &long.repeat(1000)));
    put(store, records.clone()).await;
    records.sort_by(|one, other| one.key.cmp(&other.key));
    assert_eq!(changes(store, Version(0)).await.records, records);
    let lines: Vec<String> = texts.map(str::to_owned).to_vec();
    store.audit(lines.clone()).await.expect("written");
    let found: Vec<String> = trail(store).await.into_iter().map(|line| line.body).collect();
    assert_eq!(found, lines);
}

/// All have seen the same version; the others leave no trace.
pub async fn of_commits_at_once_one_is_written(fixture: Fixture) {
    let store = fixture.shared();
    let seen = put(&**store, vec![record(Kind::Agent, "a", "nobody")]).await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let store = Arc::clone(store);
            let commit = Commit {
                seen,
                records: vec![record(Kind::Agent, "a", &number.to_string())],
                events: vec![event(&number.to_string())],
                audit: vec![number.to_string()],
            };
            tokio::spawn(async move { store.commit(commit).await.expect("answered") })
        })
        .collect();
    let mut winners = Vec::new();
    for (number, writer) in writers.into_iter().enumerate() {
        match writer.await.expect("no panic") {
            Committed::Done { version, last_event } => {
                assert_eq!((version, last_event), (Version(seen.0 + 1), 1));
                winners.push(number.to_string());
            }
            Committed::Behind => {}
        }
    }
    let [winner] = &winners[..] else { panic!("{winners:?} were written") };
    let store = &**store;
    let now = changes(store, seen).await;
    assert_eq!(now.version, Version(seen.0 + 1));
    assert_eq!(now.records, [record(Kind::Agent, "a", winner)]);
    let logged = events(store, all_of("acme")).await;
    assert_eq!(logged.iter().map(|logged| &logged.event.name).collect::<Vec<_>>(), [winner]);
    assert_eq!(trail(store).await.iter().map(|line| &line.body).collect::<Vec<_>>(), [winner]);
}

/// Each adds one to a number that all share: none is lost.
pub async fn everybody_who_reads_again_is_written_in_the_end(fixture: Fixture) {
    const ADDERS: u64 = 8;
    const TIMES: u64 = 5;
    let store = fixture.shared();
    let adders: Vec<_> = (0..ADDERS)
        .map(|_| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                for _ in 0..TIMES {
                    while !add_one(&*store).await {}
                }
            })
        })
        .collect();
    for adder in adders {
        adder.await.expect("no panic");
    }
    let now = changes(&**store, Version(0)).await;
    assert_eq!(now.version, Version(ADDERS * TIMES));
    assert_eq!(now.records, [record(Kind::Agent, "sum", &(ADDERS * TIMES).to_string())]);
}

async fn add_one(store: &dyn HubStore) -> bool {
    let Changes { version: seen, records } = changes(store, Version(0)).await;
    let sum = records.first().and_then(|record| record.body.as_deref()).unwrap_or("0");
    let sum: u64 = sum.parse().expect("a number was written");
    let records = vec![record(Kind::Agent, "sum", &(sum + 1).to_string())];
    let commit = Commit { seen, records, ..Commit::default() };
    store.commit(commit).await.expect("answered") != Committed::Behind
}

/// Never one record of it without the other, nor the version without either.
pub async fn readers_see_a_commit_as_a_whole(fixture: Fixture) {
    const COMMITS: u64 = 50;
    let store = fixture.shared();
    let writer = tokio::spawn({
        let store = Arc::clone(store);
        async move {
            for number in 1..=COMMITS {
                let both = ["a", "b"].map(|key| record(Kind::Agent, key, &number.to_string()));
                put(&*store, both.to_vec()).await;
            }
        }
    });
    loop {
        let now = changes(&**store, Version(0)).await;
        let number = Some(now.version.0.to_string()).filter(|_| now.version.0 > 0);
        let bodies: Vec<_> = now.records.into_iter().map(|record| record.body).collect();
        assert_eq!(bodies, if number.is_some() { vec![number; 2] } else { Vec::new() });
        if now.version == Version(COMMITS) {
            break;
        }
    }
    writer.await.expect("no panic");
}

/// A commit has no limit of its own.
pub async fn many_records_are_written_at_once(fixture: Fixture) {
    let store = fixture.store();
    let numbers = 1000..3000;
    let records = numbers.map(|number| record(Kind::Agent, &number.to_string(), "{}"));
    let records: Vec<_> = records.collect();
    let events = (0..500).map(|number| event(&number.to_string())).collect();
    let audit = (0..500).map(|number| number.to_string()).collect();
    let all = Commit { records: records.clone(), events, audit, ..Commit::default() };
    assert_eq!(commit(store, all).await, (Version(1), 500));
    assert_eq!(changes(store, Version(0)).await.records, records);
    assert_eq!(trail(store).await.len(), 500);
}
