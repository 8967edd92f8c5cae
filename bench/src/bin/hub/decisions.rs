//! What a decision costs.

use std::hint::black_box;

use nuncio_auth::rules::{Asker, Question};
use nuncio_bench::figures::{say, spread};
use tokio::time::Instant;

use crate::town::{AGENTS, Town};

const ROUNDS: usize = 15;
const DECISIONS: u32 = 20_000;
/// The issue's own measure, in microseconds.
const MOST: f64 = 2.0;

/// Asks about all kinds of pairs: near, far, above, below, under rules and not.
pub(crate) fn measure(town: &Town) {
    let mut allowed = 0_usize;
    let rounds = (0..ROUNDS).map(|round| {
        let begun = Instant::now();
        for number in (0..DECISIONS).map(|number| number as usize) {
            let caller = (number * 31 + round) % AGENTS;
            // Every other one is asked about the agent above.
            let target =
                if number % 2 == 0 { caller.saturating_sub(1) / 8 } else { number * 17 % AGENTS };
            let id = &town.agents[caller];
            let asker = Asker::Agent { id, organisation: &town.organisation };
            let decision = town.directory.decide(&Question::new(asker, &town.agents[target]));
            allowed += usize::from(black_box(decision).is_allowed());
        }
        begun.elapsed().as_secs_f64() * 1e6 / f64::from(DECISIONS)
    });
    let (middle, low, high) = spread(rounds.collect());
    assert!(allowed > 0, "those above are allowed");
    let figure = format!("{middle:.2} µs ({low:.2} to {high:.2})");
    say("a decision among 10,000 agents and 1,000 rules", &figure, "under 2 µs", middle < MOST);
}
