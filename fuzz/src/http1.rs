//! The same for answers in HTTP/1.1: what our client understands of them, the library that others
//! use understands alike.
//!
//! Apart from the others, so that the tests of `nuncio-net` can replay its corpus.

use std::net::SocketAddr;

use http::StatusCode;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use nuncio_net::{Client, Errand, Guard, Policy, Purpose, Request};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// Every reader by the name of its fuzz target and corpus folder.
pub const READERS: &[(&str, fn(&[u8]))] = &[("http1", http1)];

/// Runs one reader, known by name.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, reader) = READERS.iter().find(|(known, _)| *known == name).expect("a known reader");
    reader(bytes);
}

/// An answer, and whatever else a peer sends: the first byte says how it is cut.
fn http1(bytes: &[u8]) {
    let Some((first, answer)) = bytes.split_first() else { return };
    let pieces: Vec<&[u8]> = answer.chunks(16 * usize::from(*first).max(1)).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(compare(&pieces));
}

/// Reads an answer by both. Ours may refuse what the other takes, and never the other way round.
pub async fn compare(pieces: &[&[u8]]) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let (ours, ()) = tokio::join!(ours(address), serve(&listener, pieces));
    let Some(ours) = ours else { return };
    let (theirs, ()) = tokio::join!(theirs(address), serve(&listener, pieces));
    assert_eq!(Some(ours), theirs);
}

/// Answers one request, and closes.
async fn serve(listener: &TcpListener, pieces: &[&[u8]]) {
    let (mut stream, _) = listener.accept().await.expect("a connection");
    stream.set_nodelay(true).expect("an open connection");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_buf(&mut head).await {
            Ok(1..) => {}
            _ => return,
        }
    }
    for piece in pieces {
        // Who has read enough may be gone.
        if stream.write_all(piece).await.is_err() {
            return;
        }
    }
    let _ = stream.shutdown().await;
    // To close before the peer has read all could take the rest from it.
    while let Ok(1..) = stream.read_buf(&mut head).await {}
}

async fn ours(address: SocketAddr) -> Option<(StatusCode, Vec<u8>)> {
    let policy = Policy::default().dangerously_open_loopback_to_callers();
    let client = Client::new(Guard::new(policy));
    let errand = Errand::caller(Purpose::Webhook);
    let url = client.guard().check_url(&format!("http://{address}/"), errand);
    let answer = client.send(Request::get(&url.expect("loopback is open"))).await.ok()?;
    let status = answer.status();
    let body = answer.collect(1 << 20).await.ok()?;
    Some((status, body.to_vec()))
}

async fn theirs(address: SocketAddr) -> Option<(StatusCode, Vec<u8>)> {
    let stream = TokioIo::new(TcpStream::connect(address).await.expect("a connection"));
    let builder = hyper::client::conn::http1::Builder::new();
    let (mut sender, connection) = builder.handshake(stream).await.ok()?;
    let request = http::Request::get("/").header("host", "localhost");
    let request = request.body(Empty::<hyper::body::Bytes>::new()).expect("a request");
    let read = async move {
        let answer = sender.send_request(request).await.ok()?;
        let status = answer.status();
        let body = answer.into_body().collect().await.ok()?;
        Some((status, body.to_bytes().to_vec()))
    };
    let (read, _) = tokio::join!(read, connection);
    read
}
