//! An agent of this machine joins a hub: the first time on somebody else's word, later on its own.

use std::{convert::Infallible, path::PathBuf, time::Duration};

use http::Method;
use nuncio_protocol::{
    card::AgentCard,
    ids::AgentId,
    json::{self, Raw},
};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::{
    data,
    failure::Failure,
    hub::{Hub, Known, parse, segment},
};

/// How calls come to it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Delivery {
    /// To its address.
    Direct,
    /// It fetches them.
    Pull,
}

/// An agent that knows its hub, and is yet to register.
pub(crate) struct Joining {
    name: String,
    hub: Hub,
    url: String,
    kept: Option<Kept>,
    path: PathBuf,
}

/// An agent that its hub knows.
pub(crate) struct Joined {
    hub: Hub,
    kept: Kept,
    name: String,
    every: Duration,
}

/// What a hub says about itself, and about whoever asks.
#[derive(Debug, Deserialize)]
pub(crate) struct Word {
    pub(crate) organisation: String,
    /// Who signs the tokens of callers.
    pub(crate) issuer: String,
    /// The agent that the enrolment token is for.
    enrols: Option<String>,
}

/// How an agent is.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Beat {
    /// How much it does; unknown, if it does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) active_tasks: Option<usize>,
}

/// Who we are to a hub.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    hub: String,
    id: String,
    token: String,
}

#[derive(Serialize)]
struct Register<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    card: Raw,
    delivery: Delivery,
}

#[derive(Deserialize)]
struct Registered {
    agent: Registrant,
    token: Option<String>,
    heartbeat_seconds: u64,
}

#[derive(Deserialize)]
struct Registrant {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Epoch {
    epoch: u64,
}

impl Joining {
    /// Finds out on whose word the agent joins: its own, that of an enrolment token, or that of
    /// whoever has the key at hand.
    pub(crate) fn open(name: &str, known: Known, enrol: Option<String>) -> Result<Self, Failure> {
        let path =
            data::connected(name).map_err(|error| Failure::internal(format!("{error:#}")))?;
        let kept = read(&path).filter(|kept| kept.hub == known.url);
        let word = match (&kept, enrol) {
            (Some(kept), _) => Some(kept.token.clone()),
            (None, Some(token)) => Some(token),
            (None, None) => known.key,
        };
        let hub = Hub::new(&known.url, word.as_deref().map(str::trim))?;
        Ok(Self { name: name.to_owned(), hub, url: known.url, kept, path })
    }

    /// Asks the hub who it is, and whom it takes us for.
    pub(crate) async fn ask(&self) -> Result<Word, Failure> {
        let asked: Result<(Word, _), _> = self.hub.read("/api/v1/whoami").await;
        asked.map(|(word, _)| word).map_err(|failure| self.explain(failure))
    }

    /// Returns the id that the agent has, is to have, or may as well have.
    pub(crate) fn id(&self, word: &Word) -> Result<AgentId, Failure> {
        let known = self.kept.as_ref().map(|kept| &kept.id).or(word.enrols.as_ref());
        let Some(known) = known else { return Ok(AgentId::generate()) };
        AgentId::parse(known).map_err(|error| Failure::internal(format!("its id: {error}")))
    }

    /// Registers. Without an id it keeps the one that it has, or is given one.
    pub(crate) async fn register(
        self,
        id: Option<&AgentId>,
        card: &AgentCard,
        delivery: Delivery,
    ) -> Result<Joined, Failure> {
        let card = Raw::parse_text(&json::to_string(card));
        let card = card.map_err(|error| Failure::internal(error.to_string()))?;
        let kept_id = self.kept.as_ref().map(|kept| kept.id.as_str());
        let id = id.map(AgentId::as_str).or(kept_id);
        let register = Register { id, name: &self.name, card, delivery };
        let bytes = self.hub.call(Method::POST, "/api/v1/register", Some(&register)).await;
        let bytes = bytes.map_err(|failure| self.explain(failure))?;
        let Registered { agent, token, heartbeat_seconds } = parse(&bytes)?;
        let token = token.or_else(|| self.kept.map(|kept| kept.token)).ok_or_else(|| {
            Failure::usage("an agent of this name is registered already, and its token is not here")
                .hint("choose another name, or remove the agent with `nuncio agents remove`")
        })?;
        let kept = Kept { hub: self.url, id: agent.id, token };
        let text = serde_json::to_vec(&kept);
        let text = text.map_err(|error| Failure::internal(error.to_string()))?;
        data::write_secret(&self.path, &text)
            .map_err(|error| Failure::internal(format!("{error:#}")))?;
        let every = Duration::from_secs(heartbeat_seconds.max(1));
        let hub = Hub::new(&kept.hub, Some(&kept.token))?;
        Ok(Joined { hub, kept, name: agent.name, every })
    }

    fn explain(&self, failure: Failure) -> Failure {
        if self.kept.is_none() {
            return failure;
        }
        let path = self.path.display();
        failure
            .or_hint(|| format!("if the hub has forgotten this agent, remove {path} and try again"))
    }
}

impl Joined {
    /// Returns what the agent is called in the directory.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the hub once more, with the agent's own token.
    pub(crate) fn own_hub(&self) -> Result<Hub, Failure> {
        Hub::new(&self.kept.hub, Some(&self.kept.token))
    }

    /// Says how the agent is, for as long as it is there.
    pub(crate) async fn beat(&self, look: impl Fn() -> Beat) -> Infallible {
        let path = format!("/api/v1/agents/{}/heartbeat", segment(&self.kept.id));
        loop {
            if let Err(failure) = self.hub.call(Method::POST, &path, Some(&look())).await {
                tracing::debug!(error = failure.message(), "a heartbeat was not heard");
            }
            sleep(self.every).await;
        }
    }

    /// Waits until tokens of an epoch are no longer good, and returns the one that counts now.
    /// Without a known epoch it asks for the one that counts.
    pub(crate) async fn next_epoch(
        &self,
        organisation: &str,
        known: Option<u64>,
    ) -> Result<u64, Failure> {
        let mut path = format!("/api/v1/epoch?organisation={}", segment(organisation));
        if let Some(known) = known {
            path.push_str(&format!("&after={known}&wait=20"));
        }
        let (Epoch { epoch }, _) = self.hub.read(&path).await?;
        Ok(epoch)
    }
}

fn read(path: &PathBuf) -> Option<Kept> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
