//! Servers that do the least: what A2A cannot cost less than.
//!
//! - `bare` reads a request and answers bytes that were there before; streams are prebuilt
//!   bursts.
//! - `typed` reads the request into borrowed structs, makes new identifiers, keeps the task in
//!   a sharded map and writes typed structs; the events of a stream go through a channel, with
//!   a turn of the scheduler for each chunk.
//! - `durable` is typed, and answers when what it will say is on disk, with as many as wait in
//!   one `fdatasync`.
//! - `postgres` is typed, and answers when a row is committed, with as many as wait in one
//!   insert.
//! - `grpc-bare` is bare, and does the same over gRPC.
//! - `client-target` is bare, but an answer has the number of its request, so that a client
//!   that looks at it can be measured.
//! - `proxy` hands every request on to an agent, and its answer back.
//!
//! None of them is an A2A server.

mod bare;
mod body;
mod durable;
mod grpc;
mod postgres;
mod proxy;
mod typed;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    thread,
};

use anyhow::{Context as _, Result, bail, ensure};
use body::{Body, Burst};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::{
    Method, Request, Response,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use memchr::memmem;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};

/// Which server, and what it needs.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) kind: String,
    pub(crate) port: u16,
    /// Where gRPC is served besides.
    pub(crate) grpc_port: Option<u16>,
    /// A directory with the bodies that `bare` answers, instead of its own.
    pub(crate) answers: Option<PathBuf>,
    /// The file that `durable` appends to.
    pub(crate) log: Option<PathBuf>,
    /// The database of `postgres`.
    pub(crate) store: Option<String>,
    /// The agent behind `proxy`.
    pub(crate) agent: Option<SocketAddr>,
}

enum Kind {
    Bare(bare::Answers),
    ClientTarget(bare::Answers),
    Typed(typed::Tasks),
    Durable(typed::Tasks, durable::Log),
    Postgres(typed::Tasks, postgres::Rows),
}

/// Serves until the parent is gone.
pub(crate) async fn run(options: Options) -> Result<()> {
    if let Some(port) = options.grpc_port {
        tokio::spawn(grpc::serve(listen(port).await?));
    }
    if let Some(agent) = options.agent {
        let listener = listen(options.port).await?;
        ensure!(options.kind == "proxy", "{} has no agent behind it", options.kind);
        return until_orphaned(proxy::serve(listener, agent)).await;
    }
    let answers = || bare::Answers::read(options.answers.as_deref());
    let kind = match &*options.kind {
        "grpc-bare" if options.grpc_port.is_none() => bail!("grpc-bare needs --grpc-port"),
        "bare" | "grpc-bare" => Kind::Bare(answers()?),
        "client-target" => Kind::ClientTarget(answers()?),
        "typed" => Kind::Typed(typed::Tasks::default()),
        "durable" => {
            let path = options.log.context("durable needs --log")?;
            Kind::Durable(typed::Tasks::default(), durable::Log::open(&path)?)
        }
        "postgres" => {
            let url = options.store.context("postgres needs STORE")?;
            Kind::Postgres(typed::Tasks::default(), postgres::Rows::open(&url).await?)
        }
        other => bail!("there is no reference {other}"),
    };
    let listener = listen(options.port).await?;
    until_orphaned(serve(listener, Arc::new(kind))).await
}

/// Serves until the parent is gone.
async fn until_orphaned(serve: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::select! {
        served = serve => served,
        () = orphaned() => Ok(()),
    }
}

/// Waits until the parent is gone: it holds the other end of our input.
async fn orphaned() {
    let (gone, parent) = oneshot::channel::<()>();
    // A thread, because nobody has to wait for it.
    thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        drop(gone);
    });
    let _ = parent.await;
}

async fn listen(port: u16) -> Result<TcpListener> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address).await.with_context(|| format!("listen on {address}"))
}

async fn serve(listener: TcpListener, kind: Arc<Kind>) -> Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let kind = Arc::clone(&kind);
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(Arc::clone(&kind), request));
            // A client that goes away is no news.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(kind: Arc<Kind>, request: Request<Incoming>) -> hyper::Result<Response<Body>> {
    if request.method() == Method::GET {
        let card = Bytes::from_static(br#"{"name":"reference"}"#);
        return Ok(respond(Body::Whole(Some(card)), "application/json"));
    }
    let body = request.into_body().collect().await?.to_bytes();
    let answer = match &*kind {
        Kind::Bare(answers) => answers.to(&body),
        Kind::ClientTarget(answers) => answers.to_numbered(&body),
        Kind::Typed(tasks) => tasks.answer(&body),
        Kind::Durable(tasks, log) => {
            let answer = tasks.answer(&body);
            if let Some(text) = kept(&body, &answer) {
                log.keep(text).await;
            }
            answer
        }
        Kind::Postgres(tasks, rows) => {
            let answer = tasks.answer(&body);
            if let Some(text) = kept(&body, &answer) {
                rows.keep(text).await;
            }
            answer
        }
    };
    Ok(match answer {
        Answer::Whole(text) => respond(Body::Whole(Some(text)), "application/json"),
        Answer::Burst(events) => respond(Body::Burst(events), "text/event-stream"),
        Answer::Events(events) => respond(Body::Channel(events), "text/event-stream"),
    })
}

/// What must be kept before it is said: an answer to a message, and of a stream the message.
fn kept(request: &Bytes, answer: &Answer) -> Option<Bytes> {
    match answer {
        Answer::Whole(text) if is_about(request, "SendMessage") => Some(text.clone()),
        Answer::Events(_) => Some(request.clone()),
        Answer::Whole(_) | Answer::Burst(_) => None,
    }
}

/// Whether the method of a request is this. It stands at the beginning.
fn is_about(request: &[u8], method: &str) -> bool {
    memmem::find(&request[..request.len().min(80)], method.as_bytes()).is_some()
}

/// What is said to a request.
enum Answer {
    Whole(Bytes),
    /// Events that are all there.
    Burst(Burst),
    /// Events as they come.
    Events(mpsc::Receiver<Bytes>),
}

fn respond(body: Body, content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// What an echo agent is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    Echo,
    Chunks(usize),
    Hold,
}

impl Ask {
    fn read(text: &str) -> Self {
        if text == "hold" {
            return Self::Hold;
        }
        let chunks = text.strip_prefix("chunks:").and_then(|count| count.parse().ok());
        chunks.map_or(Self::Echo, |count: usize| Self::Chunks(count.min(100_000)))
    }
}
