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
pub(super) struct Token<'a> {
    /// What the signature is over.
    pub(super) signed: &'a str,
    pub(super) header: Header,
    pub(super) claims: Claims,
    pub(super) signature: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Header {
    pub(super) alg: String,
    pub(super) kid: Option<String>,
    pub(super) typ: Option<String>,
}

#[derive(Default)]
pub(super) struct Claims {
    pub(super) audiences: Vec<String>,
    /// Seconds since 1970, as the following.
    pub(super) expires: Option<i64>,
    pub(super) not_before: Option<i64>,
    pub(super) issued: Option<i64>,
    /// Whether the token has `cnf`: only the owner of a key may show it.
    pub(super) is_bound: bool,
    /// The fingerprint of that key's certificate.
    pub(super) bound_certificate: Option<String>,
    scope: Vec<String>,
    /// Every other claim that is a text.
    texts: Vec<(String, String)>,
}

impl<'a> Token<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Why> {
        if text.len() > MAX_BYTES {
            return Err(Why::TokenText);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Why::TokenText)?;
        let (header, claims) = signed.split_once('.').ok_or(Why::TokenText)?;
        Ok(Self {
            signed,
            header: Header::parse(&decode(header)?)?,
            claims: Claims::parse(&decode(claims)?)?,
            signature: decode(signature)?,
        })
    }
}

fn decode(part: &str) -> Result<Vec<u8>, Why> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Why::TokenText)
}

fn read(
    bytes: &[u8],
    mut member: impl FnMut(&mut Reader<'_>, Cow<'_, str>) -> Result<(), json::Error>,
) -> Result<(), Why> {
    let text = json::text(bytes).map_err(|_| Why::TokenText)?;
    json::read_with(text, |reader| reader.members(&mut member)).map_err(|_| Why::TokenText)
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self, Why> {
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
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(key, _)| key == name).map(|(_, text)| text.as_str())
    }

    pub(super) fn scopes(&self) -> &[String] {
        &self.scope
    }
}

/// Reads a text or a list of them.
fn texts(reader: &mut Reader<'_>) -> Result<Vec<String>, json::Error> {
    if reader.peek()? == Kind::String {
        return Ok(vec![reader.string()?.into_owned()]);
    }
    json::FromJson::read(reader)
}

/// Reads a moment (RFC 7519 §2): a number of seconds, which may have a fraction.
fn seconds(reader: &mut Reader<'_>) -> Result<i64, json::Error> {
    let seconds = reader.number()?.parse::<f64>().ok();
    let whole = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    whole
        .map(|moment| moment.as_secs())
        .filter(|seconds| *seconds <= MAX_SECONDS)
        .and_then(|seconds| i64::try_from(seconds).ok())
        .ok_or_else(|| json::Error::shape("expected seconds since 1970"))
}

/// Reads the certificate to which a token is bound (RFC 8705 §3.1).
fn certificate(reader: &mut Reader<'_>) -> Result<Option<String>, json::Error> {
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
