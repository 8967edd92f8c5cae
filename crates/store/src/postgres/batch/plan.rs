//! What a batch writes.

mod columns;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use futures_util::future::{BoxFuture, join_all};
use nuncio_protocol::state::TaskState;
use nuncio_tasks::{
    log::{Seq, Snapshot},
    store::{Head, NewWebhook, Wake},
};
use tokio_postgres::{Row, Statement, types::ToSql};

use super::{
    Receipt,
    lease::Change,
    survey::{MARK, NUMBERS, mark},
};
use crate::postgres::{
    connection::Connection,
    error::Failure,
    place::PlaceKey,
    row::{self, state_number},
};

use columns::{CountColumns, Keys, NoteColumns, Parents, Pieces, TaskColumns, WebhookColumns};

/// Everything that the jobs of a batch write.
#[derive(Default)]
pub(super) struct Plan<'j> {
    pub(super) new: Vec<NewTask>,
    pub(super) changed: Vec<ChangedTask>,
    pub(super) pieces: Pieces,
    pub(super) snapshots: BTreeMap<i64, &'j Snapshot>,
    pub(super) keys: Keys<'j>,
    /// Tasks that let go of the keys that opened them.
    pub(super) without_key: BTreeSet<i64>,
    pub(super) notes: BTreeMap<i64, &'j [u8]>,
    pub(super) parents: Parents<'j>,
    /// With their task, and the last event that each is not to get.
    pub(super) webhooks: Vec<(i64, &'j NewWebhook, Seq)>,
    /// Tasks whose webhooks have something to send.
    pub(super) woken: BTreeSet<i64>,
    /// By tenant, place and state.
    counts: BTreeMap<(i64, i64, i16), i64>,
}

/// A task to be inserted.
pub(super) struct NewTask {
    pub(super) head: Head,
    pub(super) place: PlaceKey,
    pub(super) lease: Change,
    pub(super) wake: Wake,
}

/// A task to be updated.
pub(super) struct ChangedTask {
    pub(super) head: Head,
    pub(super) lease: Change,
    pub(super) wake: Wake,
    pub(super) ends: bool,
}

impl ChangedTask {
    /// Adds what a later job changes.
    pub(super) fn follow(&mut self, later: Self) {
        self.head = later.head;
        self.ends |= later.ends;
        if later.lease != Change::Keep {
            self.lease = later.lease;
        }
        if later.wake != Wake::Keep {
            self.wake = later.wake;
        }
    }
}

/// Inserts tasks of which the columns are $1 to $20, once for every row that `$before` names.
macro_rules! insert_tasks {
    ($before:literal) => {
        concat!(
    "INSERT INTO tasks (key, tenant, place, id, context, state, updated, \
        updated_nanos, seq, bytes, epoch, lease, lease_owner, lease_until, wake_at, ended_at, \
        snapshot, head, history, artifacts) \
    OVERRIDING SYSTEM VALUE \
    SELECT key, tenant, place, id, context, state, updated, updated_nanos, seq, bytes, epoch, \
        lease, owner, \
        CASE WHEN lease > 0 THEN clock_timestamp() + lasts * interval '1 microsecond' END, \
        CASE WHEN wake >= 0 THEN clock_timestamp() + wake * interval '1 microsecond' END, \
        CASE WHEN ends THEN clock_timestamp() END, snapshot, head, history, artifacts \
    FROM ",
    $before,
    "unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::smallint[], \
        $7::bigint[], $8::smallint[], $9::bigint[], $10::bigint[], $11::bigint[], \
        $12::smallint[], $13::text[], $14::bigint[], $15::bigint[], $16::boolean[], \
        $17::bigint[], $18::bytea[], $19::bytea[], $20::bytea[]) \
        u (key, tenant, place, id, context, state, updated, updated_nanos, seq, bytes, epoch, \
        lease, owner, lasts, wake, ends, snapshot, head, history, artifacts)"
    )
    };
}

const INSERT_TASKS: &str = insert_tasks!("");

/// Without a lease, a wake-up or a snapshot these stay as they are; a negative wake-up is none.
///
/// The rows are locked, so they are where they are found. Without the detour, the planner would
/// go through all tasks if it thought that there are fewer of them than changes.
const UPDATE_TASKS: &str = "UPDATE tasks t SET state = u.state, updated = u.updated, \
        updated_nanos = u.updated_nanos, seq = u.seq, bytes = u.bytes, epoch = u.epoch, \
        lease = coalesce(u.lease, t.lease), \
        lease_owner = CASE WHEN u.lease IS NULL THEN t.lease_owner ELSE u.owner END, \
        lease_until = CASE WHEN u.lease IS NULL THEN t.lease_until \
            WHEN u.lease > 0 THEN clock_timestamp() + u.lasts * interval '1 microsecond' END, \
        wake_at = CASE WHEN u.wake IS NULL THEN t.wake_at \
            WHEN u.wake >= 0 THEN clock_timestamp() + u.wake * interval '1 microsecond' END, \
        ended_at = CASE WHEN u.ends THEN clock_timestamp() ELSE t.ended_at END, \
        snapshot = coalesce(u.snapshot, t.snapshot), \
        head = CASE WHEN u.snapshot IS NULL THEN t.head ELSE u.head END, \
        history = CASE WHEN u.snapshot IS NULL THEN t.history ELSE u.history END, \
        artifacts = CASE WHEN u.snapshot IS NULL THEN t.artifacts ELSE u.artifacts END \
    FROM (SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::smallint[], \
        $5::bigint[], $6::bigint[], $7::bigint[], $8::smallint[], $9::text[], $10::bigint[], \
        $11::bigint[], $12::boolean[], $13::bigint[], $14::bytea[], $15::bytea[], $16::bytea[]) \
        u (key, state, updated, updated_nanos, seq, bytes, epoch, lease, owner, lasts, wake, ends, \
        snapshot, head, history, artifacts) \
        CROSS JOIN LATERAL (SELECT o.ctid AS row FROM tasks o WHERE o.key = u.key OFFSET 0) o) u \
    WHERE t.ctid = u.row";

macro_rules! insert_pieces {
    ($tasks:literal, $seqs:literal, $bodies:literal) => {
        concat!(
            "INSERT INTO pieces (task, seq, body) SELECT * FROM unnest(",
            $tasks,
            "::bigint[], ",
            $seqs,
            "::bigint[], ",
            $bodies,
            "::bytea[])"
        )
    };
}

const PIECES: &str = insert_pieces!("$1", "$2", "$3");

const FORGET_KEYS: &str = "DELETE FROM keys WHERE task = ANY($1::bigint[]) AND seq = 1";

const KEYS: &str = "INSERT INTO keys (place, digest, request, task, task_id, seq) \
    SELECT place, sha256(convert_to(text, 'UTF8')), request, task, task_id, seq \
    FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bigint[], $5::text[], $6::bigint[]) \
        u (place, text, request, task, task_id, seq) ORDER BY 1, 2";

const NOTES: &str = "INSERT INTO notes (task, note) \
    SELECT * FROM unnest($1::bigint[], $2::bytea[]) \
    ON CONFLICT (task) DO UPDATE SET note = excluded.note";

const PARENTS: &str = "INSERT INTO parents (task, tenant, parent) \
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])";

/// Behind the tasks: whether there is something to send depends on how far they are now.
const WEBHOOKS: &str = "INSERT INTO webhooks (task, id, url, secrets, major, minor, sent, due_at) \
    SELECT u.task, u.id, u.url, u.secrets, u.major, u.minor, u.sent, \
        CASE WHEN u.sent < t.seq THEN clock_timestamp() END \
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[], $5::int[], $6::int[], \
        $7::bigint[]) WITH ORDINALITY u (task, id, url, secrets, major, minor, sent, ordinal) \
    CROSS JOIN LATERAL (SELECT seq FROM tasks WHERE key = u.task OFFSET 0) t \
    ORDER BY u.ordinal \
    ON CONFLICT (task, id) DO UPDATE SET url = excluded.url, secrets = excluded.secrets, \
        major = excluded.major, minor = excluded.minor, attempts = 0, \
        epoch = webhooks.epoch + 1, taken_until = NULL, \
        due_at = CASE WHEN webhooks.sent < (SELECT seq FROM tasks WHERE key = webhooks.task) \
            THEN clock_timestamp() END";

const RECOUNT: &str = "UPDATE tasks t \
    SET webhooks = (SELECT count(*) FROM webhooks w WHERE w.task = t.key) \
    WHERE t.key = ANY($1::bigint[])";

const WAKE: &str = "UPDATE webhooks SET due_at = clock_timestamp() \
    WHERE task = ANY($1::bigint[]) AND due_at IS NULL";

macro_rules! count_tasks {
    ($tenants:literal, $places:literal, $states:literal, $by:literal, $slot:literal) => {
        concat!(
            "INSERT INTO counts (tenant, place, state, writer, tasks) \
             SELECT tenant, place, state, ",
            $slot,
            "::int, tasks FROM unnest(",
            $tenants,
            "::bigint[], ",
            $places,
            "::bigint[], ",
            $states,
            "::smallint[], ",
            $by,
            "::bigint[]) u (tenant, place, state, tasks) \
             ON CONFLICT (tenant, place, state, writer) \
             DO UPDATE SET tasks = counts.tasks + excluded.tasks"
        )
    };
}

const COUNTS: &str = count_tasks!("$1", "$2", "$3", "$4", "$5");

/// All that most batches of new tasks write, as one statement, which is a transaction by itself:
/// every statement has a price of its own, and there are five fewer.
///
/// The mark is what the outer query looks at first, so it is there before anything else is.
const OPEN: &str = concat!(
    "WITH mark AS (",
    mark!("$29, $30"),
    " RETURNING key AS writer), new AS (",
    insert_tasks!("mark CROSS JOIN "),
    "), piece AS (",
    insert_pieces!("$21", "$22", "$23"),
    "), counted AS (",
    count_tasks!("$24", "$25", "$26", "$27", "$28"),
    ") SELECT n.number FROM mark LEFT JOIN LATERAL (SELECT nextval('tasks_key_seq') AS number \
     FROM generate_series(1, $31::bigint)) n ON true"
);

/// The statements of a plan, prepared, so that all of them are sent at once and in order.
pub(super) struct Statements {
    mark: Statement,
    numbers: Statement,
    open: Statement,
    writes: [Statement; 11],
}

/// What a plan is written with.
pub(super) struct Terms {
    /// If the transaction has not begun yet.
    pub(super) begin: Option<Receipt>,
    /// Where the writer counts.
    pub(super) slot: i32,
    /// How many numbers are wanted for tasks to come.
    pub(super) numbers: i64,
}

impl Statements {
    pub(super) async fn prepare(connection: &Connection) -> Result<Self, Failure> {
        let client = connection.client();
        let all = [
            MARK,
            NUMBERS,
            OPEN,
            INSERT_TASKS,
            UPDATE_TASKS,
            PIECES,
            FORGET_KEYS,
            KEYS,
            NOTES,
            PARENTS,
            WEBHOOKS,
            RECOUNT,
            WAKE,
            COUNTS,
        ];
        let mut prepared = Vec::with_capacity(all.len());
        for statement in join_all(all.map(|sql| client.prepare(sql))).await {
            prepared.push(statement?);
        }
        let missing = || Failure::Lost("a statement was not prepared");
        let writes = prepared.split_off(3).try_into().map_err(|_| missing())?;
        let open = prepared.pop().ok_or_else(missing)?;
        let numbers = prepared.pop().ok_or_else(missing)?;
        let mark = prepared.pop().ok_or_else(missing)?;
        Ok(Self { mark, numbers, open, writes })
    }

    /// Fetches numbers for new tasks.
    pub(super) async fn numbers(
        &self,
        connection: &Connection,
        count: usize,
    ) -> Result<VecDeque<i64>, Failure> {
        let rows = connection.client().query(&self.numbers, &[&row::count(count)]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

type Answer<'a> = BoxFuture<'a, Result<Vec<Row>, tokio_postgres::Error>>;

/// Waits for the answer of a statement that returns no rows.
async fn nothing<T>(
    answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    answer.await.map(|_| Vec::new())
}

impl Plan<'_> {
    /// Tells whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.changed.is_empty()
    }

    /// Tells whether there are but new tasks and their logs.
    fn is_only_new(&self) -> bool {
        self.changed.is_empty()
            && self.keys.tasks.is_empty()
            && self.without_key.is_empty()
            && self.notes.is_empty()
            && self.parents.tasks.is_empty()
            && self.webhooks.is_empty()
            && self.woken.is_empty()
    }

    /// Counts a task that comes to be in a state, or goes from one to another.
    pub(super) fn count(
        &mut self,
        place: PlaceKey,
        from: Option<TaskState>,
        to: Option<TaskState>,
    ) {
        for (state, by) in [(from, -1), (to, 1)] {
            let Some(state) = state else { continue };
            for row in [place.place, 0] {
                let count = self.counts.entry((place.tenant, row, state_number(state)));
                *count.or_default() += by;
            }
        }
    }

    /// Writes everything and commits, in one round trip. Returns numbers for tasks to come.
    pub(super) async fn write(
        &self,
        connection: &Connection,
        statements: &Statements,
        terms: Terms,
    ) -> Result<Vec<i64>, Failure> {
        let Terms { begin, slot, numbers } = terms;
        if let Some(receipt) = begin.filter(|_| self.is_only_new()) {
            return self.open(connection, statements, receipt, slot, numbers).await;
        }
        let client = connection.client();
        let new = TaskColumns::of_new(&self.new, &self.snapshots);
        let changed = TaskColumns::of_changed(&self.changed, &self.snapshots);
        let notes = NoteColumns::of(&self.notes);
        let webhooks = WebhookColumns::of(&self.webhooks);
        let counts = CountColumns::of(&self.counts);
        let woken: Vec<i64> = self.woken.iter().copied().collect();
        let without_key: Vec<i64> = self.without_key.iter().copied().collect();
        let (pieces, keys, parents) = (&self.pieces, &self.keys, &self.parents);
        // Each with the number of its rows.
        let parameters: [(usize, Vec<&(dyn ToSql + Sync)>); 11] = [
            (self.new.len(), new.to_insert()),
            (self.changed.len(), changed.to_update()),
            (pieces.tasks.len(), pieces.parameters()),
            (without_key.len(), vec![&without_key]),
            (keys.tasks.len(), keys.parameters()),
            (self.notes.len(), notes.parameters()),
            (parents.tasks.len(), parents.parameters()),
            (self.webhooks.len(), webhooks.parameters()),
            (self.webhooks.len(), vec![&webhooks.tasks]),
            (woken.len(), vec![&woken]),
            (self.counts.len(), counts.parameters(&slot)),
        ];
        let wanted: [&(dyn ToSql + Sync); 1] = [&numbers];
        let (writer, batch) = begin.map_or((0, 0), |receipt| (receipt.writer, receipt.batch));
        let mark: [&(dyn ToSql + Sync); 2] = [&writer, &batch];

        let mut answers: Vec<Answer<'_>> = Vec::new();
        if begin.is_some() {
            answers.push(Box::pin(nothing(client.batch_execute("BEGIN"))));
            answers.push(Box::pin(nothing(client.execute(&statements.mark, &mark))));
        }
        for (statement, (count, parameters)) in statements.writes.iter().zip(&parameters) {
            if *count > 0 {
                answers.push(Box::pin(nothing(client.execute(statement, parameters))));
            }
        }
        if numbers > 0 {
            // Before the commit: by itself it would be a transaction, which waits for the disk.
            answers.push(Box::pin(client.query(&statements.numbers, &wanted)));
        }
        answers.push(Box::pin(nothing(client.batch_execute("COMMIT"))));
        // Polled in order, and sent when first polled. The first error is the reason of all
        // that follow.
        let answers = join_all(answers).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(answers.iter().flatten().map(|row| row.get(0)).collect())
    }

    /// Writes new tasks and nothing else, as [`write`](Self::write) does.
    async fn open(
        &self,
        connection: &Connection,
        statements: &Statements,
        receipt: Receipt,
        slot: i32,
        numbers: i64,
    ) -> Result<Vec<i64>, Failure> {
        let new = TaskColumns::of_new(&self.new, &self.snapshots);
        let counts = CountColumns::of(&self.counts);
        let mut parameters = new.to_insert();
        parameters.extend(self.pieces.parameters());
        parameters.extend(counts.parameters(&slot));
        parameters.extend([&receipt.writer as &(dyn ToSql + Sync), &receipt.batch, &numbers]);
        let rows = connection.client().query(&statements.open, &parameters).await?;
        Ok(rows.iter().filter_map(|row| row.get(0)).collect())
    }
}
