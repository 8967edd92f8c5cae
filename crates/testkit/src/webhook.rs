//! A real HTTP server that records what it is sent and answers as the test says.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout};

/// How long [`Receiver::until`] waits before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server on loopback. Dropping it closes its port and all connections.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

/// What the server was sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path without the query.
    pub path: String,
    /// The query without its question mark.
    pub query: Option<String>,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// When the last byte of it was there.
    pub at: Instant,
}

/// How the server treats one request, after it has recorded it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Answer {
    /// Answers with a status and no body.
    Status(u16),
    /// The same, once the test notifies it.
    Held(Arc<Notify>, u16),
    /// Answers with a redirect (307) to this address.
    Redirect(String),
    /// Says nothing and keeps the connection open.
    Hang,
    /// Closes the connection without an answer.
    Close,
}

#[derive(Debug)]
struct Shared {
    requests: watch::Sender<Vec<Request>>,
    scripts: Mutex<HashMap<String, Script>>,
}

/// The answers for one path.
#[derive(Debug, Default)]
struct Script {
    next: VecDeque<Answer>,
    each: Vec<Answer>,
    tries: HashMap<HeaderValue, usize>,
    then: Option<Answer>,
}

impl Receiver {
    /// Starts a server on a free port; it answers everything with 200.
    ///
    /// # Panics
    /// If no port can be had.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let requests = watch::Sender::new(Vec::new());
        let shared = Arc::new(Shared { requests, scripts: Mutex::default() });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        Self { address, shared, accepting }
    }

    /// The address of a path, such as `/hook`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers the next requests on a path one by one like this, after those that were said
    /// before.
    pub fn answer(&self, path: &str, answers: impl IntoIterator<Item = Answer>) {
        self.scripts().entry(path.to_owned()).or_default().next.extend(answers);
    }

    /// Answers the first tries of each event on a path like this, whenever nothing else is left
    /// to answer. Requests with the same `webhook-id` are tries of the same event.
    pub fn answer_each(&self, path: &str, answers: impl IntoIterator<Item = Answer>) {
        self.scripts().entry(path.to_owned()).or_default().each.extend(answers);
    }

    /// Answers the requests on a path like this whenever nothing else is left to answer, in
    /// place of 200.
    pub fn otherwise(&self, path: &str, answer: Answer) {
        self.scripts().entry(path.to_owned()).or_default().then = Some(answer);
    }

    /// All requests so far, in the order in which they were complete.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.borrow().clone()
    }

    /// Waits until there were `count` requests on a path, and returns all on that path.
    ///
    /// # Panics
    /// If they have not come after two minutes.
    pub async fn until(&self, path: &str, count: usize) -> Vec<Request> {
        let on_path = |requests: &Vec<Request>| -> Vec<Request> {
            requests.iter().filter(|request| request.path == path).cloned().collect()
        };
        let mut changes = self.shared.requests.subscribe();
        let came = changes.wait_for(|requests| on_path(requests).len() >= count);
        let Ok(came) = timeout(PATIENCE, came).await else {
            panic!("{count} requests on {path} did not come, but {:#?}", self.requests())
        };
        on_path(&came.expect("the sender lives as long as we"))
    }

    fn scripts(&self) -> MutexGuard<'_, HashMap<String, Script>> {
        self.shared.scripts()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Script {
    fn next_for(&mut self, request: &Request) -> Option<Answer> {
        self.next
            .pop_front()
            .or_else(|| self.next_try(request.headers.get("webhook-id")?))
            .or_else(|| self.then.clone())
    }

    fn next_try(&mut self, event: &HeaderValue) -> Option<Answer> {
        let tries = self.tries.entry(event.clone()).or_default();
        let answer = self.each.get(*tries).cloned();
        *tries += 1;
        answer
    }
}

impl Shared {
    fn scripts(&self) -> MutexGuard<'_, HashMap<String, Script>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and returns its answer, in one step, so that both are in order.
    fn record(&self, request: Request) -> Answer {
        let mut answer = None;
        self.requests.send_modify(|requests| {
            if let Some(script) = self.scripts().get_mut(&request.path) {
                answer = script.next_for(&request);
            }
            requests.push(request);
        });
        answer.unwrap_or(Answer::Status(200))
    }

    /// Records a request and answers it; an error closes the connection.
    async fn treat(&self, request: hyper::Request<Incoming>) -> io::Result<Response<Empty<Bytes>>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let request = Request {
            method: head.method,
            path: head.uri.path().to_owned(),
            query: head.uri.query().map(str::to_owned),
            headers: head.headers,
            body,
            at: Instant::now(),
        };
        match self.record(request) {
            Answer::Status(status) => Ok(response(status)),
            Answer::Held(told, status) => {
                told.notified().await;
                Ok(response(status))
            }
            Answer::Redirect(target) => {
                let mut response = response(307);
                let target = target.parse().expect("the test redirects to a fit header value");
                response.headers_mut().insert(LOCATION, target);
                Ok(response)
            }
            Answer::Hang => std::future::pending().await,
            Answer::Close => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

/// Serves connections until it is aborted, which ends them too.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        // The only failures are those of a single connection that is gone already.
        let Ok((connection, _)) = listener.accept().await else { continue };
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let service = service_fn(|request| shared.treat(request));
            // How a client ends its connection is its own affair.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

fn response(status: u16) -> Response<Empty<Bytes>> {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = StatusCode::from_u16(status).expect("the test names a real status");
    response
}
