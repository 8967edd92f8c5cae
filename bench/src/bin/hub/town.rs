//! A directory of ten thousand agents, in a tree, with rules.

use std::sync::Arc;

use nuncio_auth::rules::{Effect, Rule, Who};
use nuncio_hub::{
    Directory,
    agent::{Card, Origin},
    directory::{Actor, NewAgent, Options},
    memory::MemoryHub,
};
use nuncio_protocol::ids::{AgentId, Organisation};

pub(crate) const AGENTS: usize = 10_000;

/// Each agent has so many below it.
const BELOW: usize = 8;

const RULES: usize = 1_000;

/// A directory of ten thousand agents.
pub(crate) struct Town {
    pub(crate) directory: Directory,
    pub(crate) organisation: Organisation,
    /// In the order in which they came: the one above number `n` is number `(n - 1) / 8`.
    pub(crate) agents: Vec<AgentId>,
}

impl Town {
    pub(crate) async fn new() -> Self {
        let store = Arc::new(MemoryHub::default());
        let directory = Directory::open(store, Options::default()).await.expect("it opens");
        let organisation = Organisation::parse("town").expect("a name");
        let actor = Actor::hub();
        let mut agents: Vec<AgentId> = Vec::with_capacity(AGENTS);
        for number in 0..AGENTS {
            let name = format!("agent-{}", letters(number)).parse().expect("a name");
            let mut new = NewAgent::new(name);
            new.parent = number.checked_sub(1).map(|place| agents[place / BELOW].clone());
            new.card = Some(card(number));
            let agent = directory.add(&organisation, new, Origin::Administrator, &actor).await;
            agents.push(agent.expect("it can be added").id.clone());
        }
        for number in 0..RULES {
            let caller = Who::Agent(agents[number * 7 % AGENTS].clone());
            let target = Who::Team(agents[number * 11 % AGENTS].clone());
            let effect = if number % 2 == 0 { Effect::Allow } else { Effect::Deny };
            let rule =
                Rule::new(format!("r{number}"), organisation.clone(), effect, (caller, target));
            directory.put_rule(&rule, &actor).await.expect("it is taken");
        }
        Self { directory, organisation, agents }
    }
}

/// Spells a number in letters that look like no other.
pub(crate) fn letters(number: usize) -> String {
    const LETTERS: &[u8] = b"aefghjkpqt";
    let digits = number.to_string();
    digits.bytes().map(|digit| char::from(LETTERS[usize::from(digit - b'0')])).collect()
}

fn card(number: usize) -> Card {
    let text = format!(
        r#"{{"name":"Agent {number}","description":"Does what number {number} does","version":"1","supportedInterfaces":[{{"url":"https://a{number}.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}}],"skills":[{{"id":"skill-{}","name":"Skill","description":"A skill","tags":["tag-{}"]}}],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"]}}"#,
        number % 100,
        number % 10
    );
    Card::parse(&text).expect("a card")
}
