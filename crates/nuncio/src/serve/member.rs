//! An agent of a hub: only those are let in whom the hub lets call it (M-17).

use std::{convert::Infallible, time::Duration};

use anyhow::Context as _;
use nuncio_auth::{Gatekeeper, pair::Verifier};
use nuncio_protocol::{
    card::AgentCard,
    ids::{AgentId, Organisation},
};
use tokio::time::sleep;

use super::callers::keys_client;
use crate::{
    failure::Failure,
    hub::Known,
    join::{Beat, Delivery, Joined, Joining},
};

/// How long to wait for a hub that does not answer.
const PAUSE: Duration = Duration::from_secs(2);

/// An agent that is about to join.
pub(super) struct Member {
    joining: Joining,
    id: AgentId,
    organisation: Organisation,
    verifier: Verifier,
}

/// An agent that has joined.
pub(super) struct Registered {
    joined: Joined,
    organisation: Organisation,
    verifier: Verifier,
}

impl Member {
    /// Finds out who the agent is to the hub, and whose tokens it is to believe.
    pub(super) async fn open(
        name: &str,
        known: Known,
        enrol: Option<String>,
    ) -> Result<Self, Failure> {
        let url = known.url.trim_end_matches('/').to_owned();
        let joining = Joining::open(name, known, enrol)?;
        let word = joining.ask().await?;
        let id = joining.id(&word)?;
        let organisation = Organisation::parse(&word.organisation)
            .map_err(|error| Failure::internal(format!("the hub's organisation: {error}")))?;
        // Where it is reached, and what it calls itself, may be two things.
        let keys = format!("{url}/.well-known/jwks.json");
        let client = keys_client();
        let place = (&client, keys.as_str());
        let verifier = Verifier::with_key_url(word.issuer, id.clone(), organisation.clone(), place)
            .map_err(|error| Failure::usage(format!("--join: {error}")))?;
        Ok(Self { joining, id, organisation, verifier })
    }

    /// Lets in whoever has a token of the hub for this agent.
    pub(super) fn gatekeeper(&self) -> anyhow::Result<Gatekeeper> {
        let gatekeeper = Gatekeeper::builder().pair_tokens(self.verifier.clone());
        gatekeeper.build().context("who is let in")
    }

    /// Tells the hub where the agent is and what it can do.
    pub(super) async fn register(self, card: &AgentCard) -> Result<Registered, Failure> {
        let Self { joining, id, organisation, verifier } = self;
        let joined = joining.register(Some(&id), card, Delivery::Direct).await?;
        Ok(Registered { joined, organisation, verifier })
    }
}

impl Registered {
    /// Says how the agent is, and hears whose tokens have ended, for as long as it is there.
    pub(super) async fn stay(&self) -> Infallible {
        let beats = self.joined.beat(|| Beat { active_tasks: None });
        let (never, _) = tokio::join!(beats, self.hear());
        never
    }

    async fn hear(&self) -> Infallible {
        let mut known = None;
        loop {
            match self.joined.next_epoch(self.organisation.as_str(), known).await {
                Ok(epoch) => {
                    self.verifier.raise_epoch(epoch);
                    known = Some(epoch);
                }
                Err(failure) => {
                    tracing::debug!(error = failure.message(), "the hub tells no epoch");
                    sleep(PAUSE).await;
                }
            }
        }
    }
}
