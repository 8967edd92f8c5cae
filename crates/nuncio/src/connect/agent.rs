//! Whoever does the work: a program, or an agent that this machine reaches.

use std::sync::Arc;

use nuncio_client::{
    Client, Find,
    discover::{Ask, Source},
};
use nuncio_net::{Client as NetClient, Errand, Guard, Policy, Purpose, Trust};
use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    service::A2aService,
};
use nuncio_server::{LocalAgent, kinds::Command};
use nuncio_tasks::{engine::Tasks, memory::MemoryStore, scope::Name};

use super::Arguments;
use crate::failure::Failure;

/// Whoever does the work.
pub(super) struct Behind {
    pub(super) service: Arc<dyn A2aService>,
    card: AgentCard,
}

impl Behind {
    pub(super) async fn open(arguments: &Arguments) -> Result<Self, Failure> {
        match &arguments.agent {
            Some(url) => Self::agent(url).await,
            None => Self::program(arguments),
        }
    }

    pub(super) const fn card(&self) -> &AgentCard {
        &self.card
    }

    async fn agent(url: &str) -> Result<Self, Failure> {
        let mut policy = Policy::default();
        for purpose in [Purpose::Card, Purpose::Agent] {
            for range in ["0.0.0.0/0", "::/0"] {
                policy = policy.open(purpose, range.parse().expect("a range"));
            }
            policy = policy.allow_http(Errand::administrator(purpose));
        }
        let client = Client::new(NetClient::new(Guard::new(policy)));
        let source = Source::parse(url).map_err(|error| Failure::usage(error.to_string()))?;
        let agent = client.agent(Find::new(Ask::new(source, Trust::Administrator))).await?;
        Ok(Self { card: agent.card(), service: Arc::new(agent) })
    }

    fn program(arguments: &Arguments) -> Result<Self, Failure> {
        let name = &arguments.name;
        let (program, rest) = arguments
            .program()
            .split_first()
            .ok_or_else(|| Failure::usage("which program? name it after `--`"))?;
        let text = || format!("Runs {}", program.to_string_lossy());
        let description = arguments.description.clone().unwrap_or_else(text);
        let card = AgentCard::builder(name)
            .description(&description)
            .skill(AgentSkill::new(name, name, &description, [name]))
            .streaming()
            .build();
        let internal = |error: nuncio_tasks::scope::InvalidName| Failure::usage(error.to_string());
        let agent = Name::parse(name).map_err(internal)?;
        let tasks = Tasks::builder(Arc::new(MemoryStore::default()))
            .agent(agent.clone(), Command::new(program, rest))
            .start();
        let service = LocalAgent::new(tasks, agent, &card).map_err(internal)?;
        Ok(Self { service: Arc::new(service), card })
    }
}
