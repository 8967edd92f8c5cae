//! A store that is away when a test wants it to be.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_protocol::ids::{PushConfigId, TaskId};
use nuncio_tasks::{
    log::Seq,
    memory::MemoryStore,
    scope::{Place, Scope},
    store::{
        Answer, Append, Appended, Claim, Claimed, Create, Created, DeadLetter, DeadLetterId,
        Delivery, Error, Filter, Head, Key, Lease, Limit, Listed, Loaded, Mark, NewWebhook, Page,
        Progress, Retention, Store, Swept, Tail, TaskRef, Tenure, Want, Webhook,
    },
};
use tokio_util::bytes::Bytes;

/// What a store is asked for when it is away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// To open the task of a call.
    Give,
    /// To find this task.
    Find(TaskId),
}

/// How often a store is away.
#[derive(Debug)]
struct Outage {
    asked: Asked,
    /// How often it is there before.
    spared: u32,
    left: u32,
}

/// A store in memory.
#[derive(Debug, Default)]
pub(super) struct TestStore {
    kept: MemoryStore,
    outage: Mutex<Option<Outage>>,
    is_closed: AtomicBool,
}

impl TestStore {
    /// Is away the next few times that it is asked for something.
    pub(super) fn go_away(&self, asked: Asked, times: u32) {
        self.go_away_after(0, asked, times);
    }

    /// The same, but for the first times.
    pub(super) fn go_away_after(&self, spared: u32, asked: Asked, times: u32) {
        let outage = Outage { asked, spared, left: times };
        *self.outage.lock().expect("not poisoned") = Some(outage);
    }

    /// Waits until it was away as often as it was to be.
    pub(super) async fn until_back(&self) {
        let back = async {
            while self.outage.lock().expect("not poisoned").is_some() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), back).await.expect("somebody asks");
    }

    /// Is away to all for a moment.
    pub(super) async fn close_for(&self, moment: Duration) {
        self.is_closed.store(true, Ordering::Release);
        tokio::time::sleep(moment).await;
        self.is_closed.store(false, Ordering::Release);
    }

    fn ask<'a, T: Send + 'a>(
        &'a self,
        ask: impl FnOnce(&'a MemoryStore) -> Answer<'a, T>,
    ) -> Answer<'a, T> {
        if self.is_closed.load(Ordering::Acquire) { away() } else { ask(&self.kept) }
    }

    fn is_away(&self, asked: &Asked) -> bool {
        let mut current = self.outage.lock().expect("not poisoned");
        let Some(outage) = current.as_mut().filter(|outage| outage.asked == *asked) else {
            return false;
        };
        if outage.spared > 0 {
            outage.spared -= 1;
            return false;
        }
        outage.left -= 1;
        if outage.left == 0 {
            *current = None;
        }
        true
    }
}

fn away<'a, T: Send + 'a>() -> Answer<'a, T> {
    Box::pin(std::future::ready(Err(Error::Unavailable("the test wants it so".into()))))
}

impl Store for TestStore {
    fn create(&self, create: Create) -> Answer<'_, Created> {
        if create.parent.is_some() && self.is_away(&Asked::Give) {
            return away();
        }
        self.ask(|kept| kept.create(create))
    }

    fn append(&self, append: Append) -> Answer<'_, Appended> {
        self.ask(|kept| kept.append(append))
    }

    fn is_used(&self, place: &Place, key: &Key) -> Answer<'_, bool> {
        self.ask(|kept| kept.is_used(place, key))
    }

    fn find(&self, scope: &Scope, id: &TaskId) -> Answer<'_, Option<Head>> {
        if self.is_away(&Asked::Find(id.clone())) {
            return away();
        }
        self.ask(|kept| kept.find(scope, id))
    }

    fn load(&self, scope: &Scope, id: &TaskId, want: Want) -> Answer<'_, Option<Loaded>> {
        self.ask(|kept| kept.load(scope, id, want))
    }

    fn tail(&self, task: TaskRef, after: Seq, limit: Limit) -> Answer<'_, Tail> {
        self.ask(|kept| kept.tail(task, after, limit))
    }

    fn marks(&self, tasks: Vec<TaskRef>) -> Answer<'_, Vec<Mark>> {
        self.ask(|kept| kept.marks(tasks))
    }

    fn list(&self, scope: &Scope, filter: Filter, page: Page) -> Answer<'_, Listed> {
        self.ask(|kept| kept.list(scope, filter, page))
    }

    fn note(&self, task: TaskRef) -> Answer<'_, Option<Bytes>> {
        self.ask(|kept| kept.note(task))
    }

    fn parent(&self, task: TaskRef) -> Answer<'_, Option<TaskId>> {
        self.ask(|kept| kept.parent(task))
    }

    fn children(&self, scope: &Scope, parent: &TaskId, most: usize) -> Answer<'_, Vec<Head>> {
        self.ask(|kept| kept.children(scope, parent, most))
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Vec<Claimed>> {
        self.ask(|kept| kept.claim(claim))
    }

    fn renew(&self, lease: Lease, held: Vec<Tenure>) -> Answer<'_, Vec<TaskRef>> {
        self.ask(|kept| kept.renew(lease, held))
    }

    fn release(&self, held: Vec<Tenure>) -> Answer<'_, ()> {
        self.ask(|kept| kept.release(held))
    }

    fn is_shared(&self) -> bool {
        self.kept.is_shared()
    }

    fn put_webhook(&self, task: TaskRef, webhook: NewWebhook, most: u32) -> Answer<'_, Webhook> {
        self.ask(|kept| kept.put_webhook(task, webhook, most))
    }

    fn webhooks(&self, task: TaskRef) -> Answer<'_, Vec<Webhook>> {
        self.ask(|kept| kept.webhooks(task))
    }

    fn delete_webhook(&self, task: TaskRef, id: &PushConfigId) -> Answer<'_, ()> {
        self.ask(|kept| kept.delete_webhook(task, id))
    }

    fn claim_deliveries(&self, lease: Lease, most: usize) -> Answer<'_, Vec<Delivery>> {
        self.ask(|kept| kept.claim_deliveries(lease, most))
    }

    fn settle(&self, delivery: &Delivery, progress: Progress) -> Answer<'_, bool> {
        self.ask(|kept| kept.settle(delivery, progress))
    }

    fn dead_letters(&self, scope: &Scope, most: usize) -> Answer<'_, Vec<DeadLetter>> {
        self.ask(|kept| kept.dead_letters(scope, most))
    }

    fn resend(&self, scope: &Scope, letter: DeadLetterId) -> Answer<'_, bool> {
        self.ask(|kept| kept.resend(scope, letter))
    }

    fn sweep(&self, retention: &Retention, most: usize) -> Answer<'_, Swept> {
        self.ask(|kept| kept.sweep(retention, most))
    }
}
