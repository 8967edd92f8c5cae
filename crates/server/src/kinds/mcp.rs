//! Tools of MCP servers, as agents and for models.
//!
//! [`Servers`] is a set of servers by name. Each is connected to when it is first needed, kept,
//! and connected to anew when it has gone away: a program that is started here, or a server
//! behind a URL. This is the only place that knows the MCP library.

mod agent;
mod connection;
mod error;
mod http;
mod process;
mod result;
mod tool;

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use nuncio_net::{Client, Secret};
use nuncio_protocol::{json::Object, message::Part};
use tokio::sync::Mutex;

pub use self::{agent::Mcp, error::Error};
use self::{
    connection::{Connection, Known},
    tool::ServerTools,
};
use super::tool::{Call, Offer, Tool};

/// MCP servers by name. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Servers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    client: Client,
    entries: BTreeMap<String, Entry>,
    limits: Limits,
}

#[derive(Debug)]
struct Entry {
    server: Server,
    /// Held while somebody connects: the others wait for that instead of doing the same.
    connection: Mutex<Option<Arc<Connection>>>,
}

/// Where an MCP server is.
#[derive(Clone, Debug)]
pub enum Server {
    /// A program that speaks MCP on its standard input and output.
    Process(Process),
    /// A URL that speaks streamable HTTP.
    Http(Http),
}

/// A program that speaks MCP on its standard input and output.
///
/// It sees only what it needs of our environment: `PATH`, `HOME` and the like, and what is given
/// here. It is killed with all that it has started.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// What else its environment says.
    pub environment: Vec<(OsString, Secret)>,
    /// The folder that it runs in; ours, unless set.
    pub directory: Option<PathBuf>,
}

/// A URL that speaks streamable HTTP.
#[derive(Clone, Debug)]
pub struct Http {
    /// The URL, as an administrator has named it.
    pub url: String,
    /// A bearer token.
    pub bearer: Option<Secret>,
    /// Further headers.
    pub headers: Vec<(String, Secret)>,
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connecting, and learning which tools there are.
    pub connect: Duration,
    /// One call of a tool.
    pub call: Duration,
}

impl Default for Limits {
    /// 30 seconds and 10 minutes.
    fn default() -> Self {
        Self { connect: Duration::from_secs(30), call: Duration::from_secs(600) }
    }
}

impl Servers {
    /// Knows servers by name. Nothing is started yet.
    pub fn new(client: Client, servers: impl IntoIterator<Item = (String, Server)>) -> Self {
        let entry = |server| Entry { server, connection: Mutex::new(None) };
        let entries = servers.into_iter().map(|(name, server)| (name, entry(server))).collect();
        Self(Arc::new(Inner { client, entries, limits: Limits::default() }))
    }

    /// Returns the names of the servers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.entries.keys().map(String::as_str)
    }

    /// Calls a tool. Dropping the future cancels the call.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        input: Object,
        call: &Call,
    ) -> Result<Vec<Part>, Error> {
        let (connection, known) = self.find(server, tool).await?;
        connection.call(&known, input, call, self.0.limits.call).await
    }

    /// Returns all tools of a server.
    pub async fn tools(&self, server: &str) -> Result<Vec<Arc<dyn Tool>>, Error> {
        let known = self.connect(server).await?.tools(self.0.limits.connect).await?;
        let tools = known.iter().map(|known| {
            Arc::new(tool::McpTool::new(self.clone(), server, known)) as Arc<dyn Tool>
        });
        Ok(tools.collect())
    }

    /// Offers a model one tool of a server, or all of them.
    pub fn offer(&self, server: &str, tool: Option<&str>) -> Offer {
        Offer::All(Arc::new(ServerTools::new(self.clone(), server, tool)))
    }

    /// Ends all connections and programs, and waits until they have ended. They come back when
    /// they are needed.
    pub async fn stop(&self) {
        for entry in self.0.entries.values() {
            let connection = entry.connection.lock().await.take();
            if let Some(connection) = connection {
                connection.stop().await;
            }
        }
    }

    async fn find(&self, server: &str, tool: &str) -> Result<(Arc<Connection>, Known), Error> {
        let connection = self.connect(server).await?;
        let tools = connection.tools(self.0.limits.connect).await?;
        let known = tools.iter().find(|known| known.name == tool).cloned();
        let known = known.ok_or_else(|| Error::NoTool {
            server: server.to_owned(),
            tool: tool.to_owned(),
            known: tools.iter().map(|known| known.name.clone()).collect(),
        })?;
        Ok((connection, known))
    }

    /// Returns the connection to a server, a new one if there is none or it has gone away.
    async fn connect(&self, name: &str) -> Result<Arc<Connection>, Error> {
        let entry = self.0.entries.get(name).ok_or_else(|| Error::NoServer {
            server: name.to_owned(),
            known: self.0.entries.keys().cloned().collect(),
        })?;
        let mut slot = entry.connection.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| connection.is_open()) {
            return Ok(Arc::clone(connection));
        }
        *slot = None;
        let opening = Connection::open(name, &entry.server, &self.0.client, self.0.limits.connect);
        let connection = Arc::new(Box::pin(opening).await?);
        *slot = Some(Arc::clone(&connection));
        Ok(connection)
    }
}
