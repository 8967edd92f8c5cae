//! Requests, and tokens to put into them.

use aws_lc_rs::{
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256,
        RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512,
        RsaKeyPair, RsaPublicKeyComponents, RsaSignatureEncoding,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue};
use nuncio_auth::{Gatekeeper, Identity, Presented, Refusal};
use nuncio_protocol::{
    card::sign::{Algorithm, KeySet, Signer},
    json,
    time::Timestamp,
};
use serde_json::{Value, json};

pub(crate) const ISSUER: &str = "https://issuer.example";
pub(crate) const AUDIENCE: &str = "nuncio";

/// Sends headers from an address and returns the answer.
pub(crate) async fn admit_from(
    gatekeeper: &Gatekeeper,
    address: &str,
    headers: &[(&str, &str)],
) -> Result<Identity, Refusal> {
    let headers = header_map(headers);
    let address = address.parse().expect("an address");
    gatekeeper.admit(Presented { headers: &headers, query: None, address, certificate: None }).await
}

pub(crate) async fn admit(
    gatekeeper: &Gatekeeper,
    headers: &[(&str, &str)],
) -> Result<Identity, Refusal> {
    admit_from(gatekeeper, "192.0.2.1:4000", headers).await
}

pub(crate) async fn admit_token(gatekeeper: &Gatekeeper, token: &str) -> Result<Identity, Refusal> {
    admit(gatekeeper, &[("authorization", &format!("Bearer {token}"))]).await
}

pub(crate) fn header_map(headers: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        (name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"))
    };
    headers.iter().map(pair).fold(HeaderMap::new(), |mut map, (name, value)| {
        map.append(name, value);
        map
    })
}

pub(crate) fn signer(kid: &str) -> Signer {
    Signer::generate(Algorithm::Es256).expect("a key").with_kid(kid)
}

pub(crate) fn key_set(signers: &[&Signer]) -> KeySet {
    signers.iter().map(|signer| signer.public_key().clone()).collect()
}

/// The claims of a token that is good for five minutes.
pub(crate) fn claims() -> Value {
    let now = Timestamp::now().to_parts().0;
    json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": now, "exp": now + 300})
}

/// A good token.
pub(crate) fn token(signer: &Signer) -> String {
    let header = json!({"alg": signer.algorithm().as_str(), "kid": signer.kid()});
    assemble(&header, &claims(), |signed| signer.sign_bytes(signed).expect("a signature"))
}

pub(crate) fn assemble(
    header: &Value,
    claims: &Value,
    sign: impl FnOnce(&[u8]) -> Vec<u8>,
) -> String {
    let encode = |text: String| URL_SAFE_NO_PAD.encode(text);
    let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
    let signature = URL_SAFE_NO_PAD.encode(sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// A token by each algorithm with which the protocol crate does not sign, and the keys.
pub(crate) fn foreign_tokens() -> (Vec<(&'static str, String)>, KeySet) {
    let random = SystemRandom::new();
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let rsa = RsaKeyPair::generate(KeySize::Rsa2048).expect("a key");
    let RsaPublicKeyComponents { n, e } = rsa.public_key().into();
    let (n, e): (Vec<u8>, Vec<u8>) = (n, e);
    let encodings: [(&str, &'static RsaSignatureEncoding); 6] = [
        ("RS256", &RSA_PKCS1_SHA256),
        ("RS384", &RSA_PKCS1_SHA384),
        ("RS512", &RSA_PKCS1_SHA512),
        ("PS256", &RSA_PSS_SHA256),
        ("PS384", &RSA_PSS_SHA384),
        ("PS512", &RSA_PSS_SHA512),
    ];
    let mut keys = Vec::new();
    let mut tokens = Vec::new();
    for (alg, encoding) in encodings {
        keys.push(json!({"kty": "RSA", "kid": alg, "alg": alg, "n": encode(&n), "e": encode(&e)}));
        let token = assemble(&json!({"alg": alg, "kid": alg}), &claims(), |signed| {
            let mut signature = vec![0; rsa.public_modulus_len()];
            rsa.sign(encoding, &random, signed, &mut signature).expect("a signature");
            signature
        });
        tokens.push((alg, token));
    }
    let elliptic = EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).expect("a key");
    let (x, y) = elliptic.public_key().as_ref()[1..].split_at(48);
    keys.push(json!({"kty": "EC", "crv": "P-384", "kid": "ES384", "x": encode(x), "y": encode(y)}));
    let token = assemble(&json!({"alg": "ES384", "kid": "ES384"}), &claims(), |signed| {
        elliptic.sign(&random, signed).expect("a signature").as_ref().to_vec()
    });
    tokens.push(("ES384", token));
    let keys = json::from_str(&json!({"keys": keys}).to_string()).expect("a set of keys");
    (tokens, keys)
}
