//! One look at one place.

use std::{sync::Arc, time::Duration};

use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{
        ACCEPT, CACHE_CONTROL, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION,
    },
};
use nuncio_net::{CheckedUrl, Client, Request, Timeouts};
use nuncio_protocol::{
    card::{AgentCard, CardForm, MAX_CARD_BYTES, read_any},
    json,
};

use super::error::Outcome;
use crate::{
    credentials::{Credentials, prove},
    origin::shown,
};

/// How long a card may take, head and body.
const PATIENCE: Duration = Duration::from_secs(15);

/// A card as it came.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) card: AgentCard,
    pub(super) form: CardForm,
    pub(super) text: Arc<str>,
    pub(super) marks: Marks,
}

/// What the server said about this edition of the card.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
    /// For how long it need not be asked for again.
    pub(super) max_age: Option<Duration>,
}

pub(super) enum Answer {
    Card(Box<Raw>),
    /// It is still the edition with those marks.
    Unchanged(Marks),
}

/// Asks for a card at a URL, unless it is still the edition that is known.
///
/// A credential is shown only when the server asks for one: most cards are public, and the
/// fewer see a credential the better.
pub(super) async fn fetch(
    client: &Client,
    url: &CheckedUrl,
    known: Option<&Marks>,
    credentials: Option<&dyn Credentials>,
) -> Result<Answer, Outcome> {
    let anonymous = ask(client, url, known, HeaderMap::new()).await;
    let Some(credentials) = credentials else { return anonymous };
    let Err(Outcome::NeedsCredentials(status)) = anonymous else { return anonymous };
    let mut headers = HeaderMap::new();
    match prove(credentials, client.guard(), url, &mut headers).await {
        Ok(proved) if proved != *url || !headers.is_empty() => {
            ask(client, &proved, known, headers).await
        }
        // A credential that could not be had, or belongs elsewhere.
        _ => Err(Outcome::NeedsCredentials(status)),
    }
}

async fn ask(
    client: &Client,
    url: &CheckedUrl,
    known: Option<&Marks>,
    headers: HeaderMap,
) -> Result<Answer, Outcome> {
    let mut request = Request::get(url)
        .header(
            ACCEPT,
            HeaderValue::from_static("application/json, application/a2a+json, */*;q=0.1"),
        )
        .timeouts(Timeouts::default().whole(PATIENCE));
    request.headers_mut().extend(headers);
    for (name, value) in known.into_iter().flat_map(Marks::conditions) {
        request.headers_mut().insert(name, value);
    }
    let answer = client.send(request).await.map_err(Outcome::Failed)?;
    let status = answer.status();
    let marks = Marks::read(answer.headers());
    match status {
        StatusCode::OK => {}
        StatusCode::NOT_MODIFIED if known.is_some() => return Ok(Answer::Unchanged(marks)),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return Err(Outcome::NeedsCredentials(status));
        }
        status if status.is_redirection() && answer.headers().contains_key(LOCATION) => {
            let location = answer.headers().get(LOCATION).map(HeaderValue::as_bytes);
            let location = shown(&String::from_utf8_lossy(location.unwrap_or_default()));
            return Err(Outcome::Redirected { status, location });
        }
        status => return Err(Outcome::Status(status)),
    }
    // What it says its type is does not matter: many serve cards as plain text.
    let bytes = answer.collect(MAX_CARD_BYTES).await.map_err(Outcome::Failed)?;
    let text: Arc<str> = json::text(&bytes).map_err(Outcome::NotACard)?.into();
    let (card, form) = read_any(&text).map_err(Outcome::NotACard)?;
    Ok(Answer::Card(Box::new(Raw { card, form, text, marks })))
}

impl Marks {
    fn read(headers: &HeaderMap) -> Self {
        let directives = headers.get(CACHE_CONTROL).and_then(|value| value.to_str().ok());
        Self {
            etag: headers.get(ETAG).cloned(),
            last_modified: headers.get(LAST_MODIFIED).cloned(),
            max_age: directives.and_then(max_age),
        }
    }

    /// Returns these marks, with those of an earlier answer where there are none.
    pub(super) fn or(self, earlier: &Self) -> Self {
        Self {
            etag: self.etag.or_else(|| earlier.etag.clone()),
            last_modified: self.last_modified.or_else(|| earlier.last_modified.clone()),
            max_age: self.max_age.or(earlier.max_age),
        }
    }

    fn conditions(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let etag = self.etag.clone().map(|etag| (IF_NONE_MATCH, etag));
        let since = self.last_modified.clone().map(|since| (IF_MODIFIED_SINCE, since));
        etag.into_iter().chain(since)
    }

    /// Tells whether there is anything to ask about.
    pub(super) const fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }
}

/// Reads for how long an answer is fresh (RFC 9111 §5.2.2).
fn max_age(directives: &str) -> Option<Duration> {
    let mut found = None;
    for directive in directives.split(',').map(str::trim) {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.to_ascii_lowercase().as_str() {
            "no-cache" | "no-store" => return Some(Duration::ZERO),
            "max-age" => {
                let seconds = value.trim_matches('"').parse().ok().map(Duration::from_secs);
                found = found.or(seconds);
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(directives: &str, expected: Option<u64>) {
        assert_eq!(max_age(directives), expected.map(Duration::from_secs), "{directives}");
    }

    #[test]
    fn freshness_is_read_from_cache_control() {
        check("max-age=30", Some(30));
        check("public, Max-Age=\"60\"", Some(60));
        check("max-age=30, no-cache", Some(0));
        check("no-store", Some(0));
        check("max-age=soon", None);
        check("private", None);
        check("", None);
    }
}
