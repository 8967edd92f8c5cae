//! Calls by agent, for as many agents as are worth their series.
//!
//! Names are data, not program text: whoever registers agents would decide how many series there
//! are, and read the names of other organisations. So only the first so many have their own, all
//! others share one, and only the hub's own organisation is shown them.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use foldhash::HashMap;
use nuncio_protocol::ids::Organisation;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};

use super::{BUCKETS, Durations, Status};
use crate::name::AgentName;

/// The label of agents that have no series of their own.
const OTHER: &str = "other";

/// Counts calls by agent.
pub(super) struct ByAgent {
    pub(super) registry: Registry,
    most: usize,
    /// Those with series of their own.
    known: Mutex<HashMap<(Organisation, AgentName), Series>>,
    requests: Family<OutcomeLabels, Counter>,
    seconds: Durations<AgentLabels>,
}

/// The series of an agent. Kept, since a family reads all labels to find one.
struct Series {
    requests: HashMap<Status, Counter>,
    seconds: Histogram,
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
        (organisation, agent): (&Organisation, &AgentName),
        status: Status,
        duration: Duration,
    ) {
        let key = (organisation.clone(), agent.clone());
        let labels = (organisation.as_str(), agent.as_str());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.most && !known.contains_key(&key) {
            self.outcomes((OTHER, OTHER), status).inc();
            self.seconds((OTHER, OTHER)).observe(duration.as_secs_f64());
            return;
        }
        let series = known.entry(key).or_insert_with(|| Series {
            requests: HashMap::default(),
            seconds: self.seconds(labels),
        });
        series.requests.entry(status).or_insert_with(|| self.outcomes(labels, status)).inc();
        series.seconds.observe(duration.as_secs_f64());
    }

    fn outcomes(&self, (organisation, agent): (&str, &str), status: Status) -> Counter {
        self.requests.get_or_create_owned(&OutcomeLabels {
            organisation: organisation.to_owned(),
            agent: agent.to_owned(),
            status: status.as_str(),
        })
    }

    fn seconds(&self, (organisation, agent): (&str, &str)) -> Histogram {
        self.seconds.get_or_create_owned(&AgentLabels {
            organisation: organisation.to_owned(),
            agent: agent.to_owned(),
        })
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
