//! What was spent of the budgets of a day.

use nuncio_hub::store::Allowance;
use rusqlite::OptionalExtension as _;

use crate::sqlite::{fault::Fault, row::integer, writer::Writing};

/// Looks at all before it takes of any: nobody else writes meanwhile.
pub(super) fn spend(
    writing: Writing<'_>,
    day: u32,
    allowances: &[Allowance],
) -> Result<Option<usize>, Fault> {
    let connection = writing.connection;
    let mut look =
        connection.prepare_cached("SELECT spent FROM hub_budgets WHERE key = ?1 AND day >= ?2")?;
    for (index, Allowance { key, limit }) in allowances.iter().enumerate() {
        let spent: Option<i64> = look.query_row((key, day), |row| row.get(0)).optional()?;
        if spent.unwrap_or(0) >= integer(*limit) {
            return Ok(Some(index));
        }
    }
    let mut take = connection.prepare_cached(
        "INSERT INTO hub_budgets (key, day, spent) VALUES (?1, ?2, 1) \
         ON CONFLICT (key) DO UPDATE SET day = max(day, excluded.day), \
         spent = CASE WHEN day < excluded.day THEN 1 ELSE spent + 1 END RETURNING spent",
    )?;
    for Allowance { key, .. } in allowances {
        let spent: i64 = take.query_row((key, day), |row| row.get(0))?;
        if spent == 1 {
            // The first of a day tidies up.
            connection
                .prepare_cached("DELETE FROM hub_budgets WHERE day < ?1")?
                .execute((day.saturating_sub(1),))?;
        }
    }
    Ok(None)
}
