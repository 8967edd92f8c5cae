//! What follows from how nodes are connected: an order, who comes before whom, and which nodes a
//! loop runs again.

mod area;
mod before;

use std::collections::{BinaryHeap, HashMap, hash_map::Entry};

use super::{Problems, read::Draft};
use crate::{
    nearest::{did_you_mean, nearest},
    problem::{Code, Problem},
};

pub(crate) use self::area::Area;
use self::before::{Before, Starts};

/// The connections of a workflow, by the numbers of its nodes in the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Topology {
    numbers: HashMap<String, usize>,
    order: Vec<usize>,
    wires: Vec<Wire>,
    incoming: Vec<Vec<usize>>,
    outgoing: Vec<Vec<usize>>,
    areas: Vec<Area>,
    /// The loops that a node is in, from the innermost.
    areas_of: Vec<Vec<usize>>,
    before: Before,
}

/// An edge that leads forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    /// Its number in the file.
    pub(crate) edge: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The loop that it leads into, if it is only taken while that goes on.
    pub(crate) gate: Option<usize>,
}

impl Topology {
    /// Returns the number of a node.
    pub(crate) fn index(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    /// Returns the nodes in an order in which they may run: those of the file, but for what must
    /// come before.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    pub(crate) fn incoming(&self, node: usize) -> impl Iterator<Item = Wire> {
        self.incoming[node].iter().map(|wire| self.wires[*wire])
    }

    pub(crate) fn outgoing(&self, node: usize) -> impl Iterator<Item = Wire> {
        self.outgoing[node].iter().map(|wire| self.wires[*wire])
    }

    pub(crate) fn areas(&self) -> &[Area] {
        &self.areas
    }

    /// Returns the loops that a node is in, from the innermost.
    pub(crate) fn areas_of(&self, node: usize) -> &[usize] {
        &self.areas_of[node]
    }

    /// Tells whether one node always comes before another.
    pub(crate) fn is_before(&self, first: usize, second: usize) -> bool {
        self.before.contains(first, second)
    }

    /// Tells whether what a node brings about can be known to another: it comes before, both are
    /// in one loop, or it is in a loop whose end the other waits for.
    pub(crate) fn is_known_to(&self, node: usize, reader: usize) -> bool {
        self.is_before(node, reader)
            || self.areas_of[node].iter().any(|number| {
                let area = &self.areas[*number];
                area.contains(reader) || self.is_before(area.head, reader)
            })
    }
}

/// Connects the nodes, and tells what is wrong with that.
pub(super) fn build(draft: &Draft, problems: &mut Problems) -> Option<Topology> {
    let numbers = numbers(draft, problems);
    let (forward, back) = wires(draft, &numbers, problems);
    unconnected(draft, &forward, &back, problems);
    let count = draft.nodes.len();
    let Some(order) = sort(count, &forward) else {
        cycles(draft, &forward, problems);
        return None;
    };
    let before = Before::new(count, &order, &forward);
    let starts = Starts::new(count, &before, &forward);
    let loops = area::Loops { draft, before: &before, starts, forward, back };
    let (wires, areas) = loops.find(problems)?;
    // Loops that were drawn the other way round have changed what leads where.
    let order = sort(count, &wires)?;
    let before = Before::new(count, &order, &wires);
    let areas = area::fill(draft, areas, &before, problems)?;
    let mut areas_of = vec![Vec::new(); count];
    for (number, area) in areas.iter().enumerate() {
        for node in area.nodes() {
            areas_of[*node].push(number);
        }
    }
    for of in &mut areas_of {
        of.sort_by_key(|number| areas[*number].nodes().len());
    }
    let (mut incoming, mut outgoing) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for (number, wire) in wires.iter().enumerate() {
        incoming[wire.to].push(number);
        outgoing[wire.from].push(number);
    }
    Some(Topology { numbers, order, wires, incoming, outgoing, areas, areas_of, before })
}

fn numbers(draft: &Draft, problems: &mut Problems) -> HashMap<String, usize> {
    let mut numbers: HashMap<String, usize> = HashMap::with_capacity(draft.nodes.len());
    for (number, node) in draft.nodes.iter().enumerate() {
        match numbers.entry(node.id.as_str().to_owned()) {
            Entry::Vacant(entry) => {
                entry.insert(number);
            }
            Entry::Occupied(entry) => problems.add(|| {
                let first = draft.nodes[*entry.get()].place;
                let what =
                    format!("`{}` is the name of the node in line {}, too", node.id, first.line());
                let key = format!("{}.id", node.key);
                Problem::new(Code::DuplicateId, node.place, key, what, "give it another name")
            }),
        }
    }
    numbers
}

/// Returns the edges that lead forward and those that lead back.
fn wires(
    draft: &Draft,
    numbers: &HashMap<String, usize>,
    problems: &mut Problems,
) -> (Vec<Wire>, Vec<Wire>) {
    let (mut forward, mut back) = (Vec::new(), Vec::new());
    for (edge, drawn) in draft.edges.iter().enumerate() {
        let mut find = |id: &super::NodeId, key: &str| {
            let found = numbers.get(id.as_str()).copied();
            if found.is_none() {
                problems.add(|| {
                    let names = draft.nodes.iter().map(|node| node.id.as_str());
                    let fix = did_you_mean(nearest(id.as_str(), names), "name a node of this file");
                    let key = format!("edges[{edge}].{key}");
                    let what = format!("there is no node `{id}`");
                    Problem::new(Code::UnknownNode, drawn.place, key, what, fix)
                });
            }
            found
        };
        if let (Some(from), Some(to)) = (find(&drawn.from, "from"), find(&drawn.to, "to")) {
            let wire = Wire { edge, from, to, gate: None };
            if drawn.repeat.is_some() { back.push(wire) } else { forward.push(wire) }
        }
    }
    (forward, back)
}

/// Tells which nodes nothing leads to.
fn unconnected(draft: &Draft, forward: &[Wire], back: &[Wire], problems: &mut Problems) {
    let mut has_way_in = vec![false; draft.nodes.len()];
    let mut has_way_out = has_way_in.clone();
    for wire in forward.iter().chain(back) {
        has_way_in[wire.to] = true;
        has_way_out[wire.from] = true;
    }
    let is_input = |kind: &str| matches!(kind, "input" | "run_input" | "asset");
    let has_input = draft.nodes.iter().any(|node| is_input(&node.kind_name));
    for (number, node) in draft.nodes.iter().enumerate() {
        if has_way_in[number] || is_input(&node.kind_name) || draft.nodes.len() == 1 {
            continue;
        }
        if !has_way_out[number] {
            problems.add(|| {
                let what = format!("no edge leads to `{}` or away from it", node.id);
                let fix = "add an edge that leads there, or take the node out";
                Problem::new(Code::UnreachableNode, node.place, node.key.clone(), what, fix)
            });
        } else if has_input {
            problems.add(|| {
                let what = format!("nothing leads to `{}`, so it runs at the start", node.id);
                let fix = "add an edge if that is not meant";
                Problem::new(Code::NothingLeadsHere, node.place, node.key.clone(), what, fix)
            });
        }
    }
    if !draft.nodes.iter().any(|node| node.kind_name == "output") {
        problems.add(|| {
            let what = "there is no output node";
            let fix = "add one, or take what the last nodes bring about as the output";
            Problem::new(Code::NoOutput, crate::document::Place::NOWHERE, "nodes", what, fix)
        });
    }
}

/// Returns the nodes so that each comes behind those that lead to it, and else as in the file;
/// nothing if there is a circle.
fn sort(count: usize, wires: &[Wire]) -> Option<Vec<usize>> {
    let mut missing = vec![0_usize; count];
    let mut outgoing = vec![Vec::new(); count];
    for wire in wires {
        missing[wire.to] += 1;
        outgoing[wire.from].push(wire.to);
    }
    // The heap gives the largest first.
    let mut ready: BinaryHeap<_> =
        (0..count).filter(|node| missing[*node] == 0).map(std::cmp::Reverse).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(std::cmp::Reverse(node)) = ready.pop() {
        order.push(node);
        for &next in &outgoing[node] {
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.push(std::cmp::Reverse(next));
            }
        }
    }
    (order.len() == count).then_some(order)
}

/// Tells one circle of each knot.
fn cycles(draft: &Draft, wires: &[Wire], problems: &mut Problems) {
    let knots = knots(draft.nodes.len(), wires);
    let mut incoming: Vec<Vec<Wire>> = vec![Vec::new(); draft.nodes.len()];
    for wire in wires.iter().filter(|wire| knots[wire.from] == knots[wire.to]) {
        incoming[wire.to].push(*wire);
    }
    let mut is_seen = vec![false; draft.nodes.len()];
    let mut is_told = vec![false; draft.nodes.len()];
    for start in 0..draft.nodes.len() {
        if incoming[start].is_empty() || std::mem::replace(&mut is_told[knots[start]], true) {
            continue;
        }
        // Whatever is in a knot has something of it before: going back must meet a circle.
        let mut way: Vec<Wire> = Vec::new();
        let mut node = start;
        while !std::mem::replace(&mut is_seen[node], true) {
            let Some(wire) = incoming[node].first() else { break };
            way.push(*wire);
            node = wire.from;
        }
        let from = way.iter().position(|wire| wire.to == node).unwrap_or_default();
        let mut circle = way.split_off(from);
        circle.reverse();
        let last = circle.iter().max_by_key(|wire| draft.edges[wire.edge].place);
        let Some(last) = last else { continue };
        problems.add(|| {
            let name = |node: usize| draft.nodes[node].id.as_str();
            let mut names: Vec<&str> = circle.iter().take(20).map(|wire| name(wire.from)).collect();
            names.push(if circle.len() > 20 { "…" } else { name(circle[0].from) });
            let what = format!("edges lead in a circle: {}", names.join(" → "));
            let fix = "take one out, or make the one that leads back a loop: \
                       `loop: {max_iterations: 3}`";
            let key = format!("edges[{}]", last.edge);
            Problem::new(Code::Cycle, draft.edges[last.edge].place, key, what, fix)
        });
    }
}

/// Returns for every node the knot that it is in: nodes in one lead to each other.
///
/// Kosaraju's way, without recursion: the nodes in the order in which they are left, then from the
/// last of them backwards.
fn knots(count: usize, wires: &[Wire]) -> Vec<usize> {
    let (mut forward, mut backward) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for wire in wires {
        forward[wire.from].push(wire.to);
        backward[wire.to].push(wire.from);
    }
    let mut left = Vec::with_capacity(count);
    let mut is_seen = vec![false; count];
    for start in 0..count {
        let mut way = vec![(start, 0)];
        while let Some((node, next)) = way.last_mut() {
            if *next == 0 && std::mem::replace(&mut is_seen[*node], true) {
                way.pop();
            } else if let Some(&child) = forward[*node].get(*next) {
                *next += 1;
                way.push((child, 0));
            } else {
                left.push(*node);
                way.pop();
            }
        }
    }
    let mut knots = vec![usize::MAX; count];
    for &start in left.iter().rev() {
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            if knots[node] == usize::MAX {
                knots[node] = start;
                open.extend(&backward[node]);
            }
        }
    }
    knots
}
