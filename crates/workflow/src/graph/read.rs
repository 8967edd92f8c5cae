//! From a document to a workflow.

mod kinds;
mod values;

use self::values::{is_null, items, text, time, whole};
use super::{
    DEFAULT_ITERATIONS, Edge, Group, Loop, MAX_NODES, Node, NodeId, OnError, Problems, Retry,
    Settings, Time, Topology, TriggerRule, Workflow, check::Checker, form, references, topology,
};
use crate::{
    condition::Condition,
    document::{self, Place, Value},
    problem::{Code, Invalid, Problem},
    validate::Known,
};

pub(crate) fn read(text: &str, is_upal: bool, known: &Known) -> Result<Workflow, Invalid> {
    let root = Value::read(text).map_err(Invalid::new)?;
    let document::Kind::Map(_) = root.kind() else {
        let (what, fix) = ("this is no workflow", "write at least `name`, `nodes` and `edges`");
        let problem = Problem::new(Code::WrongType, root.place(), "", what, fix);
        return Err(Invalid::new(vec![problem]));
    };
    let is_upal = is_upal || is_marked(&root);
    let mut problems = Problems::default();
    Checker { problems: &mut problems, is_upal }.form(&root, &[&form::WORKFLOW], "");
    let count = items(&root, "nodes").len();
    if count > MAX_NODES {
        let (what, fix) = (format!("there are {count} nodes"), format!("have {MAX_NODES} at most"));
        problems.add(|| Problem::new(Code::TooMany, root.place(), "nodes", what, fix));
        return Err(Invalid::new(problems.into_sorted()));
    }
    let mut reader = Reader { source: text, problems: &mut problems, is_upal };
    let draft = reader.draft(&root);
    let topology = topology::build(&draft, &mut problems);
    references::check(&draft, topology.as_ref(), &mut problems);
    for drawn in &draft.nodes {
        if let Some(node) = &drawn.node {
            known.check(node, &format!("{}.config", drawn.key), &mut problems);
        }
    }
    match topology.filter(|_| !problems.has_errors()) {
        Some(topology) => Ok(draft.finish(topology, is_upal, problems.into_sorted())),
        None => Err(Invalid::new(problems.into_sorted())),
    }
}

/// Tells whether a file has something that only Upal's have.
fn is_marked(root: &Value) -> bool {
    let has_member = |value: &Value| {
        let document::Kind::Map(members) = value.kind() else { return false };
        members.iter().any(|member| form::UPAL_MEMBERS.contains(&member.key.as_str()))
    };
    has_member(root)
        || items(root, "nodes").iter().any(|node| {
            let kind = node.get("type").and_then(Value::as_text).unwrap_or_default();
            form::UPAL_TYPES.contains(&kind) || node.get("config").is_some_and(has_member)
        })
}

/// What a file says, before it is known whether that can work.
#[derive(Debug)]
pub(super) struct Draft {
    name: String,
    description: String,
    version: u32,
    pub(super) nodes: Vec<DraftNode>,
    pub(super) edges: Vec<Edge>,
    groups: Vec<Group>,
    on_error: OnError,
    timeout: Option<Time>,
    max_parallel: Option<u32>,
}

/// A node of which something may be wrong.
#[derive(Debug)]
pub(super) struct DraftNode {
    pub(super) id: NodeId,
    /// Where its name stands.
    pub(super) place: Place,
    pub(super) key: String,
    pub(super) kind_name: String,
    pub(super) node: Option<Node>,
}

impl Draft {
    fn finish(self, topology: Topology, is_upal: bool, warnings: Vec<Problem>) -> Workflow {
        let Self { name, description, version, edges, groups, on_error, timeout, .. } = self;
        let nodes = self.nodes.into_iter().filter_map(|draft| draft.node).collect();
        let max_parallel = self.max_parallel;
        Workflow {
            name,
            description,
            version,
            nodes,
            edges,
            groups,
            on_error,
            timeout,
            max_parallel,
            is_upal,
            warnings,
            topology,
        }
    }
}

/// Makes types of values. What is of the wrong shape has been told before, and is passed over.
struct Reader<'a> {
    source: &'a str,
    problems: &'a mut Problems,
    is_upal: bool,
}

impl Reader<'_> {
    fn draft(&mut self, root: &Value) -> Draft {
        let nodes = items(root, "nodes").iter().enumerate();
        let nodes = nodes.filter_map(|(index, value)| self.node(value, format!("nodes[{index}]")));
        let nodes = nodes.collect();
        let edges = items(root, "edges").iter().enumerate();
        let edges = edges.filter_map(|(index, value)| self.edge(value, &format!("edges[{index}]")));
        let edges = edges.collect();
        let groups = items(root, "groups").iter().filter_map(|value| {
            let id = text(value, "id")?;
            let [label, color] = ["label", "color"].map(|key| text(value, key).unwrap_or_default());
            Some(Group { id, label, color })
        });
        Draft {
            name: self.name(root),
            description: text(root, "description").unwrap_or_default(),
            version: whole(root, "version").unwrap_or(1),
            nodes,
            edges,
            groups: groups.collect(),
            on_error: on_error(root).unwrap_or_default(),
            timeout: time(root, "timeout"),
            max_parallel: whole(root, "max_parallel"),
        }
    }

    fn name(&mut self, root: &Value) -> String {
        let Some(value) = root.get("name") else { return String::new() };
        let name = value.as_text().unwrap_or_default();
        let is_fine = (1..=128).contains(&name.len())
            && !name.contains(|letter: char| letter.is_control() || letter == '/');
        if !is_fine && value.as_text().is_some() {
            let what = format!("`{name}` cannot name a workflow");
            let fix = "use 1 to 128 bytes, without `/`";
            self.problem(Code::BadValue, value.place(), "name", what, fix);
        }
        name.to_owned()
    }

    fn node(&mut self, value: &Value, key: String) -> Option<DraftNode> {
        let name = value.get("id")?;
        let id = NodeId::parse(name.as_text()?).ok()?;
        let kind_name = text(value, "type").unwrap_or_default();
        let kind = self.kind(value, &key);
        let node = kind.map(|kind| Node {
            id: id.clone(),
            place: value.place(),
            group: text(value, "group"),
            settings: settings(value),
            kind,
        });
        Some(DraftNode { id, place: name.place(), key, kind_name, node })
    }

    fn edge(&mut self, value: &Value, key: &str) -> Option<Edge> {
        let id = |key| NodeId::parse(value.get(key)?.as_text()?).ok();
        let trigger_rule = match text(value, "trigger_rule").as_deref() {
            Some("on_failure") => TriggerRule::OnFailure,
            Some("always") => TriggerRule::Always,
            _ => TriggerRule::OnSuccess,
        };
        let condition = self.condition(value, "condition", key);
        let repeat = value.get("loop").filter(|value| !is_null(value)).map(|value| Loop {
            max_iterations: whole(value, "max_iterations")
                .filter(|count| *count > 0)
                .unwrap_or(DEFAULT_ITERATIONS),
            exit_when: self.condition(value, "exit_when", &format!("{key}.loop")),
        });
        let (from, to, place) = (id("from")?, id("to")?, value.place());
        Some(Edge { from, to, trigger_rule, condition, repeat, place })
    }

    fn condition(&mut self, value: &Value, name: &str, key: &str) -> Option<Condition> {
        let value = value.get(name)?;
        // Upal writes an empty text where there is no condition.
        let text = value.as_text().filter(|text| !text.trim().is_empty())?;
        match Condition::parse(text) {
            Ok(mut condition) => {
                condition.put(value.place(), |at| value.place_at(self.source, at));
                Some(condition)
            }
            Err(error) => {
                let fix = "write it like `review.data.score >= 8 and not (draft contains 'TODO')`";
                let place =
                    error.at().map_or_else(|| value.place(), |at| value.place_at(self.source, at));
                self.problem(Code::BadCondition, place, &format!("{key}.{name}"), error, fix);
                None
            }
        }
    }

    fn problem(
        &mut self,
        code: Code,
        place: Place,
        key: &str,
        what: impl std::fmt::Display,
        fix: impl std::fmt::Display,
    ) {
        self.problems.add(|| Problem::new(code, place, key, what, fix));
    }
}

fn settings(node: &Value) -> Settings {
    let Some(config) = node.get("config") else { return Settings::default() };
    let retry = config.get("retry").map(|retry| Retry {
        attempts: whole(retry, "attempts").unwrap_or_default(),
        backoff: time(retry, "backoff"),
    });
    Settings {
        label: text(config, "label"),
        description: text(config, "description"),
        timeout: time(config, "timeout"),
        retry: retry.unwrap_or_default(),
        on_error: on_error(config),
    }
}

fn on_error(value: &Value) -> Option<OnError> {
    let name = text(value, "on_error")?;
    OnError::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, choice)| choice)
}
