//! Lists of tasks.
//!
//! A page costs the same however many tasks there are: it is read from the end of an index,
//! one for each state, and the total is the sum of counts that every write keeps.

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};
use nuncio_tasks::store::{Error, Filter, Listed, Loaded, Page, order_from};
use tokio_postgres::types::ToSql;

use super::{
    connection::Connection,
    error::Failure,
    read::{found, with_entries},
    row::{
        self, ScopeNames, head_columns, in_scope, place_of_task, snapshot_columns, state_number,
        want_of,
    },
    text::quote,
};

/// How often reading begins anew when tasks are removed meanwhile.
const MOST_TRIES: usize = 4;

/// What is asked of `t` tasks beside their state. Every parameter is named in every statement,
/// used or not.
macro_rules! in_filter {
    () => {
        "t.updated >= $5 AND (t.updated, t.id) < ($6, $7)"
    };
}

/// The columns of a page, of tasks that come with the names of their places.
macro_rules! page_columns {
    () => {
        concat!(head_columns!(), ", ", snapshot_columns!("t.seq", "$9", "$10"))
    };
}

macro_rules! newest_first {
    () => {
        " ORDER BY t.updated DESC, t.id DESC LIMIT $8"
    };
}

/// Of each state that there are tasks in, as the counts say, the newest; of these the newest.
macro_rules! newest_of {
    ($tables:expr, $counted:expr, $of:expr, $scope:expr) => {
        concat!(
            "SELECT ",
            page_columns!(),
            " FROM ",
            $tables,
            " CROSS JOIN LATERAL (SELECT c.state AS number FROM counts c WHERE c.tenant = n.key \
             AND c.place = ",
            $counted,
            " AND c.state = ANY($4::smallint[]) GROUP BY c.state HAVING sum(c.tasks) > 0) state \
             CROSS JOIN LATERAL (SELECT t.* FROM tasks t WHERE ",
            $of,
            " AND t.state = state.number AND ",
            in_filter!(),
            newest_first!(),
            ") t ",
            $scope,
            " AND $11::text IS NULL",
            newest_first!()
        )
    };
}

/// The tasks of a conversation of the tenant `n`, with bounds and an order as in `task_by_id`.
macro_rules! of_context {
    ($context:literal) => {
        concat!(
            "LATERAL (SELECT * FROM tasks t WHERE t.tenant = n.key AND t.context >= ",
            $context,
            " AND t.context <= ",
            $context,
            " ORDER BY t.tenant, t.context OFFSET 0) t"
        )
    };
}

const OF_TENANT: &str = newest_of!(
    "tenants n",
    "0",
    "t.tenant = n.key",
    concat!(
        "CROSS JOIN ",
        place_of_task!(),
        " WHERE n.name = $1 AND $2::text IS NULL AND $3::text IS NULL"
    )
);

const OF_PLACES: &str = newest_of!(
    "tenants n JOIN places p ON p.tenant = n.key",
    "p.key",
    "t.place = p.key",
    concat!("WHERE ", in_scope!())
);

const OF_CONTEXT: &str = concat!(
    "SELECT ",
    page_columns!(),
    " FROM ",
    "tenants n CROSS JOIN ",
    of_context!("$11"),
    " CROSS JOIN ",
    place_of_task!(),
    " WHERE t.state = ANY($4::smallint[]) AND ",
    in_filter!(),
    " AND ",
    in_scope!(),
    newest_first!()
);

const TOTAL_OF_TENANT: &str = "SELECT coalesce(sum(c.tasks), 0)::bigint FROM tenants n \
    CROSS JOIN LATERAL (SELECT * FROM counts c WHERE c.tenant = n.key AND c.place = 0 \
        AND c.state = ANY($4::smallint[]) OFFSET 0) c \
    WHERE n.name = $1 AND $2::text IS NULL AND $3::text IS NULL \
        AND $5::bigint IS NOT NULL AND $6::text IS NULL";

const TOTAL_OF_PLACES: &str = concat!(
    "SELECT coalesce(sum(c.tasks), 0)::bigint FROM tenants n JOIN places p ON p.tenant = n.key \
     CROSS JOIN LATERAL (SELECT * FROM counts c WHERE c.tenant = n.key AND c.place = p.key \
        AND c.state = ANY($4::smallint[]) OFFSET 0) c \
     WHERE ",
    in_scope!(),
    " AND $5::bigint IS NOT NULL AND $6::text IS NULL"
);

const COUNT_SINCE_OF_TENANT: &str = "SELECT count(*) FROM tenants n \
    JOIN tasks t ON t.tenant = n.key AND t.state = ANY($4::smallint[]) AND t.updated >= $5 \
    WHERE n.name = $1 AND $2::text IS NULL AND $3::text IS NULL AND $6::text IS NULL";

const COUNT_SINCE_OF_PLACES: &str = concat!(
    "SELECT count(*) FROM tenants n JOIN places p ON p.tenant = n.key \
     JOIN tasks t ON t.place = p.key AND t.state = ANY($4::smallint[]) AND t.updated >= $5 \
     WHERE ",
    in_scope!(),
    " AND $6::text IS NULL"
);

const COUNT_OF_CONTEXT: &str = concat!(
    "SELECT count(*) FROM tenants n CROSS JOIN ",
    of_context!("$6"),
    " CROSS JOIN ",
    place_of_task!(),
    " WHERE t.state = ANY($4::smallint[]) AND t.updated >= $5 AND ",
    in_scope!()
);

/// What reads a page, on any connection.
pub(super) fn of(
    scope: ScopeNames,
    filter: Filter,
    page: Page,
) -> impl for<'c> Fn(&'c Connection) -> BoxFuture<'c, Result<Listed, Failure>> {
    let question = Arc::new((scope, filter, page));
    move |connection| {
        let question = Arc::clone(&question);
        async move { list(connection, &question.0, &question.1, &question.2).await }.boxed()
    }
}

async fn list(
    connection: &Connection,
    scope: &ScopeNames,
    filter: &Filter,
    page: &Page,
) -> Result<Listed, Failure> {
    let (of_page, of_total) = statements(scope, filter);
    let states: Vec<i16> = filter.wanted_states().map(state_number).collect();
    let context = filter.context.as_ref().map(|context| quote(context.as_str()).into_owned());
    let since = filter.updated_from.map_or(i64::MIN, order_from);
    // Every task is behind the start.
    let after = page.after.as_ref();
    let (after, id) = after.map_or((i64::MAX, ""), |after| (after.updated, after.id.as_str()));
    let id = quote(id);
    let most = row::count(page.size.saturating_add(1));

    let of_scope: [&(dyn ToSql + Sync); 3] = [&scope.tenant, &scope.agent, &scope.caller];
    let mut parameters = of_scope.to_vec();
    parameters.extend([&states as &(dyn ToSql + Sync), &since, &after, &id, &most]);
    parameters.extend([&page.history as &(dyn ToSql + Sync), &page.artifacts, &context]);
    let mut for_total = of_scope.to_vec();
    for_total.extend([&states as &(dyn ToSql + Sync), &since, &context]);

    for _ in 0..MOST_TRIES {
        // Both go out at once: the second does not wait for the answer to the first.
        let page_of_tasks = connection.query(of_page, &parameters);
        let (rows, total) =
            tokio::try_join!(page_of_tasks, connection.query(of_total, &for_total))?;
        let total = total.first().map_or(0, |row| row::unsigned(row.get(0)));
        let is_more = rows.len() > page.size;
        let mut tasks: Vec<Loaded> = Vec::with_capacity(rows.len());
        for row in rows.iter().take(page.size) {
            tasks.push(found(row, want_of(page), tasks.last())?);
        }
        let tasks = with_entries(connection, tasks).await?;
        if let Some(tasks) = tasks.into_iter().collect::<Option<Vec<Loaded>>>() {
            return Ok(Listed { tasks, total, more: is_more });
        }
    }
    Err(Error::Spoilt("a log has a gap".to_owned()).into())
}

/// Chooses the statements for a page and for the total.
fn statements(scope: &ScopeNames, filter: &Filter) -> (&'static str, &'static str) {
    let is_tenant = scope.agent.is_none() && scope.caller.is_none();
    match (&filter.context, filter.updated_from, is_tenant) {
        (Some(_), _, _) => (OF_CONTEXT, COUNT_OF_CONTEXT),
        (None, None, true) => (OF_TENANT, TOTAL_OF_TENANT),
        (None, None, false) => (OF_PLACES, TOTAL_OF_PLACES),
        (None, Some(_), true) => (OF_TENANT, COUNT_SINCE_OF_TENANT),
        (None, Some(_), false) => (OF_PLACES, COUNT_SINCE_OF_PLACES),
    }
}
