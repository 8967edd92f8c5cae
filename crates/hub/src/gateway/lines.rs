//! How each agent is reached, and on whose word.

use std::{
    future::ready,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use foldhash::HashMap;
use http::{HeaderMap, HeaderValue};
use nuncio_auth::{
    pair::{Minter, Pair},
    rules::{Asker, Decision, Question},
};
use nuncio_client::{
    Agent as Line, Client, Clocks, Credentials, Error as ClientError, Find, Options, Proof,
    discover::{Ask, Found, Source},
    negotiate::Terms,
};
use nuncio_net::{CheckedUrl, Errand, Guard, Purpose, Trust};
use nuncio_protocol::{
    card::{AgentCard, AgentInterface, Binding, CardForm},
    dialect::WireForm,
    error::{Error, ErrorKind},
    ids::{AgentId, Organisation},
    json::Object,
    operation::Operation,
    service::Caller,
    time::Timestamp,
};
use nuncio_server::dialects::SKILL_ID;
use nuncio_tasks::scope::Place;

use super::{forward::RESUME, turnstile::Reported};
use crate::{
    Directory,
    agent::{Agent, OPPORTUNITY_BINDING, Origin, Status, Watch},
};

/// For how long a pair token is used again. It counts for 300 seconds.
const TOKEN_REUSE: Duration = Duration::from_secs(120);

/// How many pair tokens are kept at most before the old ones are looked for.
const MOST_TOKENS: usize = 4_096;

/// The reason of an error about an agent that nobody can call, since nobody knows where it is.
pub(crate) const NO_ADDRESS: &str = "AGENT_WITHOUT_ADDRESS";

/// The name under which the hub calls for people, who have no place among agents.
const HUB: &str = "hub";

/// How each agent is reached.
#[derive(Debug)]
pub(crate) struct Lines {
    directory: Directory,
    client: Client,
    guard: Guard,
    minter: Arc<Minter>,
    options: Mutex<Options>,
    known: Mutex<HashMap<AgentId, Known>>,
    tokens: Mutex<Tokens>,
    /// What proves to an agent that it is the hub who calls, by the agent.
    credentials: Mutex<HashMap<AgentId, Arc<dyn Credentials>>>,
}

/// By the agent that calls, if it is not the hub itself, and the agent that is called.
type Tokens = HashMap<(Option<Arc<str>>, AgentId), Token>;

#[derive(Debug)]
struct Known {
    /// The record that the line was made for.
    record: Arc<Agent>,
    line: Line,
}

#[derive(Clone, Debug)]
struct Token {
    epoch: u64,
    made: tokio::time::Instant,
    credentials: Arc<dyn Credentials>,
}

impl Lines {
    pub(crate) fn new(
        directory: Directory,
        client: Client,
        guard: Guard,
        minter: Arc<Minter>,
        options: Options,
    ) -> Self {
        let (known, tokens, credentials) = (Mutex::default(), Mutex::default(), Mutex::default());
        let options = Mutex::new(options);
        Self { directory, client, guard, minter, options, known, tokens, credentials }
    }

    /// Gives agents so long from now on.
    pub(crate) fn set_clocks(&self, clocks: Clocks) {
        let mut options = self.options.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut options.clocks, clocks) != clocks {
            // Lines that are open know the old ones.
            self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    fn options(&self) -> Options {
        self.options.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the agent of the directory, if it is there.
    pub(crate) fn agent(&self, organisation: &Organisation, id: &AgentId) -> Option<Arc<Agent>> {
        self.directory.state().present(organisation, id).cloned()
    }

    /// Returns the agent that tasks at a place are for, if it is there.
    pub(crate) fn agent_at(&self, place: &Place) -> Option<Arc<Agent>> {
        let id = AgentId::parse(place.agent.as_str()).ok()?;
        let state = self.directory.state();
        let agent = state.agent(&id).filter(|agent| agent.status != Status::Removed)?;
        (agent.organisation.as_str() == place.tenant.as_str()).then(|| Arc::clone(agent))
    }

    /// Tells whether an agent is in the directory.
    pub(crate) fn is_known(&self, id: &AgentId) -> bool {
        self.directory.state().agent(id).is_some_and(|agent| agent.status != Status::Removed)
    }

    /// Tells whether an agent is a workflow.
    pub(crate) fn is_workflow(&self, id: &AgentId) -> bool {
        self.directory.state().workflow(id, None).is_some()
    }

    /// Judges whether a caller may still send an agent a message, which names skills in its
    /// metadata.
    pub(crate) fn may_send(
        &self,
        agent: &Agent,
        caller: &Caller,
        metadata: [Option<&Object>; 2],
    ) -> Result<(), Error> {
        let organisation = &agent.organisation;
        let id;
        let asker = match caller {
            Caller::Agent(name) => {
                id = AgentId::parse(name).map_err(|_| unproven())?;
                Asker::Agent { id: &id, organisation }
            }
            Caller::User(name) => Asker::User { name, organisation },
            // Whoever sits at an open hub has it for themselves.
            _ => return Ok(()),
        };
        let skills = metadata.map(|metadata| metadata?.get(SKILL_ID)?.as_text());
        let skills: Vec<Option<&str>> = match skills.iter().flatten().count() {
            0 => vec![None],
            _ => skills.iter().flatten().map(|skill| Some(skill.as_str())).collect(),
        };
        let state = self.directory.state();
        for skill in skills {
            let operation = Some(Operation::SendMessage);
            let question = Question { operation, skill, ..Question::new(asker, &agent.id) };
            let decision = state.decider().decide(&**state, &question);
            if !decision.is_allowed() {
                return Err(Error::new(ErrorKind::PermissionDenied, decision.to_string()));
            }
        }
        Ok(())
    }

    /// Returns how much an agent says it has to do.
    pub(crate) fn reported(&self, agent: &AgentId) -> Option<Reported> {
        #[derive(serde::Deserialize)]
        struct Runtime {
            max_concurrent_tasks: Option<u32>,
        }
        let beat = self.directory.last_beat(agent)?.beat;
        let runtime = beat.runtime_metadata.and_then(|runtime| runtime.parse::<Runtime>().ok());
        let most = runtime.and_then(|runtime| runtime.max_concurrent_tasks);
        Some(Reported { active: beat.active_tasks, most })
    }

    /// Returns for how long an agent is left alone because it fails, if it is.
    pub(crate) fn rest(&self, agent: &Arc<Agent>) -> Option<Duration> {
        self.known(agent)?.rest()
    }

    /// Proves to these agents that it is the hub who calls.
    pub(crate) fn prove_with(&self, proofs: HashMap<AgentId, Arc<dyn Credentials>>) {
        *self.credentials.lock().unwrap_or_else(PoisonError::into_inner) = proofs;
    }

    /// Returns the line to an agent, for a caller, or for whom it calls.
    pub(crate) async fn line(
        &self,
        agent: &Arc<Agent>,
        caller: &Caller,
        behalf: Option<&Caller>,
    ) -> Result<Line, Error> {
        let line = if let Some(line) = self.known(agent) {
            line
        } else {
            // Rare and large: not every call is to carry it.
            let line = Box::pin(self.open(agent)).await?;
            let known = Known { record: Arc::clone(agent), line: line.clone() };
            let mut lines = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            lines.insert(agent.id.clone(), known);
            line
        };
        let credentials = self.credentials(agent, caller);
        // A run may call whom its workflow may call, or whoever began it.
        let credentials = credentials.or_else(|error| match behalf {
            Some(behalf) => self.credentials(agent, behalf),
            None => Err(error),
        });
        Ok(line.on_behalf_of(credentials?))
    }

    fn known(&self, agent: &Arc<Agent>) -> Option<Line> {
        let lines = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lines.get(&agent.id)?;
        let is_same = Arc::ptr_eq(&known.record, agent)
            || (known.record.card == agent.card && known.record.addresses == agent.addresses);
        is_same.then(|| known.line.clone())
    }

    async fn open(&self, agent: &Agent) -> Result<Line, Error> {
        let errand = Errand { trust: Trust::Administrator, purpose: Purpose::Agent };
        let addresses = &agent.addresses;
        let registered = addresses.internal.as_ref().or(addresses.public.as_ref());
        let base = registered.or(addresses.card.as_ref()).ok_or_else(|| no_address(agent))?;
        let base = self.guard.check_url(base, errand).map_err(ClientError::Refused)?;
        let signatures = &self.directory.options().signatures;
        let Some(card) = &agent.card else {
            if signatures.is_required() {
                return Err(untrusted(agent, "its card is not known yet"));
            }
            let source = Source::parse(base.as_str())
                .map_err(|error| Error::new(ErrorKind::Unavailable, error.to_string()))?;
            let find = Find::new(Ask::new(source, Trust::Administrator));
            return Ok(self.client.agent(find.options(self.options())).await?);
        };
        signatures.judge(card, addresses).map_err(|error| untrusted(agent, &error.to_string()))?;
        let mut found =
            Found::given(card.card().clone(), card.form(), card.text().into(), base.clone());
        let terms = terms(&mut found);
        let mut options = self.options();
        if knows_keys(&found.card) {
            // Whatever became of the first, the second does no harm.
            options.retries.keys_are_honoured = true;
            options.retries.broken = options.retries.broken.max(3);
        }
        let find = |found| Find::known(found).options(options.clone()).terms(terms.clone());
        match self.client.agent(find(found.clone())).await {
            Ok(line) => Ok(line),
            // A card that names an address which nobody can call is the word of a container; the
            // address that somebody registered beats it.
            Err(ClientError::NoInterface(_)) if registered.is_some() => {
                let found = at_registered(found, &base);
                Ok(self.client.agent(find(found)).await?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns what proves to the agent who calls: what its administrator has given the hub, or
    /// a pair token if the agent knows the hub.
    pub(super) fn credentials(
        &self,
        agent: &Agent,
        caller: &Caller,
    ) -> Result<Option<Arc<dyn Credentials>>, Error> {
        let given = self.credentials.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(credentials) = given.get(&agent.id) {
            return Ok(Some(Arc::clone(credentials)));
        }
        drop(given);
        // To strangers, the names of our callers are nobody's business. Whoever sends heartbeats
        // is none: it has a token of the hub, also if an administrator made a place for it first.
        if agent.origin != Origin::Registration && agent.watch != Watch::Heartbeat {
            return Ok(None);
        }
        let name = match caller {
            Caller::Agent(id) => Some(Arc::clone(id)),
            _ => None,
        };
        let state = self.directory.state();
        let epoch = state.epoch(&agent.organisation);
        let key = (name, agent.id.clone());
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |token: &Token| token.epoch == epoch && token.made.elapsed() < TOKEN_REUSE;
        if let Some(token) = tokens.get(&key).filter(|token| is_fresh(token)) {
            return Ok(Some(Arc::clone(&token.credentials)));
        }
        if tokens.len() >= MOST_TOKENS {
            tokens.retain(|_, token| is_fresh(token));
        }
        let caller_id = AgentId::parse(key.0.as_deref().unwrap_or(HUB)).map_err(|_| unproven())?;
        let pair = Pair::new(&caller_id, &agent.id, &agent.organisation, epoch);
        let pair = match caller {
            Caller::Agent(_) => {
                let asker = Asker::Agent { id: &caller_id, organisation: &agent.organisation };
                let skills = agent.card.iter().flat_map(|card| &card.card().skills);
                let skills = skills.map(|skill| skill.id.as_str());
                let granted = state.decider().grant(&**state, (asker, &agent.id), skills);
                let denied =
                    |denied: Decision| Error::new(ErrorKind::PermissionDenied, denied.to_string());
                pair.grant(granted.map_err(denied)?)
            }
            // People are judged by the hub before it calls for them.
            _ => pair,
        };
        let minted = self.minter.mint(&pair, Timestamp::now()).map_err(|_| unproven())?;
        let token = minted.token.to_header("Bearer ").map_err(|_| unproven())?;
        let credentials: Arc<dyn Credentials> = Arc::new(Anywhere(token));
        let made = tokio::time::Instant::now();
        tokens.insert(key, Token { epoch, made, credentials: Arc::clone(&credentials) });
        Ok(Some(credentials))
    }
}

/// A token that names its own reader: whoever else sees it can do nothing with it. Written as a
/// header, and marked as sensitive, so that it is not shown.
#[derive(Debug)]
struct Anywhere(HeaderValue);

impl Credentials for Anywhere {
    fn prove<'a>(&'a self, _: &'a CheckedUrl, headers: &'a mut HeaderMap) -> Proof<'a> {
        headers.insert(http::header::AUTHORIZATION, self.0.clone());
        Box::pin(ready(Ok(())))
    }
}

/// Tells whether a message that an agent gets twice under the same key is one to it.
pub(crate) fn knows_keys(card: &AgentCard) -> bool {
    card.capabilities.extensions.iter().any(|extension| extension.uri == RESUME)
}

/// By which name of a binding a card says that a dialect is spoken there.
const BINDINGS: [(&str, WireForm); 5] = [
    (OPPORTUNITY_BINDING, WireForm::Opportunity),
    ("urn:nuncio:binding:harbor:v1", WireForm::Harbor),
    ("urn:nuncio:binding:molecule:v1", WireForm::Molecule),
    ("urn:nuncio:binding:pocketpaw:v1", WireForm::PocketPaw),
    ("urn:nuncio:binding:upal:v1", WireForm::Upal),
];

/// Returns the dialect that is spoken at an interface, if its card names one.
fn dialect_of(interface: &AgentInterface) -> Option<WireForm> {
    let named = BINDINGS.iter().find(|(name, _)| *name == interface.protocol_binding);
    named.map(|(_, form)| *form)
}

/// Returns what is wanted of an agent's interfaces, and names those of dialects so that they are
/// found.
fn terms(found: &mut Found) -> Terms {
    let interfaces = &mut found.card.supported_interfaces;
    let named = interfaces.iter().find_map(dialect_of);
    for interface in interfaces.iter_mut().filter(|one| dialect_of(one).is_some()) {
        // All of them are spoken over it.
        Binding::JsonRpc.as_str().clone_into(&mut interface.protocol_binding);
    }
    let written = match found.form {
        CardForm::PocketPaw => Some(WireForm::PocketPaw),
        CardForm::Upal => Some(WireForm::Upal),
        // Agents with molecule's cards speak 0.3 (MG-04).
        _ => None,
    };
    match named.or(written) {
        Some(form) => Terms::default().dialect(form),
        None => Terms::default(),
    }
}

/// Takes the address that was registered in place of those that the card names.
fn at_registered(mut found: Found, base: &CheckedUrl) -> Found {
    for interface in &mut found.card.supported_interfaces {
        base.as_str().clone_into(&mut interface.url);
    }
    found
}

fn no_address(agent: &Agent) -> Error {
    let text = format!("agent `{}` has no address; register it with one", agent.name);
    Error::new(ErrorKind::Unavailable, text).with_reason(NO_ADDRESS)
}

fn untrusted(agent: &Agent, why: &str) -> Error {
    let text = format!("agent `{}` is not called: {why}", agent.name);
    Error::new(ErrorKind::Unavailable, text).with_reason("CARD_NOT_TRUSTED")
}

fn unproven() -> Error {
    Error::new(ErrorKind::Internal, "no token could be made for the agent")
}
