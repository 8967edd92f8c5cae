//! The program that the kit's own tests start, break and kill.
#![expect(clippy::print_stdout, reason = "the tests read it there")]

use std::io::stdin;

use anyhow::{Context as _, bail};
use nuncio_testkit::process::Process;
use nuncio_testkit::services;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("echo") => echo(),
        Some("hold-services") => hold_services().await,
        other => bail!("no such part: {other:?}"),
    }
}

/// Says each line again.
fn echo() -> anyhow::Result<()> {
    for line in stdin().lines() {
        println!("{}", line?);
    }
    Ok(())
}

/// Starts one of everything, names processes and directories, and waits for its end.
async fn hold_services() -> anyhow::Result<()> {
    let redis = services::redis().await.context("redis is left out")?;
    let shared = services::postgres().await.context("postgres is left out")?;
    let own = services::Postgres::start().await.context("postgres is left out")?;
    let child = Process::spawn("sleep", ["1000"], [("", ""); 0]);
    // Paused servers must not survive either.
    own.pause();
    redis.pause();
    println!("process {}", child.id());
    for (id, directory) in [
        (shared.id(), shared.directory()),
        (own.id(), own.directory()),
        (redis.id(), redis.directory()),
    ] {
        println!("process {}", id.context("it runs")?);
        println!("directory {}", directory.display());
    }
    println!("ready");
    std::future::pending().await
}
