//! A signed card, and keys to sign it with.

use std::sync::LazyLock;

use nuncio_protocol::{
    card::{
        AgentCard, AgentExtension, AgentSkill, Binding, SecurityScheme,
        sign::{Algorithm, KeySet, Signer, sign},
    },
    json::{self, Object},
    version::Version,
};

pub(crate) const ALGORITHMS: [Algorithm; 3] =
    [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256];

fn key_file(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Es256 => include_str!("../../fixtures/keys/es256-pkcs8.pem"),
        Algorithm::EdDsa => include_str!("../../fixtures/keys/eddsa-pkcs8.pem"),
        _ => include_str!("../../fixtures/keys/rs256-pkcs8.pem"),
    }
}

pub(crate) fn signer(algorithm: Algorithm) -> Signer {
    Signer::from_pem(key_file(algorithm)).expect("a key").with_kid(algorithm.as_str())
}

/// Knows the public half of every key above.
pub(crate) static KEYS: LazyLock<KeySet> = LazyLock::new(|| {
    ALGORITHMS.into_iter().map(|algorithm| signer(algorithm).public_key().clone()).collect()
});

/// A card with something in every corner, so that no change goes unnoticed.
pub(crate) fn rich() -> AgentCard {
    AgentCard::builder("Übersetzer")
        .description("Translates")
        .interface("https://a.example/rpc", Binding::JsonRpc, Version::V1_0)
        .interface("https://a.example/old", Binding::JsonRpc, Version::V0_3)
        .streaming()
        .extension(
            AgentExtension::new("urn:x:1")
                .required()
                .params(Object::parse_text(r#"{"a":[1.5,"b"]}"#).expect("an object")),
        )
        .security("key", SecurityScheme::api_key("X-Key"))
        .provider("A", "https://a.example")
        .icon_url("https://a.example/i.png")
        .skill(AgentSkill::new("t", "T", "Does T", ["one", "two"]).example("try"))
        .build()
}

pub(crate) fn signed(algorithm: Algorithm) -> String {
    let mut card = rich();
    sign(&mut card, &signer(algorithm)).expect("a signature");
    json::to_string(&card)
}
