//! What a batch must know before it decides.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
};

use futures_util::future::{BoxFuture, join_all};
use nuncio_protocol::{ids::TaskId, state::TaskState};
use nuncio_tasks::{
    log::Seq,
    scope::Place,
    store::{Error, Head},
};
use tokio_postgres::{Row, Statement, types::ToSql};

use super::{Job, Receipt};
use crate::postgres::{
    connection::Connection,
    error::Failure,
    place::PlaceKey,
    row::{
        self, HEAD_COLUMNS, head_columns, head_tables, place_of_task, state_number, task_by_id,
        tenant_of_task,
    },
    text::{quote, unquote},
};

/// Everything about a batch's jobs that the database knows, as of the locks it has taken.
pub(super) struct Survey {
    /// The numbers of the places of new tasks.
    pub(super) places: HashMap<Place, PlaceKey>,
    /// The tasks to be written to, locked.
    pub(super) tasks: HashMap<i64, Locked>,
    /// By job: the use of its key before.
    pub(super) keys: HashMap<usize, UsedKey>,
    /// Jobs whose task is there already.
    pub(super) existing: HashSet<usize>,
    /// Jobs whose conversation belongs to another caller.
    pub(super) foreign: HashSet<usize>,
    /// By job: how many unfinished tasks its caller has.
    pub(super) unfinished: HashMap<usize, u64>,
    /// Numbers for new tasks.
    pub(super) numbers: VecDeque<i64>,
}

/// A task that is locked.
pub(super) struct Locked {
    pub(super) head: Head,
    pub(super) place: PlaceKey,
    pub(super) lease: i16,
    pub(super) webhooks: i32,
}

/// An idempotency key that was used before.
pub(super) struct UsedKey {
    pub(super) request: Vec<u8>,
    pub(super) task: TaskId,
    pub(super) seq: Seq,
    /// The task as of now, if it is still there.
    pub(super) head: Option<Head>,
}

/// The mark of a batch, with the writer and the number of the batch. Nothing comes after a batch
/// that somebody has asked about (`Receipt::is_written`): the division by zero ends it.
macro_rules! mark {
    ($batch:literal) => {
        concat!(
            "INSERT INTO writers (key, batch) OVERRIDING SYSTEM VALUE VALUES (",
            $batch,
            ") ON CONFLICT (key) DO UPDATE SET seen = clock_timestamp(), \
             batch = excluded.batch / (writers.batch >= 0)::int"
        )
    };
}

pub(super) use mark;

/// Writes down which batch this is. The row may have been removed after days without one.
pub(super) const MARK: &str = mark!("$1, $2");

/// Conversations are locked by their hash; the inner query sorts before the outer one locks.
const LOCK_CONTEXTS: &str = "SELECT pg_advisory_xact_lock(hash) FROM ( \
    SELECT DISTINCT hashtextextended(tenant || ' ' || context, 0) AS hash \
    FROM unnest($1::bigint[], $2::text[]) u (tenant, context) ORDER BY 1) sorted";

const LOCK_TASKS: &str = concat!(
    "SELECT ",
    head_columns!(),
    ", t.tenant, t.place, t.lease, t.webhooks FROM ",
    head_tables!(),
    " WHERE t.key = ANY($1::bigint[]) ORDER BY t.key FOR UPDATE OF t"
);

const KEYS: &str = concat!(
    "SELECT u.job, k.request, k.task_id, k.seq, t.key IS NOT NULL, ",
    head_columns!(),
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) u (job, place, task, text) \
     LEFT JOIN LATERAL (SELECT place FROM tasks WHERE key = u.task OFFSET 0) own ON true \
     CROSS JOIN LATERAL (SELECT * FROM keys k WHERE k.place = coalesce(u.place, own.place) \
        AND k.digest = sha256(convert_to(u.text, 'UTF8')) OFFSET 0) k \
     LEFT JOIN LATERAL (SELECT * FROM tasks t WHERE t.key = k.task OFFSET 0) t ON true \
     LEFT JOIN ",
    place_of_task!(),
    " ON true LEFT JOIN ",
    tenant_of_task!(),
    " ON true"
);

const EXISTING: &str = concat!(
    "SELECT u.job FROM unnest($1::bigint[], $2::bigint[], $3::text[]) u (job, tenant, id) \
     CROSS JOIN ",
    task_by_id!("u.tenant", "u.id")
);

/// Visits each place of a conversation once, however many tasks it has there.
const FOREIGN: &str = "SELECT u.job \
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) u (job, tenant, context, caller) \
    WHERE EXISTS ( \
        WITH RECURSIVE met (place) AS ( \
            (SELECT t.place FROM tasks t WHERE t.tenant = u.tenant AND t.context = u.context \
             ORDER BY t.place LIMIT 1) \
            UNION ALL \
            SELECT (SELECT t.place FROM tasks t WHERE t.tenant = u.tenant \
                    AND t.context = u.context AND t.place > met.place ORDER BY t.place LIMIT 1) \
            FROM met WHERE met.place IS NOT NULL) \
        SELECT FROM met JOIN places p ON p.key = met.place WHERE p.caller <> u.caller)";

const UNFINISHED: &str = "SELECT u.job, sum(c.tasks)::bigint \
    FROM unnest($1::bigint[], $2::bigint[], $3::text[]) u (job, tenant, caller) \
    CROSS JOIN LATERAL (SELECT * FROM places p \
        WHERE p.tenant = u.tenant AND p.caller = u.caller OFFSET 0) p \
    CROSS JOIN LATERAL (SELECT * FROM counts c WHERE c.tenant = p.tenant AND c.place = p.key \
        AND c.state = ANY($4::smallint[]) OFFSET 0) c \
    GROUP BY u.job";

pub(super) const NUMBERS: &str =
    "SELECT nextval('tasks_key_seq') FROM generate_series(1, $1::bigint)";

/// The statements of a survey, prepared, so that all of them are sent at once and in order.
pub(super) struct Statements([Statement; 8]);

impl Statements {
    pub(super) async fn prepare(connection: &Connection) -> Result<Self, Failure> {
        let client = connection.client();
        let all = [MARK, LOCK_CONTEXTS, LOCK_TASKS, KEYS, EXISTING, FOREIGN, UNFINISHED, NUMBERS];
        let mut prepared = Vec::with_capacity(all.len());
        for statement in join_all(all.map(|sql| client.prepare(sql))).await {
            prepared.push(statement?);
        }
        match prepared.try_into() {
            Ok(statements) => Ok(Self(statements)),
            Err(_) => Err(Failure::Lost("a statement was not prepared")),
        }
    }
}

/// The parameters of a survey.
#[derive(Default)]
struct Questions<'j> {
    tasks: Vec<i64>,
    keys: KeyQuestions<'j>,
    new: NewQuestions<'j>,
    contexts: ContextQuestions<'j>,
}

/// About idempotency keys: of a new task's place, or of the place that a task is in.
#[derive(Default)]
struct KeyQuestions<'j> {
    jobs: Vec<i64>,
    places: Vec<Option<i64>>,
    tasks: Vec<Option<i64>>,
    texts: Vec<Cow<'j, str>>,
}

/// About new tasks.
#[derive(Default)]
struct NewQuestions<'j> {
    jobs: Vec<i64>,
    tenants: Vec<i64>,
    ids: Vec<Cow<'j, str>>,
    callers: Vec<Cow<'j, str>>,
}

/// About conversations that a caller has chosen.
#[derive(Default)]
struct ContextQuestions<'j> {
    jobs: Vec<i64>,
    tenants: Vec<i64>,
    contexts: Vec<Cow<'j, str>>,
    callers: Vec<Cow<'j, str>>,
}

impl<'j> Questions<'j> {
    fn of(jobs: &[&'j Job], places: &HashMap<Place, PlaceKey>) -> Self {
        let mut questions = Self::default();
        for (number, job) in (0..).zip(jobs) {
            match job {
                Job::Append(append) => {
                    questions.tasks.push(append.task.0);
                    if let Some(key) = &append.key {
                        questions.key(number, None, Some(append.task.0), &key.text);
                    }
                }
                Job::Create(create) => {
                    let Some(place) = places.get(&create.place) else { continue };
                    let caller = quote(create.place.caller.as_str());
                    questions.new.jobs.push(number);
                    questions.new.tenants.push(place.tenant);
                    questions.new.ids.push(quote(create.batch.task().as_str()));
                    questions.new.callers.push(caller.clone());
                    if let Some(key) = &create.key {
                        questions.key(number, Some(place.place), None, &key.text);
                    }
                    if create.context_is_given {
                        questions.contexts.jobs.push(number);
                        questions.contexts.tenants.push(place.tenant);
                        questions.contexts.contexts.push(quote(create.batch.context().as_str()));
                        questions.contexts.callers.push(caller);
                    }
                }
            }
        }
        questions
    }

    fn key(&mut self, job: i64, place: Option<i64>, task: Option<i64>, text: &'j str) {
        self.keys.jobs.push(job);
        self.keys.places.push(place);
        self.keys.tasks.push(task);
        self.keys.texts.push(quote(text));
    }
}

impl Survey {
    /// Supposes that nothing stands in the way of new tasks. If something does, the database
    /// does not take them.
    pub(super) fn blind(places: HashMap<Place, PlaceKey>, numbers: VecDeque<i64>) -> Self {
        Self {
            places,
            tasks: HashMap::new(),
            keys: HashMap::new(),
            existing: HashSet::new(),
            foreign: HashSet::new(),
            unfinished: HashMap::new(),
            numbers,
        }
    }

    /// Begins the transaction, takes the locks and reads, in one round trip.
    pub(super) async fn make(
        connection: &Connection,
        statements: &Statements,
        receipt: Receipt,
        jobs: &[&Job],
        places: HashMap<Place, PlaceKey>,
    ) -> Result<Self, Failure> {
        let client = connection.client();
        let asked = Questions::of(jobs, &places);
        let numbers = row::count(asked.new.jobs.len());
        let unfinished: Vec<i16> = TaskState::ALL
            .iter()
            .filter(|state| !state.is_terminal())
            .map(|state| state_number(*state))
            .collect();
        let Questions { tasks, keys, new, contexts } = &asked;
        // Each with the number of things that it is about.
        let parameters: [(usize, Vec<&(dyn ToSql + Sync)>); 8] = [
            (1, vec![&receipt.writer, &receipt.batch]),
            (contexts.jobs.len(), vec![&contexts.tenants, &contexts.contexts]),
            (tasks.len(), vec![tasks]),
            (keys.jobs.len(), vec![&keys.jobs, &keys.places, &keys.tasks, &keys.texts]),
            (new.jobs.len(), vec![&new.jobs, &new.tenants, &new.ids]),
            (
                contexts.jobs.len(),
                vec![&contexts.jobs, &contexts.tenants, &contexts.contexts, &contexts.callers],
            ),
            (new.jobs.len(), vec![&new.jobs, &new.tenants, &new.callers, &unfinished]),
            (new.jobs.len(), vec![&numbers]),
        ];
        let begin = async { client.batch_execute("BEGIN").await.map(|()| Vec::new()) };
        let mut answers: Vec<BoxFuture<'_, Result<Vec<Row>, tokio_postgres::Error>>> =
            vec![Box::pin(begin)];
        for (statement, (count, parameters)) in statements.0.iter().zip(&parameters) {
            if *count > 0 {
                answers.push(Box::pin(client.query(statement, parameters)));
            } else {
                answers.push(Box::pin(async { Ok(Vec::new()) }));
            }
        }
        // Polled in order, and sent when first polled.
        let mut answers = join_all(answers).await.into_iter().skip(1);
        let mut next = || answers.next().unwrap_or_else(|| Ok(Vec::new()));
        next()?;
        next()?;
        let mut survey = Self::blind(places, VecDeque::new());
        for row in next()? {
            let locked = locked(&row)?;
            survey.tasks.insert(locked.head.reference.0, locked);
        }
        for row in next()? {
            survey.keys.insert(job(&row), used_key(&row)?);
        }
        survey.existing = next()?.iter().map(job).collect();
        survey.foreign = next()?.iter().map(job).collect();
        let sum = |row: Row| (job(&row), row::unsigned(row.get(1)));
        survey.unfinished = next()?.into_iter().map(sum).collect();
        survey.numbers = next()?.iter().map(|row| row.get(0)).collect();
        Ok(survey)
    }
}

fn job(row: &Row) -> usize {
    usize::try_from(row.get::<_, i64>(0)).unwrap_or(usize::MAX)
}

fn locked(row: &Row) -> Result<Locked, Error> {
    Ok(Locked {
        head: row::head(row, 0)?,
        place: PlaceKey { tenant: row.get(HEAD_COLUMNS), place: row.get(HEAD_COLUMNS + 1) },
        lease: row.get(HEAD_COLUMNS + 2),
        webhooks: row.get(HEAD_COLUMNS + 3),
    })
}

fn used_key(row: &Row) -> Result<UsedKey, Error> {
    let is_there: bool = row.get(4);
    Ok(UsedKey {
        request: row.get(1),
        task: TaskId::parse(&unquote(row.get(2)))
            .map_err(|error| Error::Spoilt(error.to_string()))?,
        seq: row::seq(row.get(3)),
        head: is_there.then(|| row::head(row, 5)).transpose()?,
    })
}
