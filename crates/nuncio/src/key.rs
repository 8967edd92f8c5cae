//! `nuncio key`: the API keys of callers.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use nuncio_auth::{ApiKey, ApiKeys};
use nuncio_protocol::service::Caller;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a key for a caller, and print it, this once.
    New {
        /// Who calls with it.
        name: String,
        /// The file in which its hash is kept; made if it is not there.
        #[arg(long, value_name = "FILE")]
        keys: PathBuf,
        /// The caller is an agent, not a person.
        #[arg(long)]
        agent: bool,
    },
    /// List the keys of a file.
    List {
        /// The file.
        #[arg(long, value_name = "FILE")]
        keys: PathBuf,
    },
    /// Revoke a key by its id. A server that runs notices within a few seconds.
    Revoke {
        /// The id, as `nuncio key list` shows it.
        id: String,
        /// The file.
        #[arg(long, value_name = "FILE")]
        keys: PathBuf,
    },
}

#[expect(clippy::print_stdout, reason = "the results of commands")]
pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    let keys = ApiKeys::new();
    match command {
        Command::New { name, keys: file, agent } => {
            if file.exists() {
                keys.read_file(&file).with_context(|| format!("read {}", file.display()))?;
            }
            let (key, record) = ApiKey::generate(name);
            keys.add(if agent { record.for_agent() } else { record });
            keys.write_file(&file).with_context(|| format!("write {}", file.display()))?;
            println!("{key}");
        }
        Command::List { keys: file } => {
            keys.read_file(&file).with_context(|| format!("read {}", file.display()))?;
            for record in keys.list() {
                let state = if record.revoked().is_some() { "revoked" } else { "valid" };
                let caller = match record.caller() {
                    Caller::User(name) => format!("user:{name}"),
                    Caller::Agent(name) => format!("agent:{name}"),
                    _ => "anonymous".to_owned(),
                };
                println!("{}\t{caller}\t{state}", record.id());
            }
        }
        Command::Revoke { id, keys: file } => {
            keys.read_file(&file).with_context(|| format!("read {}", file.display()))?;
            if !keys.revoke(&id) {
                bail!("{} has no key {id}", file.display());
            }
            keys.write_file(&file).with_context(|| format!("write {}", file.display()))?;
        }
    }
    Ok(())
}
