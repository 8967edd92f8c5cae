//! The file.

use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    dialect::{Legacy, Offered},
};
use serde::Deserialize;

use super::{
    fault::{CardFault, Fault},
    rule::Rule,
    step::Steps,
};

/// A script: who the agent is, what it does, what goes wrong.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Script {
    pub(super) card: Card,
    /// The versions of A2A that it speaks; all, if nothing is said.
    versions: Option<Vec<VersionName>>,
    dialects: Vec<Dialect>,
    pub(super) auth: Option<Auth>,
    pub(super) rules: Vec<Rule>,
    /// What is done where no rule fits: an echo, if nothing is said.
    pub(super) otherwise: Option<Steps>,
    pub(super) faults: Vec<Fault>,
}

/// Why a script cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {problem}")]
pub(super) struct Error {
    line: u64,
    column: u64,
    problem: String,
}

impl Script {
    pub(super) fn read(text: &str) -> Result<Self, Error> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        serde_saphyr::from_str(text).map_err(|error| {
            let place = error.location();
            let (line, column) = place.map_or((1, 1), |place| (place.line(), place.column()));
            // The first line says what is wrong; a picture of the place may follow.
            let text = error.without_snippet().to_string();
            let problem = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            let repeated = format!(" at line {line}, column {column}");
            let problem = problem.strip_suffix(&repeated).unwrap_or(problem).to_owned();
            Error { line, column, problem }
        })
    }

    /// Returns what is spoken beside A2A 1.0.
    pub(super) fn offered(&self) -> Offered {
        let has = |dialect| self.dialects.contains(&dialect);
        let speaks_v03 =
            self.versions.as_ref().is_none_or(|versions| versions.contains(&VersionName::V03));
        // One form answers methods with a slash: that of the dialect that was named last.
        let slashes = self.dialects.iter().rev().find_map(|dialect| match dialect {
            Dialect::Molecule => Some(Legacy::Molecule),
            Dialect::Pocketpaw => Some(Legacy::PocketPaw),
            Dialect::Harbor => Some(Legacy::Harbor),
            Dialect::Opportunity | Dialect::Upal | Dialect::Lenient => None,
        });
        Offered {
            legacy: slashes.or_else(|| speaks_v03.then_some(Legacy::V03)),
            molecule: has(Dialect::Molecule),
            opportunity: has(Dialect::Opportunity),
            upal: has(Dialect::Upal),
            pocketpaw: has(Dialect::Pocketpaw),
            lenient: has(Dialect::Lenient),
            only_legacy: self.is_old(),
        }
    }

    /// Tells whether it is an agent from before 1.0.
    pub(super) fn is_old(&self) -> bool {
        self.versions.as_ref().is_some_and(|versions| !versions.contains(&VersionName::V10))
    }

    /// Returns what is wrong with the card.
    pub(super) fn card_faults(&self) -> impl Iterator<Item = &CardFault> {
        self.faults.iter().filter_map(|fault| fault.card.as_ref())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum VersionName {
    #[serde(rename = "1.0")]
    V10,
    #[serde(rename = "0.3")]
    V03,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Dialect {
    Molecule,
    Pocketpaw,
    Harbor,
    Opportunity,
    Upal,
    /// A2A 1.0 whose callers may leave the version out.
    Lenient,
}

/// Who is let in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Auth {
    /// Keys as `nuncio key new` makes them. This is a file for tests, so they stand here.
    pub(super) keys: Vec<String>,
}

/// What the card says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Card {
    pub(super) name: String,
    description: Option<String>,
    version: String,
    skills: Option<Vec<Skill>>,
    pub(super) capabilities: Capabilities,
    input_modes: Vec<String>,
    output_modes: Vec<String>,
    /// What it declares, in place of all that it serves.
    pub(super) interfaces: Vec<Interface>,
    /// Whether it is signed, with a new key.
    pub(super) signed: bool,
}

impl Default for Card {
    fn default() -> Self {
        Self {
            name: "mock".to_owned(),
            description: None,
            version: "1.0.0".to_owned(),
            skills: None,
            capabilities: Capabilities::default(),
            input_modes: vec!["*/*".to_owned()],
            output_modes: vec!["*/*".to_owned()],
            interfaces: Vec::new(),
            signed: false,
        }
    }
}

impl Card {
    pub(super) fn build(&self) -> AgentCard {
        let description = self.description.as_deref().unwrap_or("Follows a script");
        let mut card = AgentCard::builder(&self.name)
            .description(description)
            .version(&self.version)
            .input_modes(&self.input_modes)
            .output_modes(&self.output_modes)
            .build();
        card.skills = match &self.skills {
            Some(skills) => skills.iter().map(Skill::build).collect(),
            None => vec![AgentSkill::new(&self.name, &self.name, description, [&self.name])],
        };
        card.capabilities.streaming = Some(self.capabilities.streaming);
        card.capabilities.push_notifications = Some(self.capabilities.push_notifications);
        card
    }
}

/// What the agent can do of A2A.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Capabilities {
    streaming: bool,
    push_notifications: bool,
    pub(super) extended_agent_card: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { streaming: true, push_notifications: true, extended_agent_card: false }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Skill {
    id: String,
    name: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    examples: Vec<String>,
}

impl Skill {
    fn build(&self) -> AgentSkill {
        let name = self.name.as_ref().unwrap_or(&self.id);
        let mut skill = AgentSkill::new(&self.id, name, &self.description, &self.tags);
        skill.examples.clone_from(&self.examples);
        skill
    }
}

/// A way in that the card declares.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Interface {
    /// Where it is; where the mock listens, if nothing is said.
    pub(super) url: Option<String>,
    pub(super) binding: String,
    pub(super) version: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(text: &str, line: u64, expected: &str) {
        let error = Script::read(text).unwrap_err();
        assert!(error.problem.contains(expected), "{error}");
        assert_eq!(error.line, line, "{error}");
    }

    #[test]
    fn nothing_is_a_script() {
        for text in ["", "{}", "# nothing\n", "card: {}\n"] {
            let script = Script::read(text).unwrap();
            assert_eq!(script.card.name, "mock", "{text}");
            assert!(script.rules.is_empty());
        }
    }

    #[test]
    fn mistakes_are_told_with_their_line_and_a_way_out() {
        check_refused("card:\n  nmae: x\n", 2, "nmae");
        check_refused("rules:\n  - then:\n      - sya: x\n", 3, "sya");
        check_refused("rules:\n  - then:\n      - say: '{{name}}'\n", 3, "{{input}}");
        check_refused("rules:\n  - then:\n      - delay: soon\n", 3, "write it like `2s`");
        check_refused("rules:\n  - when: {matches: '('}\n    then: []\n", 2, "unclosed group");
        check_refused("faults:\n  - on: SendMesage\n    status: 503\n", 2, "SendMessage");
        check_refused("dialects: [klingon]\n", 1, "molecule");
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (text, expected) in [
            ("otherwise:\n  - {say: a, ask: b}\n", "a step does one thing"),
            ("otherwise:\n  - {}\n", "without anything to do"),
            ("otherwise:\n  - {reply: a}\n  - {say: b}\n", "must be the only step"),
            ("otherwise:\n  - {state: completed}\n  - {say: b}\n", "step 1 ends the task"),
            ("otherwise:\n  - {say: a, text: b}\n", "belongs to a `state`"),
            ("faults:\n  - {first: 2}\n", "nothing goes wrong"),
            ("faults:\n  - {retry_after: 2s, delay: 1s}\n", "belongs to a `status`"),
            ("faults:\n  - {every: 0, delay: 1s}\n", "1 or more"),
            ("faults:\n  - {status: 99}\n", "100 to 999"),
            ("faults:\n  - {card: {huge: true}, first: 2}\n", "stands alone"),
        ] {
            let error = Script::read(text).unwrap_err();
            assert!(error.problem.contains(expected), "{text}: {error}");
        }
    }
}
