//! One notification: everything that is sent about one event.

use std::fmt::Write as _;

use aws_lc_rs::{
    digest::{Context, SHA256},
    hmac,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use nuncio_net::{CheckedUrl, Request};
use nuncio_protocol::{
    dialect::v03::V03,
    json,
    task::{StreamResponse, Task},
    time::Timestamp,
    version::Version,
    wire::{JsonRpcForm as _, StreamEnd},
};

use super::secrets::{Authorization, Secrets};
use crate::{log::Seq, store::Webhook};

/// The names of the headers that come with an event.
pub mod header {
    use http::HeaderName;

    /// The same for every attempt at one event of one webhook, and for nothing else.
    pub const ID: HeaderName = HeaderName::from_static("webhook-id");
    /// When this attempt was made, in seconds since 1970.
    pub const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
    /// What [`sign`](super::sign) makes of identifier, time and body, if there is a token.
    pub const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
    /// The version of A2A that the body is written in.
    pub const VERSION: HeaderName = HeaderName::from_static("a2a-version");
    /// The token, under both names that receivers look for.
    pub const TOKENS: [HeaderName; 2] = [
        HeaderName::from_static("x-a2a-notification-token"),
        HeaderName::from_static("a2a-notification-token"),
    ];
}

const USER_AGENT: &str = concat!("nuncio/", env!("CARGO_PKG_VERSION"));

/// Bytes of the hash that names a webhook in identifiers.
const NAME_BYTES: usize = 16;

/// Returns the signature of a notification: `v1,` and the HMAC-SHA256 of
/// `<id>.<timestamp>.<body>` in base64. The key is the token, byte by byte.
pub fn sign(token: &str, id: &str, timestamp: i64, body: &[u8]) -> String {
    format!("v1,{}", BASE64_STANDARD.encode(mac(token, id, &timestamp.to_string(), body)))
}

/// Returns what is signed of a notification, keyed by the token.
pub(super) fn mac(token: &str, id: &str, timestamp: &str, body: &[u8]) -> hmac::Tag {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
    let mut context = hmac::Context::with_key(&key);
    for piece in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        context.update(piece);
    }
    context.sign()
}

/// One attempt to tell a webhook of an event.
#[derive(Debug)]
pub(super) struct Notice<'a> {
    pub(super) webhook: &'a Webhook,
    pub(super) secrets: &'a Secrets,
    pub(super) seq: Seq,
    pub(super) body: Bytes,
    /// The time of this attempt.
    pub(super) now: Timestamp,
}

impl Notice<'_> {
    /// Returns the request, without clocks. `None` if a secret is not fit for a header, which
    /// only a spoilt store can bring about.
    pub(super) fn request(self, url: &CheckedUrl) -> Option<Request> {
        let Self { webhook, secrets, seq, body, now } = self;
        let id = id(webhook, seq);
        let timestamp = now.to_parts().0;
        let (media_type, version) = if webhook.version.is_legacy() {
            ("application/json", Version::V0_3)
        } else {
            ("application/a2a+json", Version::V1_0)
        };
        let mut request = Request::post(url, body.clone());
        let mut put = |name: HeaderName, value: &str, is_secret: bool| {
            let mut value = HeaderValue::from_str(value).ok()?;
            value.set_sensitive(is_secret);
            request.headers_mut().insert(name, value);
            Some(())
        };
        put(http::header::CONTENT_TYPE, media_type, false)?;
        put(http::header::USER_AGENT, USER_AGENT, false)?;
        put(header::VERSION, &version.to_string(), false)?;
        put(header::ID, &id, false)?;
        put(header::TIMESTAMP, &timestamp.to_string(), false)?;
        if let Some(Authorization { scheme, credentials }) = &secrets.authorization {
            let value = format!("{scheme} {credentials}");
            put(http::header::AUTHORIZATION, value.trim_end(), true)?;
        }
        if !secrets.token.is_empty() {
            for name in header::TOKENS {
                put(name, &secrets.token, true)?;
            }
            put(header::SIGNATURE, &sign(&secrets.token, &id, timestamp, &body), false)?;
        }
        Some(request)
    }
}

/// Writes a task as receivers of 0.3 expect it.
pub(super) fn legacy_body(task: &Task) -> Bytes {
    let task = StreamResponse::Task(task.clone());
    json::write_with(|writer| V03.write_event(&task, StreamEnd::Open, writer)).into()
}

/// Identifiers that callers choose can be any text, so a hash of them goes into the header.
fn id(webhook: &Webhook, seq: Seq) -> String {
    let mut context = Context::new(&SHA256);
    let (task, id) = (webhook.task_id.as_str(), webhook.id.as_str());
    context.update(&(task.len() as u64).to_be_bytes());
    context.update(task.as_bytes());
    context.update(id.as_bytes());
    let mut text = String::with_capacity(2 * NAME_BYTES + 1 + 20);
    for byte in context.finish().as_ref().iter().take(NAME_BYTES) {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").ok();
    }
    write!(text, "-{seq}").ok();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value was computed with another implementation.
    #[test]
    fn a_signature_is_the_one_that_others_compute() {
        let body = br#"{"statusUpdate":{}}"#;
        assert_eq!(
            sign("secret", "0123-7", 1_700_000_000, body),
            "v1,GY/vfbb4XAetWIEcZsuo5VhnqXCNwxJS8mt+Cizl9iw="
        );
    }
}
