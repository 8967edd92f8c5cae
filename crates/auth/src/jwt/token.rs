//! The text of a token. Nothing in it is verified yet.

use std::{borrow::Cow, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_protocol::json::{self, Kind, Reader};

use crate::refusal::Why;

/// Longer tokens are not looked at. Issuers that list all groups of a user come to a few KiB.
const MAX_BYTES: usize = 16 * 1024;
const MAX_KEY_ID_BYTES: usize = 256;
/// The end of the calendar: the last second of the year 9999.
const MAX_SECONDS: u64 = 253_402_300_799;

/// A token taken apart.
pub(crate) struct Token<'a> {
    /// What the signature is over.
    pub(crate) signed: &'a str,
    pub(crate) header: Header,
    pub(crate) claims: Claims,
    pub(crate) signature: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct Header {
    pub(crate) alg: String,
    pub(crate) kid: Option<String>,
    pub(crate) typ: Option<String>,
}

#[derive(Default)]
pub(crate) struct Claims {
    pub(crate) audiences: Vec<String>,
    /// Seconds since 1970, as the following.
    pub(crate) expires: Option<i64>,
    pub(crate) not_before: Option<i64>,
    pub(crate) issued: Option<i64>,
    /// Whether the token has `cnf`: only the owner of a key may show it.
    pub(crate) is_bound: bool,
    /// The fingerprint of that key's certificate.
    pub(crate) bound_certificate: Option<String>,
    scope: Vec<String>,
    /// Every other claim that is a text.
    texts: Vec<(String, String)>,
}

/// A token taken apart, but for its claims.
pub(crate) struct Parts<'a> {
    /// What the signature is over.
    pub(crate) signed: &'a str,
    pub(crate) header: Header,
    /// The JSON text of the claims.
    pub(crate) claims: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

impl<'a> Parts<'a> {
    pub(crate) fn split(text: &'a str) -> Result<Self, Why> {
        if text.len() > MAX_BYTES {
            return Err(Why::TokenText);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Why::TokenText)?;
        let (header, claims) = signed.split_once('.').ok_or(Why::TokenText)?;
        Ok(Self {
            signed,
            header: Header::parse(&decode(header)?)?,
            claims: decode(claims)?,
            signature: decode(signature)?,
        })
    }
}

impl<'a> Token<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, Why> {
        let Parts { signed, header, claims, signature } = Parts::split(text)?;
        Ok(Self { signed, header, claims: Claims::parse(&claims)?, signature })
    }
}

pub(crate) fn decode(part: &str) -> Result<Vec<u8>, Why> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Why::TokenText)
}

pub(crate) fn read(
    bytes: &[u8],
    mut member: impl FnMut(&mut Reader<'_>, Cow<'_, str>) -> Result<(), json::Error>,
) -> Result<(), Why> {
    let text = json::text(bytes).map_err(|_| Why::TokenText)?;
    json::read_with(text, |reader| reader.members(&mut member)).map_err(|_| Why::TokenText)
}

impl Header {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Why> {
        let mut header = Self::default();
        let mut alg = None;
        let mut is_refused = false;
        read(bytes, |reader, key| {
            match &*key {
                "alg" => alg = Some(reader.string()?.into_owned()),
                "kid" => header.kid = Some(reader.string()?.into_owned()),
                "typ" => header.typ = Some(reader.string()?.into_owned()),
                // These bring a key along or say where to get one, and `crit` (RFC 7515
                // §4.1.11) demands an understanding of what we do not know.
                "jku" | "jwk" | "x5u" | "x5c" | "crit" => {
                    is_refused = true;
                    reader.skip()?;
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        if is_refused || header.kid.as_ref().is_some_and(|kid| kid.len() > MAX_KEY_ID_BYTES) {
            return Err(Why::HeaderMember);
        }
        header.alg = alg.ok_or(Why::Algorithm)?;
        Ok(header)
    }
}

impl Claims {
    fn parse(bytes: &[u8]) -> Result<Self, Why> {
        let mut claims = Self::default();
        read(bytes, |reader, key| {
            match &*key {
                "aud" => claims.audiences = texts(reader)?,
                "exp" => claims.expires = Some(seconds(reader)?),
                "nbf" => claims.not_before = Some(seconds(reader)?),
                "iat" => claims.issued = Some(seconds(reader)?),
                "cnf" => {
                    claims.is_bound = true;
                    claims.bound_certificate = certificate(reader)?;
                }
                "scope" | "scp" => {
                    let texts = texts(reader)?;
                    let words = texts.iter().flat_map(|text| text.split_ascii_whitespace());
                    claims.scope.extend(words.map(str::to_owned));
                }
                _ if reader.peek()? == Kind::String => {
                    claims.texts.push((key.into_owned(), reader.string()?.into_owned()));
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(claims)
    }

    /// Returns a claim that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(key, _)| key == name).map(|(_, text)| text.as_str())
    }

    pub(crate) fn scopes(&self) -> &[String] {
        &self.scope
    }
}

/// Reads a text or a list of them.
pub(crate) fn texts(reader: &mut Reader<'_>) -> Result<Vec<String>, json::Error> {
    if reader.peek()? == Kind::String {
        return Ok(vec![reader.string()?.into_owned()]);
    }
    json::FromJson::read(reader)
}

/// Reads a moment (RFC 7519 §2): a number of seconds, which may have a fraction.
pub(crate) fn seconds(reader: &mut Reader<'_>) -> Result<i64, json::Error> {
    let seconds = reader.number()?.parse::<f64>().ok();
    let whole = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    whole
        .map(|moment| moment.as_secs())
        .filter(|seconds| *seconds <= MAX_SECONDS)
        .and_then(|seconds| i64::try_from(seconds).ok())
        .ok_or_else(|| json::Error::shape("expected seconds since 1970"))
}

/// Reads the certificate to which a token is bound (RFC 8705 §3.1).
pub(crate) fn certificate(reader: &mut Reader<'_>) -> Result<Option<String>, json::Error> {
    let mut fingerprint = None;
    reader.members(|reader, key| {
        if key != "x5t#S256" {
            return reader.skip();
        }
        fingerprint = Some(reader.string()?.into_owned());
        Ok(())
    })?;
    Ok(fingerprint)
}
