//! What operators read: why, and nothing secret.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
};

use nuncio_auth::{ApiKey, ApiKeys, Gatekeeper, JwtIssuer};
use serde_json::json;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::support::{AUDIENCE, ISSUER, admit, assemble, claims, key_set, signer, token};

/// Keeps every event as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let mut text = self.0.lock().expect("no test panics with it");
        write!(text, "{field}={value:?} ").expect("a text takes everything");
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn the_log_says_why_and_nothing_secret() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let (key, record) = ApiKey::generate("alice");
    let (known, stranger) = (signer("k1"), signer("k1"));
    let keys = ApiKeys::from_iter([record]);
    let gatekeeper = Gatekeeper::builder()
        .api_keys(keys.clone())
        .jwt(JwtIssuer::with_keys(ISSUER, AUDIENCE, key_set(&[&known])))
        .build()
        .unwrap();
    keys.revoke(key.id());
    let header = json!({"alg": "ES256", "kid": "pl4nted\n\u{1b}[31m"});
    let hostile = assemble(&header, &claims(), |signed| known.sign_bytes(signed).unwrap());
    let (wrong, _) = ApiKey::generate("bob");
    let secrets = [
        key.to_string(),
        wrong.to_string(),
        "nk_pl4nted".to_owned(),
        token(&stranger),
        hostile,
        "pl4nted".to_owned(),
    ];
    for secret in &secrets {
        let refused = admit(&gatekeeper, &[("authorization", &format!("Bearer {secret}"))]).await;
        assert!(refused.is_err());
    }
    let log = log.0.lock().unwrap().clone();
    for why in [
        "the API key has been revoked",
        "the API key is unknown or its secret is wrong",
        "the API key is garbled",
        "the token's signature is wrong",
        "the token's key is not known",
        "the token cannot be read",
        "192.0.2.1",
    ] {
        assert!(log.contains(why), "{why}: {log}");
    }
    let pieces = secrets.iter().filter_map(|secret| secret.rsplit(['_', '.']).next());
    for piece in pieces.chain(["pl4nted", "\u{1b}", "alice"]).filter(|piece| piece.len() > 4) {
        assert!(!log.contains(piece), "{piece}: {log}");
    }
}
