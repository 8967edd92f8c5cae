//! The audit trail.

use std::{collections::BTreeSet, sync::Arc};

use nuncio_hub::{
    audit::{Link, verify},
    store::{AuditLine, Commit},
};

use super::{
    Fixture,
    story::{commit, trail},
};

fn lines(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn bodies(trail: &[AuditLine]) -> Vec<&str> {
    trail.iter().map(|line| line.body.as_str()).collect()
}

/// From the first one on, numbered from 1.
pub async fn lines_are_tied_to_one_another(fixture: Fixture) {
    let store = fixture.store();
    store.audit(lines(&["{}", "{}"])).await.expect("written");
    store.audit(Vec::new()).await.expect("written");
    store.audit(lines(&["{\"a\":1}"])).await.expect("written");
    let found = trail(store).await;
    assert_eq!(bodies(&found), ["{}", "{}", "{\"a\":1}"]);
    assert_eq!(found[0].link, Link::START.after("{}"));
    assert_eq!(found.iter().map(|line| line.seq).collect::<Vec<_>>(), [1, 2, 3]);
}

/// In the order in which they were written.
pub async fn lines_of_commits_stand_in_the_same_trail(fixture: Fixture) {
    let store = fixture.store();
    store.audit(lines(&["1"])).await.expect("written");
    commit(store, Commit { audit: lines(&["2", "3"]), ..Commit::default() }).await;
    store.audit(lines(&["4"])).await.expect("written");
    assert_eq!(bodies(&trail(store).await), ["1", "2", "3", "4"]);
}

/// Lines that were appended together stay together.
pub async fn lines_appended_at_once_are_one_trail(fixture: Fixture) {
    const WRITERS: u64 = 20;
    let store = fixture.shared();
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                let pair = ["a", "b"].map(|half| format!("{number} {half}")).to_vec();
                if number % 2 == 0 {
                    store.audit(pair).await.expect("written");
                } else {
                    let committed = Commit { audit: pair, ..Commit::default() };
                    // Others may have been first: that is what is to be seen.
                    store.commit(committed).await.expect("answered");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("no panic");
    }
    let found = trail(&**store).await;
    let pairs: BTreeSet<&str> = found
        .chunks(2)
        .map(|pair| {
            let number = pair[0].body.strip_suffix(" a").expect("pairs stay together");
            assert_eq!(pair[1].body, format!("{number} b"));
            number
        })
        .collect();
    // All that need no version, and the one that saw the newest.
    assert_eq!(pairs.len() as u64, WRITERS / 2 + 1);
    assert_eq!(found.len(), pairs.len() * 2);
}

/// Each page can be verified behind the one before.
pub async fn a_trail_is_read_in_pages(fixture: Fixture) {
    let store = fixture.store();
    let bodies: Vec<String> = (0..25).map(|number| number.to_string()).collect();
    store.audit(bodies.clone()).await.expect("written");
    let (mut seq, mut link) = (0, Link::START);
    let mut paged = Vec::new();
    loop {
        let page = store.audit_trail(seq, 10).await.expect("answered");
        link = verify(seq, link, &page).expect("the page follows the one before");
        seq += page.len() as u64;
        if page.is_empty() {
            break;
        }
        paged.extend(page.into_iter().map(|line| line.body));
    }
    assert_eq!(paged, bodies);
    assert_eq!(store.audit_trail(u64::MAX, 10).await.expect("answered"), []);
    assert_eq!(store.audit_trail(0, 0).await.expect("answered"), []);
}
