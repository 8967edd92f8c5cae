//! What the hub counts, for Prometheus.
//!
//! Every label is an enum or a text of the program's own, so that the number of series is
//! bounded by the program and never by what peers send: a route is its pattern, never a path
//! with an id, and nobody's name is a label.
//!
//! The one exception are calls by agent, see `agents`.
//!
//! `docs/reference/telemetry.md` lists every metric.

mod agents;
mod calls;

use std::{fmt, sync::Arc, time::Duration};

use nuncio_protocol::{
    dialect::WireForm, error::ErrorKind, ids::Organisation, operation::Operation,
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use self::{agents::ByAgent, calls::Calls};
use crate::name::AgentName;

/// Counts what happens. Cheap to clone; all clones count together.
#[derive(Clone)]
pub struct Metrics {
    shared: Arc<Shared>,
}

/// The media type of what [`Metrics::render`] returns.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Seconds, from a decision of ours to an agent that thinks for minutes.
const BUCKETS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0];

/// How many agents have series of their own if nobody says otherwise.
const USUAL_AGENTS: usize = 100;

type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

struct Shared {
    registry: Registry,
    calls: Calls,
    errors: Family<ErrorLabels, Counter>,
    timeouts: Counter,
    http_requests: Family<HttpLabels, Counter>,
    http_seconds: Durations<RouteLabels>,
    agents: Family<StateLabels, Gauge>,
    heartbeats: Family<HeartbeatLabels, Counter>,
    decisions: Family<DecisionLabels, Counter>,
    streams: Gauge,
    rate_limited: Family<LimitLabels, Counter>,
    by_agent: ByAgent,
}

/// An A2A request that has ended.
#[derive(Clone, Copy, Debug)]
pub struct A2aRequest {
    /// Who asked whom.
    pub direction: Direction,
    /// What was asked; none if that could not be found out.
    pub operation: Option<Operation>,
    /// In what form; none if that could not be found out.
    pub form: Option<WireForm>,
    /// How it ended.
    pub status: Status,
    /// How long it took: to the answer, or to the end of the stream.
    pub duration: Duration,
}

/// Who asked whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// We asked an agent.
    Sent,
    /// We were asked.
    Received,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// With an answer.
    Success,
    /// With an error.
    Error,
    /// Too late.
    Timeout,
    /// The caller may not.
    Denied,
    /// The caller did not wait for the end.
    Left,
}

/// An HTTP request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// The method; one that HTTP does not define is counted as `OTHER`.
    pub method: &'a str,
    /// The pattern of the route, such as `/agents/{id}`; never the path.
    pub route: &'a str,
    /// The status of the answer.
    pub status: u16,
    /// How long it took to answer.
    pub duration: Duration,
}

/// What became of a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// It was taken.
    Accepted,
    /// Its agent is gone, or never was.
    Unknown,
    /// It came with the wrong credential, or was none.
    Refused,
}

/// Counts as one open stream until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct OpenStream(Gauge);

impl Metrics {
    /// Begins to count at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins to count at zero, with series of their own for so many agents.
    pub fn with_agents(most: usize) -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let mut shared = Shared {
            registry: Registry::default(),
            calls: Calls::new(histogram),
            errors: Family::default(),
            timeouts: Counter::default(),
            http_requests: Family::default(),
            http_seconds: Durations::new_with_constructor(histogram),
            agents: Family::default(),
            heartbeats: Family::default(),
            decisions: Family::default(),
            streams: Gauge::default(),
            rate_limited: Family::default(),
            by_agent: ByAgent::new(most),
        };
        shared.register();
        Self { shared: Arc::new(shared) }
    }

    /// Counts an A2A request that has ended.
    pub fn a2a_request(&self, request: &A2aRequest) {
        self.shared.calls.count(request);
        if request.status == Status::Timeout {
            self.shared.timeouts.inc();
        }
    }

    /// Counts a request to an agent of an organisation that has ended.
    pub fn agent_request(
        &self,
        agent: (&Organisation, &AgentName),
        status: Status,
        duration: Duration,
    ) {
        self.shared.by_agent.request(agent, status, duration);
    }

    /// Counts a request that was answered with nothing but that it takes longer.
    pub fn a2a_timeout(&self) {
        self.shared.timeouts.inc();
    }

    /// Counts an error by its kind.
    pub fn a2a_error(&self, kind: ErrorKind) {
        self.shared.errors.get_or_create(&ErrorLabels { r#type: kind.reason() }).inc();
    }

    /// Counts an HTTP request that was answered.
    pub fn http_request(&self, request: &HttpRequest<'_>) {
        let HttpRequest { status, duration, .. } = *request;
        let method = known_method(request.method);
        let labels = RouteLabels { method, route: request.route.to_owned() };
        self.shared.http_seconds.get_or_create(&labels).observe(duration.as_secs_f64());
        let labels = HttpLabels { method, route: labels.route, status };
        self.shared.http_requests.get_or_create(&labels).inc();
    }

    /// Says how many agents are in a state now.
    pub fn agents(&self, state: &'static str, count: usize) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.shared.agents.get_or_create(&StateLabels { state }).set(count);
    }

    /// Counts a heartbeat.
    pub fn heartbeat(&self, outcome: Heartbeat) {
        let outcome = outcome.as_str();
        self.shared.heartbeats.get_or_create(&HeartbeatLabels { outcome }).inc();
    }

    /// Counts a decision about who may call whom, with its reason in one word.
    pub fn decision(&self, allowed: bool, reason: &'static str) {
        let allowed = if allowed { "true" } else { "false" };
        self.shared.decisions.get_or_create(&DecisionLabels { allowed, reason }).inc();
    }

    /// Counts a stream as open for as long as the result lives.
    pub fn stream(&self) -> OpenStream {
        self.shared.streams.inc();
        OpenStream(self.shared.streams.clone())
    }

    /// Counts a request that was refused because there were too many.
    pub fn rate_limited(&self, limit: &'static str) {
        self.shared.rate_limited.get_or_create(&LimitLabels { limit }).inc();
    }

    /// Returns everything that was counted, in the text form of [`CONTENT_TYPE`].
    pub fn render(&self) -> String {
        write(&[&self.shared.registry, &self.shared.by_agent.registry])
    }

    /// Returns everything that was counted and names nobody.
    pub fn render_nameless(&self) -> String {
        write(&[&self.shared.registry])
    }
}

fn write(registries: &[&Registry]) -> String {
    let mut text = String::with_capacity(4096);
    for registry in registries {
        // Writing to a string cannot fail, and our own labels always can be written.
        let _ = text::encode_registry(&mut text, registry);
    }
    let _ = text::encode_eof(&mut text);
    text
}

impl Default for Metrics {
    fn default() -> Self {
        Self::with_agents(USUAL_AGENTS)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Shared {
    /// Gives everything its name. Counters get `_total` behind theirs by themselves, and the
    /// help its full stop.
    fn register(&mut self) {
        let registry = &mut self.registry;
        self.calls.register(registry);
        registry.register("a2a_errors", "A2A errors by kind", self.errors.clone());
        registry.register(
            "a2a_timeouts",
            "A2A requests that were not answered in time",
            self.timeouts.clone(),
        );
        registry.register(
            "http_requests",
            "HTTP requests that were answered",
            self.http_requests.clone(),
        );
        registry.register(
            "http_request_duration_seconds",
            "Time to the head of the answer",
            self.http_seconds.clone(),
        );
        registry.register("nuncio_agents", "Agents by state", self.agents.clone());
        registry.register("nuncio_heartbeats", "Heartbeats", self.heartbeats.clone());
        registry.register(
            "nuncio_policy_decisions",
            "Decisions about who may call whom",
            self.decisions.clone(),
        );
        registry.register("nuncio_open_streams", "Streams that are open now", self.streams.clone());
        registry.register(
            "nuncio_rate_limited",
            "Requests refused because there were too many",
            self.rate_limited.clone(),
        );
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Direction {
    /// Returns the value of the label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Received => "received",
        }
    }
}

impl Status {
    /// Returns the value of the label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Denied => "denied",
            Self::Left => "left",
        }
    }
}

impl Heartbeat {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
        }
    }
}

/// What could not be found out.
const UNKNOWN: &str = "unknown";

/// Anybody can invent methods.
fn known_method(method: &str) -> &'static str {
    const KNOWN: [&str; 9] =
        ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE"];
    KNOWN.into_iter().find(|known| *known == method).unwrap_or("OTHER")
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabels {
    r#type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HttpLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HeartbeatLabels {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    allowed: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    limit: &'static str,
}

#[cfg(test)]
mod tests {
    use openmetrics_parser::{OpenMetricsType, OpenMetricsValue, openmetrics::parse_openmetrics};

    use super::*;

    fn busy() -> Metrics {
        let metrics = Metrics::with_agents(2);
        let request = A2aRequest {
            direction: Direction::Received,
            operation: Some(Operation::SendMessage),
            form: Some(WireForm::V1),
            status: Status::Success,
            duration: Duration::from_millis(20),
        };
        metrics.a2a_request(&request);
        metrics.a2a_request(&A2aRequest { status: Status::Timeout, ..request });
        metrics.a2a_request(&A2aRequest { operation: None, form: None, ..request });
        metrics.a2a_error(ErrorKind::TaskNotFound);
        let duration = Duration::from_millis(1);
        for method in ["GET", "BREW", "X\"\n"] {
            let request = HttpRequest { method, route: "/agents/{id}", status: 200, duration };
            metrics.http_request(&request);
        }
        metrics.agents("online", 3);
        metrics.heartbeat(Heartbeat::Accepted);
        metrics.decision(false, "hierarchy");
        metrics.rate_limited("calls_per_minute");
        let acme = Organisation::parse("acme").unwrap();
        for agent in ["a", "a", "b", "c", "d"] {
            let agent = AgentName::parse(agent).unwrap();
            metrics.agent_request((&acme, &agent), Status::Success, duration);
        }
        metrics
    }

    /// Returns the value of a sample, as a real parser reads it.
    fn sample(text: &str, family: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let exposition = parse_openmetrics(text).expect("a parser of OpenMetrics reads it");
        let family = exposition.families.get(family)?;
        let names = family.get_label_names();
        let found = family.iter_samples().find(|sample| {
            let values = sample.get_labelset().expect("a sample has labels");
            labels.iter().all(|(name, value)| {
                names.iter().any(|known| known == name)
                    && values.get_label_value(name) == Some(value)
            })
        })?;
        Some(match &found.value {
            OpenMetricsValue::Counter(counter) => counter.value.as_f64(),
            OpenMetricsValue::Gauge(value) => value.as_f64(),
            #[expect(clippy::cast_precision_loss, reason = "the counts of a test are small")]
            OpenMetricsValue::Histogram(histogram) => histogram.count? as f64,
            other => panic!("an unexpected kind of value: {other:?}"),
        })
    }

    #[track_caller]
    fn check(family: &str, labels: &[(&str, &str)], expected: f64) {
        let text = busy().render();
        assert_eq!(sample(&text, family, labels), Some(expected), "{family} {labels:?}\n{text}");
    }

    #[test]
    fn t18_a_real_parser_reads_the_names_of_the_catalogue() {
        let call =
            [("direction", "received"), ("method", "SendMessage"), ("dialect", "A2A 1.0 JSON-RPC")];
        let with = |status| [&call[..], &[("status", status)]].concat();
        check("a2a_requests", &with("success"), 1.0);
        check("a2a_requests", &with("timeout"), 1.0);
        check("a2a_requests", &[("method", "unknown"), ("dialect", "unknown")], 1.0);
        check("a2a_request_duration_seconds", &call, 2.0);
        check("a2a_errors", &[("type", ErrorKind::TaskNotFound.reason())], 1.0);
        check("a2a_timeouts", &[], 1.0);
        let text = busy().render();
        for name in ["a2a_requests_total{", "a2a_errors_total{", "a2a_timeouts_total 1"] {
            assert!(text.contains(name), "{name}\n{text}");
        }
    }

    #[test]
    fn what_the_hub_does_is_counted() {
        check(
            "http_requests",
            &[("method", "GET"), ("route", "/agents/{id}"), ("status", "200")],
            1.0,
        );
        check("nuncio_agents", &[("state", "online")], 3.0);
        check("nuncio_heartbeats", &[("outcome", "accepted")], 1.0);
        check("nuncio_policy_decisions", &[("allowed", "false"), ("reason", "hierarchy")], 1.0);
        check("nuncio_rate_limited", &[("limit", "calls_per_minute")], 1.0);
    }

    #[test]
    fn the_page_of_telemetry_has_every_metric() {
        const PAGE: &str = include_str!("../../../docs/reference/telemetry.md");
        let (_, section) = PAGE.split_once("\n## Metrics\n").expect("a section");
        let rows = section.split("\n## ").next().expect("it ends").lines();
        let named = rows.filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let mut documented: Vec<&str> =
            named.map(|name| name.strip_suffix("_total").unwrap_or(name)).collect();
        let text = busy().render();
        let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
        let mut counted: Vec<&str> = kinds.collect();
        documented.sort_unstable();
        counted.sort_unstable();
        assert_eq!(documented, counted);
    }

    #[test]
    fn only_so_many_agents_have_series_of_their_own() {
        let named = |agent| [("organisation", "acme"), ("agent", agent), ("status", "success")];
        check("nuncio_agent_requests", &named("a"), 2.0);
        check("nuncio_agent_requests", &named("b"), 1.0);
        check("nuncio_agent_requests", &[("organisation", "other"), ("agent", "other")], 2.0);
        check("nuncio_agent_request_duration_seconds", &[("agent", "other")], 2.0);
        let text = busy().render();
        assert!(!text.contains("agent=\"c\""), "{text}");
        let nameless = busy().render_nameless();
        assert!(!nameless.contains("agent=\"") && nameless.ends_with("# EOF\n"), "{nameless}");
    }

    #[test]
    fn methods_that_somebody_invents_make_one_series() {
        check("http_requests", &[("method", "OTHER")], 2.0);
    }

    #[test]
    fn a_stream_counts_until_it_is_dropped() {
        let metrics = Metrics::new();
        let open = |metrics: &Metrics| sample(&metrics.render(), "nuncio_open_streams", &[]);
        let streams = [metrics.stream(), metrics.stream()];
        assert_eq!(open(&metrics), Some(2.0));
        drop(streams);
        assert_eq!(open(&metrics), Some(0.0));
    }

    #[test]
    fn kinds_of_metrics_are_declared() {
        let text = busy().render();
        let exposition = parse_openmetrics(&text).unwrap();
        let kind = |name: &str| exposition.families[name].family_type;
        assert_eq!(kind("a2a_requests"), OpenMetricsType::Counter);
        assert_eq!(kind("a2a_request_duration_seconds"), OpenMetricsType::Histogram);
        assert_eq!(kind("nuncio_agents"), OpenMetricsType::Gauge);
    }
}
