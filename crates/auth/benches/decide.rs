//! What a decision costs with 10,000 agents and 3,000 rules: `cargo bench -p nuncio-auth`.
#![expect(clippy::print_stdout, reason = "the figure is the point")]

use std::hint::black_box;

use foldhash::HashMap;
use nuncio_auth::rules::{
    Asker, Effect, Hierarchy, Place, Places, Question, Rule, Rules, Settings, Who,
};
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    operation::Operation,
};
use tokio::time::Instant;

const AGENTS: usize = 10_000;
const RULES: usize = 3_000;
const ROUNDS: usize = 1_000_000;

struct Directory {
    acme: Organisation,
    parents: HashMap<AgentId, Option<AgentId>>,
}

impl Places for Directory {
    fn place(&self, agent: &AgentId) -> Option<Place<'_>> {
        let parent = self.parents.get(agent)?.as_ref();
        Some(Place { organisation: &self.acme, parent, line: None, limits: &[] })
    }
}

fn main() {
    let acme = Organisation::parse("acme").expect("an organisation");
    let agents: Vec<AgentId> = (0..AGENTS).map(|_| AgentId::generate()).collect();
    // Each has five children, so the tree has six or seven levels.
    let parent = |index: usize| index.checked_sub(1).map(|index| agents[index / 5].clone());
    let parents = agents.iter().enumerate().map(|(index, agent)| (agent.clone(), parent(index)));
    let directory = Directory { acme: acme.clone(), parents: parents.collect() };
    let some = |number: usize| agents[number * 7_919 % AGENTS].clone();
    let rules = (0..RULES).map(|number| {
        let effect = if number % 3 == 0 { Effect::Deny } else { Effect::Allow };
        let caller =
            if number % 2 == 0 { Who::Team(some(number)) } else { Who::Agent(some(number)) };
        let target = if number % 5 == 0 {
            Who::Team(some(number + 1))
        } else {
            Who::Agent(some(number + 1))
        };
        Rule::new(number.to_string(), acme.clone(), effect, (caller, target))
    });
    let settings = Settings { hierarchy: Hierarchy::Lineage, ..Settings::default() };
    let rules = Rules::new(settings, rules);

    let began = Instant::now();
    let mut allowed = 0;
    for round in 0..ROUNDS {
        let (caller, target) = (&agents[round * 31 % AGENTS], &agents[round * 17 % AGENTS]);
        let question = Question {
            operation: Some(Operation::SendMessage),
            ..Question::new(Asker::Agent { id: caller, organisation: &acme }, target)
        };
        allowed += usize::from(black_box(rules.decide(&directory, &question)).is_allowed());
    }
    let nanoseconds = began.elapsed().as_nanos() / ROUNDS as u128;
    println!("{nanoseconds} ns a decision, {AGENTS} agents, {RULES} rules, {allowed} allowed");
}
