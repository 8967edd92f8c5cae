//! Budgets of a day.

use std::sync::Arc;

use nuncio_hub::store::{Allowance, HubStore};

use super::Fixture;

const TODAY: u32 = 20_000;

fn allowance(key: &str, limit: u64) -> Allowance {
    Allowance { key: key.to_owned(), limit }
}

async fn spend(store: &dyn HubStore, day: u32, allowances: &[(&str, u64)]) -> Option<usize> {
    let allowances = allowances.iter().map(|(key, limit)| allowance(key, *limit)).collect();
    store.spend(day, allowances).await.expect("answered")
}

/// Also after it was opened again.
pub async fn an_allowance_is_spent_to_its_limit(mut fixture: Fixture) {
    let store = fixture.store();
    assert_eq!(spend(store, TODAY, &[]).await, None);
    assert_eq!(spend(store, TODAY, &[("a", 2)]).await, None);
    assert_eq!(spend(store, TODAY, &[("b", 1)]).await, None, "another is another");
    fixture.reopen().await;
    let store = fixture.store();
    assert_eq!(spend(store, TODAY, &[("a", 2)]).await, None);
    assert_eq!(spend(store, TODAY, &[("a", 2)]).await, Some(0));
    assert_eq!(spend(store, TODAY, &[("a", 3)]).await, None, "there is more by now");
    assert_eq!(spend(store, TODAY, &[("a", 0)]).await, Some(0));
}

/// Which is used up is told by its place, the first if there are several.
pub async fn all_are_spent_or_none(fixture: Fixture) {
    let store = fixture.store();
    assert_eq!(spend(store, TODAY, &[("z", 1), ("a", 2)]).await, None);
    assert_eq!(spend(store, TODAY, &[("a", 2), ("z", 1)]).await, Some(1));
    assert_eq!(spend(store, TODAY, &[("z", 1), ("a", 2)]).await, Some(0));
    assert_eq!(spend(store, TODAY, &[("z", 1), ("a", 1)]).await, Some(0));
    assert_eq!(spend(store, TODAY, &[("a", 2)]).await, None, "the refused have cost nothing");
    assert_eq!(spend(store, TODAY, &[("a", 2)]).await, Some(0));
}

/// Whoever's clock is behind spends of the newest day.
pub async fn a_new_day_begins_anew_and_an_old_one_does_not_come_back(fixture: Fixture) {
    let store = fixture.store();
    assert_eq!(spend(store, TODAY, &[("a", 1)]).await, None);
    assert_eq!(spend(store, TODAY, &[("a", 1)]).await, Some(0));
    assert_eq!(spend(store, TODAY + 1, &[("a", 1)]).await, None);
    assert_eq!(spend(store, TODAY, &[("a", 1)]).await, Some(0));
    assert_eq!(spend(store, TODAY + 5, &[("b", 1)]).await, None);
    assert_eq!(spend(store, TODAY + 5, &[("a", 1)]).await, None);
}

/// Whoever comes first, and in whatever order they name what they spend.
pub async fn spent_at_once_is_spent_exactly(fixture: Fixture) {
    let store = fixture.shared();
    let spenders: Vec<_> = (0..40)
        .map(|number| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                let mut both = vec![allowance("a", 25), allowance("b", 1_000)];
                if number % 2 == 0 {
                    both.reverse();
                }
                store.spend(TODAY, both).await.expect("answered").is_none()
            })
        })
        .collect();
    let mut spent = 0;
    for spender in spenders {
        spent += usize::from(spender.await.expect("no panic"));
    }
    assert_eq!(spent, 25);
    assert_eq!(spend(&**store, TODAY, &[("b", 26)]).await, None, "25 were spent of it");
    assert_eq!(spend(&**store, TODAY, &[("b", 26)]).await, Some(0));
}
