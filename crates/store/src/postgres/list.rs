//! Lists of tasks.
//!
//! A page costs the same however many tasks there are: it is read from the end of an index,
//! one for each state, and the total is the sum of counts that every write keeps.
//!
//! Where all tasks are in one state, as those of most callers of an agent are once they have
//! ended, the index has them in order already, and sorting them would cost a sixth of the page. So
//! the store remembers which places were like that, and asks there for unsorted rows. If that is
//! no longer so, there are more rows than needed, and they are sorted here.

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};
use nuncio_tasks::{
    scope::{Name, Place, Scope},
    store::{Error, Filter, Listed, Loaded, Page, order_from},
};
use tokio_postgres::{Row, types::ToSql};

use super::{
    connection::Connection,
    error::Failure,
    place::Places,
    read::{found, with_entries},
    row::{self, OWN_COLUMNS, own_columns, place_of_task, state_number, want_of},
    text::quote,
};

/// How often reading begins anew when tasks are removed meanwhile.
const MOST_TRIES: usize = 4;

/// Under this number the whole tenant is counted.
const WHOLE_TENANT: i64 = 0;

/// The columns of a page, of `t` tasks. A snapshot is never newer than its task.
macro_rules! page_columns {
    () => {
        concat!(
            own_columns!(),
            ", t.snapshot, t.head, CASE WHEN $8 THEN t.history END, \
             CASE WHEN $9 THEN t.artifacts END"
        )
    };
}

/// Where the total stands in a row of a page.
const TOTAL: usize = OWN_COLUMNS + 4;

/// Where the number of states stands.
const STREAMS: usize = TOTAL + 1;

/// What is asked of `t` tasks beside their state.
macro_rules! in_filter {
    () => {
        "t.updated >= $4 AND (t.updated, t.id) < ($5, $6)"
    };
}

macro_rules! newest_first {
    () => {
        " ORDER BY t.updated DESC, t.id DESC LIMIT $7"
    };
}

/// The wanted states that a place has tasks in, as the counts say, with the total of all and with
/// how many of them there are.
macro_rules! streams {
    ($counts:expr) => {
        concat!(
            "(SELECT c.place, c.state, (sum(sum(c.tasks)) OVER ())::bigint AS total, \
             count(*) OVER () AS streams FROM ",
            $counts,
            " AND c.state = ANY($2::smallint[]) GROUP BY c.place, c.state \
             HAVING sum(c.tasks) > 0) stream"
        )
    };
}

/// Of each stream the newest. The total comes with them, because a statement of its own would take
/// a third as long as the page.
macro_rules! newest_of_each {
    ($counts:expr, $of:literal, $columns:literal) => {
        concat!(
            "SELECT ",
            page_columns!(),
            $columns,
            " FROM ",
            streams!($counts),
            " CROSS JOIN LATERAL (SELECT t.* FROM tasks t WHERE ",
            $of,
            " AND t.state = stream.state AND ",
            in_filter!(),
            newest_first!(),
            ") t"
        )
    };
}

/// Of the newest of each stream the newest.
macro_rules! newest_of {
    ($counts:expr, $of:literal) => {
        concat!(newest_of_each!($counts, $of, ", stream.total, stream.streams"), newest_first!())
    };
}

macro_rules! total_of {
    ($counts:expr) => {
        concat!("SELECT stream.total FROM ", streams!($counts), " LIMIT 1")
    };
}

/// The counts under one number.
macro_rules! counts_of_one {
    () => {
        "counts c WHERE c.tenant = $1 AND c.place = $3::bigint"
    };
}

/// The counts of all places with a name.
macro_rules! counts_of_places {
    ($name:literal) => {
        concat!(
            "places p CROSS JOIN LATERAL (SELECT * FROM counts c \
             WHERE c.tenant = p.tenant AND c.place = p.key OFFSET 0) c \
             WHERE p.tenant = $1 AND p.",
            $name,
            " = $3::text"
        )
    };
}

macro_rules! count_since_of_places {
    ($name:literal) => {
        concat!(
            "SELECT count(*) FROM places p JOIN tasks t ON t.place = p.key \
             AND t.state = ANY($2::smallint[]) AND t.updated >= $4 \
             WHERE p.tenant = $1 AND p.",
            $name,
            " = $3::text"
        )
    };
}

/// The tasks of a conversation, with bounds and an order that leave one index, of places that a
/// scope sees.
macro_rules! of_context {
    ($agent:literal, $caller:literal) => {
        concat!(
            "(SELECT * FROM tasks t WHERE t.tenant = $1 AND t.context >= $3 AND t.context <= $3 \
             ORDER BY t.tenant, t.context OFFSET 0) t CROSS JOIN ",
            place_of_task!(),
            " WHERE t.state = ANY($2::smallint[]) AND (",
            $agent,
            "::text IS NULL OR p.agent = ",
            $agent,
            ") AND (",
            $caller,
            "::text IS NULL OR p.caller = ",
            $caller,
            ")"
        )
    };
}

const OF_TENANT: Statements = Statements {
    page: newest_of!(counts_of_one!(), "t.tenant = $1"),
    unsorted: Some(newest_of_each!(counts_of_one!(), "t.tenant = $1", ", stream.total")),
    total: total_of!(counts_of_one!()),
    since: "SELECT count(*) FROM tasks t WHERE t.tenant = $1 AND $3::bigint = 0 \
        AND t.state = ANY($2::smallint[]) AND t.updated >= $4",
};

const OF_PLACE: Statements = Statements {
    page: newest_of!(counts_of_one!(), "t.place = $3"),
    unsorted: Some(newest_of_each!(counts_of_one!(), "t.place = $3", ", stream.total")),
    total: total_of!(counts_of_one!()),
    since: "SELECT count(*) FROM tasks t WHERE t.place = $3 AND $1::bigint IS NOT NULL \
        AND t.state = ANY($2::smallint[]) AND t.updated >= $4",
};

const OF_CALLER: Statements = Statements {
    page: newest_of!(counts_of_places!("caller"), "t.place = stream.place"),
    unsorted: None,
    total: total_of!(counts_of_places!("caller")),
    since: count_since_of_places!("caller"),
};

const OF_AGENT: Statements = Statements {
    page: newest_of!(counts_of_places!("agent"), "t.place = stream.place"),
    unsorted: None,
    total: total_of!(counts_of_places!("agent")),
    since: count_since_of_places!("agent"),
};

const PAGE_OF_CONTEXT: &str = concat!(
    "SELECT ",
    page_columns!(),
    " FROM ",
    of_context!("$10", "$11"),
    " AND ",
    in_filter!(),
    newest_first!()
);

const COUNT_OF_CONTEXT: &str =
    concat!("SELECT count(*) FROM ", of_context!("$5", "$6"), " AND t.updated >= $4");

/// What is asked of the tasks of some places.
struct Statements {
    /// A page, each row with the total of all that were ever updated, and with the number of states
    /// that there are any in.
    page: &'static str,
    /// The page, or as much for each state; without the number of states.
    unsorted: Option<&'static str>,
    /// The total alone, for a page with nothing on it.
    total: &'static str,
    /// How many were updated since a moment.
    since: &'static str,
}

/// What reads a page, on any connection.
pub(super) fn of(
    places: Arc<Places>,
    scope: Scope,
    filter: Filter,
    page: Page,
) -> impl for<'c> Fn(&'c Connection) -> BoxFuture<'c, Result<Listed, Failure>> {
    let question = Arc::new(Question { places, scope, filter, page });
    move |connection| {
        let question = Arc::clone(&question);
        async move { question.answer(connection).await }.boxed()
    }
}

struct Question {
    places: Arc<Places>,
    scope: Scope,
    filter: Filter,
    page: Page,
}

/// The tasks that a scope sees.
struct Source {
    statements: &'static Statements,
    tenant: i64,
    /// What they have in common beside the tenant.
    whose: Whose,
}

/// A statement for a page.
#[derive(Clone, Copy)]
enum Asked {
    Sorted(&'static str),
    /// Sorted, where unsorted would do if all tasks are in one state.
    Either(&'static str),
    Unsorted(&'static str),
}

impl Asked {
    fn sql(self) -> &'static str {
        match self {
            Self::Sorted(sql) | Self::Either(sql) | Self::Unsorted(sql) => sql,
        }
    }
}

enum Whose {
    Number(i64),
    Name(String),
}

impl Whose {
    fn parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Number(number) => number,
            Self::Name(name) => name,
        }
    }
}

impl Question {
    async fn answer(&self, connection: &Connection) -> Result<Listed, Failure> {
        let Some(source) = self.source(connection).await? else {
            return Ok(Listed { tasks: Vec::new(), total: 0, more: false });
        };
        let states: Vec<i16> = self.filter.wanted_states().map(state_number).collect();
        let context = self.filter.context.as_ref();
        let context = context.map(|context| quote(context.as_str()));
        let since = self.filter.updated_from.map_or(i64::MIN, order_from);
        // Every task is behind the start.
        let after = self.page.after.as_ref();
        let (after, id) = after.map_or((i64::MAX, ""), |after| (after.updated, after.id.as_str()));
        let id = quote(id);
        let most = row::count(self.page.size.saturating_add(1));
        let text =
            |name: &Option<Name>| name.as_ref().map(|name| quote(name.as_str()).into_owned());
        let (agent, caller) = (text(&self.scope.agent), text(&self.scope.caller));

        let whose: &(dyn ToSql + Sync) = match &context {
            Some(context) => context,
            None => source.whose.parameter(),
        };
        let of_total: [&(dyn ToSql + Sync); 3] = [&source.tenant, &states, whose];
        let mut of_count = of_total.to_vec();
        of_count.push(&since);
        let mut of_page = of_count.clone();
        of_page.extend([&after as &(dyn ToSql + Sync), &id, &most]);
        of_page.extend([&self.page.history as &(dyn ToSql + Sync), &self.page.artifacts]);
        let (page, count) = if context.is_some() {
            for parameters in [&mut of_count, &mut of_page] {
                parameters.extend([&agent as &(dyn ToSql + Sync), &caller]);
            }
            (Asked::Sorted(PAGE_OF_CONTEXT), Some(COUNT_OF_CONTEXT))
        } else {
            let since = self.filter.updated_from.map(|_| source.statements.since);
            (self.asked(&source), since)
        };

        for _ in 0..MOST_TRIES {
            // Both go out at once: the second does not wait for the answer to the first.
            let counted = async {
                let Some(count) = count else { return Ok(None) };
                connection.query(count, &of_count).await.map(Some)
            };
            let (mut rows, counted) =
                tokio::try_join!(connection.query(page.sql(), &of_page), counted)?;
            self.learn(&source, page, &mut rows);
            let total = match (counted, rows.first()) {
                (Some(counted), _) => counted.first().map_or(0, |row| row.get(0)),
                (None, Some(row)) => row.get(TOTAL),
                (None, None) => {
                    let total = connection.query(source.statements.total, &of_total).await?;
                    total.first().map_or(0, |row| row.get(0))
                }
            };
            let more = rows.len() > self.page.size;
            let rows = &rows[..rows.len().min(self.page.size)];
            let names = self.places.names(connection, rows.iter().map(row::place)).await?;
            let want = want_of(&self.page);
            let mut tasks: Vec<Loaded> = Vec::with_capacity(rows.len());
            for row in rows {
                tasks.push(found(row, want, names.of(row::place(row))?)?);
            }
            if let Some(tasks) = with_entries(connection, tasks).await? {
                return Ok(Listed { tasks, total: row::unsigned(total), more });
            }
        }
        Err(Error::Spoilt("a log has a gap".to_owned()).into())
    }

    /// Chooses the statement for a page.
    fn asked(&self, source: &Source) -> Asked {
        let Statements { page, unsorted, .. } = source.statements;
        match (unsorted, &source.whose) {
            (Some(unsorted), Whose::Number(number)) if self.filter.states.is_empty() => {
                if self.places.is_uniform((source.tenant, *number)) {
                    Asked::Unsorted(unsorted)
                } else {
                    Asked::Either(page)
                }
            }
            _ => Asked::Sorted(page),
        }
    }

    /// Puts rows in order that have come without, and remembers what to ask for the next time.
    fn learn(&self, source: &Source, asked: Asked, rows: &mut [Row]) {
        let Whose::Number(number) = source.whose else { return };
        let source = (source.tenant, number);
        match (asked, rows.first()) {
            (Asked::Sorted(_), _) | (_, None) => {}
            (Asked::Either(_), Some(row)) => {
                if row.get::<_, i64>(STREAMS) == 1 {
                    self.places.set_uniform(source, true);
                }
            }
            (Asked::Unsorted(_), Some(row)) => {
                let state = row::state_column(row);
                if rows.iter().any(|row| row::state_column(row) != state) {
                    self.places.set_uniform(source, false);
                    rows.sort_by(|one, other| {
                        row::order_columns(other).cmp(&row::order_columns(one))
                    });
                }
            }
        }
    }

    /// Finds out what to ask for; nothing if nothing was ever done there.
    async fn source(&self, connection: &Connection) -> Result<Option<Source>, Failure> {
        let Scope { tenant, agent, caller } = &self.scope;
        if let (Some(agent), Some(caller)) = (agent, caller) {
            let place =
                Place { tenant: tenant.clone(), agent: agent.clone(), caller: caller.clone() };
            let found = self.places.find(connection, &place).await?;
            return Ok(found.map(|key| Source {
                statements: &OF_PLACE,
                tenant: key.tenant,
                whose: Whose::Number(key.place),
            }));
        }
        let Some(tenant) = self.places.tenant(connection, tenant).await? else { return Ok(None) };
        let name = |name: &Name| Whose::Name(quote(name.as_str()).into_owned());
        let (statements, whose) = match (agent, caller) {
            (None, Some(caller)) => (&OF_CALLER, name(caller)),
            (Some(agent), _) => (&OF_AGENT, name(agent)),
            (None, None) => (&OF_TENANT, Whose::Number(WHOLE_TENANT)),
        };
        Ok(Some(Source { statements, tenant, whose }))
    }
}
