//! Makes agents of what an administrator says about them over the hub's API.

use std::{path::PathBuf, sync::Arc};

use nuncio::configuration::{
    self, Configuration, InvalidHosted, Kind, ToolName, command_lines, read_hosted,
};
use nuncio_hub::{
    Gateway,
    agent::{Agent, Hosting},
    gateway::{self, Fit, Unfit},
    name::AgentName,
};
use nuncio_net::Client;
use nuncio_protocol::ids::Organisation;
use nuncio_tasks::agent::Employed;
use serde::Deserialize;

use super::{
    agents::hosted_card,
    kinds::{Kinds, Shared},
};

/// Makes agents, with the providers and servers of the configuration.
pub(super) struct Employer {
    configuration: Arc<Configuration>,
    organisation: Organisation,
    gateway: Gateway,
    shared: Shared,
    /// Reaches what agents elsewhere may be at, and nothing else: an address that came over the
    /// network is worth no more than theirs.
    requests: Client,
    /// Where what may not come over the network is to be written.
    file: Option<PathBuf>,
}

impl Employer {
    pub(super) fn new(kinds: &Kinds<'_>, requests: Client, file: Option<PathBuf>) -> Self {
        let Kinds { configuration, organisation, gateway, shared, .. } = kinds;
        Self {
            configuration: Arc::new((*configuration).clone()),
            organisation: (*organisation).clone(),
            gateway: (*gateway).clone(),
            shared: shared.clone(),
            requests,
            file,
        }
    }

    fn read(
        &self,
        name: &str,
        role: Option<&str>,
        hosting: &Hosting,
    ) -> Result<configuration::Agent, InvalidHosted> {
        let Hosting { kind, settings } = hosting;
        read_hosted(name, role, (kind, settings), &self.configuration)
    }

    /// Says where a program is to be written down.
    fn no_program(&self, name: &str, role: Option<&str>, settings: &str) -> Unfit {
        #[derive(Default, Deserialize)]
        struct Settings {
            #[serde(default)]
            command: Vec<String>,
        }
        let Settings { command } = serde_json::from_str(settings).unwrap_or_default();
        let lines = command_lines(name, role, &command);
        let place = match &self.file {
            Some(file) => format!("put this into {}", file.display()),
            None => "start the hub with --config FILE, and put this there".to_owned(),
        };
        let detail = format!("no program is started on the word of the network; {place}:\n{lines}");
        Unfit { field: "kind".to_owned(), detail }
    }
}

impl gateway::Employer for Employer {
    fn check(&self, name: &AgentName, role: Option<&str>, hosting: &Hosting) -> Result<Fit, Unfit> {
        if hosting.kind == Kind::Command.as_str() {
            return Err(self.no_program(name.as_str(), role, &hosting.settings));
        }
        let unfit = |InvalidHosted { field, detail }| Unfit { field, detail };
        let written = self.read(name.as_str(), role, hosting).map_err(unfit)?;
        let kind = written.kind.unwrap_or(Kind::Echo);
        let card = hosted_card(&written, kind).map_err(|error| Unfit {
            field: "role".to_owned(),
            detail: format!("makes no card: {error:#}"),
        })?;
        let own = written.url.iter().map(|url| ("settings.url".to_owned(), url.as_str().into()));
        let tools = written.tools.iter().enumerate().filter_map(|(index, tool)| {
            match ToolName::parse(tool) {
                Some(ToolName::Url(url)) => {
                    Some((format!("settings.tools[{index}]"), url.as_str().to_owned()))
                }
                _ => None,
            }
        });
        Ok(Fit { card, urls: own.chain(tools).collect() })
    }

    fn employ(&self, agent: &Arc<Agent>, hosting: &Hosting) -> Result<Employed, String> {
        let role = agent.role.as_deref();
        let written = self.read(agent.name.as_str(), role, hosting);
        let written = written.map_err(|InvalidHosted { field, detail }| {
            format!("the agent no longer goes with the hub's configuration: {field}: {detail}")
        })?;
        let kind = written.kind.filter(|kind| *kind != Kind::Command);
        let kind = kind.ok_or("no program is started on the word of the network")?;
        let kinds = Kinds {
            configuration: &self.configuration,
            organisation: &self.organisation,
            gateway: &self.gateway,
            shared: self.shared.clone(),
            requests: self.requests.clone(),
        };
        kinds.employ(kind, agent, &written).map_err(|error| format!("{error:#}"))
    }
}
