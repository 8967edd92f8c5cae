//! Whether a database keeps what it has promised.

use super::{
    connection::Connection,
    error::{Error, Failure, UnsafeSetting},
};

/// The oldest server we know to work with.
const OLDEST: i32 = 130_000;

/// What must not be off, and how to switch it on.
const NEEDED: [(&str, &str); 3] = [
    ("fsync", "set `fsync = on` in postgresql.conf and restart the server"),
    ("synchronous_commit", "set it to `on` for the server, the database and the role"),
    ("full_page_writes", "set `full_page_writes = on` in postgresql.conf and reload"),
];

const QUESTION: &str = "SELECT current_setting('server_version_num')::int, \
    current_setting('server_version'), pg_is_in_recovery(), \
    current_setting('transaction_read_only'), current_setting('fsync'), \
    current_setting('synchronous_commit'), current_setting('full_page_writes')";

/// Refuses a server that is too old, does not write, or could lose what it has committed.
///
/// Asked for every connection that writes: another server may stand behind the same address
/// after a restart.
pub(super) async fn check(connection: &Connection) -> Result<(), Error> {
    let row = connection.client().query_typed_one(QUESTION, &[]).await.map_err(Error::Database)?;
    let version: i32 = row.get(0);
    if version < OLDEST {
        return Err(Error::TooOld { found: row.get(1) });
    }
    if row.get(2) {
        return Err(Error::ReadOnly { why: "it is in recovery" });
    }
    if row.get::<_, &str>(3) == "on" {
        return Err(Error::ReadOnly { why: "transactions are read-only" });
    }
    let unsafe_ones: Vec<UnsafeSetting> = NEEDED
        .iter()
        .enumerate()
        .filter(|(place, _)| row.get::<_, &str>(place + 4) == "off")
        .map(|(_, &(name, remedy))| UnsafeSetting { name, value: "off".to_owned(), remedy })
        .collect();
    if unsafe_ones.is_empty() { Ok(()) } else { Err(Error::Unsafe(unsafe_ones)) }
}

impl From<Error> for Failure {
    /// What made a database unfit while it was in use is for its operator to know.
    fn from(error: Error) -> Self {
        match error {
            Error::Database(error) => Self::Database(error),
            other => {
                tracing::error!(error = %other, "the database is not fit for use any more");
                Self::Refused(nuncio_tasks::store::Error::Unavailable(other.into()))
            }
        }
    }
}
