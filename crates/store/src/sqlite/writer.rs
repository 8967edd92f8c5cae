//! The one thread that writes.
//!
//! It takes whatever waits, runs it as one transaction, and answers when the transaction is on
//! the disk. What comes in meanwhile is the next transaction: the more there is to write, the
//! more shares an fsync, and nobody ever waits for company.
//!
//! Hardly any operation fails once it has begun to write. So operations share the transaction as
//! they are, and if one must be undone, all of it is, and those that share it run again, each so
//! that it can be undone alone: to be ready for that costs a copy of every page that it touches.
//!
//! Invariant: an operation is answered with success only behind the commit of its transaction.

use std::{
    cell::Cell,
    ops::ControlFlow,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI32, Ordering},
        mpsc,
    },
    thread::JoinHandle,
    time::Duration,
};

use nuncio_tasks::store::Error;
use rusqlite::Connection;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::Instant,
};

use super::{
    OnFatal,
    clock::{Clock, Moment},
    fault::{Fault, Reach, Shared},
    ledger::Ledger,
};

/// At most so many operations share a transaction.
const MOST_OPERATIONS: usize = 64;

/// No further operation joins a transaction that is so old.
const MOST_TIME: Duration = Duration::from_millis(1);

/// So many operations may wait; further callers wait for room.
const QUEUE: usize = 1024;

/// The log is carried into the database when it has so many pages (16 MiB) …
const CHECKPOINT_PAGES: i32 = 4096;

/// … or when nothing was written for so long.
const IDLE: Duration = Duration::from_secs(1);

const CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";
const LAST_CHECKPOINT: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// What an operation is given to write with.
#[derive(Clone, Copy)]
pub(super) struct Writing<'a> {
    pub(super) connection: &'a Connection,
    /// When the operation was asked for.
    pub(super) now: Moment,
    pub(super) ledger: &'a Ledger,
}

/// Hands operations to the thread.
#[derive(Debug)]
pub(super) struct Writer {
    queue: mpsc::Sender<Order>,
    room: Arc<Semaphore>,
    clock: Clock,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Order {
    Run(Box<dyn Operation>),
    Close,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(
        mut connection: Connection,
        clock: Clock,
        on_fatal: OnFatal,
    ) -> Result<Self, std::io::Error> {
        let pages = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&pages);
        connection
            .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
                seen.store(pages, Ordering::Relaxed);
                Ok(())
            }))
            .map_err(std::io::Error::other)?;
        let (queue, orders) = mpsc::channel();
        let thread = Thread {
            connection,
            ledger: Ledger::default(),
            orders,
            pages,
            carried: Cell::new(0),
            on_fatal,
        };
        let thread = std::thread::Builder::new()
            .name("nuncio-sqlite".to_owned())
            .spawn(move || thread.run())?;
        Ok(Self {
            queue,
            room: Arc::new(Semaphore::new(QUEUE)),
            clock,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Runs an operation in a transaction, and returns when it is on the disk.
    ///
    /// Once it is in the queue it runs, also if nobody waits for the answer any more. It may run
    /// twice; then nothing is left of the first time.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        run: impl FnMut(Writing<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Error> {
        let permit = Arc::clone(&self.room).acquire_owned().await.map_err(|_| closed())?;
        let (reply, answer) = oneshot::channel();
        let operation =
            Pending { now: self.clock.now(), run, result: None, reply, _permit: permit };
        self.queue.send(Order::Run(Box::new(operation))).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Ends the thread behind everything that waits, and waits for it.
    pub(super) fn close(&self) {
        // Fails if the thread has ended already, which is what is wanted.
        let _ = self.queue.send(Order::Close);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes to SQLite has panicked");
        }
    }
}

/// An operation in the queue.
trait Operation: Send {
    /// Runs it. What it wrote is to be kept, or undone if it failed alone; an error is one
    /// that reaches further.
    fn run(&mut self, connection: &Connection, ledger: &Ledger)
    -> Result<Verdict, rusqlite::Error>;

    /// Answers, with what happened to the transaction.
    fn answer(self: Box<Self>, outcome: Result<(), &Shared>);
}

#[derive(PartialEq, Eq)]
enum Verdict {
    Keep,
    Undo,
}

struct Pending<T, F> {
    now: Moment,
    run: F,
    result: Option<Result<T, Error>>,
    reply: oneshot::Sender<Result<T, Error>>,
    _permit: OwnedSemaphorePermit,
}

impl<T, F> Operation for Pending<T, F>
where
    T: Send,
    F: FnMut(Writing<'_>) -> Result<T, Fault> + Send,
{
    fn run(
        &mut self,
        connection: &Connection,
        ledger: &Ledger,
    ) -> Result<Verdict, rusqlite::Error> {
        let result = match (self.run)(Writing { connection, now: self.now, ledger }) {
            Err(Fault::Sqlite(error)) if Reach::of(&error) > Reach::Operation => {
                return Err(error);
            }
            result => result.map_err(Fault::into_error),
        };
        let verdict = if result.is_ok() { Verdict::Keep } else { Verdict::Undo };
        self.result = Some(result);
        Ok(verdict)
    }

    fn answer(self: Box<Self>, outcome: Result<(), &Shared>) {
        let answer = match (outcome, self.result) {
            (Ok(()), Some(result)) => result,
            // A refusal stands, whatever became of the others.
            (Err(_), Some(Err(error))) => Err(error),
            (Err(failure), _) => Err(failure.to_error()),
            (Ok(()), None) => Err(closed()),
        };
        // Nobody may be waiting any more.
        let _ = self.reply.send(answer);
    }
}

struct Thread {
    connection: Connection,
    ledger: Ledger,
    orders: mpsc::Receiver<Order>,
    /// Pages in the log, as of the last commit.
    pages: Arc<AtomicI32>,
    /// Pages that were in the log when it was last carried into the database.
    carried: Cell<i32>,
    on_fatal: OnFatal,
}

impl Thread {
    fn run(self) {
        loop {
            let first = match self.orders.recv_timeout(IDLE) {
                Ok(Order::Run(operation)) => operation,
                Ok(Order::Close) | Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    if self.checkpoint(CHECKPOINT).is_break() {
                        return;
                    }
                    // Nothing to do before the next order, however long that takes.
                    match self.orders.recv() {
                        Ok(Order::Run(operation)) => operation,
                        Ok(Order::Close) | Err(mpsc::RecvError) => break,
                    }
                }
            };
            match self.transact(first) {
                Next::Continue => {}
                Next::Close => break,
                Next::Abandon => return,
            }
            if self.is_checkpoint_due() && self.checkpoint(CHECKPOINT).is_break() {
                return;
            }
        }
        // An empty log makes the next start a quick one. If this fails, the log stays.
        let _ = self.checkpoint(LAST_CHECKPOINT);
    }

    /// Runs the first operation, and those that wait, as one transaction.
    fn transact(&self, first: Box<dyn Operation>) -> Next {
        let mut batch = Vec::with_capacity(MOST_OPERATIONS);
        let mut next = Next::Continue;
        let outcome = self.run_all(first, &mut batch, &mut next).map_err(|(reach, error)| {
            let failure = Shared::new(error);
            // The transaction may be over already; then there is nothing to roll back.
            let _ = self.connection.execute_batch("ROLLBACK");
            self.ledger.forget();
            if reach == Reach::Process {
                self.fail(&failure);
                next = Next::Abandon;
            }
            failure
        });
        for operation in batch {
            operation.answer(outcome.as_ref().copied());
        }
        next
    }

    fn run_all(
        &self,
        first: Box<dyn Operation>,
        batch: &mut Vec<Box<dyn Operation>>,
        next: &mut Next,
    ) -> Result<(), (Reach, rusqlite::Error)> {
        batch.push(first);
        let began = Instant::now();
        self.begin()?;
        loop {
            if let Some(operation) = batch.last_mut() {
                let before = self.connection.total_changes();
                let verdict = operation.run(&self.connection, &self.ledger).map_err(within)?;
                if verdict == Verdict::Undo && self.connection.total_changes() != before {
                    return self.run_apart(batch);
                }
            }
            if batch.len() >= MOST_OPERATIONS || began.elapsed() >= MOST_TIME {
                break;
            }
            match self.orders.try_recv() {
                Ok(Order::Run(operation)) => batch.push(operation),
                Ok(Order::Close) => {
                    *next = Next::Close;
                    break;
                }
                Err(_) => break,
            }
        }
        self.commit()
    }

    /// Begins the transaction anew, and runs operations so that the failure of one leaves the
    /// others alone.
    fn run_apart(&self, batch: &mut [Box<dyn Operation>]) -> Result<(), (Reach, rusqlite::Error)> {
        self.execute("ROLLBACK").map_err(within)?;
        self.ledger.forget();
        self.begin()?;
        for operation in batch {
            self.run_alone(&mut **operation).map_err(within)?;
        }
        self.commit()
    }

    fn run_alone(&self, operation: &mut dyn Operation) -> Result<(), rusqlite::Error> {
        self.execute("SAVEPOINT operation")?;
        match operation.run(&self.connection, &self.ledger)? {
            Verdict::Keep => self.ledger.write(&self.connection)?,
            Verdict::Undo => {
                self.execute("ROLLBACK TO operation")?;
                self.ledger.forget();
            }
        }
        self.execute("RELEASE operation")
    }

    fn begin(&self) -> Result<(), (Reach, rusqlite::Error)> {
        self.execute("BEGIN IMMEDIATE").map_err(|error| (Reach::of(&error), error))
    }

    fn commit(&self) -> Result<(), (Reach, rusqlite::Error)> {
        self.ledger.write(&self.connection).map_err(within)?;
        self.execute("COMMIT").map_err(|error| (Reach::of_sync(&error), error))
    }

    /// Tells whether enough has come into the log since it was last carried over.
    fn is_checkpoint_due(&self) -> bool {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.carried.get() {
            // The log has begun anew.
            self.carried.set(0);
        }
        pages - self.carried.get() >= CHECKPOINT_PAGES
    }

    /// Carries the log into the database, as far as readers allow.
    fn checkpoint(&self, sql: &str) -> ControlFlow<()> {
        let done = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row((), |row| row.get::<_, i32>(1)));
        match done {
            Ok(pages) => {
                self.carried.set(pages.max(0));
                ControlFlow::Continue(())
            }
            Err(error) if Reach::of_sync(&error) == Reach::Process => {
                self.fail(&Shared::new(error));
                ControlFlow::Break(())
            }
            // The log keeps everything until there is room.
            Err(error) => {
                tracing::warn!(%error, "the log could not be carried into the database");
                ControlFlow::Continue(())
            }
        }
    }

    fn fail(&self, failure: &Shared) {
        (self.on_fatal.0)(failure);
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute(()).map(drop)
    }
}

/// Judges a message that came within a transaction, which is lost with it.
fn within(error: rusqlite::Error) -> (Reach, rusqlite::Error) {
    (Reach::of(&error).max(Reach::Transaction), error)
}

enum Next {
    Continue,
    Close,
    /// Touch nothing any more.
    Abandon,
}

fn closed() -> Error {
    Error::Unavailable("the store is closed".into())
}

#[cfg(test)]
mod tests;
