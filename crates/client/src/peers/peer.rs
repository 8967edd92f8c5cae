//! What an administrator says about a peer.

use std::{sync::Arc, time::Duration};

use nuncio_net::{Identity, Trust};
use nuncio_protocol::{card::Binding, dialect::WireForm};

use super::Error;
use crate::{
    Origin,
    credentials::Credentials,
    discover::{Ask, Signatures, Source},
    negotiate::Terms,
    origin::shown,
};

/// What an administrator says about a peer. The table checks it when it is added.
#[derive(Clone, Debug)]
#[must_use]
pub struct Peer {
    url: String,
    trust: u8,
    latency: Duration,
    card_ttl: Option<Duration>,
    allows_plaintext: bool,
    reach: Reach,
    forwards_identity: bool,
    dialect: Option<WireForm>,
    bindings: Option<Vec<Binding>>,
    origins: Vec<Origin>,
    credentials: Option<Arc<dyn Credentials>>,
    signatures: Option<Arc<Signatures>>,
    tls_identity: Option<Identity>,
}

/// How far the administrator's word for a peer reaches.
#[derive(Clone, Copy, Debug)]
enum Reach {
    /// There is no such word.
    Public,
    /// To public addresses, and to this machine if the URL names it.
    Usual,
    /// To whatever the guard's policy opens.
    Private,
}

impl Peer {
    /// Names a peer by its base URL, and how far it is trusted: 1 (a stranger without
    /// contract) to 5 (in-house).
    pub fn new(url: impl Into<String>, trust: u8) -> Self {
        Self {
            url: url.into(),
            trust,
            latency: Duration::ZERO,
            card_ttl: None,
            allows_plaintext: false,
            reach: Reach::Usual,
            forwards_identity: false,
            dialect: None,
            bindings: None,
            origins: Vec::new(),
            credentials: None,
            signatures: None,
            tls_identity: None,
        }
    }

    /// Somebody whom nobody registered. A stranger is at a public address and speaks https,
    /// on this machine too.
    pub(super) fn stranger(url: &str) -> Self {
        Self { reach: Reach::Public, ..Self::new(url, 1) }
    }

    /// Says how long a usual answer takes, as long as nothing was measured. Zero says nothing.
    pub const fn latency(mut self, hint: Duration) -> Self {
        self.latency = hint;
        self
    }

    /// Sets how long the peer's card is used without asking again. Zero is the default.
    pub fn card_ttl(mut self, ttl: Duration) -> Self {
        self.card_ttl = Some(ttl).filter(|ttl| !ttl.is_zero());
        self
    }

    /// Takes plain http off this machine, too. The guard's policy must allow it as well, and
    /// then treats the peer as one that may be private.
    pub const fn allow_plaintext(mut self) -> Self {
        self.allows_plaintext = true;
        self
    }

    /// Lets the peer be at an address that is not public, if the guard's policy opens it.
    pub const fn allow_private(mut self) -> Self {
        self.reach = Reach::Private;
        self
    }

    /// Tells the peer on whose behalf we call (H-11, C-20). Nobody else is told.
    pub const fn forward_identity(mut self) -> Self {
        self.forwards_identity = true;
        self
    }

    /// Speaks a dialect with the peer.
    pub const fn dialect(mut self, form: WireForm) -> Self {
        self.dialect = Some(form);
        self
    }

    /// Uses these bindings only, in this order.
    pub fn bindings(mut self, order: impl IntoIterator<Item = Binding>) -> Self {
        self.bindings = Some(order.into_iter().collect());
        self
    }

    /// Trusts another origin that the peer's card names as it trusts the peer's own.
    pub fn allow_origin(mut self, origin: Origin) -> Self {
        self.origins.push(origin);
        self
    }

    /// Proves to the peer who we are.
    pub fn credentials(mut self, credentials: Arc<dyn Credentials>) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Verifies the signatures of the peer's card.
    pub fn signatures(mut self, signatures: Arc<Signatures>) -> Self {
        self.signatures = Some(signatures);
        self
    }

    /// Shows a certificate to the peer, if it asks for one, at the origin of its URL.
    pub fn tls_identity(mut self, identity: Identity) -> Self {
        self.tls_identity = Some(identity);
        self
    }

    /// Returns the base URL, as it was given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns how far the peer is trusted.
    pub const fn trust(&self) -> u8 {
        self.trust
    }

    /// Returns how long a usual answer takes, by whoever registered the peer; zero if unsaid.
    pub const fn latency_hint(&self) -> Duration {
        self.latency
    }

    /// Tells whether plain http is allowed off this machine.
    pub const fn allows_plaintext(&self) -> bool {
        self.allows_plaintext
    }

    /// Tells whether the peer hears on whose behalf we call.
    pub const fn forwards_identity(&self) -> bool {
        self.forwards_identity
    }

    /// Returns the dialect to speak, if it is one.
    pub const fn spoken_dialect(&self) -> Option<WireForm> {
        self.dialect
    }

    /// Returns what proves who we are.
    pub fn proof(&self) -> Option<&Arc<dyn Credentials>> {
        self.credentials.as_ref()
    }

    /// Returns the certificate to show.
    pub const fn certificate(&self) -> Option<&Identity> {
        self.tls_identity.as_ref()
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        if (1..=5).contains(&self.trust) {
            return Ok(());
        }
        Err(Error::TrustTier { url: shown(&self.url), trust: self.trust })
    }

    /// Says on whose word the peer is called. An administrator named it, but that reaches
    /// beyond public addresses only where the entry says so, or the URL itself.
    pub(super) fn trust_of(&self, origin: Option<&Origin>) -> Trust {
        let is_loopback = origin.is_some_and(Origin::is_loopback);
        match self.reach {
            Reach::Private => Trust::Administrator,
            Reach::Usual if self.allows_plaintext || is_loopback => Trust::Administrator,
            Reach::Usual | Reach::Public => Trust::Caller,
        }
    }

    pub(super) fn ask(&self, source: Source) -> Ask {
        let origin = source.as_url().and_then(|url| Origin::parse(url).ok());
        let mut ask = Ask::new(source, self.trust_of(origin.as_ref()));
        ask.ttl = self.card_ttl;
        ask.credentials.clone_from(&self.credentials);
        ask.signatures.clone_from(&self.signatures);
        ask
    }

    pub(super) fn terms(&self) -> Terms {
        let mut terms = Terms::default();
        if let Some(order) = &self.bindings {
            terms = terms.bindings(order.iter().cloned());
        }
        if let Some(dialect) = self.dialect {
            terms = terms.dialect(dialect);
        }
        self.origins.iter().cloned().fold(terms, Terms::allow_origin)
    }
}
