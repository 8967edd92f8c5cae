//! What callers may have done, and what agents may be asked for.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroU64},
};

use nuncio_hub::{gateway, name::AgentName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Configuration, Placed, Problem, check::at};

/// What callers may have done, and what agents may be asked for.
///
/// Calls are messages; whoever is too fast is told to wait (429), and whoever has used up a day's
/// worth is told so (402). What a name does not say is as for `*`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Budgets {
    /// Of one caller: the name of an agent, `user:NAME`, or `*` for each of the others.
    pub callers: BTreeMap<String, Placed<Budget>>,
    /// Of one agent, for all its callers together: its name, or `*` for each of the others.
    pub agents: BTreeMap<String, Placed<Budget>>,
}

/// How much there may be. What is left out is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Budget {
    /// Calls in a minute.
    pub calls_per_minute: Option<NonZeroU32>,
    /// Calls in a day. Days begin at midnight, UTC, and are counted by all hubs on the database.
    pub calls_per_day: Option<NonZeroU64>,
    /// Tasks at once. A caller has so many that have not ended, in place of
    /// `limits.unfinished_tasks_per_caller`; an agent elsewhere works on so many, in place of
    /// `limits.calls_in_flight_per_agent`, and further calls wait.
    pub tasks_in_flight: Option<NonZeroU32>,
}

impl Budgets {
    /// Returns them as the gateway takes them.
    pub fn of_gateway(&self) -> gateway::Budgets {
        gateway::Budgets { callers: named(&self.callers), agents: named(&self.agents) }
    }
}

const EVERYBODY: &str = "*";

fn named(budgets: &BTreeMap<String, Placed<Budget>>) -> gateway::Named {
    let budget = |budget: &Placed<Budget>| gateway::Budget {
        calls_per_minute: budget.calls_per_minute.map(NonZeroU32::get),
        calls_per_day: budget.calls_per_day.map(NonZeroU64::get),
        tasks_in_flight: budget.tasks_in_flight.map(NonZeroU32::get),
    };
    let others = budgets.iter().filter(|(name, _)| *name != EVERYBODY);
    gateway::Named {
        usual: budgets.get(EVERYBODY).map(budget).unwrap_or_default(),
        named: others.map(|(name, one)| (name.clone(), budget(one))).collect(),
    }
}

/// Looks for names that nobody can have.
pub(super) fn check(configuration: &Configuration, problems: &mut Vec<Problem>) {
    let Budgets { callers, agents } = &configuration.budgets;
    let is_agent = |name: &str| name == EVERYBODY || AgentName::parse(name).is_ok();
    let is_caller = |name: &str| match name.strip_prefix("user:") {
        Some(user) => !user.is_empty(),
        None => is_agent(name),
    };
    for (name, budget) in callers.iter().filter(|(name, _)| !is_caller(name)) {
        let problem = at(budget, format!("budgets.callers.{name}"), "nobody can be called so");
        problems.push(problem.fix("write the name of an agent, `user:NAME`, or `*`"));
    }
    for (name, budget) in agents.iter().filter(|(name, _)| !is_agent(name)) {
        let problem = at(budget, format!("budgets.agents.{name}"), "no agent can be called so");
        problems.push(problem.fix("write the name of an agent, or `*`"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;

    #[test]
    fn names_say_what_is_different_from_everybody() {
        let text = "
budgets:
  callers:
    '*': {calls_per_minute: 60, calls_per_day: 1000}
    user:ann: {calls_per_day: 5}
  agents:
    writer: {tasks_in_flight: 2}
";
        let budgets = read(text, &[].into()).unwrap().budgets.of_gateway();
        let ann = budgets.callers.of("user:ann");
        assert_eq!((ann.calls_per_minute, ann.calls_per_day), (Some(60), Some(5)));
        assert_eq!(budgets.callers.of("user:bob").calls_per_day, Some(1000));
        assert_eq!(budgets.agents.of("writer").tasks_in_flight, Some(2));
        assert_eq!(budgets.agents.of("other").tasks_in_flight, None);
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (text, expected) in [
            ("budgets:\n  callers:\n    'team:a': {}", "line 3, column"),
            ("budgets:\n  callers:\n    'team:a': {}", "budgets.callers.team:a"),
            ("budgets: {agents: {'user:ann': {}}}", "no agent can be called so"),
            ("budgets: {agents: {a: {calls_per_day: 0}}}", "budgets.agents.a.calls_per_day"),
            ("budgets: {agents: {a: {calls: 1}}}", "`calls` is no key here"),
        ] {
            let told = read(text, &[].into()).unwrap_err().to_string();
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}
