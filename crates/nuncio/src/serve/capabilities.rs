//! What an opportunity agent can do, and for whom, by its `agent.yaml` (OD-05).

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context as _, bail, ensure};
use nuncio_protocol::card::AgentSkill;
use nuncio_server::dialects::Opportunity;
use serde::Deserialize;
use serde_json::Value;

/// The part of the file that counts here. The rest is the agent's own.
#[derive(Debug, Deserialize)]
struct File {
    a2a: Section,
}

#[derive(Debug, Deserialize)]
struct Section {
    enabled: Option<bool>,
    #[serde(default)]
    capabilities: Vec<Value>,
}

/// Something that the agent can do. A key that is not known might be one of those that keep
/// others out, so there is none.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Capability {
    #[serde(rename = "capability", alias = "name")]
    name: String,
    description: Option<String>,
    /// A JSON schema.
    payload_schema: Option<Value>,
    allowed_agents: Option<Vec<String>>,
}

/// Everything that an agent can do.
#[derive(Debug)]
pub(super) struct Capabilities(Vec<Capability>);

impl Capabilities {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let File { a2a } = serde_saphyr::from_str(text)
            .map_err(|error| anyhow::Error::msg(error.without_snippet().to_string()))?;
        if a2a.enabled == Some(false) {
            bail!("`a2a.enabled` is false: the agent is not to be asked by others");
        }
        ensure!(!a2a.capabilities.is_empty(), "`a2a.capabilities` names nothing that it can do");
        let mut names = BTreeSet::new();
        let mut all = Vec::with_capacity(a2a.capabilities.len());
        for (index, written) in a2a.capabilities.into_iter().enumerate() {
            let at = || format!("`a2a.capabilities[{index}]`");
            let capability = match written {
                Value::String(name) => Capability { name, ..Capability::default() },
                written => serde_json::from_value(written).with_context(at)?,
            };
            ensure!(!capability.name.is_empty(), "{} has an empty name", at());
            ensure!(names.insert(capability.name.clone()), "{} is there twice", at());
            all.push(capability);
        }
        Ok(Self(all))
    }

    /// Returns them as skills of the agent's card.
    pub(super) fn skills(&self) -> impl Iterator<Item = AgentSkill> {
        self.0.iter().map(|Capability { name, description, .. }| {
            let description = description.as_deref().unwrap_or(name);
            AgentSkill::new(name, name, description, [name])
        })
    }

    /// Returns what is asked of payloads and callers.
    pub(super) fn envelope(&self) -> anyhow::Result<Opportunity> {
        let mut envelope = Opportunity::default();
        for Capability { name, payload_schema, allowed_agents, .. } in &self.0 {
            if let Some(schema) = payload_schema {
                envelope = envelope.schema(name, &schema.to_string())?;
            }
            if let Some(allowed) = allowed_agents {
                envelope = envelope.allow(name, allowed.iter().cloned());
            }
        }
        Ok(envelope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let read = Capabilities::parse(text).and_then(|all| all.envelope().map(|_| ()));
        let told = read.map_or_else(|error| format!("{error:#}"), |()| "good".to_owned());
        assert!(told.contains(expected), "{text}: {told}");
    }

    #[test]
    fn a_file_that_is_misspelt_lets_nobody_in() {
        check("name: a\na2a: {capabilities: [one, {capability: two}]}", "good");
        check("name: a", "a2a");
        check("a2a: {enabled: true}", "`a2a.capabilities` names nothing");
        check("a2a: {enabled: false, capabilities: [one]}", "`a2a.enabled` is false");
        let misspelt = "a2a: {capabilities: [one, {name: two, allowed_agent: [a]}]}";
        check(misspelt, "`a2a.capabilities[1]`: unknown field `allowed_agent`");
        check("a2a: {capabilities: [one, {name: one}]}", "`a2a.capabilities[1]` is there twice");
        check("a2a: {capabilities: [{name: one, payload_schema: {type: 7}}]}", "`one`");
    }
}
