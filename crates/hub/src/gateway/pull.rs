//! Agents that fetch their work, because nobody can call them: behind a firewall, on a laptop.
//!
//! A message for such an agent is laid on its desk. Whoever fetches work there is shown it, and
//! does nothing before it has accepted it: only one can, and that is written down first, so
//! that work is never done twice, whoever crashes. What comes of it is brought back with
//! numbers, and what is brought twice counts once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::stream::{self, BoxStream, StreamExt as _};
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::{AgentId, TaskId},
    operation::SendMessageRequest,
    service::Event,
};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::{Instant, timeout},
};

use nuncio_client::Error as ClientError;

/// For how long a piece of work is not shown to others after somebody was shown it.
const SHOWN_FOR: Duration = Duration::from_secs(10);

/// How many deliveries may wait for the log.
const MOST_WAITING: usize = 64;

/// The desks of all agents.
#[derive(Debug, Default)]
pub(crate) struct Desks(Mutex<HashMap<AgentId, Arc<Desk>>>);

/// Where the work of one agent lies.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pieces: Mutex<Pieces>,
    changed: Notify,
}

type Pieces = HashMap<TaskId, Piece>;

#[derive(Debug)]
struct Piece {
    /// When it was laid here, for those who came first to go first.
    since: Instant,
    stage: Stage,
    /// Whether somebody wants it to end, and whoever works on it was not told yet.
    is_cancelled: bool,
    brought: mpsc::Sender<Brought>,
}

impl Piece {
    /// Tells whether it can be shown to somebody.
    fn is_free(&self, now: Instant) -> bool {
        match &self.stage {
            Stage::Offered { shown, .. } => {
                shown.is_none_or(|shown| now.saturating_duration_since(shown) >= SHOWN_FOR)
            }
            Stage::Accepted => false,
        }
    }
}

#[derive(Debug)]
enum Stage {
    /// Nobody has accepted it.
    Offered {
        request: Box<SendMessageRequest>,
        shown: Option<Instant>,
        /// Tells that it was accepted; whoever is told writes that down and answers.
        accept: Option<oneshot::Sender<oneshot::Sender<()>>>,
    },
    /// Somebody works on it.
    Accepted,
}

/// Something that an agent brings back.
#[derive(Debug)]
pub(crate) struct Brought {
    pub(crate) events: Vec<Event>,
    /// Tells that it is in the log.
    pub(crate) taken: oneshot::Sender<()>,
}

/// What an agent finds on its desk.
#[derive(Debug)]
pub(crate) enum Found {
    /// Something to be done, by the name of our task.
    Work(TaskId, Box<SendMessageRequest>),
    /// Something that is to end.
    Cancel(TaskId),
}

impl Desks {
    /// Returns the desk of an agent.
    pub(crate) fn of(&self, agent: &AgentId) -> Arc<Desk> {
        let mut desks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(desks.entry(agent.clone()).or_default())
    }
}

/// What becomes of a piece of work. It is taken from the desk when this is dropped.
#[derive(Debug)]
pub(crate) struct Handed {
    desk: Arc<Desk>,
    task: TaskId,
    brought: mpsc::Receiver<Brought>,
    accepted: Option<oneshot::Receiver<oneshot::Sender<()>>>,
}

impl Desk {
    /// Lays a message here.
    pub(crate) fn offer(self: &Arc<Self>, task: TaskId, request: SendMessageRequest) -> Handed {
        let (accept, accepted) = oneshot::channel();
        let request = Box::new(request);
        let stage = Stage::Offered { request, shown: None, accept: Some(accept) };
        self.lay(task, stage, Some(accepted))
    }

    /// Waits for what comes of a message that was accepted before.
    pub(crate) fn expect(self: &Arc<Self>, task: TaskId) -> Handed {
        self.lay(task, Stage::Accepted, None)
    }

    fn lay(
        self: &Arc<Self>,
        task: TaskId,
        stage: Stage,
        accepted: Option<oneshot::Receiver<oneshot::Sender<()>>>,
    ) -> Handed {
        let (tell, brought) = mpsc::channel(MOST_WAITING);
        let piece = Piece { since: Instant::now(), stage, is_cancelled: false, brought: tell };
        self.lock().insert(task.clone(), piece);
        self.changed.notify_waiters();
        Handed { desk: Arc::clone(self), task, brought, accepted }
    }

    /// Says that a piece of work is to end. `false` if nobody works on it.
    pub(crate) fn cancel(&self, task: &TaskId) -> bool {
        let mut pieces = self.lock();
        let Some(piece) = pieces.get_mut(task) else { return false };
        let is_accepted = matches!(piece.stage, Stage::Accepted);
        piece.is_cancelled = is_accepted;
        drop(pieces);
        self.changed.notify_waiters();
        is_accepted
    }

    /// Waits for something to do, at most for so long.
    pub(crate) async fn fetch(&self, wait: Duration) -> Option<Found> {
        timeout(wait, self.wait_for(|_, _| true)).await.ok()
    }

    /// Waits for something to end, or for something to do while there is room. Whether there is,
    /// is asked anew whenever something changes here, with what lies here.
    async fn wait_for(&self, mut has_room: impl FnMut(&Pieces, Instant) -> bool) -> Found {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let now = Instant::now();
            if let Some(found) = self.look(now, &mut has_room) {
                return found;
            }
            tokio::select! {
                () = changed => {}
                // Something that was shown to somebody who did not take it can be shown again.
                () = tokio::time::sleep_until(now + SHOWN_FOR) => {}
            }
        }
    }

    fn look(&self, now: Instant, has_room: impl FnOnce(&Pieces, Instant) -> bool) -> Option<Found> {
        let mut pieces = self.lock();
        let cancelled = pieces.iter_mut().find(|(_, piece)| piece.is_cancelled);
        if let Some((task, piece)) = cancelled {
            piece.is_cancelled = false;
            return Some(Found::Cancel(task.clone()));
        }
        if !has_room(&pieces, now) {
            return None;
        }
        let oldest = pieces.iter_mut().filter(|(_, piece)| piece.is_free(now));
        let (task, piece) = oldest.min_by_key(|(_, piece)| piece.since)?;
        let Stage::Offered { request, shown, .. } = &mut piece.stage else { return None };
        *shown = Some(now);
        Some(Found::Work(task.clone(), request.clone()))
    }

    /// Accepts a piece of work. Returns once that is written down; `false` if there is nothing
    /// left to accept.
    pub(crate) async fn accept(&self, task: &TaskId) -> bool {
        let accept = {
            let mut pieces = self.lock();
            match pieces.get_mut(task).map(|piece| &mut piece.stage) {
                Some(Stage::Offered { accept, .. }) => accept.take(),
                _ => None,
            }
        };
        let Some(accept) = accept else { return false };
        let (tell, written) = oneshot::channel();
        if accept.send(tell).is_err() || written.await.is_err() {
            return false;
        }
        if let Some(piece) = self.lock().get_mut(task) {
            piece.stage = Stage::Accepted;
        }
        true
    }

    /// Brings back what came of a piece of work. Returns once it is in the log; `false` if
    /// nobody waits for it.
    pub(crate) async fn bring(&self, task: &TaskId, events: Vec<Event>) -> bool {
        let brought = match self.lock().get(task) {
            Some(Piece { stage: Stage::Accepted, brought, .. }) => brought.clone(),
            _ => return false,
        };
        let (taken, told) = oneshot::channel();
        brought.send(Brought { events, taken }).await.is_ok() && told.await.is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, Pieces> {
        // Nothing panics while it is held; what it guards is sound at every step.
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who stays at a desk, and is handed whatever comes.
///
/// What was handed over and perhaps never arrived is shown to others when this is dropped.
#[derive(Debug)]
pub(crate) struct Shift {
    desk: Arc<Desk>,
    /// So much is handed over at a time that has not ended.
    most: usize,
    work: Vec<TaskId>,
    cancels: Vec<TaskId>,
}

impl Shift {
    pub(crate) fn new(desk: Arc<Desk>, most: usize) -> Self {
        Self { desk, most, work: Vec::new(), cancels: Vec::new() }
    }

    /// Waits for the next thing to do or to end. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Found {
        let Self { desk, most, work, cancels } = self;
        let found = desk.wait_for(|pieces, now| {
            // What was not accepted in time takes no room, and may be handed over once more.
            work.retain(|task| pieces.get(task).is_some_and(|piece| !piece.is_free(now)));
            cancels.retain(|task| pieces.contains_key(task));
            work.len() < *most
        });
        let found = found.await;
        match &found {
            Found::Work(task, _) => work.push(task.clone()),
            Found::Cancel(task) => cancels.push(task.clone()),
        }
        found
    }
}

impl Drop for Shift {
    fn drop(&mut self) {
        let mut pieces = self.desk.lock();
        for task in &self.work {
            if let Some(Stage::Offered { shown, .. }) =
                pieces.get_mut(task).map(|piece| &mut piece.stage)
            {
                *shown = None;
            }
        }
        for task in &self.cancels {
            if let Some(piece) = pieces.get_mut(task) {
                piece.is_cancelled = matches!(piece.stage, Stage::Accepted);
            }
        }
        drop(pieces);
        self.desk.changed.notify_waiters();
    }
}

impl Handed {
    /// Waits until somebody accepts the work, and then says that this is written down.
    pub(crate) async fn accepted(&mut self, within: Duration) -> Result<Written, ClientError> {
        let Some(accepted) = self.accepted.take() else { return Ok(Written(None)) };
        match timeout(within, accepted).await {
            Ok(Ok(tell)) => Ok(Written(Some(tell))),
            _ => Err(ClientError::Peer(
                Error::new(ErrorKind::Unavailable, "the agent has not fetched the message in time")
                    .with_retry_after(Duration::from_secs(30)),
            )),
        }
    }

    /// Returns what is brought back. Silence of `patience` ends it.
    pub(crate) fn events(
        self,
        patience: Duration,
    ) -> BoxStream<'static, Result<Event, ClientError>> {
        let deliveries = stream::unfold(self, move |mut handed| async move {
            let Ok(brought) = timeout(patience, handed.brought.recv()).await else {
                let text = "the agent has fetched the message and was not heard of since";
                return Some((Err(Error::new(ErrorKind::Unavailable, text)), handed));
            };
            Some((Ok(brought?), handed))
        });
        deliveries
            .flat_map(|brought| match brought {
                Ok(Brought { events, taken }) => {
                    // What was taken before this is polled again is in the log by then.
                    let events = stream::iter(events.into_iter().map(Ok));
                    let told = stream::once(async move {
                        taken.send(()).ok();
                    });
                    events.chain(told.filter_map(|()| async { None })).left_stream()
                }
                Err(error) => stream::iter([Err(ClientError::Peer(error))]).right_stream(),
            })
            .boxed()
    }
}

/// The right to say that it is written down that work was accepted.
#[derive(Debug)]
pub(crate) struct Written(Option<oneshot::Sender<()>>);

impl Written {
    pub(crate) fn tell(self) {
        if let Some(tell) = self.0 {
            // Whoever accepted it may have gone away; it may come back.
            tell.send(()).ok();
        }
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        self.desk.lock().remove(&self.task);
        // There is room for more.
        self.desk.changed.notify_waiters();
    }
}
