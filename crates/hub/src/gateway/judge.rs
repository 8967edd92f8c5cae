//! Whether a caller may do what it asks for, and what becomes a task of it.

use std::sync::Arc;

use bytes::Bytes;
use nuncio_auth::rules::{Asker, Question};
use nuncio_protocol::{
    error::{Error, ErrorKind, reason},
    ids::{AgentId, Organisation},
    json::Object,
    operation::{Operation, SendMessageRequest},
    service::{CallContext, Caller},
};
use nuncio_server::dialects::SKILL_ID;
use nuncio_tasks::{
    agent::{Asked, Wait},
    engine::Call,
    scope::{Name, Place, caller_name},
};
use nuncio_workflow::runner::Note as RunNote;
use tokio::time::Instant;

use super::{
    Inner,
    note::{Note, Wishes},
    queue::DELIVERY,
    runs, trace, tree,
};
use crate::agent::{Agent, Status};

impl Inner {
    /// Judges a message, also by the skills that it names.
    pub(super) async fn judge_send(
        &self,
        ctx: &CallContext,
        operation: Operation,
        request: &SendMessageRequest,
    ) -> Result<(Arc<Agent>, Call), Error> {
        let of_message = skill(request.message.metadata.as_ref())?;
        let of_request = skill(request.metadata.as_ref())?;
        let skills = match (of_message, of_request) {
            (Some(one), Some(other)) => vec![Some(one), Some(other)],
            (one, other) => vec![one.or(other)],
        };
        let (agent, mut call) = self.judge(ctx, Some(operation), &skills)?;
        if agent.status == Status::Paused {
            return Err(rests(&agent));
        }
        // Agents elsewhere hold to their cards themselves.
        if let Some(card) = agent.card.as_ref().filter(|_| self.hosted.runs(&agent)) {
            card.terms().check_message(ctx, request)?;
        }
        self.check_answer(&call, request).await?;
        self.spend(ctx, &agent, &call, request).await?;
        let limits = self.limits.load_full();
        let own = self.counters.tasks_of(&self.directory.state(), &ctx.caller);
        call.unfinished_tasks = Some(own.unwrap_or(limits.unfinished_tasks));
        call.new_task.clone_from(&ctx.new_task);
        call.note = if self.lines.is_workflow(&agent.id) {
            Some(runs::first_note(ctx, RunNote::default()))
        } else {
            self.first_note(&agent, &call.place, ctx, (operation, request)).await?
        };
        let called = |id: &str| self.called(id);
        let limit = (limits.depth, called);
        call.parent = tree::parent(&self.tasks, ctx, &call.place, limit).await?;
        Ok((agent, call))
    }

    /// Finds the agent that is called, and judges whether the caller may.
    pub(super) fn judge(
        &self,
        ctx: &CallContext,
        operation: Option<Operation>,
        skills: &[Option<String>],
    ) -> Result<(Arc<Agent>, Call), Error> {
        let organisation = self.organisation(ctx)?;
        let Some(name) = &ctx.tenant else {
            let text = "name the agent as `tenant`";
            return Err(Error::new(ErrorKind::InvalidParams, text).with_violation("tenant", text));
        };
        let state = self.directory.state();
        let agent = state.callee(&organisation, name.as_str());
        let agent = agent.ok_or_else(|| no_agent(name.as_str()))?;
        let caller_id = match &ctx.caller {
            Caller::Agent(id) => Some(AgentId::parse(id).map_err(|_| no_agent(name.as_str()))?),
            _ => None,
        };
        let asker = match (&ctx.caller, &caller_id) {
            (_, Some(id)) => Asker::Agent { id, organisation: &organisation },
            (Caller::User(name), _) => Asker::User { name, organisation: &organisation },
            // Whoever sits at an open hub has it for themselves.
            _ if self.settings.is_open => Asker::Administrator { organisation: &organisation },
            _ => {
                let text = "agents are called by those who prove who they are";
                return Err(Error::new(ErrorKind::Unauthenticated, text));
            }
        };
        let behalf_id = match &ctx.on_behalf_of {
            Some(Caller::Agent(id)) => AgentId::parse(id).ok(),
            _ => None,
        };
        let behalf = match (&ctx.on_behalf_of, &behalf_id) {
            (Some(Caller::User(name)), _) => {
                Some(Asker::User { name, organisation: &organisation })
            }
            (Some(Caller::Anonymous), _) if self.settings.is_open => {
                Some(Asker::Administrator { organisation: &organisation })
            }
            (_, Some(id)) => Some(Asker::Agent { id, organisation: &organisation }),
            _ => None,
        };
        let decide = |question: Question<'_>| {
            let decision = state.decider().decide(&**state, &question);
            match behalf.filter(|_| !decision.is_allowed()) {
                Some(caller) => {
                    let other = state.decider().decide(&**state, &Question { caller, ..question });
                    if other.is_allowed() { other } else { decision }
                }
                None => decision,
            }
        };
        for skill in skills {
            let question =
                Question { operation, skill: skill.as_deref(), ..Question::new(asker, &agent.id) };
            let decision = decide(question);
            if !decision.is_allowed() {
                // Who may not even know of the agent is told that there is none.
                let may_see = decide(Question::new(asker, &agent.id)).is_allowed();
                return Err(if may_see {
                    Error::new(ErrorKind::PermissionDenied, decision.to_string())
                } else {
                    no_agent(name.as_str())
                });
            }
        }
        let agent = Arc::clone(agent);
        let call = call(ctx, &organisation, &agent)?;
        Ok((agent, call))
    }

    /// Tells whether a caller may use a skill of the agent that it calls.
    pub(super) fn may_use(&self, ctx: &CallContext, skill: &str) -> bool {
        self.judge(ctx, None, &[Some(skill.to_owned())]).is_ok()
    }

    /// Returns what an agent is called.
    fn called(&self, id: &str) -> String {
        let state = self.directory.state();
        let agent = AgentId::parse(id).ok().and_then(|id| state.agent(&id).cloned());
        agent.map_or_else(|| id.to_owned(), |agent| agent.name.as_str().to_owned())
    }

    pub(super) fn organisation(&self, ctx: &CallContext) -> Result<Organisation, Error> {
        match &ctx.organisation {
            Some(name) if **name != *self.settings.organisation.as_str() => {
                Organisation::parse(name).map_err(|_| {
                    Error::new(ErrorKind::PermissionDenied, "the credential names no organisation")
                })
            }
            _ => Ok(self.settings.organisation.clone()),
        }
    }

    /// Counts a message for whoever pays for it. One that was sent before does nothing more, and
    /// costs nothing.
    async fn spend(
        &self,
        ctx: &CallContext,
        agent: &Agent,
        call: &Call,
        request: &SendMessageRequest,
    ) -> Result<(), Error> {
        let state = self.directory.state().clone();
        let payers = self.counters.payers(&state, &agent.organisation, &ctx.caller, agent);
        if payers.is_empty() || self.tasks.is_repeat(call, request).await? {
            return Ok(());
        }
        let spent = self.counters.spend(&**self.directory.store(), &payers).await;
        if spent.is_err() {
            self.metrics.rate_limited("budget");
        }
        spent
    }

    /// Returns what to begin a task with: how the message was sent, and the agent's own name of
    /// the conversation, if it knows that already.
    async fn first_note(
        &self,
        agent: &Agent,
        place: &Place,
        ctx: &CallContext,
        (operation, request): (Operation, &SendMessageRequest),
    ) -> Result<Option<Bytes>, Error> {
        let SendMessageRequest { message, configuration, metadata, .. } = request;
        if message.task_id.is_some() {
            return Ok(None);
        }
        let modes = configuration.as_ref().map(|wishes| wishes.accepted_output_modes.clone());
        let waits = operation == Operation::SendMessage && !request.returns_immediately();
        let asked = Asked {
            wait: if waits { Wait::End } else { Wait::Events },
            context_is_given: message.context_id.is_some(),
            metadata: metadata.clone(),
            output_modes: modes.unwrap_or_default(),
            ..Asked::default()
        };
        let card = agent.card.as_ref();
        let streams = card.is_some_and(|card| card.card().capabilities.streaming == Some(true));
        let known = match &message.context_id {
            Some(context) => self.tasks.note_in(place, context).await?,
            None => None,
        };
        let note = Note {
            context: Note::read(known.as_ref()).context,
            wishes: Wishes::new(message, &asked, streams),
            behalf: ctx.on_behalf_of.as_ref().map(runs::name_of),
            ..Note::default()
        };
        Ok((note != Note::default()).then(|| note.write()))
    }
}

fn call(ctx: &CallContext, organisation: &Organisation, agent: &Agent) -> Result<Call, Error> {
    let name = |text: &str| {
        Name::parse(text).map_err(|error| Error::new(ErrorKind::InvalidParams, error.to_string()))
    };
    let caller = caller_name(&ctx.caller)
        .map_err(|error| Error::new(ErrorKind::InvalidParams, error.to_string()))?;
    let place =
        Place { tenant: name(organisation.as_str())?, agent: name(agent.id.as_str())?, caller };
    let left = |deadline| Instant::from_std(deadline).saturating_duration_since(Instant::now());
    Ok(Call {
        key: ctx.idempotency_key.clone(),
        version: ctx.version,
        last_event: ctx.last_event,
        wait: ctx.deadline.map(left),
        asked: Asked {
            extensions: ctx.extensions.clone(),
            priority: ctx.priority,
            deadline: ctx.deadline,
            // A trace does not end at the hub, and may begin here.
            trace: ctx.trace.clone().or_else(|| Some(trace::root())),
            ..Asked::default()
        },
        ..Call::new(place)
    })
}

fn skill(metadata: Option<&Object>) -> Result<Option<String>, Error> {
    let Some(value) = metadata.and_then(|metadata| metadata.get(SKILL_ID)) else {
        return Ok(None);
    };
    let text = "must be the id of a skill";
    value.as_text().map(Some).ok_or_else(|| {
        Error::new(ErrorKind::InvalidParams, format!("metadata.{SKILL_ID} {text}"))
            .with_violation(format!("metadata.{SKILL_ID}"), text)
    })
}

fn rests(agent: &Agent) -> Error {
    let name = &agent.name;
    let text = format!("agent `{name}` is paused; an administrator can resume it");
    Error::new(ErrorKind::Unavailable, text)
        .with_reason(reason::AGENT_UNAVAILABLE)
        .with_metadata(DELIVERY, "none")
}

fn no_agent(name: &str) -> Error {
    let text = format!("there is no agent `{name}` that you may call");
    Error::new(ErrorKind::InvalidParams, text.clone()).with_violation("tenant", text)
}
