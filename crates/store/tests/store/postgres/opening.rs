//! Which databases are taken, and how their tables come to be.

use nuncio_protocol::ids::TaskId;
use nuncio_store::postgres::{Error, Options, PostgresStore};
use nuncio_tasks::{
    log::{Entry, Kind, Seq},
    scope::{Name, Place, Scope},
    store::{Limit, Store as _, Want},
};
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
    assert_eq!(versions.split_whitespace().collect::<Vec<_>>(), ["1", "2", "3", "4", "5"]);
}

/// R26: a program goes on while a newer one has added to the tables.
#[tokio::test]
async fn newer_tables_are_taken_if_they_say_so() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    open(&database).await.expect("the store opens");
    database.query("INSERT INTO nuncio.migrations (version, min_program) VALUES (6, 1)").await;
    let store = open(&database).await.expect("it is compatible");
    new(&store).await;
    database.query("INSERT INTO nuncio.migrations (version, min_program) VALUES (7, 6)").await;
    let opened = open(&database).await;
    let Err(Error::NewerTables { found: 7, needed: 6, known: 5 }) = opened else {
        panic!("expected newer tables, found {opened:?}")
    };
}

/// What the tables of the first version had is read from those of the newest: entries one by
/// one, with and without a message, and snapshots.
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
             INSERT INTO tenants (name) VALUES ('acme'); \
             INSERT INTO places (tenant, caller, agent) VALUES (1, 'ann', 'echo'); \
             INSERT INTO counts VALUES (1, 1, 3, 0, 1), (1, 0, 3, 0, 1); \
             INSERT INTO tasks (tenant, place, id, context, state, updated, updated_nanos, seq, \
                bytes, epoch, lease, ended_at) \
             VALUES (1, 1, 'old', 'talk', 3, 0, 0, 3, 30, 1, 0, clock_timestamp()); \
             INSERT INTO events VALUES (1, 1, 1, '{{\"a\":1}}', NULL), \
                (1, 2, 3, '{{\"é\":2}}', '{{\"m\":\"ü\"}}'), (1, 3, 2, '{{}}', ''); \
             INSERT INTO snapshots VALUES (1, 3, '{{\"h\":1}}', '[1]', '[\"é\"]')"
        ))
        .await;
    let store = open(&database).await.expect("the store opens");
    check_old(&store).await;
    new(&store).await;
    let found = database
        .query(
            "SELECT (SELECT count(*) FROM nuncio.tenants), (SELECT version FROM \
             nuncio.hub_version), (SELECT max(min_program) FROM nuncio.migrations)",
        )
        .await;
    let numbers = found.split(|character: char| !character.is_ascii_digit());
    assert_eq!(numbers.filter(|part| !part.is_empty()).collect::<Vec<_>>(), ["1", "0", "5"]);
}

async fn check_old(store: &PostgresStore) {
    let name = |text: &str| Name::parse(text).expect("a name");
    let place = Place { tenant: name("acme"), agent: name("echo"), caller: name("ann") };
    let id = TaskId::parse("old").expect("an identifier");
    let loaded = store.load(&Scope::from(&place), &id, Want::ALL).await.expect("it reads");
    let loaded = loaded.expect("the task is there");
    let snapshot = loaded.snapshot.expect("there is a snapshot");
    assert_eq!(snapshot.seq, Seq(3));
    let texts = [snapshot.task, snapshot.history, snapshot.artifacts];
    assert_eq!(texts, [&br#"{"h":1}"#[..], b"[1]", "[\"é\"]".as_bytes()]);
    let limit = Limit { entries: 10, bytes: 1000 };
    let tail = store.tail(loaded.head.reference, Seq::START, limit).await.expect("it reads");
    let entries: Vec<_> = tail
        .entries
        .iter()
        .map(|Entry { seq, record }| {
            let message = record.message.as_ref().map(|message| &message.json()[..]);
            (seq.0, record.kind, &record.event.json()[..], message)
        })
        .collect();
    let expected = [
        (1, Kind::Opened, &br#"{"a":1}"#[..], None),
        (2, Kind::Input, "{\"é\":2}".as_bytes(), Some("{\"m\":\"ü\"}".as_bytes())),
        (3, Kind::Output, b"{}", Some(&b""[..])),
    ];
    assert_eq!(entries, expected);
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
