//! From a configuration to a hub that answers.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use ipnet::IpNet;
use nuncio::{
    configuration::{self, Configuration, Database, Dialect, Layers, Loaded, Subject},
    telemetry::Telemetry,
};
use nuncio_auth::{Gatekeeper, JwtIssuer, Mtls, rules};
use nuncio_client::Origin;
use nuncio_hub::{
    Directory, Hub, Login, Metrics,
    configuration::Configured,
    directory::{self, Liveness},
    gateway::{self, Gateway},
    hub::{Facades, Parts, Settings},
    serve_behind,
    signatures::{CardSignatures, SignaturePolicy},
};
use nuncio_net::{
    Client, Guard, Policy,
    egress::{Errand, Purpose},
    listen::{self, ClientAuth, Listener, Tls, reachable, told_to_stop},
};
use nuncio_protocol::{card::sign::KeySet, ids::Organisation, json, service::Caller};
use nuncio_store::postgres::{self, NotifyHints};
use nuncio_tasks::{hints::Hints, push::Push};
use tokio::net::lookup_host;

use super::{
    Kept, agents, canvas, configured::Told, keys, limits, notice, open_store, predecessor,
    reload::Reload, taken, traced::traced,
};
use crate::{data::Data, demo::Demo, doctor::HouseDoctor, mcp};

pub(super) async fn start(
    layers: &Layers,
    loaded: Loaded,
    telemetry: &Telemetry,
    demo: Option<Arc<Demo>>,
) -> anyhow::Result<()> {
    let configuration = &loaded.configuration;
    check_reach(configuration)?;
    let data = Data::of_hub(configuration.data_dir.as_deref())?;
    let kept = open_store(&loaded, &data).await?;
    let listener = bind(configuration).await?;
    let address = listener.local_addr();
    let mcp = mcp::Endpoint::new();
    let told = Arc::new(Told::new(layers.clone(), &loaded, (address, demo.is_some())));
    let brought = Brought { address, has_demo: demo.is_some(), mcp: &mcp, told: &told };
    let hub = assemble(configuration, &data, &kept, brought).await?;
    let key = keys::administrator(&hub, configuration, &data).await?;
    let file = layers.file.as_deref();
    agents::configure(&hub, (configuration, file), demo.as_deref()).await?;
    notice::leave(&hub, address, &key, file)?;
    let login = Login {
        name: directory::ADMINISTRATOR.to_owned(),
        organisation: hub.settings.organisation.clone(),
        is_administrator: true,
    };
    notice::say(&hub, address, (&key, &hub.login_link(login)?), demo.is_some());

    let patience = configuration.limits.drain.get();
    let signals = tokio::spawn(stop_when_told(hub.clone(), mcp, patience));
    let reload = Reload::new(layers.clone(), &loaded, (hub.clone(), told), demo)?;
    tokio::select! {
        () = serve_behind(hub.clone(), listener, traced) => {}
        never = reload.run(telemetry) => match never {},
    }
    signals.abort();
    if let Some(gateway) = &hub.gateway {
        // Programs that agents have started end with them.
        gateway.host([]);
        gateway.put_down();
    }
    kept.close().await;
    Ok(())
}

/// Nobody may come in from elsewhere without proving who they are.
fn check_reach(configuration: &Configuration) -> anyhow::Result<()> {
    if configuration.authentication.open && !configuration.listen.is_loopback() {
        bail!(
            "{} can be reached from elsewhere, so callers must prove who they are: leave out \
             --open, or listen at 127.0.0.1",
            configuration.listen
        );
    }
    Ok(())
}

async fn bind(configuration: &Configuration) -> anyhow::Result<Listener> {
    let listen = &configuration.listen;
    let text = listen.to_string();
    let address = lookup_host(&text)
        .await
        .with_context(|| format!("listen at {text}"))?
        .next()
        .with_context(|| format!("listen at {text}: the name has no address"))?;
    let mut limits = listen::Limits::default();
    limits.connections = usize::try_from(configuration.limits.connections.get())?;
    limits.connections_per_address =
        usize::try_from(configuration.limits.connections_per_address.get())?;
    limits.header_timeout = configuration.limits.header_timeout.get();
    let bound = predecessor::take_over(
        async || Listener::bind(address).await,
        |error| error.kind() == io::ErrorKind::AddrInUse,
    );
    let listener = bound.await.map_err(|error| taken::explain(error, address))?;
    let listener = listener.limits(limits);
    let Some(files) = &configuration.tls else { return Ok(listener) };
    let mut tls = Tls::from_files(&files.certificate, &files.key)?;
    if let Some(roots) = &files.client_ca {
        let pem = std::fs::read(roots).with_context(|| format!("read {}", roots.display()))?;
        tls = tls.client_roots(&pem, ClientAuth::Optional)?;
    }
    Ok(listener.tls(tls))
}

/// What a hub is put together from, beside what the file says.
struct Brought<'a> {
    address: SocketAddr,
    has_demo: bool,
    mcp: &'a mcp::Endpoint,
    told: &'a Arc<Told>,
}

async fn assemble(
    configuration: &Configuration,
    data: &Data,
    kept: &Kept,
    Brought { address, has_demo, mcp, told }: Brought<'_>,
) -> anyhow::Result<Hub> {
    let organisation = Organisation::parse(&configuration.organisation)?;
    let mut options = directory::Options::default();
    options.settings = rule_settings(configuration);
    options.liveness = liveness(configuration);
    options.hold_cards = configuration.hold_cards;
    options.signatures = signatures(&configuration.cards)?;
    let directory = Directory::open(kept.hub(), options).await?;
    let guard = Guard::new(policy(configuration, address, has_demo));
    let gatekeeper = gatekeeper(configuration, &directory, &guard)?;
    let url = public_url(configuration, address);
    let minter = keys::minter(data, &url)?;
    let mut settings = Settings::new(organisation, url);
    settings.is_open = configuration.authentication.open;
    settings.facades = Facades {
        molecule: configuration.dialects.contains(&Dialect::Molecule),
        opportunity: configuration.dialects.contains(&Dialect::Opportunity),
        upal: configuration.dialects.contains(&Dialect::Upal),
    };
    settings.bodies.bytes = configuration.limits.request_body.bytes();
    settings.hosts = configuration.hosts.iter().map(|host| host.as_str().to_owned()).collect();
    // Streams are told to resume in the rest of it.
    settings.drain = configuration.limits.drain.get() * 3 / 4;
    settings.limits = limits::of_callers(configuration);
    let client = Client::builder(guard.clone())
        .connect_limit(configuration.limits.connect_timeout.get())
        // Whoever is let in is carried on.
        .connections(usize::try_from(configuration.limits.connections.get())?)
        .build()?
        .with_traces();
    let mut parts = Parts::new(directory, gatekeeper, guard, minter, settings);
    parts.client = nuncio_client::Client::new(client);
    parts.metrics = Metrics::with_agents(configuration.telemetry.agents);
    parts.canvas = Some(canvas::canvas());
    parts.mcp = Some(Arc::new(mcp.clone()));
    parts.configured = Some(Arc::clone(told) as Arc<dyn Configured>);
    parts.doctor = Some(Arc::new(HouseDoctor));
    parts.gateway = Some(gateway(configuration, data, kept, &parts)?);
    Ok(Hub::new(parts))
}

/// Begins to carry calls, also those that an earlier hub has left.
fn gateway(
    configuration: &Configuration,
    data: &Data,
    kept: &Kept,
    parts: &Parts,
) -> anyhow::Result<Gateway> {
    let mut settings = gateway::Settings::new(parts.settings.organisation.clone());
    settings.is_open = parts.settings.is_open;
    settings.awaits_hosted = true;
    settings.limits = limits::of_gateway(configuration);
    // Addresses of webhooks are a caller's word: nothing but what is public.
    let client = Client::new(Guard::new(Policy::default()));
    let push = Push::new(client, data.sealing_key()?);
    let hints: Option<Arc<dyn Hints>> = match &configuration.database {
        Database::Postgres(url) => {
            Some(Arc::new(NotifyHints::start(&postgres::Options::new(url.0.expose()))?))
        }
        Database::Memory | Database::Sqlite => None,
    };
    Ok(Gateway::start(parts.ground(), settings, kept.tasks(), |engine| {
        let engine = engine.push(push).settings(limits::of_tasks(configuration));
        match hints {
            Some(hints) => engine.hints(hints),
            None => engine,
        }
    }))
}

/// Reads whose signatures on cards are believed.
fn signatures(cards: &configuration::Cards) -> anyhow::Result<CardSignatures> {
    let mut signatures = CardSignatures::new(match cards.signatures {
        configuration::CardSignatures::Off => SignaturePolicy::Off,
        configuration::CardSignatures::Prefer => SignaturePolicy::Prefer,
        configuration::CardSignatures::Require => SignaturePolicy::Require,
    });
    for trusted in &cards.trusted_keys {
        let path = &trusted.keys;
        let context = || format!("cards.trusted_keys: {}", path.display());
        let text = std::fs::read_to_string(path).with_context(context)?;
        let keys: KeySet = json::from_str(&text).with_context(context)?;
        let origin = trusted.origin.as_ref().map(|url| Origin::parse(url.as_str()));
        signatures = signatures.trust(origin.transpose().with_context(context)?, keys);
    }
    Ok(signatures)
}

pub(super) fn rule_settings(configuration: &Configuration) -> rules::Settings {
    rules::Settings {
        hierarchy: match configuration.hierarchy {
            configuration::Hierarchy::Strict => rules::Hierarchy::Strict,
            configuration::Hierarchy::Lineage => rules::Hierarchy::Lineage,
        },
        root_siblings: configuration.root_siblings,
    }
}

fn liveness(configuration: &Configuration) -> Liveness {
    let limits = &configuration.limits;
    let mut liveness = Liveness::default();
    liveness.beat = limits.heartbeat.get();
    liveness.offline = limits.offline.get().get();
    liveness.sweep = limits.sweep.get();
    liveness.probe = limits.probe.get();
    liveness
}

/// What the hub may reach. Addresses that are not public are open only where the file says so,
/// and on this machine if the hub itself listens nowhere else, or has agents of the demo there.
fn policy(configuration: &Configuration, address: SocketAddr, has_demo: bool) -> Policy {
    let mut policy = Policy::default().forbid_listener(address);
    let open = |policy: Policy, range: IpNet| {
        policy.open(Purpose::Agent, range).open(Purpose::Card, range)
    };
    let plain = |policy: Policy| {
        let policy = policy.allow_http(Errand::administrator(Purpose::Agent));
        policy.allow_http(Errand::administrator(Purpose::Card))
    };
    if address.ip().is_loopback() || has_demo {
        for range in ["127.0.0.0/8", "::1/128"] {
            policy = open(policy, range.parse().expect("a range"));
        }
        policy = plain(policy);
    }
    for agent in &configuration.agents {
        for range in &agent.allow_private {
            policy = open(policy, range.0);
        }
        if agent.allow_http {
            policy = plain(policy);
        }
    }
    policy
}

fn gatekeeper(
    configuration: &Configuration,
    directory: &Directory,
    guard: &Guard,
) -> anyhow::Result<Gatekeeper> {
    let authentication = &configuration.authentication;
    let mut gatekeeper = Gatekeeper::builder().api_keys(directory.clone());
    for issuer in &authentication.issuers {
        gatekeeper = gatekeeper.jwt(jwt(issuer, guard)?);
    }
    if let Some(certificates) = &authentication.certificates {
        gatekeeper = gatekeeper.mtls(mtls(certificates));
    }
    if authentication.open {
        gatekeeper = gatekeeper.open_to_loopback();
    }
    Ok(gatekeeper.build()?)
}

fn jwt(issuer: &configuration::Issuer, guard: &Guard) -> anyhow::Result<JwtIssuer> {
    let client = Client::new(guard.clone()).with_traces();
    let name = issuer.issuer.as_str();
    let (first, others) = issuer.audience.split_first().context("an issuer needs an audience")?;
    let mut jwt = JwtIssuer::with_key_url(name, first, &client, issuer.jwks_url.as_str())?;
    for audience in others {
        jwt = jwt.audience(audience);
    }
    jwt = jwt.lifetime(issuer.lifetime.get()).prefix(&issuer.prefix);
    if let Some(typ) = &issuer.typ {
        jwt = jwt.typ(typ);
    }
    if let Some(claim) = &issuer.agents_by_claim {
        jwt = jwt.agents_by_claim(claim);
    }
    if let Some(prefix) = &issuer.agents_by_prefix {
        jwt = jwt.agents_by_prefix(prefix);
    }
    if let Some(claim) = &issuer.organisation_claim {
        jwt = jwt.organisation_claim(claim);
    }
    if let Some(url) = &issuer.discovery_url {
        jwt = jwt.discovery(url.as_str());
    }
    Ok(jwt)
}

fn mtls(certificates: &configuration::Certificates) -> Mtls {
    let mut mtls = Mtls::new();
    for certified in &certificates.callers {
        let caller = match certified.caller.get() {
            Subject::User(name) => Caller::User(name.as_str().into()),
            // The configuration has been checked: whoever is no user is an agent.
            agent => Caller::Agent(agent.to_string().into()),
        };
        if let Some(uri) = &certified.uri {
            mtls = mtls.uri(uri, caller.clone());
        }
        if let Some(name) = &certified.dns_name {
            mtls = mtls.dns_name(name, caller.clone());
        }
        if let Some(fingerprint) = certified.sha256 {
            mtls = mtls.pin(fingerprint.0, caller);
        }
    }
    if let Some(prefix) = &certificates.agents_by_uri {
        mtls = mtls.agents_by_uri(prefix);
    }
    if let Some(domain) = &certificates.agents_by_domain {
        mtls = mtls.agents_by_domain(domain);
    }
    if certificates.beside_tokens { mtls.beside_tokens() } else { mtls }
}

/// Returns the URL that callers are told: never what a request claims.
fn public_url(configuration: &Configuration, address: SocketAddr) -> String {
    if let Some(url) = &configuration.public_url {
        return url.as_str().to_owned();
    }
    let scheme = if configuration.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{}", reachable(address))
}

async fn stop_when_told(hub: Hub, mcp: mcp::Endpoint, patience: Duration) {
    told_to_stop().await;
    tracing::info!("stopping");
    hub.drain.begin(patience);
    mcp.stop();
    told_to_stop().await;
    tracing::info!("stopping at once");
    hub.drain.begin(Duration::ZERO);
}
