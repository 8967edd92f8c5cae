//! A plan, told one thing after the other. Each file is about one part of what it decides.

mod any;
mod edges;
mod events;
mod failures;
mod items;
mod loops;
mod order;
mod rerun;

use std::collections::{BTreeMap, HashMap};

use nuncio_protocol::{ids::ArtifactId, json::Raw};

use super::*;

/// Puts a workflow together: nodes as `name` or `name: config` of type agent, but for `in` and
/// names that begin with `out`; edges as `a>b` with anything behind.
fn workflow(nodes: &[&str], edges: &[&str]) -> Arc<Workflow> {
    let nodes = nodes.iter().map(|node| {
        let (name, config) = node.split_once(' ').unwrap_or((node, ""));
        let kind = match name {
            "in" => "input",
            name if name.starts_with("out") => "output",
            name if name.starts_with("each") => "map",
            _ => "agent",
        };
        format!("{{id: {name}, type: {kind}, config: {{{config}}}}}")
    });
    let edges = edges.iter().map(|edge| {
        let (way, rest) = edge.split_once(' ').unwrap_or((edge, ""));
        let (from, to) = way.split_once('>').expect("two nodes");
        let rest = if rest.is_empty() { String::new() } else { format!(", {rest}") };
        format!("{{from: {from}, to: {to}{rest}}}")
    });
    let (nodes, edges): (Vec<_>, Vec<_>) = (nodes.collect(), edges.collect());
    let text = format!("{{name: w, nodes: [{}], edges: [{}]}}", nodes.join(","), edges.join(","));
    Arc::new(Workflow::read(&text).unwrap_or_else(|invalid| panic!("{invalid}\n{text}")))
}

fn inputs(workflow: &Workflow) -> BTreeMap<String, Vec<Part>> {
    workflow.inputs().map(|(node, _)| (node.id().to_string(), vec![Part::text("given")])).collect()
}

fn artifact(part: Part) -> Vec<Artifact> {
    vec![Artifact::new(ArtifactId::parse("a").expect("an id"), vec![part])]
}

/// A run, with all that happens in it written down.
struct Run {
    plan: Plan,
    log: Vec<Event>,
    /// What agents say, by the call, or by the node.
    answers: HashMap<String, String>,
}

impl Run {
    fn new(workflow: &Arc<Workflow>) -> Self {
        let plan = Plan::new(workflow.clone(), inputs(workflow)).expect("a run");
        let mut run = Self { plan, log: Vec::new(), answers: HashMap::new() };
        run.keep_decided();
        run
    }

    /// Lets agents answer: `!` is a failure, `{…}` is data, everything else is a text.
    fn answer(mut self, answers: &[(&str, &str)]) -> Self {
        self.answers =
            answers.iter().map(|(call, said)| ((*call).to_owned(), (*said).to_owned())).collect();
        self
    }

    fn keep_decided(&mut self) {
        self.log.extend(self.plan.decided());
    }

    #[track_caller]
    fn apply(&mut self, event: Event) {
        self.plan.apply(event.clone()).unwrap_or_else(|refused| panic!("{refused}"));
        self.log.push(event);
        self.keep_decided();
    }

    fn starts(&self) -> Vec<String> {
        self.plan
            .steps()
            .filter_map(|step| match step {
                Step::Start { call, .. } => Some(call.to_string()),
                Step::Cancel { .. } => None,
            })
            .collect()
    }

    fn cancels(&self) -> Vec<String> {
        self.plan
            .steps()
            .filter_map(|step| match step {
                Step::Cancel { call } => Some(call.to_string()),
                Step::Start { .. } => None,
            })
            .collect()
    }

    #[track_caller]
    fn find(&self, name: &str) -> Call {
        let all = self.plan.steps().map(|step| match step {
            Step::Start { call, .. } | Step::Cancel { call } => call,
        });
        let started = self.log.iter().rev().filter_map(Event::call).cloned();
        all.chain(started)
            .find(|call| call.to_string() == name)
            .unwrap_or_else(|| panic!("no {name}"))
    }

    #[track_caller]
    fn start(&mut self, name: &str) {
        let call = self.find(name);
        self.apply(Event::Started { call });
    }

    #[track_caller]
    fn finish(&mut self, name: &str, said: &str) {
        let call = self.find(name);
        self.apply(ended(call, said));
    }

    /// Does one step after the other until it is over.
    #[track_caller]
    fn finish_all(mut self) -> Self {
        for _ in 0..10_000 {
            let Some(step) = self.plan.steps().next() else { break };
            match step {
                Step::Start { call, .. } => {
                    self.apply(Event::Started { call: call.clone() });
                    let said = self.answers.get(&call.to_string());
                    let said = said.or_else(|| self.answers.get(call.node.as_str()));
                    let said = said.cloned().unwrap_or_else(|| format!("said {call}"));
                    self.apply(ended(call, &said));
                }
                Step::Cancel { call } => {
                    self.apply(Event::Canceled { call, reason: "asked".to_owned() });
                }
            }
        }
        self
    }

    /// Returns how each node has ended, in their order: `a:completed`.
    fn endings(&self) -> Vec<String> {
        self.plan
            .workflow()
            .nodes()
            .iter()
            .map(|node| {
                let ending = match self.plan.ending(node.id().as_str()) {
                    None => "open",
                    Some(Ending::Completed) => "completed",
                    Some(Ending::Failed { .. }) => "failed",
                    Some(Ending::Canceled { .. }) => "canceled",
                    Some(Ending::Skipped { .. }) => "skipped",
                };
                format!("{}:{ending}", node.id())
            })
            .collect()
    }

    /// Returns the calls that were started, in their order.
    fn started(&self) -> Vec<String> {
        let started = self.log.iter().filter_map(|event| match event {
            Event::Started { call } => Some(call.to_string()),
            _ => None,
        });
        started.collect()
    }

    #[track_caller]
    fn check(&self, state: TaskState, endings: &[&str]) {
        assert_eq!(self.endings(), endings, "{:#?}", self.log);
        assert_eq!(self.plan.outcome().map(|outcome| outcome.state), Some(state));
        assert_eq!(self.plan.state(), state);
    }
}

fn ended(call: Call, said: &str) -> Event {
    match said.strip_prefix('!') {
        Some(reason) => Event::Failed { call, reason: reason.to_owned(), is_final: false },
        None if said.starts_with(['{', '[']) => {
            let data = Raw::parse_text(said).expect("JSON");
            Event::Finished { call, artifacts: artifact(Part::data(data)) }
        }
        None => Event::Finished { call, artifacts: artifact(Part::text(said)) },
    }
}
