//! Signatures over cards: proof of who wrote one (A2A digest §16.3).
//!
//! ```
//! use nuncio_protocol::{
//!     card::{AgentCard, sign::{Algorithm, KeySet, Signer, sign, verify}},
//!     json,
//! };
//!
//! let signer = Signer::generate(Algorithm::Es256)?;
//! let mut card = AgentCard::builder("Echo").description("Repeats").build();
//! sign(&mut card, &signer)?;
//!
//! let keys: KeySet = [signer.public_key().clone()].into_iter().collect();
//! let verified = verify(&json::to_string(&card), &keys)?;
//! assert_eq!(verified.card, card);
//! # Ok::<(), nuncio_protocol::card::sign::Error>(())
//! ```
//!
//! A signature says who wrote a card, never that the card is good, nor that it was fetched
//! from where it belongs: binding keys to origins is the caller's part, and so is fetching
//! them. A `jku` is reported ([`headers`]) and never followed.
//!
//! Agents sign different texts for the same card. [`verify`] tries each [`Form`] and returns
//! the card as far as the signature covers it, no more.
//!
//! The cryptography is called directly. The usual JWT library looks for a provider that the
//! whole process shares, and panics if there is none or too many.

mod canonical;
mod jwk;
mod key;
mod pem;
mod signer;

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use self::canonical::Style;
use super::{
    AgentCard, AgentCardSignature,
    lint::{MAX_SIGNATURES, inert},
    normal::read_any,
};
use crate::json::{self, Object, read_value, read_with};

pub use self::{
    jwk::KeySet,
    key::{Algorithm, PublicKey},
    signer::Signer,
};

/// Why a card could not be signed or verified, or a key not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key is not one we can use.
    #[error("unusable key: {0}")]
    Key(&'static str),
    /// The text is no card, or has no canonical form.
    #[error("no card that can be signed")]
    Card(#[source] json::Error),
    /// Nobody signed the card.
    #[error("the card has no signature")]
    Unsigned,
    /// The card carries more signatures than anybody needs.
    #[error("the card has {count} signatures, more than {MAX_SIGNATURES}")]
    TooManySignatures {
        /// How many there are.
        count: usize,
    },
    /// No signature could be verified; why, in their order.
    #[error("no signature could be verified: {}", list(.0))]
    Refused(Vec<Refusal>),
    /// The cryptographic library failed, for want of memory or randomness.
    #[error("the cryptographic library failed")]
    Crypto,
}

/// Why one signature was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The header or the signature cannot be read.
    Malformed(&'static str),
    /// The algorithm is none of ours.
    Algorithm(String),
    /// The key is not in the set: fetch it anew, or do not trust the card.
    UnknownKey(String),
    /// The key exists, but for another algorithm.
    WrongKey(String),
    /// The signature does not belong to this card or not to this key.
    Mismatch(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => f.write_str(what),
            Self::Algorithm(name) => write!(f, "algorithm `{}` is not accepted", inert(name)),
            Self::UnknownKey(kid) => write!(f, "key `{}` is not known", inert(kid)),
            Self::WrongKey(kid) => write!(f, "key `{}` is for another algorithm", inert(kid)),
            Self::Mismatch(kid) => {
                write!(f, "the signature by `{}` does not fit the card", inert(kid))
            }
        }
    }
}

fn list(refusals: &[Refusal]) -> String {
    refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What text of a card was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// What A2A says: the members that 1.0 knows, in canonical JSON. Members beside them,
    /// such as those of 0.3 on a hybrid card, are not covered.
    Known,
    /// The whole card as it stands, in canonical JSON.
    Raw,
    /// As [`Known`](Self::Known), but without anything empty: what the Python SDK signs from
    /// 1.2 on. A requirement without scopes is not covered.
    Pruned,
    /// As [`Pruned`](Self::Pruned), in Python's own JSON: what the Python SDK signs up to 1.1.
    PrunedPython,
}

/// A card with proof of its origin.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Verified {
    /// The card, as far as the signature covers it, with all its signatures.
    pub card: AgentCard,
    /// The key that signed it.
    pub kid: String,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// What text was signed.
    pub form: Form,
}

/// The protected header of a signature. Nothing in it is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The algorithm.
    pub alg: Option<String>,
    /// The name of the key.
    pub kid: Option<String>,
    /// The type; `JOSE` or nothing.
    pub typ: Option<String>,
    /// Where the key is said to be found.
    pub jku: Option<String>,
    /// Whether the header demands an understanding of more than we know.
    critical: bool,
}

/// Adds a signature as A2A says ([`Form::Known`]).
///
/// Signatures that are there stay; clear them first if the card has changed since.
pub fn sign(card: &mut AgentCard, signer: &Signer) -> Result<(), Error> {
    sign_as(Form::Known, card, signer)
}

/// Adds a signature in a form of the caller's choice.
///
/// The Python SDK verifies [`Form::Pruned`] only; a card may carry a signature in each form.
pub fn sign_as(form: Form, card: &mut AgentCard, signer: &Signer) -> Result<(), Error> {
    let known = canonical::of_card(card);
    let payload = match form {
        Form::Known => known,
        Form::Raw => canonical::of_text(&json::to_string(card), Style::Jcs),
        Form::Pruned => known.and_then(|known| canonical::of_text(&known, Style::Pruned)),
        Form::PrunedPython => {
            known.and_then(|known| canonical::of_text(&known, Style::PrunedPython))
        }
    };
    card.signatures.push(signature(&payload.map_err(Error::Card)?, signer)?);
    Ok(())
}

/// Adds a signature over a card as it stands, of any form ([`Form::Raw`]).
///
/// For cards that [`sign`] cannot cover: those of 0.3, and all members of a hybrid.
pub fn sign_text(text: &str, signer: &Signer) -> Result<String, Error> {
    let card = Object::parse_text(text).map_err(Error::Card)?;
    let payload = canonical::of_text(text, Style::Jcs).map_err(Error::Card)?;
    let mut signatures = canonical::signatures(text).map_err(Error::Card)?;
    signatures.push(signature(&payload, signer)?);
    Ok(canonical::with_signatures(&card, &signatures))
}

fn signature(payload: &str, signer: &Signer) -> Result<AgentCardSignature, Error> {
    let protected = URL_SAFE_NO_PAD.encode(signer.header());
    let bytes = signer.sign_bytes(&signing_input(&protected, payload))?;
    let signature = URL_SAFE_NO_PAD.encode(bytes);
    Ok(AgentCardSignature { protected, signature, header: None })
}

fn signing_input(protected: &str, payload: &str) -> Vec<u8> {
    let mut input = String::with_capacity(protected.len() + payload.len() * 4 / 3 + 8);
    input.push_str(protected);
    input.push('.');
    URL_SAFE_NO_PAD.encode_string(payload, &mut input);
    input.into_bytes()
}

/// Reads the headers of a card's signatures, to find out which keys to fetch.
///
/// A header that cannot be read comes out empty.
pub fn headers(text: &str) -> Result<Vec<Header>, Error> {
    let signatures = canonical::signatures(text).map_err(Error::Card)?;
    Ok(signatures.iter().map(|one| read_header(&one.protected).unwrap_or_default()).collect())
}

/// Verifies a card: one good signature by a key of the set is enough.
///
/// Costs at most four checks a signature, of which there may be sixteen.
pub fn verify(text: &str, keys: &KeySet) -> Result<Verified, Error> {
    let signatures = canonical::signatures(text).map_err(Error::Card)?;
    if signatures.is_empty() {
        return Err(Error::Unsigned);
    }
    if signatures.len() > MAX_SIGNATURES {
        return Err(Error::TooManySignatures { count: signatures.len() });
    }
    let payloads = payloads(text)?;
    let mut refusals = Vec::new();
    for signature in &signatures {
        match verify_one(signature, &payloads, keys) {
            Ok((key, payload)) => {
                return Ok(Verified {
                    card: covered(text, payload, signatures.clone()).map_err(Error::Card)?,
                    kid: key.kid().to_owned(),
                    algorithm: key.algorithm(),
                    form: payload.form,
                });
            }
            Err(refusal) => refusals.push(refusal),
        }
    }
    Err(Error::Refused(refusals))
}

/// A text that may have been signed.
struct Payload {
    form: Form,
    text: String,
}

/// Returns every text that may have been signed, the likeliest first.
///
/// A form that the card does not have is left out: one of 0.3 has no members of 1.0 to speak
/// of, and a number that cannot be signed may stand in a member that 1.0 does not know.
fn payloads(text: &str) -> Result<Vec<Payload>, Error> {
    let known = json::from_str(text).and_then(|card| canonical::of_card(&card));
    let pruned = |style| known.clone().and_then(|known| canonical::of_text(&known, style));
    let forms = [
        (Form::Raw, canonical::of_text(text, Style::Jcs)),
        (Form::Pruned, pruned(Style::Pruned)),
        (Form::PrunedPython, pruned(Style::PrunedPython)),
    ];
    let mut payloads = Vec::new();
    let mut refusal = None;
    for (form, text) in [(Form::Known, known)].into_iter().chain(forms) {
        match text {
            Ok(text) => payloads.push(Payload { form, text }),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    match refusal {
        Some(error) if payloads.is_empty() => Err(Error::Card(error)),
        _ => Ok(payloads),
    }
}

fn verify_one<'a>(
    signature: &AgentCardSignature,
    payloads: &'a [Payload],
    keys: &'a KeySet,
) -> Result<(&'a PublicKey, &'a Payload), Refusal> {
    let header = read_header(&signature.protected)?;
    let name = header.alg.ok_or(Refusal::Malformed("the header has no `alg`"))?;
    let kid = header.kid.ok_or(Refusal::Malformed("the header has no `kid`"))?;
    if header.critical {
        return Err(Refusal::Malformed("the header has critical members we do not know"));
    }
    let Some(algorithm) = Algorithm::from_name(&name) else {
        return Err(Refusal::Algorithm(name));
    };
    let key = match keys.find(&kid, algorithm) {
        Some(key) => key,
        None if keys.contains(&kid) => return Err(Refusal::WrongKey(kid)),
        None => return Err(Refusal::UnknownKey(kid)),
    };
    let bytes = jwk::decode(&signature.signature)
        .ok_or(Refusal::Malformed("the signature is not base64url"))?;
    let signed = payloads
        .iter()
        .find(|payload| key.verifies(&signing_input(&signature.protected, &payload.text), &bytes));
    signed.map(|payload| (key, payload)).ok_or(Refusal::Mismatch(kid))
}

fn read_header(protected: &str) -> Result<Header, Refusal> {
    let bytes = jwk::decode(protected).ok_or(Refusal::Malformed("the header is not base64url"))?;
    let unreadable = |_| Refusal::Malformed("the header is not a JSON object of a signature");
    let text = json::text(&bytes).map_err(unreadable)?;
    let mut header = Header::default();
    let read = read_with(text, |reader| {
        reader.members(|reader, key| {
            let place = match &*key {
                "alg" => &mut header.alg,
                "kid" => &mut header.kid,
                "typ" => &mut header.typ,
                "jku" => &mut header.jku,
                // RFC 7515 §4.1.11: whoever does not understand it must refuse.
                "crit" => {
                    header.critical = true;
                    return reader.skip();
                }
                _ => return reader.skip(),
            };
            *place = read_value(reader)?;
            Ok(())
        })
    });
    read.map_err(unreadable)?;
    Ok(header)
}

/// Reads of the card what was signed: nothing else is proven.
fn covered(
    text: &str,
    payload: &Payload,
    signatures: Vec<AgentCardSignature>,
) -> Result<AgentCard, json::Error> {
    let mut card = match payload.form {
        // The reader of 1.0 takes exactly the members that were signed.
        Form::Known => json::from_str(text)?,
        Form::Raw | Form::Pruned | Form::PrunedPython => read_any(&payload.text)?.0,
    };
    card.signatures = signatures;
    Ok(card)
}

#[cfg(test)]
mod tests;
