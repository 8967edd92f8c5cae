//! The way to agents from outside the hub, as the other commands go.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use ipnet::IpNet;
use nuncio_client::{Client, Credentials, Interface, Origin, Remote as Line, credentials::Bearer};
use nuncio_net::{Client as NetClient, Errand, Guard, Policy, Purpose, Secret, Trust};
use nuncio_protocol::{
    dialect::WireForm,
    error::Error as A2aError,
    ids::TaskId,
    operation::Request,
    service::{Answered, CallContext, Caller, Events},
};
use serde::Deserialize;

use super::{
    outside::Outside,
    ways::{Found, Listed, Skill, Target, Told, Wanted, Ways},
};
use crate::{
    failure::Failure,
    hub::{Hub, Known, query, segment},
    logins::Logins,
};

/// Calls as the user of this machine.
pub(super) struct Remote {
    hub: Hub,
    url: String,
    /// To the agents of the hub. Its cards are not asked: whatever it calls itself to others, it
    /// is where the user says.
    net: NetClient,
    key: Option<Arc<dyn Credentials>>,
    /// To agents elsewhere. What a model names is a stranger's word, except where the user has
    /// opened something.
    others: Client,
    trust: Trust,
    logins: Logins,
}

/// What the hub says of agents.
#[derive(Deserialize)]
struct Page {
    agents: Vec<Agent>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Agent {
    name: String,
    title: String,
    #[serde(default)]
    description: String,
    status: String,
    skills: Vec<AgentSkill>,
}

#[derive(Deserialize)]
struct AgentSkill {
    id: String,
    name: String,
    #[serde(default)]
    description: String,
    tags: Vec<String>,
}

/// What the hub says of a task, as far as it matters here.
#[derive(Deserialize)]
struct Row {
    agent: Option<String>,
    agent_name: Option<String>,
}

impl Remote {
    pub(super) fn new(known: &Known, opened: &[IpNet]) -> Result<Self, Failure> {
        let url = known.url.trim_end_matches('/').to_owned();
        let key = known.key.as_deref().map(str::trim);
        let bearer = key.map(|key| -> Result<Arc<dyn Credentials>, Failure> {
            let origin = Origin::parse(&url);
            let origin = origin.map_err(|error| Failure::usage(format!("--hub: {error}")))?;
            let bearer = Bearer::new(origin, &Secret::new(key));
            Ok(Arc::new(bearer.map_err(|_| Failure::usage("--key: not a key"))?))
        });
        let trust = if opened.is_empty() { Trust::Caller } else { Trust::Administrator };
        Ok(Self {
            hub: Hub::new(&url, key)?,
            net: net(&everywhere()),
            key: bearer.transpose()?,
            others: Client::new(net(opened)),
            trust,
            logins: Logins::load()?,
            url,
        })
    }

    /// Returns the line to an agent of the hub.
    fn line(&self, name: &str) -> Result<Line, Told> {
        // A capability keeps its sign, which is a letter like any other to a path.
        let url = format!("{}/agents/{}", self.url, segment(name).replace("%7E", "~"));
        let url = self.net.guard().check_url(&url, Errand::administrator(Purpose::Agent));
        let url = url.map_err(|error| Told::new("INVALID", format!("--hub: {error}")))?;
        let interface = Interface { url, form: WireForm::V1, tenant: None };
        Ok(Line::new(self.net.clone(), interface).on_behalf_of(self.key.clone()))
    }

    /// Returns the way to an agent elsewhere. A credential that is kept for it is shown to it.
    fn outside(&self, url: &str) -> Result<Outside, Told> {
        let outside = Outside::new(self.others.clone(), self.trust);
        let Ok(origin) = Origin::parse(url) else { return Ok(outside) };
        let Some(proof) = self.logins.get(&origin) else { return Ok(outside) };
        Ok(outside.credentials(proof.bind(&origin, None, self.others.net())?))
    }
}

#[async_trait]
impl Ways for Remote {
    async fn agents(&self, wanted: &Wanted) -> Result<Found, Told> {
        let limit = (wanted.limit > 0).then(|| wanted.limit.to_string());
        let query = query(&[
            ("q", wanted.search.clone()),
            ("capability", wanted.capability.clone()),
            ("after", wanted.after.clone()),
            ("limit", limit),
        ]);
        let (page, _) = self.hub.read::<Page>(&format!("/api/v1/agents{query}")).await?;
        Ok(Found { agents: page.agents.into_iter().map(listed).collect(), next: page.next })
    }

    async fn call(&self, agent: &Target, request: Request) -> Result<Answered, Told> {
        match agent {
            Target::Named(name) => {
                let called = Box::pin(self.line(name)?.call(context(), request)).await;
                called.map_err(told)
            }
            Target::Url(url) => self.outside(url)?.call(url, request).await,
        }
    }

    async fn follow(&self, agent: &Target, request: Request) -> Result<Events, Told> {
        match agent {
            Target::Named(name) => {
                let opened = Box::pin(self.line(name)?.stream(context(), request)).await;
                let opened = opened.map_err(told)?;
                Ok(Box::pin(opened.map(|event| event.map_err(A2aError::from))))
            }
            Target::Url(url) => self.outside(url)?.follow(url, request).await,
        }
    }

    async fn owner(&self, task: &TaskId) -> Result<String, Told> {
        let path = format!("/api/v1/tasks/{}?history=0", segment(task.as_str()));
        let (row, _) = self.hub.read::<Row>(&path).await?;
        row.agent_name
            .or(row.agent)
            .ok_or_else(|| Told::new("NOT_FOUND", format!("the agent of task {task} is gone")))
    }

    fn hub_url(&self) -> Option<&str> {
        Some(&self.url)
    }
}

/// The hub is wherever the user says.
fn everywhere() -> [IpNet; 2] {
    ["0.0.0.0/0", "::/0"].map(|range| range.parse().expect("a range"))
}

/// Reaches public addresses, and these.
fn net(opened: &[IpNet]) -> NetClient {
    let mut policy = Policy::default();
    for purpose in [Purpose::Card, Purpose::Agent] {
        for range in opened {
            policy = policy.open(purpose, *range);
        }
        if !opened.is_empty() {
            policy = policy.allow_http(Errand::administrator(purpose));
        }
    }
    NetClient::new(Guard::new(policy))
}

/// Who we are is for the key to prove.
fn context() -> CallContext {
    CallContext::new(Caller::Anonymous)
}

/// Says what is wrong with a call to the hub, as the other commands do.
fn told(error: nuncio_client::Error) -> Told {
    let failure = Failure::from(error);
    let is_away = failure.is_unreachable();
    let told = Told::from(failure);
    if is_away { told.hint("`nuncio up` starts a hub; --hub names one elsewhere") } else { told }
}

fn listed(agent: Agent) -> Listed {
    let skills = agent.skills.into_iter().map(|skill| Skill {
        id: skill.id,
        name: skill.name,
        description: skill.description,
        tags: skill.tags,
    });
    Listed {
        name: agent.name,
        title: agent.title,
        description: agent.description,
        status: agent.status,
        skills: skills.collect(),
    }
}
