//! Calls by agent, for as many agents as are worth their series.
//!
//! Names are data, not program text: whoever registers agents would decide how many series there
//! are, and read the names of other organisations. So only the first so many have their own, all
//! others share one, and only the hub's own organisation is shown them.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};

use super::{BUCKETS, Durations, Status};

/// The label of agents that have no series of their own.
const OTHER: &str = "other";

/// Counts calls by agent.
pub(super) struct ByAgent {
    pub(super) registry: Registry,
    most: usize,
    known: Mutex<HashSet<AgentLabels>>,
    requests: Family<OutcomeLabels, Counter>,
    seconds: Durations<AgentLabels>,
}

impl ByAgent {
    /// Gives the first so many agents series of their own.
    pub(super) fn new(most: usize) -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let mut by_agent = Self {
            registry: Registry::default(),
            most,
            known: Mutex::default(),
            requests: Family::default(),
            seconds: Durations::new_with_constructor(histogram),
        };
        by_agent.registry.register(
            "nuncio_agent_requests",
            "A2A requests to agents through the hub that have ended",
            by_agent.requests.clone(),
        );
        by_agent.registry.register(
            "nuncio_agent_request_duration_seconds",
            "Time to the answer of an agent, or to the end of the stream",
            by_agent.seconds.clone(),
        );
        by_agent
    }

    pub(super) fn request(
        &self,
        (organisation, agent): (&str, &str),
        status: Status,
        duration: Duration,
    ) {
        let labels = self.labels(organisation, agent);
        let AgentLabels { organisation, agent } = labels.clone();
        let outcome = OutcomeLabels { organisation, agent, status: status.as_str() };
        self.requests.get_or_create(&outcome).inc();
        self.seconds.get_or_create(&labels).observe(duration.as_secs_f64());
    }

    fn labels(&self, organisation: &str, agent: &str) -> AgentLabels {
        let labels = AgentLabels { organisation: organisation.to_owned(), agent: agent.to_owned() };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(&labels) {
            return labels;
        }
        if known.len() < self.most {
            known.insert(labels.clone());
            return labels;
        }
        AgentLabels { organisation: OTHER.to_owned(), agent: OTHER.to_owned() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AgentLabels {
    organisation: String,
    agent: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    organisation: String,
    agent: String,
    status: &'static str,
}
