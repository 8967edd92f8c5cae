//! Who stands above whom is kept with every agent. Whatever is written, by us or by others, that
//! is what a walk from parent to parent finds.

use std::sync::Arc;

use nuncio_auth::rules::{AgentKey, MAX_DEPTH, Places as _};
use nuncio_hub::{
    Directory,
    agent::{Agent, Origin, Status},
    directory::{Actor, NewAgent, Options},
    memory::MemoryHub,
    state::State,
    store::{Commit, Committed, HubStore as _, Kind, Record},
};
use nuncio_protocol::ids::{AgentId, Organisation};
use proptest::prelude::*;

/// What becomes of an agent: another parent, organisation or status, or no record any more.
#[derive(Clone, Copy, Debug)]
struct Put {
    agent: usize,
    parent: Option<usize>,
    organisation: &'static str,
    status: Status,
    is_gone: bool,
}

impl Put {
    const fn new(agent: usize, parent: Option<usize>) -> Self {
        Self { agent, parent, organisation: "acme", status: Status::Online, is_gone: false }
    }
}

/// A directory whose records are written past it.
struct World {
    store: Arc<MemoryHub>,
    directory: Directory,
    pattern: Agent,
}

impl World {
    async fn new() -> Self {
        let store = Arc::new(MemoryHub::default());
        let directory = Directory::open(store.clone(), Options::default()).await.expect("it opens");
        let organisation = Organisation::parse("acme").expect("a name");
        let new = NewAgent::new("pattern".parse().expect("a name"));
        let pattern = directory.add(&organisation, new, Origin::Administrator, &Actor::hub()).await;
        let pattern = Agent::clone(&pattern.expect("it is added"));
        Self { store, directory, pattern }
    }

    async fn put(&self, put: Put) {
        let mut agent = self.pattern.clone();
        agent.id = id(put.agent);
        agent.organisation = Organisation::parse(put.organisation).expect("a name");
        let letter = |digit: usize| char::from(b"abcdefghij"[digit]);
        let name = format!("agent-{}{}", letter(put.agent / 10), letter(put.agent % 10));
        agent.name = name.parse().expect("a name");
        agent.parent = put.parent.map(id);
        agent.status = put.status;
        let body = serde_json::to_string(&agent).expect("JSON");
        let body = (!put.is_gone).then_some(body);
        let record = Record { kind: Kind::Agent, key: agent.id.as_str().to_owned(), body };
        let seen = self.directory.state().version();
        let commit = Commit { seen, records: vec![record], ..Commit::default() };
        let done = self.store.commit(commit).await.expect("it is written");
        assert!(matches!(done, Committed::Done { .. }));
        self.directory.refresh().await.expect("it is read");
    }

    #[track_caller]
    fn check(&self) {
        let state = self.directory.state();
        for agent in state.agents() {
            let Some(place) = state.place(&agent.id) else { continue };
            let above = |line: &[AgentKey]| line[1..].iter().map(AgentKey::id).cloned().collect();
            let kept: Option<Vec<AgentId>> = place.line.map(above);
            assert_eq!(kept, walk(&state, &agent.id), "above {}", agent.id);
        }
    }

    fn depth(&self, agent: usize) -> Option<usize> {
        self.directory.state().place(&id(agent))?.line.map(|line| line.len() - 1)
    }
}

fn id(number: usize) -> AgentId {
    AgentId::parse(&format!("a{number}")).expect("a short text is an identifier")
}

/// Goes up from an agent step by step.
fn walk(state: &State, id: &AgentId) -> Option<Vec<AgentId>> {
    let organisation = state.place(id)?.organisation;
    let mut above = Vec::new();
    let mut next = state.place(id)?.parent;
    while let Some(parent) = next {
        let place = state.place(parent).filter(|place| place.organisation == organisation)?;
        above.push(parent.clone());
        if above.len() >= MAX_DEPTH {
            return None;
        }
        next = place.parent;
    }
    Some(above)
}

fn put() -> impl Strategy<Value = Put> {
    let parent = proptest::option::weighted(0.8, 0..8_usize);
    let organisation = prop_oneof![9 => Just("acme"), 1 => Just("other")];
    let status = prop_oneof![9 => Just(Status::Online), 1 => Just(Status::Removed)];
    (0..8_usize, parent, organisation, status, prop::bool::weighted(0.1)).prop_map(
        |(agent, parent, organisation, status, is_gone)| Put {
            agent,
            parent,
            organisation,
            status,
            is_gone,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn those_above_are_known_whatever_is_moved_removed_or_tied_in_circles(
        puts in proptest::collection::vec(put(), 1..60)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let world = World::new().await;
            for put in puts {
                world.put(put).await;
                world.check();
            }
        });
    }
}

#[tokio::test]
async fn a_line_is_known_down_to_the_deepest_level_in_whatever_order_it_came() {
    let numbers: Vec<usize> = (0..MAX_DEPTH + 2).collect();
    for numbers in [numbers.clone(), numbers.into_iter().rev().collect()] {
        let world = World::new().await;
        for number in numbers {
            world.put(Put::new(number, number.checked_sub(1))).await;
            world.check();
        }
        assert_eq!(world.depth(MAX_DEPTH - 1), Some(MAX_DEPTH - 1));
        assert_eq!(world.depth(MAX_DEPTH), None);
    }
}
