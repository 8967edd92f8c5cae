//! A resolver, a dialer and a server that do as they are told.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use nuncio_client::discover::{Ask, CardCache, Source};
use nuncio_net::{Client, Guard, Policy, Trust, client::Dialer, egress::Resolver};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// A card of A2A 1.0 with its one interface at the base.
pub(crate) const CARD: &str = r#"{"name":"Echo","description":"","version":"1","capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[],"supportedInterfaces":[{"url":"","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}"#;

/// Answers with one list of addresses after the other, the last one for ever.
#[derive(Clone, Debug)]
pub(crate) struct Script(Arc<Mutex<Vec<Vec<IpAddr>>>>);

impl Script {
    pub(crate) fn new(answers: &[&[&str]]) -> Self {
        let parse = |text: &&str| text.parse().expect("an address");
        let answers = answers.iter().map(|answer| answer.iter().map(parse).collect()).collect();
        Self(Arc::new(Mutex::new(answers)))
    }
}

impl Resolver for Script {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let mut answers = lock(&self.0);
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        Box::pin(async move { Ok(answer) })
    }
}

/// Writes down where it was sent, and connects nowhere but to one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    server: Option<SocketAddr>,
    dialed: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Recorder {
    /// Everything leads to a server of the test.
    pub(crate) fn leading_to(server: &Server) -> Self {
        Self { server: Some(server.address), ..Self::default() }
    }

    pub(crate) fn dialed(&self) -> Vec<SocketAddr> {
        lock(&self.dialed).clone()
    }
}

impl Dialer for Recorder {
    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        lock(&self.dialed).push(address);
        Box::pin(async move {
            match self.server {
                Some(server) => TcpStream::connect(server).await,
                None => Err(io::ErrorKind::ConnectionRefused.into()),
            }
        })
    }
}

/// A server whose answers are made from the requests: head and body in, answer out.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self::start_with(|_| answer).await
    }

    /// Starts a server that knows its own address.
    pub(crate) async fn start_with<F>(make: impl FnOnce(SocketAddr) -> F) -> Self
    where
        F: Fn(&str) -> String + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let answer = make(address);
        let server = Self { address, requests: Arc::default() };
        let (requests, answer) = (Arc::clone(&server.requests), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (requests, answer) = (Arc::clone(&requests), Arc::clone(&answer));
                tokio::spawn(async move {
                    while let Some(request) = read(&mut stream).await {
                        lock(&requests).push(request.clone());
                        let answer = answer(&request);
                        if stream.write_all(answer.as_bytes()).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        server
    }

    /// Serves documents by their paths.
    pub(crate) async fn documents(documents: &[(&str, &str)]) -> Self {
        let owned = |(path, body): &(&str, &str)| ((*path).to_owned(), (*body).to_owned());
        let documents: Vec<_> = documents.iter().map(owned).collect();
        Self::start(move |request| {
            let found = documents.iter().find(|(path, _)| *path == path_of(request));
            found.map_or_else(|| status("404 Not Found", ""), |(_, body)| ok(body))
        })
        .await
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        lock(&self.requests).clone()
    }

    /// The paths that were asked for.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.requests().iter().map(|request| path_of(request).to_owned()).collect()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Asks for the card at a path, as an administrator.
    pub(crate) fn ask(&self, path: &str) -> Ask {
        Ask::new(Source::url(self.url(path)), Trust::Administrator)
    }
}

/// Reads one request; bodies have a length.
async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = header(head, "content-length").and_then(|text| text.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read_buf(&mut bytes).await {
            Ok(1..) => {}
            _ => return None,
        }
    }
}

/// Returns a header of a request.
pub(crate) fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let lines = request.lines().filter_map(|line| line.split_once(':'));
    let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim())
}

pub(crate) fn path_of(request: &str) -> &str {
    request.split(' ').nth(1).unwrap_or_default()
}

pub(crate) fn ok(body: &str) -> String {
    with_headers("200 OK", "", body)
}

pub(crate) fn status(status: &str, body: &str) -> String {
    with_headers(status, "", body)
}

/// An answer with more headers, each with its line end.
pub(crate) fn with_headers(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

/// A client that reaches the servers of the tests.
pub(crate) fn client() -> Client {
    Client::new(Guard::new(Policy::default().dangerously_open_loopback_to_callers()))
}

pub(crate) fn cards() -> CardCache {
    CardCache::new(client())
}

/// Lets time pass while nothing else happens.
pub(crate) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
