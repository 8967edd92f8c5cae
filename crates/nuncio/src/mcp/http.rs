//! `/mcp` on the hub: the tools over streamable HTTP.
//!
//! Every request shows a credential, and is made as whoever that is. Versions of the protocol
//! before 2026-07-28 have sessions; a session belongs to who has begun it, and to nobody else.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse as _, Response},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, header::CONTENT_TYPE};
use nuncio_hub::http::mcp::{Answering, Mcp, Visitor};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio_util::sync::CancellationToken;

use super::server::Server;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// How many sessions there are at most, of one caller and in all.
const OWN_SESSIONS: usize = 64;
const ALL_SESSIONS: usize = 4_096;

/// Answers `/mcp`. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Endpoint {
    service: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    owners: Arc<Mutex<HashMap<String, String>>>,
    stopping: CancellationToken,
}

impl Endpoint {
    pub(crate) fn new() -> Self {
        let sessions = Arc::new(LocalSessionManager::default());
        let stopping = CancellationToken::new();
        // The hub has looked at host and origin, and has read the body within its own limits.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::MAX)
            .with_cancellation_token(stopping.clone());
        let service = StreamableHttpService::new(
            || Ok(Server::for_visitors()),
            Arc::clone(&sessions),
            config,
        );
        Self { service, sessions, owners: Arc::default(), stopping }
    }

    /// Ends all streams.
    pub(crate) fn stop(&self) {
        self.stopping.cancel();
    }

    async fn handle(&self, request: Request) -> Response {
        let Some(visitor) = request.extensions().get::<Visitor>() else {
            return refuse(StatusCode::UNAUTHORIZED, "nobody has sent the request");
        };
        let caller = visitor.name();
        let session = request.headers().get(SESSION).cloned();
        match &session {
            Some(id) if !self.is_own(id, &caller) => {
                // What is somebody else's is not there.
                return refuse(StatusCode::NOT_FOUND, "there is no such session; begin a new one");
            }
            None if request.method() == Method::POST && !self.has_room(&caller).await => {
                return refuse(
                    StatusCode::TOO_MANY_REQUESTS,
                    "as many sessions are open as there may be; end some, or wait five minutes",
                );
            }
            _ => {}
        }
        let ends = request.method() == Method::DELETE;
        let mut response = self.service.handle(request).await;
        if ends && response.status() == StatusCode::ACCEPTED {
            // Clients take another answer for a failure.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        if let (None, Some(Ok(begun))) =
            (session, response.headers().get(SESSION).map(HeaderValue::to_str))
        {
            self.lock().insert(begun.to_owned(), caller);
        }
        response.map(Body::new)
    }

    fn is_own(&self, session: &HeaderValue, caller: &str) -> bool {
        let owners = self.lock();
        let owner = session.to_str().ok().and_then(|id| owners.get(id));
        owner.is_some_and(|owner| owner == caller)
    }

    /// Tells whether one more session may begin, and forgets those that have ended.
    async fn has_room(&self, caller: &str) -> bool {
        let open = self.sessions.sessions.read().await;
        let mut owners = self.lock();
        owners.retain(|id, _| open.contains_key(id.as_str()));
        let own = owners.values().filter(|owner| *owner == caller).count();
        own < OWN_SESSIONS && owners.len() < ALL_SESSIONS
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mcp for Endpoint {
    fn answer(&self, request: Request) -> Answering<'_> {
        Box::pin(self.handle(request))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}

fn refuse(status: StatusCode, text: &'static str) -> Response {
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    (status, [(CONTENT_TYPE, plain)], text).into_response()
}
