//! The card that we write for an agent that has none.

use nuncio_protocol::{
    card::{AgentCard, AgentInterface, AgentSkill, Binding},
    json,
    version::Version,
};

use crate::{
    agent::{Card, InvalidCard},
    http::facade::opportunity::register::Metadata,
};

/// The binding of an agent that speaks the capability envelope, and nothing else.
pub(super) const BINDING: &str = "urn:nuncio:binding:opportunity:v1";

/// Writes a card: each capability is a skill, and the endpoint the one interface.
///
/// `/a2a` below the endpoint is where requests go (OD-01).
pub(super) fn write(
    agent_id: &str,
    endpoint: &str,
    capabilities: &[String],
    metadata: &Metadata,
) -> Result<Card, InvalidCard> {
    let url = format!("{}/a2a", base(endpoint));
    let interface = AgentInterface::new(url, Binding::Other(BINDING.to_owned()), Version::V1_0);
    let name = metadata.name.as_deref().filter(|name| !name.trim().is_empty());
    let description = metadata.description.as_deref().unwrap_or("An agent of the opportunity kind");
    let mut card = AgentCard::builder(name.unwrap_or(agent_id))
        .description(description)
        .agent_interface(interface)
        .input_modes(["application/json"])
        .output_modes(["application/json"]);
    if let Some(version) = &metadata.version {
        card = card.version(version);
    }
    for capability in capabilities {
        let words = capability.replace('_', " ");
        card = card.skill(AgentSkill::new(capability, words.clone(), words, ["capability"]));
    }
    Card::parse(&json::to_string(&card.build()))
}

/// Returns the address to which clients add `/a2a` themselves.
pub(super) fn base(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    url.strip_suffix("/a2a").unwrap_or(url).trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_offers_what_the_agent_said() {
        let capabilities = ["pain_point_validation".to_owned(), "competitor_analysis".to_owned()];
        let card = write(
            "validation-agent",
            "https://validation.example.com/",
            &capabilities,
            &Metadata::default(),
        )
        .unwrap();
        let ids: Vec<_> = card.card().skills.iter().map(|skill| skill.id.as_str()).collect();
        assert_eq!(ids, ["pain_point_validation", "competitor_analysis"]);
        let interface = &card.card().supported_interfaces[0];
        assert_eq!(interface.url, "https://validation.example.com/a2a");
        assert_eq!(interface.protocol_binding, BINDING);
    }

    #[test]
    fn an_endpoint_is_what_stands_before_the_path_of_requests() {
        for url in ["https://a.example", "https://a.example/", "https://a.example/a2a/"] {
            assert_eq!(base(url), "https://a.example");
        }
        assert_eq!(base("https://a.example/x/a2a"), "https://a.example/x");
    }
}
