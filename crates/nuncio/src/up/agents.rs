//! Agents and rules of the configuration file.

use anyhow::Context as _;
use nuncio::configuration::{self, Configuration, Effect, Subject};
use nuncio_auth::rules::{self, Operations, Rule, Skills, Who};
use nuncio_hub::{
    Directory,
    agent::{Addresses, Delivery, Standing, Watch},
    directory::{CONFIGURED, ConfiguredAgent, NewAgent},
    name::AgentName,
};
use nuncio_protocol::ids::{AgentId, Organisation};

/// Brings the directory in line with the file.
pub(super) async fn configure(
    directory: &Directory,
    configuration: &Configuration,
) -> anyhow::Result<()> {
    let organisation = Organisation::parse(&configuration.organisation)?;
    let agents = configuration.agents.iter().map(agent).collect::<anyhow::Result<Vec<_>>>()?;
    let configured = directory.configure(&organisation, &agents).await.context("agents")?;
    for name in &configured.added {
        tracing::info!(agent = %name, "added by the configuration");
    }
    for name in &configured.removed {
        tracing::info!(agent = %name, "removed by the configuration");
    }
    let rules = configuration.rules.iter().enumerate();
    let rules = rules.map(|(index, written)| rule(directory, &organisation, index, written));
    let rules = rules.collect::<anyhow::Result<Vec<_>>>()?;
    directory.set_configured_rules(&organisation, &rules).await.context("rules")?;
    Ok(())
}

fn agent(written: &configuration::Agent) -> anyhow::Result<ConfiguredAgent> {
    let mut agent = NewAgent::new(AgentName::parse(&written.name)?);
    agent.role.clone_from(&written.role);
    let text = |url: &configuration::WebUrl| url.as_str().into();
    agent.addresses = Addresses {
        public: written.public_url.as_ref().or(written.url.as_ref()).map(text),
        internal: written.internal_url.as_ref().map(text),
        card: written.card.as_ref().or(written.url.as_ref()).map(text),
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
    agent.watch = if written.heartbeat { Watch::Heartbeat } else { Watch::Probe };
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
