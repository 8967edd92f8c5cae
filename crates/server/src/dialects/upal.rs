//! Upal: every skill is a node with an endpoint and a card of its own (U-13, U-18).

use std::collections::BTreeSet;

use http::request::Parts;
use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    dialect::upal::Upal,
    error::Error,
    http::{encode_segment, segments},
    json::Raw,
    operation::Request,
    wire::card_document,
};

use super::{SKILL_ID, no_such_skill, tell};

/// Finds the node that a request is for; the agent's own name is a node, too.
pub(super) fn check(
    skills: &BTreeSet<String>,
    agent: &str,
    head: &Parts,
    request: &mut Request,
) -> Result<(), Error> {
    let segments = segments(head.uri.path())?;
    let [_, nodes, node] = segments.as_slice() else { return Ok(()) };
    if nodes != "nodes" {
        return Ok(());
    }
    if skills.contains(&**node) {
        tell(request, SKILL_ID, Raw::string(node));
        return Ok(());
    }
    if node == agent {
        return Ok(());
    }
    Err(no_such_skill(format!("node `{node}` is not registered")))
}

/// Writes the card of the agent and those of its nodes, each at its path.
pub(super) fn cards(agent: &str, card: &AgentCard, url: &str) -> Vec<(String, String)> {
    let whole = at(card, &format!("{url}/a2a"));
    let mut cards = vec![("/a2a/agent-card".to_owned(), card_document(&Upal, &whole))];
    let own = std::iter::once((agent, None));
    for (node, skill) in own.chain(card.skills.iter().map(|skill| (&*skill.id, Some(skill)))) {
        let path = format!("/a2a/nodes/{}", encode_segment(node));
        let card = at(&of_node(card, skill), &format!("{url}{path}"));
        cards.push((format!("{path}/agent-card"), card_document(&Upal, &card)));
    }
    cards
}

/// Makes the card of one node.
fn of_node(card: &AgentCard, skill: Option<&AgentSkill>) -> AgentCard {
    let mut node = card.clone();
    if let Some(skill) = skill {
        node.name.clone_from(&skill.name);
        node.description.clone_from(&skill.description);
        node.skills = vec![skill.clone()];
    }
    node
}

/// Puts a card at a URL. Upal neither streams nor has webhooks, so its cards promise neither.
fn at(card: &AgentCard, url: &str) -> AgentCard {
    let mut card = card.clone();
    for interface in &mut card.supported_interfaces {
        url.clone_into(&mut interface.url);
    }
    card.capabilities.streaming = Some(false);
    card.capabilities.push_notifications = Some(false);
    card
}
