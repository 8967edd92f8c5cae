//! The versions of the tables.
//!
//! Programs of several versions may run on one database while they are replaced one by one.
//! A migration therefore says which version a program must know to go on using the tables, and
//! only adds if that is an older one.

use std::time::Duration;

use tokio::time::timeout;

use super::{
    connection::{Address, Connection},
    error::Error,
};

/// One step from the tables of one version to those of the next.
struct Migration {
    /// The version that a program must know to use the tables afterwards.
    min_program: i32,
    sql: &'static str,
}

/// In order; the first leads to version 1.
const MIGRATIONS: [Migration; 5] = [
    Migration { min_program: 1, sql: include_str!("../../migrations/postgres/0001_tasks.sql") },
    Migration { min_program: 1, sql: include_str!("../../migrations/postgres/0002_hub.sql") },
    Migration { min_program: 1, sql: include_str!("../../migrations/postgres/0003_notes.sql") },
    Migration { min_program: 1, sql: include_str!("../../migrations/postgres/0004_budgets.sql") },
    Migration { min_program: 5, sql: include_str!("../../migrations/postgres/0005_pieces.sql") },
];

/// How long to wait for others who migrate, and for the work itself: tables may be large.
const PATIENCE: Duration = Duration::from_secs(600);

/// Brings the tables to the version of this program. Others may do the same at once.
pub(super) async fn run(connection: &Connection, address: &Address) -> Result<(), Error> {
    timeout(PATIENCE, migrate(connection, address)).await.unwrap_or(Err(Error::TooSlow))
}

async fn migrate(connection: &Connection, address: &Address) -> Result<(), Error> {
    let client = connection.client();
    let schema = address.schema();
    let found = version(connection, schema).await?;
    if let Some(found) = found.filter(|found| found.version >= known()) {
        return found.check();
    }
    // The lock ends with the transaction, however that ends.
    let begin = format!(
        "SET lock_timeout = 0; SET statement_timeout = 0; \
         SET idle_in_transaction_session_timeout = 0; BEGIN; \
         SELECT pg_advisory_xact_lock(hashtext('nuncio migrations'), hashtext('{schema}')); \
         CREATE SCHEMA IF NOT EXISTS {schema}; SET LOCAL search_path TO {schema}; \
         CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY, \
         min_program integer NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())"
    );
    let failed = |version| move |source| Error::Migration { version, source };
    client.batch_execute(&begin).await.map_err(failed(0))?;
    let found = version(connection, schema).await?.map_or(0, |found| found.version);
    for (migration, version) in MIGRATIONS.iter().zip(1..).filter(|(_, version)| *version > found) {
        client.batch_execute(migration.sql).await.map_err(failed(version))?;
        let insert = "INSERT INTO migrations (version, min_program) VALUES ($1, $2)";
        let inserted = client.execute(insert, &[&version, &migration.min_program]).await;
        inserted.map_err(failed(version))?;
    }
    client.batch_execute("COMMIT").await.map_err(failed(known()))?;
    match version(connection, schema).await? {
        Some(found) => found.check(),
        None => Ok(()),
    }
}

/// The version of the tables, and the one that a program must know to use them.
struct Found {
    version: i32,
    min_program: i32,
}

impl Found {
    fn check(&self) -> Result<(), Error> {
        if self.min_program <= known() {
            return Ok(());
        }
        Err(Error::NewerTables { found: self.version, needed: self.min_program, known: known() })
    }
}

async fn version(connection: &Connection, schema: &str) -> Result<Option<Found>, Error> {
    let client = connection.client();
    let table = format!("{schema}.migrations");
    let there = client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&table]).await;
    if !there.map_err(Error::Database)?.get::<_, bool>(0) {
        return Ok(None);
    }
    let newest = format!(
        "SELECT version, max(min_program) OVER () FROM {table} ORDER BY version DESC LIMIT 1"
    );
    let row = client.query_opt(&newest, &[]).await.map_err(Error::Database)?;
    Ok(row.map(|row| Found { version: row.get(0), min_program: row.get(1) }))
}

/// The version that this program knows.
const fn known() -> i32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a few")]
    {
        MIGRATIONS.len() as i32
    }
}
