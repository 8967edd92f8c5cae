//! What runs of workflows cost, through a hub on SQLite.
//!
//! `cargo run --release -p nuncio-bench --bin workflow` measures everything; a name behind it
//! measures only that, and a number behind the name has so many nodes. Every measure runs in a process of its own, so that what one leaves in
//! memory does not weigh on the next.

#![expect(clippy::print_stdout, reason = "the table is what the program is for")]

use std::{
    process::{Command, ExitCode},
    time::Duration,
};

use anyhow::Result;
use nuncio_bench::{
    figures::{say, spread},
    workflow::{Graph, Ran, Stage, most_memory},
};
use nuncio_workflow::runner::Settings;
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const NODES: usize = 1_000;
const ROUNDS: usize = 5;

/// How long a slow node takes, and how many there are.
const SLOW: Duration = Duration::from_millis(100);
const SLOW_NODES: usize = 20;

const NAMES: [&str; 3] = ["chain", "fan", "slow"];

fn main() -> Result<ExitCode> {
    let Some(wanted) = std::env::args().nth(1) else { return all() };
    let nodes = std::env::args().nth(2).map(|text| text.parse()).transpose()?;
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        match wanted.as_str() {
            "chain" => chain(nodes.unwrap_or(NODES)).await?,
            "fan" => fan(nodes.unwrap_or(NODES)).await?,
            "slow" => slow(nodes.unwrap_or(SLOW_NODES)).await?,
            _ => {
                println!("no measure {wanted}; there are {}", NAMES.join(", "));
                return Ok(ExitCode::FAILURE);
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Runs every measure in a process of its own.
fn all() -> Result<ExitCode> {
    let program = std::env::current_exe()?;
    for name in NAMES {
        if !Command::new(&program).arg(name).status()?.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A thousand nodes, one after the other, that do nothing by themselves.
async fn chain(nodes: usize) -> Result<()> {
    let rounds = rounds(ROUNDS, Graph::Chain, nodes, Duration::ZERO).await?;
    let each = |ran: &Ran| a_node(ran.spent, ran);
    let (middle, low, high) = spread(rounds.iter().map(each).collect());
    let wall = |ran: &Ran| a_node(ran.elapsed, ran);
    let (waited, ..) = spread(rounds.iter().map(wall).collect());
    let figure =
        format!("{middle:.3} ms of the processor ({low:.3} to {high:.3}) in {waited:.3} ms a node");
    say(&format!("a chain of {nodes} nodes"), &figure, "under 1 ms a node", middle < 1.0);
    Ok(())
}

/// A thousand nodes that could all run at once.
async fn fan(nodes: usize) -> Result<()> {
    let rounds = rounds(1, Graph::Fan, nodes, Duration::from_millis(5)).await?;
    let (limit, at_once) = (Settings::default().per_run, rounds[0].at_once);
    let what = format!("{nodes} parallel nodes");
    let figure = format!("{at_once} calls at once");
    say(&what, &figure, &format!("at most {limit}"), at_once <= limit);
    let memory = f64::from(u32::try_from(most_memory()? >> 10)?) / 1024.0;
    let spent = a_node(rounds[0].spent, &rounds[0]);
    let figure = format!("{memory:.1} MiB in all, {spent:.3} ms of the processor a node");
    say(&what, &figure, "under 64 MiB", memory < 64.0);
    Ok(())
}

/// What is left of a run when the time of its nodes is taken away.
async fn slow(nodes: usize) -> Result<()> {
    let rounds = rounds(3, Graph::Chain, nodes, SLOW).await?;
    let own = |ran: &Ran| {
        let own = ran.elapsed.saturating_sub(ran.working);
        own.as_secs_f64() / ran.elapsed.as_secs_f64() * 100.0
    };
    let (middle, low, high) = spread(rounds.iter().map(own).collect());
    let what = format!("the runner's own time, nodes of {} ms", SLOW.as_millis());
    let figure = format!("{middle:.1} % ({low:.1} to {high:.1})");
    say(&what, &figure, "under 5 %", middle < 5.0);
    Ok(())
}

/// Returns what a node has of a time, in milliseconds.
fn a_node(time: Duration, ran: &Ran) -> f64 {
    let nodes = u32::try_from(ran.nodes).unwrap_or(u32::MAX);
    (time / nodes.max(1)).as_secs_f64() * 1e3
}

async fn rounds(times: usize, graph: Graph, nodes: usize, takes: Duration) -> Result<Vec<Ran>> {
    // Beside the program, where a file system is on a disk.
    let directory = tempfile::tempdir_in(".")?;
    let stage = Stage::open(directory.path(), takes).await?;
    let mut rounds = Vec::with_capacity(times);
    for _ in 0..times {
        rounds.push(stage.run(graph, nodes).await?);
    }
    stage.close().await;
    Ok(rounds)
}
