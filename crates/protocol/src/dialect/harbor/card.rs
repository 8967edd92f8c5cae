//! Cards as Harbor reads them: the members of 1.0 in `snake_case`, but security schemes as
//! `OpenAPI` has them. A card with a scheme in any other form is refused as a whole.

use crate::{
    card::{AgentCard, SecurityScheme},
    json::{KeyCase, Members, ToJson, Writer},
};

pub(super) fn write(card: &AgentCard, writer: &mut Writer) {
    writer.with_key_case(KeyCase::Snake, |writer| {
        writer.object(|object| {
            object.member("name", &card.name);
            object.member("description", &card.description);
            object.member("supportedInterfaces", &card.supported_interfaces);
            object.optional("provider", card.provider.as_ref());
            object.member("version", &card.version);
            object.optional("documentationUrl", card.documentation_url.as_ref());
            object.member("capabilities", &card.capabilities);
            if !card.security_schemes.is_empty() {
                object.with("securitySchemes", |writer| write_schemes(card, writer));
            }
            object.list("securityRequirements", &card.security_requirements);
            object.member("defaultInputModes", &card.default_input_modes);
            object.member("defaultOutputModes", &card.default_output_modes);
            object.member("skills", &card.skills);
            object.list("signatures", &card.signatures);
            object.optional("iconUrl", card.icon_url.as_ref());
        });
    });
}

fn write_schemes(card: &AgentCard, writer: &mut Writer) {
    writer.with_key_case(KeyCase::Camel, |writer| {
        writer.object(|object| {
            for (name, scheme) in &card.security_schemes {
                object.entry(name, &OpenApi(scheme));
            }
        });
    });
}

/// A security scheme in the form of `OpenAPI`, told by its `type`.
struct OpenApi<'a>(&'a SecurityScheme);

impl ToJson for OpenApi<'_> {
    fn write(&self, writer: &mut Writer) {
        let start = |object: &mut Members<'_>, kind: &str, description: &str| {
            object.member("type", kind);
            object.text("description", description);
        };
        writer.object(|object| match self.0 {
            SecurityScheme::ApiKey(scheme) => {
                start(object, "apiKey", &scheme.description);
                object.member("in", &scheme.location);
                object.member("name", &scheme.name);
            }
            SecurityScheme::Http(scheme) => {
                start(object, "http", &scheme.description);
                object.member("scheme", &scheme.scheme);
                object.text("bearerFormat", &scheme.bearer_format);
            }
            SecurityScheme::OAuth2(scheme) => {
                start(object, "oauth2", &scheme.description);
                object.member("flows", &scheme.flows);
                object.text("oauth2MetadataUrl", &scheme.oauth2_metadata_url);
            }
            SecurityScheme::OpenIdConnect(scheme) => {
                start(object, "openIdConnect", &scheme.description);
                object.member("openIdConnectUrl", &scheme.open_id_connect_url);
            }
            SecurityScheme::MutualTls(scheme) => {
                start(object, "mutualTLS", &scheme.description);
            }
        });
    }
}
