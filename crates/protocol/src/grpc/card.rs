//! Agent cards of 1.0, and what they share with those of 0.3.

use super::{
    mirror::{mirror, mirror_union},
    v1, v03,
};
use crate::card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface,
    AgentProvider, AgentSkill, ApiKeySecurityScheme, AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow, HttpAuthSecurityScheme, ImplicitOAuthFlow,
    MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme,
    PasswordOAuthFlow, SecurityRequirement, SecurityScheme, StringList,
};

mirror! {
    v1: AgentCard = AgentCard {
        name: text "name",
        description: same,
        supported_interfaces: list "supportedInterfaces",
        provider: optional "provider",
        version: same,
        documentation_url: same,
        capabilities: default "capabilities",
        security_schemes: map "securitySchemes",
        security_requirements: list "securityRequirements",
        default_input_modes: same,
        default_output_modes: same,
        skills: list "skills",
        signatures: list "signatures",
        icon_url: same,
    }
}

mirror! {
    v1: AgentInterface = AgentInterface {
        url: same,
        protocol_binding: same,
        tenant: id "tenant",
        protocol_version: same,
    }
}

mirror! {
    v1 v03: AgentProvider = AgentProvider {
        url: same,
        organization: same,
    }
}

mirror! {
    v1: AgentCapabilities = AgentCapabilities {
        streaming: same,
        push_notifications: same,
        extensions: list "extensions",
        extended_agent_card: same,
    }
}

mirror! {
    v1 v03: AgentExtension = AgentExtension {
        uri: same,
        description: same,
        required: same,
        params: optional "params",
    }
}

mirror! {
    v1: AgentSkill = AgentSkill {
        id: same,
        name: same,
        description: same,
        tags: same,
        examples: same,
        input_modes: same,
        output_modes: same,
        security_requirements: list "securityRequirements",
    }
}

mirror! {
    v1: AgentCardSignature = AgentCardSignature {
        protected: same,
        signature: same,
        header: optional "header",
    }
}

mirror! {
    v1: SecurityRequirement = SecurityRequirement {
        schemes: map "schemes",
    }
}

mirror! {
    v03: Security = SecurityRequirement {
        schemes: map "schemes",
    }
}

mirror! {
    v1 v03: StringList = StringList {
        list: same,
    }
}

mirror_union! {
    v1: SecurityScheme.scheme: security_scheme::Scheme = SecurityScheme {
        ApiKeySecurityScheme = ApiKey "apiKeySecurityScheme",
        HttpAuthSecurityScheme = Http "httpAuthSecurityScheme",
        Oauth2SecurityScheme = OAuth2 "oauth2SecurityScheme",
        OpenIdConnectSecurityScheme = OpenIdConnect "openIdConnectSecurityScheme",
        MtlsSecurityScheme = MutualTls "mtlsSecurityScheme",
    }
}

mirror! {
    v1 v03: ApiKeySecurityScheme = ApiKeySecurityScheme {
        description: same,
        location: same,
        name: same,
    }
}

mirror! {
    v1 v03: HttpAuthSecurityScheme = HttpAuthSecurityScheme {
        description: same,
        scheme: same,
        bearer_format: same,
    }
}

mirror! {
    v1: OAuth2SecurityScheme = OAuth2SecurityScheme {
        description: same,
        flows: required "flows",
        oauth2_metadata_url: same,
    }
}

mirror! {
    v1 v03: OpenIdConnectSecurityScheme = OpenIdConnectSecurityScheme {
        description: same,
        open_id_connect_url: same,
    }
}

mirror! {
    v1 v03: MutualTlsSecurityScheme = MutualTlsSecurityScheme {
        description: same,
    }
}

mirror_union! {
    v1: OAuthFlows.flow: o_auth_flows::Flow = OAuthFlows {
        AuthorizationCode = AuthorizationCode "authorizationCode",
        ClientCredentials = ClientCredentials "clientCredentials",
        Implicit = Implicit "implicit",
        Password = Password "password",
        DeviceCode = DeviceCode "deviceCode",
    }
}

mirror! {
    v1: AuthorizationCodeOAuthFlow = AuthorizationCodeOAuthFlow {
        authorization_url: same,
        token_url: same,
        refresh_url: same,
        scopes: same,
        pkce_required: same,
    }
}

mirror! {
    v1 v03: ClientCredentialsOAuthFlow = ClientCredentialsOAuthFlow {
        token_url: same,
        refresh_url: same,
        scopes: same,
    }
}

mirror! {
    v1 v03: ImplicitOAuthFlow = ImplicitOAuthFlow {
        authorization_url: same,
        refresh_url: same,
        scopes: same,
    }
}

mirror! {
    v1 v03: PasswordOAuthFlow = PasswordOAuthFlow {
        token_url: same,
        refresh_url: same,
        scopes: same,
    }
}

mirror! {
    v1: DeviceCodeOAuthFlow = DeviceCodeOAuthFlow {
        device_authorization_url: same,
        token_url: same,
        refresh_url: same,
        scopes: same,
    }
}
