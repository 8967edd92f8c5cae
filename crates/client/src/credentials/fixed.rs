//! Credentials that somebody was given once.

use std::fmt::Write as _;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{AUTHORIZATION, COOKIE},
};
use nuncio_net::{CheckedUrl, Secret};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Credentials, Proof};
use crate::origin::Origin;

/// No credential at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCredentials;

/// A bearer token (RFC 6750).
#[derive(Clone, Debug)]
pub struct Bearer(Header);

/// A user's name and password (RFC 7617).
#[derive(Clone, Debug)]
pub struct Basic(Header);

/// A key by any name, in a header, the query or a cookie.
#[derive(Clone, Debug)]
pub struct ApiKey {
    origin: Origin,
    key: Key,
}

/// Where a key goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a header of this name.
    Header(HeaderName),
    /// In the query, under this name. Queries end up in logs: choose it only if the peer
    /// takes nothing else.
    Query(String),
    /// In a cookie of this name.
    Cookie(String),
}

/// A secret that cannot be sent the way it is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret or its name has characters that cannot be sent there")]
pub struct UnfitSecret;

/// A header for one origin.
#[derive(Clone, Debug)]
struct Header {
    origin: Origin,
    name: HeaderName,
    /// Marked as sensitive, so `Debug` does not show it.
    value: HeaderValue,
}

#[derive(Clone, Debug)]
enum Key {
    Header(Header),
    Query { name: String, key: Secret },
    Cookie(Header),
}

impl Bearer {
    /// Makes a proof for one origin.
    pub fn new(origin: Origin, token: &Secret) -> Result<Self, UnfitSecret> {
        let value = token.to_header("Bearer ").map_err(|_| UnfitSecret)?;
        Ok(Self(Header { origin, name: AUTHORIZATION, value }))
    }
}

impl Basic {
    /// Makes a proof for one origin. A user's name cannot have a colon.
    pub fn new(origin: Origin, user: &str, password: &Secret) -> Result<Self, UnfitSecret> {
        if user.contains(':') {
            return Err(UnfitSecret);
        }
        let pair = BASE64_STANDARD.encode(format!("{user}:{}", password.expose()));
        let value = Secret::new(pair).to_header("Basic ").map_err(|_| UnfitSecret)?;
        Ok(Self(Header { origin, name: AUTHORIZATION, value }))
    }
}

impl ApiKey {
    /// Makes a proof for one origin.
    pub fn new(origin: Origin, place: KeyPlace, key: &Secret) -> Result<Self, UnfitSecret> {
        let in_header = |name, prefix: &str| {
            let value = key.to_header(prefix).map_err(|_| UnfitSecret)?;
            Ok(Header { origin: origin.clone(), name, value })
        };
        let key = match place {
            KeyPlace::Header(name) => Key::Header(in_header(name, "")?),
            KeyPlace::Query(name) if name.is_empty() => return Err(UnfitSecret),
            KeyPlace::Query(name) => Key::Query { name, key: key.clone() },
            KeyPlace::Cookie(name) => {
                // What would end the cookie and begin another one.
                if name.is_empty() || [&name, key.expose()].iter().any(|text| !fits_cookie(text)) {
                    return Err(UnfitSecret);
                }
                Key::Cookie(in_header(COOKIE, &format!("{name}="))?)
            }
        };
        Ok(Self { origin, key })
    }
}

fn fits_cookie(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b';' | b',' | b'"' | b'\\'))
}

impl Header {
    fn put(&self, url: &CheckedUrl, headers: &mut HeaderMap) {
        if Origin::of(url) == self.origin {
            headers.insert(self.name.clone(), self.value.clone());
        }
    }
}

fn ready<'a>() -> Proof<'a> {
    Box::pin(std::future::ready(Ok(())))
}

impl Credentials for NoCredentials {
    fn prove<'a>(&'a self, _: &'a CheckedUrl, _: &'a mut HeaderMap) -> Proof<'a> {
        ready()
    }
}

impl Credentials for Bearer {
    fn prove<'a>(&'a self, url: &'a CheckedUrl, headers: &'a mut HeaderMap) -> Proof<'a> {
        self.0.put(url, headers);
        ready()
    }
}

impl Credentials for Basic {
    fn prove<'a>(&'a self, url: &'a CheckedUrl, headers: &'a mut HeaderMap) -> Proof<'a> {
        self.0.put(url, headers);
        ready()
    }
}

impl Credentials for ApiKey {
    fn prove<'a>(&'a self, url: &'a CheckedUrl, headers: &'a mut HeaderMap) -> Proof<'a> {
        match &self.key {
            Key::Header(header) | Key::Cookie(header) => header.put(url, headers),
            Key::Query { .. } => {}
        }
        ready()
    }

    fn query(&self, url: &CheckedUrl) -> Option<String> {
        let Key::Query { name, key } = &self.key else { return None };
        if Origin::of(url) != self.origin {
            return None;
        }
        let mut pair = utf8_percent_encode(name, NON_ALPHANUMERIC).to_string();
        let key = utf8_percent_encode(key.expose(), NON_ALPHANUMERIC);
        // Writing to a string cannot fail.
        write!(pair, "={key}").ok();
        Some(pair)
    }
}

#[cfg(test)]
mod tests {
    use http::header::HeaderName;
    use nuncio_net::{Errand, Guard, Policy, Purpose};

    use super::*;

    const HOME: &str = "https://a.example";

    fn origin() -> Origin {
        Origin::parse(HOME).expect("an origin")
    }

    /// Returns what a credential adds to a request for a URL.
    async fn sent(credentials: &dyn Credentials, url: &str) -> String {
        let policy = Policy::default().allow_http(Errand::caller(Purpose::Agent));
        let url = Guard::new(policy).check_url(url, Errand::caller(Purpose::Agent));
        let url = url.expect("a good URL");
        let mut headers = HeaderMap::new();
        credentials.prove(&url, &mut headers).await.expect("a proof");
        assert!(headers.values().all(HeaderValue::is_sensitive));
        let show = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", value.to_str().expect("text"))
        };
        let query = credentials.query(&url).map(|pair| format!("?{pair}"));
        headers.iter().map(show).chain(query).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn shows_nothing(credentials: &dyn Credentials) {
        let shown = format!("{credentials:?} {credentials:#?}");
        assert!(!shown.contains("swordfish") && !shown.contains("c3dvcmRmaXNo"), "{shown}");
    }

    async fn check(credentials: impl Credentials, expected: &str) {
        assert_eq!(sent(&credentials, "https://a.example/x").await, expected);
        // A-CARD: never to another origin, however near.
        for elsewhere in [
            "http://a.example/x",
            "https://a.example:444/x",
            "https://b.a.example/x",
            "https://example/x",
        ] {
            assert_eq!(sent(&credentials, elsewhere).await, "", "{elsewhere}");
        }
        shows_nothing(&credentials);
        assert!(!credentials.refused());
    }

    #[tokio::test]
    async fn a_proof_goes_to_its_own_origin_only() {
        let secret = Secret::new("swordfish");
        check(Bearer::new(origin(), &secret).unwrap(), "authorization: Bearer swordfish").await;
        check(
            Basic::new(origin(), "me", &secret).unwrap(),
            "authorization: Basic bWU6c3dvcmRmaXNo",
        )
        .await;
        let place = KeyPlace::Header(HeaderName::from_static("x-api-key"));
        check(ApiKey::new(origin(), place, &secret).unwrap(), "x-api-key: swordfish").await;
        let place = KeyPlace::Cookie("session".to_owned());
        check(ApiKey::new(origin(), place, &secret).unwrap(), "cookie: session=swordfish").await;
        let place = KeyPlace::Query("a&b".to_owned());
        let secret = Secret::new("sword fish&c=d");
        check(ApiKey::new(origin(), place, &secret).unwrap(), "?a%26b=sword%20fish%26c%3Dd").await;
        check(NoCredentials, "").await;
    }

    #[test]
    fn what_would_break_out_of_its_place_is_refused() {
        let secret = Secret::new("a\r\nb");
        assert!(Bearer::new(origin(), &secret).is_err());
        assert!(Basic::new(origin(), "a:b", &Secret::new("c")).is_err());
        for (name, key) in [("a", "b; c=d"), ("a;", "b"), ("", "b")] {
            let place = KeyPlace::Cookie(name.to_owned());
            assert!(ApiKey::new(origin(), place, &Secret::new(key)).is_err(), "{name}={key}");
        }
        assert!(ApiKey::new(origin(), KeyPlace::Query(String::new()), &Secret::new("b")).is_err());
    }
}
