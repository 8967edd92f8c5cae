//! Agents and rules of the configuration file.

use std::{path::Path, sync::Arc};

use anyhow::Context as _;
use nuncio::configuration::{self, Configuration, Effect, Kind, Subject};
use nuncio_auth::rules::{self, Operations, Rule, Skills, Who};
use nuncio_client::{
    Credentials, Origin,
    credentials::{ApiKey, Basic, Bearer, KeyPlace},
};
use nuncio_hub::{
    Directory, Hub,
    agent::{Addresses, Card, Delivery, Standing, Watch},
    directory::{Actor, CONFIGURED, ConfiguredAgent, NewAgent},
    gateway::Employer as _,
    name::AgentName,
};
use nuncio_net::{Client, Secret};
use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    ids::{AgentId, Organisation},
    json,
};
use nuncio_server::kinds::Command;

use super::{employer::Employer, kinds::Kinds, toolbox::Toolbox};
use crate::demo::Demo;

/// Brings the directory in line with the file, and with the demo where the file leaves room.
pub(super) async fn configure(
    hub: &Hub,
    (configuration, file): (&Configuration, Option<&Path>),
    demo: Option<&Demo>,
) -> anyhow::Result<()> {
    let directory = &hub.directory;
    let organisation = Organisation::parse(&configuration.organisation)?;
    let mut agents = configuration.agents.iter().map(agent).collect::<anyhow::Result<Vec<_>>>()?;
    let mut shown = Vec::new();
    if let Some(demo) = demo {
        let (room, left_out) = demo.agents(hub, &organisation, &agents)?;
        for name in left_out {
            tracing::warn!(agent = name, "left out of the demo: you have an agent of that name");
        }
        shown.extend(room.iter().map(|one| one.agent.name.clone()));
        agents.extend(room);
    }
    let configured = directory.configure(&organisation, &agents).await.context("agents")?;
    // Those of the demo come with every such start: whoever looks on has other things to read.
    for name in configured.added.iter().filter(|name| !shown.contains(name)) {
        tracing::info!(agent = %name, "added by the configuration");
    }
    for name in &configured.removed {
        tracing::info!(agent = %name, "removed by the configuration");
    }
    if let Some(gateway) = &hub.gateway {
        let kinds = Kinds::new(gateway, &organisation, configuration);
        let requests = Client::new(hub.guard.clone());
        // Whoever is told of it may be in another folder.
        let file = file.map(std::path::absolute).transpose()?;
        let employer = Arc::new(Employer::new(&kinds, requests, file));
        renew_cards(directory, &organisation, &employer).await.context("cards")?;
        gateway.hire_with(employer);
        employ(&kinds, directory, demo.map(|demo| (demo, &*shown)))?;
    }
    if demo.is_some() {
        Demo::keep_workflow(hub, &organisation).await.context("the workflow of the demo")?;
    }
    let rules = configuration.rules.iter().enumerate();
    let rules = rules.map(|(index, written)| rule(directory, &organisation, index, written));
    let mut rules = rules.collect::<anyhow::Result<Vec<_>>>()?;
    if demo.is_some() {
        rules.extend(Demo::rule(directory, &organisation, &shown));
    }
    directory.set_configured_rules(&organisation, &rules).await.context("rules")?;
    Ok(())
}

/// Widens the cards of agents that came over the API, of kinds that take and give more than text:
/// earlier versions wrote that of none, and a card is held to.
async fn renew_cards(
    directory: &Directory,
    organisation: &Organisation,
    employer: &Employer,
) -> anyhow::Result<()> {
    const TEXT: [&str; 1] = ["text/plain"];
    let state = directory.state();
    for agent in state.in_order(organisation, None) {
        let (Some(hosting), Some(written)) = (&agent.hosting, &agent.card) else { continue };
        // What no longer goes with the configuration is told to whoever calls it.
        let Ok(fit) = employer.check(&agent.name, agent.role.as_deref(), hosting) else { continue };
        let mut card = written.card().clone();
        if card.default_input_modes != TEXT || card.default_output_modes != TEXT {
            continue;
        }
        card.default_input_modes.clone_from(&fit.card.card().default_input_modes);
        card.default_output_modes.clone_from(&fit.card.card().default_output_modes);
        let card = Card::parse(&json::to_string(&card))?;
        let actor = Actor::configuration();
        directory.update_card(organisation, &agent.id, &card, &actor).await?;
    }
    Ok(())
}

/// Tells the gateway which agents it runs itself, and how it proves to the others who calls.
fn employ(
    kinds: &Kinds<'_>,
    directory: &Directory,
    demo: Option<(&Demo, &[AgentName])>,
) -> anyhow::Result<()> {
    let Kinds { gateway, organisation, configuration, .. } = kinds;
    let state = directory.state();
    let mut hosted = Vec::new();
    if let Some((demo, names)) = demo {
        let agents = names.iter().filter_map(|name| state.named(organisation, name));
        hosted.extend(agents.filter_map(|agent| {
            let employed = demo.employed(agent.name.as_str(), &agent.id, gateway)?;
            Some((agent.id.clone(), employed))
        }));
    }
    let mut proofs: Vec<(AgentId, Arc<dyn Credentials>)> = Vec::new();
    for written in &configuration.agents {
        let name = AgentName::parse(&written.name)?;
        let Some(agent) = state.named(organisation, &name) else { continue };
        if let Some(kind) = written.kind {
            let employed = kinds.employ(kind, agent, written);
            let employed = employed.with_context(|| format!("the agent `{name}`"))?;
            hosted.push((agent.id.clone(), employed));
            continue;
        }
        let url = written.url.as_ref().or(written.card.as_ref());
        if let (Some(credential), Some(url)) = (&written.credential, url) {
            let proof = proof(credential, url);
            let proof = proof.with_context(|| format!("the credential for `{name}`"))?;
            proofs.push((agent.id.clone(), proof));
        }
    }
    gateway.prove_with(proofs);
    gateway.equip(Arc::new(Toolbox::new(kinds)));
    // Last: what an earlier hub has left is taken up then.
    gateway.host(hosted);
    Ok(())
}

/// Makes what proves to an agent who calls. It goes to the agent's own origin only.
fn proof(
    credential: &configuration::Credential,
    url: &configuration::WebUrl,
) -> anyhow::Result<Arc<dyn Credentials>> {
    let origin = Origin::parse(url.as_str())?;
    if let Some(token) = &credential.bearer {
        return Ok(Arc::new(Bearer::new(origin, &token.0)?));
    }
    if let Some(key) = &credential.api_key {
        let header = credential.header.as_deref().unwrap_or("X-API-Key").parse()?;
        return Ok(Arc::new(ApiKey::new(origin, KeyPlace::Header(header), &key.0)?));
    }
    let pair = credential.basic.as_ref().context("nothing is given")?;
    let (user, password) = pair.0.expose().split_once(':').context("expected user:password")?;
    Ok(Arc::new(Basic::new(origin, user, &Secret::new(password))?))
}

/// Writes the card of an agent that the hub runs itself.
pub(super) fn hosted_card(written: &configuration::Agent, kind: Kind) -> anyhow::Result<Card> {
    let name = written.name.as_str();
    let description = written.role.clone().unwrap_or_else(|| match kind {
        Kind::Echo => "Says what it hears".to_owned(),
        Kind::Command => {
            format!("Runs {}", written.command.first().map_or("a program", String::as_str))
        }
        Kind::Llm => "Asks a language model".to_owned(),
        Kind::Http => "Sends an HTTP request".to_owned(),
        Kind::Mcp => {
            format!("Calls {}", written.tool.as_ref().map_or("a tool", |tool| tool.as_str()))
        }
    });
    let card = AgentCard::builder(name)
        .description(&description)
        .skill(AgentSkill::new(name, name, &description, [name]))
        .streaming()
        .push_notifications();
    let card = match kind {
        Kind::Echo | Kind::Llm | Kind::Http | Kind::Mcp => {
            card.input_modes(["*/*"]).output_modes(["*/*"])
        }
        Kind::Command => card.input_modes(Command::TAKES),
    };
    let card = card.build();
    Ok(Card::parse(&json::to_string(&card))?)
}

fn agent(written: &configuration::Agent) -> anyhow::Result<ConfiguredAgent> {
    let mut agent = NewAgent::new(AgentName::parse(&written.name)?);
    agent.role.clone_from(&written.role);
    let text = |url: &configuration::WebUrl| url.as_str().into();
    // What a hosted agent calls is nobody's address.
    let is_elsewhere = written.kind.is_none();
    let written_url = written.url.as_ref().filter(|_| is_elsewhere);
    agent.addresses = Addresses {
        public: written.public_url.as_ref().or(written_url).map(text),
        internal: written.internal_url.as_ref().map(text),
        card: written.card.as_ref().or(written_url).map(text),
    };
    agent.delivery = match written.delivery {
        configuration::Delivery::Direct => Delivery::Direct,
        configuration::Delivery::Gateway => Delivery::Gateway,
        configuration::Delivery::Pull => Delivery::Pull,
    };
    let latency_hint_ms = written.latency_hint.map(|hint| hint.get().as_millis());
    agent.standing = Standing {
        trust: written.trust,
        latency_hint_ms: latency_hint_ms.map(|hint| u32::try_from(hint).unwrap_or(u32::MAX)),
    };
    agent.watch = match (written.kind, written.heartbeat) {
        (Some(_), _) => Watch::Hosted,
        (None, true) => Watch::Heartbeat,
        (None, false) if agent.delivery == Delivery::Pull => Watch::Heartbeat,
        (None, false) => Watch::Probe,
    };
    if let Some(kind) = written.kind {
        agent.card = Some(hosted_card(written, kind)?);
        // Nobody but the hub can call it.
        agent.delivery = Delivery::Gateway;
    }
    let parent = written.parent.as_ref().map(|name| AgentName::parse(name)).transpose()?;
    let limits = written.skills.iter().map(|(skill, access)| {
        let names = access.allowed_agents.iter().map(|name| AgentName::parse(name));
        Ok((skill.clone(), names.collect::<Result<_, _>>()?))
    });
    let allowed_agents = limits.collect::<anyhow::Result<_>>()?;
    Ok(ConfiguredAgent { agent, parent, allowed_agents })
}

/// Makes a rule of what the file says. Its id is its place there.
fn rule(
    directory: &Directory,
    organisation: &Organisation,
    index: usize,
    written: &configuration::Rule,
) -> anyhow::Result<Rule> {
    let who = |subject: &Subject| who(directory, organisation, subject);
    let effect = match written.effect {
        Effect::Allow => rules::Effect::Allow,
        Effect::Deny => rules::Effect::Deny,
    };
    let id = format!("{CONFIGURED}{:04}", index + 1);
    let pair = (who(&written.caller)?, who(&written.target)?);
    let mut rule = Rule::new(id, organisation.clone(), effect, pair);
    if !written.operations.is_empty() {
        let named = written.operations.iter().map(|name| name.0);
        rule.operations = named.fold(Operations::NONE, Operations::with);
    }
    if !written.skills.is_empty() {
        rule.skills = Skills::Only(written.skills.iter().cloned().collect());
    }
    rule.note.clone_from(&written.note);
    Ok(rule)
}

fn who(
    directory: &Directory,
    organisation: &Organisation,
    subject: &Subject,
) -> anyhow::Result<Who> {
    let find = |name: &str| -> anyhow::Result<AgentId> {
        let state = directory.state();
        let agent = state.find(organisation, name).map(|agent| agent.id.clone());
        agent.with_context(|| format!("rules: there is no agent `{name}`"))
    };
    Ok(match subject {
        Subject::Everyone => Who::Any,
        Subject::Agent(name) => Who::Agent(find(name)?),
        Subject::Team(name) => Who::Team(find(name)?),
        Subject::User(name) => Who::User(name.as_str().into()),
    })
}
