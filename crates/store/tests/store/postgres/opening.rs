//! Which databases are taken, and how their tables come to be.

use nuncio_store::postgres::{Error, Options, PostgresStore};
use nuncio_tasks::{scope::Scope, store::Store as _};
use nuncio_testkit::services::{self, Postgres, postgres::Database};

use crate::postgres::story::new;

#[track_caller]
fn check_unsafe(opened: &Result<PostgresStore, Error>, names: &[&str]) {
    let Err(error @ Error::Unsafe(settings)) = opened else {
        panic!("expected unsafe settings, found {opened:?}")
    };
    let found: Vec<&str> = settings.iter().map(|setting| setting.name).collect();
    assert_eq!(found, names);
    for setting in settings {
        assert_eq!(setting.value, "off");
        let text = error.to_string();
        assert!(text.contains(setting.name) && text.contains(setting.remedy), "{text}");
    }
}

async fn open(database: &Database) -> Result<PostgresStore, Error> {
    PostgresStore::open(&Options::new(database.url())).await
}

#[tokio::test]
async fn a_database_that_could_lose_commits_is_refused() {
    for setting in ["fsync", "full_page_writes", "synchronous_commit"] {
        let Some(postgres) = Postgres::start_with(&[(setting, "off")]).await else { return };
        check_unsafe(&open(&postgres.database().await).await, &[setting]);
    }
}

/// Also if only the role or the database has it off, and all of them are named.
#[tokio::test]
async fn every_unsafe_setting_is_named() {
    let settings = [("fsync", "off"), ("full_page_writes", "off")];
    let Some(postgres) = Postgres::start_with(&settings).await else { return };
    let database = postgres.database().await;
    database
        .query(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', \
             current_database()); END $$",
        )
        .await;
    check_unsafe(&open(&database).await, &["fsync", "synchronous_commit", "full_page_writes"]);
}

#[tokio::test]
async fn a_database_that_does_not_write_is_refused() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    database
        .query(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', \
             current_database()); END $$",
        )
        .await;
    let opened = open(&database).await;
    assert!(matches!(opened, Err(Error::ReadOnly { .. })), "found {opened:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_make_the_tables_at_once() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let openers: Vec<_> = (0..8)
        .map(|_| {
            let options = Options::new(database.url());
            tokio::spawn(async move { PostgresStore::open(&options).await })
        })
        .collect();
    for opener in openers {
        let store = opener.await.expect("the opener is done").expect("the store opens");
        new(&store).await;
    }
    let versions = database.query("SELECT version FROM nuncio.migrations ORDER BY version").await;
    assert_eq!(versions.split_whitespace().collect::<Vec<_>>(), ["1", "2", "3", "4"]);
}

/// R26: a program goes on while a newer one has added to the tables.
#[tokio::test]
async fn newer_tables_are_taken_if_they_say_so() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    open(&database).await.expect("the store opens");
    database.query("INSERT INTO nuncio.migrations (version, min_program) VALUES (5, 1)").await;
    let store = open(&database).await.expect("it is compatible");
    new(&store).await;
    database.query("INSERT INTO nuncio.migrations (version, min_program) VALUES (6, 5)").await;
    let opened = open(&database).await;
    let Err(Error::NewerTables { found: 6, needed: 5, known: 4 }) = opened else {
        panic!("expected newer tables, found {opened:?}")
    };
}

/// R26: a program of version 1 goes on with tables of later versions, which only add.
#[tokio::test]
async fn tables_of_the_first_version_get_what_is_missing_and_keep_what_they_have() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let first = include_str!("../../../migrations/postgres/0001_tasks.sql");
    database
        .query(&format!(
            "CREATE SCHEMA nuncio; SET search_path TO nuncio; {first}; \
             CREATE TABLE migrations (version integer PRIMARY KEY, min_program integer NOT NULL, \
             at timestamptz NOT NULL DEFAULT clock_timestamp()); \
             INSERT INTO migrations (version, min_program) VALUES (1, 1); \
             INSERT INTO tenants (name) VALUES ('acme')"
        ))
        .await;
    let store = open(&database).await.expect("the store opens");
    new(&store).await;
    let found = database
        .query(
            "SELECT (SELECT count(*) FROM nuncio.tenants), (SELECT version FROM \
             nuncio.hub_version), (SELECT max(min_program) FROM nuncio.migrations)",
        )
        .await;
    let numbers = found.split(|character: char| !character.is_ascii_digit());
    assert_eq!(numbers.filter(|part| !part.is_empty()).collect::<Vec<_>>(), ["1", "0", "1"]);
}

#[tokio::test]
async fn schemas_of_one_database_have_nothing_in_common() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let open = async |schema: &str| {
        PostgresStore::open(&Options::new(database.url()).schema(schema)).await
    };
    let first = open("first").await.expect("the store opens");
    let second = open("second").await.expect("the store opens");
    let head = new(&first).await;
    let scope = Scope::from(&head.place);
    assert_eq!(second.find(&scope, &head.id).await.expect("answered"), None);
    for name in ["", "Upper", "1st", "a-b", "a\"b", &"a".repeat(41)] {
        assert!(matches!(open(name).await, Err(Error::Schema(_))), "{name}");
    }
}

#[tokio::test]
async fn a_password_is_not_shown() {
    let options = Options::new("postgres://nuncio:secret@localhost/nuncio");
    assert!(!format!("{options:?}").contains("secret"));
    let opened = PostgresStore::open(&Options::new("postgres://nuncio:secret@[/nuncio")).await;
    let Err(error) = opened else { panic!("expected an error, found {opened:?}") };
    assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
}
