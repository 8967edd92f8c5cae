//! The decision.

use std::sync::Arc;

use foldhash::HashMap;
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    operation::Operation,
};

use super::{
    decision::{Decision, Reason},
    grant::{Grant, Operations, Skills, names_skill},
    index::{Index, Named},
    places::{Line, Place, Places, SkillLimit},
    rule::{Effect, Rule},
};

/// Who may call whom.
///
/// Made from all rules at once and then read only; a change makes a new one.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    settings: Settings,
    organisations: HashMap<Organisation, Index>,
}

/// What the hierarchy allows by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Settings {
    /// How far up and down.
    pub hierarchy: Hierarchy,
    /// Whether agents without a parent are siblings of one another.
    pub root_siblings: bool,
}

/// How far up and down the hierarchy agents may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Hierarchy {
    /// One step: parent, children, siblings.
    #[default]
    Strict,
    /// All the way: also whoever is above or below.
    Lineage,
}

/// Somebody who wants to call an agent. Who they are must be proved before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker<'a> {
    /// An agent.
    Agent {
        /// Which.
        id: &'a AgentId,
        /// The organisation its credential is for.
        organisation: &'a Organisation,
    },
    /// A person.
    User {
        /// Their name.
        name: &'a str,
        /// Their organisation.
        organisation: &'a Organisation,
    },
    /// An administrator of an organisation. Denying rules about everybody bind them too: they
    /// may change a rule, but they do not overlook it.
    Administrator {
        /// Their organisation.
        organisation: &'a Organisation,
    },
}

/// What is to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// Who calls.
    pub caller: Asker<'a>,
    /// Who is called.
    pub target: &'a AgentId,
    /// What is asked for; `None`: anything at all.
    pub operation: Option<Operation>,
    /// For which skill a message is; with no operation, whether the skill may be used.
    pub skill: Option<&'a str>,
}

impl Rules {
    /// Makes an index of all rules of all organisations.
    pub fn new(settings: Settings, rules: impl IntoIterator<Item = Rule>) -> Self {
        let mut organisations = HashMap::<Organisation, Index>::default();
        for rule in rules {
            organisations.entry(rule.organisation.clone()).or_default().add(Arc::new(rule));
        }
        Self { settings, organisations }
    }

    /// Decides whether somebody may call an agent.
    ///
    /// The cost grows with the depth of the two in the hierarchy and with the rules about
    /// them, not with the number of agents or rules.
    pub fn decide(&self, places: &impl Places, question: &Question<'_>) -> Decision {
        match self.case(places, question.caller, question.target) {
            Ok(case) => case.decide(question.operation, question.skill),
            Err(decision) => decision,
        }
    }

    /// Returns what somebody may do at an agent that has these skills, for a pair token.
    ///
    /// Grants never more than [`decide`](Self::decide) allows. It may be less where rules
    /// permit different skills for sending and for streaming: then those that both permit.
    pub fn grant<'s>(
        &self,
        places: &impl Places,
        (caller, target): (Asker<'_>, &AgentId),
        skills: impl IntoIterator<Item = &'s str>,
    ) -> Result<Grant, Decision> {
        let case = self.case(places, caller, target)?;
        let decision = case.decide(None, None);
        if !decision.is_allowed() {
            return Err(decision);
        }
        Ok(case.grant(&skills.into_iter().collect::<Vec<_>>()))
    }

    /// Finds out all that a decision takes, whatever the operation and the skill.
    fn case<'a>(
        &'a self,
        places: &'a impl Places,
        caller: Asker<'a>,
        target: &'a AgentId,
    ) -> Result<Case<'a>, Decision> {
        let deny = |reason| move || Decision::new(reason);
        let organisation = caller.organisation();
        let is_ours = |place: &Place<'_>| place.organisation == organisation;
        let standing = match caller {
            Asker::Agent { id, .. } => {
                let place = places.place(id).filter(is_ours);
                Some((id, place.ok_or_else(deny(Reason::UnknownCaller))?))
            }
            Asker::User { .. } | Asker::Administrator { .. } => None,
        };
        let place = places.place(target).filter(is_ours).ok_or_else(deny(Reason::NotFound))?;
        if standing.is_some_and(|(id, _)| id == target) {
            return Ok(Case::of_itself());
        }
        let line =
            |agent, place| Line::from(places, agent, place).ok_or_else(deny(Reason::BrokenTree));
        let below = line(target, place)?;
        let own = standing.map(|(id, place)| line(id, place)).transpose()?;
        let (named, natural) = match (caller, &own) {
            (Asker::User { name, .. }, _) => (Named::User(name), Some(Reason::Member)),
            (_, Some(own)) => (Named::Agent(own), self.settings.kinship(own, &below)),
            (_, None) => (Named::Administrator, Some(Reason::Administrator)),
        };
        let index = self.organisations.get(organisation);
        let rules = index.map(|index| index.about(&named, &below)).unwrap_or_default();
        Ok(Case { caller: standing.map(|(id, _)| id), natural, rules, limits: place.limits })
    }
}

impl Settings {
    /// Returns what the caller is to the target, if that is enough to call it.
    fn kinship(self, caller: &Line<'_>, target: &Line<'_>) -> Option<Reason> {
        let is_parent = |line: &Line<'_>, other: &Line<'_>| {
            line.parent().is_some_and(|one| Some(one) == other.agent())
        };
        let is_lineage = self.hierarchy == Hierarchy::Lineage;
        let is_above = |line: &Line<'_>, other: &Line<'_>| {
            is_lineage && line.agent().is_some_and(|agent| other.contains(agent))
        };
        match (caller.parent(), target.parent()) {
            _ if is_parent(target, caller) => Some(Reason::Parent),
            _ if is_parent(caller, target) => Some(Reason::Child),
            (Some(one), Some(other)) if one == other => Some(Reason::Sibling),
            (None, None) => self.root_siblings.then_some(Reason::RootSibling),
            _ if is_above(caller, target) => Some(Reason::Ancestor),
            _ if is_above(target, caller) => Some(Reason::Descendant),
            _ => None,
        }
    }
}

/// All that a decision about two takes.
struct Case<'a> {
    /// The calling agent, if it is one.
    caller: Option<&'a AgentId>,
    /// Why the caller may call without any rule.
    natural: Option<Reason>,
    /// The rules about the two.
    rules: Vec<&'a Rule>,
    limits: &'a [SkillLimit],
}

impl Case<'_> {
    fn of_itself() -> Self {
        Self { caller: None, natural: Some(Reason::Itself), rules: Vec::new(), limits: &[] }
    }

    fn decide(&self, operation: Option<Operation>, skill: Option<&str>) -> Decision {
        // What is not a message is about a task, and not for a skill.
        let is_message = operation.is_none_or(names_skill);
        let asked = Asked { operation, skill: skill.filter(|_| is_message) };
        let mut needs_skill = None;
        for rule in self.with(Effect::Deny) {
            match asked.is_denied_by(rule) {
                Hit::Yes => return Decision::by_rule(Reason::RuleDenies, &rule.id),
                Hit::Perhaps => needs_skill = needs_skill.or(Some(rule)),
                Hit::No => {}
            }
        }
        let granted =
            match (self.with(Effect::Allow).find(|rule| asked.is_allowed_by(rule)), self.natural) {
                (Some(rule), _) => Decision::by_rule(Reason::RuleAllows, &rule.id),
                (None, Some(reason)) => Decision::new(reason),
                (None, None) => {
                    return match self.with(Effect::Allow).next() {
                        Some(rule) => Decision::by_rule(Reason::OutsideRule, &rule.id),
                        None => Decision::new(Reason::Unrelated),
                    };
                }
            };
        if let Some(rule) = needs_skill {
            return Decision::by_rule(Reason::SkillRequired, &rule.id);
        }
        match self.skill_limit(asked) {
            Some(reason) => Decision::new(reason),
            None => granted,
        }
    }

    /// Returns why the target's limits on skills keep the caller out, if they do.
    fn skill_limit(&self, asked: Asked<'_>) -> Option<Reason> {
        let caller = self.caller?;
        let mut closed = self.limits.iter().filter(|limit| !limit.allows(caller));
        match asked {
            Asked { skill: Some(skill), .. } => {
                closed.any(|limit| limit.skill() == skill).then_some(Reason::SkillLimited)
            }
            Asked { operation: Some(operation), .. } if names_skill(operation) => {
                closed.next().map(|_| Reason::SkillRequired)
            }
            _ => None,
        }
    }

    fn grant(&self, skills: &[&str]) -> Grant {
        let allows = |operation, skill| self.decide(Some(operation), skill).is_allowed();
        let allows_some = |operation: &Operation| {
            allows(*operation, None) || skills.iter().any(|skill| allows(*operation, Some(skill)))
        };
        let operations: Operations = Operation::ALL.iter().copied().filter(allows_some).collect();
        let sending: Vec<_> = operations.iter().filter(|one| names_skill(*one)).collect();
        let allowed = |skill| sending.iter().all(|operation| allows(*operation, skill));
        if allowed(None) {
            return Grant { operations, skills: Skills::Any };
        }
        let only: Vec<_> = skills.iter().copied().filter(|skill| allowed(Some(skill))).collect();
        if only.is_empty() {
            let operations = operations.iter().filter(|one| !names_skill(*one)).collect();
            return Grant { operations, skills: Skills::Any };
        }
        let skills = only.into_iter().collect();
        Grant { operations, skills }
    }

    fn with(&self, effect: Effect) -> impl Iterator<Item = &Rule> {
        self.rules.iter().copied().filter(move |rule| rule.effect == effect)
    }
}

/// What is asked for; a skill only of what can have one.
#[derive(Clone, Copy)]
struct Asked<'a> {
    operation: Option<Operation>,
    skill: Option<&'a str>,
}

/// Whether a rule that denies applies.
enum Hit {
    Yes,
    No,
    /// It does if the message is for one of its skills, which the message does not say.
    Perhaps,
}

impl Asked<'_> {
    fn is_denied_by(self, rule: &Rule) -> Hit {
        let has = |operation| rule.operations.contains(operation);
        let is_about_it = match (self.operation, self.skill) {
            (Some(operation), _) => has(operation),
            // Of a skill nothing is left without messages, of an agent there is.
            (None, Some(_)) => has(Operation::SendMessage) && has(Operation::SendStreamingMessage),
            (None, None) => rule.operations.is_all(),
        };
        match (&rule.skills, self.operation, self.skill) {
            _ if !is_about_it => Hit::No,
            (Skills::Any, ..) => Hit::Yes,
            (only, _, Some(skill)) if only.contains(Some(skill)) => Hit::Yes,
            (_, Some(operation), None) if names_skill(operation) => Hit::Perhaps,
            _ => Hit::No,
        }
    }

    fn is_allowed_by(self, rule: &Rule) -> bool {
        let is_about_it = match (self.operation, self.skill) {
            (Some(operation), _) => rule.operations.contains(operation),
            (None, Some(_)) => rule.operations.iter().any(names_skill),
            (None, None) => !rule.operations.is_empty(),
        };
        let needs_no_skill = self.skill.is_none() && !self.operation.is_some_and(names_skill);
        is_about_it && (needs_no_skill || rule.skills.contains(self.skill))
    }
}

impl<'a> Asker<'a> {
    /// Returns their organisation.
    pub fn organisation(&self) -> &'a Organisation {
        match self {
            Self::Agent { organisation, .. }
            | Self::User { organisation, .. }
            | Self::Administrator { organisation } => organisation,
        }
    }
}

impl<'a> Question<'a> {
    /// Asks whether somebody may call an agent at all.
    pub fn new(caller: Asker<'a>, target: &'a AgentId) -> Self {
        Self { caller, target, operation: None, skill: None }
    }
}
