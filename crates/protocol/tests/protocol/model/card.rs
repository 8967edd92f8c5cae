//! Agent cards.

use nuncio_protocol::card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface,
    AgentProvider, AgentSkill, ApiKeySecurityScheme, AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow, HttpAuthSecurityScheme, ImplicitOAuthFlow,
    MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme,
    PasswordOAuthFlow, SecurityRequirement, SecurityScheme, StringList,
};
use proptest::prelude::*;

use super::{few, json, named, optional_id, some_text, text, url};

/// Any card.
pub(crate) fn card() -> impl Strategy<Value = AgentCard> {
    let identity = (some_text(), text(), prop::option::of(provider()), text());
    let links = (prop::option::of(text()), prop::option::of(text()));
    let offer = (few(interface()), capabilities(), few(text()), few(text()), few(skill()));
    let trust = (named(security_scheme()), few(security_requirement()), few(signature()));
    (identity, links, offer, trust).prop_map(|(identity, links, offer, trust)| {
        let (name, description, provider, version) = identity;
        let (documentation_url, icon_url) = links;
        let (supported_interfaces, capabilities, inputs, outputs, skills) = offer;
        let (security_schemes, security_requirements, signatures) = trust;
        AgentCard {
            name,
            description,
            supported_interfaces,
            provider,
            version,
            documentation_url,
            capabilities,
            security_schemes,
            security_requirements,
            default_input_modes: inputs,
            default_output_modes: outputs,
            skills,
            signatures,
            icon_url,
        }
    })
}

/// An interface of any binding and version.
pub(crate) fn interface() -> impl Strategy<Value = AgentInterface> {
    let binding = prop_oneof![Just("JSONRPC"), Just("GRPC"), Just("HTTP+JSON"), Just("x:y")];
    let version =
        prop_oneof![Just("1.0"), Just("0.3"), Just("0.3.0"), Just("0.2"), Just(""), Just("2.7")];
    (url(), binding, optional_id(), version).prop_map(|(url, binding, tenant, version)| {
        AgentInterface {
            url,
            protocol_binding: binding.to_owned(),
            tenant,
            protocol_version: version.to_owned(),
        }
    })
}

pub(crate) fn provider() -> impl Strategy<Value = AgentProvider> {
    (url(), text()).prop_map(|(url, organization)| AgentProvider { url, organization })
}

pub(crate) fn capabilities() -> impl Strategy<Value = AgentCapabilities> {
    let flags = any::<(Option<bool>, Option<bool>, Option<bool>)>();
    (flags, few(extension())).prop_map(
        |((streaming, push_notifications, extended_agent_card), extensions)| AgentCapabilities {
            streaming,
            push_notifications,
            extensions,
            extended_agent_card,
        },
    )
}

pub(crate) fn extension() -> impl Strategy<Value = AgentExtension> {
    (url(), text(), any::<bool>(), json::optional_object()).prop_map(
        |(uri, description, required, params)| AgentExtension {
            uri,
            description,
            required,
            params,
        },
    )
}

pub(crate) fn skill() -> impl Strategy<Value = AgentSkill> {
    (
        text(),
        text(),
        text(),
        few(text()),
        few(text()),
        few(text()),
        few(text()),
        few(security_requirement()),
    )
        .prop_map(|fields| {
            let (id, name, description, tags, examples, inputs, outputs, requirements) = fields;
            AgentSkill {
                id,
                name,
                description,
                tags,
                examples,
                input_modes: inputs,
                output_modes: outputs,
                security_requirements: requirements,
            }
        })
}

pub(crate) fn signature() -> impl Strategy<Value = AgentCardSignature> {
    (text(), text(), json::optional_object()).prop_map(|(protected, signature, header)| {
        AgentCardSignature { protected, signature, header }
    })
}

pub(crate) fn security_requirement() -> impl Strategy<Value = SecurityRequirement> {
    named(few(text()).prop_map(|list| StringList { list }))
        .prop_map(|schemes| SecurityRequirement { schemes })
}

/// A security scheme of any sort.
pub(crate) fn security_scheme() -> impl Strategy<Value = SecurityScheme> {
    prop_oneof![
        (text(), text(), text()).prop_map(|(description, location, name)| {
            SecurityScheme::ApiKey(ApiKeySecurityScheme { description, location, name })
        }),
        (text(), text(), text()).prop_map(|(description, scheme, bearer_format)| {
            SecurityScheme::Http(HttpAuthSecurityScheme { description, scheme, bearer_format })
        }),
        (text(), flows(), text()).prop_map(|(description, flows, oauth2_metadata_url)| {
            SecurityScheme::OAuth2(OAuth2SecurityScheme { description, flows, oauth2_metadata_url })
        }),
        (text(), url()).prop_map(|(description, open_id_connect_url)| {
            SecurityScheme::OpenIdConnect(OpenIdConnectSecurityScheme {
                description,
                open_id_connect_url,
            })
        }),
        text().prop_map(|description| {
            SecurityScheme::MutualTls(MutualTlsSecurityScheme { description })
        }),
    ]
}

/// An OAuth flow of any sort.
pub(crate) fn flows() -> impl Strategy<Value = OAuthFlows> {
    prop_oneof![
        (text(), text(), text(), named(text()), any::<bool>()).prop_map(
            |(authorization_url, token_url, refresh_url, scopes, pkce_required)| {
                OAuthFlows::AuthorizationCode(AuthorizationCodeOAuthFlow {
                    authorization_url,
                    token_url,
                    refresh_url,
                    scopes,
                    pkce_required,
                })
            }
        ),
        (text(), text(), named(text())).prop_map(|(token_url, refresh_url, scopes)| {
            OAuthFlows::ClientCredentials(ClientCredentialsOAuthFlow {
                token_url,
                refresh_url,
                scopes,
            })
        }),
        (text(), text(), named(text())).prop_map(|(authorization_url, refresh_url, scopes)| {
            OAuthFlows::Implicit(ImplicitOAuthFlow { authorization_url, refresh_url, scopes })
        }),
        (text(), text(), named(text())).prop_map(|(token_url, refresh_url, scopes)| {
            OAuthFlows::Password(PasswordOAuthFlow { token_url, refresh_url, scopes })
        }),
        (text(), text(), text(), named(text())).prop_map(
            |(device_authorization_url, token_url, refresh_url, scopes)| {
                OAuthFlows::DeviceCode(DeviceCodeOAuthFlow {
                    device_authorization_url,
                    token_url,
                    refresh_url,
                    scopes,
                })
            }
        ),
    ]
}
