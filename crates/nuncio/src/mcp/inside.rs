//! The way to agents within the hub's own process.

use std::sync::Arc;

use async_trait::async_trait;
use nuncio_hub::{
    agent::{Agent, Card},
    directory::Query,
    http::mcp::Visitor,
    name::AgentName,
};
use nuncio_net::Trust;
use nuncio_protocol::{
    ids::TaskId,
    operation::Request,
    service::{Answered, Events},
};

use super::{
    outside::Outside,
    ways::{Found, Listed, Skill, Target, Told, Wanted, Ways},
};

/// Calls as somebody who has come to `/mcp`.
pub(super) struct Inside(pub(super) Visitor);

impl Inside {
    /// Returns the way to agents that nobody has brought in.
    fn outside(&self) -> Result<Outside, Told> {
        let client = self.0.outside().cloned().ok_or_else(|| {
            Told::new("FORBIDDEN", "only administrators call agents by URL through the hub")
                .hint("have it added with `nuncio agents add URL`, and call it by its name")
        })?;
        Ok(Outside::new(client, Trust::Caller))
    }
}

#[async_trait]
impl Ways for Inside {
    async fn agents(&self, wanted: &Wanted) -> Result<Found, Told> {
        let after = wanted.after.as_deref().map(AgentName::parse).transpose();
        let query = Query {
            text: wanted.search.clone(),
            capability: wanted.capability.clone(),
            after: after.map_err(|error| Told::invalid("after", error))?,
            limit: wanted.limit,
            ..Query::default()
        };
        let page = self.0.agents(&query);
        Ok(Found {
            agents: page.agents.iter().map(listed).collect(),
            next: page.next.map(|name| name.as_str().to_owned()),
        })
    }

    async fn call(&self, agent: &Target, request: Request) -> Result<Answered, Told> {
        match agent {
            Target::Named(name) => Ok(self.0.call(name, request).await?),
            Target::Url(url) => self.outside()?.call(url, request).await,
        }
    }

    async fn follow(&self, agent: &Target, request: Request) -> Result<Events, Told> {
        match agent {
            Target::Named(name) => Ok(self.0.follow(name, request).await?),
            Target::Url(url) => self.outside()?.follow(url, request).await,
        }
    }

    async fn owner(&self, task: &TaskId) -> Result<String, Told> {
        Ok(self.0.owner(task.as_str()).await?)
    }

    fn hub_url(&self) -> Option<&str> {
        Some(self.0.hub_url())
    }
}

fn listed(agent: &Arc<Agent>) -> Listed {
    let card = agent.card.as_ref().map(Card::card);
    let skills = card.iter().flat_map(|card| &card.skills);
    Listed {
        name: agent.name.as_str().to_owned(),
        title: agent.title().to_owned(),
        description: card.map(|card| card.description.clone()).unwrap_or_default(),
        status: agent.status.as_str().to_owned(),
        skills: skills
            .map(|skill| Skill {
                id: skill.id.clone(),
                name: skill.name.clone(),
                description: skill.description.clone(),
                tags: skill.tags.clone(),
            })
            .collect(),
    }
}
