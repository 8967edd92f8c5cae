//! Heartbeats that come in together are written together.
//!
//! A write that is on the disk before it is answered costs far more than what is written. So a
//! heartbeat that is alone is written at once, and those that follow soon after another wait for
//! company, no longer than [`APART`]: however many agents there are, there are four writes a
//! second. Nobody is answered before what they said is on the disk.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use nuncio_protocol::{ids::AgentId, time::Timestamp};
use nuncio_tasks::store::Error;
use tokio::{
    sync::oneshot,
    time::{Duration, Instant, sleep_until},
};

use crate::store::HubStore;

/// So far apart are two writes of heartbeats at least.
const APART: Duration = Duration::from_millis(250);

/// Heartbeats on their way to the disk.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    waiting: Mutex<Vec<Waiting>>,
    /// When heartbeats were last written. Held by the one of those who wait who writes for all.
    last: tokio::sync::Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Waiting {
    agent: AgentId,
    body: String,
    reply: oneshot::Sender<Result<Timestamp, Error>>,
}

impl Gathering {
    /// Writes a heartbeat, with those that come in meanwhile, and returns its stamp.
    pub(super) async fn write(
        &self,
        store: &dyn HubStore,
        agent: &AgentId,
        body: &str,
    ) -> Result<Timestamp, Error> {
        loop {
            let (reply, mut written) = oneshot::channel();
            self.waiting().push(Waiting { agent: agent.clone(), body: body.to_owned(), reply });
            let answer = tokio::select! {
                biased;
                answer = &mut written => answer.ok(),
                mut last = self.last.lock() => {
                    let mut answer = written.try_recv().ok();
                    // Unless whoever had the turn before has written this, too.
                    if answer.is_none() {
                        if let Some(last) = *last {
                            sleep_until(last + APART).await;
                        }
                        *last = Some(Instant::now());
                        self.write_all(store).await;
                        answer = written.try_recv().ok();
                    }
                    answer
                }
            };
            // Without one, whoever wrote for all has gone away. To say the same twice does no harm.
            if let Some(answer) = answer {
                return answer;
            }
        }
    }

    /// Writes everything that waits. They come to the store at once, so that they share a commit.
    async fn write_all(&self, store: &dyn HubStore) {
        let waiting = std::mem::take(&mut *self.waiting());
        join_all(waiting.into_iter().map(|Waiting { agent, body, reply }| async move {
            // Nobody may be waiting any more.
            let _ = reply.send(store.beat(agent, body).await);
        }))
        .await;
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
