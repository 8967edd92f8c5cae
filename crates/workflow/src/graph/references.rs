//! Whether templates and conditions name what is there by then.

use std::collections::HashMap;

use super::{
    Gathered, Kind, Problems, Topology,
    read::{Draft, DraftNode},
};
use crate::{
    document::Place,
    nearest::{did_you_mean, nearest},
    problem::{Code, Problem},
    template::{Reference, SELECTORS, Step},
};

pub(super) fn check(draft: &Draft, topology: Option<&Topology>, problems: &mut Problems) {
    let nodes = draft.nodes.iter().enumerate();
    let numbers = nodes.map(|(number, node)| (node.id.as_str(), number)).collect();
    let mut checker = Checker { draft, numbers, topology, problems };
    for (number, drawn) in draft.nodes.iter().enumerate() {
        let Some(node) = &drawn.node else { continue };
        let key = format!("{}.config", drawn.key);
        if let Kind::Map(map) = node.kind() {
            let reader = Reader { key: &key, node: number, is_item: false };
            map.over.references().for_each(|reference| checker.look(reference, reader));
            let reader = Reader { is_item: true, ..reader };
            map.body.references().into_iter().for_each(|reference| checker.look(reference, reader));
            continue;
        }
        let reader = Reader { key: &key, node: number, is_item: false };
        node.references().into_iter().for_each(|reference| checker.look(reference, reader));
        if let Kind::Output(output) = node.kind()
            && let Gathered::Nodes(names) = &output.gather
        {
            for (name, place) in names {
                checker.known(name, *place, name, reader);
            }
        }
    }
    for (number, edge) in draft.edges.iter().enumerate() {
        let Some(node) = checker.numbers.get(edge.from.as_str()).copied() else { continue };
        let exit_when = edge.repeat.as_ref().and_then(|repeat| repeat.exit_when.as_ref());
        for (condition, key) in
            [(edge.condition.as_ref(), "condition"), (exit_when, "loop.exit_when")]
        {
            let Some(condition) = condition else { continue };
            let key = format!("edges[{number}].{key}");
            for reference in condition.references() {
                if reference.name() == edge.from.as_str() {
                    checker.selector(reference, &key);
                } else {
                    checker.look(reference, Reader { key: &key, node, is_item: false });
                }
            }
        }
    }
}

struct Checker<'a> {
    draft: &'a Draft,
    numbers: HashMap<&'a str, usize>,
    topology: Option<&'a Topology>,
    problems: &'a mut Problems,
}

/// Who asks.
#[derive(Clone, Copy)]
struct Reader<'a> {
    key: &'a str,
    node: usize,
    /// Whether there is an item of a list.
    is_item: bool,
}

impl Checker<'_> {
    fn look(&mut self, reference: &Reference, reader: Reader<'_>) {
        if reader.is_item && matches!(reference.name(), "item" | "index") && !reference.is_input() {
            return;
        }
        let whole = reference.to_string();
        let Some(found) = self.known(reference.name(), reference.place(), &whole, reader) else {
            return;
        };
        if reference.is_input() && !is_input(found) {
            let inputs = self.draft.nodes.iter().filter(|node| is_input(node));
            let near = nearest(reference.name(), inputs.map(|node| node.id.as_str()));
            let fix = did_you_mean(near, format!("write `{{{{{}}}}}`", reference.name()));
            let what = format!("`{}` is a node and no input", reference.name());
            self.tell(Code::UnknownReference, reference.place(), reader.key, what, fix);
        }
        self.selector(reference, reader.key);
    }

    /// Finds a node that has run by then.
    fn known(
        &mut self,
        name: &str,
        place: Place,
        whole: &str,
        reader: Reader<'_>,
    ) -> Option<&DraftNode> {
        let draft = self.draft;
        let Some(number) = self.numbers.get(name).copied() else {
            self.problems.add(|| {
                let names = draft.nodes.iter().map(|node| node.id.as_str());
                let near = nearest(name, names.chain(reader.is_item.then_some("item")));
                let fix = did_you_mean(near, "name a node of this file");
                let what = format!("there is no node `{name}` for `{whole}`");
                Problem::new(Code::UnknownReference, place, reader.key, what, fix)
            });
            return None;
        };
        let node = &draft.nodes[number];
        let is_there = |topology: &Topology| topology.is_known_to(number, reader.node);
        // What is given to the run is there from the start.
        if !is_input(node) && !self.topology.is_none_or(is_there) {
            let asking = &draft.nodes[reader.node].id;
            let what = if number == reader.node {
                format!("`{whole}` is what the node itself has yet to bring about")
            } else {
                format!("`{name}` has not run when `{asking}` does")
            };
            let fix =
                format!("add edges that lead from `{name}` to `{asking}`, or name another node");
            self.tell(Code::NotUpstream, place, reader.key, what, fix);
        }
        Some(node)
    }

    /// Looks whether a node can be asked for what is asked.
    fn selector(&mut self, reference: &Reference, key: &str) {
        let Some(Step::Field(field)) = reference.steps().first() else { return };
        if !SELECTORS.contains(&field.as_str()) {
            let near = nearest(field, SELECTORS);
            let otherwise =
                format!("write `{}.data.{field}` for a member of its data", reference.name());
            let what = format!("`{reference}`: a node has no `{field}`");
            self.tell(
                Code::UnknownReference,
                reference.place(),
                key,
                what,
                did_you_mean(near, otherwise),
            );
        }
    }

    fn tell(&mut self, code: Code, place: Place, key: &str, what: String, fix: String) {
        self.problems.add(|| Problem::new(code, place, key, what, fix));
    }
}

fn is_input(node: &DraftNode) -> bool {
    matches!(node.kind_name.as_str(), "input" | "run_input")
}
