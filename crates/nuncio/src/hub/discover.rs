//! `nuncio discover`: who can do something.

use clap::Args;
use serde::Deserialize;

use super::{
    Flags, Hub,
    agents::{Agent, shortened},
    json, query,
    table::Table,
};
use crate::{failure::Failure, output::Output};

/// Find agents that can do something.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio discover --capability translate
  nuncio discover --capability translate --explain      who would be asked first, and why
  nuncio send -a '~translate' 'good morning'            whoever is best at it")]
pub(crate) struct Arguments {
    /// The id of a skill, or a tag.
    #[arg(long, value_name = "NAME")]
    capability: String,

    /// Say in which order they would be asked and why, and who would not be.
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Deserialize)]
struct Page {
    agents: Vec<Agent>,
}

#[derive(Deserialize)]
struct Route {
    agents: Vec<Ranked>,
    left_out: Vec<LeftOut>,
}

#[derive(Deserialize)]
struct Ranked {
    name: String,
    score: f64,
    why: String,
}

#[derive(Deserialize)]
struct LeftOut {
    name: String,
    why: String,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    let query = query(&[("capability", Some(arguments.capability.clone()))]);
    if arguments.explain {
        return explain(&hub, &mut output, &query).await;
    }
    let (page, bytes): (Page, _) = hub.read(&format!("/api/v1/agents{query}")).await?;
    if output.is_json() {
        return json(&mut output, &bytes);
    }
    let mut table = Table::new(["NAME", "STATUS", "TRUST", "DELIVERY", "ADDRESS"]);
    for agent in page.agents {
        table.row([
            agent.name,
            agent.status,
            agent.trust.to_string(),
            agent.delivery,
            shortened(agent.addresses.public.as_deref().unwrap_or_default()),
        ]);
    }
    Ok(table.write(&mut output)?)
}

/// Shows the best first, and last those who would not be asked.
async fn explain(hub: &Hub, output: &mut Output, query: &str) -> Result<(), Failure> {
    let (route, bytes): (Route, _) = hub.read(&format!("/api/v1/route{query}")).await?;
    if output.is_json() {
        return json(output, &bytes);
    }
    let mut table = Table::new(["NAME", "SCORE", "WHY"]);
    for Ranked { name, score, why } in route.agents {
        table.row([name, format!("{score:.3}"), why]);
    }
    for LeftOut { name, why } in route.left_out {
        table.row([name, "left out".to_owned(), why]);
    }
    Ok(table.write(output)?)
}
