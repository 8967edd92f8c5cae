//! Many writes in one transaction.
//!
//! A batch looks at everything its jobs need (`survey`), decides job by job, each upon what
//! the jobs before it have done (`decide`), and writes all that is left (`plan`): two round
//! trips, however many jobs there are. A job that is refused has no part in the second.
//!
//! A batch of new tasks that nothing can stand in the way of but an identifier that is taken is
//! written without a look, in one round trip. If one is taken, the database refuses the batch,
//! and it is run again with its eyes open.
//!
//! Invariant: locks are taken in one order by everybody: the writer's own row, conversations,
//! tasks by their key, then what belongs to a locked task. Nobody can wait in a circle.

mod decide;
mod lease;
mod plan;
mod survey;

use std::collections::VecDeque;

use nuncio_tasks::store::{Append, Appended, Create, Created, Error};
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};

use super::{
    connection::{Address, CALL, Connection, OPENING},
    error::Failure,
    place::{self, Places},
    safety,
};

use plan::{Statements as PlanStatements, Terms};
use survey::{Statements as SurveyStatements, Survey};

/// A write.
#[derive(Debug)]
pub(super) enum Job {
    Create(Create),
    Append(Append),
}

impl Job {
    /// Tells whether it is a new task that can be written without a look: no key, no
    /// conversation of the caller's choice, no limit. Children are numbered in the order of
    /// their opening, so they do not get a number that was fetched before.
    fn is_plain(&self) -> bool {
        match self {
            Self::Append(_) => false,
            Self::Create(create) => {
                create.key.is_none()
                    && create.parent.is_none()
                    && !create.context_is_given
                    && (create.batch.to().is_terminal() || create.most_unfinished == u32::MAX)
            }
        }
    }
}

/// What came of a [`Job`].
#[derive(Debug)]
pub(super) enum Done {
    Created(Created),
    Appended(Appended),
}

/// What was decided about a job.
#[derive(Debug)]
pub(super) enum Outcome {
    Answer(Result<Done, Error>),
    /// It needs to see the outcome of another job of this batch, and is for the next one.
    Deferred,
}

/// How a batch ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// All is known, in the order of the jobs.
    Known(Vec<Outcome>),
    /// The connection was lost around the commit. If the batch turns out to be written, these
    /// are the outcomes.
    Unknown(Receipt, Vec<Outcome>, Failure),
    /// Nothing was written.
    Failed(Failure),
}

/// What tells later whether a batch was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receipt {
    writer: i64,
    batch: i64,
}

/// With fewer numbers for new tasks than this, others are fetched: so many that the largest
/// batch can be written without a look, however small those before it were.
const LEAST_NUMBERS: usize = 64;
const MOST_NUMBERS: usize = 256;

/// Slots for counting, of which each writer has one to itself.
const SLOTS: i32 = 1024;

/// A connection that writes batches.
pub(super) struct Writer {
    connection: Connection,
    survey: SurveyStatements,
    plan: PlanStatements,
    /// Its row among the writers.
    key: i64,
    /// Its own rows among the counts.
    slot: i32,
    batch: i64,
    /// Numbers for new tasks, fetched with the batch before.
    numbers: VecDeque<i64>,
    /// Whether a transaction could not be ended.
    is_broken: bool,
}

impl Writer {
    /// Connects, and prepares everything in two round trips. What is polled together is sent at
    /// once and in order, and the database goes through it in that order.
    pub(super) async fn connect(address: &Address) -> Result<Self, Failure> {
        let connect = async {
            let connection = address.open().await?;
            let ((), (), survey, plan, ()) = tokio::try_join!(
                biased;
                address.begin(&connection),
                async { Ok(safety::check(&connection).await?) },
                SurveyStatements::prepare(&connection),
                PlanStatements::prepare(&connection),
                place::prepare(&connection),
            )?;
            // Nothing is written before the check is passed.
            let (slot, key, numbers) = tokio::try_join!(
                biased;
                take_slot(&connection),
                register(&connection),
                plan.numbers(&connection, MOST_NUMBERS),
            )?;
            Ok(Self { connection, survey, plan, key, slot, batch: 0, numbers, is_broken: false })
        };
        timeout(OPENING, connect).await.unwrap_or(Err(Failure::TooSlow))
    }

    /// Tells whether the connection is known to be of no use any more.
    pub(super) fn is_closed(&self) -> bool {
        self.is_broken || self.connection.is_closed()
    }

    /// Runs jobs as one transaction, if they may still be written when all is decided. Those
    /// that were refused before are looked at first.
    pub(super) async fn run(
        &mut self,
        jobs: &[&Job],
        places: &Places,
        may_write: &(dyn Fn() -> bool + Sync),
        were_refused: bool,
    ) -> Ended {
        self.batch += 1;
        let receipt = Receipt { writer: self.key, batch: self.batch };
        let is_blind = !were_refused
            && self.numbers.len() >= jobs.len()
            && jobs.iter().all(|job| job.is_plain());
        let survey = match timeout(CALL, self.look(jobs, places, is_blind)).await {
            Ok(Ok(survey)) => survey,
            Ok(Err(failure)) => {
                self.roll_back().await;
                return Ended::Failed(failure);
            }
            Err(_) => return Ended::Failed(Failure::TooSlow),
        };
        let (plan, outcomes) = decide::decide(jobs, survey);
        let is_empty = plan.is_empty();
        if is_empty || !may_write() {
            if !is_blind {
                self.roll_back().await;
            }
            let cancelled = Ended::Failed(Failure::Cancelled);
            return if is_empty { Ended::Known(outcomes) } else { cancelled };
        }
        let terms = Terms {
            begin: is_blind.then_some(receipt),
            slot: self.slot,
            numbers: self.wanted_numbers(),
        };
        let written = timeout(CALL, plan.write(&self.connection, &self.plan, terms)).await;
        match written.unwrap_or(Err(Failure::TooSlow)) {
            Ok(numbers) => {
                self.numbers.extend(numbers);
                Ended::Known(outcomes)
            }
            Err(failure) if failure.is_lost() => Ended::Unknown(receipt, outcomes, failure),
            // A commit after an error has undone everything.
            Err(failure) => Ended::Failed(failure),
        }
    }

    /// How many numbers are fetched for the batches to come.
    fn wanted_numbers(&self) -> i64 {
        if self.numbers.len() >= LEAST_NUMBERS {
            return 0;
        }
        i64::try_from(MOST_NUMBERS - self.numbers.len()).unwrap_or_default()
    }

    async fn look(
        &mut self,
        jobs: &[&Job],
        places: &Places,
        is_blind: bool,
    ) -> Result<Survey, Failure> {
        let wanted = jobs.iter().filter_map(|job| match job {
            Job::Create(create) => Some(&create.place),
            Job::Append(_) => None,
        });
        self.connection.refresh_plans().await?;
        let places = places.resolve(&self.connection, wanted).await?;
        if is_blind {
            return Ok(Survey::blind(places, self.numbers.drain(..jobs.len()).collect()));
        }
        let receipt = Receipt { writer: self.key, batch: self.batch };
        Survey::make(&self.connection, &self.survey, receipt, jobs, places).await
    }

    /// Nothing hangs on it but the connection itself.
    async fn roll_back(&mut self) {
        let rolled_back = timeout(CALL, self.connection.client().batch_execute("ROLLBACK")).await;
        self.is_broken = !matches!(rolled_back, Ok(Ok(())));
    }
}

impl Receipt {
    /// Asks, on a new connection, whether the batch was written.
    ///
    /// A transaction that is still going on holds the lock of the row, so there is no answer
    /// before it has ended. One that has not begun yet, because the database has it but has not
    /// come to it, is kept from it by a number that no batch has.
    pub(super) async fn is_written(self, address: &Address) -> Result<bool, Failure> {
        let ask = async {
            let connection = address.connect().await?;
            let question = "UPDATE writers SET batch = CASE batch WHEN $2 THEN batch ELSE -1 END \
                WHERE key = $1 RETURNING batch";
            let parameters: [(&(dyn ToSql + Sync), Type); 2] =
                [(&self.writer, Type::INT8), (&self.batch, Type::INT8)];
            let row = connection.client().query_typed_opt(question, &parameters).await?;
            Ok(row.is_some_and(|row| row.get::<_, i64>(0) == self.batch))
        };
        timeout(OPENING, ask).await.unwrap_or(Err(Failure::TooSlow))
    }
}

/// A slot is taken for as long as the connection lives. If there should ever be more writers
/// than slots, some share the last one, and wait for one another.
async fn take_slot(connection: &Connection) -> Result<i32, Failure> {
    let take = "SELECT slot FROM generate_series(0, $1::int - 2) slot \
        WHERE pg_try_advisory_lock(hashtext('nuncio writers ' || current_schema()), slot) LIMIT 1";
    let row = connection.client().query_typed_opt(take, &[(&SLOTS, Type::INT4)]).await?;
    Ok(row.map_or(SLOTS - 1, |row| row.get(0)))
}

/// Adds a row to the writers, and removes those of connections that are long gone.
async fn register(connection: &Connection) -> Result<i64, Failure> {
    let client = connection.client();
    let forget = "DELETE FROM writers WHERE key IN (SELECT key FROM writers \
        WHERE seen < clock_timestamp() - interval '7 days' FOR UPDATE SKIP LOCKED)";
    let add = "INSERT INTO writers DEFAULT VALUES RETURNING key";
    let ((), row) =
        tokio::try_join!(biased; client.batch_execute(forget), client.query_typed_one(add, &[]))?;
    Ok(row.get(0))
}
