//! `nuncio.yaml`: everything that the hub can be told.
//!
//! A [`Configuration`] is made of four layers, of which a later one wins: the defaults, the
//! file, variables `NUNCIO_*` of the environment, and flags. [`Layers`] holds them and reads
//! them as often as it is asked; a [`Watcher`] asks whenever the file changes.
//!
//! ```
//! use nuncio::configuration::{Configuration, read};
//!
//! let text = "
//! listen: 127.0.0.1:8080
//! agents:
//!   - name: weather
//!     card: https://weather.example/.well-known/agent-card.json
//!     credential: {bearer: '${TOKEN}'}
//! ";
//! let environment = [("TOKEN".to_owned(), "swordfish".to_owned())].into();
//! let configuration = read(text, &environment)?;
//! assert_eq!(configuration.agents[0].name.as_str(), "weather");
//! # Ok::<(), nuncio::configuration::Error>(())
//! ```
//!
//! Invariant: a [`Configuration`] that [`read`] or [`Layers::load`] returns has been checked;
//! nobody has to look again whether its parts fit together.
//!
//! `docs/reference/configuration.md` is made of the comments here.

mod agent;
mod authentication;
mod database;
mod limits;
mod peer;
mod rule;
mod telemetry;
mod units;

mod layers;
mod read;
mod variables;
mod watch;

mod change;
mod check;
mod nearest;
mod problem;

pub mod import;
pub mod schema;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::{
    agent::{Agent, ApiKey, Basic, Credential, Delivery, Dialect, Hosted, Liveness, OAuth2},
    agent::{Reached, Signature, SkillAccess},
    authentication::{Authentication, Issuer},
    change::Changes,
    database::Database,
    layers::{FILE_NAME, Flags, Layers, Loaded},
    limits::{Limits, Quota},
    peer::Peer,
    problem::{Error, Place, Problem},
    read::{Environment, read},
    rule::{Effect, OperationName, Rule, Subject},
    telemetry::{Level, LogFormat, Otlp, Telemetry},
    units::{
        AddressRange, ByteSize, HumanDuration, InvalidValue, ListenAddress, Placed, SecretText,
        WebUrl,
    },
    watch::Watcher,
};

/// The hub's settings, as `nuncio.yaml` has them.
///
/// Every key may be left out. A relative path is meant from the folder of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "nuncio.yaml")]
#[non_exhaustive]
pub struct Configuration {
    /// The host and port to listen at. Beyond this machine callers must prove who they are.
    pub listen: ListenAddress,
    /// The URL that others reach the hub at, if it is not the address it listens at.
    pub public_url: Option<WebUrl>,
    /// The certificate that the hub shows. Without, it speaks plain HTTP.
    pub tls: Option<Tls>,
    /// The folder for the database, keys and everything else that must last. Unless set, the
    /// user's own data folder.
    pub data_dir: Option<PathBuf>,
    /// Where everything is kept: `sqlite` in the data folder, a `postgres://` URL, or `memory`
    /// for nowhere at all.
    pub database: Database,
    /// A `redis://` or `rediss://` URL. Several hubs on one database hear of each other's
    /// changes sooner with it.
    pub redis: Option<SecretText>,
    /// The name of the organisation that agents belong to unless they say otherwise.
    pub organisation: String,
    /// Which older ways of speaking are answered beside A2A.
    pub dialects: Vec<Dialect>,
    /// Who may call whom without a rule: `strict` is the agent itself, its parent, its children
    /// and its siblings; `lineage` adds everyone above and below.
    pub hierarchy: Hierarchy,
    /// Whether agents without a parent count as siblings of each other.
    pub root_siblings: bool,
    /// How callers prove who they are.
    pub authentication: Authentication,
    /// Agents that are known from the start.
    pub agents: Vec<Agent>,
    /// Agents elsewhere that may be called, in Harbor's form.
    pub peers: Vec<Peer>,
    /// Who may call whom, beside what the hierarchy says. A `deny` wins over any `allow`.
    pub rules: Vec<Rule>,
    /// How much of everything there may be.
    pub limits: Limits,
    /// Callers with limits of their own.
    pub quotas: Vec<Quota>,
    /// What the hub tells about itself.
    pub telemetry: Telemetry,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            listen: ListenAddress::new("127.0.0.1", 7420),
            public_url: None,
            tls: None,
            data_dir: None,
            database: Database::Sqlite,
            redis: None,
            organisation: "main".to_owned(),
            dialects: Dialect::ALL.to_vec(),
            hierarchy: Hierarchy::Strict,
            root_siblings: false,
            authentication: Authentication::default(),
            agents: Vec::new(),
            peers: Vec::new(),
            rules: Vec::new(),
            limits: Limits::default(),
            quotas: Vec::new(),
            telemetry: Telemetry::default(),
        }
    }
}

/// The certificate that the hub shows, and whose certificates it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// A PEM file with the certificate and those between it and its issuer.
    pub certificate: PathBuf,
    /// A PEM file with the private key.
    pub key: PathBuf,
    /// A PEM file with the issuers of the certificates that callers may show.
    pub client_ca: Option<PathBuf>,
}

/// Who may call whom without a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hierarchy {
    /// The agent itself, its parent, its children, its siblings.
    Strict,
    /// The same, and everyone above and below.
    Lineage,
}

#[cfg(test)]
mod tests;
