//! How much of everything there may be.

use std::time::Duration;

use nuncio_client::Clocks;

use super::budget::Budgets;

/// How much of everything there may be, as far as that can change while calls are carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many calls an agent gets at once.
    pub in_flight: usize,
    /// How many more may wait for their turn.
    pub queue: usize,
    /// How long they wait.
    pub queue_wait: Duration,
    /// How many calls may be made because of one another (R27).
    pub depth: usize,
    /// How many unfinished tasks a caller may have.
    pub unfinished_tasks: u32,
    /// How long agents may take: for the first byte, in silence, for all of it.
    pub clocks: Clocks,
    /// How much callers may have done, and agents may be asked for.
    pub budgets: Budgets,
}

impl Default for Limits {
    fn default() -> Self {
        let clocks = Clocks::default();
        Self {
            in_flight: 64,
            queue: 1_000,
            queue_wait: Duration::from_secs(30),
            depth: 16,
            unfinished_tasks: 1_000,
            // How long our caller waits is for the engine to say; the agent may take longer.
            clocks: Clocks { wait: clocks.whole, ..clocks },
            budgets: Budgets::default(),
        }
    }
}
