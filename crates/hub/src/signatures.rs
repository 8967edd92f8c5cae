//! Whose signatures on cards are believed, and what a card without one is worth.
//!
//! The administrator's keys are the only root of trust: where a signature says that its key is to
//! be found is not looked at, and a key speaks for the origin it was given for and for no other.

use nuncio_client::Origin;
pub use nuncio_client::discover::SignaturePolicy;
use nuncio_protocol::card::{
    AgentCard,
    sign::{self, KeySet, Refusal},
};

use crate::agent::{Addresses, Card, InvalidCard};

/// Whose signatures on cards are believed.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct CardSignatures {
    policy: SignaturePolicy,
    trusted: Vec<(Option<Origin>, KeySet)>,
}

impl CardSignatures {
    /// Starts with a policy and no keys.
    pub fn new(policy: SignaturePolicy) -> Self {
        Self { policy, trusted: Vec::new() }
    }

    /// Believes keys about agents of an origin, or of any.
    pub fn trust(mut self, origin: Option<Origin>, keys: KeySet) -> Self {
        self.trusted.push((origin, keys));
        self
    }

    /// Tells whether cards must be signed.
    pub(crate) fn is_required(&self) -> bool {
        self.policy == SignaturePolicy::Require
    }

    /// Judges the card of an agent that is at these addresses. One that is not proven is refused
    /// if it must be, and told of otherwise.
    pub(crate) fn judge(&self, card: &Card, addresses: &Addresses) -> Result<(), InvalidCard> {
        if self.policy == SignaturePolicy::Off {
            return Ok(());
        }
        let Err(why) = self.verify(card, addresses) else { return Ok(()) };
        if self.is_required() {
            return Err(InvalidCard::Untrusted { why });
        }
        tracing::warn!(agent = card.card().name, why, "a card is not proven, and taken");
        Ok(())
    }

    fn verify(&self, card: &Card, addresses: &Addresses) -> Result<(), String> {
        let Addresses { card: shown, public, internal } = addresses;
        // Where its card is found, or else where it is called.
        let place = shown.as_ref().or(public.as_ref()).or(internal.as_ref());
        let place = place.and_then(|url| Origin::parse(url).ok());
        let mut keys = KeySet::default();
        for (origin, trusted) in &self.trusted {
            if origin.is_none() || *origin == place {
                trusted.iter().for_each(|key| keys.insert(key.clone()));
            }
        }
        match sign::verify(card.text(), &keys) {
            Ok(verified) if covers(&verified.card, card.card()) => Ok(()),
            Ok(_) => Err("its signature does not cover all that it says".to_owned()),
            Err(sign::Error::Unsigned) => Err("it is not signed".to_owned()),
            Err(sign::Error::Refused(refusals)) => {
                let origin = place.map_or_else(|| "no address".to_owned(), |one| one.to_string());
                let why: Vec<_> = refusals.iter().map(Refusal::to_string).collect();
                Err(format!("no key that is trusted for {origin} signed it: {}", why.join("; ")))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Tells whether what was signed is what is understood.
fn covers(signed: &AgentCard, understood: &AgentCard) -> bool {
    signed.name == understood.name
        && signed.skills == understood.skills
        && signed.supported_interfaces == understood.supported_interfaces
        && signed.security_schemes == understood.security_schemes
        && signed.security_requirements == understood.security_requirements
}
