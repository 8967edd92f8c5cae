//! Random cards.

use std::collections::BTreeMap;

use nuncio_protocol::{card::*, ids::Tenant, json::Object};
use proptest::{collection::vec, option, prelude::*};

/// Any card without signatures.
pub(crate) fn card() -> impl Strategy<Value = AgentCard> {
    let texts = (text(), text(), text(), option::of(text()), option::of(text()));
    let lists = (vec(interface(), 0..4), vec(text(), 0..3), vec(text(), 0..3), vec(skill(), 0..3));
    let security = (
        prop::collection::btree_map(text(), scheme(), 0..4),
        vec(requirement(), 0..3),
        option::of((text(), text())),
    );
    (texts, lists, security, capabilities()).prop_map(|(texts, lists, security, capabilities)| {
        let (name, description, version, documentation_url, icon_url) = texts;
        let (supported_interfaces, default_input_modes, default_output_modes, skills) = lists;
        let (security_schemes, security_requirements, provider) = security;
        AgentCard {
            name,
            description,
            supported_interfaces,
            provider: provider.map(|(url, organization)| AgentProvider { url, organization }),
            version,
            documentation_url,
            capabilities,
            security_schemes,
            security_requirements,
            default_input_modes,
            default_output_modes,
            skills,
            signatures: Vec::new(),
            icon_url,
        }
    })
}

/// Often empty, sometimes with what needs escaping or has no single UTF-16 unit.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just(String::new()),
        4 => "[a-z]{1,6}",
        2 => "[a\"\\\\\u{0}-\u{1f}\u{7f}é\u{fb33}\u{1f600} /]{0,8}",
    ]
}

fn interface() -> impl Strategy<Value = AgentInterface> {
    let binding = prop_oneof![
        3 => Just("JSONRPC".to_owned()),
        2 => Just("HTTP+JSON".to_owned()),
        1 => Just("GRPC".to_owned()),
        1 => Just("https://x.example/binding".to_owned()),
        1 => text(),
    ];
    let version = prop_oneof![
        4 => Just("0.3".to_owned()),
        3 => Just("1.0".to_owned()),
        1 => Just("0.3.0".to_owned()),
        1 => Just("0.2".to_owned()),
        1 => Just(String::new()),
        1 => text(),
    ];
    (text(), binding, version, option::of("[a-z]{1,5}")).prop_map(
        |(url, protocol_binding, protocol_version, tenant)| AgentInterface {
            url,
            protocol_binding,
            tenant: tenant.map(|tenant| Tenant::parse(&tenant).expect("a short name")),
            protocol_version,
        },
    )
}

fn capabilities() -> impl Strategy<Value = AgentCapabilities> {
    let params = prop_oneof![
        Just("{}"),
        Just(r#"{"a":1,"b":[null,"",{},[],{"c":""}],"é":0.5}"#),
        Just(r#"{"big":1e300,"small":0.00001,"tiny":1.5e-7,"whole":1e21,"zero":-0.0}"#),
    ];
    let extension = (text(), text(), any::<bool>(), option::of(params)).prop_map(
        |(uri, description, required, params)| AgentExtension {
            uri,
            description,
            required,
            params: params.map(|params| Object::parse_text(params).expect("an object")),
        },
    );
    let flag = || option::of(any::<bool>());
    (flag(), flag(), vec(extension, 0..3), flag()).prop_map(
        |(streaming, push_notifications, extensions, extended_agent_card)| AgentCapabilities {
            streaming,
            push_notifications,
            extensions,
            extended_agent_card,
        },
    )
}

fn skill() -> impl Strategy<Value = AgentSkill> {
    let texts = (text(), text(), text());
    let lists = (vec(text(), 0..3), vec(text(), 0..2), vec(text(), 0..2), vec(text(), 0..2));
    (texts, lists, vec(requirement(), 0..2)).prop_map(|(texts, lists, security_requirements)| {
        let (id, name, description) = texts;
        let (tags, examples, input_modes, output_modes) = lists;
        AgentSkill {
            id,
            name,
            description,
            tags,
            examples,
            input_modes,
            output_modes,
            security_requirements,
        }
    })
}

fn requirement() -> impl Strategy<Value = SecurityRequirement> {
    let scopes = vec(text(), 0..3).prop_map(|list| StringList { list });
    prop::collection::btree_map(text(), scopes, 0..3)
        .prop_map(|schemes| SecurityRequirement { schemes })
}

fn scheme() -> impl Strategy<Value = SecurityScheme> {
    prop_oneof![
        (text(), text(), text()).prop_map(|(description, location, name)| {
            SecurityScheme::ApiKey(ApiKeySecurityScheme { description, location, name })
        }),
        (text(), text(), text()).prop_map(|(description, scheme, bearer_format)| {
            SecurityScheme::Http(HttpAuthSecurityScheme { description, scheme, bearer_format })
        }),
        (text(), flows(), text()).prop_map(|(description, flows, oauth2_metadata_url)| {
            let scheme = OAuth2SecurityScheme { description, flows, oauth2_metadata_url };
            SecurityScheme::OAuth2(scheme)
        }),
        (text(), text()).prop_map(|(description, open_id_connect_url)| {
            let scheme = OpenIdConnectSecurityScheme { description, open_id_connect_url };
            SecurityScheme::OpenIdConnect(scheme)
        }),
        text().prop_map(|description| {
            SecurityScheme::MutualTls(MutualTlsSecurityScheme { description })
        }),
    ]
}

fn flows() -> impl Strategy<Value = OAuthFlows> {
    let scopes = prop::collection::btree_map(text(), text(), 0..3);
    let parts = (text(), text(), text(), scopes, any::<bool>(), 0..5_u8);
    parts.prop_map(|(authorization_url, token_url, refresh_url, scopes, pkce_required, which)| {
        flow(which, authorization_url, token_url, refresh_url, scopes, pkce_required)
    })
}

fn flow(
    which: u8,
    authorization_url: String,
    token_url: String,
    refresh_url: String,
    scopes: BTreeMap<String, String>,
    pkce_required: bool,
) -> OAuthFlows {
    match which {
        0 => OAuthFlows::AuthorizationCode(AuthorizationCodeOAuthFlow {
            authorization_url,
            token_url,
            refresh_url,
            scopes,
            pkce_required,
        }),
        1 => OAuthFlows::ClientCredentials(ClientCredentialsOAuthFlow {
            token_url,
            refresh_url,
            scopes,
        }),
        2 => OAuthFlows::Implicit(ImplicitOAuthFlow { authorization_url, refresh_url, scopes }),
        3 => OAuthFlows::Password(PasswordOAuthFlow { token_url, refresh_url, scopes }),
        _ => OAuthFlows::DeviceCode(DeviceCodeOAuthFlow {
            device_authorization_url: authorization_url,
            token_url,
            refresh_url,
            scopes,
        }),
    }
}
