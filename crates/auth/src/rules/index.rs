//! The rules of one organisation, found by who calls and who is called.
//!
//! Everybody whom a rule names gets a number for each side. A pair of numbers leads to the
//! rules about that pair, so a decision costs a look-up for each agent above the two and one
//! for each pair of those that are named at all, however many rules there are.

use std::sync::Arc;

use foldhash::HashMap;

use super::{
    key::{AgentKey, KeyMap},
    places::Line,
    rule::{Rule, Who},
};

/// The rules of one organisation.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    callers: Side,
    targets: Side,
    rules: HashMap<(Number, Number), Vec<Arc<Rule>>>,
}

type Number = u32;

/// Whom rules name on one side, and by which number.
#[derive(Clone, Debug, Default)]
struct Side {
    any: Option<Number>,
    agents: KeyMap<Names>,
    users: HashMap<Arc<str>, Number>,
    count: Number,
}

#[derive(Clone, Copy, Debug, Default)]
struct Names {
    agent: Option<Number>,
    team: Option<Number>,
}

impl Index {
    pub(super) fn add(&mut self, rule: Arc<Rule>) {
        let pair = (self.callers.number(&rule.caller), self.targets.number(&rule.target));
        let rules = self.rules.entry(pair).or_default();
        // By id, so that the first rule that fits does not depend on the order of a store.
        let at = rules.partition_point(|one| one.id <= rule.id);
        rules.insert(at, rule);
    }

    /// Returns all rules about a caller and a target, by id.
    pub(super) fn about(&self, caller: &Named<'_>, target: &Line<'_>) -> Vec<&Rule> {
        let callers = self.callers.numbers(caller);
        if callers.is_empty() {
            return Vec::new();
        }
        let targets = self.targets.numbers(&Named::Agent(target));
        let pairs = callers.iter().flat_map(|one| targets.iter().map(|other| (*one, *other)));
        let found = pairs.filter_map(|pair| self.rules.get(&pair)).flatten();
        let mut rules: Vec<&Rule> = found.map(Arc::as_ref).collect();
        rules.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        rules
    }
}

/// Somebody with all names under which a rule may mean them.
pub(super) enum Named<'a> {
    Agent(&'a Line<'a>),
    User(&'a str),
    Administrator,
}

impl Side {
    fn number(&mut self, who: &Who) -> Number {
        let slot = match who {
            Who::Any => &mut self.any,
            Who::Agent(agent) => &mut self.agents.entry(AgentKey::new(agent)).or_default().agent,
            Who::Team(agent) => &mut self.agents.entry(AgentKey::new(agent)).or_default().team,
            Who::User(name) => {
                let next = self.count;
                let number = *self.users.entry(Arc::clone(name)).or_insert(next);
                self.count += Number::from(number == next);
                return number;
            }
        };
        let next = self.count;
        let number = *slot.get_or_insert(next);
        self.count += Number::from(number == next);
        number
    }

    fn numbers(&self, named: &Named<'_>) -> Vec<Number> {
        let mut numbers: Vec<Number> = self.any.into_iter().collect();
        match named {
            Named::Agent(line) if !self.agents.is_empty() => {
                for (level, agent) in line.iter().enumerate() {
                    let Some(known) = self.agents.get(agent) else { continue };
                    numbers.extend(known.agent.filter(|_| level == 0));
                    numbers.extend(known.team);
                }
            }
            Named::Agent(_) | Named::Administrator => {}
            Named::User(name) => numbers.extend(self.users.get(*name)),
        }
        numbers
    }
}
