//! A hub: a directory, who may come in, and the way out.

use std::{sync::Arc, time::Duration};

use nuncio_auth::{
    Gatekeeper,
    pair::{Minter, Tickets},
};
use nuncio_client::Client;
use nuncio_net::{
    Guard,
    egress::{Errand, Purpose},
    listen::{Drain, body::BodyLimits},
};
use nuncio_protocol::{card::sign::Signer, ids::Organisation};

use crate::{
    Directory, Metrics,
    agent::Addresses,
    canvas::Canvas,
    configuration::Configured,
    doctor::{Doctor, Visits},
    error::Error,
    gateway::{Gateway, Ground, card::Front},
    http::{Endpoints, Tellers, Who, mcp::Mcp},
    limits::{Limits, Meter},
    session::{Login, Sessions},
    trail::Trail,
};

/// Everything that answers a hub's callers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Hub(Arc<Parts>);

/// What a hub is put together from.
#[derive(Debug)]
#[non_exhaustive]
pub struct Parts {
    /// Which agents exist, and who may call whom.
    pub directory: Directory,
    /// Who may come in.
    pub gatekeeper: Gatekeeper,
    /// The way to agents.
    pub client: Client,
    /// What may be reached at all.
    pub guard: Guard,
    /// Signs pair tokens.
    pub minter: Arc<Minter>,
    /// Carries calls to agents; without, agents are only found.
    pub gateway: Option<Gateway>,
    /// The pages for browsers; without, a plain page says who is there.
    pub canvas: Option<Canvas>,
    /// Answers `/mcp`; without, there is nothing.
    pub mcp: Option<Arc<dyn Mcp>>,
    /// Knows what the hub was told; without, nobody can ask.
    pub configured: Option<Arc<dyn Configured>>,
    /// Examines agents; without, nobody does.
    pub doctor: Option<Arc<dyn Doctor>>,
    /// What happens, counted.
    pub metrics: Metrics,
    /// Says when the hub stops.
    pub drain: Drain,
    /// How it behaves.
    pub settings: Settings,
    /// One-time links that let a browser in.
    pub tickets: Tickets<Login>,
    /// Browsers that were let in.
    pub sessions: Sessions,
    /// One-time tickets for `WebSocket`s.
    pub(crate) passes: Tickets<Who>,
    /// Which agents are being examined.
    pub(crate) visits: Visits,
    /// What callers cost.
    pub(crate) meter: Meter,
    /// Refusals on their way to the audit trail.
    pub(crate) trail: Trail,
    /// What answers calls to agents.
    pub(crate) endpoints: Option<Endpoints>,
    /// What tells of molecule's messages.
    pub(crate) tellers: Tellers,
}

/// How a hub behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// To whom callers belong whose credential does not say.
    pub organisation: Organisation,
    /// Where callers reach the hub, without a slash at the end.
    pub public_url: String,
    /// Whether everybody on this machine is an administrator.
    pub is_open: bool,
    /// Which seeds' paths are answered.
    pub facades: Facades,
    /// What a request's body may cost.
    pub bodies: BodyLimits,
    /// Hosts and origins other than the public one under which browsers may come.
    pub hosts: Vec<String>,
    /// What one caller may cost.
    pub limits: Limits,
    /// How many calls to agents may be answered at once.
    pub calls: usize,
    /// How long calls under way may take once the hub stops. What is left goes on later.
    pub drain: Duration,
    /// What the body of a call to an agent may cost.
    pub call_bodies: BodyLimits,
    /// How many tasks of molecule's messages may be followed at once, to tell what becomes of
    /// them. Of more than that only their tasks know.
    pub followed: usize,
}

/// Which seeds' paths are answered (catalogue §7.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facades {
    /// `/registry/*`, `/workspaces/*`, `/ws`, `/events*`.
    pub molecule: bool,
    /// `/register`, `/discover`, `/agents`.
    pub opportunity: bool,
    /// `/api/workflows/*`, `/api/runs/*`, `/a2a/nodes/*`.
    pub upal: bool,
}

impl Settings {
    /// Serves one organisation under an address.
    pub fn new(organisation: Organisation, public_url: impl Into<String>) -> Self {
        let bodies = {
            let mut bodies = BodyLimits::default();
            // A registration is a card and little more.
            bodies.bytes = 2 << 20;
            bodies
        };
        Self {
            organisation,
            public_url: public_url.into().trim_end_matches('/').to_owned(),
            is_open: false,
            facades: Facades::default(),
            bodies,
            hosts: Vec::new(),
            limits: Limits::default(),
            calls: 4_096,
            drain: Duration::from_secs(20),
            call_bodies: BodyLimits::default(),
            followed: 1_000,
        }
    }
}

impl Parts {
    /// Puts the parts together that every hub needs.
    pub fn new(
        directory: Directory,
        gatekeeper: Gatekeeper,
        guard: Guard,
        minter: impl Into<Arc<Minter>>,
        settings: Settings,
    ) -> Self {
        Self {
            directory,
            gatekeeper,
            client: Client::new(nuncio_net::Client::new(guard.clone()).with_traces()),
            guard,
            minter: minter.into(),
            gateway: None,
            canvas: None,
            mcp: None,
            configured: None,
            doctor: None,
            metrics: Metrics::new(),
            drain: Drain::new(),
            meter: Meter::new(settings.limits),
            tellers: Tellers::new(settings.followed),
            settings,
            tickets: Tickets::new(),
            sessions: Sessions::default(),
            passes: Tickets::new(),
            visits: Visits::default(),
            trail: Trail::new(),
            endpoints: None,
        }
    }

    /// Returns what a gateway of this hub stands on.
    pub fn ground(&self) -> Ground {
        Ground {
            directory: self.directory.clone(),
            client: self.client.clone(),
            guard: self.guard.clone(),
            minter: Arc::clone(&self.minter),
            metrics: self.metrics.clone(),
        }
    }
}

impl Hub {
    /// Makes a hub of its parts.
    pub fn new(mut parts: Parts) -> Self {
        // The settings may have been changed since the parts were put together.
        parts.meter = Meter::new(parts.settings.limits);
        parts.tellers = Tellers::new(parts.settings.followed);
        parts.endpoints = parts.gateway.clone().map(|gateway| {
            gateway.show_as(Front {
                public_url: parts.settings.public_url.clone(),
                gatekeeper: parts.gatekeeper.clone(),
                signer: card_signer(&parts),
            });
            let signer = card_signer(&parts);
            Endpoints::new(gateway, &parts.settings, signer, parts.drain.clone())
        });
        Self(Arc::new(parts))
    }

    /// Puts other limits of callers in force. What they have used counts on.
    pub fn limit(&self, limits: Limits) {
        self.meter.set_limits(limits);
        if let Some(endpoints) = &self.endpoints {
            endpoints.capacity.set_streams_per_caller(limits.streams);
        }
    }

    /// Makes a link that lets a browser in, once.
    pub fn login_link(&self, login: Login) -> Result<String, Error> {
        let ticket = self.tickets.issue(login);
        let ticket = ticket.map_err(|_| Error::TooMany { what: "login links", limit: 0 })?;
        Ok(format!("{}/login?ticket={}", self.settings.public_url, ticket.expose()))
    }

    /// Checks the addresses that an agent says it has. Those it is called at are looked up.
    pub(crate) async fn check_addresses(&self, addresses: &Addresses) -> Result<(), Error> {
        let refused = |field, refused| Error::Address { field, refused: Box::new(refused) };
        let agent = Errand::administrator(Purpose::Agent);
        if let Some(url) = &addresses.public {
            match self.guard.check_resolved(url, agent).await {
                Ok(_) => {}
                Err(nuncio_net::Error::Refused(error)) => return Err(refused("url", error)),
                Err(error) => {
                    return Err(Error::invalid("url", format!("cannot be used: {error}")));
                }
            }
        }
        if let Some(url) = &addresses.internal {
            self.guard.check_url(url, agent).map_err(|error| refused("internal_url", error))?;
        }
        if let Some(url) = &addresses.card {
            let card = Errand::administrator(Purpose::Card);
            self.guard.check_url(url, card).map_err(|error| refused("card_url", error))?;
        }
        Ok(())
    }
}

/// Signs cards with the key that signs pair tokens, which everybody can fetch from the hub.
fn card_signer(parts: &Parts) -> Option<Signer> {
    let pem = parts.minter.to_pem().ok()?;
    let signer = Signer::from_pem(pem.first()?.expose()).ok()?;
    Some(signer.with_jku(format!("{}/.well-known/jwks.json", parts.settings.public_url)))
}

impl std::ops::Deref for Hub {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
