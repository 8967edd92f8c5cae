//! One notification: everything that is sent about one event.

use std::fmt::Write as _;

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use nuncio_net::{CheckedUrl, Request};
use nuncio_protocol::{
    dialect::v03::V03,
    json,
    push::{header, sign},
    task::{StreamResponse, Task},
    time::Timestamp,
    version::Version,
    wire::{JsonRpcForm as _, StreamEnd},
};

use super::secrets::{Authorization, Secrets};
use crate::{log::Seq, store::Webhook};

const USER_AGENT: &str = concat!("nuncio/", env!("CARGO_PKG_VERSION"));

/// Bytes of the hash that names a webhook in identifiers.
const NAME_BYTES: usize = 16;

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
        let mut put = |name: &'static str, value: &str, is_secret: bool| {
            let mut value = HeaderValue::from_str(value).ok()?;
            value.set_sensitive(is_secret);
            request.headers_mut().insert(HeaderName::from_static(name), value);
            Some(())
        };
        put("content-type", media_type, false)?;
        put("user-agent", USER_AGENT, false)?;
        put(header::VERSION, &version.to_string(), false)?;
        put(header::ID, &id, false)?;
        put(header::TIMESTAMP, &timestamp.to_string(), false)?;
        if let Some(Authorization { scheme, credentials }) = &secrets.authorization {
            let value = format!("{scheme} {credentials}");
            put("authorization", value.trim_end(), true)?;
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
