//! One piece of work for everybody who waits for it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// Work that runs at most once at a time, whatever the number of those who want its result.
///
/// The work belongs to the flight and not to the one who began it: whoever stops waiting
/// takes nothing from the others. It ends when the flight is dropped.
#[derive(Debug)]
pub(crate) struct Flight<T>(Mutex<Option<Running<T>>>);

#[derive(Debug)]
struct Running<T> {
    landed: watch::Receiver<Option<T>>,
    _work: AbortOnDropHandle<()>,
}

/// What came of the work.
#[derive(Debug)]
pub(crate) struct Landed<T> {
    /// The result; `None` if the work panicked or its runtime ended.
    pub(crate) result: Option<T>,
    /// Whether others had begun the work.
    pub(crate) was_joined: bool,
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone + Send + Sync + 'static> Flight<T> {
    /// Waits for the work that is under way, or begins it.
    pub(crate) async fn join<F>(&self, work: impl FnOnce() -> F) -> Landed<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let (mut landed, was_joined) = self.board(work);
        let result = landed.wait_for(Option::is_some).await.ok().and_then(|result| result.clone());
        Landed { result, was_joined }
    }

    fn board<F>(&self, work: impl FnOnce() -> F) -> (watch::Receiver<Option<T>>, bool)
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut running = self.running();
        // Work that ended without a result has no sender any more.
        let is_under_way =
            |one: &&Running<T>| one.landed.borrow().is_none() && one.landed.has_changed().is_ok();
        if let Some(running) = running.as_ref().filter(is_under_way) {
            return (running.landed.clone(), true);
        }
        let (sender, landed) = watch::channel(None);
        let work = work();
        let task = tokio::spawn(nuncio_net::trace::kept(async move {
            let result = work.await;
            sender.send_replace(Some(result));
        }));
        *running = Some(Running { landed: landed.clone(), _work: AbortOnDropHandle::new(task) });
        (landed, false)
    }

    fn running(&self) -> MutexGuard<'_, Option<Running<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn the_work_outlives_the_one_who_began_it() {
        let (flight, gate) = (Arc::new(Flight::default()), Arc::new(Notify::new()));
        let runs = Arc::new(AtomicUsize::new(0));
        let join = |flight: Arc<Flight<usize>>| {
            let (gate, runs) = (Arc::clone(&gate), Arc::clone(&runs));
            async move {
                flight
                    .join(|| async move {
                        gate.notified().await;
                        runs.fetch_add(1, Ordering::SeqCst)
                    })
                    .await
            }
        };
        let leader = tokio::spawn(join(Arc::clone(&flight)));
        tokio::task::yield_now().await;
        let others: Vec<_> = (0..100).map(|_| tokio::spawn(join(Arc::clone(&flight)))).collect();
        tokio::task::yield_now().await;
        leader.abort();
        assert!(leader.await.unwrap_err().is_cancelled());
        gate.notify_one();
        for other in others {
            let landed = other.await.unwrap();
            assert_eq!((landed.result, landed.was_joined), (Some(0), true));
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn work_that_panics_is_begun_anew() {
        let flight = Flight::<u8>::default();
        let landed = flight.join(|| async { panic!("on purpose") }).await;
        assert_eq!(landed.result, None);
        assert_eq!(flight.join(|| async { 7 }).await.result, Some(7));
    }
}
