//! A real server of an issuer's keys, in every mood.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use nuncio_auth::{Gatekeeper, JwtIssuer};
use nuncio_net::{Client, Errand, Guard, Policy, Purpose};
use nuncio_protocol::{card::sign::KeySet, json};
use tokio::{net::TcpListener, sync::watch, task::JoinSet};
use tokio_util::task::AbortOnDropHandle;

use crate::support::{AUDIENCE, ISSUER};

/// How the server treats requests.
#[derive(Clone, Debug)]
pub(crate) enum Mood {
    Answer(u16, String),
    /// Sends the client on to this address.
    Redirect(String),
    /// Says nothing until the mood changes.
    Hang,
    /// Closes the connection without an answer.
    Close,
}

/// Serves keys on loopback. Dropping it closes its port and all connections.
pub(crate) struct KeyServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    _accepting: AbortOnDropHandle<()>,
}

struct Shared {
    mood: watch::Sender<Mood>,
    paths: Mutex<Vec<String>>,
    traces: Mutex<Vec<String>>,
    count: watch::Sender<usize>,
}

impl KeyServer {
    pub(crate) async fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            mood: watch::Sender::new(mood),
            paths: Mutex::default(),
            traces: Mutex::default(),
            count: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, _accepting: AbortOnDropHandle::new(accepting) }
    }

    pub(crate) async fn serving(keys: &KeySet) -> Self {
        Self::start(Mood::serving(keys)).await
    }

    pub(crate) fn change(&self, mood: Mood) {
        self.shared.mood.send_replace(mood);
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/keys", self.address)
    }

    /// How many requests have come.
    pub(crate) fn count(&self) -> usize {
        *self.shared.count.borrow()
    }

    /// Every path that was asked for.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.shared.paths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// In which traces it was asked.
    pub(crate) fn traces(&self) -> Vec<String> {
        self.shared.traces.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until so many requests have come.
    pub(crate) async fn until(&self, count: usize) {
        let mut changes = self.shared.count.subscribe();
        changes.wait_for(|now| *now >= count).await.expect("the server lives");
    }

    /// A gatekeeper that believes this server's keys.
    pub(crate) fn gatekeeper(&self) -> Gatekeeper {
        let policy = Policy::default()
            .open(Purpose::Keys, "127.0.0.0/8".parse().expect("a range"))
            .allow_http(Errand::administrator(Purpose::Keys));
        let client = Client::new(Guard::new(policy));
        let issuer = JwtIssuer::with_key_url(ISSUER, AUDIENCE, &client, &self.url());
        Gatekeeper::builder().jwt(issuer.expect("an open range")).build().expect("a way in")
    }
}

impl Mood {
    pub(crate) fn serving(keys: &KeySet) -> Self {
        Self::Answer(200, json::to_string(keys))
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
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

impl Shared {
    async fn treat(&self, request: hyper::Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
        let path = request.uri().path().to_owned();
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        let trace = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
        let trace = trace.unwrap_or_default().to_owned();
        self.traces.lock().unwrap_or_else(PoisonError::into_inner).push(trace);
        self.count.send_modify(|count| *count += 1);
        let mut moods = self.mood.subscribe();
        let mood = moods.wait_for(|mood| !matches!(mood, Mood::Hang)).await;
        let mood = mood.expect("the server lives").clone();
        let response = Response::builder();
        match mood {
            Mood::Answer(status, body) => response.status(status).body(Full::from(body)),
            Mood::Redirect(target) => {
                response.status(302).header("location", target).body(Full::default())
            }
            Mood::Hang | Mood::Close => return Err(io::ErrorKind::ConnectionAborted.into()),
        }
        .map_err(io::Error::other)
    }
}
