//! The audit trail.

use nuncio_hub::{audit::Link, store::AuditLine};
use nuncio_tasks::store::Error;
use tokio_postgres::{Statement, types::ToSql};

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

/// What goes behind the end of the trail.
pub(super) struct Statements {
    lock: Statement,
    append: Statement,
    go_on: Statement,
}

/// Where the trail ends.
pub(super) struct End {
    seq: i64,
    link: Link,
}

impl Statements {
    pub(super) async fn prepare(connection: &Connection) -> Result<Self, Failure> {
        let [lock, append, go_on] = connection.prepare_all([LOCK, APPEND, GO_ON]).await?;
        Ok(Self { lock, append, go_on })
    }

    /// Returns the end of the trail, which nobody else can change until the transaction ends;
    /// nothing if there is nothing to append.
    pub(super) async fn lock(
        &self,
        connection: &Connection,
        lines: &[String],
    ) -> Result<Option<End>, Failure> {
        if lines.is_empty() {
            return Ok(None);
        }
        let rows = connection.rows(&self.lock, &[]).await?;
        let row = rows.first().ok_or_else(gone)?;
        Ok(Some(End { seq: row.get(0), link: link(row.get(1))? }))
    }

    /// Appends lines behind the end, each tied to the one before it.
    pub(super) async fn append(
        &self,
        connection: &Connection,
        end: Option<End>,
        lines: &[String],
    ) -> Result<(), Failure> {
        let Some(End { seq, link: mut last }) = end else { return Ok(()) };
        let tied: Vec<Link> = lines
            .iter()
            .map(|body| {
                last = last.after(body);
                last
            })
            .collect();
        let bytes: Vec<&[u8]> = tied.iter().map(|link| link.as_bytes().as_slice()).collect();
        let bodies: Vec<_> = lines.iter().map(|body| quote(body)).collect();
        let (end, last) = (seq.saturating_add(signed(lines.len() as u64)), last.as_bytes());
        let lines: [&(dyn ToSql + Sync); 3] = [&seq, &bytes, &bodies];
        let end: [&(dyn ToSql + Sync); 2] = [&end, &last.as_slice()];
        tokio::try_join!(
            biased;
            connection.run(&self.append, &lines),
            connection.run(&self.go_on, &end),
        )?;
        Ok(())
    }
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
