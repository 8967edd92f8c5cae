//! What does the work of nodes of workflows: models, tools, programs and requests, as far as the
//! configuration has them.

use std::sync::Arc;

use anyhow::Context as _;
use nuncio::configuration::{Configuration, Kind, ToolName};
use nuncio_hub::Gateway;
use nuncio_net::{Client, Guard, Policy};
use nuncio_protocol::{ids::Organisation, json::Raw};
use nuncio_server::kinds::{
    Command,
    http::{Body, Carried, Http, Request, Sender},
    llm::{self, Llm},
    mcp::Mcp,
};
use nuncio_tasks::agent::Employed;
use nuncio_workflow::runner::job::{self, Job, Owner};

use super::kinds::{ERRAND, Kinds, Shared};

/// Does the work of nodes.
pub(super) struct Toolbox {
    configuration: Arc<Configuration>,
    organisation: Organisation,
    gateway: Gateway,
    shared: Shared,
}

impl Toolbox {
    pub(super) fn new(kinds: &Kinds<'_>) -> Self {
        let Kinds { configuration, organisation, gateway, shared, .. } = kinds;
        Self {
            configuration: Arc::new((*configuration).clone()),
            organisation: (*organisation).clone(),
            gateway: (*gateway).clone(),
            shared: shared.clone(),
        }
    }

    fn make(&self, job: &Job, owner: &Owner) -> anyhow::Result<Employed> {
        let kinds = Kinds {
            configuration: &self.configuration,
            organisation: &self.organisation,
            gateway: &self.gateway,
            shared: self.shared.clone(),
            requests: self.shared.client.clone(),
        };
        Ok(match job {
            Job::Agent(model) => Employed::new(llm(&kinds, model, owner)?),
            Job::Tool { tool, .. } => match ToolName::parse(tool) {
                Some(ToolName::Mcp { server, tool: Some(tool) }) => {
                    Employed::new(Mcp::new(self.shared.servers.clone(), server, tool))
                }
                _ => anyhow::bail!("there is no tool `{tool}`: name one as mcp://server/tool"),
            },
            Job::Command { command } => {
                let mut agents = self.configuration.agents.iter();
                let found = agents.find(|agent| {
                    agent.kind == Some(Kind::Command) && agent.name.as_str() == command
                });
                let words = found.map(|agent| &agent.command).with_context(|| {
                    format!("there is no command `{command}`: agents of `kind: command` are")
                })?;
                let (program, rest) = words.split_first().context("a program")?;
                Employed::new(Command::new(program, rest))
            }
            Job::Http { method, url, is_fixed, headers, body } => {
                let mut request = Request::new(method, url)?;
                for (name, value) in headers {
                    request = request.header(name, value)?;
                }
                if let Some(body) = body {
                    request = request.body(match body.as_text() {
                        Some(text) => Body::Text(text),
                        None => Body::Json(Raw::clone(body)),
                    });
                }
                // Where agents have a say in it, only what is public is reached.
                let client = if *is_fixed {
                    self.shared.client.clone()
                } else {
                    Client::new(Guard::new(Policy::default()))
                };
                Employed::new(
                    Http::new(Sender::new(client, ERRAND), request).carry(Carried::Nowhere),
                )
            }
        })
    }
}

fn llm(kinds: &Kinds<'_>, model: &job::Model, owner: &Owner) -> anyhow::Result<Llm> {
    let usual = kinds.configuration.default_model.as_ref().map(|model| model.as_str());
    let name = model.model.as_deref().or(usual);
    let name = name.context("it names no model, and `default_model` is not set")?;
    let tools = model.tools.iter().map(|tool| kinds.offer_to(owner, tool));
    let extract = match (&model.extract_key, &model.extract_tag) {
        (Some(key), _) => Some(llm::Extract::Json { key: key.clone() }),
        (None, Some(tag)) => Some(llm::Extract::Tagged { tag: tag.clone() }),
        (None, None) => None,
    };
    let settings = llm::Settings {
        system: model.system.clone(),
        tools: tools.collect::<anyhow::Result<_>>()?,
        max_turns: model.max_turns,
        format: if model.is_json { llm::Format::Json } else { llm::Format::Text },
        schema: model.schema.clone(),
        extract,
        temperature: model.temperature,
        top_p: model.top_p,
        max_tokens: model.max_tokens,
        ..llm::Settings::default()
    };
    Ok(Llm::new(kinds.model(name)?, settings))
}

impl job::Toolbox for Toolbox {
    fn employ(&self, job: &Job, owner: &Owner) -> Result<Employed, String> {
        self.make(job, owner).map_err(|error| format!("{error:#}"))
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toolbox").finish_non_exhaustive()
    }
}
