//! Opening connections: in order, side by side if the first is slow, within the limit.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use nuncio_net::{Client, Clock, Error, Guard, Policy, client::Dialer};
use tokio::{net::TcpStream, time::Instant};

use crate::support::{CALLER, Recorder, Script, Server, fetch, ok};

/// Writes down when it was asked for which address. Connects nowhere but to the server of
/// the address that ends in `.9`; that of `.1` fails at once, others never answer.
#[derive(Clone, Debug, Default)]
struct Moody {
    server: Option<SocketAddr>,
    dialed: Arc<Mutex<Vec<(u8, Duration)>>>,
    start: Option<Instant>,
}

impl Dialer for Moody {
    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        let SocketAddr::V4(address) = address else { panic!("only IPv4 here") };
        let last = address.ip().octets()[3];
        let since = self.start.map(|start| start.elapsed()).unwrap_or_default();
        self.dialed.lock().expect("not poisoned").push((last, since));
        Box::pin(async move {
            match (last, self.server) {
                (9, Some(server)) => TcpStream::connect(server).await,
                (1, _) => Err(io::ErrorKind::ConnectionRefused.into()),
                _ => std::future::pending().await,
            }
        })
    }
}

fn client(addresses: &[&str], dialer: Moody) -> Client {
    let policy = Policy::default().allow_http(CALLER);
    let guard = Guard::new(policy).resolver(Script::new(&[addresses]));
    Client::builder(guard).dialer(dialer).build().expect("no roots to be wrong")
}

const URL: &str = "http://agent.example/";

#[tokio::test]
async fn the_next_address_is_tried_when_one_fails_or_is_slow() {
    let server = Server::start(ok("hello")).await;
    let dialer = Moody { server: Some(server.address), ..Moody::default() };
    let client = client(&["8.8.8.1", "8.8.8.2", "8.8.8.9", "8.8.8.3"], dialer.clone());
    assert_eq!(fetch(&client, URL, CALLER).await.unwrap(), "hello");
    let asked: Vec<u8> = dialer.dialed.lock().unwrap().iter().map(|(last, _)| *last).collect();
    assert_eq!(asked, [1, 2, 9]);
}

#[tokio::test(start_paused = true)]
async fn connecting_takes_five_seconds_at_most_over_all_addresses() {
    let dialer = Moody { start: Some(Instant::now()), ..Moody::default() };
    let client = client(&["8.8.8.1", "8.8.8.2", "8.8.8.3"], dialer.clone());
    let start = Instant::now();
    let error = fetch(&client, URL, CALLER).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { clock: Clock::Connect, .. }), "{error}");
    assert!(error.is_retryable());
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    let later = Duration::from_millis(250);
    assert_eq!(
        *dialer.dialed.lock().unwrap(),
        [(1, Duration::ZERO), (2, Duration::ZERO), (3, later)]
    );
}

#[tokio::test]
async fn the_connection_goes_to_the_named_port() {
    let recorder = Recorder::default();
    let guard =
        Guard::new(Policy::default()).resolver(Script::new(&[&["8.8.8.8", "2606:4700::1"]]));
    let client = Client::builder(guard).dialer(recorder.clone()).build().unwrap();
    fetch(&client, "https://agent.example:8443/", CALLER).await.unwrap_err();
    let expected = ["8.8.8.8:8443", "[2606:4700::1]:8443"].map(|text| text.parse().unwrap());
    assert_eq!(recorder.dialed(), expected);
}
