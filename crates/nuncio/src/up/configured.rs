//! What the hub was told, for administrators who ask it.

use std::{
    net::SocketAddr,
    sync::{PoisonError, RwLock},
};

use nuncio::configuration::{Changes, Configuration, Dialect, Layers, Loaded};
use nuncio_hub::configuration::{Configured, DialectSetting, OpenNetwork, Shown};

/// Keeps what the hub was told, and by whom.
#[derive(Debug)]
pub(super) struct Told {
    layers: Layers,
    /// With what it was started.
    started: Configuration,
    shown: RwLock<Shown>,
}

impl Told {
    /// Keeps what a hub is started with that listens at an address.
    pub(super) fn new(
        layers: Layers,
        loaded: &Loaded,
        (address, has_demo): (SocketAddr, bool),
    ) -> Self {
        let configuration = &loaded.configuration;
        let file = layers.file.as_ref().map(|file| file.display().to_string());
        let shown = Shown {
            file,
            settings: loaded.settings(&layers),
            waiting: Vec::new(),
            dialects: Dialect::ALL.map(|dialect| shown_dialect(dialect, configuration)).into(),
            networks: networks(configuration, address, has_demo),
            plain_http: address.ip().is_loopback()
                || has_demo
                || configuration.agents.iter().any(|agent| agent.allow_http),
        };
        Self { layers, started: configuration.clone(), shown: RwLock::new(shown) }
    }

    /// Hears that the file has changed.
    pub(super) fn take(&self, loaded: &Loaded) {
        let settings = loaded.settings(&self.layers);
        let waiting = Changes::between(&self.started, &loaded.configuration).restart;
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        shown.settings = settings;
        shown.waiting = waiting.into_iter().map(str::to_owned).collect();
    }
}

impl Configured for Told {
    fn shown(&self) -> Shown {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn shown_dialect(dialect: Dialect, configuration: &Configuration) -> DialectSetting {
    let (name, paths) = match dialect {
        Dialect::Molecule => ("molecule", "/registry/*, /workspaces/*, /ws, /events*"),
        Dialect::Opportunity => ("opportunity", "/register, /discover, /agents"),
        Dialect::Upal => ("upal", "/api/workflows, /api/runs, /a2a/agent-card, /a2a/nodes/*"),
    };
    let is_on = configuration.dialects.contains(&dialect);
    DialectSetting { name: name.to_owned(), is_on, paths: paths.to_owned() }
}

/// Returns what `start::policy` opens, with the reason.
fn networks(
    configuration: &Configuration,
    address: SocketAddr,
    has_demo: bool,
) -> Vec<OpenNetwork> {
    let why = match (address.ip().is_loopback(), has_demo) {
        (true, _) => Some("the hub listens on this machine only"),
        (false, true) => Some("agents of the demo are on this machine"),
        (false, false) => None,
    };
    let here = why.into_iter().flat_map(|why| {
        ["127.0.0.0/8", "::1/128"]
            .map(|range| OpenNetwork { range: range.to_owned(), why: why.to_owned() })
    });
    let opened = configuration.agents.iter().flat_map(|agent| {
        agent.allow_private.iter().map(|range| OpenNetwork {
            range: range.to_string(),
            why: format!("allow_private of agent `{}`", agent.name.as_str()),
        })
    });
    here.chain(opened).collect()
}
