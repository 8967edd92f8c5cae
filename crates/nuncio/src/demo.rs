//! `nuncio up --demo`: agents to try things with. They need no key, no model and no network.
//!
//! They are agents like those of the file: what a user brings in by the same name goes before
//! them, and a hub that is started without `--demo` has them no more.

mod agents;
mod team;

use nuncio_auth::rules::{Effect, Rule, Who};
use nuncio_hub::{
    Directory, Gateway, Hub,
    agent::{Addresses, Card, Delivery, Watch},
    directory::{Actor, CONFIGURED, ConfiguredAgent, NewAgent},
    name::AgentName,
};
use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    ids::{AgentId, Organisation},
    json,
};
use nuncio_server::kinds::Echo;
use nuncio_tasks::agent::Employed;
use nuncio_workflow::graph::Workflow;

use self::{
    agents::{Approver, Flaky, Writer},
    team::{Lead, Member},
};
use crate::mock::Mock;

/// The agent that really speaks nothing newer than A2A 0.3.
const LEGACY: &str = include_str!("demo/legacy.yaml");

/// What they do together.
const REPORT: &str = include_str!("../../../examples/workflows/demo-report.yaml");

/// What to tell the program to see something at once.
pub(crate) const TRY: [&str; 3] = [
    "send -a writer 'otters' --stream",
    "send -a approver 'buy a boat'",
    "policy explain echo team-a",
];

/// The agents of the demo.
pub(crate) struct Demo {
    /// Where the agent of 0.3 listens, and its card.
    legacy: (String, Card),
    /// One for all starts of agents: it counts.
    flaky: Employed,
}

/// What an agent of the demo is.
struct Role {
    name: &'static str,
    description: &'static str,
    skill: &'static str,
    tags: &'static [&'static str],
    /// What it takes and gives.
    modes: &'static str,
    parent: Option<&'static str>,
}

const LEAD: &str = "team-lead";

/// The member of the team whom outsiders may call.
const OPEN_MEMBER: &str = "team-b";

const ROLES: [Role; 8] = [
    Role {
        name: "echo",
        description: "Says what it hears",
        skill: "echo",
        tags: &["echo"],
        modes: "*/*",
        parent: None,
    },
    Role {
        name: "writer",
        description: "Writes about anything, word by word, for about twenty seconds; for two, \
                      if it is asked to do so quickly",
        skill: "write",
        tags: &["text", "writing"],
        modes: "text/plain",
        parent: None,
    },
    Role {
        name: "approver",
        description: "Asks whether something may go on, and goes on if it may",
        skill: "approve",
        tags: &["approval"],
        modes: "text/plain",
        parent: None,
    },
    Role {
        name: "flaky",
        description: "Does what it is told, but fails every third time",
        skill: "try",
        tags: &["test"],
        modes: "text/plain",
        parent: None,
    },
    Role {
        name: "legacy",
        description: "Speaks A2A 0.3 and nothing newer; the hub translates",
        skill: "summarise",
        tags: &["text", "summary"],
        modes: "text/plain",
        parent: None,
    },
    Role {
        name: LEAD,
        description: "Gives work to team-a and team-b, and puts together what they bring",
        skill: "coordinate",
        tags: &["team"],
        modes: "text/plain",
        parent: None,
    },
    Role {
        name: "team-a",
        description: "Counts words. Only its own team may call it",
        skill: "count",
        tags: &["team"],
        modes: "text/plain",
        parent: Some(LEAD),
    },
    Role {
        name: OPEN_MEMBER,
        description: "Turns words around. Every agent may call it",
        skill: "reverse",
        tags: &["team"],
        modes: "text/plain",
        parent: Some(LEAD),
    },
];

impl Demo {
    /// Starts what runs beside the hub; it ends when the process is told to.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let legacy = Mock::own(LEGACY).await?;
        let place = (legacy.url().to_owned(), Card::parse(&legacy.card())?);
        // Owned by the process: it hears the same signals as the hub.
        tokio::spawn(legacy.run_until_told());
        Ok(Self { legacy: place, flaky: Employed::new(Flaky::default()) })
    }

    /// Returns the agents whose names nobody else has, beside those of the file; and the names of
    /// those that are left out.
    pub(crate) fn agents(
        &self,
        hub: &Hub,
        organisation: &Organisation,
        file: &[ConfiguredAgent],
    ) -> anyhow::Result<(Vec<ConfiguredAgent>, Vec<&'static str>)> {
        let state = hub.directory.state();
        let is_taken = |name: &AgentName| {
            let in_file = file.iter().any(|other| other.agent.name.look() == name.look());
            let other = state.look_alike(organisation, name);
            in_file || other.is_some_and(|other| !other.is_configured())
        };
        let mut taken = Vec::new();
        for role in &ROLES {
            if is_taken(&AgentName::parse(role.name)?) {
                taken.push(role.name);
            }
        }
        let is_of_team = |role: &Role| role.name == LEAD || role.parent == Some(LEAD);
        // A team is itself only as a whole.
        let has_team = !ROLES.iter().any(|role| is_of_team(role) && taken.contains(&role.name));
        let (mut agents, mut left_out) = (Vec::new(), Vec::new());
        for role in &ROLES {
            if taken.contains(&role.name) || (is_of_team(role) && !has_team) {
                left_out.push(role.name);
            } else {
                agents.push(self.agent(role)?);
            }
        }
        Ok((agents, left_out))
    }

    /// Returns the rule that lets others than the team call one of it, if it is there.
    pub(crate) fn rule(
        directory: &Directory,
        organisation: &Organisation,
        shown: &[AgentName],
    ) -> Option<Rule> {
        let name = shown.iter().find(|name| name.as_str() == OPEN_MEMBER)?;
        let target = Who::Agent(directory.state().named(organisation, name)?.id.clone());
        let id = format!("{CONFIGURED}demo");
        let mut rule = Rule::new(id, organisation.clone(), Effect::Allow, (Who::Any, target));
        "of the demo: team-b is for everybody, team-a for its team".clone_into(&mut rule.note);
        Some(rule)
    }

    /// Keeps the workflow of the demo, unless there is something of its name.
    pub(crate) async fn keep_workflow(
        hub: &Hub,
        organisation: &Organisation,
    ) -> anyhow::Result<()> {
        let workflow = Workflow::read(REPORT)?;
        let name = AgentName::parse(workflow.name())?;
        if hub.directory.state().look_alike(organisation, &name).is_some() {
            return Ok(());
        }
        let (written, actor) = ((REPORT, &workflow), Actor::configuration());
        hub.directory.save_workflow(organisation, &name, written, Some(0), &actor).await?;
        Ok(())
    }

    /// Returns who does the work of an agent of the demo, if the hub runs it itself.
    pub(crate) fn employed(&self, name: &str, id: &AgentId, gateway: &Gateway) -> Option<Employed> {
        Some(match name {
            "echo" => Employed::new(Echo),
            "writer" => Employed::new(Writer),
            "approver" => Employed::new(Approver),
            "flaky" => self.flaky.clone(),
            "team-a" => Employed::new(Member::Counts),
            OPEN_MEMBER => Employed::new(Member::Reverses),
            LEAD => Employed::new(Lead::new(id, gateway)),
            _ => return None,
        })
    }

    fn agent(&self, role: &Role) -> anyhow::Result<ConfiguredAgent> {
        let mut agent = NewAgent::new(AgentName::parse(role.name)?);
        agent.role = Some(role.description.to_owned());
        agent.delivery = Delivery::Gateway;
        if role.name == "legacy" {
            let (url, card) = &self.legacy;
            agent.addresses = Addresses {
                public: Some(url.as_str().into()),
                internal: None,
                card: Some(url.as_str().into()),
            };
            agent.card = Some(card.clone());
            agent.watch = Watch::Probe;
        } else {
            agent.watch = Watch::Hosted;
            agent.card = Some(role.card()?);
        }
        let parent = role.parent.map(AgentName::parse).transpose()?;
        Ok(ConfiguredAgent { agent, parent, allowed_agents: std::collections::BTreeMap::new() })
    }
}

impl Role {
    fn card(&self) -> anyhow::Result<Card> {
        let skill =
            AgentSkill::new(self.skill, self.skill, self.description, self.tags.iter().copied());
        let card = AgentCard::builder(self.name)
            .description(self.description)
            .skill(skill)
            .input_modes([self.modes])
            .output_modes([self.modes])
            .streaming()
            .push_notifications()
            .build();
        Ok(Card::parse(&json::to_string(&card))?)
    }
}
