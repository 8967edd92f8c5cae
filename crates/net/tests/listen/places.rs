//! How many may be connected.

use std::{net::SocketAddr, time::Duration};

use nuncio_net::listen::{BodyLimits, Listener};
use tokio::{net::TcpStream, time::timeout};

use crate::support::{Raw, Server, get};

#[tokio::test]
async fn an_address_with_too_many_connections_gets_no_more() {
    let server = Server::limited(|limits| limits.connections_per_address = 2).await;
    let (mut first, mut second) = (server.raw().await, server.raw().await);
    assert!(first.get("/first").await.ends_with("/first"));
    assert!(second.get("/second").await.ends_with("/second"));
    assert_eq!(server.raw().await.rest().await, "");
    assert!(first.get("/still").await.ends_with("/still"));
}

#[tokio::test]
async fn a_connection_over_the_total_waits_until_another_is_closed() {
    let server = Server::limited(|limits| limits.connections = 1).await;
    let mut first = server.raw().await;
    assert!(first.get("/first").await.ends_with("/first"));
    let mut second = server.raw().await;
    second.send(get("/second")).await;
    // The first is served while the second waits, which nothing on the wire tells.
    assert!(first.get("/still").await.ends_with("/still"));
    drop(first);
    assert!(second.answer().await.ends_with("/second"));
}

#[tokio::test]
async fn a_burst_of_connections_waits_until_it_is_accepted() {
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..300 {
        // The system would try for minutes to get in where there is no room.
        let connecting = TcpStream::connect(listener.local_addr());
        let connected = timeout(Duration::from_secs(10), connecting).await;
        waiting.push(Raw { tcp: connected.expect("there is room").unwrap() });
    }
    let server = Server::over(listener, BodyLimits::default());
    for (index, raw) in waiting.iter_mut().enumerate() {
        assert!(raw.get(&format!("/{index}")).await.ends_with(&format!("/{index}")));
    }
    assert!(server.raw().await.get("/last").await.ends_with("/last"));
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let first = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address: SocketAddr = first.local_addr();
    let error = Listener::bind(address).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    assert_eq!(error.to_string(), format!("listen on {address}: another program listens there"));
}
