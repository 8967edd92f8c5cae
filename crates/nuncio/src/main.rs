//! The `nuncio` program. It only reads the command line and puts the crates together.

mod data;
mod doctor;
mod key;
mod mock;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks are many small pieces that end on other threads than they began on.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Connects AI agents over A2A.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve an agent: a ready-made one, or any program.
    Serve(serve::Arguments),
    /// Find out why an agent does not work.
    Doctor(doctor::Arguments),
    /// Make and revoke the API keys of callers.
    #[command(subcommand)]
    Key(key::Command),
    /// Serve an agent that follows a script, for tests.
    Mock(mock::Arguments),
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "for people")]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Serve(arguments) => serve::run(arguments).await,
        Command::Doctor(arguments) => return doctor::run(arguments).await,
        Command::Key(command) => key::run(command),
        Command::Mock(arguments) => mock::run(arguments).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nuncio: {error:#}");
            ExitCode::FAILURE
        }
    }
}
