//! Loops: which nodes they run again, and that they lie within each other or apart.
//!
//! A loop is drawn in one of two ways. Either the edge that leads back says so:
//!
//! ```text
//! draft ──▶ review ──▶ revise        revise ──loop──▶ review
//! ```
//!
//! or, as in Upal's design, the edge that leads into what is repeated, with a plain edge back:
//!
//! ```text
//! draft ──▶ review ──loop──▶ revise        revise ──▶ review
//! ```
//!
//! The second is turned into the first here: its loop edge becomes a *gate*, which is open while
//! the loop goes on, and the edge that leads back becomes that of the loop.

use super::{Before, Wire, before::Starts};
use crate::{
    graph::{MAX_LOOPS, Problems, read::Draft},
    problem::{Code, Problem},
};

/// The nodes that a loop runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    /// The edge that says so, by its number in the file.
    pub(crate) edge: usize,
    /// The edge that leads back, by its number in the file.
    pub(crate) back: usize,
    /// The first node.
    pub(crate) head: usize,
    /// The last node: when it has ended, it is decided whether to go on.
    pub(crate) tail: usize,
    /// How often the nodes may run.
    pub(crate) passes: u32,
    /// Whether it is decided by a gate instead.
    pub(crate) has_gate: bool,
    nodes: Vec<usize>,
}

impl Area {
    /// Returns the nodes, in the order of the file.
    pub(crate) fn nodes(&self) -> &[usize] {
        &self.nodes
    }

    pub(crate) fn contains(&self, node: usize) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }
}

/// Edges that lead forward, and edges that say they are loops.
pub(super) struct Loops<'a> {
    pub(super) draft: &'a Draft,
    pub(super) before: &'a Before,
    pub(super) starts: Starts,
    pub(super) forward: Vec<Wire>,
    pub(super) back: Vec<Wire>,
}

impl Loops<'_> {
    /// Returns the edges that lead forward, gates included, and the loops.
    pub(super) fn find(mut self, problems: &mut Problems) -> Option<(Vec<Wire>, Vec<Area>)> {
        if self.back.len() > MAX_LOOPS {
            let edge = self.back[MAX_LOOPS].edge;
            let what = format!("there are {} loops", self.back.len());
            let fix = format!("have {MAX_LOOPS} at most");
            self.tell(problems, Code::TooMany, edge, what, fix);
            return None;
        }
        let mut areas = Vec::new();
        let mut is_fine = true;
        for wire in std::mem::take(&mut self.back) {
            let repeat = self.draft.edges[wire.edge].repeat.as_ref();
            let passes = repeat.map_or(1, |repeat| repeat.max_iterations);
            let (edge, nodes) = (wire.edge, Vec::new());
            if !self.before.reaches(wire.to, wire.from) {
                let name = |node: usize| self.draft.nodes[node].id.as_str();
                let (from, to) = (name(wire.from), name(wire.to));
                let what =
                    format!("the loop does not lead back: no edges lead from `{to}` to `{from}`");
                let fix = "put `loop` on the edge that leads back";
                self.tell(problems, Code::BadLoop, edge, what, fix);
                is_fine = false;
            } else if !self.leads_in(wire) {
                let (head, tail, has_gate) = (wire.to, wire.from, false);
                areas.push(Area { edge, back: edge, head, tail, passes, has_gate, nodes });
            } else if let Some(closing) = self.closing(wire) {
                let closing = self.forward.remove(closing);
                self.forward.push(Wire { gate: Some(areas.len()), ..wire });
                let (head, tail, has_gate) = (closing.to, closing.from, true);
                // The head runs once more than what the gate leads to.
                let passes = passes.saturating_add(1);
                areas.push(Area { edge, back: closing.edge, head, tail, passes, has_gate, nodes });
            } else {
                let what = "more than one edge leads back from this loop";
                let fix = "put `loop` on the one edge that leads back";
                self.tell(problems, Code::BadLoop, edge, what, fix);
                is_fine = false;
            }
        }
        is_fine.then_some((self.forward, areas))
    }

    /// Tells whether a loop is drawn on the edge that leads in: nothing else leads to where it
    /// leads, but something else to where it begins.
    fn leads_in(&self, wire: Wire) -> bool {
        let is_input = self.draft.nodes[wire.to].kind_name == "input";
        !is_input && self.starts.is_start(wire.to) && self.starts.count(wire.from) > 1
    }

    /// Returns the one edge that leads back from what only the loop leads to.
    fn closing(&self, entry: Wire) -> Option<usize> {
        let is_inside = |node| self.before.reaches(entry.to, node) && self.starts.count(node) == 1;
        let mut closing = self.forward.iter().enumerate().filter(|(_, wire)| {
            is_inside(wire.from) && !is_inside(wire.to) && self.before.reaches(wire.to, entry.from)
        });
        match (closing.next(), closing.next()) {
            (Some((number, _)), None) => Some(number),
            _ => None,
        }
    }

    fn tell(
        &self,
        problems: &mut Problems,
        code: Code,
        edge: usize,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) {
        tell(self.draft, problems, code, edge, (what.into(), fix.into()));
    }
}

fn tell(draft: &Draft, problems: &mut Problems, code: Code, edge: usize, said: (String, String)) {
    let place = draft.edges[edge].place;
    problems.add(|| Problem::new(code, place, format!("edges[{edge}]"), said.0, said.1));
}

/// Says which nodes each loop runs again, and tells of loops that cross.
pub(super) fn fill(
    draft: &Draft,
    mut areas: Vec<Area>,
    before: &Before,
    problems: &mut Problems,
) -> Option<Vec<Area>> {
    for area in &mut areas {
        let is_between =
            |node: &usize| before.reaches(area.head, *node) && before.reaches(*node, area.tail);
        area.nodes = (0..draft.nodes.len()).filter(is_between).collect();
    }
    // From the largest: all nodes of a loop must lie in the same one around it.
    let mut by_size: Vec<usize> = (0..areas.len()).collect();
    by_size.sort_by_key(|number| std::cmp::Reverse(areas[*number].nodes.len()));
    let mut around: Vec<Option<usize>> = vec![None; draft.nodes.len()];
    let mut is_fine = true;
    for number in by_size {
        let area = &areas[number];
        let outer = around[area.head];
        let is_equal = |other: &usize| areas[*other].nodes.len() == area.nodes.len();
        let crossing = area.nodes.iter().map(|node| around[*node]).find(|other| *other != outer);
        let other = match crossing {
            Some(other) => other.or(outer),
            None => outer.filter(is_equal),
        };
        if let Some(other) = other {
            let line = draft.edges[areas[other].edge].place.line();
            let what = format!("this loop and the one in line {line} share nodes");
            let fix = "let one lie within the other, or let them share none";
            tell(draft, problems, Code::OverlappingLoops, area.edge, (what, fix.to_owned()));
            is_fine = false;
        }
        for node in &area.nodes {
            around[*node] = Some(number);
        }
    }
    is_fine.then_some(areas)
}
