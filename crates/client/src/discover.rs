//! Finding an agent's card: where to look, whom to believe, how long to keep it.
//!
//! ```no_run
//! use nuncio_client::discover::{Ask, CardCache, Source};
//! use nuncio_net::{Client, Guard, Policy, Trust};
//!
//! # async fn find() -> Result<(), Box<dyn std::error::Error>> {
//! let cards = CardCache::new(Client::new(Guard::new(Policy::default())));
//! let cached = cards.get(&Ask::new(Source::parse("agent.example")?, Trust::Caller)).await?;
//! println!("{} in the form of {}", cached.found.card.name, cached.found.form);
//! # Ok(())
//! # }
//! ```
//!
//! A card is looked for in the order of catalogue C-17, and the error names every place that
//! was tried and what came of each. An agent that shows its card to known callers only is not
//! taken for another one, whose card is at the root of their host. Cards of all versions are
//! read; redirects are named and not followed; nothing that a card names (icon, documentation)
//! is ever fetched, but for keys under the rules of [`Signatures`].
//!
//! Everything in a card is a stranger's word. [`negotiate`](crate::negotiate) checks each URL
//! in it before it becomes an [`Interface`](crate::Interface).

mod cache;
mod error;
mod fetch;
mod keys;
mod look;
mod signature;
mod source;

use std::{sync::Arc, time::Duration};

use nuncio_net::{CheckedUrl, Trust};
use nuncio_protocol::card::{AgentCard, CardForm};

pub use self::{
    cache::{Cached, CardCache, DEFAULT_TTL, STALE_LIMIT},
    error::{Error, Outcome, Tried},
    signature::{SignaturePolicy, Signatures, Verdict},
    source::{InvalidSource, Source},
};
use crate::credentials::Credentials;

/// A question for a card.
///
/// Two questions get one answer from the cache if they have the same source and trust and
/// share credentials and rules: a card that is shown to one caller is not shown to another.
#[derive(Clone, Debug)]
#[must_use]
pub struct Ask {
    pub(crate) source: Source,
    pub(crate) trust: Trust,
    pub(crate) ttl: Option<Duration>,
    pub(crate) credentials: Option<Arc<dyn Credentials>>,
    pub(crate) signatures: Option<Arc<Signatures>>,
}

impl Ask {
    /// Asks for the card of a source, on the word of a caller or of an administrator.
    pub const fn new(source: Source, trust: Trust) -> Self {
        Self { source, trust, ttl: None, credentials: None, signatures: None }
    }

    /// Sets how long the card is used without asking again. Otherwise the server's
    /// `Cache-Control` decides, with [`DEFAULT_TTL`] as its limit.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Shows a credential if the card itself needs one.
    pub fn credentials(mut self, credentials: Arc<dyn Credentials>) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Verifies signatures.
    pub fn signatures(mut self, signatures: Arc<Signatures>) -> Self {
        self.signatures = Some(signatures);
        self
    }

    /// Returns where the card is looked for.
    pub const fn source(&self) -> &Source {
        &self.source
    }
}

/// A card and all that is known about it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Found {
    /// The card; only what its signature covers, if one was verified.
    pub card: AgentCard,
    /// The form it was written in.
    pub form: CardForm,
    /// Its text, as it came.
    pub text: Arc<str>,
    /// Where it was; `None` if it came from a file.
    pub url: Option<CheckedUrl>,
    /// What an interface without a URL means (HD-05); `None` if it came from a file.
    pub base: Option<CheckedUrl>,
    /// On whose word it was fetched.
    pub trust: Trust,
    /// What its signatures are worth.
    pub verdict: Verdict,
}

impl Found {
    /// A card that somebody else has found, in whatever form, of an agent at `base`.
    pub fn given(card: AgentCard, form: CardForm, text: Arc<str>, base: CheckedUrl) -> Self {
        let trust = base.errand().trust;
        let (url, base) = (Some(base.clone()), Some(base));
        Self { card, form, text, url, base, trust, verdict: Verdict::Unchecked }
    }
}
