//! What must not be seen, and how it is struck out.

use std::{borrow::Cow, fmt};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::HeaderValue;
use nuncio_protocol::{json, operation::Request, push::TaskPushNotificationConfig};
use percent_encoding::percent_decode_str;

/// What stands in place of a secret.
pub(crate) const HIDDEN: &str = "•••";

/// What HTTP+JSON puts into queries itself, and proves nothing.
pub(super) const HARMLESS: [&str; 8] = [
    "contextId",
    "historyLength",
    "includeArtifacts",
    "pageSize",
    "pageToken",
    "state",
    "status",
    "statusTimestampAfter",
];

/// To strike out what is shorter would leave no text whole.
const SHORTEST: usize = 4;

/// Texts that must not be seen. Its own `Debug` shows none of them.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Knows of no secret yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a text, as it is and as JSON writes it.
    pub fn add(&mut self, text: &str) {
        if text.len() < SHORTEST || self.0.iter().any(|known| known == text) {
            return;
        }
        let written = json::to_string(&text.to_owned());
        let written = written.trim_matches('"');
        if written != text {
            self.0.push(written.to_owned());
        }
        self.0.push(text.to_owned());
        // What holds another one goes first, so that nothing of it is left.
        self.0.sort_by_key(|known| std::cmp::Reverse(known.len()));
    }

    /// Adds what a header proves something with: all of it, and what stands behind the name of
    /// its scheme or of a cookie.
    pub fn add_header(&mut self, value: &HeaderValue) {
        let Ok(text) = value.to_str() else { return };
        self.add(text);
        if let Some((scheme, rest)) = text.split_once(' ') {
            self.add(rest.trim());
            if scheme.eq_ignore_ascii_case("basic") {
                self.add_password(rest.trim());
            }
        }
        for pair in text.split(';') {
            if let Some((_, value)) = pair.split_once('=') {
                self.add(value.trim());
            }
        }
    }

    /// Adds what stands in the query of a URL, as it is and decoded.
    pub fn add_query(&mut self, url: &str) {
        let Some((_, query)) = url.split_once('?') else { return };
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        for (_, value) in pairs.filter(|(name, _)| !HARMLESS.contains(name)) {
            self.add(value);
            self.add(&percent_decode_str(value).decode_utf8_lossy());
        }
    }

    /// Returns a text with every secret in it struck out.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), HIDDEN));
            }
        }
        text
    }

    /// Returns what a request tells a peer to prove itself with: at webhooks.
    pub(super) fn of_request(request: &Request) -> Self {
        let mut secrets = Self::new();
        let config = match request {
            Request::SendMessage(request) | Request::SendStreamingMessage(request) => {
                let wishes = request.configuration.as_ref();
                wishes.and_then(|wishes| wishes.task_push_notification_config.as_ref())
            }
            Request::CreateTaskPushNotificationConfig(config) => Some(config),
            _ => None,
        };
        if let Some(config) = config {
            secrets.add_webhook(config);
        }
        secrets
    }

    fn add_webhook(&mut self, config: &TaskPushNotificationConfig) {
        self.add(&config.token);
        if let Some(authentication) = &config.authentication {
            self.add(&authentication.credentials);
        }
        self.add_query(&config.url);
    }

    fn add_password(&mut self, pair: &str) {
        let decoded =
            BASE64_STANDARD.decode(pair).ok().and_then(|pair| String::from_utf8(pair).ok());
        if let Some((_, password)) = decoded.as_deref().and_then(|pair| pair.split_once(':')) {
            self.add(password);
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &'static str, text: &str, expected: &str) {
        let mut secrets = Secrets::new();
        secrets.add_header(&HeaderValue::from_static(header));
        assert_eq!(secrets.hide(text), expected, "{header}");
    }

    #[test]
    fn a_credential_is_struck_out_in_every_form_in_which_a_peer_may_repeat_it() {
        check("Bearer swordfish", "you said `Bearer swordfish`", "you said `•••`");
        check("Bearer swordfish", r#"{"token":"swordfish"}"#, r#"{"token":"•••"}"#);
        check("sword\"fish", r#"{"key":"sword\"fish"}"#, r#"{"key":"•••"}"#);
        check("session=swordfish; a=b", "swordfish", "•••");
        check("Basic dXNlcjpzd29yZGZpc2g=", "dXNlcjpzd29yZGZpc2g= is swordfish", "••• is •••");
    }

    #[test]
    fn a_key_in_a_query_is_struck_out_encoded_and_plain() {
        let mut secrets = Secrets::new();
        secrets.add_query("https://a.example/x?key=sword%20fish");
        assert_eq!(secrets.hide("sword%20fish, sword fish"), "•••, •••");
    }

    #[test]
    fn nothing_is_shown_of_the_secrets_themselves() {
        let mut secrets = Secrets::new();
        secrets.add("swordfish");
        assert_eq!(format!("{secrets:?}"), "Secrets(1)");
    }
}
