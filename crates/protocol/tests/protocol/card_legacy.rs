//! Cards of 0.3 and 0.2, and cards of both forms.

use nuncio_protocol::{
    card::{
        AgentCard, AgentInterface, AgentSkill, Binding, CardForm, OAuthFlows, SecurityRequirement,
        SecurityScheme, read_any, write_hybrid, write_v02, write_v03,
    },
    error::ErrorKind,
    json,
    version::Version,
};
use proptest::prelude::*;

use crate::card_support::strategy;

/// Takes from a card what the module documentation says 0.3 cannot say.
fn without_what_0_3_cannot_say(mut card: AgentCard) -> AgentCard {
    let first_version = {
        card.supported_interfaces.retain(AgentInterface::speaks_v03);
        let first = &card.supported_interfaces[0];
        first.version().unwrap_or(Version::V0_3).to_string()
    };
    for interface in &mut card.supported_interfaces {
        interface.tenant = None;
        interface.protocol_version.clone_from(&first_version);
        interface.binding().as_str().clone_into(&mut interface.protocol_binding);
    }
    // The first interface may well say nothing of its binding, which means JSON-RPC in 0.3.
    if card.supported_interfaces[0].protocol_binding.is_empty() {
        card.supported_interfaces[0].protocol_binding.push_str("JSONRPC");
    }
    let first = card.supported_interfaces[0].clone();
    let mut index = 0;
    card.supported_interfaces.retain(|interface| {
        index += 1;
        index == 1 || *interface != first
    });
    card.security_schemes.retain(|_, scheme| {
        let SecurityScheme::OAuth2(oauth) = scheme else { return true };
        if let OAuthFlows::AuthorizationCode(flow) = &mut oauth.flows {
            flow.pkce_required = false;
        }
        !matches!(oauth.flows, OAuthFlows::DeviceCode(_))
    });
    card
}

proptest! {
    /// C-18: nothing is lost on the way to 0.3 and back but what is documented.
    #[test]
    fn a_card_survives_0_3_but_for_the_documented_losses(card in strategy::card()) {
        let written = write_v03(&card);
        if !card.supported_interfaces.iter().any(AgentInterface::speaks_v03) {
            prop_assert_eq!(written.unwrap_err().kind(), ErrorKind::VersionNotSupported);
            return Ok(());
        }
        let (back, form) = read_any(&written.unwrap()).unwrap();
        prop_assert_eq!(form, CardForm::V03);
        prop_assert_eq!(back, without_what_0_3_cannot_say(card));
    }

    /// C-18: a reader of 1.0 sees no difference, a reader of 0.3 sees the card of 0.3.
    #[test]
    fn a_hybrid_card_is_both_cards(card in strategy::card()) {
        let Ok(hybrid) = write_hybrid(&card) else {
            prop_assert!(write_v03(&card).is_err());
            return Ok(());
        };
        prop_assert_eq!(&json::from_str::<AgentCard>(&hybrid).unwrap(), &card);

        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let hybrid = value(&hybrid);
        let v03 = value(&write_v03(&card).unwrap());
        for (key, member) in v03.as_object().unwrap() {
            prop_assert!(contains(&hybrid[key], member), "{}: {} / {}", key, hybrid[key], member);
        }
    }

    #[test]
    fn a_plain_card_is_read_as_it_is(card in strategy::card()) {
        let text = json::to_string(&card);
        prop_assert_eq!(&json::from_str::<AgentCard>(&text).unwrap(), &card);
        let (mut read, form) = read_any(&text).unwrap();
        prop_assert_eq!(form, CardForm::V1);
        for (read, written) in read.supported_interfaces.iter_mut().zip(&card.supported_interfaces) {
            prop_assert_eq!(read.binding(), written.binding());
            read.protocol_binding.clone_from(&written.protocol_binding);
        }
        prop_assert_eq!(read, card);
    }
}

/// Tells whether every member of `small` is in `large` too, all the way down.
fn contains(large: &serde_json::Value, small: &serde_json::Value) -> bool {
    use serde_json::Value;
    match (large, small) {
        (Value::Object(large), Value::Object(small)) => small
            .iter()
            .all(|(key, member)| large.get(key).is_some_and(|large| contains(large, member))),
        (Value::Array(large), Value::Array(small)) => {
            large.len() == small.len() && large.iter().zip(small).all(|(l, s)| contains(l, s))
        }
        (large, small) => large == small,
    }
}

fn full() -> AgentCard {
    AgentCard::builder("Echo")
        .description("Repeats text")
        .interface("https://a.example/v1", Binding::JsonRpc, Version::V1_0)
        .interface("https://a.example/rest", Binding::HttpJson, Version::V0_3)
        .interface("https://a.example/rpc", Binding::JsonRpc, Version::V0_3)
        .extended_card()
        .security("token", SecurityScheme::bearer())
        .security("cert", SecurityScheme::mutual_tls())
        .security_scheme("key", SecurityScheme::api_key("X-Key"))
        .skill(AgentSkill {
            security_requirements: vec![SecurityRequirement::new("key", ["all"])],
            ..AgentSkill::new("echo", "Echo", "Echo input", ["demo"])
        })
        .build()
}

#[test]
fn a_card_of_0_3_looks_as_0_3_says() {
    assert_eq!(
        write_v03(&full()).unwrap(),
        concat!(
            r#"{"protocolVersion":"0.3.0","name":"Echo","description":"Repeats text","#,
            r#""url":"https://a.example/rest","preferredTransport":"HTTP+JSON","#,
            r#""additionalInterfaces":[{"url":"https://a.example/rpc","transport":"JSONRPC"}],"#,
            r#""version":"1.0.0","capabilities":{},"supportsAuthenticatedExtendedCard":true,"#,
            r#""securitySchemes":{"cert":{"type":"mutualTLS"},"key":{"type":"apiKey","in":"header","name":"X-Key"},"#,
            r#""token":{"type":"http","scheme":"Bearer"}},"security":[{"token":[]},{"cert":[]}],"#,
            r#""defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"#,
            r#""skills":[{"id":"echo","name":"Echo","description":"Echo input","tags":["demo"],"security":[{"key":["all"]}]}]}"#,
        )
    );
}

#[test]
fn a_card_of_0_2_puts_json_rpc_first_and_leaves_out_what_0_2_lacks() {
    let text = write_v02(&full()).unwrap();
    assert!(text.contains(r#""protocolVersion":"0.2.6""#), "{text}");
    assert!(
        text.contains(r#""url":"https://a.example/rpc","preferredTransport":"JSONRPC","version""#),
        "{text}"
    );
    assert!(!text.contains("mutualTLS") && !text.contains(r#""security":[{"key""#), "{text}");
    assert!(text.contains(r#""security":[{"token":[]},{"cert":[]}]"#), "{text}");
    assert_eq!(read_any(&text).unwrap().1, CardForm::V02);
}

#[test]
fn a_card_without_an_old_interface_cannot_be_an_old_card() {
    let card = AgentCard::builder("Echo")
        .interface("https://a.example", Binding::JsonRpc, Version::V1_0)
        .build();
    for written in [write_v03(&card), write_v02(&card), write_hybrid(&card)] {
        let error = written.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::VersionNotSupported);
        assert_eq!(error.metadata()["supportedVersions"], "1.0");
    }
}
