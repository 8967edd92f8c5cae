//! The agent card: who an agent is, what it can do, how to reach it.
//!
//! ```
//! use nuncio_protocol::{
//!     card::{AgentCard, AgentSkill, Binding, lint},
//!     version::Version,
//! };
//!
//! let card = AgentCard::builder("Echo")
//!     .description("Repeats what it is told")
//!     .interface("https://echo.example/a2a", Binding::JsonRpc, Version::V1_0)
//!     .skill(AgentSkill::new("echo", "Echo", "Repeats a text", ["demo"]))
//!     .build();
//! assert!(lint(&card).is_empty());
//! ```
//!
//! Members that A2A requires but many cards lack are read as empty, so that one bad card
//! does not hide a working agent; [`lint`] says what is wrong with it. [`read_any`] reads the
//! card of any version and dialect, [`write_v03`] and [`write_hybrid`] write those of older
//! ones, and `sign` (feature `signing`) proves where a card comes from.

mod builder;
mod interface;
mod legacy;
mod lint;
mod normal;
#[cfg(feature = "signing")]
pub mod sign;

pub use builder::CardBuilder;
pub use interface::Binding;
pub use legacy::{LegacyCard, write_hybrid, write_v02, write_v03};
pub use lint::{
    MAX_CARD_BYTES, MAX_DESCRIPTION_CHARS, MAX_SIGNATURES, MAX_SKILLS, Problem, Rule, Severity,
    inert, lint, lint_text,
};
pub use normal::{CardForm, read_any, read_any_from};

use std::collections::BTreeMap;

use crate::{
    ids::Tenant,
    json::{Object, proto_union, record},
};

record! {
    /// Who an agent is, what it can do, how to reach it.
    #[derive(Default)]
    pub struct AgentCard {
        /// A name for people.
        name: String = required "name",
        /// What the agent does.
        description: String = always "description",
        /// How to reach it, the preferred way first.
        supported_interfaces: Vec<AgentInterface> =
            always "supportedInterfaces" | "supported_interfaces",
        /// Who runs it.
        provider: Option<AgentProvider> = optional "provider",
        /// The agent's own version.
        version: String = always "version",
        /// Where to read about it.
        documentation_url: Option<String> = optional "documentationUrl" | "documentation_url",
        /// What of A2A it offers.
        capabilities: AgentCapabilities = always "capabilities",
        /// Ways to authenticate, by name.
        security_schemes: BTreeMap<String, SecurityScheme> =
            implicit "securitySchemes" | "security_schemes",
        /// Which of those are needed: any one of these.
        security_requirements: Vec<SecurityRequirement> =
            implicit "securityRequirements" | "security_requirements",
        /// Media types it understands.
        default_input_modes: Vec<String> = always "defaultInputModes" | "default_input_modes",
        /// Media types it answers with.
        default_output_modes: Vec<String> = always "defaultOutputModes" | "default_output_modes",
        /// What it can do.
        skills: Vec<AgentSkill> = always "skills",
        /// Proof of origin.
        signatures: Vec<AgentCardSignature> = implicit "signatures",
        /// A picture.
        icon_url: Option<String> = optional "iconUrl" | "icon_url",
    }
}

record! {
    /// One way to reach an agent.
    #[derive(Default)]
    pub struct AgentInterface {
        /// An absolute URL; for gRPC `host:port`.
        url: String = always "url",
        /// `JSONRPC`, `HTTP+JSON`, `GRPC`, or a URI.
        protocol_binding: String = always "protocolBinding" | "protocol_binding",
        /// To be repeated in every request on this interface.
        tenant: Option<Tenant> = id "tenant",
        /// `Major.Minor`.
        protocol_version: String = always "protocolVersion" | "protocol_version",
    }
}

record! {
    /// Who runs an agent.
    #[derive(Default)]
    pub struct AgentProvider {
        /// Their site.
        url: String = always "url",
        /// Their name.
        organization: String = always "organization",
    }
}

record! {
    /// What of A2A an agent offers.
    #[derive(Default)]
    pub struct AgentCapabilities {
        /// Streams of events.
        streaming: Option<bool> = optional "streaming",
        /// Webhooks.
        push_notifications: Option<bool> = optional "pushNotifications" | "push_notifications",
        /// Extensions it knows.
        extensions: Vec<AgentExtension> = implicit "extensions",
        /// A card with more for known callers.
        extended_agent_card: Option<bool> = optional "extendedAgentCard" | "extended_agent_card",
    }
}

record! {
    /// An extension an agent knows.
    #[derive(Default)]
    pub struct AgentExtension {
        /// Its name and version.
        uri: String = implicit "uri",
        /// How the agent uses it.
        description: String = implicit "description",
        /// Whether callers must know it too.
        required: bool = implicit "required",
        /// Settings of the extension's own.
        params: Option<Object> = optional "params",
    }
}

record! {
    /// Something an agent can do.
    #[derive(Default)]
    pub struct AgentSkill {
        /// Its key.
        id: String = always "id",
        /// A name for people.
        name: String = always "name",
        /// What it does.
        description: String = always "description",
        /// Words to find it by.
        tags: Vec<String> = always "tags",
        /// Things one could say to it.
        examples: Vec<String> = implicit "examples",
        /// Media types, where they differ from the card's.
        input_modes: Vec<String> = implicit "inputModes" | "input_modes",
        /// Media types, where they differ from the card's.
        output_modes: Vec<String> = implicit "outputModes" | "output_modes",
        /// What this skill needs beyond the card's requirements.
        security_requirements: Vec<SecurityRequirement> =
            implicit "securityRequirements" | "security_requirements",
    }
}

record! {
    /// A signature over a card (JWS, detached).
    #[derive(Default)]
    pub struct AgentCardSignature {
        /// The protected header, base64url.
        protected: String = always "protected",
        /// The signature, base64url.
        signature: String = always "signature",
        /// The unprotected header.
        header: Option<Object> = optional "header",
    }
}

record! {
    /// Schemes that are needed together.
    #[derive(Default)]
    pub struct SecurityRequirement {
        /// Scopes, by name of the scheme.
        schemes: BTreeMap<String, StringList> = implicit "schemes",
    }
}

record! {
    /// A list of texts.
    #[derive(Default)]
    pub struct StringList {
        /// The texts.
        list: Vec<String> = implicit "list",
    }
}

proto_union! {
    /// A way to authenticate.
    pub enum SecurityScheme {
        /// A key in a header, query or cookie.
        ApiKey(ApiKeySecurityScheme) = "apiKeySecurityScheme" | "api_key_security_scheme",
        /// An HTTP authentication scheme.
        Http(HttpAuthSecurityScheme) = "httpAuthSecurityScheme" | "http_auth_security_scheme",
        /// OAuth 2.0.
        OAuth2(OAuth2SecurityScheme) = "oauth2SecurityScheme" | "oauth2_security_scheme",
        /// OpenID Connect.
        OpenIdConnect(OpenIdConnectSecurityScheme) =
            "openIdConnectSecurityScheme" | "open_id_connect_security_scheme",
        /// Mutual TLS.
        MutualTls(MutualTlsSecurityScheme) = "mtlsSecurityScheme" | "mtls_security_scheme",
    }
}

record! {
    /// A key in a header, query or cookie.
    #[derive(Default)]
    pub struct ApiKeySecurityScheme {
        /// For people.
        description: String = implicit "description",
        /// `query`, `header` or `cookie`.
        location: String = always "location",
        /// The parameter.
        name: String = always "name",
    }
}

record! {
    /// An HTTP authentication scheme.
    #[derive(Default)]
    pub struct HttpAuthSecurityScheme {
        /// For people.
        description: String = implicit "description",
        /// `Bearer`, `Basic`, …
        scheme: String = always "scheme",
        /// Such as `JWT`.
        bearer_format: String = implicit "bearerFormat" | "bearer_format",
    }
}

record! {
    /// OAuth 2.0.
    pub struct OAuth2SecurityScheme {
        /// For people.
        description: String = implicit "description",
        /// How to get a token.
        flows: OAuthFlows = required "flows",
        /// Authorization server metadata (RFC 8414).
        oauth2_metadata_url: String = implicit "oauth2MetadataUrl" | "oauth2_metadata_url",
    }
}

record! {
    /// OpenID Connect.
    #[derive(Default)]
    pub struct OpenIdConnectSecurityScheme {
        /// For people.
        description: String = implicit "description",
        /// The discovery document.
        open_id_connect_url: String = always "openIdConnectUrl" | "open_id_connect_url",
    }
}

record! {
    /// Mutual TLS.
    #[derive(Default)]
    pub struct MutualTlsSecurityScheme {
        /// For people.
        description: String = implicit "description",
    }
}

proto_union! {
    /// How to get a token; one way a scheme.
    pub enum OAuthFlows {
        /// By way of the user's browser.
        AuthorizationCode(AuthorizationCodeOAuthFlow) = "authorizationCode" | "authorization_code",
        /// From one program to another.
        ClientCredentials(ClientCredentialsOAuthFlow) = "clientCredentials" | "client_credentials",
        /// Deprecated.
        Implicit(ImplicitOAuthFlow) = "implicit",
        /// Deprecated.
        Password(PasswordOAuthFlow) = "password",
        /// On a device without browser (RFC 8628).
        DeviceCode(DeviceCodeOAuthFlow) = "deviceCode" | "device_code",
    }
}

record! {
    /// By way of the user's browser.
    #[derive(Default)]
    pub struct AuthorizationCodeOAuthFlow {
        /// Where the user agrees.
        authorization_url: String = always "authorizationUrl" | "authorization_url",
        /// Where the code becomes a token.
        token_url: String = always "tokenUrl" | "token_url",
        /// Where a token is renewed.
        refresh_url: String = implicit "refreshUrl" | "refresh_url",
        /// Descriptions, by scope.
        scopes: BTreeMap<String, String> = always "scopes",
        /// Whether PKCE (RFC 7636) must be used.
        pkce_required: bool = implicit "pkceRequired" | "pkce_required",
    }
}

record! {
    /// From one program to another.
    #[derive(Default)]
    pub struct ClientCredentialsOAuthFlow {
        /// Where to get a token.
        token_url: String = always "tokenUrl" | "token_url",
        /// Where a token is renewed.
        refresh_url: String = implicit "refreshUrl" | "refresh_url",
        /// Descriptions, by scope.
        scopes: BTreeMap<String, String> = always "scopes",
    }
}

record! {
    /// Deprecated: a token straight from the browser.
    #[derive(Default)]
    pub struct ImplicitOAuthFlow {
        /// Where the user agrees.
        authorization_url: String = implicit "authorizationUrl" | "authorization_url",
        /// Where a token is renewed.
        refresh_url: String = implicit "refreshUrl" | "refresh_url",
        /// Descriptions, by scope.
        scopes: BTreeMap<String, String> = implicit "scopes",
    }
}

record! {
    /// Deprecated: a token for a password.
    #[derive(Default)]
    pub struct PasswordOAuthFlow {
        /// Where to get a token.
        token_url: String = implicit "tokenUrl" | "token_url",
        /// Where a token is renewed.
        refresh_url: String = implicit "refreshUrl" | "refresh_url",
        /// Descriptions, by scope.
        scopes: BTreeMap<String, String> = implicit "scopes",
    }
}

record! {
    /// On a device without browser (RFC 8628).
    #[derive(Default)]
    pub struct DeviceCodeOAuthFlow {
        /// Where the device asks for a code.
        device_authorization_url: String =
            always "deviceAuthorizationUrl" | "device_authorization_url",
        /// Where the code becomes a token.
        token_url: String = always "tokenUrl" | "token_url",
        /// Where a token is renewed.
        refresh_url: String = implicit "refreshUrl" | "refresh_url",
        /// Descriptions, by scope.
        scopes: BTreeMap<String, String> = always "scopes",
    }
}
