//! Brings a database to the form this program knows.

use rusqlite::{Connection, TransactionBehavior};

use super::OpenError;

/// The steps, oldest first. A step that was released is never changed; the next one carries over
/// what is there, so that nothing is lost on the way.
const STEPS: &[(&str, &str)] = &[
    ("tasks", include_str!("../../migrations/sqlite/0001_tasks.sql")),
    ("hub", include_str!("../../migrations/sqlite/0002_hub.sql")),
    ("notes", include_str!("../../migrations/sqlite/0003_notes.sql")),
    ("budgets", include_str!("../../migrations/sqlite/0004_budgets.sql")),
    ("pieces", include_str!("../../migrations/sqlite/0005_pieces.sql")),
    ("short snapshots", include_str!("../../migrations/sqlite/0006_short_snapshots.sql")),
];

/// Takes the steps that are missing, all or none.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), OpenError> {
    take(connection, STEPS)
}

fn take(connection: &mut Connection, steps: &[(&str, &str)]) -> Result<(), OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS migrations (
             version INTEGER PRIMARY KEY,
             name TEXT NOT NULL,
             applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
         ) STRICT",
    )?;
    let found = version(&transaction)?;
    check_version(found)?;
    for (number, (name, sql)) in (1..).zip(steps).skip(found) {
        transaction.execute_batch(sql)?;
        transaction
            .execute("INSERT INTO migrations (version, name) VALUES (?1, ?2)", (number, name))?;
    }
    transaction.commit()?;
    Ok(())
}

/// Refuses a database of a newer program: it may mean things that this one does not know.
pub(super) fn check(connection: &Connection) -> Result<(), OpenError> {
    check_version(version(connection)?)
}

fn check_version(found: usize) -> Result<(), OpenError> {
    if found > STEPS.len() {
        return Err(OpenError::Newer { found, known: STEPS.len() });
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<usize, OpenError> {
    let version: i64 =
        connection
            .query_row("SELECT coalesce(max(version), 0) FROM migrations", (), |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use nuncio_tasks::{
        log::{Entry, Kind},
        scope::{Name, Place},
        store::{TaskRef, Want},
    };

    use super::*;
    use crate::sqlite::{clock::Moment, read, row};

    fn migrated() -> Connection {
        let mut connection = Connection::open_in_memory().expect("memory can be opened");
        migrate(&mut connection).expect("an empty database can be migrated");
        connection
    }

    #[test]
    fn steps_are_taken_once() {
        let mut connection = migrated();
        connection.execute("UPDATE runs SET latest = 7", ()).unwrap();
        migrate(&mut connection).unwrap();
        let latest: i64 =
            connection.query_row("SELECT latest FROM runs", (), |row| row.get(0)).unwrap();
        assert_eq!(latest, 7);
        assert_eq!(version(&connection).unwrap(), STEPS.len());
    }

    /// Every form that a database was ever released in comes to the newest one.
    #[test]
    fn an_older_database_takes_the_missing_steps_and_keeps_what_it_has() {
        for found in 1..STEPS.len() {
            let mut connection = Connection::open_in_memory().unwrap();
            take(&mut connection, &STEPS[..found]).unwrap();
            connection.execute("UPDATE runs SET latest = 7", ()).unwrap();
            migrate(&mut connection).unwrap();
            let latest: i64 =
                connection.query_row("SELECT latest FROM runs", (), |row| row.get(0)).unwrap();
            assert_eq!(latest, 7);
            assert_eq!(version(&connection).unwrap(), STEPS.len());
            assert_eq!(schema(&connection), schema(&migrated()));
        }
    }

    /// Entries that were rows of their own are read as before.
    #[test]
    fn entries_of_an_older_database_are_read_as_before() {
        let mut connection = Connection::open_in_memory().unwrap();
        take(&mut connection, &STEPS[..4]).unwrap();
        connection
            .execute_batch(
                "INSERT INTO tenants (name) VALUES ('acme'); \
                 INSERT INTO places (tenant, caller, agent) VALUES (1, 'ann', 'echo'); \
                 INSERT INTO tasks (id, context, tenant, place, state, updated, updated_nanos, \
                    seq, bytes, epoch, lease, lease_run, lease_until) \
                 VALUES ('old', 'talk', 1, 1, 2, 0, 0, 3, 30, 1, 0, 1, 0); \
                 INSERT INTO events (task, seq, kind, event, message) \
                 VALUES (1, 1, 1, '{\"a\":1}', NULL), (1, 2, 3, '{\"é\":2}', '{\"m\":\"ü\"}'), \
                    (1, 3, 2, '{}', '')",
            )
            .unwrap();
        migrate(&mut connection).unwrap();
        let mut statement =
            connection.prepare("SELECT seq, body FROM pieces WHERE task = 1 ORDER BY seq").unwrap();
        let mut rows = statement.query(()).unwrap();
        let mut found = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            for Entry { seq, record } in row::entries(row).unwrap() {
                let message = record.message.map(|message| message.json().to_vec());
                found.push((seq.0, record.kind, record.event.json().to_vec(), message));
            }
        }
        let text = |text: &str| text.as_bytes().to_vec();
        let expected = [
            (1, Kind::Opened, text("{\"a\":1}"), None),
            (2, Kind::Input, text("{\"é\":2}"), Some(text("{\"m\":\"ü\"}"))),
            (3, Kind::Output, text("{}"), Some(text(""))),
        ];
        assert_eq!(found, expected);
    }

    /// Snapshots that stand apart, as all did, are read as before.
    #[test]
    fn snapshots_of_an_older_database_are_read_as_before() {
        let mut connection = Connection::open_in_memory().unwrap();
        take(&mut connection, &STEPS[..5]).unwrap();
        connection
            .execute_batch(
                "INSERT INTO tenants (name) VALUES ('acme'); \
                 INSERT INTO places (tenant, caller, agent) VALUES (1, 'ann', 'echo'); \
                 INSERT INTO tasks (id, context, tenant, place, state, updated, updated_nanos, \
                    seq, bytes, epoch, lease, lease_run, lease_until) \
                 VALUES ('old', 'talk', 1, 1, 3, 0, 0, 4, 30, 1, 0, 1, 0); \
                 INSERT INTO snapshots (key, seq, task, history, artifacts) \
                 VALUES (1, 4, '{\"é\":1}', '[1]', '[2]')",
            )
            .unwrap();
        migrate(&mut connection).unwrap();
        let name = |text: &str| Name::parse(text).unwrap();
        let place = Place { tenant: name("acme"), agent: name("echo"), caller: name("ann") };
        let now = Moment { run: 1, elapsed: 0, wall: 0 };
        let found =
            read::load(&connection, TaskRef(1), place, Want::ALL, &now, u64::MAX).unwrap().unwrap();
        let found = found.whole().expect("it is short").snapshot.expect("it is there");
        let texts = [&found.task[..], &found.history[..], &found.artifacts[..]];
        assert_eq!(found.seq.0, 4);
        assert_eq!(texts, ["{\"é\":1}".as_bytes(), b"[1]", b"[2]"]);
    }

    fn schema(connection: &Connection) -> Vec<String> {
        let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
        let mut statement = connection.prepare(sql).expect("the schema can be read");
        let tables = statement.query_map((), |row| row.get(0)).expect("it reads");
        tables.collect::<Result<_, _>>().expect("they are texts")
    }

    #[test]
    fn a_newer_database_is_refused_and_left_alone() {
        let mut connection = migrated();
        connection
            .execute("INSERT INTO migrations (version, name) VALUES (999, 'from later')", ())
            .unwrap();
        let error = migrate(&mut connection).unwrap_err();
        assert!(matches!(error, OpenError::Newer { found: 999, .. }), "{error}");
        assert_eq!(version(&connection).unwrap(), 999);
    }
}
