//! `nuncio mcp`: agents as tools of whatever speaks the Model Context Protocol.
//!
//! `tools` are the tools, `work` is what they do, over one trait (`ways`) with two ways: `inside`
//! the hub, for `/mcp`, and `remote`, for this command. `server`, `http`, `report` and `progress`
//! are all that knows the library behind the protocol.

mod http;
mod inside;
mod outside;
mod progress;
mod remote;
mod report;
mod server;
mod skills;
mod tools;
mod ways;
mod work;

use clap::{Args, ValueEnum};
use ipnet::IpNet;
use rmcp::ServiceExt as _;

pub(crate) use self::http::Endpoint;
use self::{remote::Remote, server::Server};
use crate::{failure::Failure, hub};

/// Offer agents as tools over MCP, on standard input and output.
///
/// For Claude, Cursor and everything else that starts servers of the Model Context Protocol. A
/// running hub has the same tools at `/mcp`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  claude mcp add nuncio -- nuncio mcp             every agent of the hub, in Claude Code
  nuncio mcp --tools skills                       one tool for each skill of each agent
  nuncio mcp --allow-private 127.0.0.0/8          agents on this machine by their URLs, too")]
pub(crate) struct Arguments {
    /// Which tools there are.
    #[arg(long, value_enum, value_name = "TOOLS", default_value = "agents")]
    tools: Offer,

    /// Let the client call agents by URL in this range of addresses, over plain HTTP too.
    /// Otherwise it reaches public addresses alone. Repeatable.
    #[arg(long, value_name = "CIDR")]
    allow_private: Vec<IpNet>,

    #[command(flatten)]
    hub: hub::Flags,
}

/// Which tools there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Offer {
    /// One to find agents, one to give them work, and those to go on with it.
    Agents,
    /// The same, and one for each skill of each agent.
    Skills,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let ways = Remote::new(&arguments.hub.known()?, &arguments.allow_private)?;
    let server = Server::for_user(ways, arguments.tools);
    let broken = |error: &dyn std::fmt::Display| {
        Failure::internal(format!("the client does not speak MCP: {error}")).hint(
            "this command is started by a client, such as `claude mcp add nuncio -- nuncio mcp`",
        )
    };
    let streams = (tokio::io::stdin(), tokio::io::stdout());
    let running = server.serve(streams).await.map_err(|error| broken(&error))?;
    running.waiting().await.map_err(|error| broken(&error))?;
    Ok(())
}
