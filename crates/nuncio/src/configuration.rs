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
//! authentication: {admin_key: '${KEY}'}
//! ";
//! let environment = [("KEY".to_owned(), "swordfish".to_owned())].into();
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
mod budgets;
mod cards;
mod database;
mod hosted;
mod kinds;
mod limits;
mod rule;
mod telemetry;
mod units;

mod layers;
mod lines;
mod read;
mod sieve;
mod sources;
mod variables;
mod watch;

mod change;
mod check;
mod check_kinds;
mod nearest;
mod problem;

pub mod import;
pub mod schema;

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::{
    agent::{Agent, Credential, Delivery, Kind, Reached, SkillAccess},
    authentication::{Authentication, Certificates, CertifiedCaller, Issuer},
    budgets::{Budget, Budgets},
    cards::{CardSignatures, Cards, TrustedKeys},
    change::Changes,
    database::Database,
    hosted::{InvalidHosted, command_lines, read_hosted},
    kinds::{
        AnyValue, Extract, ExtractMode, Format, McpServer, Provider, ProviderKind, ToolName,
        split_model,
    },
    layers::{FILE_NAME, Flags, Layers, Loaded},
    limits::Limits,
    problem::{Error, Place, Problem},
    read::{Environment, read},
    rule::{Effect, OperationName, Rule, Subject},
    telemetry::{Level, LogFormat, Otlp, Telemetry},
    units::{
        AddressRange, BrowserHost, ByteSize, Fingerprint, HumanDuration, InvalidValue,
        ListenAddress, Placed, SecretText, WebUrl,
    },
    watch::{FileWatcher, Watcher},
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
    /// Further hosts under which browsers may reach the hub, beside that of `public_url` and
    /// this machine's own: as the address bar shows them, with the port if it is there.
    pub hosts: Vec<BrowserHost>,
    /// The certificate that the hub shows. Without, it speaks plain HTTP.
    pub tls: Option<Tls>,
    /// The folder for the database, keys and everything else that must last. Unless set, the
    /// user's own data folder.
    pub data_dir: Option<PathBuf>,
    /// Where everything is kept: `sqlite` in the data folder, a `postgres://` URL, or `memory`
    /// for nowhere at all.
    pub database: Database,
    /// The name of the organisation that agents belong to unless they say otherwise.
    pub organisation: String,
    /// Whose paths are answered beside the hub's own, so that their agents and tools find it.
    pub dialects: Vec<Dialect>,
    /// Who may call whom without a rule: `strict` is the agent itself, its parent, its children
    /// and its siblings; `lineage` adds everyone above and below.
    pub hierarchy: Hierarchy,
    /// Whether agents without a parent count as siblings of each other.
    pub root_siblings: bool,
    /// Whether an agent's new card waits for an administrator's agreement if it changes skills,
    /// security or addresses. An agent that registers again with another address or delivery is
    /// refused.
    pub hold_cards: bool,
    /// What cards of agents are worth.
    pub cards: Cards,
    /// How callers prove who they are.
    pub authentication: Authentication,
    /// Services that have language models, for agents of `kind: llm`.
    pub providers: BTreeMap<String, Placed<Provider>>,
    /// The model of agents that name none: `provider/model`.
    pub default_model: Option<Placed<String>>,
    /// Servers of MCP tools, for agents of `kind: mcp` and as tools of models.
    pub mcp_servers: BTreeMap<String, Placed<McpServer>>,
    /// Agents that are known from the start.
    pub agents: Vec<Agent>,
    /// Who may call whom, beside what the hierarchy says. A `deny` wins over any `allow`.
    pub rules: Vec<Rule>,
    /// How much of everything there may be.
    pub limits: Limits,
    /// What callers may have done, and what agents may be asked for.
    pub budgets: Budgets,
    /// What the hub tells about itself.
    pub telemetry: Telemetry,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            listen: ListenAddress::new("127.0.0.1", 7420),
            public_url: None,
            hosts: Vec::new(),
            tls: None,
            data_dir: None,
            database: Database::Sqlite,
            organisation: "main".to_owned(),
            dialects: Dialect::ALL.to_vec(),
            hierarchy: Hierarchy::Strict,
            root_siblings: false,
            hold_cards: false,
            cards: Cards::default(),
            authentication: Authentication::default(),
            providers: BTreeMap::new(),
            default_model: None,
            mcp_servers: BTreeMap::new(),
            agents: Vec::new(),
            rules: Vec::new(),
            limits: Limits::default(),
            budgets: Budgets::default(),
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

/// A program that came before the hub, by the paths that its agents and tools call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// `/registry/*`, `/workspaces/*`, `/ws` and `/events*`.
    Molecule,
    /// `/register`, `/discover` and `/agents`.
    Opportunity,
    /// `/api/workflows`, `/api/runs`, `/a2a/agent-card` and `/a2a/nodes/*`.
    Upal,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 3] = [Self::Molecule, Self::Opportunity, Self::Upal];
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
