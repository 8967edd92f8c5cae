//! Many calls at once, really at once (O-18).
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use nuncio_client::fan_out::fan_out;
//!
//! let lengths = fan_out(["one", "three"], 8, async |word: &str| word.len()).in_order().await;
//! assert_eq!(lengths.into_iter().collect::<Result<Vec<_>, _>>().unwrap(), [3, 5]);
//! # });
//! ```

use std::{collections::HashMap, fmt, future::Future};

use tokio::task::{Id, JoinSet};

/// Calls a function with every item, at most `limit` at once, each in a task of its own.
///
/// The first calls begin at once, whether or not anybody waits for results yet; another one
/// begins whenever a result is taken. Dropping what is returned ends all calls.
///
/// # Panics
/// If there is no runtime.
pub fn fan_out<I, F, R>(items: I, limit: usize, call: F) -> FanOut<I::IntoIter, F, R::Output>
where
    I: IntoIterator,
    F: FnMut(I::Item) -> R,
    R: Future<Output: Send> + Send + 'static,
{
    let mut fan_out = FanOut {
        items: items.into_iter(),
        call,
        running: JoinSet::new(),
        places: HashMap::new(),
        begun: 0,
    };
    while fan_out.running.len() < limit.max(1) && fan_out.begin() {}
    fan_out
}

/// Calls that run at once.
#[must_use]
pub struct FanOut<I, F, T> {
    items: I,
    call: F,
    running: JoinSet<T>,
    places: HashMap<Id, usize>,
    begun: usize,
}

/// A call that panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the call of item {place} panicked")]
pub struct Lost {
    /// The place of the item, from 0.
    pub place: usize,
}

impl<I, F, R> FanOut<I, F, R::Output>
where
    I: Iterator,
    F: FnMut(I::Item) -> R,
    R: Future<Output: Send> + Send + 'static,
{
    /// Returns the next result that is there, with the place of its item; `None` when every
    /// call has ended.
    pub async fn next(&mut self) -> Option<(usize, Result<R::Output, Lost>)> {
        let joined = self.running.join_next_with_id().await?;
        let id = match &joined {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let place = self.places.remove(&id).unwrap_or_default();
        self.begin();
        Some((place, joined.map(|(_, result)| result).map_err(|_| Lost { place })))
    }

    /// Waits for all calls and returns their results in the order of the items.
    pub async fn in_order(mut self) -> Vec<Result<R::Output, Lost>> {
        let mut results = Vec::new();
        while let Some(result) = self.next().await {
            results.push(result);
        }
        results.sort_unstable_by_key(|(place, _)| *place);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn begin(&mut self) -> bool {
        let Some(item) = self.items.next() else { return false };
        let task = self.running.spawn((self.call)(item));
        self.places.insert(task.id(), self.begun);
        self.begun += 1;
        true
    }
}

impl<I, F, T> fmt::Debug for FanOut<I, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FanOut").field("begun", &self.begun).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::sync::{Barrier, mpsc, oneshot};

    use super::*;

    #[tokio::test]
    async fn o_18_all_calls_are_in_flight_at_once() {
        // Nobody passes before all have come.
        let barrier = Arc::new(Barrier::new(64));
        let calls = fan_out(0..64, 64, move |number| {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait().await;
                number * 2
            }
        });
        let results: Result<Vec<i32>, _> = calls.in_order().await.into_iter().collect();
        assert_eq!(results.unwrap(), (0..64).map(|number| number * 2).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn no_more_run_at_once_than_allowed() {
        let running = Arc::new(AtomicUsize::new(0));
        let calls = fan_out(0..50, 7, |_| {
            let running = Arc::clone(&running);
            async move {
                let most = running.fetch_add(1, Ordering::SeqCst) + 1;
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::SeqCst);
                most
            }
        });
        let most = calls.in_order().await.into_iter().map(Result::unwrap).max();
        assert!(most.is_some_and(|most| most <= 7), "{most:?}");
    }

    #[tokio::test]
    async fn results_come_as_they_are_there() {
        let (first, wait) = oneshot::channel::<()>();
        let mut wait = Some(wait);
        let mut calls = fan_out([0, 1], 2, |number| {
            let wait = if number == 0 { wait.take() } else { None };
            async move {
                if let Some(wait) = wait {
                    wait.await.unwrap();
                }
                number
            }
        });
        assert_eq!(calls.next().await, Some((1, Ok(1))));
        first.send(()).unwrap();
        assert_eq!(calls.next().await, Some((0, Ok(0))));
        assert_eq!(calls.next().await, None);
    }

    #[tokio::test]
    async fn dropping_it_ends_the_rest() {
        let (alive, mut ended) = mpsc::channel::<()>(1);
        let calls = fan_out(0..8, 8, move |_| {
            let alive = alive.clone();
            async move {
                std::future::pending::<()>().await;
                drop(alive);
            }
        });
        drop(calls);
        assert_eq!(ended.recv().await, None);
    }

    #[tokio::test]
    async fn a_panic_costs_one_result_only() {
        let calls = fan_out(0..3, 3, async |number: i32| {
            assert_ne!(number, 1, "on purpose");
            number
        });
        assert_eq!(calls.in_order().await, [Ok(0), Err(Lost { place: 1 }), Ok(2)]);
    }

    #[tokio::test]
    async fn a_limit_of_none_is_one() {
        let calls = fan_out([1, 2], 0, async |number: i32| number);
        assert_eq!(calls.in_order().await, [Ok(1), Ok(2)]);
    }
}
