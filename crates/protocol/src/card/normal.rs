//! Reads a card of any form into that of 1.0.
//!
//! Agents publish cards of A2A 1.0, 0.3 and 0.2, mixtures of them, and forms of their own.
//! All are read in one pass by one reader that knows every member in every spelling; what
//! it does not know it passes over. Where a card says a thing twice, the form of 1.0 wins.
//!
//! What cannot be kept: `stateTransitionHistory`, and security schemes of types A2A 1.0 does
//! not have (a requirement that names such a scheme stays, so that nobody takes the agent
//! for an open one). A scheme with several OAuth flows becomes several schemes, since 1.0
//! has one flow a scheme.

mod security;

use std::{collections::BTreeMap, fmt};

use self::security::{AnyRequirement, AnyScheme, Splits};
use super::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentInterface, AgentProvider, AgentSkill,
    Binding,
};
use crate::{
    ids::Tenant,
    json::{self, Error, FromJson, Kind, Reader, read_id, read_value},
    version::Version,
};

/// The form a card was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CardForm {
    /// A2A 1.0, in camel or snake case.
    V1,
    /// A2A 1.0 together with the members of 0.3.
    Hybrid,
    /// A2A 0.3.
    V03,
    /// A2A 0.2: no `protocolVersion`, or one of 0.2.
    V02,
    /// Molecule: skills as plain texts, or the binding named `protocol` (MD-64).
    Molecule,
    /// PocketPaw: bindings such as `jsonrpc-over-https` (P-24, PG-12).
    PocketPaw,
    /// Upal: a URL and no version (U-10).
    Upal,
}

impl CardForm {
    /// Tells whether a reader of A2A 1.0 alone would understand the card.
    pub const fn is_v1(self) -> bool {
        matches!(self, Self::V1 | Self::Hybrid)
    }

    /// Returns the name of the form, for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "A2A 1.0",
            Self::Hybrid => "A2A 1.0 and 0.3 together",
            Self::V03 => "A2A 0.3",
            Self::V02 => "A2A 0.2",
            Self::Molecule => "Molecule",
            Self::PocketPaw => "PocketPaw",
            Self::Upal => "Upal",
        }
    }
}

impl fmt::Display for CardForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads a card of any form and says which form it was.
///
/// Bindings come out in the spelling of A2A. An interface that names no version keeps an
/// empty one if the card names none either; by A2A's own rule that means 0.3.
pub fn read_any(text: &str) -> Result<(AgentCard, CardForm), Error> {
    json::read_with(text, read_any_from)
}

/// Reads a card of any form that stands inside of something else; see [`read_any`].
pub fn read_any_from(reader: &mut Reader<'_>) -> Result<(AgentCard, CardForm), Error> {
    let card = AnyCard::read(reader)?;
    let form = card.form();
    Ok((card.into_card()?, form))
}

/// The members of a card in all forms; `None` where the card says nothing.
#[derive(Default)]
struct AnyCard {
    name: Option<String>,
    description: Option<String>,
    provider: Option<AgentProvider>,
    version: Option<String>,
    documentation_url: Option<String>,
    icon_url: Option<String>,
    capabilities: Option<AgentCapabilities>,
    security_schemes: Option<BTreeMap<String, AnyScheme>>,
    security_requirements: Option<Vec<AnyRequirement>>,
    default_input_modes: Option<Vec<String>>,
    default_output_modes: Option<Vec<String>>,
    skills: Option<Vec<AnySkill>>,
    signatures: Option<Vec<AgentCardSignature>>,
    supported_interfaces: Option<Vec<AnyInterface>>,
    // From here on: 0.3 and older.
    url: Option<String>,
    preferred_transport: Option<String>,
    additional_interfaces: Option<Vec<AnyInterface>>,
    protocol_version: Option<String>,
    extended_card: Option<bool>,
    security: Option<Vec<AnyRequirement>>,
}

impl FromJson for AnyCard {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut card = Self::default();
        reader.members(|reader, key| match &*key {
            "name" => once(&mut card.name, reader),
            "description" => once(&mut card.description, reader),
            "provider" => once(&mut card.provider, reader),
            "version" => once(&mut card.version, reader),
            "documentationUrl" | "documentation_url" => once(&mut card.documentation_url, reader),
            "iconUrl" | "icon_url" => once(&mut card.icon_url, reader),
            "capabilities" => once(&mut card.capabilities, reader),
            "securitySchemes" | "security_schemes" => once(&mut card.security_schemes, reader),
            "securityRequirements" | "security_requirements" => {
                once(&mut card.security_requirements, reader)
            }
            "defaultInputModes" | "default_input_modes" => {
                once(&mut card.default_input_modes, reader)
            }
            "defaultOutputModes" | "default_output_modes" => {
                once(&mut card.default_output_modes, reader)
            }
            "skills" => once(&mut card.skills, reader),
            "signatures" => once(&mut card.signatures, reader),
            "supportedInterfaces" | "supported_interfaces" => {
                once(&mut card.supported_interfaces, reader)
            }
            "url" => once(&mut card.url, reader),
            "preferredTransport" | "preferred_transport" => {
                once(&mut card.preferred_transport, reader)
            }
            "additionalInterfaces" | "additional_interfaces" => {
                once(&mut card.additional_interfaces, reader)
            }
            "protocolVersion" | "protocol_version" => once(&mut card.protocol_version, reader),
            "supportsAuthenticatedExtendedCard" | "supports_authenticated_extended_card" => {
                once(&mut card.extended_card, reader)
            }
            "security" => once(&mut card.security, reader),
            _ => reader.skip(),
        })?;
        Ok(card)
    }
}

impl AnyCard {
    fn form(&self) -> CardForm {
        let interfaces = self.supported_interfaces.as_deref().unwrap_or_default();
        let skills = self.skills.as_deref().unwrap_or_default();
        let has_transports =
            self.preferred_transport.is_some() || self.additional_interfaces.is_some();
        let is_molecule = skills.iter().any(|skill| skill.is_text)
            || interfaces.iter().any(|interface| interface.protocol.is_some());
        if is_molecule {
            return CardForm::Molecule;
        }
        if !interfaces.is_empty() {
            let odd = interfaces.iter().any(AnyInterface::is_pocketpaw);
            return match () {
                () if odd => CardForm::PocketPaw,
                () if self.url.is_some() || has_transports => CardForm::Hybrid,
                () => CardForm::V1,
            };
        }
        let declared = self.protocol_version.as_deref().map(Version::parse);
        match declared {
            Some(Some(version)) if version < Version::V0_3 => CardForm::V02,
            Some(_) if self.url.is_some() || has_transports => CardForm::V03,
            Some(Some(version)) if version < Version::V1_0 => CardForm::V03,
            None if has_transports || self.extended_card.is_some() => CardForm::V03,
            None if self.url.is_some() && self.version.is_none() => CardForm::Upal,
            None if self.url.is_some() => CardForm::V02,
            _ => CardForm::V1,
        }
    }

    fn into_card(self) -> Result<AgentCard, Error> {
        let supported_interfaces = self.interfaces();
        let mut capabilities = self.capabilities.unwrap_or_default();
        capabilities.extended_agent_card = capabilities.extended_agent_card.or(self.extended_card);
        let (security_schemes, splits) = security::split(self.security_schemes.unwrap_or_default());
        let requirements = self.security_requirements.or(self.security).unwrap_or_default();
        let skills = self.skills.unwrap_or_default();
        Ok(AgentCard {
            name: self.name.ok_or_else(|| Error::missing("name"))?,
            description: self.description.unwrap_or_default(),
            supported_interfaces,
            provider: self.provider,
            version: self.version.unwrap_or_default(),
            documentation_url: self.documentation_url,
            capabilities,
            security_schemes,
            security_requirements: splits.apply(requirements),
            default_input_modes: self.default_input_modes.unwrap_or_default(),
            default_output_modes: self.default_output_modes.unwrap_or_default(),
            skills: skills.into_iter().map(|skill| skill.into_skill(&splits)).collect(),
            signatures: self.signatures.unwrap_or_default(),
            icon_url: self.icon_url,
        })
    }

    /// Returns the interfaces, the preferred one first (A2A compatibility digest §2.3).
    fn interfaces(&self) -> Vec<AgentInterface> {
        let listed = self.supported_interfaces.as_deref().unwrap_or_default();
        if !listed.is_empty() {
            let version = self.protocol_version.as_deref().unwrap_or_default();
            let url = self.url.as_deref().unwrap_or_default();
            return listed.iter().map(|interface| interface.to_v1(url, version)).collect();
        }
        let version = self.protocol_version.as_deref().unwrap_or("0.3");
        let transport = self.preferred_transport.as_deref().unwrap_or("JSONRPC");
        let primary = self.url.as_ref().map(|url| AgentInterface {
            url: url.clone(),
            protocol_binding: Binding::parse(transport).as_str().to_owned(),
            tenant: None,
            protocol_version: short_version(version),
        });
        let additional = self.additional_interfaces.as_deref().unwrap_or_default();
        let mut interfaces: Vec<_> = primary.into_iter().collect();
        for interface in additional {
            let interface = interface.to_v1("", version);
            // Cards of 0.3 often list the primary interface again.
            if interfaces.first() != Some(&interface) {
                interfaces.push(interface);
            }
        }
        interfaces
    }
}

/// One interface under any of its names.
#[derive(Default)]
struct AnyInterface {
    url: Option<String>,
    protocol_binding: Option<String>,
    /// Molecule's name for the binding.
    protocol: Option<String>,
    /// The name of the binding in 0.3.
    transport: Option<String>,
    tenant: Option<Tenant>,
    protocol_version: Option<String>,
}

impl FromJson for AnyInterface {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut interface = Self::default();
        reader.members(|reader, key| match &*key {
            "url" => once(&mut interface.url, reader),
            "protocolBinding" | "protocol_binding" => once(&mut interface.protocol_binding, reader),
            "protocol" => once(&mut interface.protocol, reader),
            "transport" => once(&mut interface.transport, reader),
            "tenant" => {
                interface.tenant = read_id(reader)?;
                Ok(())
            }
            "protocolVersion" | "protocol_version" => once(&mut interface.protocol_version, reader),
            _ => reader.skip(),
        })?;
        Ok(interface)
    }
}

impl AnyInterface {
    fn to_v1(&self, base: &str, version: &str) -> AgentInterface {
        let binding = self.protocol_binding.as_ref().or(self.transport.as_ref());
        let binding = binding.or(self.protocol.as_ref()).map_or("", String::as_str);
        let url = self.url.as_deref().filter(|url| !url.is_empty()).unwrap_or(base);
        AgentInterface {
            url: url.to_owned(),
            protocol_binding: Binding::parse(binding).as_str().to_owned(),
            tenant: self.tenant.clone(),
            protocol_version: match self.protocol_version.as_deref() {
                // What an interface says of itself is for the linter to judge.
                Some(own) if !own.is_empty() => own.to_owned(),
                _ => short_version(version),
            },
        }
    }

    fn is_pocketpaw(&self) -> bool {
        self.protocol_binding.as_ref().is_some_and(|binding| binding.starts_with("jsonrpc-over-"))
    }
}

/// Cuts the patch number off, which is usual on cards of 0.3 and means nothing.
fn short_version(text: &str) -> String {
    Version::parse(text).map_or_else(|| text.to_owned(), |version| version.to_string())
}

/// A skill of any form, or its bare name.
#[derive(Default)]
struct AnySkill {
    is_text: bool,
    id: Option<String>,
    name: Option<String>,
    description: Option<String>,
    tags: Option<Vec<String>>,
    examples: Option<Vec<String>>,
    input_modes: Option<Vec<String>>,
    output_modes: Option<Vec<String>>,
    security_requirements: Option<Vec<AnyRequirement>>,
    security: Option<Vec<AnyRequirement>>,
}

impl FromJson for AnySkill {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut skill = Self::default();
        if reader.peek()? == Kind::String {
            let name = reader.string()?.into_owned();
            skill = Self { is_text: true, id: Some(name.clone()), name: Some(name), ..skill };
            return Ok(skill);
        }
        reader.members(|reader, key| match &*key {
            "id" => once(&mut skill.id, reader),
            "name" => once(&mut skill.name, reader),
            "description" => once(&mut skill.description, reader),
            "tags" => once(&mut skill.tags, reader),
            "examples" => once(&mut skill.examples, reader),
            "inputModes" | "input_modes" => once(&mut skill.input_modes, reader),
            "outputModes" | "output_modes" => once(&mut skill.output_modes, reader),
            "securityRequirements" | "security_requirements" => {
                once(&mut skill.security_requirements, reader)
            }
            "security" => once(&mut skill.security, reader),
            _ => reader.skip(),
        })?;
        Ok(skill)
    }
}

impl AnySkill {
    fn into_skill(self, splits: &Splits) -> AgentSkill {
        let requirements = self.security_requirements.or(self.security).unwrap_or_default();
        AgentSkill {
            id: self.id.unwrap_or_default(),
            name: self.name.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
            tags: self.tags.unwrap_or_default(),
            examples: self.examples.unwrap_or_default(),
            input_modes: self.input_modes.unwrap_or_default(),
            output_modes: self.output_modes.unwrap_or_default(),
            security_requirements: splits.apply(requirements),
        }
    }
}

/// Reads a member into its place; refuses the same member in a second spelling.
fn once<T: FromJson>(place: &mut Option<T>, reader: &mut Reader<'_>) -> Result<(), Error> {
    if place.is_some() {
        return Err(Error::shape("the member stands there in two spellings"));
    }
    *place = read_value(reader)?;
    Ok(())
}
