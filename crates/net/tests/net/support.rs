//! A resolver, a dialer and a server that do as they are told.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::BoxFuture;
use nuncio_net::{
    CheckedUrl, Client, Code, Errand, Error, Guard, Policy, Purpose, Request, client::Dialer,
    egress::Resolver,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

pub(crate) const CALLER: Errand = Errand::caller(Purpose::Webhook);
pub(crate) const ADMINISTRATOR: Errand = Errand::administrator(Purpose::Webhook);

/// An address that is public and, with the dialer below, never reached.
pub(crate) const PUBLIC: &str = "93.184.216.34";

/// Answers with one list of addresses after the other, the last one for ever.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    answers: Arc<Mutex<Vec<Vec<IpAddr>>>>,
    questions: Arc<Mutex<Vec<String>>>,
}

impl Script {
    pub(crate) fn new(answers: &[&[&str]]) -> Self {
        let parse = |text: &&str| text.parse().expect("an address");
        let answers = answers.iter().map(|answer| answer.iter().map(parse).collect()).collect();
        Self { answers: Arc::new(Mutex::new(answers)), ..Self::default() }
    }

    pub(crate) fn questions(&self) -> Vec<String> {
        lock(&self.questions).clone()
    }
}

impl Resolver for Script {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        lock(&self.questions).push(name.to_owned());
        let mut answers = lock(&self.answers);
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        Box::pin(async move { Ok(answer) })
    }
}

/// Writes down where it was sent, and connects to one server whatever the address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    server: Option<SocketAddr>,
    dialed: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Recorder {
    /// Everything leads to a server of the test.
    pub(crate) fn leading_to(server: SocketAddr) -> Self {
        Self { server: Some(server), ..Self::default() }
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

/// A server that gives every request the same answer, or none.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers with these bytes and keeps the connection open.
    pub(crate) async fn start(answer: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let server = Self { address, requests: Arc::default() };
        let (requests, answer) = (Arc::clone(&server.requests), Arc::new(answer.into()));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&requests), Arc::clone(&answer)));
            }
        });
        server
    }

    /// The requests so far, heads and bodies.
    pub(crate) fn requests(&self) -> Vec<String> {
        lock(&self.requests).clone()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

async fn serve(mut stream: TcpStream, requests: Arc<Mutex<Vec<String>>>, answer: Arc<Vec<u8>>) {
    let mut read = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut read).await {
        // The requests of the tests have bodies without an empty line, sent with their head.
        if read.windows(4).any(|window| window == b"\r\n\r\n") {
            lock(&requests).push(String::from_utf8_lossy(&read).into_owned());
            read.clear();
            if stream.write_all(&answer).await.is_err() {
                break;
            }
        }
    }
}

/// An answer with a body of known length.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Lets everybody reach the servers of the tests.
pub(crate) fn on_loopback() -> Guard {
    Guard::new(Policy::default().dangerously_open_loopback_to_callers())
}

pub(crate) fn checked(guard: &Guard, text: &str) -> CheckedUrl {
    guard.check_url(text, CALLER).unwrap_or_else(|refused| panic!("{text}: {refused}"))
}

/// Sends a GET and returns the body of the answer.
pub(crate) async fn fetch(client: &Client, text: &str, errand: Errand) -> Result<String, Error> {
    let url = client.guard().check_url(text, errand)?;
    let body = client.send(Request::get(&url)).await?.collect(1024).await?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, Error>, code: Code) {
    let error = result.expect_err("it is to be refused");
    assert_eq!(error.code(), code, "{error}");
    assert!(error.is_unsent() && !error.is_retryable(), "{error}");
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
