//! `/mcp`: a place for a server of the Model Context Protocol, which is put in from outside.
//!
//! Whoever asks there has shown a credential as everywhere else, and the server gets a
//! [`Visitor`]: somebody's own way into the hub, by which they see and call whom they may.

use std::{fmt, pin::Pin, sync::Arc};

use axum::{
    body::Body,
    extract::{Request, State},
    response::Response,
};
use http::{StatusCode, request::Parts};
use nuncio_client::Client;
use nuncio_net::listen::body::Guarded;
use nuncio_protocol::{
    error::Error as A2aError,
    operation::Request as A2aRequest,
    service::{Answered, CallContext, Events},
    version::Version,
};
use nuncio_server::Endpoint;

use super::{
    api::sight,
    calls::identity,
    front::is_from_our_page,
    problem::Problem,
    who::{Role, Who},
};
use crate::{
    agent::Agent,
    directory::{Page, Query},
    error::Error,
    hub::Hub,
};

/// What answers a request, sooner or later.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Response> + Send + 'a>>;

/// A server of the Model Context Protocol.
pub trait Mcp: fmt::Debug + Send + Sync {
    /// Answers a request. Its body is whole, and among its extensions is the [`Visitor`].
    fn answer(&self, request: Request) -> Answering<'_>;
}

/// Somebody who has come to `/mcp`, and their way into the hub. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Visitor(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    hub: Hub,
    who: Who,
    /// Of the request, with the caller among its extensions.
    head: Parts,
}

/// Why the hub says no.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// A name for programs.
    pub code: String,
    /// What is wrong, and what would do.
    pub detail: String,
}

pub(super) async fn answer(
    State(hub): State<Hub>,
    who: Who,
    request: Request,
) -> Result<Response, Problem> {
    who.somebody()?;
    let mcp = hub.mcp.clone().ok_or_else(Problem::not_found)?;
    let (mut head, body) = request.into_parts();
    check_origin(&hub, &head)?;
    let body = Guarded::new(body, hub.settings.bodies).collect().await?;
    head.extensions.insert(identity(&who));
    let visitor = Visitor(Arc::new(Inner { hub, who, head: head.clone() }));
    head.extensions.insert(visitor);
    Ok(mcp.answer(Request::from_parts(head, Body::from(body))).await)
}

/// Pages of other origins have no business here, not even to read.
fn check_origin(hub: &Hub, head: &Parts) -> Result<(), Problem> {
    if is_from_our_page(hub, &head.uri, &head.headers) {
        return Ok(());
    }
    let text = "requests from pages of other origins are refused";
    Err(Problem::new(StatusCode::FORBIDDEN, "FOREIGN_ORIGIN", text))
}

impl Visitor {
    /// Returns for whom things are counted and kept: two visitors of one name are one.
    pub fn name(&self) -> String {
        self.0.who.meter_name()
    }

    /// Finds agents that the visitor may call.
    pub fn agents(&self, query: &Query) -> Page {
        self.0.hub.directory.search(self.0.who.asker(), query)
    }

    /// Finds one agent that the visitor may call, by its name or id.
    pub fn agent(&self, name: &str) -> Result<Arc<Agent>, Refused> {
        Ok(self.0.hub.directory.visible(self.0.who.asker(), name)?)
    }

    /// Returns where callers reach the hub, without a slash at the end.
    pub fn hub_url(&self) -> &str {
        &self.0.hub.settings.public_url
    }

    /// Returns the way to agents that the directory does not know, for those who could bring
    /// them in. It leads to public addresses.
    pub fn outside(&self) -> Option<&Client> {
        (self.0.who.role == Role::Administrator).then_some(&self.0.hub.client)
    }

    /// Returns the name of the agent that works on a task, if the visitor may see that.
    pub async fn owner(&self, task: &str) -> Result<String, Refused> {
        let Inner { hub, who, .. } = &*self.0;
        let head = sight::find(hub, who, task).await?;
        let id = head.place.agent.as_str();
        let agent = hub.directory.visible(who.asker(), id)?;
        Ok(agent.name.as_str().to_owned())
    }

    /// Calls an agent by its name, or whoever can do something: `~translate`.
    pub async fn call(&self, agent: &str, request: A2aRequest) -> Result<Answered, Refused> {
        let (endpoint, ctx) = self.endpoint(agent)?;
        Ok(endpoint.call(&self.0.head, ctx, request).await?)
    }

    /// Opens a stream, as [`call`](Self::call) calls.
    pub async fn follow(&self, agent: &str, request: A2aRequest) -> Result<Events, Refused> {
        let (endpoint, ctx) = self.endpoint(agent)?;
        Ok(endpoint.follow(&self.0.head, ctx, request).await?)
    }

    fn endpoint(&self, agent: &str) -> Result<(Endpoint, CallContext), Refused> {
        let Inner { hub, who, head } = &*self.0;
        let endpoints = hub.endpoints.as_ref().ok_or_else(Problem::not_found)?;
        let endpoint = endpoints.named(hub, who, agent)?;
        let mut ctx = endpoint.context(head, Version::V1_0)?;
        // What these headers say is about the answers of `/mcp`, not about the agent's.
        ctx.last_event = None;
        ctx.idempotency_key = None;
        Ok((endpoint, ctx))
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        let detail = match &problem.field {
            Some(field) if !problem.detail.contains(field.as_str()) => {
                format!("{field}: {}", problem.detail)
            }
            _ => problem.detail,
        };
        Self { code: problem.code.to_owned(), detail }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Problem::from(error).into()
    }
}

impl From<A2aError> for Refused {
    fn from(error: A2aError) -> Self {
        Self { code: error.reason().to_owned(), detail: error.message().to_owned() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Refused {}
