//! What was spent of the budgets of a day, by all hubs together.

use nuncio_hub::store::Allowance;

use super::gone;
use crate::postgres::{connection::Connection, error::Failure, row::unsigned, text::quote};

const TAKE: &str = "INSERT INTO hub_budgets AS b (key, day, spent) VALUES ($1, $2, 1) \
    ON CONFLICT (key) DO UPDATE SET day = greatest(b.day, excluded.day), \
    spent = CASE WHEN b.day < excluded.day THEN 1 ELSE b.spent + 1 END RETURNING spent";

const GIVE_BACK: &str = "UPDATE hub_budgets SET spent = spent - 1 WHERE key = $1";

/// Leaves alone what others are at: they may wait for us.
const TIDY: &str = "DELETE FROM hub_budgets WHERE key IN \
    (SELECT key FROM hub_budgets WHERE day < $1 FOR UPDATE SKIP LOCKED)";

/// Takes of all in the order of their keys, so that two who want the same never wait for each
/// other, and gives back if one of them had nothing left. Runs within a transaction.
pub(super) async fn spend(
    connection: &Connection,
    day: u32,
    allowances: &[Allowance],
) -> Result<Option<usize>, Failure> {
    let mut order: Vec<usize> = (0..allowances.len()).collect();
    order.sort_by_key(|index| &allowances[*index].key);
    let mut used_up = None;
    let mut is_first = false;
    for index in &order {
        let Allowance { key, limit } = &allowances[*index];
        let rows = connection.query(TAKE, &[&quote(key), &i64::from(day)]).await?;
        let spent = unsigned(rows.first().ok_or_else(gone)?.get(0));
        is_first |= spent == 1;
        if spent > *limit {
            used_up = Some(used_up.map_or(*index, |other: usize| other.min(*index)));
        }
    }
    if used_up.is_some() {
        for index in &order {
            connection.execute(GIVE_BACK, &[&quote(&allowances[*index].key)]).await?;
        }
    } else if is_first {
        connection.execute(TIDY, &[&i64::from(day.saturating_sub(1))]).await?;
    }
    Ok(used_up)
}
