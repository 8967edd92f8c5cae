//! Puts a server together.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use nuncio_auth::Gatekeeper;
use nuncio_net::{
    Client, Guard, Policy,
    listen::{self, Drain, Listener, Tls, body::BodyLimits, reachable},
};
use nuncio_protocol::{
    card::{
        AgentCard, AgentExtension, AgentInterface, AgentSkill, Binding,
        sign::{self, Algorithm, KeySet, Signer},
    },
    dialect::{Legacy, Offered},
    error::ErrorTable,
    ids::Tenant,
    time::Timestamp,
    version::Version,
};
use nuncio_tasks::{
    agent::Agent,
    engine::{self, Settings, Tasks},
    hints::Hints,
    memory::MemoryStore,
    push::{Push, SealingKey},
    scope::Name,
    store::Store,
};
use tokio::net::lookup_host;

use super::{Bound, Error};
use crate::{
    capacity::Capacity,
    card::{CardStyle, KEYS},
    dialects::{Dialects, PocketPaw, TimeLimited},
    endpoint::{Endpoint, Tenants},
    local::LocalAgent,
    streams::StreamLimits,
};

/// Says on a card that streams can be resumed with `Last-Event-ID`.
pub(crate) const RESUME: &str = "urn:nuncio:extension:resume:v1";

/// Gives the agent to an engine, with the longest time that a turn of it may take.
type AddAgent = Box<dyn FnOnce(engine::Builder, Name, Option<Duration>) -> engine::Builder + Send>;

/// How much a server takes on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Connections.
    pub connections: listen::Limits,
    /// Bodies of requests.
    pub bodies: BodyLimits,
    /// Streams.
    pub streams: StreamLimits,
    /// How many calls may be under way; more are told to come back.
    pub calls: usize,
    /// How long calls under way may take once the server stops.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: listen::Limits::default(),
            bodies: BodyLimits::default(),
            streams: StreamLimits::default(),
            calls: 4_096,
            drain: Duration::from_secs(30),
        }
    }
}

/// Serves one agent: the shortest way from a trait to the wire.
///
/// Without further words it speaks A2A 1.0 and 0.3 on JSON-RPC, HTTP+JSON and gRPC, all on one
/// port; keeps tasks in memory; sends webhooks, to public addresses only; and answers nobody
/// but callers on this machine.
#[must_use = "nothing is served until `serve` or `bind` is called"]
pub struct Server {
    name: String,
    add_agent: AddAgent,
    card: AgentCard,
    extended: Option<AgentCard>,
    store: Option<Arc<dyn Store>>,
    hints: Option<Arc<dyn Hints>>,
    settings: Settings,
    push: Option<Push>,
    gatekeeper: Gatekeeper,
    public_url: Option<String>,
    grpc_address: Option<String>,
    tls: Option<Tls>,
    limits: Limits,
    dialects: Dialects,
    card_style: CardStyle,
    tenants: Vec<Tenant>,
    signer: Option<Signer>,
    table: ErrorTable,
}

impl Server {
    /// Serves an agent under a name, with a card that says little more than that.
    pub fn new(name: impl Into<String>, agent: impl Agent) -> Self {
        let name = name.into();
        let skill = AgentSkill::new(name.clone(), name.clone(), name.clone(), [name.clone()]);
        let card = AgentCard::builder(name.clone())
            .description(name.clone())
            .skill(skill)
            .streaming()
            .push_notifications()
            .build();
        Self {
            name,
            add_agent: Box::new(|engine, name, limit| {
                engine.agent(name, TimeLimited { agent, limit })
            }),
            card,
            extended: None,
            store: None,
            hints: None,
            settings: Settings::default(),
            push: None,
            gatekeeper: Gatekeeper::open(),
            public_url: None,
            grpc_address: None,
            tls: None,
            limits: Limits::default(),
            dialects: Dialects::default(),
            card_style: CardStyle::default(),
            tenants: Vec::new(),
            signer: None,
            table: ErrorTable::default(),
        }
    }

    /// Shows this card. Interfaces that it does not name are added by the server; security
    /// schemes come from the [gatekeeper](Self::gatekeeper).
    pub fn card(mut self, card: AgentCard) -> Self {
        self.card = card;
        self
    }

    /// Shows callers who have proved who they are a card with more on it.
    pub fn extended_card(mut self, card: AgentCard) -> Self {
        self.extended = Some(card);
        self
    }

    /// Keeps tasks here instead of in memory. Webhooks then need [`push`](Self::push) with a
    /// sealing key that is kept, too.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Listens to hints of other processes on the same store.
    pub fn hints(mut self, hints: Arc<dyn Hints>) -> Self {
        self.hints = Some(hints);
        self
    }

    /// Changes how the task engine behaves.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sends webhooks in this way.
    pub fn push(mut self, push: Push) -> Self {
        self.push = Some(push);
        self
    }

    /// Lets callers in who prove who they are, in place of everybody on this machine.
    pub fn gatekeeper(mut self, gatekeeper: Gatekeeper) -> Self {
        self.gatekeeper = gatekeeper;
        self
    }

    /// Tells callers this URL, such as `https://agents.example.com/echo`. Otherwise they are
    /// told the address that the server listens at; never what they call it.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }

    /// Serves gRPC at an address of its own as well, and tells callers that.
    pub fn grpc_address(mut self, address: impl Into<String>) -> Self {
        self.grpc_address = Some(address.into());
        self
    }

    /// Serves over TLS.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Changes how much it takes on.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Chooses what is spoken beside A2A 1.0: 0.3, unless this is called.
    pub fn dialects(mut self, dialects: impl Into<Dialects>) -> Self {
        self.dialects = dialects.into();
        self
    }

    /// Chooses the card for readers who do not say which version they know.
    pub fn card_style(mut self, style: CardStyle) -> Self {
        self.card_style = style;
        self
    }

    /// Serves these tenants and no others. Without, every tenant is served, and keeps its tasks
    /// apart from those of the others.
    pub fn tenants(mut self, tenants: impl IntoIterator<Item = Tenant>) -> Self {
        self.tenants = tenants.into_iter().collect();
        self
    }

    /// Signs the card with this key, and shows its public half.
    pub fn signer(mut self, signer: Signer) -> Self {
        self.signer = Some(signer);
        self
    }

    /// Signs the card with a new key, and shows its public half.
    pub fn sign(self) -> Result<Self, Error> {
        let signer = Signer::generate(Algorithm::Es256)?;
        Ok(self.signer(signer))
    }

    /// Uses the error codes of an earlier edition of the specification.
    pub fn error_table(mut self, table: ErrorTable) -> Self {
        self.table = table;
        self
    }

    /// Serves at an address such as `127.0.0.1:7420` until the process is told to stop, by
    /// Ctrl-C or SIGTERM. Says on standard error where it listens, once it does.
    #[expect(clippy::print_stderr, reason = "for people, and for scripts that wait for it")]
    pub async fn serve(self, address: &str) -> Result<(), Error> {
        let bound = self.bind(address).await?;
        eprintln!("listening on {}", bound.local_url());
        bound.run_until_told().await;
        Ok(())
    }

    /// Takes an address; port 0 takes any that is free.
    pub async fn bind(mut self, address: &str) -> Result<Bound, Error> {
        let mut listeners = vec![self.listener(address).await?];
        let own = listeners[0].local_addr();
        let mut grpc = own;
        if let Some(address) = self.grpc_address.take() {
            let listener = self.listener(&address).await?;
            grpc = listener.local_addr();
            listeners.push(listener);
        }
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let local_url = format!("{scheme}://{own}");
        let url = match &self.public_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("{scheme}://{}", reachable(own)),
        };
        let grpc = match &self.public_url {
            Some(_) if listeners.len() == 1 => authority(&url)?,
            _ => reachable(grpc).to_string(),
        };
        let keys = self.finish_cards(&url, &grpc)?;
        let card = self.card.clone();

        let name = Name::parse(&self.name)
            .map_err(|error| Error::Settings(format!("the agent's name: {error}")))?;
        let tasks = self.engine(&name);
        let mut agent = LocalAgent::new(tasks.clone(), name, &card)
            .map_err(|error| Error::Settings(error.to_string()))?;
        if let Some(extended) = self.extended {
            agent = agent.extended_card(extended);
        }
        let drain = Drain::new();
        let capacity = Capacity::new(self.limits.calls, self.limits.streams, drain.clone());
        let tenants = match self.tenants {
            tenants if tenants.is_empty() => Tenants::Any,
            tenants => Tenants::Only(tenants),
        };
        let mut endpoint = Endpoint::builder(self.name, Arc::new(agent), capacity.clone())
            .url(&url)
            .card(card.clone(), Timestamp::now())
            .card_style(self.card_style)
            .dialects(self.dialects)
            .tenants(tenants)
            .gatekeeper(self.gatekeeper)
            .error_table(self.table)
            .body_limits(self.limits.bodies);
        if let Some(keys) = keys {
            endpoint = endpoint.keys(keys);
        }
        let endpoint = endpoint.build()?;
        let patience = self.limits.drain;
        Ok(Bound { listeners, endpoint, card, tasks, capacity, drain, patience, url, local_url })
    }

    async fn listener(&self, address: &str) -> Result<Listener, Error> {
        let mut found = lookup_host(address).await.map_err(|error| {
            Error::Settings(format!("`{address}` is no address such as 127.0.0.1:7420: {error}"))
        })?;
        let address: SocketAddr =
            found.next().ok_or_else(|| Error::Settings(format!("`{address}` has no address")))?;
        if self.gatekeeper.is_open() && !address.ip().is_loopback() {
            return Err(Error::Settings(format!(
                "{address} can be reached from elsewhere, and nobody has to prove who they are; \
                 listen at 127.0.0.1, or give the server a gatekeeper"
            )));
        }
        let listener = Listener::bind(address).await.map_err(Error::Bind)?;
        let listener = listener.limits(self.limits.connections.clone());
        Ok(match &self.tls {
            Some(tls) => listener.tls(tls.clone()),
            None => listener,
        })
    }

    /// Adds to the cards what only the server knows, and signs them. Returns the public keys.
    fn finish_cards(&mut self, url: &str, grpc: &str) -> Result<Option<KeySet>, Error> {
        let has_push = self.push.is_some() || self.store.is_none();
        let interfaces = interfaces(url, grpc, self.dialects.offered(), &self.tenants);
        let promises_extended = self.extended.is_some();
        for card in std::iter::once(&mut self.card).chain(&mut self.extended) {
            if let Some(pocketpaw) = &self.dialects.pocketpaw {
                pocketpaw.describe(card);
            }
            let capabilities = &mut card.capabilities;
            if capabilities.push_notifications == Some(true) && !has_push {
                capabilities.push_notifications = Some(false);
            }
            if promises_extended {
                capabilities.extended_agent_card = Some(true);
            }
            if capabilities.streaming == Some(true) {
                let description = "Streams resume behind the event that Last-Event-ID names.";
                let resume = AgentExtension::new(RESUME);
                let resume = AgentExtension { description: description.to_owned(), ..resume };
                capabilities.extensions.push(resume);
            }
            if card.supported_interfaces.is_empty() {
                card.supported_interfaces.clone_from(&interfaces);
            }
            self.gatekeeper.describe(card);
        }
        let Some(signer) = self.signer.take() else { return Ok(None) };
        let signer = signer.with_jku(format!("{url}{KEYS}"));
        for card in std::iter::once(&mut self.card).chain(&mut self.extended) {
            sign::sign(card, &signer)?;
        }
        let mut keys = KeySet::default();
        keys.insert(signer.public_key().clone());
        Ok(Some(keys))
    }

    fn engine(&mut self, name: &Name) -> Tasks {
        let push = match (self.push.take(), &self.store) {
            (Some(push), _) => Some(push),
            // Secrets that nobody keeps need no key that anybody keeps.
            (None, None) => {
                let client = Client::new(Guard::new(Policy::default()));
                Some(Push::new(client, SealingKey::generate()))
            }
            (None, Some(_)) => None,
        };
        let pocketpaw = self.dialects.pocketpaw.as_ref();
        let mut settings = self.settings.clone();
        if let Some(pocketpaw) = pocketpaw {
            pocketpaw.settle(&mut settings, self.store.is_none());
        }
        let limit = pocketpaw.and_then(PocketPaw::limit);
        let store = self.store.take().unwrap_or_else(|| Arc::new(MemoryStore::default()));
        let add_agent = std::mem::replace(&mut self.add_agent, Box::new(|engine, _, _| engine));
        let mut engine = Tasks::builder(store).settings(settings);
        if let Some(hints) = self.hints.take() {
            engine = engine.hints(hints);
        }
        if let Some(push) = push {
            engine = engine.push(push);
        }
        add_agent(engine, name.clone(), limit).start()
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Lists every way in, the newest version first.
fn interfaces(url: &str, grpc: &str, offered: Offered, tenants: &[Tenant]) -> Vec<AgentInterface> {
    let mut versions = vec![Version::V1_0];
    if offered.legacy == Some(Legacy::V03) {
        versions.push(Version::V0_3);
    }
    let ways = [(url, Binding::JsonRpc), (url, Binding::HttpJson), (grpc, Binding::Grpc)];
    let mut all = Vec::new();
    for version in versions {
        for (url, binding) in &ways {
            let interface = AgentInterface::new(*url, binding.clone(), version);
            match tenants {
                [] => all.push(interface),
                // Only 1.0 knows tenants.
                _ if version.is_legacy() => {}
                tenants => all.extend(tenants.iter().map(|tenant| {
                    let mut interface = interface.clone();
                    interface.tenant = Some(tenant.clone());
                    interface
                })),
            }
        }
    }
    all
}

/// Returns host and port of a URL.
fn authority(url: &str) -> Result<String, Error> {
    let uri: http::Uri =
        url.parse().map_err(|error| Error::Settings(format!("the public URL `{url}`: {error}")))?;
    let (Some(scheme), Some(host)) = (uri.scheme_str(), uri.host()) else {
        let text = format!("the public URL `{url}` needs scheme and host");
        return Err(Error::Settings(text));
    };
    let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
    Ok(format!("{host}:{port}"))
}
