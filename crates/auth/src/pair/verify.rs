//! Checking pair tokens.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nuncio_net::{Client, Errand, Purpose, Refused};
use nuncio_protocol::{
    card::sign::{Algorithm, KeySet},
    ids::{AgentId, Organisation},
    service::Caller,
    time::Timestamp,
};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::{LIFETIME, TYPE, claims::Claims, epoch::Epochs, hub::Hub, seen::Seen};
use crate::{
    api_key::is_name,
    identity::{Identity, Method},
    jwt::{
        LEEWAY, check_binding,
        keys::{Keys, Remote},
        short,
        token::Parts,
        verified::{Fingerprint, Verified},
    },
    presented::Certificate,
    refusal::{Refusal, Why},
};

/// How long the first request waits for the hub to tell the epoch. A hub that cannot be
/// reached shuts nobody out: old tokens end by themselves.
const FIRST_ANSWER: Duration = Duration::from_secs(1);

/// Checks that callers of an agent have a pair token for it. Cheap to clone; clones know the
/// same epoch.
#[derive(Clone, Debug)]
#[must_use]
pub struct Verifier {
    issuer: Arc<str>,
    agent: AgentId,
    organisation: Organisation,
    keys: Keys,
    verified: Arc<Verified>,
    epochs: Arc<Epochs>,
    seen: Option<Arc<Seen>>,
    hub: Option<Hub>,
    following: Arc<Mutex<Option<AbortOnDropHandle<()>>>>,
}

impl Verifier {
    /// Believes the tokens that an issuer, the hub, makes for this agent, by keys that never
    /// change.
    pub fn with_keys(
        issuer: impl Into<String>,
        agent: AgentId,
        organisation: Organisation,
        keys: KeySet,
    ) -> Self {
        Self::new(issuer.into(), (agent, organisation), Keys::Fixed(Arc::new(keys)))
    }

    /// Believes the tokens that an issuer, the hub, makes for this agent, by keys that are
    /// fetched from a URL when they are needed, as for [`JwtIssuer`](crate::JwtIssuer).
    pub fn with_key_url(
        issuer: impl Into<String>,
        agent: AgentId,
        organisation: Organisation,
        (client, url): (&Client, &str),
    ) -> Result<Self, Refused> {
        let url = client.guard().check_url(url, Errand::administrator(Purpose::Keys))?;
        let keys = Keys::Remote(Arc::new(Remote::new(client.clone(), url)));
        Ok(Self::new(issuer.into(), (agent, organisation), keys))
    }

    fn new(issuer: String, (agent, organisation): (AgentId, Organisation), keys: Keys) -> Self {
        Self {
            issuer: issuer.into(),
            agent,
            organisation,
            keys,
            verified: Arc::default(),
            epochs: Arc::new(Epochs::new(0)),
            seen: None,
            hub: None,
            following: Arc::default(),
        }
    }

    /// Learns from the hub when the rules change, from the first token on.
    pub fn hub(mut self, hub: Hub) -> Self {
        self.hub = Some(hub);
        self
    }

    /// Takes each token once. Unless told, a token is good for any number of requests of its
    /// caller while it lives.
    pub fn single_use(mut self) -> Self {
        self.seen = Some(Arc::default());
        self
    }

    /// Refuses tokens of epochs before this one, now and on open streams. Never goes back.
    pub fn raise_epoch(&self, epoch: u64) {
        self.epochs.raise(epoch);
    }

    /// Returns the lowest epoch whose tokens are taken.
    pub fn lowest_epoch(&self) -> u64 {
        self.epochs.lowest()
    }

    /// Says whose token it is, and what it is good for.
    pub(crate) async fn identify(
        &self,
        text: &str,
        certificate: Option<&Certificate<'_>>,
        now: Timestamp,
    ) -> Result<Identity, Refusal> {
        let now = now.to_parts().0;
        let parts = Parts::split(text)?;
        let header = &parts.header;
        if header.typ.as_deref().is_none_or(|typ| short(typ) != TYPE) {
            return Err(Why::Type.into());
        }
        if header.alg != Algorithm::EdDsa.as_str() {
            return Err(Why::Algorithm.into());
        }
        let kid = header.kid.as_deref().ok_or(Why::NoKeyId)?;
        let claims = Claims::parse(&parts.claims)?;
        self.check(&claims, now)?;
        check_binding(claims.is_bound, claims.bound_certificate.as_deref(), certificate)?;
        let keys = self.keys.holding(kid).await?;
        let key = keys.find(kid, Algorithm::EdDsa).ok_or(Why::Algorithm)?;
        let fingerprint = Fingerprint::of(text);
        if !self.verified.holds(fingerprint, &keys) {
            if !key.verifies(parts.signed.as_bytes(), &parts.signature) {
                return Err(Why::Signature.into());
            }
            self.verified.remember(fingerprint, &keys);
        }
        // The hub itself says by this token that its rules are of this epoch at least.
        self.epochs.raise(claims.epoch);
        self.follow_hub().await;
        if claims.epoch < self.epochs.lowest() {
            return Err(Why::Epoch.into());
        }
        if let Some(seen) = &self.seen {
            seen.note(&claims.id, claims.expires, now)?;
        }
        Ok(self.identity(claims))
    }

    /// Checks everything that takes no key.
    fn check(&self, claims: &Claims, now: i64) -> Result<(), Why> {
        if *claims.issuer != *self.issuer {
            return Err(Why::Issuer);
        }
        if !matches!(claims.audiences.as_slice(), [only] if *only == *self.agent.as_str()) {
            return Err(Why::Audience);
        }
        if claims.organisation != self.organisation {
            return Err(Why::Organisation);
        }
        if now - claims.expires > LEEWAY {
            return Err(Why::Expired);
        }
        if claims.issued - now > LEEWAY {
            return Err(Why::NotYet);
        }
        let longest = i64::try_from(LIFETIME.as_secs()).unwrap_or_default();
        if !(0..=longest).contains(&(claims.expires - claims.issued)) {
            return Err(Why::Lifetime);
        }
        if !is_name(claims.caller.as_str()) {
            return Err(Why::Caller);
        }
        if claims.epoch < self.epochs.lowest() { Err(Why::Epoch) } else { Ok(()) }
    }

    fn identity(&self, claims: Claims) -> Identity {
        Identity {
            organisation: Some(claims.organisation.as_str().into()),
            expires: Timestamp::from_parts(claims.expires, 0),
            lease: Some(self.epochs.lease(claims.epoch)),
            grant: claims.grant,
            chain: claims.chain.into(),
            ..Identity::new(Caller::Agent(claims.caller.as_str().into()), Method::Pair)
        }
    }

    /// Begins to follow the hub, if there is one, and lets it answer once.
    async fn follow_hub(&self) {
        let Some(hub) = &self.hub else { return };
        let mut changes = self.epochs.changes();
        if changes.borrow().is_asked {
            return;
        }
        {
            let mut following = self.following.lock().unwrap_or_else(PoisonError::into_inner);
            following.get_or_insert_with(|| {
                let follow =
                    hub.clone().follow(self.organisation.clone(), Arc::downgrade(&self.epochs));
                AbortOnDropHandle::new(tokio::spawn(follow))
            });
        }
        // Whether it answers or is too slow makes no difference here.
        let _ = timeout(FIRST_ANSWER, changes.wait_for(|state| state.is_asked)).await;
        self.epochs.asked();
    }
}
