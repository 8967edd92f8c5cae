//! What a request shows, and which credential is in it.

use std::net::SocketAddr;

use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};

use nuncio_net::listen::ClientCertificate;

use crate::refusal::{Refusal, Why};

/// What a request shows to prove who sends it. Borrowed from the request.
#[derive(Clone, Copy, Debug)]
pub struct Presented<'a> {
    /// All headers.
    pub headers: &'a HeaderMap,
    /// The query of the URL, without its question mark.
    pub query: Option<&'a str>,
    /// Where the connection comes from.
    pub address: SocketAddr,
    /// The client's certificate, if it showed one and TLS has verified its chain.
    pub certificate: Option<Certificate<'a>>,
}

/// A client certificate whose chain has been verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certificate<'a> {
    /// The certificate itself.
    pub der: &'a [u8],
    /// The DNS names among its alternative names.
    pub dns_names: &'a [String],
    /// The URIs among its alternative names.
    pub uris: &'a [String],
    /// The common name of its subject.
    pub common_name: Option<&'a str>,
    /// SHA-256 of the certificate.
    pub fingerprint: [u8; 32],
}

impl<'a> From<&'a ClientCertificate> for Certificate<'a> {
    fn from(shown: &'a ClientCertificate) -> Self {
        Self {
            der: shown.der(),
            dns_names: shown.dns_names(),
            uris: shown.uris(),
            // A listener does not read it: no verifier checks it any more.
            common_name: None,
            fingerprint: shown.fingerprint_sha256(),
        }
    }
}

/// The one secret text in the headers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credential<'a> {
    /// From the header for API keys.
    Key(&'a str),
    /// From `Authorization: Bearer`.
    Bearer(&'a str),
}

/// Where credentials may stand.
pub(crate) struct Places<'a> {
    /// The header for API keys, if there are any.
    pub(crate) key_header: Option<&'a HeaderName>,
    /// Whether `Authorization` is looked at.
    pub(crate) bearer: bool,
}

impl<'a> Presented<'a> {
    /// Finds the one credential in headers. Two are refused, whether they are valid or not.
    pub(crate) fn credential(
        &self,
        places: &Places<'_>,
    ) -> Result<Option<Credential<'a>>, Refusal> {
        let keys = places.key_header.map(|name| self.headers.get_all(name).iter());
        let bearers = places.bearer.then(|| self.headers.get_all(AUTHORIZATION).iter());
        let mut keys = keys.into_iter().flatten();
        let mut bearers = bearers.into_iter().flatten();
        let found = match (keys.next(), bearers.next()) {
            (None, None) => return Ok(None),
            (Some(key), None) => key_text(key),
            (None, Some(value)) => bearer_text(value),
            (Some(_), Some(_)) => return Err(Refusal::Several),
        };
        if keys.next().is_some() || bearers.next().is_some() || self.has_secret_in_url() {
            return Err(Refusal::Several);
        }
        found.map(Some).map_err(Refusal::from)
    }

    /// Tells whether the URL carries what others take for a credential. We never do.
    fn has_secret_in_url(&self) -> bool {
        let is_secret = |name: &str| matches!(name, "api_key" | "access_token");
        self.query.is_some_and(|query| {
            form_urlencoded::parse(query.as_bytes()).any(|(name, _)| is_secret(&name))
        })
    }
}

fn key_text(value: &HeaderValue) -> Result<Credential<'_>, Why> {
    value.to_str().map(Credential::Key).map_err(|_| Why::KeyText)
}

fn bearer_text(value: &HeaderValue) -> Result<Credential<'_>, Why> {
    let text = value.to_str().map_err(|_| Why::Scheme)?;
    let (scheme, rest) = text.split_once(' ').ok_or(Why::Scheme)?;
    let token = rest.trim_matches(' ');
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() || token.contains(' ') {
        return Err(Why::Scheme);
    }
    Ok(Credential::Bearer(token))
}
