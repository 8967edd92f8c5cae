use super::*;

/// RFC 8037, appendix A: the key.
const ED25519_JWK: &str = r#"{"kty":"OKP","crv":"Ed25519","kid":"ed",
    "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
    "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

/// RFC 7515, appendix A.3: the key.
const P256_JWK: &str = r#"{"kty":"EC","crv":"P-256","kid":"ec",
    "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    "d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#;

/// RFC 7638 §3.1: the key.
const RSA_JWK: &str = r#"{"kty":"RSA","e":"AQAB","kid":"rsa","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"}"#;

fn keys(jwk: &str) -> KeySet {
    json::from_str(&format!(r#"{{"keys":[{jwk}]}}"#)).unwrap()
}

/// RFC 8037, appendix A.4.
#[test]
fn ed25519_signs_as_the_rfc_does() {
    let signer = Signer::from_jwk(ED25519_JWK).unwrap();
    let input = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature = signer.sign_bytes(input).unwrap();
    assert_eq!(
        URL_SAFE_NO_PAD.encode(&signature),
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    );
    assert!(signer.public_key().verifies(input, &signature));
    assert!(!signer.public_key().verifies(b"other", &signature));
}

/// RFC 7515, appendix A.3.
#[test]
fn es256_verifies_what_the_rfc_signed() {
    let input = concat!(
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt",
        "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    );
    let signature = jwk::decode(
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
    );
    let keys = keys(P256_JWK);
    let key = keys.find("ec", Algorithm::Es256).unwrap();
    assert!(key.verifies(input.as_bytes(), &signature.unwrap()));
}

/// RFC 7515, appendix A.2.
#[test]
fn rs256_signs_as_the_rfc_does() {
    let signer =
        Signer::from_jwk(include_str!("../../../tests/fixtures/keys/rs256-jwk.json")).unwrap();
    let input = concat!(
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt",
        "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    );
    let signature = signer.sign_bytes(input.as_bytes()).unwrap();
    assert_eq!(
        URL_SAFE_NO_PAD.encode(&signature),
        concat!(
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt",
            "_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLI",
            "ARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOP",
            "qvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe7",
            "7Rw"
        )
    );
}

/// RFC 7638 §3.1 and RFC 8037, appendix A.3.
#[test]
fn thumbprints_are_those_of_the_rfcs() {
    for (jwk, thumbprint) in [
        (RSA_JWK, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"),
        (ED25519_JWK, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
    ] {
        assert_eq!(keys(jwk).iter().next().unwrap().thumbprint(), thumbprint);
    }
}

/// A2A digest §16.3 for `typ`, RFC 9864 for the name of the algorithm.
#[test]
fn a_header_may_lack_its_type_and_name_the_curve() {
    let signer = Signer::from_jwk(ED25519_JWK).unwrap();
    for header in [r#"{"alg":"EdDSA","kid":"ed"}"#, r#"{"kid":"ed","alg":"Ed25519","typ":null}"#] {
        let mut card = AgentCard::builder("Echo").build();
        let protected = URL_SAFE_NO_PAD.encode(header);
        let input = signing_input(&protected, &canonical::of_card(&card).unwrap());
        let signature = URL_SAFE_NO_PAD.encode(signer.sign_bytes(&input).unwrap());
        card.signatures.push(AgentCardSignature { protected, signature, header: None });
        let verified = verify(&json::to_string(&card), &keys(ED25519_JWK)).unwrap();
        assert_eq!((verified.kid.as_str(), verified.card), ("ed", card));
    }
}

#[test]
fn a_key_set_is_written_as_it_was_read_and_without_secrets() {
    for jwk in [RSA_JWK, ED25519_JWK, P256_JWK] {
        let keys = keys(jwk);
        let text = json::to_string(&keys);
        assert_eq!(json::from_str::<KeySet>(&text).unwrap(), keys);
        assert!(!text.contains(r#""d""#), "{text}");
    }
}

#[test]
fn keys_we_cannot_use_are_passed_over() {
    let set = format!(
        r#"{{"keys":[{{"kty":"EC","crv":"P-384","x":"AA","y":"AA","kid":"a"}},
            {{"kty":"oct","k":"AA","kid":"b"}},{{"kty":1}},7,
            {{"kty":"OKP","crv":"Ed25519","x":"AA","kid":"short"}},
            {{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}},
            {{"kty":"OKP","crv":"Ed25519","kid":"enc","use":"enc","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}},
            {{"kty":"OKP","crv":"Ed25519","kid":"ops","key_ops":["sign"],"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}},
            {{"kty":"RSA","alg":"RSA-OAEP","kid":"oaep","e":"AQAB","n":"AQAB"}},
            {{"kty":"RSA","alg":"ES256","kid":"es","e":"AQAB","n":"AQAB"}},
            {{"kty":"RSA","alg":"HS256","kid":"hs","e":"AQAB","n":"AQAB"}},
            {ED25519_JWK}]}}"#
    );
    let keys: KeySet = json::from_str(&set).unwrap();
    assert_eq!(keys.iter().map(PublicKey::kid).collect::<Vec<_>>(), ["ed"]);
    assert!(json::from_str::<KeySet>("{}").is_err());
}

#[test]
fn a_key_is_for_one_algorithm_only() {
    let rsa =
        |alg: &str| format!(r#"{{"keys":[{{"kty":"RSA",{alg}"kid":"r","e":"AQAB","n":"AQAB"}}]}}"#);
    for (alg, expected) in [
        ("", Algorithm::Rs256),
        (r#""alg":"RS256","#, Algorithm::Rs256),
        (r#""alg":"RS512","#, Algorithm::Rs512),
        (r#""alg":"PS384","#, Algorithm::Ps384),
    ] {
        let keys: KeySet = json::from_str(&rsa(alg)).unwrap();
        let found: Vec<_> = keys.iter().map(PublicKey::algorithm).collect();
        assert_eq!(found, [expected]);
        assert_eq!(json::from_str::<KeySet>(&json::to_string(&keys)).unwrap(), keys);
    }
}

#[test]
fn a_jwk_whose_halves_disagree_is_refused() {
    let other = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    for jwk in [
        ED25519_JWK.replace("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", other),
        P256_JWK.replace("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI", other),
        P256_JWK.replace(r#""d""#, r#""z""#),
        RSA_JWK.to_owned(),
        "{}".to_owned(),
        "x".to_owned(),
    ] {
        assert!(matches!(Signer::from_jwk(&jwk), Err(Error::Key(_))), "{jwk}");
    }
}

#[test]
fn a_signer_does_not_show_its_secret() {
    let signer = Signer::from_jwk(ED25519_JWK).unwrap();
    // The public half starts with these bytes, the private one with 9d 61.
    let shown = format!("{signer:?}");
    assert!(shown.contains("215, 90") && !shown.contains("157, 97"), "{shown}");
}
