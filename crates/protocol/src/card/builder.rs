//! Puts a card together step by step.

use std::collections::BTreeMap;

use super::{
    AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill, ApiKeySecurityScheme,
    Binding, ClientCredentialsOAuthFlow, HttpAuthSecurityScheme, MutualTlsSecurityScheme,
    OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme, SecurityRequirement,
    SecurityScheme, StringList,
};
use crate::{json::Object, version::Version};

/// A card being put together; see [`AgentCard::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing comes of it until `build` is called"]
pub struct CardBuilder {
    card: AgentCard,
}

impl AgentCard {
    /// Starts a card of version 1.0.0 that takes and gives `text/plain`.
    ///
    /// A2A also wants a description, an interface and a skill; [`lint`](super::lint) tells
    /// what is missing.
    pub fn builder(name: impl Into<String>) -> CardBuilder {
        let text = || vec!["text/plain".to_owned()];
        CardBuilder {
            card: Self {
                name: name.into(),
                version: "1.0.0".to_owned(),
                default_input_modes: text(),
                default_output_modes: text(),
                ..Self::default()
            },
        }
    }
}

impl CardBuilder {
    /// Says what the agent does.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.card.description = description.into();
        self
    }

    /// Gives the agent's own version.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.card.version = version.into();
        self
    }

    /// Adds a way to reach the agent; the preferred one comes first.
    pub fn interface(self, url: impl Into<String>, binding: Binding, version: Version) -> Self {
        self.agent_interface(AgentInterface::new(url, binding, version))
    }

    /// Adds a way to reach the agent that needs more than URL, binding and version.
    pub fn agent_interface(mut self, interface: AgentInterface) -> Self {
        self.card.supported_interfaces.push(interface);
        self
    }

    /// Adds something the agent can do.
    pub fn skill(mut self, skill: AgentSkill) -> Self {
        self.card.skills.push(skill);
        self
    }

    /// Promises streams of events.
    pub fn streaming(mut self) -> Self {
        self.card.capabilities.streaming = Some(true);
        self
    }

    /// Promises webhooks.
    pub fn push_notifications(mut self) -> Self {
        self.card.capabilities.push_notifications = Some(true);
        self
    }

    /// Promises a card with more for known callers.
    pub fn extended_card(mut self) -> Self {
        self.card.capabilities.extended_agent_card = Some(true);
        self
    }

    /// Adds an extension the agent knows.
    pub fn extension(mut self, extension: AgentExtension) -> Self {
        self.card.capabilities.extensions.push(extension);
        self
    }

    /// Declares a scheme and asks for it; a second call offers an alternative.
    pub fn security(self, name: impl Into<String>, scheme: SecurityScheme) -> Self {
        let name = name.into();
        self.security_scheme(name.clone(), scheme)
            .security_requirement(SecurityRequirement::new(name, Vec::<String>::new()))
    }

    /// Declares a scheme without asking for it.
    pub fn security_scheme(mut self, name: impl Into<String>, scheme: SecurityScheme) -> Self {
        self.card.security_schemes.insert(name.into(), scheme);
        self
    }

    /// Asks for declared schemes; a second call offers an alternative.
    pub fn security_requirement(mut self, requirement: SecurityRequirement) -> Self {
        self.card.security_requirements.push(requirement);
        self
    }

    /// Replaces the media types the agent understands.
    pub fn input_modes<T: Into<String>>(mut self, modes: impl IntoIterator<Item = T>) -> Self {
        self.card.default_input_modes = owned(modes);
        self
    }

    /// Replaces the media types the agent answers with.
    pub fn output_modes<T: Into<String>>(mut self, modes: impl IntoIterator<Item = T>) -> Self {
        self.card.default_output_modes = owned(modes);
        self
    }

    /// Says who runs the agent.
    pub fn provider(mut self, organization: impl Into<String>, url: impl Into<String>) -> Self {
        self.card.provider =
            Some(AgentProvider { url: url.into(), organization: organization.into() });
        self
    }

    /// Says where to read about the agent.
    pub fn documentation_url(mut self, url: impl Into<String>) -> Self {
        self.card.documentation_url = Some(url.into());
        self
    }

    /// Gives the agent a picture.
    pub fn icon_url(mut self, url: impl Into<String>) -> Self {
        self.card.icon_url = Some(url.into());
        self
    }

    /// Returns the card.
    pub fn build(self) -> AgentCard {
        self.card
    }
}

impl AgentSkill {
    /// Describes something an agent can do; the tags are words to find it by.
    pub fn new<T: Into<String>>(
        id: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
        tags: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            description: description.into(),
            tags: owned(tags),
            ..Self::default()
        }
    }

    /// Adds something one could say to it.
    #[must_use]
    pub fn example(mut self, example: impl Into<String>) -> Self {
        self.examples.push(example.into());
        self
    }
}

impl AgentExtension {
    /// Names an extension that callers may leave out.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }

    /// Demands that callers know it too.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Gives the extension its settings.
    #[must_use]
    pub fn params(mut self, params: Object) -> Self {
        self.params = Some(params);
        self
    }
}

impl SecurityScheme {
    /// A token in the `Authorization` header.
    pub fn bearer() -> Self {
        Self::Http(HttpAuthSecurityScheme { scheme: "Bearer".to_owned(), ..Default::default() })
    }

    /// A key in a header.
    pub fn api_key(header: impl Into<String>) -> Self {
        Self::ApiKey(ApiKeySecurityScheme {
            location: "header".to_owned(),
            name: header.into(),
            ..Default::default()
        })
    }

    /// OAuth 2.0 between programs; the scopes come with their descriptions.
    pub fn client_credentials<K: Into<String>, V: Into<String>>(
        token_url: impl Into<String>,
        scopes: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let scopes: BTreeMap<_, _> =
            scopes.into_iter().map(|(scope, meaning)| (scope.into(), meaning.into())).collect();
        Self::OAuth2(OAuth2SecurityScheme {
            description: String::new(),
            flows: OAuthFlows::ClientCredentials(ClientCredentialsOAuthFlow {
                token_url: token_url.into(),
                refresh_url: String::new(),
                scopes,
            }),
            oauth2_metadata_url: String::new(),
        })
    }

    /// OpenID Connect by its discovery document.
    pub fn open_id_connect(url: impl Into<String>) -> Self {
        Self::OpenIdConnect(OpenIdConnectSecurityScheme {
            open_id_connect_url: url.into(),
            ..Default::default()
        })
    }

    /// A client certificate.
    pub fn mutual_tls() -> Self {
        Self::MutualTls(MutualTlsSecurityScheme::default())
    }
}

impl SecurityRequirement {
    /// Asks for one scheme, with these scopes.
    pub fn new<T: Into<String>>(
        scheme: impl Into<String>,
        scopes: impl IntoIterator<Item = T>,
    ) -> Self {
        Self::default().and(scheme, scopes)
    }

    /// Asks for another scheme at the same time.
    #[must_use]
    pub fn and<T: Into<String>>(
        mut self,
        scheme: impl Into<String>,
        scopes: impl IntoIterator<Item = T>,
    ) -> Self {
        self.schemes.insert(scheme.into(), StringList { list: owned(scopes) });
        self
    }
}

fn owned<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Vec<String> {
    texts.into_iter().map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{card::lint, json};

    #[test]
    fn a_built_card_is_the_card_one_would_write_by_hand() {
        let card = AgentCard::builder("Echo")
            .description("Repeats text")
            .interface("https://a.example/rpc", Binding::JsonRpc, Version::V1_0)
            .interface("a.example:443", Binding::Grpc, Version::V1_0)
            .streaming()
            .security("token", SecurityScheme::bearer())
            .skill(AgentSkill::new("echo", "Echo", "Echo input", ["demo"]).example("say hi"))
            .extension(AgentExtension::new("https://a.example/x/v1").required())
            .provider("A", "https://a.example")
            .build();
        assert_eq!(lint(&card), []);
        assert_eq!(
            json::to_string(&card),
            concat!(
                r#"{"name":"Echo","description":"Repeats text","supportedInterfaces":["#,
                r#"{"url":"https://a.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},"#,
                r#"{"url":"a.example:443","protocolBinding":"GRPC","protocolVersion":"1.0"}],"#,
                r#""provider":{"url":"https://a.example","organization":"A"},"version":"1.0.0","#,
                r#""capabilities":{"streaming":true,"extensions":[{"uri":"https://a.example/x/v1","required":true}]},"#,
                r#""securitySchemes":{"token":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}},"#,
                r#""securityRequirements":[{"schemes":{"token":{}}}],"#,
                r#""defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"#,
                r#""skills":[{"id":"echo","name":"Echo","description":"Echo input","tags":["demo"],"examples":["say hi"]}]}"#,
            )
        );
    }

    #[test]
    fn every_ready_made_scheme_passes_the_lint() {
        let schemes = [
            SecurityScheme::bearer(),
            SecurityScheme::api_key("X-Key"),
            SecurityScheme::client_credentials("https://id.example/token", [("read", "Read")]),
            SecurityScheme::open_id_connect("https://id.example/.well-known/openid-configuration"),
            SecurityScheme::mutual_tls(),
        ];
        let mut builder = AgentCard::builder("A")
            .description("B")
            .interface("https://a.example", Binding::HttpJson, Version::V1_0)
            .skill(AgentSkill::new("s", "S", "Does S", ["s"]));
        for (number, scheme) in schemes.into_iter().enumerate() {
            builder = builder.security(format!("scheme{number}"), scheme);
        }
        assert_eq!(lint(&builder.build()), []);
    }
}
