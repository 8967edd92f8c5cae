//! Asking agents that say nothing by themselves: whoever shows a card is there.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use nuncio_client::discover::{Ask, Source};
use nuncio_net::{
    Request,
    egress::{Errand, Purpose, Trust},
};
use nuncio_protocol::{ids::AgentId, service::Caller};
use tokio::time::{Instant, sleep_until, timeout};

use crate::{
    agent::{Agent, Card, OPPORTUNITY_BINDING, Status, Watch},
    directory::{Actor, Probed},
    error::Error,
    hub::Hub,
};

/// So many agents are asked at a time.
const AT_ONCE: usize = 16;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// An agent is gone that has failed to answer so often in a row.
const FAILURES: u32 = 2;

/// How often agents have failed to answer in a row.
type Failures = Mutex<HashMap<AgentId, u32>>;

/// Asks all agents over and over.
pub(crate) async fn run(hub: &Hub) {
    let period = hub.directory.options().liveness.probe.max(Duration::from_millis(10));
    let failures = Failures::default();
    // Nobody waits for the first round longer than they must.
    let mut spread = Duration::ZERO;
    loop {
        let begun = Instant::now();
        round(hub, spread, &failures).await;
        sleep_until(begun + period).await;
        spread = period / 2;
    }
}

/// Asks every agent once, spread over some time.
async fn round(hub: &Hub, spread: Duration, failures: &Failures) {
    let agents: Vec<Arc<Agent>> = {
        let state = hub.directory.state();
        state.agents().filter(|agent| is_asked(agent)).cloned().collect()
    };
    let known: HashSet<&AgentId> = agents.iter().map(|agent| &agent.id).collect();
    lock(failures).retain(|id, _| known.contains(id));
    let gap = spread / u32::try_from(agents.len().max(1)).unwrap_or(u32::MAX);
    let begun = Instant::now();
    stream::iter((0_u32..).zip(&agents))
        .for_each_concurrent(AT_ONCE, |(place, agent)| async move {
            sleep_until(begun + gap.saturating_mul(place)).await;
            if let Err(error) = ask(hub, agent, failures).await {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(agent = %agent.id, error, "what a probe found was not taken in");
            }
        })
        .await;
}

fn is_asked(agent: &Agent) -> bool {
    let rests = matches!(agent.status, Status::Removed | Status::Paused | Status::Hibernated);
    agent.watch == Watch::Probe && !rests && place(agent).is_some()
}

/// Returns where an agent shows its card.
fn place(agent: &Agent) -> Option<&str> {
    agent.addresses.card.as_deref().or(agent.addresses.public.as_deref())
}

async fn ask(hub: &Hub, agent: &Agent, failures: &Failures) -> Result<(), Error> {
    let answered = match health(agent) {
        Some(url) => is_well(hub, &url).await.then_some(None),
        None => fetch(hub, agent).await.map(Some),
    };
    let Some(card) = answered else {
        let count = {
            let mut failures = lock(failures);
            let count = failures.entry(agent.id.clone()).or_default();
            *count = count.saturating_add(1);
            *count
        };
        return match count {
            FAILURES.. => hub.directory.probed(&agent.id, Probed::Silent).await,
            _ => Ok(()),
        };
    };
    lock(failures).remove(&agent.id);
    hub.directory.probed(&agent.id, Probed::Answered).await?;
    if let Some(card) = card
        && agent.card.as_ref() != Some(&card)
    {
        let organisation = &agent.organisation;
        // What a card says is the agent's own word, and held like it.
        let itself = Actor::caller(&Caller::Agent(agent.id.as_str().into()));
        hub.directory.update_card(organisation, &agent.id, &card, &itself).await?;
    }
    Ok(())
}

/// Returns where an agent says how it is that has no card of its own (O-08).
fn health(agent: &Agent) -> Option<String> {
    let interface = agent.card.as_ref()?.card().supported_interfaces.first()?;
    let is_envelope = interface.protocol_binding == OPPORTUNITY_BINDING;
    is_envelope.then(|| format!("{}/health", interface.url))
}

async fn is_well(hub: &Hub, url: &str) -> bool {
    let errand = Errand::administrator(Purpose::Agent);
    let Ok(url) = hub.guard.check_url(url, errand) else { return false };
    let answer = timeout(PATIENCE, hub.client.net().send(Request::get(&url))).await;
    answer.is_ok_and(|answer| answer.is_ok_and(|response| response.status().is_success()))
}

/// Fetches the card of an agent. One that is kept from earlier proves nothing.
async fn fetch(hub: &Hub, agent: &Agent) -> Option<Card> {
    let source = Source::parse(place(agent)?).ok().filter(|source| source.as_url().is_some())?;
    let cards = hub.client.cards();
    cards.invalidate(&source);
    let fetched = timeout(PATIENCE, cards.get(&Ask::new(source, Trust::Administrator))).await;
    let cached = fetched.ok()?.ok().filter(|cached| cached.stale.is_none())?;
    Card::parse(&cached.found.text).ok()
}

fn lock(failures: &Failures) -> std::sync::MutexGuard<'_, HashMap<AgentId, u32>> {
    failures.lock().unwrap_or_else(PoisonError::into_inner)
}
