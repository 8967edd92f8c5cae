//! Agent cards of 0.3, where they differ from those of 1.0.

use std::iter;

use super::{
    mirror::{needs_one_of, read_inside, read_list, read_optional, read_text, write_list},
    v03,
};
use crate::{
    card::{
        AgentCapabilities, AgentCard, AgentInterface, AgentSkill, AuthorizationCodeOAuthFlow,
        OAuth2SecurityScheme, OAuthFlows, SecurityScheme,
    },
    error,
    json::Error,
    version::Version,
};

/// The transport of an interface that names none.
const DEFAULT_TRANSPORT: &str = "JSONRPC";

impl TryFrom<AgentCard> for v03::AgentCard {
    type Error = error::Error;

    /// Fails if no interface of the card speaks 0.3.
    fn try_from(card: AgentCard) -> Result<Self, error::Error> {
        let (preferred, additional_interfaces) = write_interfaces(card.supported_interfaces)?;
        let capabilities = card.capabilities;
        Ok(Self {
            name: card.name,
            description: card.description,
            url: preferred.url,
            provider: card.provider.map(Into::into),
            version: card.version,
            documentation_url: card.documentation_url.unwrap_or_default(),
            supports_authenticated_extended_card: capabilities
                .extended_agent_card
                .unwrap_or_default(),
            capabilities: Some(v03::AgentCapabilities {
                streaming: capabilities.streaming.unwrap_or_default(),
                push_notifications: capabilities.push_notifications.unwrap_or_default(),
                extensions: write_list(capabilities.extensions),
            }),
            security_schemes: card
                .security_schemes
                .into_iter()
                .map(|(name, scheme)| (name, scheme.into()))
                .collect(),
            security: write_list(card.security_requirements),
            default_input_modes: card.default_input_modes,
            default_output_modes: card.default_output_modes,
            skills: write_list(card.skills),
            preferred_transport: preferred.transport,
            additional_interfaces,
            protocol_version: "0.3.0".to_owned(),
            // A signature covers the form that was signed, which is not this one.
            signatures: Vec::new(),
            icon_url: card.icon_url.unwrap_or_default(),
        })
    }
}

impl TryFrom<v03::AgentCard> for AgentCard {
    type Error = Error;

    fn try_from(card: v03::AgentCard) -> Result<Self, Error> {
        let said = |text: String| Some(text).filter(|text| !text.is_empty());
        let capabilities = card.capabilities.unwrap_or_default();
        let extensions = read_list(capabilities.extensions, "extensions")
            .map_err(|error| error.inside("capabilities"))?;
        Ok(Self {
            name: read_text(card.name, "name")?,
            description: card.description,
            supported_interfaces: read_interfaces(
                v03::AgentInterface { url: card.url, transport: card.preferred_transport },
                card.additional_interfaces,
            ),
            provider: read_optional(card.provider, "provider")?,
            version: card.version,
            documentation_url: said(card.documentation_url),
            capabilities: AgentCapabilities {
                streaming: capabilities.streaming.then_some(true),
                push_notifications: capabilities.push_notifications.then_some(true),
                extensions,
                extended_agent_card: card.supports_authenticated_extended_card.then_some(true),
            },
            security_schemes: card
                .security_schemes
                .into_iter()
                .filter_map(|(name, scheme)| match read_scheme(scheme) {
                    Ok(scheme) => Some(Ok((name, scheme?))),
                    Err(error) => Some(Err(error.inside(&name).inside("securitySchemes"))),
                })
                .collect::<Result<_, _>>()?,
            security_requirements: read_list(card.security, "security")?,
            default_input_modes: card.default_input_modes,
            default_output_modes: card.default_output_modes,
            skills: read_list(card.skills, "skills")?,
            // A signature covers the form that was signed, which is not this one.
            signatures: Vec::new(),
            icon_url: said(card.icon_url),
        })
    }
}

/// Takes the interfaces that speak 0.3, the preferred one apart.
fn write_interfaces(
    interfaces: Vec<AgentInterface>,
) -> Result<(v03::AgentInterface, Vec<v03::AgentInterface>), error::Error> {
    let (legacy, others): (Vec<_>, Vec<_>) = interfaces.into_iter().partition(speaks_v03);
    let mut legacy = legacy.into_iter().map(|interface| v03::AgentInterface {
        url: interface.url,
        transport: interface.protocol_binding,
    });
    let preferred = legacy.next().ok_or_else(|| {
        let mut spoken: Vec<&str> =
            others.iter().map(|interface| interface.protocol_version.as_str()).collect();
        spoken.sort_unstable();
        spoken.dedup();
        error::Error::version_not_supported("0.3", &spoken)
    })?;
    Ok((preferred, legacy.collect()))
}

/// Tells whether an interface is declared with a version of 0.3, or with none.
fn speaks_v03(interface: &AgentInterface) -> bool {
    interface.protocol_version.is_empty()
        || Version::parse(&interface.protocol_version)
            .is_some_and(|version| (Version::V0_3..Version::V1_0).contains(&version))
}

/// Makes one list of the preferred interface and the others, which may repeat it. What has no
/// URL is no interface.
fn read_interfaces(
    preferred: v03::AgentInterface,
    others: Vec<v03::AgentInterface>,
) -> Vec<AgentInterface> {
    let interfaces = iter::once(preferred).chain(others);
    let mut interfaces =
        interfaces.filter(|interface| !interface.url.is_empty()).map(|interface| AgentInterface {
            url: interface.url,
            protocol_binding: match interface.transport.as_str() {
                "" => DEFAULT_TRANSPORT.to_owned(),
                _ => interface.transport,
            },
            tenant: None,
            protocol_version: Version::V0_3.to_string(),
        });
    let first = interfaces.next();
    let others: Vec<_> = interfaces.filter(|other| Some(other) != first.as_ref()).collect();
    first.into_iter().chain(others).collect()
}

impl From<AgentSkill> for v03::AgentSkill {
    fn from(skill: AgentSkill) -> Self {
        Self {
            id: skill.id,
            name: skill.name,
            description: skill.description,
            tags: skill.tags,
            examples: skill.examples,
            input_modes: skill.input_modes,
            output_modes: skill.output_modes,
            security: write_list(skill.security_requirements),
        }
    }
}

impl TryFrom<v03::AgentSkill> for AgentSkill {
    type Error = Error;

    fn try_from(skill: v03::AgentSkill) -> Result<Self, Error> {
        Ok(Self {
            id: skill.id,
            name: skill.name,
            description: skill.description,
            tags: skill.tags,
            examples: skill.examples,
            input_modes: skill.input_modes,
            output_modes: skill.output_modes,
            security_requirements: read_list(skill.security, "security")?,
        })
    }
}

impl From<SecurityScheme> for v03::SecurityScheme {
    fn from(scheme: SecurityScheme) -> Self {
        use v03::security_scheme::Scheme;
        let scheme = match scheme {
            SecurityScheme::ApiKey(scheme) => Scheme::ApiKeySecurityScheme(scheme.into()),
            SecurityScheme::Http(scheme) => Scheme::HttpAuthSecurityScheme(scheme.into()),
            SecurityScheme::OAuth2(scheme) => {
                Scheme::Oauth2SecurityScheme(v03::OAuth2SecurityScheme {
                    description: scheme.description,
                    flows: Some(v03::OAuthFlows { flow: write_flow(scheme.flows) }),
                    oauth2_metadata_url: scheme.oauth2_metadata_url,
                })
            }
            SecurityScheme::OpenIdConnect(scheme) => {
                Scheme::OpenIdConnectSecurityScheme(scheme.into())
            }
            SecurityScheme::MutualTls(scheme) => Scheme::MtlsSecurityScheme(scheme.into()),
        };
        Self { scheme: Some(scheme) }
    }
}

/// Reads a scheme; none comes of OAuth without a flow, which 0.3 allows and 1.0 cannot say.
fn read_scheme(scheme: v03::SecurityScheme) -> Result<Option<SecurityScheme>, Error> {
    use v03::security_scheme::Scheme;
    const NAMES: &str = "`apiKeySecurityScheme` `httpAuthSecurityScheme` `oauth2SecurityScheme` \
                         `openIdConnectSecurityScheme` `mtlsSecurityScheme`";
    let scheme = scheme.scheme.ok_or_else(|| needs_one_of(NAMES))?;
    let scheme = match scheme {
        Scheme::ApiKeySecurityScheme(scheme) => {
            SecurityScheme::ApiKey(read_inside(scheme, "apiKeySecurityScheme")?)
        }
        Scheme::HttpAuthSecurityScheme(scheme) => {
            SecurityScheme::Http(read_inside(scheme, "httpAuthSecurityScheme")?)
        }
        Scheme::Oauth2SecurityScheme(scheme) => {
            let Some(flow) = scheme.flows.and_then(|flows| flows.flow) else { return Ok(None) };
            SecurityScheme::OAuth2(OAuth2SecurityScheme {
                description: scheme.description,
                flows: read_flow(flow)
                    .map_err(|error| error.inside("flows").inside("oauth2SecurityScheme"))?,
                oauth2_metadata_url: scheme.oauth2_metadata_url,
            })
        }
        Scheme::OpenIdConnectSecurityScheme(scheme) => {
            SecurityScheme::OpenIdConnect(read_inside(scheme, "openIdConnectSecurityScheme")?)
        }
        Scheme::MtlsSecurityScheme(scheme) => {
            SecurityScheme::MutualTls(read_inside(scheme, "mtlsSecurityScheme")?)
        }
    };
    Ok(Some(scheme))
}

/// Writes a flow; 0.3 has none for devices.
fn write_flow(flows: OAuthFlows) -> Option<v03::o_auth_flows::Flow> {
    use v03::o_auth_flows::Flow;
    match flows {
        OAuthFlows::AuthorizationCode(flow) => {
            Some(Flow::AuthorizationCode(v03::AuthorizationCodeOAuthFlow {
                authorization_url: flow.authorization_url,
                token_url: flow.token_url,
                refresh_url: flow.refresh_url,
                scopes: flow.scopes,
            }))
        }
        OAuthFlows::ClientCredentials(flow) => Some(Flow::ClientCredentials(flow.into())),
        OAuthFlows::Implicit(flow) => Some(Flow::Implicit(flow.into())),
        OAuthFlows::Password(flow) => Some(Flow::Password(flow.into())),
        OAuthFlows::DeviceCode(_) => None,
    }
}

fn read_flow(flow: v03::o_auth_flows::Flow) -> Result<OAuthFlows, Error> {
    use v03::o_auth_flows::Flow;
    Ok(match flow {
        Flow::AuthorizationCode(flow) => {
            OAuthFlows::AuthorizationCode(AuthorizationCodeOAuthFlow {
                authorization_url: flow.authorization_url,
                token_url: flow.token_url,
                refresh_url: flow.refresh_url,
                scopes: flow.scopes,
                pkce_required: false,
            })
        }
        Flow::ClientCredentials(flow) => {
            OAuthFlows::ClientCredentials(read_inside(flow, "clientCredentials")?)
        }
        Flow::Implicit(flow) => OAuthFlows::Implicit(read_inside(flow, "implicit")?),
        Flow::Password(flow) => OAuthFlows::Password(read_inside(flow, "password")?),
    })
}
