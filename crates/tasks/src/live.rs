//! Tasks that somebody in this process works on or watches.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use nuncio_protocol::state::TaskState;
use tokio::sync::{Notify, watch};

use crate::{
    log::{Entry, Seq, Snapshot},
    output::Outbox,
    store::{self, Head, Limit, RefMap, Store, TaskRef},
};

/// How much of a log is kept at hand for readers who keep up.
const MAX_RECENT_ENTRIES: usize = 256;
const MAX_RECENT_BYTES: usize = 1 << 20;

/// How much a reader takes at once.
const PAGE: Limit = Limit { entries: 128, bytes: 256 << 10 };

/// All tasks that somebody in this process works on or watches.
#[derive(Debug, Default)]
pub(crate) struct AtHand(Mutex<RefMap<Weak<Live>>>);

impl AtHand {
    /// Returns a task, and whether it was not there before. A new one knows as much as `head`
    /// and `entries`, the end of its log.
    pub(crate) fn take(self: &Arc<Self>, head: &Head, entries: &[Entry]) -> (Arc<Live>, bool) {
        let mut map = self.lock();
        if let Some(live) = map.get(&head.reference).and_then(Weak::upgrade) {
            return (live, false);
        }
        let live = Arc::new(Live::new(head, entries, Arc::downgrade(self)));
        map.insert(head.reference, Arc::downgrade(&live));
        (live, true)
    }

    /// Returns a task, if it is there.
    pub(crate) fn find(&self, task: TaskRef) -> Option<Arc<Live>> {
        self.lock().get(&task).and_then(Weak::upgrade)
    }

    /// Returns all.
    pub(crate) fn all(&self) -> Vec<Arc<Live>> {
        self.lock().values().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, RefMap<Weak<Live>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task that somebody in this process works on or watches.
///
/// Invariant: `recent` is the end of the log as of `reached`, without a gap; what is here is on
/// disk.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) task: TaskRef,
    recent: Mutex<Recent>,
    reached: watch::Sender<Reached>,
    /// One at a time reads from the store for all.
    filling: tokio::sync::Mutex<()>,
    among: Weak<AtHand>,
}

/// How far a task has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) seq: Seq,
    pub(crate) state: TaskState,
}

#[derive(Debug, Default)]
struct Recent {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// The work in this process, which wants to know of signals.
    worker: Option<Arc<Outbox>>,
    /// The task as the work left it.
    settled: Option<Snapshot>,
}

/// What others write into the log of a task while this process works on it. It is in the log
/// already, and bounded by that.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    waiting: Mutex<VecDeque<Entry>>,
    arrived: Notify,
}

impl Signals {
    fn put(&self, entry: Entry) {
        self.lock().push_back(entry);
        self.arrived.notify_one();
    }

    /// Returns the next, if there is one.
    pub(crate) fn take(&self) -> Option<Entry> {
        self.lock().pop_front()
    }

    /// Waits for the next. Only the work does.
    pub(crate) async fn next(&self) -> Entry {
        loop {
            let arrived = self.arrived.notified();
            if let Some(entry) = self.take() {
                return entry;
            }
            arrived.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Entries that do not follow what is known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gap;

impl Live {
    fn new(head: &Head, entries: &[Entry], among: Weak<AtHand>) -> Self {
        let mut recent = Recent::default();
        for entry in entries {
            recent.remember(entry.clone());
        }
        Self {
            task: head.reference,
            recent: Mutex::new(recent),
            reached: watch::Sender::new(Reached { seq: head.seq, state: head.state }),
            filling: tokio::sync::Mutex::new(()),
            among,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        // Nothing panics while it is held; what it guards is sound at every step.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn reached(&self) -> Reached {
        *self.reached.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Reached> {
        self.reached.subscribe()
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.reached.receiver_count() > 0 || self.lock().worker.is_some()
    }

    /// Makes the work known that is to hear of signals: also of those behind a place that came
    /// before it.
    pub(crate) fn set_worker(&self, worker: Arc<Outbox>, since: Seq) {
        let mut recent = self.lock();
        for entry in recent.entries.iter().filter(|entry| entry.seq > since && entry.is_signal()) {
            worker.signals.put(entry.clone());
        }
        recent.worker = Some(worker);
    }

    /// Forgets the work, unless other work has taken its place.
    pub(crate) fn forget_worker(&self, worker: &Arc<Outbox>) {
        let mut recent = self.lock();
        if recent.worker.as_ref().is_some_and(|known| Arc::ptr_eq(known, worker)) {
            recent.worker = None;
        }
    }

    /// Shows entries that are on disk, the last of which left the task in `state`. Entries that
    /// are known already are passed over.
    pub(crate) fn publish(&self, entries: &[Entry], state: TaskState) -> Result<(), Gap> {
        let mut recent = self.lock();
        let known = self.reached().seq;
        let fresh = match entries.iter().position(|entry| entry.seq > known) {
            Some(index) => entries.get(index..).unwrap_or_default(),
            None => return Ok(()),
        };
        let (Some(first), Some(last)) = (fresh.first(), fresh.last()) else { return Ok(()) };
        if first.seq != known.next() {
            return Err(Gap);
        }
        for entry in fresh {
            recent.remember(entry.clone());
        }
        self.reached.send_replace(Reached { seq: last.seq, state });
        Ok(())
    }

    /// Leaves the task for those who wait for it.
    pub(crate) fn settle(&self, task: Snapshot) {
        self.lock().settled = Some(task);
    }

    /// Returns the task as of `seq`, if the work has left it.
    pub(crate) fn settled(&self, seq: Seq) -> Option<Snapshot> {
        self.lock().settled.clone().filter(|task| task.seq == seq)
    }

    /// Returns the entries behind a place that are at hand.
    pub(crate) fn since(&self, seq: Seq) -> Vec<Entry> {
        let recent = self.lock();
        recent.entries.iter().filter(|entry| entry.seq > seq).cloned().collect()
    }

    /// Returns the entries behind a place, as far as they are at hand; `None` if the first of
    /// them is not.
    fn after(&self, seq: Seq) -> Option<Vec<Entry>> {
        let recent = self.lock();
        let first = recent.entries.front()?.seq;
        let skip = usize::try_from(seq.next().0.checked_sub(first.0)?).ok()?;
        let mut bytes = 0;
        let page = recent.entries.iter().skip(skip).take(PAGE.entries).take_while(|entry| {
            let fits = bytes < PAGE.bytes;
            bytes += entry.record.bytes();
            fits
        });
        Some(page.cloned().collect())
    }
}

impl Drop for Live {
    /// Whoever lets go last puts it away. Nobody drops one while holding the lock.
    fn drop(&mut self) {
        if let Some(among) = self.among.upgrade() {
            let mut map = among.lock();
            if map.get(&self.task).is_some_and(|live| live.strong_count() == 0) {
                map.remove(&self.task);
            }
        }
    }
}

impl Recent {
    fn remember(&mut self, entry: Entry) {
        if entry.is_signal()
            && let Some(worker) = &self.worker
        {
            // A worker that has just ended no longer listens; nothing is lost, the log has it.
            worker.signals.put(entry.clone());
        }
        self.bytes += entry.record.bytes();
        self.entries.push_back(entry);
        while self.entries.len() > MAX_RECENT_ENTRIES || self.bytes > MAX_RECENT_BYTES {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.record.bytes();
        }
    }
}

/// Reads what the store has and this process does not know yet.
pub(crate) async fn fill(store: &dyn Store, live: &Live) -> Result<(), store::Error> {
    let _turn = live.filling.lock().await;
    loop {
        let known = live.reached().seq;
        let tail = store.tail(live.task, known, PAGE).await?;
        let Some(mark) = tail.mark else { return Err(store::Error::Gone) };
        let Some(last) = tail.entries.last() else { return Ok(()) };
        let complete = last.seq == mark.seq;
        // Between two pages the task is under way, whatever it has become by now.
        let state = if complete { mark.state } else { TaskState::Working };
        // A gap here means that others published meanwhile, or that the log was cut: those who
        // read behind it find out by themselves.
        if live.publish(&tail.entries, state).is_err() || complete {
            return Ok(());
        }
    }
}

/// A reader of a log: a place in it, and nothing that grows.
#[derive(Debug)]
pub(crate) struct Cursor {
    live: Arc<Live>,
    seq: Seq,
    reached: watch::Receiver<Reached>,
    page: VecDeque<Entry>,
}

/// What a reader finds next.
#[derive(Debug)]
pub(crate) enum Next {
    Entry(Entry),
    /// Nothing can follow.
    End,
    /// The log no longer reaches back to the reader's place.
    Gap,
}

impl Cursor {
    /// Reads behind a place.
    pub(crate) fn new(live: Arc<Live>, seq: Seq) -> Self {
        let reached = live.watch();
        Self { live, seq, reached, page: VecDeque::new() }
    }

    /// Waits for the next entry. Can be dropped and called again without loss.
    pub(crate) async fn next(&mut self, store: &dyn Store) -> Result<Next, store::Error> {
        loop {
            if let Some(entry) = self.page.pop_front() {
                if entry.seq != self.seq.next() {
                    return Ok(Next::Gap);
                }
                self.seq = entry.seq;
                return Ok(Next::Entry(entry));
            }
            let Reached { seq, state } = *self.reached.borrow_and_update();
            if seq > self.seq {
                self.page = match self.live.after(self.seq) {
                    Some(entries) => entries.into(),
                    None => self.read(store, seq).await?,
                };
                if self.page.is_empty() {
                    return Ok(Next::Gap);
                }
            } else if state.is_terminal() || self.reached.changed().await.is_err() {
                return Ok(Next::End);
            }
        }
    }

    /// Reads from the store, but not beyond what the process knows: the state that belongs to
    /// newer entries would not be known with them.
    async fn read(&self, store: &dyn Store, until: Seq) -> Result<VecDeque<Entry>, store::Error> {
        let tail = store.tail(self.live.task, self.seq, PAGE).await?;
        Ok(tail.entries.into_iter().take_while(|entry| entry.seq <= until).collect())
    }
}
