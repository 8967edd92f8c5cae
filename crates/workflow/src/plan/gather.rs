//! What nodes are told, and what comes of a run: artifacts, with all their parts (U-02, U-11).

use std::collections::BTreeSet;

use nuncio_protocol::{ids::ArtifactId, json::Raw, message::Part, task::Artifact};

use super::{Call, Ending, Plan, edges::Lead};
use crate::{
    graph::{Gathered, Input, Kind, NodeId, Prompt},
    template::{self, Output},
};

/// Makes the artifact of an input: one part with the value.
pub(super) fn input(id: &NodeId, input: &Input, given: Option<Vec<Part>>) -> Artifact {
    let default = || vec![input.default.as_ref().map_or_else(|| text(""), of_json)];
    named(id.as_str(), given.unwrap_or_else(default))
}

fn text(text: &str) -> Part {
    Part::text(text).with_media_type("text/plain")
}

fn of_json(value: &Raw) -> Part {
    match value.as_text() {
        Some(value) => text(&value),
        None => Part::data(value.clone()).with_media_type("application/json"),
    }
}

fn named(id: &str, parts: Vec<Part>) -> Artifact {
    // A name of a node is short enough, and never empty.
    let id = ArtifactId::parse(id).unwrap_or_else(|_| ArtifactId::generate());
    let name = id.as_str().to_owned();
    Artifact { name, ..Artifact::new(id, parts) }
}

/// Returns what a call is to be told.
pub(super) fn message(plan: &Plan, call: &Call) -> Result<Vec<Part>, template::Error> {
    let Some(node) = plan.workflow.topology().index(call.node.as_str()) else {
        return Ok(vec![text("")]);
    };
    let kind = plan.workflow.nodes()[node].kind();
    let kind = match kind {
        Kind::Map(map) => &*map.body,
        other => other,
    };
    if let Some(prompt) = prompt(kind) {
        return render(plan, call, prompt);
    }
    if let Some(item) = plan.scope(call).item() {
        return Ok(vec![of_json(item)]);
    }
    let before =
        parents(plan, node).into_iter().filter_map(|node| plan.nodes[node].output.as_ref());
    let mut parts: Vec<Part> = before
        .flat_map(Output::artifacts)
        .flat_map(|artifact| artifact.parts.iter().cloned())
        .collect();
    // A message has at least one part.
    if parts.is_empty() {
        parts.push(text(""));
    }
    Ok(parts)
}

/// Returns what a node of this kind is told, if the file says so.
pub(crate) fn prompt(kind: &Kind) -> Option<&Prompt> {
    match kind {
        Kind::Agent(agent) => agent.prompt.as_ref(),
        Kind::External(external) => external.prompt.as_ref(),
        Kind::Command(command) => command.prompt.as_ref(),
        Kind::Approval(approval) => approval.prompt.as_ref(),
        Kind::Output(output) => output.prompt.as_ref(),
        _ => None,
    }
}

fn render(plan: &Plan, call: &Call, prompt: &Prompt) -> Result<Vec<Part>, template::Error> {
    let scope = plan.scope(call);
    let rendered = prompt
        .templates()
        .iter()
        .map(|template| template.render(&scope, plan.limits).map(template::Rendered::into_part));
    rendered.collect()
}

/// Returns the nodes whose edges lead to a node, each once.
fn parents(plan: &Plan, node: usize) -> Vec<usize> {
    let wires = plan.workflow.topology().incoming(node);
    let active = wires.filter(|wire| matches!(plan.lead(*wire), Ok(Lead::Active)));
    let mut seen = BTreeSet::new();
    active.map(|wire| wire.from).filter(|from| seen.insert(*from)).collect()
}

/// Returns what an output node gathers.
pub(super) fn output(plan: &Plan, node: usize, call: &Call) -> Result<Vec<Artifact>, String> {
    let Kind::Output(output) = plan.workflow.nodes()[node].kind() else { return Ok(Vec::new()) };
    if let Some(prompt) = &output.prompt {
        let parts = render(plan, call, prompt).map_err(|error| error.to_string())?;
        return Ok(vec![named(call.node.as_str(), parts)]);
    }
    let topology = plan.workflow.topology();
    let order = topology.order().iter().copied();
    let wanted: Vec<usize> = match &output.gather {
        Gathered::All => {
            order.filter(|other| *other != node && topology.is_known_to(*other, node)).collect()
        }
        Gathered::Parents => parents(plan, node),
        Gathered::Nodes(names) => {
            names.iter().filter_map(|(name, _)| topology.index(name)).collect()
        }
    };
    Ok(collect(plan, &wanted))
}

/// Returns what has come of the run.
pub(super) fn outcome(plan: &Plan) -> Vec<Artifact> {
    let topology = plan.workflow.topology();
    let nodes = plan.workflow.nodes();
    let ended = |node: &usize| plan.nodes[*node].ending() == Some(&Ending::Completed);
    let outputs: Vec<usize> = topology
        .order()
        .iter()
        .copied()
        .filter(|node| matches!(nodes[*node].kind(), Kind::Output(_)))
        .collect();
    match outputs.as_slice() {
        [] => {
            let is_last = |node: &usize| topology.outgoing(*node).next().is_none();
            let last: Vec<usize> = topology.order().iter().copied().filter(is_last).collect();
            collect(plan, &last)
        }
        // The one that there usually is has named its artifacts so that they differ.
        [only] if ended(only) => {
            plan.nodes[*only].output.iter().flat_map(Output::artifacts).cloned().collect()
        }
        several => {
            let several: Vec<usize> = several.iter().copied().filter(ended).collect();
            collect(plan, &several)
        }
    }
}

/// Returns the artifacts of nodes, with names that differ.
fn collect(plan: &Plan, nodes: &[usize]) -> Vec<Artifact> {
    let mut artifacts = Vec::new();
    for &node in nodes {
        let id = plan.workflow.nodes()[node].id();
        let run = &plan.nodes[node];
        let is_there = match run.ending() {
            Some(Ending::Completed) => true,
            // By the pass before.
            Some(Ending::Skipped { .. }) => run.kept_by.is_some(),
            _ => false,
        };
        let Some(output) = run.output.as_ref().filter(|_| is_there) else { continue };
        let count = output.artifacts().count();
        for (number, artifact) in output.artifacts().enumerate() {
            let new = if count == 1 { id.to_string() } else { format!("{id}.{number}") };
            let mut artifact = artifact.clone();
            if artifact.name.is_empty() {
                artifact.name.clone_from(&new);
            }
            artifact.artifact_id = ArtifactId::parse(&new).unwrap_or(artifact.artifact_id);
            artifacts.push(artifact);
        }
    }
    artifacts
}
