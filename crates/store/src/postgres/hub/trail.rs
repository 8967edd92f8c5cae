//! The audit trail.

use nuncio_hub::{audit::Link, store::AuditLine};
use nuncio_tasks::store::Error;

use super::gone;
use crate::postgres::{
    connection::Connection,
    error::Failure,
    row::{signed, unsigned},
    text::{quote, unquote},
};

const LOCK: &str = "SELECT seq, link FROM hub_trail FOR UPDATE";

const APPEND: &str = "INSERT INTO hub_audit (seq, link, body) SELECT $1 + u.place, u.link, u.body \
    FROM unnest($2::bytea[], $3::text[]) WITH ORDINALITY u (link, body, place)";

const GO_ON: &str = "UPDATE hub_trail SET seq = $1, link = $2";

const READ: &str = "SELECT seq, link, body FROM hub_audit WHERE seq > $1 ORDER BY seq LIMIT $2";

/// Appends lines within a transaction, each tied to the one before it.
pub(super) async fn append(connection: &Connection, lines: &[String]) -> Result<(), Failure> {
    if lines.is_empty() {
        return Ok(());
    }
    let rows = connection.query(LOCK, &[]).await?;
    let row = rows.first().ok_or_else(gone)?;
    let seq: i64 = row.get(0);
    let mut last = link(row.get(1))?;
    let tied: Vec<Link> = lines
        .iter()
        .map(|body| {
            last = last.after(body);
            last
        })
        .collect();
    let bytes: Vec<&[u8]> = tied.iter().map(|link| link.as_bytes().as_slice()).collect();
    let bodies: Vec<_> = lines.iter().map(|body| quote(body)).collect();
    connection.execute(APPEND, &[&seq, &bytes, &bodies]).await?;
    let end = seq.saturating_add(signed(lines.len() as u64));
    connection.execute(GO_ON, &[&end, &last.as_bytes().as_slice()]).await?;
    Ok(())
}

pub(super) async fn read(
    connection: &Connection,
    after: u64,
    limit: u32,
) -> Result<Vec<AuditLine>, Failure> {
    let rows = connection.query(READ, &[&signed(after), &i64::from(limit)]).await?;
    let line = |row: &tokio_postgres::Row| {
        Ok(AuditLine {
            seq: unsigned(row.get(0)),
            link: link(row.get(1))?,
            body: unquote(row.get(2)).into_owned(),
        })
    };
    Ok(rows.iter().map(line).collect::<Result<_, Error>>()?)
}

fn link(bytes: &[u8]) -> Result<Link, Error> {
    let bytes = bytes.try_into().map_err(|_| Error::Spoilt("a link of the trail is cut".into()))?;
    Ok(Link::from_bytes(bytes))
}
