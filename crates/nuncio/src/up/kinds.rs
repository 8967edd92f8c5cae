//! Agents that the hub runs itself, made of what the configuration says.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use nuncio::configuration::{
    self, Configuration, ExtractMode, Kind, ProviderKind, ToolName, split_model,
};
use nuncio_hub::{Gateway, agent::Agent};
use nuncio_net::{
    Client, Guard, Policy,
    egress::{Errand, Purpose},
};
use nuncio_protocol::{
    ids::{Organisation, Tenant},
    json::Raw,
    service::{CallContext, Caller},
};
use nuncio_server::kinds::{
    Command, Echo,
    http::{Body, Carried, Http, Limits, Request, Sender},
    llm::{self, Llm, Provider},
    mcp::{self, Mcp, Servers},
    tool::{Delegate, HttpTool, Named, Offer},
};
use nuncio_tasks::agent::Employed;
use nuncio_workflow::runner::job::Owner;

/// What these agents reach, they reach because an administrator has written it down.
pub(super) const ERRAND: Errand = Errand::administrator(Purpose::Agent);

/// Makes agents that the hub runs itself.
pub(super) struct Kinds<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) organisation: &'a Organisation,
    pub(super) gateway: &'a Gateway,
    pub(super) shared: Shared,
    /// Sends the requests of agents and tools.
    pub(super) requests: Client,
}

/// What all of them have together.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) servers: Servers,
}

impl<'a> Kinds<'a> {
    pub(super) fn new(
        gateway: &'a Gateway,
        organisation: &'a Organisation,
        configuration: &'a Configuration,
    ) -> Self {
        let client = Client::new(Guard::new(policy(configuration)));
        let servers = configuration.mcp_servers.iter();
        let servers = servers.map(|(name, server)| (name.clone(), self::server(server.get())));
        let servers = Servers::new(client.clone(), servers);
        let requests = client.clone();
        let shared = Shared { client, servers };
        Self { configuration, organisation, gateway, shared, requests }
    }

    /// Makes an agent of its kind.
    pub(super) fn employ(
        &self,
        kind: Kind,
        agent: &Arc<Agent>,
        written: &configuration::Agent,
    ) -> anyhow::Result<Employed> {
        Ok(match kind {
            Kind::Echo => Employed::new(Echo),
            Kind::Command => {
                let (program, rest) = written.command.split_first().context("a program")?;
                Employed::new(Command::new(program, rest))
            }
            Kind::Llm => Employed::new(self.llm(agent, written)?),
            Kind::Http => Employed::new(self.http(written)?),
            Kind::Mcp => {
                let tool = written.tool.as_ref().and_then(|tool| ToolName::parse(tool));
                let Some(ToolName::Mcp { server, tool: Some(tool) }) = tool else {
                    anyhow::bail!("`tool`: expected mcp://server/tool");
                };
                Employed::new(Mcp::new(self.shared.servers.clone(), server, tool))
            }
        })
    }

    fn llm(&self, agent: &Arc<Agent>, written: &configuration::Agent) -> anyhow::Result<Llm> {
        let model = written.model.as_ref().or(self.configuration.default_model.as_ref());
        let model = self.model(model.context("`model` is missing")?)?;
        let owner = Owner { agent: agent.id.as_str().to_owned(), behalf: None };
        let tools = written.tools.iter().map(|tool| self.offer_to(&owner, tool));
        let extract = written.output_extract.as_ref().map(|extract| {
            let name = extract.key.clone().or_else(|| extract.tag.clone()).unwrap_or_default();
            match extract.mode {
                ExtractMode::Json => llm::Extract::Json { key: name },
                ExtractMode::Tagged => llm::Extract::Tagged { tag: name },
            }
        });
        let mut limits = llm::Limits::default();
        if let Some(timeout) = written.timeout {
            limits.time = timeout.get();
        }
        let settings = llm::Settings {
            system: written.system_prompt.clone(),
            tools: tools.collect::<anyhow::Result<_>>()?,
            max_turns: written.max_turns,
            format: match written.format {
                Some(configuration::Format::Json) => llm::Format::Json,
                _ => llm::Format::Text,
            },
            schema: written.schema.as_ref().map(Raw::from_value).transpose()?,
            extract,
            temperature: written.temperature,
            top_p: written.top_p,
            max_tokens: written.max_tokens,
            limits,
        };
        Ok(Llm::new(model, settings).memory(Arc::new(self.gateway.tasks().clone())))
    }

    pub(super) fn model(&self, text: &str) -> anyhow::Result<Arc<dyn llm::Model>> {
        let (name, model) = split_model(text).context("`model`: expected provider/model")?;
        let written = self.configuration.providers.get(name);
        let written = written.with_context(|| format!("there is no provider `{name}`"))?.get();
        let kind = match written.kind {
            ProviderKind::Openai => llm::ProviderKind::OpenAi,
            ProviderKind::Anthropic => llm::ProviderKind::Anthropic,
            ProviderKind::Gemini => llm::ProviderKind::Gemini,
            ProviderKind::Ollama => llm::ProviderKind::Ollama,
        };
        let mut provider = Provider::new(kind, self.shared.client.clone()).name(name);
        if let Some(url) = &written.url {
            provider = provider.url(url.as_str());
        }
        if let Some(key) = &written.api_key {
            provider = provider.key(key.secret().clone());
        }
        provider.model(model).with_context(|| format!("providers.{name}.url"))
    }

    /// Makes a tool of what the file names.
    pub(super) fn offer_to(&self, owner: &Owner, text: &str) -> anyhow::Result<Offer> {
        // A workflow is an agent, too.
        let tool = match text.strip_prefix("workflow://") {
            Some(name) => ToolName::parse(&format!("agent://{name}")),
            None => ToolName::parse(text),
        };
        Ok(match tool.with_context(|| format!("`tools`: expected {}", ToolName::EXPECTED))? {
            ToolName::Mcp { server, tool } => self.shared.servers.offer(&server, tool.as_deref()),
            ToolName::Agent(name) => self.delegate(owner, &name)?.into(),
            ToolName::Url(url) => {
                let named = Named {
                    name: format!("get_{}", host(url.as_str())),
                    description: format!("Fetches {url}, with a query if one is given."),
                    source: url.as_str().to_owned(),
                };
                let request = Request::new("GET", url.as_str())?;
                HttpTool::new(named, self.sender(None), request).into()
            }
        })
    }

    /// Lets an agent hand jobs to another one, by way of the gateway: as itself, and within what
    /// it may.
    fn delegate(&self, owner: &Owner, name: &str) -> anyhow::Result<Delegate> {
        let written = self.configuration.agents.iter().find(|other| other.name.as_str() == name);
        let role = written.and_then(|other| other.role.clone());
        let description = match role {
            Some(role) => format!("Asks the agent `{name}`: {role}"),
            None => format!("Asks the agent `{name}` to do something."),
        };
        let named = Named { name: name.to_owned(), description, source: format!("agent://{name}") };
        let caller = Caller::Agent(owner.agent.as_str().into());
        let behalf = owner.behalf.as_deref().map(nuncio_hub::gateway::caller_of);
        let organisation: Arc<str> = self.organisation.as_str().into();
        let tenant = Tenant::parse(name)?;
        Ok(Delegate::new(named, self.gateway.service(), move |call| CallContext {
            organisation: Some(Arc::clone(&organisation)),
            tenant: Some(tenant.clone()),
            parent: call.task.clone(),
            on_behalf_of: behalf.clone(),
            trace: call.trace.clone(),
            ..CallContext::new(caller.clone())
        }))
    }

    fn http(&self, written: &configuration::Agent) -> anyhow::Result<Http> {
        let url = written.url.as_ref().context("`url` is missing")?.as_str();
        let usual = if written.body.is_some() { "POST" } else { "GET" };
        let mut request = Request::new(written.method.as_deref().unwrap_or(usual), url)?;
        for (name, value) in &written.headers {
            request = request.header(name, value.secret().expose())?;
        }
        if let Some(body) = &written.body {
            request = request.body(match &body.0 {
                serde_json::Value::String(text) => Body::Text(text.clone()),
                other => Body::Json(Raw::from_value(other)?),
            });
        }
        let timeout = written.timeout.map(configuration::HumanDuration::get);
        let http = Http::new(self.sender(timeout), request);
        Ok(match &written.query {
            Some(name) => http.carry(Carried::Query(name.clone())),
            None => http,
        })
    }

    fn sender(&self, timeout: Option<Duration>) -> Sender {
        let limits = Limits::default();
        let limits = Limits { time: timeout.unwrap_or(limits.time), ..limits };
        Sender::new(self.requests.clone(), ERRAND).limits(limits)
    }
}

/// What these agents may reach: this machine, and what the file opens for them. Whether http will
/// do was judged when the file was read.
fn policy(configuration: &Configuration) -> Policy {
    let mut policy = Policy::default().allow_http(ERRAND);
    for range in ["127.0.0.0/8", "::1/128"] {
        policy = policy.open(Purpose::Agent, range.parse().expect("a range"));
    }
    let providers = configuration.providers.values().map(|provider| &provider.allow_private);
    let servers = configuration.mcp_servers.values().map(|server| &server.allow_private);
    let agents = configuration.agents.iter().filter(|agent| agent.kind.is_some());
    let agents = agents.map(|agent| &agent.allow_private);
    for range in providers.chain(servers).chain(agents).flatten() {
        policy = policy.open(Purpose::Agent, range.0);
    }
    policy
}

fn server(written: &configuration::McpServer) -> mcp::Server {
    let secret = |value: &configuration::SecretText| value.secret().clone();
    match &written.url {
        Some(url) => mcp::Server::Http(mcp::Http {
            url: url.as_str().to_owned(),
            bearer: written.bearer.as_ref().map(secret),
            headers: written
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), secret(value)))
                .collect(),
        }),
        None => mcp::Server::Process(mcp::Process {
            command: written.command.iter().map(Into::into).collect(),
            environment: written
                .environment
                .iter()
                .map(|(name, value)| (name.into(), secret(value)))
                .collect(),
            directory: written.directory.clone(),
        }),
    }
}

/// Returns the host of a URL, for the name of a tool.
fn host(url: &str) -> String {
    let url = url::Url::parse(url).ok();
    url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}
