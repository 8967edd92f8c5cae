//! Who signed a card, and whether that matters.

use std::fmt;

use nuncio_net::{CheckedUrl, Client, Errand, Purpose, Trust};
use nuncio_protocol::card::{
    AgentCard, inert,
    sign::{self, KeySet, Refusal},
};

use super::keys::KeyCache;
use crate::origin::Origin;

/// What signatures are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SignaturePolicy {
    /// They are not looked at.
    #[default]
    Off,
    /// They are verified and the verdict is kept, but no card is refused: whoever can change
    /// a card can take its signature away, so refusing bad ones alone would protect nobody.
    Prefer,
    /// A card without a signature by a trusted key is refused.
    Require,
}

/// Whose signatures are believed.
///
/// Pinned keys verify the cards of every origin they are given for. A key set that a
/// signature names by itself (`jku`) is fetched only from the card's own origin, where
/// whoever wrote the card could have put it anyway, or from an origin on the list.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Signatures {
    policy: SignaturePolicy,
    pinned: KeySet,
    key_origins: Vec<Origin>,
}

/// What is known about a card's signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Nobody looked.
    Unchecked,
    /// A trusted key signed the card.
    Verified {
        /// The key.
        kid: String,
        /// Whether the key was pinned, and not fetched from where the signature says.
        is_pinned: bool,
    },
    /// There is no signature.
    Unsigned,
    /// No signature could be verified.
    Bad {
        /// Why, for people.
        reason: String,
    },
}

impl Signatures {
    /// Starts with a policy, no pinned keys and no origins of keys beside the card's own.
    pub fn new(policy: SignaturePolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Trusts keys, whatever signatures say about where to find theirs.
    pub fn pin(mut self, keys: &KeySet) -> Self {
        for key in keys.iter() {
            self.pinned.insert(key.clone());
        }
        self
    }

    /// Fetches keys from an origin, too, if a signature says they are there.
    pub fn allow_keys_from(mut self, origin: Origin) -> Self {
        self.key_origins.push(origin);
        self
    }

    /// Returns the policy.
    pub const fn policy(&self) -> SignaturePolicy {
        self.policy
    }
}

impl Verdict {
    /// Tells whether a trusted key signed the card.
    pub const fn is_verified(&self) -> bool {
        matches!(self, Self::Verified { .. })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchecked => f.write_str("its signatures were not looked at"),
            Self::Verified { kid, is_pinned: true } => {
                write!(f, "it is signed by the pinned key `{}`", inert(kid))
            }
            Self::Verified { kid, is_pinned: false } => {
                write!(f, "it is signed by the key `{}` of a trusted origin", inert(kid))
            }
            Self::Unsigned => f.write_str("it is not signed"),
            Self::Bad { reason } => f.write_str(reason),
        }
    }
}

/// Judges the signatures of a card that came from a URL, or from a file.
///
/// Returns the card as far as the signature covers it, if one does.
pub(super) async fn judge(
    text: &str,
    from: Option<&CheckedUrl>,
    signatures: &Signatures,
    keys: &KeyCache,
) -> (Verdict, Option<AgentCard>) {
    if signatures.policy == SignaturePolicy::Off {
        return (Verdict::Unchecked, None);
    }
    let verified = |verified: sign::Verified, is_pinned| {
        (Verdict::Verified { kid: verified.kid, is_pinned }, Some(verified.card))
    };
    let mut reasons = match sign::verify(text, &signatures.pinned) {
        Ok(found) => return verified(found, true),
        Err(sign::Error::Unsigned) => return (Verdict::Unsigned, None),
        Err(sign::Error::Refused(refusals)) => refusals,
        Err(error) => return (Verdict::Bad { reason: error.to_string() }, None),
    };
    let mut notes = Vec::new();
    for (url, kid) in places(text, from, signatures, keys.client(), &mut notes) {
        match keys.holding(&url, &kid).await {
            Ok(found) => match sign::verify(text, &found) {
                Ok(found) => return verified(found, false),
                Err(sign::Error::Refused(refusals)) => reasons = refusals,
                Err(error) => notes.push(error.to_string()),
            },
            Err(why) => notes.push(format!("keys of `{}`: {why}", url.host_text())),
        }
    }
    let refusals = reasons.iter().map(Refusal::to_string);
    let reason = refusals.chain(notes).collect::<Vec<_>>().join("; ");
    (Verdict::Bad { reason: format!("no signature could be verified: {reason}") }, None)
}

/// Returns the places that signatures name for their keys and that may be asked, each with
/// the name of a key; notes why others may not.
fn places(
    text: &str,
    from: Option<&CheckedUrl>,
    signatures: &Signatures,
    client: &Client,
    notes: &mut Vec<String>,
) -> Vec<(CheckedUrl, String)> {
    let home = from.map(Origin::of);
    let mut places: Vec<(CheckedUrl, String)> = Vec::new();
    for header in sign::headers(text).unwrap_or_default() {
        let (Some(jku), Some(kid)) = (header.jku, header.kid) else { continue };
        let origin = Origin::parse(&jku).ok();
        let is_home = origin.is_some() && origin == home;
        let is_listed = origin.as_ref().is_some_and(|one| signatures.key_origins.contains(one));
        if !is_home && !is_listed {
            let place = origin.map_or_else(|| "its `jku`".to_owned(), |one| one.to_string());
            notes
                .push(format!("keys are not fetched from {place}, another origin than the card's"));
            continue;
        }
        // The list is the administrator's word, and the card speaks for its own origin with
        // the trust it was fetched with.
        let trust = match from {
            Some(url) if is_home => url.errand().trust,
            _ => Trust::Administrator,
        };
        match client.guard().check_url(&jku, Errand { purpose: Purpose::Keys, trust }) {
            Ok(url) if places.len() < MAX_PLACES && !places.iter().any(|(one, _)| *one == url) => {
                places.push((url, kid));
            }
            Ok(_) => {}
            Err(refused) => notes.push(format!("its keys may not be fetched: {refused}")),
        }
    }
    places
}

/// So many places are asked for one card.
const MAX_PLACES: usize = 4;
