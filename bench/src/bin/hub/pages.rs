//! What a page of a search costs on the wire, against a server that answers the same bytes.

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Response, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use nuncio_auth::{Gatekeeper, pair::Minter};
use nuncio_bench::figures::{say, spread};
use nuncio_hub::{
    Directory, Hub,
    directory::Actor,
    hub::{Parts, Settings},
    serve,
};
use nuncio_net::{Guard, Policy, listen::Listener};
use nuncio_protocol::ids::Organisation;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::Instant,
};

use crate::town::Town;

const CONNECTIONS: usize = 16;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(1);
const LEAST: f64 = 0.1;

/// Searches by skill among ten thousand agents.
pub(crate) async fn measure(town: &Town) {
    let (address, key) = hub(&town.directory, &town.organisation).await;
    for (what, query) in [
        ("a page of 50 agents with a skill", "skill=skill-7&limit=50"),
        ("a page of 50 agents", "limit=50&after=agent-h"),
    ] {
        let request = format!(
            "GET /api/v1/agents?{query} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\r\n"
        );
        let page = ask(&mut connect(address).await, &request).await;
        assert_eq!(page.windows(14).filter(|bytes| bytes == b"\"organisation\"").count(), 50);
        let bare = bare(page.into()).await;
        let mut ratios = Vec::new();
        for _ in 0..ROUNDS {
            let (ours, theirs) = (rate(address, &request).await, rate(bare, &request).await);
            ratios.push(ours / theirs);
        }
        let (middle, low, high) = spread(ratios);
        let figure = format!("{middle:.3} of bare ({low:.3} to {high:.3})");
        say(what, &figure, "at least 0.1 of bare", middle >= LEAST);
    }
}

/// Starts a hub, and returns where it is and the key of an administrator.
pub(crate) async fn hub(
    directory: &Directory,
    organisation: &Organisation,
) -> (SocketAddr, String) {
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.expect("a port");
    let address = listener.local_addr();
    let gatekeeper = Gatekeeper::builder().api_keys(directory.clone());
    let gatekeeper = gatekeeper.build().expect("there are keys");
    let url = format!("http://{address}");
    let minter = Minter::generate(&url).expect("a key");
    let mut settings = Settings::new(organisation.clone(), url);
    settings.limits.requests = 1_000_000_000;
    let guard = Guard::new(Policy::default());
    let parts = Parts::new(directory.clone(), gatekeeper, guard, minter, settings);
    tokio::spawn(serve(Hub::new(parts), listener));
    let scopes = ["admin".to_owned()];
    let actor = Actor::hub();
    let key = directory.new_key(organisation, "bench", &scopes, None, &actor);
    (address, key.await.expect("it is made").key.to_string())
}

/// Serves bytes that are there already.
async fn bare(page: Bytes) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let page = page.clone();
            // Without this the kernel waits for more to send.
            stream.set_nodelay(true).expect("a fresh connection");
            let service = service_fn(move |_| {
                let page = page.clone();
                async move { Ok::<_, Infallible>(Response::new(Full::new(page))) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

/// Returns how many answers a second come over a few connections.
async fn rate(address: SocketAddr, request: &str) -> f64 {
    let begun = Instant::now();
    let mut askers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let request = request.to_owned();
        askers.spawn(async move {
            let mut connection = connect(address).await;
            let mut count = 0_u32;
            while begun.elapsed() < ROUND {
                ask(&mut connection, &request).await;
                count += 1;
            }
            count
        });
    }
    let count: u32 = askers.join_all().await.into_iter().sum();
    f64::from(count) / begun.elapsed().as_secs_f64()
}

async fn connect(address: SocketAddr) -> TcpStream {
    let connection = TcpStream::connect(address).await.expect("it listens");
    connection.set_nodelay(true).expect("a fresh connection");
    connection
}

/// Asks once, and returns the body.
async fn ask(connection: &mut TcpStream, request: &str) -> Vec<u8> {
    connection.write_all(request.as_bytes()).await.expect("it listens");
    let mut bytes = Vec::with_capacity(64 << 10);
    loop {
        let count = connection.read_buf(&mut bytes).await.expect("it answers");
        assert!(count > 0, "it closed");
        let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let text = std::str::from_utf8(&bytes[..head]).expect("a head").to_ascii_lowercase();
        assert!(text.starts_with("http/1.1 200"), "{text}");
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|length| length.parse().ok()).expect("a length");
        if bytes.len() == head + 4 + length {
            return bytes.split_off(head + 4);
        }
    }
}
