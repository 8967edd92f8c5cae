//! The same for requests in HTTP/1.1: what our listener understands of them, the library that
//! others use understands alike.
//!
//! Apart from the others, so that the tests of `nuncio-net` can replay its corpus.

use std::{
    convert::Infallible,
    error::Error as StdError,
    sync::{Arc, Mutex},
};

use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty};
use hyper::{
    body::{Body, Bytes},
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::rt::TokioIo;
use nuncio_net::listen::{Drain, Listener};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// Every reader by the name of its fuzz target and corpus folder.
pub const READERS: &[(&str, fn(&[u8]))] = &[("requests", requests)];

/// Runs one reader, known by name.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, reader) = READERS.iter().find(|(known, _)| *known == name).expect("a known reader");
    reader(bytes);
}

/// Requests, and whatever else a peer sends: the first byte says how they are cut.
fn requests(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let pieces: Vec<&[u8]> = bytes.chunks(16 * usize::from(*first).max(1)).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(compare(&pieces));
}

/// What a service has seen of a request: its head, and its body if all of it came.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    head: String,
    body: Option<Bytes>,
}

type Log = Arc<Mutex<Vec<Seen>>>;

/// Has requests read by both. Ours may refuse what the other takes, and never the other way
/// round: what it lets in is what the other lets in, in the same order.
pub async fn compare(pieces: &[&[u8]]) {
    let ours = ours(pieces).await;
    let theirs = theirs(pieces).await;
    for (at, seen) in ours.iter().enumerate() {
        let other = theirs.get(at);
        assert_eq!(Some(&seen.head), other.map(|other| &other.head), "request {at}");
        if seen.body.is_some() {
            assert_eq!(Some(seen), other, "request {at}");
        }
    }
}

async fn ours(pieces: &[&[u8]]) -> Vec<Seen> {
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
    let (address, log, drain) = (listener.local_addr(), Log::default(), Drain::new());
    let serving = listener.serve(service(&log), drain.clone());
    let asking = async {
        ask(TcpStream::connect(address).await.expect("a connection"), pieces).await;
        drain.begin(std::time::Duration::ZERO);
    };
    tokio::join!(serving, asking);
    seen(&log)
}

async fn theirs(pieces: &[&[u8]]) -> Vec<Seen> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let log = Log::default();
    let serving = async {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut builder = http1::Builder::new();
        // Otherwise it takes the end of what is sent for a hang-up, sooner or later.
        builder.half_close(true);
        let connection = builder.serve_connection(TokioIo::new(stream), service(&log));
        // What is wrong with a request is not compared.
        let _ = connection.with_upgrades().await;
    };
    let asking = async {
        ask(TcpStream::connect(address).await.expect("a connection"), pieces).await;
    };
    tokio::join!(serving, asking);
    seen(&log)
}

fn seen(log: &Log) -> Vec<Seen> {
    log.lock().expect("nobody panics with it").clone()
}

/// Reads every request to its end, and answers it.
fn service<B>(
    log: &Log,
) -> impl Service<
    Request<B>,
    Response = Response<Empty<Bytes>>,
    Error = Infallible,
    Future = impl Future + Send + 'static,
> + Clone
+ Send
+ Sync
+ 'static
where
    B: Body<Data = Bytes, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + 'static,
{
    let log = Arc::clone(log);
    service_fn(move |request: Request<B>| {
        let log = Arc::clone(&log);
        async move {
            let (head, body) = request.into_parts();
            let head =
                format!("{:?} {} {} {:?}", head.version, head.method, head.uri, head.headers);
            let at = {
                let mut log = log.lock().expect("nobody panics with it");
                log.push(Seen { head, body: None });
                log.len() - 1
            };
            if let Ok(body) = Box::pin(body).collect().await {
                log.lock().expect("nobody panics with it")[at].body = Some(body.to_bytes());
            }
            Ok(Response::new(Empty::new()))
        }
    })
}

/// Sends everything, and reads until the peer closes.
async fn ask(stream: TcpStream, pieces: &[&[u8]]) {
    stream.set_nodelay(true).expect("an open connection");
    let (mut read, mut write) = stream.into_split();
    let sending = async {
        for piece in pieces {
            // Who has read enough may be gone.
            if write.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        let _ = write.shutdown().await;
    };
    let reading = async {
        let mut answers = Vec::new();
        while let Ok(1..) = read.read_buf(&mut answers).await {}
    };
    tokio::join!(sending, reading);
}
