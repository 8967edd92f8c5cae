//! The workflow: nodes, edges, and what follows from how they are connected.
//!
//! Invariant: a [`Workflow`] that exists can be run. Its nodes have names of their own, its edges
//! lead from node to node, in circles only by loops that lie within each other or apart, and its
//! templates and conditions name what is there by then. Only what others know, such as agents, is
//! left to [`validate`](crate::validate).

mod check;
pub(crate) mod form;
mod node;
pub(crate) mod read;
mod references;
mod topology;
mod units;

pub(crate) use self::{
    check::Problems,
    topology::{Area, Topology, Wire},
};
pub use self::{
    node::{
        Agent, Approval, Asset, Command, External, Extract, Format, Gather, Gathered, Http, Input,
        Kind, Map, Node, OnError, Prompt, Retry, Settings, SubWorkflow, Target, Tool, Wait,
    },
    units::{InvalidId, InvalidTime, MAX_ID_BYTES, MAX_TIME, NodeId, Time},
};
use crate::{
    condition::Condition,
    document::Place,
    problem::{Invalid, Problem},
    validate::Known,
};

/// How many nodes a workflow may have.
pub const MAX_NODES: usize = 10_000;

/// How many loops a workflow may have.
pub const MAX_LOOPS: usize = 256;

/// How often the nodes of a loop run at most, unless the loop says so.
pub const DEFAULT_ITERATIONS: u32 = 10;

/// A graph of agents.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    name: String,
    description: String,
    version: u32,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    groups: Vec<Group>,
    on_error: OnError,
    timeout: Option<Time>,
    max_parallel: Option<u32>,
    is_upal: bool,
    warnings: Vec<Problem>,
    topology: Topology,
}

impl Workflow {
    /// Reads a workflow from YAML or JSON, and tells everything that is wrong with it.
    pub fn read(text: &str) -> Result<Self, Invalid> {
        read::read(text, false, &Known::default())
    }

    /// The same for a file that is Upal's for sure: what only Upal knows is left out.
    /// [`read`](Self::read) finds that out by itself where it can be seen.
    pub fn read_upal(text: &str) -> Result<Self, Invalid> {
        read::read(text, true, &Known::default())
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what it does, for people; empty if it is not said.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns which version of it this is.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Returns the nodes in the order of the file.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns a node by its name.
    pub fn node(&self, id: &str) -> Option<&Node> {
        self.topology.index(id).map(|index| &self.nodes[index])
    }

    /// Returns the nodes that take a value, and what they take.
    pub fn inputs(&self) -> impl Iterator<Item = (&Node, &Input)> {
        self.nodes.iter().filter_map(|node| match node.kind() {
            Kind::Input(input) => Some((node, input)),
            _ => None,
        })
    }

    /// Returns the edges in the order of the file.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns how nodes are drawn together.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Returns what the failure of a node does to the run, unless the node says so.
    pub const fn on_error(&self) -> OnError {
        self.on_error
    }

    /// Returns how long a run may take.
    pub const fn timeout(&self) -> Option<Time> {
        self.timeout
    }

    /// Returns how many nodes may run at a time.
    pub const fn max_parallel(&self) -> Option<u32> {
        self.max_parallel
    }

    /// Tells whether it was read as a file of Upal's.
    pub const fn is_upal(&self) -> bool {
        self.is_upal
    }

    /// Returns what is allowed and may yet be a mistake.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// Returns the nodes in an order in which they may run, one after the other.
    pub fn order(&self) -> impl Iterator<Item = &Node> {
        self.topology.order().iter().map(|index| &self.nodes[*index])
    }

    pub(crate) const fn topology(&self) -> &Topology {
        &self.topology
    }
}

/// A step from one node to another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Edge {
    /// Where it begins.
    pub from: NodeId,
    /// Where it leads.
    pub to: NodeId,
    /// How the first node must have ended.
    pub trigger_rule: TriggerRule,
    /// What must hold besides.
    pub condition: Option<Condition>,
    /// Whether it leads back.
    pub repeat: Option<Loop>,
    /// Where it stands in its file.
    pub place: Place,
}

/// How a node must have ended for an edge to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TriggerRule {
    /// With success.
    #[default]
    OnSuccess,
    /// With a failure.
    OnFailure,
    /// In any way, also if it did not run.
    Always,
}

/// How often the nodes of a loop run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Loop {
    /// How often at most, the first time included.
    pub max_iterations: u32,
    /// What ends it sooner.
    pub exit_when: Option<Condition>,
}

/// Nodes that are drawn together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// The name that nodes give as their group.
    pub id: String,
    /// A name for people.
    pub label: String,
    /// A colour, as in CSS.
    pub color: String,
}

#[cfg(test)]
mod tests;
