//! How connections are set up.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

/// Nobody but us writes, so this matters only to tools that look at a running database.
const BUSY: Duration = Duration::from_secs(5);

/// Kilobytes of pages that the writer keeps in memory.
const WRITER_CACHE: i64 = 8 << 10;

/// Kilobytes of pages that each reader keeps in memory. The kernel keeps the rest.
const READER_CACHE: i64 = 2 << 10;

/// More than there are different statements.
const STATEMENTS: usize = 96;

/// Opens the one connection that writes.
pub(super) fn writer(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = open(path, flags, WRITER_CACHE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // On macOS a plain fsync stops at the disk's own memory. Elsewhere these do nothing.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    // SQLite keeps to itself what goes wrong in a checkpoint that it makes on its own, a failed
    // fsync included. The writer makes them instead.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Every operation has a savepoint. What it keeps for undoing would go to a file, and take
    // more writes than the log.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

/// Opens a connection that reads.
pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    open(path, flags, READER_CACHE)
}

fn open(path: &Path, flags: OpenFlags, cache: i64) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Without this, SQLite makes a new plan whenever a value is bound that might let it use a
    // partial index, which takes ten times as long as the statement.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // For the same reason as above: the last one to close would make a checkpoint, unheard.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "cache_size", -cache)?;
    // Mapped pages would count as ours, a million tasks' worth of them.
    connection.pragma_update(None, "mmap_size", 0)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::sqlite::{migrations, row::select_tasks};

    #[test]
    fn a_statement_is_planned_once_for_all_values() {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = writer(&directory.path().join("test.db")).unwrap();
        migrations::migrate(&mut connection).unwrap();
        let mut statement = connection.prepare(select_tasks!("WHERE t.key = ?1")).unwrap();
        for key in 0..10 {
            assert!(!statement.exists((key,)).unwrap());
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }

    #[test]
    fn a_commit_waits_for_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let connection = writer(&directory.path().join("test.db")).unwrap();
        let number = |name: &str| -> i64 {
            connection.pragma_query_value(None, name, |row| row.get(0)).unwrap()
        };
        let mode: String =
            connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
        assert_eq!(number("synchronous"), 2);
        assert_eq!(number("foreign_keys"), 1);
        assert_eq!(number("wal_autocheckpoint"), 0);
    }
}
