//! `nuncio discover`: who can do something.

use clap::Args;
use serde::Deserialize;

use super::{
    Flags,
    agents::{Agent, shortened},
    json, query,
    table::Table,
};
use crate::failure::Failure;

/// Find agents that can do something.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The id of a skill, or a tag.
    #[arg(long, value_name = "NAME")]
    capability: String,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Deserialize)]
struct Page {
    agents: Vec<Agent>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    let query = query(&[("capability", Some(arguments.capability.clone()))]);
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
