//! `nuncio policy`: who may call whom, and why.

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{Flags, json, query};
use crate::failure::Failure;

/// Ask who may call whom.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say whether somebody may call an agent, and why.
    Explain {
        /// An agent's name or id, or `user:NAME`.
        caller: String,
        /// The name or id of the agent that is called.
        target: String,
        /// Only this operation, such as `SendMessage`.
        #[arg(long, value_name = "NAME")]
        operation: Option<String>,
        /// Only this skill.
        #[arg(long, value_name = "ID")]
        skill: Option<String>,
    },
}

#[derive(Deserialize)]
struct Explained {
    reason: String,
    code: String,
    rule: Option<String>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    let Command::Explain { caller, target, operation, skill } = arguments.command;
    let query = query(&[
        ("caller", Some(caller)),
        ("target", Some(target)),
        ("operation", operation),
        ("skill", skill),
    ]);
    let (explained, bytes): (Explained, _) =
        hub.read(&format!("/api/v1/policy/explain{query}")).await?;
    if output.is_json() {
        return json(&mut output, &bytes);
    }
    output.field("Decision", &explained.reason)?;
    output.field("Code", &explained.code)?;
    if let Some(rule) = &explained.rule {
        output.field("Rule", rule)?;
    }
    Ok(())
}
