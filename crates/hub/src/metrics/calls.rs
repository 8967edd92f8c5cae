//! A2A requests by what was asked and how it ended.
//!
//! A family finds a series by the texts of its labels, which costs far more than to count. So
//! series are kept by what these texts are made of.

use std::sync::{PoisonError, RwLock};

use foldhash::HashMap;
use nuncio_protocol::{dialect::WireForm, operation::Operation};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};

use super::{A2aRequest, Direction, Durations, Status, UNKNOWN};

/// Counts A2A requests.
pub(super) struct Calls {
    requests: Family<RequestLabels, Counter>,
    seconds: Durations<CallLabels>,
    known: RwLock<HashMap<Kind, Series>>,
}

/// What requests have in common that are counted together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    direction: Direction,
    operation: Option<Operation>,
    form: Option<WireForm>,
    status: Status,
}

struct Series {
    requests: Counter,
    seconds: Histogram,
}

impl Calls {
    pub(super) fn new(histogram: fn() -> Histogram) -> Self {
        let seconds = Durations::new_with_constructor(histogram);
        Self { requests: Family::default(), seconds, known: RwLock::default() }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("a2a_requests", "A2A requests that have ended", self.requests.clone());
        registry.register(
            "a2a_request_duration_seconds",
            "Time to the answer, or to the end of the stream",
            self.seconds.clone(),
        );
    }

    pub(super) fn count(&self, request: &A2aRequest) {
        let A2aRequest { direction, operation, form, status, duration } = *request;
        let kind = Kind { direction, operation, form, status };
        let count = |series: &Series| {
            series.requests.inc();
            series.seconds.observe(duration.as_secs_f64());
        };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = known.get(&kind) {
            return count(series);
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        count(known.entry(kind).or_insert_with(|| self.find(kind)));
    }

    fn find(&self, kind: Kind) -> Series {
        let direction = kind.direction.as_str();
        let method = kind.operation.map_or(UNKNOWN, Operation::name);
        let dialect = kind.form.map_or(UNKNOWN, WireForm::name);
        let status = kind.status.as_str();
        let requests = RequestLabels { direction, method, dialect, status };
        let seconds = CallLabels { direction, method, dialect };
        Series {
            requests: self.requests.get_or_create_owned(&requests),
            seconds: self.seconds.get_or_create_owned(&seconds),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    direction: &'static str,
    method: &'static str,
    dialect: &'static str,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    direction: &'static str,
    method: &'static str,
    dialect: &'static str,
}
