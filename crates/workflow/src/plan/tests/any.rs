//! Any graph, against a reference that is written down node by node.

use proptest::prelude::*;

use super::*;
use crate::graph::TriggerRule;

/// A random graph without circles: edges lead to higher numbers.
#[derive(Clone, Debug)]
struct Drawn {
    edges: Vec<(usize, usize, TriggerRule, Option<bool>)>,
    /// Which nodes fail, and how.
    fails: Vec<bool>,
    on_error: Vec<OnError>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let rule = prop::sample::select(vec![
        TriggerRule::OnSuccess,
        TriggerRule::OnSuccess,
        TriggerRule::OnSuccess,
        TriggerRule::OnFailure,
        TriggerRule::Always,
    ]);
    let condition = prop::sample::select(vec![None, None, None, Some(true), Some(false)]);
    let on_error = prop::sample::select(vec![
        OnError::CancelDependants,
        OnError::CancelDependants,
        OnError::Ignore,
    ]);
    (2usize..10)
        .prop_flat_map(move |count| {
            let edge = (0..count, 0..count, rule.clone(), condition.clone());
            (
                prop::collection::vec(edge, 1..20),
                prop::collection::vec(prop::bool::weighted(0.3), count),
                prop::collection::vec(on_error.clone(), count),
            )
        })
        .prop_map(|(edges, fails, on_error)| {
            let edges = edges.into_iter().filter(|(from, to, ..)| from != to);
            let edges = edges
                .map(|(from, to, rule, condition)| (from.min(to), from.max(to), rule, condition));
            Drawn { edges: edges.collect(), fails, on_error }
        })
}

impl Drawn {
    fn text(&self) -> String {
        let nodes: Vec<String> = self
            .on_error
            .iter()
            .enumerate()
            .map(|(number, on_error)| {
                let (name, _) =
                    OnError::ALL.into_iter().find(|(_, known)| known == on_error).expect("a name");
                format!("{{id: n{number}, type: agent, config: {{on_error: {name}}}}}")
            })
            .collect();
        let edges: Vec<String> = self
            .edges
            .iter()
            .map(|(from, to, rule, condition)| {
                let rule = match rule {
                    TriggerRule::OnSuccess => "on_success",
                    TriggerRule::OnFailure => "on_failure",
                    TriggerRule::Always => "always",
                };
                let condition =
                    condition.map_or(String::new(), |holds| format!(", condition: '{holds}'"));
                format!("{{from: n{from}, to: n{to}, trigger_rule: {rule}{condition}}}")
            })
            .collect();
        // An input keeps every node connected.
        let starts = (0..self.fails.len())
            .filter(|number| !self.edges.iter().any(|edge| edge.1 == *number))
            .map(|number| format!("{{from: in, to: n{number}}}"));
        let edges: Vec<String> = edges.into_iter().chain(starts).collect();
        format!(
            "{{name: w, nodes: [{{id: in, type: input}}, {}], edges: [{}]}}",
            nodes.join(","),
            edges.join(",")
        )
    }

    /// Tells whether an edge leads on from the failure of a node.
    fn is_handled(&self, node: usize) -> bool {
        self.edges.iter().any(|(from, _, rule, condition)| {
            *from == node && *rule != TriggerRule::OnSuccess && *condition != Some(false)
        })
    }

    /// The reference: node by node, as the rules are written down.
    fn endings(&self) -> Vec<&'static str> {
        let mut endings: Vec<&'static str> = Vec::new();
        for to in 0..self.fails.len() {
            let edges: Vec<_> = self.edges.iter().filter(|edge| edge.1 == to).collect();
            let mut is_active = edges.is_empty();
            let mut is_broken = false;
            for (from, _, rule, condition) in edges {
                let is_meant = match (rule, endings[*from]) {
                    (TriggerRule::Always, _)
                    | (TriggerRule::OnSuccess, "completed" | "ignored")
                    | (TriggerRule::OnFailure, "failed" | "unhandled") => true,
                    (TriggerRule::OnSuccess, "canceled" | "unhandled") => {
                        is_broken = true;
                        false
                    }
                    _ => false,
                };
                is_active |= is_meant && *condition != Some(false);
            }
            endings.push(match (is_broken, is_active, self.fails[to]) {
                (true, ..) => "canceled",
                (_, false, _) => "skipped",
                (_, _, false) => "completed",
                (_, _, true) if self.on_error[to] == OnError::Ignore => "ignored",
                (_, _, true) if self.is_handled(to) => "failed",
                (_, _, true) => "unhandled",
            });
        }
        endings
    }
}

proptest! {
    /// Random graphs, executed in a random order, against the reference: every node ends once and
    /// as it must, nothing begins before what leads to it has ended, and any beginning of the log
    /// leads to the same next steps.
    #[test]
    fn any_graph_runs_as_the_rules_say(drawn in drawn(), choices in prop::collection::vec(any::<prop::sample::Index>(), 60)) {
        let workflow = Arc::new(Workflow::read(&drawn.text()).unwrap());
        let mut run = Run::new(&workflow);
        let mut running: Vec<Call> = Vec::new();
        let mut choices = choices.iter().cycle();
        let mut prefixes = Vec::new();
        loop {
            prefixes.push((run.log.len(), run.plan.steps().collect::<Vec<_>>()));
            let ready: Vec<Call> = run.plan.steps().filter_map(|step| match step {
                Step::Start { call, .. } => Some(call),
                Step::Cancel { .. } => None,
            }).collect();
            let all = ready.len() + running.len();
            if all == 0 {
                break;
            }
            let choice = choices.next().expect("an endless list").index(all);
            if choice < ready.len() {
                run.apply(Event::Started { call: ready[choice].clone() });
                running.push(ready[choice].clone());
            } else {
                let call = running.remove(choice - ready.len());
                let number: Option<usize> = call.node.as_str().strip_prefix('n').and_then(|number| number.parse().ok());
                let fails = number.is_some_and(|number| drawn.fails[number]);
                run.apply(ended(call, if fails { "!no" } else { "fine" }));
            }
        }
        let endings = drawn.endings();
        let shown = endings.iter().enumerate().map(|(number, ending)| {
            let ending = match *ending {
                "ignored" => "completed",
                "unhandled" => "failed",
                ending => ending,
            };
            format!("n{number}:{ending}")
        });
        let expected: Vec<String> = ["in:completed".to_owned()].into_iter().chain(shown).collect();
        prop_assert_eq!(run.endings(), expected);
        let is_failed = endings.contains(&"unhandled");
        let state = if is_failed { TaskState::Failed } else { TaskState::Completed };
        prop_assert_eq!(run.plan.state(), state);

        let mut ended: HashMap<String, usize> = HashMap::new();
        for (at, event) in run.log.iter().enumerate() {
            let Some(call) = event.call() else { continue };
            if matches!(event, Event::Finished { .. } | Event::Failed { .. } | Event::Canceled { .. } | Event::Skipped { .. }) {
                prop_assert!(ended.insert(call.node.to_string(), at).is_none(), "{} ended twice", call);
            }
            if matches!(event, Event::Started { .. }) {
                let before = workflow.edges().iter().filter(|edge| edge.to == call.node);
                for edge in before {
                    prop_assert!(ended.contains_key(edge.from.as_str()), "{} before {}", call, edge.from);
                }
            }
        }
        prop_assert_eq!(ended.len(), workflow.nodes().len());

        for (length, steps) in prefixes {
            let log = run.log[..length].to_vec();
            let replayed = Plan::replay(workflow.clone(), inputs(&workflow), log).unwrap();
            prop_assert_eq!(replayed.steps().collect::<Vec<_>>(), steps);
        }
        for length in 0..=run.log.len() {
            // Also where what was decided is not in the log yet.
            let mut replayed = Plan::replay(workflow.clone(), inputs(&workflow), run.log[..length].to_vec()).unwrap();
            let rest = replayed.decided();
            prop_assert_eq!(&run.log[length..length + rest.len()], &rest[..]);
        }
        let replayed = Plan::replay(workflow.clone(), inputs(&workflow), run.log.clone()).unwrap();
        prop_assert_eq!(replayed, run.plan);
    }

    /// Random graphs with loops end, whatever agents say, and no node runs more often than loops
    /// allow.
    #[test]
    fn any_graph_with_loops_ends(
        edges in prop::collection::vec((0usize..6, 0usize..6), 1..10),
        loops in prop::collection::vec((0usize..6, 0usize..6, 1u32..4, any::<bool>()), 1..4),
        fails in prop::collection::vec(prop::bool::weighted(0.1), 200),
    ) {
        let nodes: Vec<String> = (0..6).map(|number| format!("{{id: n{number}, type: agent}}")).collect();
        let plain = edges.iter().filter(|(a, b)| a != b).map(|(a, b)| format!("{{from: n{}, to: n{}}}", a.min(b), a.max(b)));
        let back = loops.iter().map(|(a, b, most, is_failure)| {
            let rule = if *is_failure { ", trigger_rule: always" } else { "" };
            format!("{{from: n{}, to: n{}, loop: {{max_iterations: {most}}}{rule}}}", a.max(b), a.min(b))
        });
        let all: Vec<String> = plain.chain(back).collect();
        let text = format!("{{name: w, nodes: [{}], edges: [{}]}}", nodes.join(","), all.join(","));
        let Ok(workflow) = Workflow::read(&text) else { return Ok(()) };
        let workflow = Arc::new(workflow);
        let mut run = Run::new(&workflow);
        let mut fails = fails.iter().cycle();
        let mut count = 0;
        loop {
            let next = run.plan.steps().next();
            let Some(Step::Start { call, .. }) = next else { break };
            count += 1;
            prop_assert!(count < 6 * 4 * 4 * 4 * 4, "it does not end");
            run.apply(Event::Started { call: call.clone() });
            run.apply(ended(call, if *fails.next().unwrap() { "!no" } else { "fine" }));
        }
        prop_assert!(run.plan.outcome().is_some(), "{:?}", run.endings());
        let most = workflow.topology().areas().iter().map(|area| area.passes).product::<u32>();
        for call in run.log.iter().filter_map(Event::call) {
            prop_assert!(call.iteration <= most);
        }
        let replayed = Plan::replay(workflow.clone(), inputs(&workflow), run.log.clone()).unwrap();
        prop_assert_eq!(replayed, run.plan);
    }
}
