//! A store that forgets everything when it is dropped.
//!
//! It is for tests, and for whoever needs no memory beyond the process. It keeps the whole
//! contract but for durability, honours leases like any other store, and answers at once: what
//! a call does is done when it returns, whether or not its answer is awaited.
//!
//! One lock guards everything. Under it only small things are copied: logs are shared with
//! those who read them, and are packed, read and dropped without it.

mod extras;
mod kept;
mod keys;
mod list;
mod needs;
mod outbox;
mod packed;
mod places;
mod ranked;
mod read;
mod sweep;
mod tables;

use std::{
    fmt,
    future::ready,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use nuncio_protocol::ids::{PushConfigId, TaskId};
use tokio::time::Instant;

use self::{
    packed::{Names, Packed},
    read::Found,
    tables::{Tables, Unpacked},
};
use crate::{
    log::Seq,
    scope::{Place, Scope},
    store::{
        Answer, Append, Appended, Claim, Claimed, Create, Created, DeadLetter, DeadLetterId,
        Delivery, Error, Filter, Head, Key, Lease, Limit, Listed, Loaded, Mark, NewWebhook, Page,
        Progress, Retention, Store, Swept, Tail, TaskRef, Tenure, Want, Webhook,
    },
};

/// Keeps tasks in memory.
#[derive(Default)]
pub struct MemoryStore {
    tables: Mutex<Tables>,
}

impl MemoryStore {
    /// Makes an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        // Nothing panics while it has the lock, so there is nothing half done.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Packs the log of a task that has ended.
    fn pack(&self, unpacked: Option<Unpacked>) {
        if let Some(Unpacked { task, id, context, snapshot, entries }) = unpacked {
            let names = Names { task: &id, context: &context };
            let records = entries.iter().map(|entry| &entry.record);
            let packed = Packed::new(snapshot.as_ref(), records, names);
            let before = self.tables().keep_packed(task, packed);
            drop(before);
        }
    }

    /// Removes logs beyond the snapshots of their ends, which are made here.
    fn trim(&self, retention: &Retention, most: usize, now: Instant) -> usize {
        let Some(age) = retention.logs else { return 0 };
        let old = self.tables().old_logs(age, most, now);
        let ends = old.into_iter().filter_map(|found| {
            // A log that cannot be folded is kept: whoever reads it is told.
            let loaded = found.into_loaded();
            Some((loaded.head.reference, loaded.fold().ok()?.snapshot()))
        });
        let ends = ends.collect();
        let trimmed = self.tables().trim(ends);
        trimmed.len()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("tasks", &self.tables().tasks.len())
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn create(&self, create: Create) -> Answer<'_, Created> {
        // What begins with its end is packed before anybody can look for it.
        let packed = create.batch.to().is_terminal().then(|| {
            let Create { batch, snapshot, .. } = &create;
            let end = Seq::START.plus(batch.records().len());
            let snapshot = snapshot.as_ref().filter(|snapshot| snapshot.seq == end);
            let names = Names { task: batch.task(), context: batch.context() };
            Packed::new(snapshot, batch.records().iter(), names)
        });
        let created = self.tables().create(create, packed, Instant::now());
        answer(created)
    }

    fn append(&self, append: Append) -> Answer<'_, Appended> {
        let appended = self.tables().append(append, Instant::now());
        answer(appended.map(|(appended, unpacked)| {
            self.pack(unpacked);
            appended
        }))
    }

    fn is_used(&self, place: &Place, key: &Key) -> Answer<'_, bool> {
        let found = keys::find(&self.tables().places, place, Some(key)).map(|used| used.is_some());
        answer(found)
    }

    fn find(&self, scope: &Scope, id: &TaskId) -> Answer<'_, Option<Head>> {
        let tables = self.tables();
        answer(Ok(tables.find(scope, id).map(|(task, kept)| kept.head(task, Instant::now()))))
    }

    fn load(&self, scope: &Scope, id: &TaskId, want: Want) -> Answer<'_, Option<Loaded>> {
        let found = self.tables().load(scope, id, want, Instant::now());
        answer(Ok(found.map(Found::into_loaded)))
    }

    fn tail(&self, task: TaskRef, after: Seq, limit: Limit) -> Answer<'_, Tail> {
        let found = self.tables().tail(task, after, limit);
        answer(Ok(found.into_tail(after, limit)))
    }

    fn marks(&self, tasks: Vec<TaskRef>) -> Answer<'_, Vec<Mark>> {
        answer(Ok(self.tables().marks(&tasks)))
    }

    fn list(&self, scope: &Scope, filter: Filter, page: Page) -> Answer<'_, Listed> {
        let found = self.tables().list(scope, &filter, &page, Instant::now());
        let tasks = found.tasks.into_iter().map(Found::into_loaded).collect();
        answer(Ok(Listed { tasks, total: found.total, more: found.more }))
    }

    fn note(&self, task: TaskRef) -> Answer<'_, Option<Bytes>> {
        answer(Ok(self.tables().extras.note(task)))
    }

    fn parent(&self, task: TaskRef) -> Answer<'_, Option<TaskId>> {
        answer(Ok(self.tables().extras.parent(task)))
    }

    fn children(&self, scope: &Scope, parent: &TaskId, most: usize) -> Answer<'_, Vec<Head>> {
        answer(Ok(self.tables().children(scope, parent, most, Instant::now())))
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Vec<Claimed>> {
        answer(Ok(self.tables().claim(&claim, Instant::now())))
    }

    fn renew(&self, lease: Lease, held: Vec<Tenure>) -> Answer<'_, Vec<TaskRef>> {
        answer(Ok(self.tables().renew(&lease, &held, Instant::now())))
    }

    fn release(&self, held: Vec<Tenure>) -> Answer<'_, ()> {
        self.tables().release(&held, Instant::now());
        answer(Ok(()))
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn put_webhook(&self, task: TaskRef, webhook: NewWebhook, most: u32) -> Answer<'_, Webhook> {
        answer(self.tables().put_webhook(task, webhook, most, Instant::now()))
    }

    fn webhooks(&self, task: TaskRef) -> Answer<'_, Vec<Webhook>> {
        answer(Ok(self.tables().outbox.webhooks(task)))
    }

    fn delete_webhook(&self, task: TaskRef, id: &PushConfigId) -> Answer<'_, ()> {
        self.tables().outbox.delete(task, id);
        answer(Ok(()))
    }

    fn claim_deliveries(&self, lease: Lease, most: usize) -> Answer<'_, Vec<Delivery>> {
        answer(Ok(self.tables().outbox.claim(&lease, most, Instant::now())))
    }

    fn settle(&self, delivery: &Delivery, progress: Progress) -> Answer<'_, bool> {
        answer(Ok(self.tables().outbox.settle(delivery, progress, Instant::now())))
    }

    fn dead_letters(&self, scope: &Scope, most: usize) -> Answer<'_, Vec<DeadLetter>> {
        answer(Ok(self.tables().dead_letters(scope, most)))
    }

    fn resend(&self, scope: &Scope, letter: DeadLetterId) -> Answer<'_, bool> {
        answer(Ok(self.tables().resend(scope, letter, Instant::now())))
    }

    fn sweep(&self, retention: &Retention, most: usize) -> Answer<'_, Swept> {
        let now = Instant::now();
        let (mut swept, removed) = self.tables().sweep(retention, most, now);
        drop(removed);
        swept.logs = self.trim(retention, most, now);
        answer(Ok(swept))
    }
}

fn answer<'a, T: Send + 'a>(result: Result<T, Error>) -> Answer<'a, T> {
    Box::pin(ready(result))
}
