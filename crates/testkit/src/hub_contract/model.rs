//! Any sequence of calls, against a store and against the one in memory.
//!
//! After every step the answers are compared, in the end everything that can be read is, from
//! every place on. Time plays no part: of heartbeats all is compared but their stamps.

use std::collections::BTreeMap;

use nuncio_hub::{
    memory::MemoryHub,
    store::{Commit, Committed, EventQuery, HubStore, Kind, NewEvent, Record, Version},
};
use nuncio_protocol::time::Timestamp;
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::{Just, Strategy, any, prop_oneof},
    test_runner::{Config, TestRunner},
};
use tokio::runtime::Runtime;

use super::{
    Fixture,
    story::{ALL, Documents, agent, apply, beats, changes, events, organisation, trail, version},
};

const ORGANISATIONS: [&str; 2] = ["acme", "globex"];
const AGENTS: [&str; 3] = ["a", "b", "c"];
const NAMES: [&str; 2] = ["ONLINE", "OFFLINE"];

/// Runs so many sequences of calls, each on a new store, and shows the shortest that goes wrong.
/// The factory is one as for the [checks](super::hub_contract_tests).
pub fn check<T: Into<Option<Fixture>>>(cases: u32, factory: impl AsyncFn() -> T) {
    let runtime = Runtime::new().expect("a runtime can be started");
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(&vec(steps(), 1..30), |steps| {
        runtime.block_on(async {
            let Some(fixture) = factory().await.into() else { return };
            let mut run = Run {
                store: fixture.store(),
                memory: MemoryHub::default(),
                history: vec![Documents::new()],
            };
            for step in steps {
                run.step(step).await;
            }
            run.compare().await;
        });
        Ok(())
    });
    if let Err(error) = run {
        panic!("{error}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Commit {
        /// How many versions the writer is behind.
        behind: u64,
        /// By kind and key, with what shall stand there.
        records: BTreeMap<(usize, u8), Option<u8>>,
        /// By organisation, agent and name.
        events: Vec<(usize, Option<usize>, usize)>,
        audit: u8,
    },
    Beat {
        agent: usize,
        body: u8,
    },
    Forget {
        agent: usize,
    },
    Audit {
        lines: u8,
    },
}

fn steps() -> impl Strategy<Value = Step> {
    let behind = prop_oneof![4 => Just(0_u64), 1 => 1_u64..3];
    let records =
        btree_map((0..Kind::ALL.len(), 0_u8..4), option::weighted(0.7, any::<u8>()), 0..4);
    let event = (0..ORGANISATIONS.len(), option::of(0..AGENTS.len()), 0..NAMES.len());
    let commit = (behind, records, vec(event, 0..3), 0_u8..3).prop_map(
        |(behind, records, events, audit)| Step::Commit { behind, records, events, audit },
    );
    let beat = (0..AGENTS.len(), any::<u8>()).prop_map(|(agent, body)| Step::Beat { agent, body });
    prop_oneof![
        4 => commit,
        3 => beat,
        1 => (0..AGENTS.len()).prop_map(|agent| Step::Forget { agent }),
        1 => (0_u8..3).prop_map(|lines| Step::Audit { lines }),
    ]
}

/// A store, and one that does the same.
struct Run<'a> {
    store: &'a dyn HubStore,
    memory: MemoryHub,
    /// What was there at each version.
    history: Vec<Documents>,
}

impl Run<'_> {
    async fn step(&mut self, step: Step) {
        let (store, memory) = (self.store, &self.memory);
        match step {
            Step::Commit { behind, records, events, audit } => {
                let commit = self.commit(behind, &records, events, audit);
                let done = store.commit(commit.clone()).await.expect("answered");
                assert_eq!(done, memory.commit(commit.clone()).await.expect("answered"));
                if done != Committed::Behind {
                    let mut documents = self.newest().clone();
                    for Record { kind, key, body } in commit.records {
                        match body {
                            Some(body) => documents.insert((kind, key), body),
                            None => documents.remove(&(kind, key)),
                        };
                    }
                    self.history.push(documents);
                }
            }
            Step::Beat { agent: name, body } => {
                for hub in [store, memory as &dyn HubStore] {
                    let name = agent(AGENTS[name]);
                    hub.beat(name, body.to_string()).await.expect("written");
                }
            }
            Step::Forget { agent: name } => {
                for hub in [store, memory as &dyn HubStore] {
                    hub.forget_beats(agent(AGENTS[name])).await.expect("written");
                }
            }
            Step::Audit { lines } => {
                for hub in [store, memory as &dyn HubStore] {
                    hub.audit(numbered(lines)).await.expect("written");
                }
            }
        }
    }

    fn commit(
        &self,
        behind: u64,
        records: &BTreeMap<(usize, u8), Option<u8>>,
        events: Vec<(usize, Option<usize>, usize)>,
        audit: u8,
    ) -> Commit {
        let newest = self.history.len() as u64 - 1;
        let records = records.iter().map(|((kind, key), body)| Record {
            kind: Kind::ALL[*kind],
            key: key.to_string(),
            body: body.map(|body| body.to_string()),
        });
        let events = events.into_iter().map(|(one, about, name)| NewEvent {
            organisation: organisation(ORGANISATIONS[one]),
            name: NAMES[name].to_owned(),
            agent: about.map(|about| agent(AGENTS[about])),
            at: Timestamp::from_parts(1_780_000_000, 0).expect("the year 2026 is there"),
            payload: "{}".to_owned(),
        });
        Commit {
            seen: Version(newest.saturating_sub(behind)),
            records: records.collect(),
            events: events.collect(),
            audit: numbered(audit),
        }
    }

    fn newest(&self) -> &Documents {
        self.history.last().expect("the first version is empty, but there")
    }

    async fn compare(&self) {
        let memory: &dyn HubStore = &self.memory;
        assert_eq!(version(self.store).await, version(memory).await);
        for (after, then) in (0..).map(Version).zip(&self.history) {
            let mut documents = then.clone();
            apply(&mut documents, &changes(self.store, after).await);
            assert_eq!(&documents, self.newest(), "since {after:?}");
        }
        self.compare_events(memory).await;
        let (tick, _) = beats(memory, 0).await;
        for after in 0..=tick {
            assert_eq!(beats(self.store, after).await, beats(memory, after).await, "{after}");
        }
        assert_eq!(trail(self.store).await, trail(memory).await);
    }

    async fn compare_events(&self, memory: &dyn HubStore) {
        let last = memory.last_event().await.expect("answered");
        assert_eq!(self.store.last_event().await.expect("answered"), last);
        for one in ORGANISATIONS {
            for about in [None, Some(AGENTS[0])] {
                for name in [None, Some(NAMES[0])] {
                    let query = EventQuery {
                        organisation: organisation(one),
                        agent: about.map(agent),
                        name: name.map(str::to_owned),
                        after: last / 2,
                        limit: ALL,
                    };
                    let found = events(self.store, query.clone()).await;
                    assert_eq!(found, events(memory, query.clone()).await, "{query:?}");
                }
            }
        }
    }
}

fn numbered(lines: u8) -> Vec<String> {
    (0..lines).map(|number| number.to_string()).collect()
}
