//! `POST /a2a`: a request for a capability, carried to the best agent that has it.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE, header::RETRY_AFTER, request::Parts};
use nuncio_net::listen::body::Guarded;
use nuncio_protocol::{
    dialect::{
        WireForm,
        opportunity::{Opportunity, PROTOCOL_VERSION},
    },
    error::{Error, ErrorKind, reason},
    json::{self, Kind, Object, Raw, read_with},
    jsonrpc::{Id, Refusal},
    operation::{Operation, Request as A2aRequest, Response as A2aResponse, SendMessageRequest},
    service::Answered,
    task::SendMessageResponse,
    wire::{Call, Echo, JsonRpcForm as _},
};
use nuncio_tasks::scope::{Name, Scope};
use tokio::time::Instant;

use super::exchange::{Exchange, REGISTRY, Refused, SOURCE_AGENT as SOURCE_HEADER, other_version};
use crate::{
    agent::Agent,
    gateway::{Gateway, queue::DELIVERY, route::Ranking},
    http::{
        calls::Callee,
        facade::claim,
        own,
        problem::Problem,
        who::{Role, Who},
    },
    hub::Hub,
};

/// How long callers wait who do not say how long (O-17).
const WAIT: Duration = Duration::from_secs(60);

/// How many agents are tried that turn out not to be there.
const MOST_TRIED: usize = 3;

/// The member of a request's metadata in which the envelope says who asks.
const SOURCE_AGENT: &str = "sourceAgent";

pub(super) async fn call(State(hub): State<Hub>, request: Request) -> Response {
    let mut exchange = Exchange::begin(request.headers());
    let (mut head, body) = request.into_parts();
    let who = match exchange.recognise(&mut head, &hub).await {
        Ok(who) => who,
        Err(refused) => return exchange.end(&hub, Err(refused)),
    };
    let body = match read_body(&hub, &who, body).await {
        Ok(body) => body,
        Err(refused) => return exchange.end(&hub, Err(refused)),
    };
    if is_json_rpc(&body) {
        if let Err(problem) = claim::check(&head.headers, SOURCE_HEADER, &who) {
            return exchange.end(&hub, Err(problem.into()));
        }
        // Whoever speaks JSON-RPC means the hub's own agent; the line is written there.
        return match own::answer(&hub, &who, head, body).await {
            Ok(response) => response,
            Err(problem) => exchange.end(&hub, Err(problem.into())),
        };
    }
    let asked = Asked { hub: &hub, who: &who, head: &head };
    match asked.answer(&mut exchange, &body).await {
        Ok(response) => response,
        // Nobody was asked, so nobody else has written it down.
        Err(Unasked { echo, error }) => {
            exchange.tell_error(&hub, &error);
            reply(REGISTRY, &echo, Err(&error))
        }
    }
}

async fn read_body(hub: &Hub, who: &Who, body: Body) -> Result<Bytes, Refused> {
    who.somebody()?;
    let body = Guarded::new(body, hub.settings.call_bodies).collect().await;
    Ok(body.map_err(Problem::from)?)
}

/// Tells whether a body is a call of JSON-RPC, and no envelope (catalogue §7.1).
fn is_json_rpc(body: &[u8]) -> bool {
    let mut found = false;
    let Ok(text) = json::text(body) else { return false };
    // What is wrong with it is found by who reads it next.
    let _ = read_with(text, |reader| {
        if reader.peek()? != Kind::Object {
            return reader.skip();
        }
        reader.members(|reader, key| {
            found |= key == "jsonrpc";
            reader.skip()
        })
    });
    found
}

/// A request for a capability.
struct Asked<'a> {
    hub: &'a Hub,
    who: &'a Who,
    head: &'a Parts,
}

/// A request that reached no agent.
struct Unasked {
    echo: Echo,
    error: Error,
}

impl Asked<'_> {
    async fn answer(&self, exchange: &mut Exchange, body: &[u8]) -> Result<Response, Unasked> {
        let form = Opportunity { agent_id: REGISTRY.to_owned() };
        let unread =
            |id: Id, error: Error| Unasked { echo: Echo::new(id, Operation::SendMessage), error };
        let text = json::text(body).map_err(|error| unread(Id::null(), error.into()))?;
        let Call { echo, request, .. } =
            form.read_call(text).map_err(|Refusal { id, error }| unread(id, error))?;
        exchange.name(&echo);
        let unasked = |error| Unasked { echo: echo.clone(), error };
        let A2aRequest::SendMessage(mut request) = request else {
            let text = "only requests for a capability are taken here";
            return Err(unasked(Error::new(ErrorKind::UnsupportedOperation, text)));
        };
        self.check_head().and_then(|()| self.say_who(&mut request)).map_err(unasked)?;
        let agents = self.agents(&echo.capability, &request).await.map_err(unasked)?;
        let mut last = None;
        for agent in agents {
            let callee = Callee::new(self.hub, self.who, &agent, self.head.clone())
                .map_err(|problem| unasked(Error::new(ErrorKind::Internal, problem.detail)))?;
            let request = A2aRequest::SendMessage(request.clone());
            let answered = callee.call(request, |ctx| {
                ctx.form = Some(WireForm::Opportunity);
                ctx.deadline.get_or_insert_with(|| (Instant::now() + WAIT).into_std());
                ctx.idempotency_key.get_or_insert_with(|| exchange.request_id.clone());
            });
            let outcome = answered.await.and_then(Answered::into_response);
            let is_unsent = outcome.as_ref().is_err_and(|error| {
                error.metadata().get(DELIVERY).is_some_and(|delivery| delivery == "none")
            });
            self.count_timeout(&outcome);
            let response = reply(agent.id.as_str(), &echo, outcome.as_ref());
            if !is_unsent {
                return Ok(response);
            }
            // Whoever has not got it cannot have begun with it: somebody else may.
            last = Some(response);
        }
        let text = "nobody is left who could be asked";
        last.ok_or_else(|| unasked(Error::new(ErrorKind::Unavailable, text)))
    }

    /// Checks what the head says about the request (O-06, O-14).
    fn check_head(&self) -> Result<(), Error> {
        let headers = &self.head.headers;
        claim::check(headers, SOURCE_HEADER, self.who)
            .map_err(|problem| Error::new(ErrorKind::PermissionDenied, problem.detail))?;
        match other_version(headers) {
            Some(version) => Err(Error::version_not_supported(version, &[PROTOCOL_VERSION])),
            None => Ok(()),
        }
    }

    /// Has the request say of its sender what the credential says (C-20).
    fn say_who(&self, request: &mut SendMessageRequest) -> Result<(), Error> {
        let metadata = request.metadata.take().unwrap_or_default();
        let claimed = metadata.get(SOURCE_AGENT).and_then(|agent| agent.as_object());
        let claimed = claimed.and_then(|agent| agent.get("id")?.as_text());
        request.metadata = Some(if let Role::Agent(id) = &self.who.role {
            if claimed.is_some_and(|claimed| claimed != id.as_str()) {
                let text = "`source_agent.id` names somebody else than the credential does";
                return Err(Error::new(ErrorKind::PermissionDenied, text));
            }
            metadata
        } else {
            let name = self.who.identity.name().unwrap_or("anonymous");
            let source = Object::from_members([("id", Raw::string(name))]);
            metadata.with(SOURCE_AGENT, source.into_raw())
        });
        Ok(())
    }

    /// Finds those who are asked, one after the other.
    async fn agents(
        &self,
        capability: &str,
        request: &SendMessageRequest,
    ) -> Result<Vec<Arc<Agent>>, Error> {
        let nobody = || Error::new(ErrorKind::Unavailable, "this hub carries no messages");
        let gateway = self.hub.gateway.as_ref().ok_or_else(nobody)?;
        if let Some(task) = &request.message.task_id {
            // A task stays where it is.
            let owner = self.owner(gateway, task).await;
            return owner.map(|agent| vec![agent]).ok_or_else(|| Error::task_not_found(task));
        }
        let ranking = gateway.rank(self.who.asker(), capability);
        let Some(best) = ranking.ranked.first() else { return Err(none(capability, &ranking)) };
        tracing::info!(
            target: "nuncio::route",
            capability,
            agent = best.agent.name.as_str(),
            score = best.score,
            why = best.why,
            others = ranking.ranked.len() - 1,
            left_out = ranking.left_out.len(),
            "an agent was chosen"
        );
        Ok(ranking.ranked.into_iter().map(|ranked| ranked.agent).take(MOST_TRIED).collect())
    }

    async fn owner(
        &self,
        gateway: &Gateway,
        task: &nuncio_protocol::ids::TaskId,
    ) -> Option<Arc<Agent>> {
        let organisation = &self.who.organisation;
        let scope = Scope::tenant(Name::parse(organisation.as_str()).ok()?);
        let kin = gateway.tasks().kin(&scope, task).await.ok()??;
        let state = self.hub.directory.state();
        state.find(organisation, kin.place.agent.as_str()).cloned()
    }

    /// Counts an answer that says nothing but that it takes longer (O-21).
    fn count_timeout(&self, outcome: &Result<A2aResponse, Error>) {
        if let Ok(A2aResponse::SendMessage(SendMessageResponse::Task(task))) = outcome
            && !task.status.state.is_terminal()
            && !task.status.state.is_interrupted()
        {
            self.hub.metrics.a2a_timeout();
        }
    }
}

/// Says why nobody is asked.
fn none(capability: &str, ranking: &Ranking) -> Error {
    if ranking.left_out.is_empty() {
        let text = format!("{capability} is not a supported capability");
        return Error::new(ErrorKind::InvalidParams, text).with_reason(reason::SKILL_NOT_FOUND);
    }
    let why = ranking
        .left_out
        .iter()
        .map(|left_out| format!("{}: {}", left_out.agent.name, left_out.why));
    let text = format!("nobody can be asked ({})", why.collect::<Vec<_>>().join("; "));
    if ranking.left_out.iter().all(|left_out| left_out.why.starts_with("forbidden")) {
        return Error::new(ErrorKind::PermissionDenied, text);
    }
    Error::new(ErrorKind::Unavailable, text)
        .with_reason(reason::AGENT_UNAVAILABLE)
        .with_retry_after(Duration::from_secs(30))
}

/// Answers in the envelope: 200, unless it is about the caller or there is nobody (C-35).
fn reply(agent: &str, echo: &Echo, outcome: Result<&A2aResponse, &Error>) -> Response {
    let form = Opportunity { agent_id: agent.to_owned() };
    let mut response = Response::new(Body::from(form.write_reply(echo, outcome)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Err(error) = outcome {
        if let Some(delay) = error.retry_after() {
            headers.insert(RETRY_AFTER, delay.as_secs().max(1).into());
        }
        *response.status_mut() = match error.kind() {
            ErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
            ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
            ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::BudgetExceeded => StatusCode::PAYMENT_REQUIRED,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::OK,
        };
    }
    response
}
