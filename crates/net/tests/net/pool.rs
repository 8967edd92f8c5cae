//! Connections are kept, but never across errands.

use std::time::Duration;

use nuncio_net::{Client, Code, Errand, Error, Guard, Policy, Purpose, Request};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::oneshot,
};

use crate::support::{ADMINISTRATOR, CALLER, Recorder, Server, fetch, ok, on_loopback, refused};

/// Loopback is open to administrators' webhooks, and plain http to everybody.
fn only_administrators() -> Guard {
    let policy = Policy::default().open(Purpose::Webhook, "127.0.0.0/8".parse().expect("a range"));
    Guard::new(Errand::all().fold(policy, Policy::allow_http))
}

#[tokio::test]
async fn a_connection_is_used_again_for_the_same_errand() {
    let server = Server::start(ok("hello")).await;
    let recorder = Recorder::leading_to(server.address);
    let client = Client::builder(on_loopback()).dialer(recorder.clone()).build().unwrap();
    for _ in 0..3 {
        assert_eq!(fetch(&client, &server.url(), CALLER).await.unwrap(), "hello");
    }
    assert_eq!(server.requests().len(), 3);
    assert_eq!(recorder.dialed(), [server.address]);
}

#[tokio::test]
async fn an_administrators_connection_never_carries_a_callers_request() {
    let server = Server::start(ok("inside")).await;
    let recorder = Recorder::leading_to(server.address);
    let client = Client::builder(only_administrators()).dialer(recorder.clone()).build().unwrap();
    assert_eq!(fetch(&client, &server.url(), ADMINISTRATOR).await.unwrap(), "inside");
    for other in Errand::all().filter(|errand| *errand != ADMINISTRATOR) {
        refused(fetch(&client, &server.url(), other).await, Code::AddressNotPublic);
    }
    assert_eq!(server.requests().len(), 1);
    assert_eq!(recorder.dialed(), [server.address]);
}

/// The same for a name, which passes the check of its text and would find the connection.
#[tokio::test]
async fn a_name_does_not_find_an_administrators_connection() {
    let server = Server::start(ok("inside")).await;
    let recorder = Recorder::leading_to(server.address);
    let guard = only_administrators().resolver(crate::support::Script::new(&[&["127.0.0.1"]]));
    let client = Client::builder(guard).dialer(recorder.clone()).build().unwrap();
    let url = "http://agent.example/";
    assert_eq!(fetch(&client, url, ADMINISTRATOR).await.unwrap(), "inside");
    for other in Errand::all().filter(|errand| *errand != ADMINISTRATOR) {
        refused(fetch(&client, url, other).await, Code::AddressNotPublic);
    }
    assert_eq!((server.requests().len(), recorder.dialed().len()), (1, 1));
}

#[tokio::test]
async fn no_more_connections_are_open_than_allowed() {
    let endless = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n";
    let server = Server::start(endless).await;
    let limit = Duration::from_millis(50);
    let builder = Client::builder(on_loopback()).connections(1).connect_limit(limit);
    let client = builder.build().unwrap();
    let url = client.guard().check_url(&server.url(), CALLER).unwrap();
    let open = client.send(Request::get(&url)).await.unwrap();
    let error = client.send(Request::get(&url)).await.unwrap_err();
    assert!(matches!(error, Error::Busy { limit: 1 }) && error.is_retryable(), "{error}");
    // Another errand has its own connections, and a closed one makes room.
    let other = client.guard().check_url(&server.url(), ADMINISTRATOR).unwrap();
    assert!(client.send(Request::get(&other)).await.is_ok());
    drop(open);
    assert!(client.send(Request::get(&url)).await.is_ok());
}

#[tokio::test]
async fn a_connection_that_is_given_back_serves_whoever_waits_for_one() {
    let server = Server::start(ok("hello")).await;
    let recorder = Recorder::leading_to(server.address);
    let builder = Client::builder(on_loopback()).dialer(recorder.clone()).connections(1);
    let client = builder.build().unwrap();
    let url = server.url();
    let calls = (0..20).map(|_| fetch(&client, &url, CALLER));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.unwrap(), "hello");
    }
    assert_eq!(server.requests().len(), 20);
    assert_eq!(recorder.dialed(), [server.address]);
}

#[tokio::test]
async fn an_answer_that_is_not_read_gives_its_connection_back_or_closes_it() {
    let server = Server::start(ok("hello")).await;
    let builder = Client::builder(on_loopback()).connections(1);
    let client = builder.connect_limit(Duration::from_secs(30)).build().unwrap();
    let url = client.guard().check_url(&server.url(), CALLER).unwrap();
    for _ in 0..5 {
        drop(client.send(Request::get(&url)).await.unwrap());
    }
    assert_eq!(server.requests().len(), 5);
}

#[tokio::test]
async fn a_connection_that_nobody_uses_is_closed_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let limit = Duration::from_millis(50);
    let client = Client::builder(on_loopback()).idle_connections(8, limit).build().unwrap();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        while !read.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut read).await.unwrap();
        }
        stream.write_all(ok("hello").as_bytes()).await.unwrap();
        // The end of the connection.
        stream.read_buf(&mut read).await
    });
    assert_eq!(fetch(&client, &url, CALLER).await.unwrap(), "hello");
    assert!(matches!(served.await.unwrap(), Ok(0)), "it is closed, and the client is still there");
    drop(client);
}

/// Nobody reads from a connection that is not in use; the next request finds out that it is over.
#[tokio::test]
async fn a_connection_that_its_peer_has_closed_carries_no_request() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let client = Client::new(on_loopback());
    for _ in 0..3 {
        let listener = listener.try_clone().unwrap();
        let (tell, served) = oneshot::channel();
        // Nobody waits for it if no connection comes.
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut read = Vec::new();
            while !read.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                std::io::Read::read_exact(&mut stream, &mut byte).unwrap();
                read.extend(byte);
            }
            std::io::Write::write_all(&mut stream, ok("hello").as_bytes()).unwrap();
            drop(stream);
            tell.send(()).unwrap();
        });
        assert_eq!(fetch(&client, &url, CALLER).await.unwrap(), "hello");
        served.await.unwrap();
    }
}
