//! Brings a database to the form this program knows.

use rusqlite::{Connection, TransactionBehavior};

use super::OpenError;

/// The steps, oldest first. A step that was released is never changed; the next one only adds,
/// so that nothing is lost on the way.
const STEPS: &[(&str, &str)] = &[
    ("tasks", include_str!("../../migrations/sqlite/0001_tasks.sql")),
    ("hub", include_str!("../../migrations/sqlite/0002_hub.sql")),
    ("notes", include_str!("../../migrations/sqlite/0003_notes.sql")),
    ("budgets", include_str!("../../migrations/sqlite/0004_budgets.sql")),
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
    use super::*;

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
