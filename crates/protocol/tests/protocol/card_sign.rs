//! Signing and verifying cards, as their users see it.

use nuncio_protocol::{
    card::{
        sign::{
            Algorithm, Error, Form, KeySet, Refusal, Signer, headers, sign, sign_as, sign_text,
            verify,
        },
        write_hybrid, write_v03,
    },
    json::{self, Object},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    card_support::signed::{ALGORITHMS, KEYS, rich, signed, signer},
    card_support::strategy,
};

#[track_caller]
fn refused(text: &str, keys: &KeySet) -> Vec<Refusal> {
    match verify(text, keys) {
        Err(Error::Refused(refusals)) => refusals,
        other => panic!("{other:?}"),
    }
}

/// Changes the protected header of the first signature.
fn with_header(text: &str, header: &Value) -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let mut card: Value = serde_json::from_str(text).expect("a card");
    let header = match header {
        Value::String(text) => text.clone(),
        header => URL_SAFE_NO_PAD.encode(header.to_string()),
    };
    card["signatures"][0]["protected"] = json!(header);
    card.to_string()
}

#[test]
fn every_algorithm_signs_and_verifies() {
    for algorithm in ALGORITHMS {
        let text = signed(algorithm);
        let verified = verify(&text, &KEYS).unwrap();
        assert_eq!(verified.algorithm, algorithm);
        assert_eq!(verified.kid, algorithm.as_str());
        assert_eq!(verified.form, Form::Known);
        assert_eq!(verified.card, json::from_str(&text).unwrap());
    }
}

#[test]
fn a_generated_key_survives_its_files() {
    for algorithm in ALGORITHMS {
        let signer = Signer::generate(algorithm).unwrap();
        assert_eq!(signer.algorithm(), algorithm);
        assert_eq!(signer.kid(), signer.public_key().thumbprint());

        let read = Signer::from_pem(&signer.to_pem().unwrap()).unwrap();
        assert_eq!(read.public_key(), signer.public_key());
        let keys: KeySet = [signer.public_key().clone()].into_iter().collect();
        let keys: KeySet = json::from_str(&json::to_string(&keys)).unwrap();

        let mut card = rich();
        sign(&mut card, &read).unwrap();
        assert_eq!(verify(&json::to_string(&card), &keys).unwrap().kid, signer.kid());
    }
}

#[test]
fn keys_are_read_in_every_form_tools_write() {
    for (algorithm, files) in [
        (
            Algorithm::Es256,
            &[
                include_str!("../fixtures/keys/es256-sec1.pem"),
                include_str!("../fixtures/keys/es256-pkcs8.pem"),
            ][..],
        ),
        (Algorithm::EdDsa, &[include_str!("../fixtures/keys/eddsa-pkcs8.pem")]),
        (
            Algorithm::Rs256,
            &[
                include_str!("../fixtures/keys/rs256-pkcs1.pem"),
                include_str!("../fixtures/keys/rs256-pkcs8.pem"),
            ],
        ),
    ] {
        for pem in files {
            let read = Signer::from_pem(pem).unwrap();
            assert_eq!(read.public_key().thumbprint(), signer(algorithm).public_key().thumbprint());
        }
    }
    let jwk = Signer::from_jwk(include_str!("../fixtures/keys/rs256-jwk.json")).unwrap();
    assert_eq!(jwk.kid(), "rfc7515-a2");
    assert_eq!(jwk.public_key().thumbprint(), signer(Algorithm::Rs256).public_key().thumbprint());
}

#[test]
fn keys_we_cannot_use_are_refused_with_a_reason() {
    for (pem, reason) in [
        ("", "unusable key: it is not a PEM private key for ES256, EdDSA or RS256"),
        (
            include_str!("../fixtures/keys/es384-sec1.pem"),
            "unusable key: it is not a PEM private key for ES256, EdDSA or RS256",
        ),
        (include_str!("../fixtures/keys/es256-encrypted.pem"), "unusable key: it is encrypted"),
        (
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
            "unusable key: it is not a PEM private key for ES256, EdDSA or RS256",
        ),
    ] {
        assert_eq!(Signer::from_pem(pem).unwrap_err().to_string(), reason);
    }
}

#[test]
fn white_space_order_and_case_do_not_matter() {
    let value: Value = serde_json::from_str(&signed(Algorithm::Es256)).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    verify(&pretty, &KEYS).unwrap();
    verify(&pretty.replace("supportedInterfaces", "supported_interfaces"), &KEYS).unwrap();
}

#[test]
fn an_unsigned_card_is_not_verified() {
    let text = json::to_string(&rich());
    assert!(matches!(verify(&text, &KEYS), Err(Error::Unsigned)));
    assert!(matches!(verify("{}", &KEYS), Err(Error::Unsigned)));
    assert!(matches!(verify("[]", &KEYS), Err(Error::Card(_))));
    let twice = signed(Algorithm::Es256).replacen('{', r#"{"name":"x","#, 1);
    assert!(matches!(verify(&twice, &KEYS), Err(Error::Card(_))));
}

#[test]
fn an_unknown_key_is_told_from_a_wrong_one() {
    let text = signed(Algorithm::Es256);
    assert_eq!(refused(&text, &KeySet::default()), [Refusal::UnknownKey("ES256".into())]);

    // The name is right, but another key has it.
    let swapped: KeySet =
        [Signer::generate(Algorithm::Es256).unwrap().with_kid("ES256").public_key().clone()]
            .into_iter()
            .collect();
    assert_eq!(refused(&text, &swapped), [Refusal::Mismatch("ES256".into())]);

    // The name is right, but the key is of another type.
    let other: KeySet =
        [Signer::generate(Algorithm::EdDsa).unwrap().with_kid("ES256").public_key().clone()]
            .into_iter()
            .collect();
    assert_eq!(refused(&text, &other), [Refusal::WrongKey("ES256".into())]);
}

#[test]
fn a_header_that_promises_something_else_is_refused() {
    let text = signed(Algorithm::Es256);
    let malformed = |what| Refusal::Malformed(what);
    for (header, refusal) in [
        (json!({"alg": "none", "kid": "ES256"}), Refusal::Algorithm("none".into())),
        (json!({"alg": "HS256", "kid": "ES256"}), Refusal::Algorithm("HS256".into())),
        (json!({"alg": "es256", "kid": "ES256"}), Refusal::Algorithm("es256".into())),
        (json!({"alg": "RS256", "kid": "ES256"}), Refusal::WrongKey("ES256".into())),
        (json!({"alg": "ES256", "kid": "EdDSA"}), Refusal::WrongKey("EdDSA".into())),
        (json!({"alg": "ES256", "kid": "gone"}), Refusal::UnknownKey("gone".into())),
        (json!({"alg": "ES256"}), malformed("the header has no `kid`")),
        (json!({"kid": "ES256"}), malformed("the header has no `alg`")),
        (
            json!({"alg": "ES256", "kid": "ES256", "b64": false, "crit": ["b64"]}),
            malformed("the header has critical members we do not know"),
        ),
        // The header itself is signed, too.
        (json!({"alg": "ES256", "kid": "ES256", "x": 1}), Refusal::Mismatch("ES256".into())),
        (json!("!"), malformed("the header is not base64url")),
        (json!("W10"), malformed("the header is not a JSON object of a signature")),
    ] {
        assert_eq!(refused(&with_header(&text, &header), &KEYS), [refusal], "{header}");
    }
}

#[test]
fn one_good_signature_among_several_is_enough() {
    let mut card = rich();
    let unknown = Signer::generate(Algorithm::Es256).unwrap();
    sign(&mut card, &unknown).unwrap();
    sign(&mut card, &signer(Algorithm::Rs256)).unwrap();
    card.signatures.insert(0, nuncio_protocol::card::AgentCardSignature::default());
    let verified = verify(&json::to_string(&card), &KEYS).unwrap();
    assert_eq!(verified.kid, "RS256");
    assert_eq!(verified.card.signatures.len(), 3);

    card.name.push('!');
    let refusals = refused(&json::to_string(&card), &KEYS);
    assert_eq!(refusals.len(), 3);
    assert_eq!(refusals[2], Refusal::Mismatch("RS256".into()));
}

#[test]
fn a_card_with_very_many_signatures_is_refused_unread() {
    let mut card = rich();
    sign(&mut card, &signer(Algorithm::Es256)).unwrap();
    card.signatures = vec![card.signatures[0].clone(); 17];
    let error = verify(&json::to_string(&card), &KEYS).unwrap_err();
    assert!(matches!(error, Error::TooManySignatures { count: 17 }));
}

#[test]
fn headers_tell_which_keys_to_fetch() {
    let mut card = rich();
    let signer = signer(Algorithm::Es256).with_jku("https://a.example/jwks.json");
    sign(&mut card, &signer).unwrap();
    let text = json::to_string(&card);
    let headers = headers(&text).unwrap();
    assert_eq!(headers[0].kid.as_deref(), Some("ES256"));
    assert_eq!(headers[0].alg.as_deref(), Some("ES256"));
    assert_eq!(headers[0].typ.as_deref(), Some("JOSE"));
    assert_eq!(headers[0].jku.as_deref(), Some("https://a.example/jwks.json"));
    verify(&text, &KEYS).unwrap();
}

/// C-18: what is served is what is signed, in every form.
#[test]
fn cards_of_every_form_can_be_signed() {
    let signer = signer(Algorithm::EdDsa);
    let old = sign_text(&write_v03(&rich()).unwrap(), &signer).unwrap();
    let verified = verify(&old, &KEYS).unwrap();
    assert_eq!(verified.form, Form::Raw);
    assert_eq!(verified.card.supported_interfaces[0].url, "https://a.example/old");
    refused(&old.replace("a.example/old", "b.example/old"), &KEYS);

    // The signature of 1.0 covers the members of 1.0 and no other.
    let mut card = rich();
    sign(&mut card, &signer).unwrap();
    let hybrid = write_hybrid(&card).unwrap();
    let tampered = hybrid.replace(
        r#""url":"https://a.example/old","preferred"#,
        r#""url":"https://evil.example","preferred"#,
    );
    assert_ne!(tampered, hybrid);
    for text in [&hybrid, &tampered] {
        let verified = verify(text, &KEYS).unwrap();
        assert_eq!((verified.form, &verified.card), (Form::Known, &card));
    }

    // One over the whole covers all.
    card.signatures.clear();
    let hybrid = sign_text(&write_hybrid(&card).unwrap(), &signer).unwrap();
    assert_eq!(verify(&hybrid, &KEYS).unwrap().form, Form::Raw);
    refused(
        &hybrid.replace(r#""preferredTransport":"JSONRPC""#, r#""preferredTransport":"GRPC""#),
        &KEYS,
    );
}

#[test]
fn a_number_nobody_agrees_on_cannot_be_signed() {
    let mut card = rich();
    card.capabilities.extensions[0].params =
        Some(Object::parse_text(r#"{"n":9007199254740993}"#).unwrap());
    let error = sign(&mut card, &signer(Algorithm::Es256)).unwrap_err();
    let Error::Card(error) = error else { panic!("{error:?}") };
    assert_eq!(error.path(), "capabilities.extensions[0].params.n");
    assert!(card.signatures.is_empty());

    // In a member nobody signed it does no harm.
    let text = signed(Algorithm::Es256).replacen('{', r#"{"x":9007199254740993,"#, 1);
    assert_eq!(verify(&text, &KEYS).unwrap().form, Form::Known);
}

#[test]
fn a_card_can_be_signed_in_the_form_its_readers_expect() {
    let signer = signer(Algorithm::Es256);
    for form in [Form::Known, Form::Pruned, Form::PrunedPython] {
        let mut card = rich();
        sign_as(form, &mut card, &signer).unwrap();
        assert_eq!(verify(&json::to_string(&card), &KEYS).unwrap().form, form);
    }
    // With settings without any, the whole card is another text than its known members.
    let mut card = rich();
    card.capabilities.extensions[0].params = Some(Object::default());
    sign_as(Form::Raw, &mut card, &signer).unwrap();
    assert_eq!(verify(&json::to_string(&card), &KEYS).unwrap().form, Form::Raw);
}

/// Cards signed and served by the official Python SDK, before and after it changed its form.
#[test]
fn cards_of_the_python_sdk_are_verified() {
    for (card, keys, form) in [
        (
            include_str!("../fixtures/card_sign/python-1.1.0.json"),
            include_str!("../fixtures/card_sign/jwks-1.1.0.json"),
            Form::PrunedPython,
        ),
        (
            include_str!("../fixtures/card_sign/python-1.3.0.json"),
            include_str!("../fixtures/card_sign/jwks-1.3.0.json"),
            Form::Pruned,
        ),
    ] {
        let keys: KeySet = json::from_str(keys).unwrap();
        let verified = verify(card, &keys).unwrap();
        assert_eq!(verified.form, form);
        assert_eq!(verified.card.name, "Übersetzer 🦦");
        // This form does not cover what is empty, so nothing is said about it.
        assert!(verified.card.security_requirements.is_empty());
        assert_eq!(verified.card.security_schemes.len(), 1);
        refused(&card.replace("0.5", "0.25"), &keys);
        refused(&card.replace("a.example/rpc", "b.example/rpc"), &keys);
    }
}

proptest! {
    /// Whatever a key file holds, it is read or refused.
    #[test]
    fn a_broken_key_file_is_refused(
        algorithm in prop::sample::select(&ALGORITHMS[..]),
        at in any::<prop::sample::Index>(),
        byte in "[A-Za-z0-9+/=\n -]",
    ) {
        let mut pem = signer(algorithm).to_pem().unwrap();
        let at = at.index(pem.len());
        pem.replace_range(at..=at, &byte);
        if let Ok(signer) = Signer::from_pem(&pem) {
            prop_assert_eq!(signer.algorithm(), algorithm);
        }
    }

    /// Any card at all can be signed, and comes back as it was.
    #[test]
    fn any_card_survives_signing(mut card in strategy::card()) {
        sign(&mut card, &signer(Algorithm::EdDsa)).unwrap();
        let verified = verify(&json::to_string(&card), &KEYS).unwrap();
        prop_assert_eq!(verified.form, Form::Known);
        prop_assert_eq!(verified.card, card);
    }
}
