//! Records, and the version they have.

use nuncio_hub::store::{Changes, Kind, Record, Version};
use tokio_postgres::Statement;

use super::gone;
use crate::postgres::{
    connection::Connection,
    error::Failure,
    row::{signed, unsigned},
    text::{quote, unquote},
};

/// One statement, so that version and records are of the same moment.
const CHANGES: &str = "SELECT v.version, r.kind, r.key, r.body FROM hub_version v \
    LEFT JOIN hub_records r ON r.version > $1";

const LOCK: &str = "SELECT version, event FROM hub_version FOR UPDATE";

const PUT: &str = "INSERT INTO hub_records (kind, key, body, version) \
    SELECT u.kind, u.key, u.body, $4 FROM unnest($1::text[], $2::text[], $3::text[]) \
    u (kind, key, body) ON CONFLICT (kind, key) \
    DO UPDATE SET version = excluded.version, body = excluded.body";

const GO_ON: &str = "UPDATE hub_version SET version = $1, event = $2";

pub(super) async fn changes(connection: &Connection, after: Version) -> Result<Changes, Failure> {
    let rows = connection.query(CHANGES, &[&signed(after.0)]).await?;
    let version = rows.first().map(|row| unsigned(row.get(0)));
    let version = version.ok_or_else(gone)?;
    let record = |row: &tokio_postgres::Row| {
        // Without any there is one row, without a kind. A kind that only a newer program knows
        // is none of our business.
        let kind = Kind::from_name(row.get::<_, Option<&str>>(1)?)?;
        let body: Option<&str> = row.get(3);
        let body = body.map(|body| unquote(body).into_owned());
        Some(Record { kind, key: unquote(row.get(2)).into_owned(), body })
    };
    Ok(Changes { version: Version(version), records: rows.iter().filter_map(record).collect() })
}

/// What a commit does with records and the version.
pub(super) struct Statements {
    lock: Statement,
    put: Statement,
    go_on: Statement,
}

impl Statements {
    pub(super) async fn prepare(connection: &Connection) -> Result<Self, Failure> {
        let [lock, put, go_on] = connection.prepare_all([LOCK, PUT, GO_ON]).await?;
        Ok(Self { lock, put, go_on })
    }

    /// Returns the version and the number of the last event, which nobody else can change until
    /// the transaction ends.
    pub(super) async fn lock(&self, connection: &Connection) -> Result<(Version, u64), Failure> {
        let rows = connection.rows(&self.lock, &[]).await?;
        let row = rows.first().ok_or_else(gone)?;
        Ok((Version(unsigned(row.get(0))), unsigned(row.get(1))))
    }

    pub(super) async fn put(
        &self,
        connection: &Connection,
        version: Version,
        records: &[Record],
    ) -> Result<(), Failure> {
        if records.is_empty() {
            return Ok(());
        }
        let kinds: Vec<&str> = records.iter().map(|record| record.kind.as_str()).collect();
        let keys: Vec<_> = records.iter().map(|record| quote(&record.key)).collect();
        let bodies = records.iter().map(|record| record.body.as_deref().map(quote));
        let bodies: Vec<_> = bodies.collect();
        connection.run(&self.put, &[&kinds, &keys, &bodies, &signed(version.0)]).await?;
        Ok(())
    }

    /// Goes on to a version and an event.
    pub(super) async fn go_on(
        &self,
        connection: &Connection,
        version: Version,
        last_event: u64,
    ) -> Result<(), Failure> {
        connection.run(&self.go_on, &[&signed(version.0), &signed(last_event)]).await?;
        Ok(())
    }
}
