//! The audit trail.

use nuncio_hub::{audit::Link, store::AuditLine};
use rusqlite::{Connection, Row};

use crate::sqlite::{
    fault::Fault,
    row::{integer, natural},
};

/// Appends lines, each tied to the one before it.
pub(super) fn append(connection: &Connection, lines: &[String]) -> Result<(), Fault> {
    if lines.is_empty() {
        return Ok(());
    }
    let (mut seq, mut link) = end(connection)?;
    let mut statement =
        connection.prepare_cached("INSERT INTO hub_audit (seq, link, body) VALUES (?1, ?2, ?3)")?;
    for body in lines {
        (seq, link) = (seq + 1, link.after(body));
        statement.execute((integer(seq), link.as_bytes(), body))?;
    }
    Ok(())
}

/// Returns the number and the link of the last line.
fn end(connection: &Connection) -> Result<(u64, Link), Fault> {
    let mut statement =
        connection.prepare_cached("SELECT seq, link FROM hub_audit ORDER BY seq DESC LIMIT 1")?;
    let mut rows = statement.query(())?;
    rows.next()?.map_or(Ok((0, Link::START)), |row| Ok((natural(row, 0)?, link(row)?)))
}

pub(super) fn read(
    connection: &Connection,
    after: u64,
    limit: u32,
) -> Result<Vec<AuditLine>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, link, body FROM hub_audit WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    )?;
    let mut rows = statement.query((integer(after), limit))?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        lines.push(AuditLine { seq: natural(row, 0)?, link: link(row)?, body: row.get(2)? });
    }
    Ok(lines)
}

fn link(row: &Row<'_>) -> Result<Link, Fault> {
    let bytes = row.get_ref(1)?.as_blob().map_err(|error| Fault::spoilt(error.to_string()))?;
    let bytes = bytes.try_into().map_err(|_| Fault::spoilt("a link of the trail is cut"))?;
    Ok(Link::from_bytes(bytes))
}
