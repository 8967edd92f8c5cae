//! Records, and the version they have.

use std::convert::Infallible;

use nuncio_hub::store::{Changes, Kind, Record, Version};
use rusqlite::{Connection, OptionalExtension as _};

use crate::sqlite::{
    fault::Fault,
    row::{integer, natural, parse},
};

pub(super) fn version(connection: &Connection) -> Result<Version, Fault> {
    let mut statement = connection.prepare_cached("SELECT version FROM hub_state")?;
    let mut rows = statement.query(())?;
    let row = rows.next()?.ok_or_else(|| Fault::spoilt("the version of the hub is gone"))?;
    Ok(Version(natural(row, 0)?))
}

/// Reads what changed behind a version, and the version, in one state of the database.
pub(super) fn changes(connection: &Connection, after: Version) -> Result<Changes, Fault> {
    let version = version(connection)?;
    let mut statement =
        connection.prepare_cached("SELECT kind, key, body FROM hub_records WHERE version > ?1")?;
    let mut rows = statement.query((integer(after.0),))?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let kind = parse(row, 0, |name| Ok::<_, Infallible>(Kind::from_name(name)));
        // A kind that only a newer program knows is none of our business.
        if let Some(kind) = kind? {
            records.push(Record { kind, key: row.get(1)?, body: row.get(2)? });
        }
    }
    Ok(Changes { version, records })
}

/// Goes on to the next version, unless it is not the one behind what was seen.
pub(super) fn next_version(
    connection: &Connection,
    seen: Version,
) -> Result<Option<Version>, Fault> {
    let next = connection
        .prepare_cached(
            "UPDATE hub_state SET version = version + 1 WHERE version = ?1 RETURNING version",
        )?
        .query_row((integer(seen.0),), |row| row.get(0))
        .optional()?;
    let next = next.map(|next: i64| u64::try_from(next).map(Version));
    next.transpose().map_err(|_| Fault::spoilt("the version of the hub is negative"))
}

pub(super) fn put(
    connection: &Connection,
    version: Version,
    records: &[Record],
) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO hub_records (kind, key, version, body) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (kind, key) DO UPDATE SET version = excluded.version, body = excluded.body",
    )?;
    for Record { kind, key, body } in records {
        statement.execute((kind.as_str(), key, integer(version.0), body))?;
    }
    Ok(())
}
