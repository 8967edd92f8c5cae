//! The program that the kit's own tests start, break and kill.
#![expect(clippy::print_stdout, reason = "the tests read it there")]

use std::fs::File;
use std::io::{IoSlice, Write as _, stdin};
use std::os::unix::fs::FileExt as _;

use anyhow::{Context as _, bail};
use nuncio_testkit::disk::Small;
use nuncio_testkit::process::Process;
use nuncio_testkit::services;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("echo") => echo(),
        Some("write") => write(),
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

/// Carries out each line on a file, one system call each, and says how it went.
fn write() -> anyhow::Result<()> {
    let path = std::env::args().nth(2).context("which file?")?;
    let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
    println!("open");
    for line in stdin().lines() {
        let line = line?;
        let (call, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let result = match call {
            "write" => file.write(rest.as_bytes()).map(drop),
            "write-vectored" => {
                let (a, b) = rest.split_at(1);
                file.write_vectored(&[a, b].map(|s| IoSlice::new(s.as_bytes()))).map(drop)
            }
            "write-at-0" => file.write_at(rest.as_bytes(), 0).map(drop),
            "truncate" => file.set_len(0),
            "sync" => file.sync_all(),
            "sync-data" => file.sync_data(),
            other => bail!("no such call: {other}"),
        };
        match result {
            Ok(()) => println!("done"),
            Err(error) => println!("{}", error.kind()),
        }
    }
    Ok(())
}

/// Starts one of everything, names processes and directories, and waits for its end.
async fn hold_services() -> anyhow::Result<()> {
    let redis = services::redis().await.context("redis is left out")?;
    let shared = services::postgres().await.context("postgres is left out")?;
    let own = services::Postgres::start().await.context("postgres is left out")?;
    let child = Process::spawn("sleep", ["1000"], [("", ""); 0]);
    let disk = Small::new(64);
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
    if let Some(disk) = &disk {
        println!("directory {}", disk.path().display());
    }
    println!("ready");
    std::future::pending().await
}
