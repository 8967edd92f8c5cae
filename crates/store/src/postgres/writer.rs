//! Collects writes into batches, and settles what became of them.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use nuncio_tasks::store::{Append, Appended, Create, Created, Error};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    batch::{Done, Ended, Job, Outcome, Receipt, Writer},
    connection::{Address, CALL},
    error::{Failure, TooSlow},
    place::Places,
};

/// At most so many jobs in one transaction.
const MOST_JOBS: usize = 64;

/// No further job once so many bytes are in a transaction.
const MOST_BYTES: usize = 4 << 20;

/// How many jobs may wait.
const MOST_WAITING: usize = 256;

/// How often a batch that collided with somebody else's is tried again as a whole.
const MOST_COLLISIONS: usize = 4;

/// How long to leave a database alone that could not be reached.
const PAUSE: Duration = Duration::from_millis(200);

/// Takes writes to the writers.
pub(super) struct Writers(Vec<mpsc::Sender<Waiting>>);

/// A job in the queue.
struct Waiting {
    job: Job,
    fate: Arc<Fate>,
    reply: oneshot::Sender<Result<Done, Error>>,
}

/// Whether a job may still be taken back. Decided once, by whoever comes first: the writer who
/// is about to write it, or the caller who does not wait any longer.
#[derive(Default)]
struct Fate(AtomicU8);

impl Fate {
    const OPEN: u8 = 0;
    const WRITTEN: u8 = 1;
    const CANCELLED: u8 = 2;

    /// Tells the writer whether it may write.
    fn may_write(&self) -> bool {
        self.decide(Self::WRITTEN) == Self::WRITTEN
    }

    /// Tells the caller whether the job will never be written.
    fn cancel(&self) -> bool {
        self.decide(Self::CANCELLED) == Self::CANCELLED
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::CANCELLED
    }

    fn decide(&self, fate: u8) -> u8 {
        match self.0.compare_exchange(Self::OPEN, fate, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fate,
            Err(decided) => decided,
        }
    }
}

impl Writers {
    /// Starts so many writers. They end when this is dropped and their queues are empty.
    pub(super) fn start(address: &Address, places: &Arc<Places>, count: usize) -> Self {
        let start = |_| {
            let (sender, queue) = mpsc::channel(MOST_WAITING);
            let desk = Desk {
                address: address.clone(),
                places: Arc::clone(places),
                queue,
                deferred: VecDeque::new(),
                writer: None,
                opening: None,
                rests_until: None,
            };
            tokio::spawn(desk.run());
            sender
        };
        Self((0..count.max(1)).map(start).collect())
    }

    pub(super) async fn create(&self, create: Create) -> Result<Created, Error> {
        // Equal keys, and the conversations of a caller, meet in one queue.
        let mut hasher = DefaultHasher::new();
        (&create.place.tenant, &create.place.caller).hash(&mut hasher);
        match self.submit(hasher.finish(), Job::Create(create)).await? {
            Done::Created(created) => Ok(created),
            Done::Appended(_) => Err(Error::Spoilt("an answer to another question".to_owned())),
        }
    }

    pub(super) async fn append(&self, append: Append) -> Result<Appended, Error> {
        match self.submit(append.task.0.unsigned_abs(), Job::Append(append)).await? {
            Done::Appended(appended) => Ok(appended),
            Done::Created(_) => Err(Error::Spoilt("an answer to another question".to_owned())),
        }
    }

    /// Hands a job in and waits for what comes of it. A job that no writer has begun to write
    /// in time is taken back; another is waited for, because only the database knows what
    /// became of it.
    async fn submit(&self, number: u64, job: Job) -> Result<Done, Error> {
        let too_slow = || Error::Unavailable(TooSlow.into());
        let deadline = Instant::now() + CALL;
        let (reply, mut answer) = oneshot::channel();
        let fate = Arc::new(Fate::default());
        let waiting = Waiting { job, fate: Arc::clone(&fate), reply };
        let writer = usize::try_from(number % self.0.len() as u64).unwrap_or_default();
        match timeout(CALL, self.0[writer].send(waiting)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Err(too_slow()),
        }
        let answer = match tokio::time::timeout_at(deadline, &mut answer).await {
            Ok(answer) => answer,
            Err(_) if fate.cancel() => return Err(too_slow()),
            Err(_) => answer.await,
        };
        answer.unwrap_or_else(|_| Err(Error::Unavailable("the writer is gone".into())))
    }
}

/// Where one writer works through its queue.
struct Desk {
    address: Address,
    places: Arc<Places>,
    queue: mpsc::Receiver<Waiting>,
    /// Jobs that must see what others of their batch have done.
    deferred: VecDeque<Waiting>,
    writer: Option<Writer>,
    opening: Option<AbortOnDropHandle<Result<Writer, Failure>>>,
    rests_until: Option<Instant>,
}

impl Desk {
    async fn run(mut self) {
        while let Some(batch) = self.next_batch().await {
            self.work(batch).await;
        }
    }

    /// Waits for a job, and takes what else is there: a lone job never waits for others.
    async fn next_batch(&mut self) -> Option<Vec<Waiting>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < MOST_JOBS && bytes < MOST_BYTES {
            let waiting = if let Some(deferred) = self.deferred.pop_front() {
                deferred
            } else if batch.is_empty() {
                self.queue.recv().await?
            } else if let Ok(waiting) = self.queue.try_recv() {
                waiting
            } else {
                break;
            };
            if !waiting.fate.is_cancelled() {
                bytes += size(&waiting.job);
                batch.push(waiting);
            }
        }
        Some(batch)
    }

    /// Runs a batch. If the database refuses the data of one job, or jobs collide with those
    /// of others again and again, each is run by itself, so that none suffers for another.
    async fn work(&mut self, batch: Vec<Waiting>) {
        let mut groups = VecDeque::from([batch]);
        while let Some(mut group) = groups.pop_front() {
            match Box::pin(self.attempt(&group)).await {
                Ok(outcomes) => self.answer(group, outcomes),
                Err(Failure::Cancelled) => {
                    group.retain(|waiting| !waiting.fate.is_cancelled());
                    if !group.is_empty() {
                        groups.push_front(group);
                    }
                }
                Err(failure)
                    if group.len() > 1 && (failure.is_about_data() || failure.is_collision()) =>
                {
                    for waiting in group.into_iter().rev() {
                        groups.push_front(vec![waiting]);
                    }
                }
                Err(failure) => refuse(group, failure),
            }
        }
    }

    async fn attempt(&mut self, group: &[Waiting]) -> Result<Vec<Outcome>, Failure> {
        let jobs: Vec<&Job> = group.iter().map(|waiting| &waiting.job).collect();
        let may_write = || group.iter().all(|waiting| waiting.fate.may_write());
        let mut collisions = 0;
        loop {
            let is_fresh = self.writer.as_ref().is_none_or(Writer::is_closed);
            let writer = self.writer().await?;
            let places = Arc::clone(&writer.1);
            match writer.0.run(&jobs, &places, &may_write, collisions > 0).await {
                Ended::Known(outcomes) => return Ok(outcomes),
                Ended::Failed(failure) if failure.is_lost() => {
                    self.writer = None;
                    // An old connection may have died unnoticed; a new one tells the truth.
                    if is_fresh || matches!(failure, Failure::TooSlow) {
                        return Err(failure);
                    }
                }
                Ended::Failed(failure)
                    if failure.is_collision() && collisions < MOST_COLLISIONS =>
                {
                    collisions += 1;
                }
                Ended::Failed(failure) => return Err(failure),
                Ended::Unknown(receipt, outcomes, failure) => {
                    self.writer = None;
                    let is_written = self.settle(receipt, group).await;
                    return if is_written { Ok(outcomes) } else { Err(failure) };
                }
            }
        }
    }

    /// Finds out whether a batch was written, however long that takes: until then, nobody
    /// could be told anything that is surely true.
    async fn settle(&self, receipt: Receipt, group: &[Waiting]) -> bool {
        loop {
            match receipt.is_written(&self.address).await {
                Ok(is_written) => return is_written,
                Err(_) if group.iter().all(|waiting| waiting.reply.is_closed()) => return false,
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    async fn writer(&mut self) -> Result<(&mut Writer, Arc<Places>), Failure> {
        let writer = match self.writer.take().filter(|writer| !writer.is_closed()) {
            Some(writer) => writer,
            None if self.rests_until.is_some_and(|until| Instant::now() < until) => {
                return Err(Failure::Lost("the database could not be reached a moment ago"));
            }
            None => self.connect().await?,
        };
        Ok((self.writer.insert(writer), Arc::clone(&self.places)))
    }

    /// Waits for a connection as long as a caller waits. It goes on being opened for those who
    /// come later: were it begun anew each time, a database that is far away would never be
    /// reached.
    async fn connect(&mut self) -> Result<Writer, Failure> {
        let opening = self.opening.get_or_insert_with(|| {
            let address = self.address.clone();
            AbortOnDropHandle::new(tokio::spawn(async move { Writer::connect(&address).await }))
        });
        let opened = timeout(CALL, opening).await.map_err(|_| Failure::TooSlow)?;
        self.opening = None;
        let opened = opened.unwrap_or(Err(Failure::Lost("a connection was not opened")));
        self.rests_until = opened.is_err().then(|| Instant::now() + PAUSE);
        opened
    }

    fn answer(&mut self, group: Vec<Waiting>, outcomes: Vec<Outcome>) {
        for (waiting, outcome) in group.into_iter().zip(outcomes) {
            match outcome {
                // An error means that nobody waits for the answer any more.
                Outcome::Answer(answer) => drop(waiting.reply.send(answer)),
                Outcome::Deferred => self.deferred.push_back(waiting),
            }
        }
    }
}

/// Tells all jobs of a batch why nothing was written.
fn refuse(mut group: Vec<Waiting>, failure: Failure) {
    let is_about_data = failure.is_about_data();
    let error = Error::from(failure);
    let text = chain(&error);
    if is_about_data {
        tracing::error!(error = text, "the database does not take what is to be written");
    }
    let last = group.pop();
    for waiting in group {
        let text = text.clone().into();
        let error = match error {
            Error::DiskFull(_) => Error::DiskFull(text),
            _ => Error::Unavailable(text),
        };
        // An error means that nobody waits for the answer any more.
        drop(waiting.reply.send(Err(error)));
    }
    if let Some(waiting) = last {
        let error = if is_about_data { Error::Spoilt(text) } else { error };
        drop(waiting.reply.send(Err(error)));
    }
}

/// The message of an error and of all its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

fn size(job: &Job) -> usize {
    let (batch, snapshot, note) = match job {
        Job::Create(create) => (&create.batch, &create.snapshot, &create.note),
        Job::Append(append) => (&append.batch, &append.snapshot, &append.note),
    };
    let snapshot = snapshot.as_ref().map_or(0, nuncio_tasks::log::Snapshot::bytes);
    batch.bytes() + snapshot + note.as_ref().map_or(0, bytes::Bytes::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_either_written_or_taken_back() {
        let written = Fate::default();
        assert!(written.may_write());
        assert!(!written.cancel() && !written.is_cancelled());
        assert!(written.may_write(), "a batch may be tried again");
        let cancelled = Fate::default();
        assert!(cancelled.cancel() && cancelled.is_cancelled());
        assert!(!cancelled.may_write());
    }
}
