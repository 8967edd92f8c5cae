//! What the task engine and its stores cost, as ratios within one run.
//!
//! `cargo run --release -p nuncio-bench --bin tasks` measures everything; a name behind it
//! measures only that. Every measure runs in a process of its own, so that what one leaves in
//! memory does not weigh on the next.

#![expect(clippy::print_stdout, reason = "the table is what the program is for")]

mod appends;
mod listing;
mod memory;
mod setting;
mod stalled;

use std::process::{Command, ExitCode};

use tokio::runtime::Runtime;

/// A measure, and its name.
type Measure = (&'static str, fn(&Runtime));

const MEASURES: [Measure; 6] = [
    ("appends", appends::run),
    ("listing-sqlite", listing::on_sqlite),
    ("listing-postgres", listing::on_postgres),
    ("task-memory", memory::finished_tasks),
    ("subscriber-memory", memory::idle_subscribers),
    ("stalled", stalled::run),
];

fn main() -> ExitCode {
    let Some(wanted) = std::env::args().nth(1) else { return all() };
    let Some((_, measure)) = MEASURES.iter().find(|(name, _)| *name == wanted) else {
        let names = MEASURES.map(|(name, _)| name);
        println!("no measure {wanted}; there are {}", names.join(", "));
        return ExitCode::FAILURE;
    };
    measure(&Runtime::new().expect("a runtime can be had"));
    ExitCode::SUCCESS
}

/// Runs every measure in a process of its own.
fn all() -> ExitCode {
    let program = std::env::current_exe().expect("a program knows where it is");
    let ran = MEASURES.map(|(name, _)| {
        let status = Command::new(&program).arg(name).status().expect("we can run ourselves");
        status.success()
    });
    if ran.iter().all(|ok| *ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
