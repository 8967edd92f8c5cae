//! Runs of workflows: what they need from the hub.
//!
//! A run acts as the agent that its workflow is, and on behalf of whoever began it: it may call
//! whom either may call. A run within a run acts on behalf of whoever began the first.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock, Weak},
};

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use nuncio_auth::rules::Asker;
use nuncio_protocol::{
    error::{Error, ErrorKind, reason},
    ids::{AgentId, MessageId, Organisation, Tenant},
    json,
    operation::SendMessageRequest,
    service::{A2aService as _, Answer, CallContext, Caller, Events},
};
use nuncio_tasks::{
    agent::{Asked, Employed},
    engine::{Call, Tasks},
    scope::{Name, Place, caller_name},
};
use nuncio_workflow::runner::{
    Callee, Given, Note, RunId, Site, Source, Work,
    job::{NodeAgent, Sort, Toolbox},
};
use tokio::sync::SetOnce;

use super::{Gateway, Inner, capability::name_skill, observe::Observed, trace};
use crate::Directory;

/// What stands between the parts of the name of a node that we run ourselves.
const SEPARATOR: char = '/';

/// What runs need from the hub.
pub(crate) struct Runs {
    directory: Directory,
    tasks: OnceLock<Tasks>,
    gateway: SetOnce<Weak<Inner>>,
    nodes: RwLock<HashMap<Sort, Employed>>,
}

impl Runs {
    pub(super) fn new(directory: Directory) -> Self {
        let (tasks, gateway, nodes) = (OnceLock::new(), SetOnce::new(), RwLock::default());
        Self { directory, tasks, gateway, nodes }
    }

    pub(super) fn set_tasks(&self, tasks: &Tasks) {
        // There is but one engine to a gateway.
        self.tasks.set(tasks.clone()).ok();
    }

    pub(super) fn set_gateway(&self, gateway: &Gateway) {
        // There is but one gateway.
        self.gateway.set(Arc::downgrade(&gateway.0)).ok();
    }

    pub(super) fn equip(&self, toolbox: &Arc<dyn Toolbox>) {
        let sorts = [Sort::Agent, Sort::Tool, Sort::Command, Sort::Fetch, Sort::Http];
        let agents =
            sorts.map(|sort| (sort, Employed::new(NodeAgent::new(Arc::clone(toolbox), sort))));
        *self.nodes.write().unwrap_or_else(PoisonError::into_inner) = agents.into();
    }

    pub(super) fn put_down(&self) {
        self.nodes.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns who does the jobs of a sort of nodes.
    pub(super) fn node(&self, sort: Sort) -> Option<Employed> {
        self.nodes.read().unwrap_or_else(PoisonError::into_inner).get(&sort).cloned()
    }

    /// Waits until the gateway is there: the engine is there before it.
    async fn gateway(&self) -> Result<Gateway, Error> {
        let gateway = self.gateway.wait().await.upgrade();
        gateway.map(Gateway).ok_or_else(|| Error::new(ErrorKind::Unavailable, "the hub stops"))
    }

    /// Finds the name of the agent that is meant.
    fn name(&self, gateway: &Gateway, run: &RunId, to: &Callee) -> Result<String, Error> {
        match to {
            Callee::Capability(capability) => {
                let organisation = organisation(&run.place.tenant)?;
                let workflow = AgentId::parse(run.place.agent.as_str());
                let workflow = workflow.map_err(|_| internal("the workflow has no name"))?;
                let asker = Asker::Agent { id: &workflow, organisation: &organisation };
                let mut ranking = gateway.rank(asker, capability);
                let behalf = run.behalf.as_deref().map(caller_of);
                if let (true, Some(Caller::User(name))) = (ranking.ranked.is_empty(), behalf) {
                    let asker = Asker::User { name: &name, organisation: &organisation };
                    ranking = gateway.rank(asker, capability);
                }
                let best = ranking.ranked.first().map(|one| one.agent.name.as_str().to_owned());
                best.ok_or_else(|| {
                    let text =
                        format!("nobody whom the workflow may call offers `{capability}` now");
                    Error::new(ErrorKind::Unavailable, text).with_reason(reason::AGENT_UNAVAILABLE)
                })
            }
            to => self.callee(&run.place.tenant, to),
        }
    }

    /// Finds the name of an agent that is meant by its own, or by where it is.
    pub(super) fn callee(&self, tenant: &Name, to: &Callee) -> Result<String, Error> {
        match to {
            Callee::Agent(name) => Ok(name.clone()),
            Callee::Url(url) => {
                let organisation = organisation(tenant)?;
                let state = self.directory.state();
                let is_it = |address: &Option<Arc<str>>| {
                    let same =
                        |found: &Arc<str>| found.trim_end_matches('/') == url.trim_end_matches('/');
                    address.as_ref().is_some_and(same)
                };
                let mut agents = state.in_order(&organisation, None);
                let found = agents
                    .find(|agent| is_it(&agent.addresses.card) || is_it(&agent.addresses.public));
                let found = found.map(|agent| agent.name.as_str().to_owned());
                found.ok_or_else(|| {
                    let text = format!("nobody here is at {url}: `nuncio agents add {url}` first");
                    Error::new(ErrorKind::InvalidParams, text)
                })
            }
            Callee::Node(..) | Callee::Capability(_) => Err(internal("it is no agent")),
        }
    }

    /// Gives work to a node of ours: without a hop, as a task like any other.
    async fn give_node(
        &self,
        run: &RunId,
        work: Work,
        (node, sort): (&str, Sort),
    ) -> Result<Given, Error> {
        let agent = format!("{}/{}/{node}", run.place.agent, sort.as_str());
        let name = |text: &str| Name::parse(text).map_err(|error| internal(&error.to_string()));
        let caller = Caller::Agent(run.place.agent.as_str().into());
        let place = Place {
            tenant: run.place.tenant.clone(),
            agent: name(&agent)?,
            caller: caller_name(&caller).map_err(|error| internal(&error.to_string()))?,
        };
        let first = Note { behalf: run.behalf.clone(), ..Note::default() };
        let call = Call {
            key: Some(work.key),
            new_task: Some(work.task),
            parent: Some(run.task.clone()),
            note: Some(json::to_string(&first).into()),
            asked: Asked { trace: Some(trace::root()), ..Asked::default() },
            ..Call::new(place)
        };
        let events = self.tasks().stream(&call, SendMessageRequest::new(work.message)).await?;
        Ok(Given { events, is_run: false })
    }
}

impl Site for Runs {
    fn tasks(&self) -> Tasks {
        // Set before the engine does anything.
        self.tasks.get().expect("the engine is there").clone()
    }

    fn workflow(&self, place: &Place, version: Option<u32>) -> Option<Source> {
        let id = AgentId::parse(place.agent.as_str()).ok()?;
        let saved = self.directory.state().workflow(&id, version).cloned()?;
        Some(Source { version: saved.version, text: Arc::clone(&saved.source) })
    }

    fn give(&self, run: &RunId, work: Work) -> Answer<'_, Given> {
        let run = run.clone();
        Box::pin(async move {
            if let Callee::Node(node, sort) = &work.to.clone() {
                return self.give_node(&run, work, (node, *sort)).await;
            }
            let gateway = self.gateway().await?;
            let name = self.name(&gateway, &run, &work.to)?;
            let tenant = Tenant::parse(&name)
                .map_err(|_| Error::new(ErrorKind::InvalidParams, format!("no agent `{name}`")))?;
            let mut ctx = CallContext::new(Caller::Agent(run.place.agent.as_str().into()));
            ctx.organisation = Some(run.place.tenant.as_str().into());
            ctx.tenant = Some(tenant.clone());
            ctx.parent = Some(run.task.clone());
            ctx.on_behalf_of = run.behalf.as_deref().map(caller_of);
            ctx.idempotency_key = Some(work.key);
            ctx.new_task = Some(work.task);
            let mut request = SendMessageRequest {
                tenant: Some(tenant),
                ..SendMessageRequest::new(work.message)
            };
            let is_run = {
                let state = self.directory.state();
                let agent = state.callee(&organisation(&run.place.tenant)?, &name);
                if let (Callee::Capability(capability), Some(agent)) = (&work.to, agent) {
                    name_skill(&mut request, agent, capability);
                }
                agent.is_some_and(|agent| state.workflow(&agent.id, None).is_some())
            };
            let events = Observed::new(gateway).send_streaming_message(ctx, request).await?;
            Ok(Given { events, is_run })
        })
    }
}

impl Gateway {
    /// Begins a run of a workflow, as if its caller had sent the message, with more to say about
    /// it.
    pub(crate) async fn begin_run(
        &self,
        ctx: CallContext,
        request: SendMessageRequest,
        note: Note,
    ) -> Result<Events, Error> {
        let operation = nuncio_protocol::operation::Operation::SendStreamingMessage;
        let (_, mut call) = self.0.judge_send(&ctx, operation, &request).await?;
        call.note = Some(first_note(&ctx, note));
        self.0.tasks.stream(&call, request).await
    }
}

/// Names the message that begins a run under a key: if it is sent again, it is the same.
pub(crate) fn message_of(key: &str) -> MessageId {
    let name = format!("run:{}", URL_SAFE_NO_PAD.encode(digest(&SHA256, key.as_bytes())));
    MessageId::parse(&name).unwrap_or_else(|_| MessageId::generate())
}

/// Returns what a run begins with: for whom it runs.
pub(super) fn first_note(ctx: &CallContext, note: Note) -> Bytes {
    let behalf = ctx.on_behalf_of.as_ref().unwrap_or(&ctx.caller);
    json::to_string(&Note { behalf: Some(name_of(behalf)), ..note }).into()
}

/// Returns a caller as notes have it.
pub(crate) fn name_of(caller: &Caller) -> String {
    match caller {
        Caller::Agent(id) => format!("agent:{id}"),
        Caller::User(name) => format!("user:{name}"),
        _ => "anonymous".to_owned(),
    }
}

/// Reads for whom a run acts, as its note has it.
pub fn caller_of(text: &str) -> Caller {
    match text.split_once(':') {
        Some(("agent", id)) => Caller::Agent(id.into()),
        Some(("user", name)) => Caller::User(name.into()),
        _ => Caller::Anonymous,
    }
}

/// Returns the sort of the node of ours whose place it is, if it is one.
pub(super) fn sort_of(place: &Place) -> Option<Sort> {
    let mut parts = place.agent.as_str().split(SEPARATOR);
    let (_, sort, _) = (parts.next()?, parts.next()?, parts.next()?);
    Sort::from_name(sort)
}

/// Returns the workflow and the node whose place it is, if it is one of ours.
pub(crate) fn node_of(agent: &str) -> Option<(AgentId, &str)> {
    let mut parts = agent.split(SEPARATOR);
    let (workflow, _, node) = (parts.next()?, parts.next()?, parts.next()?);
    Some((AgentId::parse(workflow).ok()?, node))
}

fn organisation(tenant: &Name) -> Result<Organisation, Error> {
    Organisation::parse(tenant.as_str()).map_err(|_| internal("the run has no organisation"))
}

fn internal(text: &str) -> Error {
    Error::new(ErrorKind::Internal, text)
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs").finish_non_exhaustive()
    }
}
