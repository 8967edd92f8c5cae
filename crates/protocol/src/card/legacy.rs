//! Cards in the form of 0.3 and 0.2, alone or together with 1.0.
//!
//! Only interfaces that speak 0.3 go into the members of 0.3: those that name a version from
//! 0.3 up to 1.0, and those that name none.
//!
//! What 0.3 cannot say, and [`read_any`](super::read_any) therefore cannot give back:
//!
//! - interfaces of other versions, a tenant, a second mention of the first interface, and a
//!   version per interface: all get that of the first, without patch number;
//! - a binding in any spelling but A2A's, and silence about that of the first interface,
//!   which means JSON-RPC in 0.3;
//! - the device code flow: its scheme keeps its name but has no flow, and is gone when read;
//! - `pkceRequired`;
//! - a signature, which would not fit the new form.
//!
//! 0.2 moreover cannot say: mutual TLS and the URL of OAuth metadata, requirements of a
//! single skill. A requirement that names a scheme lost on the way stays: better a caller
//! that asks than one that takes the agent for an open one.
//!
//! The hybrid card loses nothing: a reader of 1.0 finds every member of 1.0 unchanged, its
//! signatures included, which do not cover the members of 0.3 beside them. Readers that
//! refuse members they do not know refuse it, too; give those the plain card.

use super::{
    AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Binding, OAuth2SecurityScheme,
    OAuthFlows, SecurityRequirement, SecurityScheme,
};
use crate::{
    error::Error,
    json::{self, Members, ToJson, Writer},
};

/// Writes a card for readers of A2A 0.3; see [`LegacyCard::v03`].
pub fn write_v03(card: &AgentCard) -> Result<String, Error> {
    LegacyCard::v03(card).map(|card| json::to_string(&card))
}

/// Writes a card for readers of A2A 0.2; see [`LegacyCard::v02`].
pub fn write_v02(card: &AgentCard) -> Result<String, Error> {
    LegacyCard::v02(card).map(|card| json::to_string(&card))
}

/// Writes one card for readers of A2A 1.0 and of 0.3; see [`LegacyCard::hybrid`].
pub fn write_hybrid(card: &AgentCard) -> Result<String, Error> {
    LegacyCard::hybrid(card).map(|card| json::to_string(&card))
}

/// A card and the older form it is to be written in.
#[derive(Clone, Debug)]
pub struct LegacyCard<'a> {
    card: &'a AgentCard,
    shape: Shape,
    first: &'a AgentInterface,
    additional: Vec<&'a AgentInterface>,
}

impl<'a> LegacyCard<'a> {
    /// Is for readers of A2A 0.3.
    ///
    /// Fails with `VersionNotSupported` if no interface speaks 0.3.
    pub fn v03(card: &'a AgentCard) -> Result<Self, Error> {
        Self::new(card, Shape::V03)
    }

    /// Is for readers of A2A 0.2, who look at `/.well-known/agent.json`.
    ///
    /// They know JSON-RPC only and look for it in `url`; fails with `VersionNotSupported` if
    /// no interface speaks 0.3 (which has the same JSON-RPC) or 0.2 on it.
    pub fn v02(card: &'a AgentCard) -> Result<Self, Error> {
        Self::new(card, Shape::V02)
    }

    /// Is for readers of A2A 1.0 and of 0.3 alike.
    ///
    /// Fails with `VersionNotSupported` if no interface speaks 0.3; the plain card is the
    /// right one then.
    pub fn hybrid(card: &'a AgentCard) -> Result<Self, Error> {
        Self::new(card, Shape::Hybrid)
    }

    fn new(card: &'a AgentCard, shape: Shape) -> Result<Self, Error> {
        let mut interfaces =
            card.supported_interfaces.iter().filter(|interface| shape.accepts(interface));
        let Some(first) = interfaces.next() else {
            return Err(not_spoken(card, shape));
        };
        Ok(Self { card, shape, first, additional: interfaces.collect() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    V02,
    V03,
    Hybrid,
}

impl Shape {
    fn version(self) -> &'static str {
        match self {
            Self::V02 => "0.2",
            Self::V03 | Self::Hybrid => "0.3",
        }
    }

    fn accepts(self, interface: &AgentInterface) -> bool {
        match self {
            Self::V03 | Self::Hybrid => interface.speaks_v03(),
            Self::V02 => {
                let version = interface.version();
                let speaks = interface.speaks_v03()
                    || version.is_some_and(|version| version.to_string() == self.version());
                speaks && interface.binding() == Binding::JsonRpc
            }
        }
    }

    fn can_say(self, scheme: &SecurityScheme) -> bool {
        self != Self::V02 || !matches!(scheme, SecurityScheme::MutualTls(_))
    }
}

fn not_spoken(card: &AgentCard, shape: Shape) -> Error {
    let mut versions: Vec<&str> =
        card.supported_interfaces.iter().map(|one| one.protocol_version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    Error::version_not_supported(shape.version(), &versions)
}

impl ToJson for LegacyCard<'_> {
    fn write(&self, writer: &mut Writer) {
        let Self { card, shape, .. } = *self;
        let hybrid = shape == Shape::Hybrid;
        writer.object(|object| {
            object.with("protocolVersion", |writer| writer.string(&self.version()));
            object.member("name", &card.name);
            object.member("description", &card.description);
            self.write_interfaces(object);
            object.optional("provider", card.provider.as_ref());
            object.member("version", &card.version);
            object.optional("documentationUrl", card.documentation_url.as_ref());
            write_capabilities(object, &card.capabilities, shape);
            if !card.security_schemes.is_empty() {
                object.with("securitySchemes", |writer| self.write_schemes(writer));
            }
            write_requirements(object, &card.security_requirements, shape);
            object.member("defaultInputModes", &card.default_input_modes);
            object.member("defaultOutputModes", &card.default_output_modes);
            object.with("skills", |writer| {
                writer.array(&card.skills, |writer, skill| write_skill(writer, skill, shape));
            });
            if hybrid {
                object.list("signatures", &card.signatures);
            }
            object.optional("iconUrl", card.icon_url.as_ref());
        });
    }
}

impl LegacyCard<'_> {
    /// Returns the version in three parts, as cards of 0.3 have it.
    fn version(&self) -> String {
        match self.shape {
            Shape::V02 => "0.2.6".to_owned(),
            Shape::V03 | Shape::Hybrid => {
                self.first.version().map_or_else(|| "0.3.0".to_owned(), |own| format!("{own}.0"))
            }
        }
    }

    fn write_interfaces(&self, object: &mut Members<'_>) {
        if self.shape == Shape::Hybrid {
            object.member("supportedInterfaces", &self.card.supported_interfaces);
        }
        object.member("url", &self.first.url);
        // The text of 0.3 requires it, and silence means this one.
        let binding = self.first.binding();
        let transport = Some(binding.as_str()).filter(|transport| !transport.is_empty());
        object.member("preferredTransport", transport.unwrap_or(Binding::JsonRpc.as_str()));
        if !self.additional.is_empty() {
            object.with("additionalInterfaces", |writer| {
                writer.array(&self.additional, |writer, interface| {
                    writer.object(|object| {
                        object.member("url", &interface.url);
                        object.member("transport", interface.binding().as_str());
                    });
                });
            });
        }
    }

    fn write_schemes(&self, writer: &mut Writer) {
        writer.object(|object| {
            for (name, scheme) in &self.card.security_schemes {
                if self.shape.can_say(scheme) {
                    object.entry(name, &Scheme { scheme, shape: self.shape });
                }
            }
        });
    }
}

fn write_capabilities(object: &mut Members<'_>, capabilities: &AgentCapabilities, shape: Shape) {
    if shape == Shape::Hybrid {
        object.member("capabilities", capabilities);
    } else {
        let without = AgentCapabilities { extended_agent_card: None, ..capabilities.clone() };
        object.member("capabilities", &without);
    }
    object.optional("supportsAuthenticatedExtendedCard", capabilities.extended_agent_card.as_ref());
}

/// Writes the requirements in the forms of the shape.
fn write_requirements(
    object: &mut Members<'_>,
    requirements: &[SecurityRequirement],
    shape: Shape,
) {
    if shape == Shape::Hybrid {
        object.list("securityRequirements", requirements);
    }
    if requirements.is_empty() {
        return;
    }
    object.with("security", |writer| {
        writer.array(requirements, |writer, requirement| {
            writer.object(|object| {
                for (name, scopes) in &requirement.schemes {
                    object.entry(name, &scopes.list);
                }
            });
        });
    });
}

fn write_skill(writer: &mut Writer, skill: &AgentSkill, shape: Shape) {
    writer.object(|object| {
        object.member("id", &skill.id);
        object.member("name", &skill.name);
        object.member("description", &skill.description);
        object.member("tags", &skill.tags);
        object.list("examples", &skill.examples);
        object.list("inputModes", &skill.input_modes);
        object.list("outputModes", &skill.output_modes);
        if shape != Shape::V02 {
            write_requirements(object, &skill.security_requirements, shape);
        }
    });
}

/// A security scheme as 0.3 writes it and, in a hybrid, as 1.0 does beside it.
struct Scheme<'a> {
    scheme: &'a SecurityScheme,
    shape: Shape,
}

impl ToJson for Scheme<'_> {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            if self.shape == Shape::Hybrid {
                self.write_v1(object);
            }
            match self.scheme {
                SecurityScheme::ApiKey(scheme) => {
                    object.member("type", "apiKey");
                    object.text("description", &scheme.description);
                    object.member("in", &scheme.location);
                    object.member("name", &scheme.name);
                }
                SecurityScheme::Http(scheme) => {
                    object.member("type", "http");
                    object.text("description", &scheme.description);
                    object.member("scheme", &scheme.scheme);
                    object.text("bearerFormat", &scheme.bearer_format);
                }
                SecurityScheme::OAuth2(scheme) => self.write_oauth2(object, scheme),
                SecurityScheme::OpenIdConnect(scheme) => {
                    object.member("type", "openIdConnect");
                    object.text("description", &scheme.description);
                    object.member("openIdConnectUrl", &scheme.open_id_connect_url);
                }
                SecurityScheme::MutualTls(scheme) => {
                    object.member("type", "mutualTLS");
                    object.text("description", &scheme.description);
                }
            }
        });
    }
}

impl Scheme<'_> {
    fn write_v1(&self, object: &mut Members<'_>) {
        match self.scheme {
            SecurityScheme::ApiKey(scheme) => object.member("apiKeySecurityScheme", scheme),
            SecurityScheme::Http(scheme) => object.member("httpAuthSecurityScheme", scheme),
            SecurityScheme::OAuth2(scheme) => object.member("oauth2SecurityScheme", scheme),
            SecurityScheme::OpenIdConnect(scheme) => {
                object.member("openIdConnectSecurityScheme", scheme);
            }
            SecurityScheme::MutualTls(scheme) => object.member("mtlsSecurityScheme", scheme),
        }
    }

    fn write_oauth2(&self, object: &mut Members<'_>, scheme: &OAuth2SecurityScheme) {
        object.member("type", "oauth2");
        object.text("description", &scheme.description);
        object.with("flows", |writer| write_flows(writer, &scheme.flows));
        if self.shape != Shape::V02 {
            object.text("oauth2MetadataUrl", &scheme.oauth2_metadata_url);
        }
    }
}

fn write_flows(writer: &mut Writer, flows: &OAuthFlows) {
    writer.object(|object| match flows {
        OAuthFlows::AuthorizationCode(flow) => {
            let mut flow = flow.clone();
            flow.pkce_required = false;
            object.member("authorizationCode", &flow);
        }
        OAuthFlows::ClientCredentials(flow) => object.member("clientCredentials", flow),
        OAuthFlows::Implicit(flow) => object.with("implicit", |writer| {
            // 0.3 requires the members that 1.0 leaves out when empty.
            writer.object(|object| {
                object.member("authorizationUrl", &flow.authorization_url);
                object.text("refreshUrl", &flow.refresh_url);
                object.member("scopes", &flow.scopes);
            });
        }),
        OAuthFlows::Password(flow) => object.with("password", |writer| {
            writer.object(|object| {
                object.member("tokenUrl", &flow.token_url);
                object.text("refreshUrl", &flow.refresh_url);
                object.member("scopes", &flow.scopes);
            });
        }),
        OAuthFlows::DeviceCode(_) => {}
    });
}
