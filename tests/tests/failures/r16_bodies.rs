//! R16: bodies without end, to a server of its own, whose memory is looked at.

use std::net::SocketAddr;

use nuncio_testkit::wire::{Http, Wire};
use nuncio_tests::{figures, served};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use crate::turn;

/// How many announce more than is taken, all at once.
const ANNOUNCED: usize = 200;
/// How many send without end, one after the other.
const ENDLESS: usize = 20;
/// The largest body that is taken.
const LIMIT: usize = 10 << 20;
/// What the kernel may hold of what was written and not taken.
const IN_BETWEEN: usize = 16 << 20;
/// How much the server may grow: one body that grows in steps, and what it answers with.
const GROWTH: u64 = 64 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn bodies_without_end_cost_no_more_than_the_limit() {
    let _turn = turn::alone().await;
    let directory = tempfile::tempdir().unwrap();
    let address = served::free_address();
    let process = served::start(address, directory.path()).await;
    let before = most_memory(process.id());

    let mut announced = JoinSet::new();
    for _ in 0..ANNOUNCED {
        announced.spawn(announce(address));
    }
    while let Some(answer) = announced.join_next().await {
        let answer = answer.unwrap();
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    }
    let mut most = 0;
    for _ in 0..ENDLESS {
        most = most.max(send_without_end(address).await);
    }

    let growth = most_memory(process.id()) - before;
    figures::print(&format!(
        "R16: {ANNOUNCED} bodies of 10 GiB announced, {ENDLESS} without end: cut after {} MiB at \
         most, of which the kernel holds some; the server grew by {} MiB",
        most >> 20,
        growth >> 20,
    ));
    assert!(growth <= GROWTH, "the server grew by {} MiB", growth >> 20);
    for wire in Wire::all(&Http::new(address)) {
        let message = nuncio_protocol::message::Message::user("1 0");
        let send = nuncio_protocol::operation::SendMessageRequest::new(message);
        let answer = wire.call(nuncio_protocol::operation::Request::SendMessage(send)).await;
        answer.expect("a healthy caller is served");
    }
}

/// Announces 10 GiB and sends some of it. Returns what is answered.
async fn announce(address: SocketAddr) -> String {
    let mut tcp = TcpStream::connect(address).await.expect("the server listens");
    let head =
        "POST / HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-length: 10737418240\r\n\r\n";
    tcp.write_all(head.as_bytes()).await.expect("it is taken");
    // It may be closed already.
    let _ = tcp.write_all(&vec![b'x'; 64 << 10]).await;
    let mut read = Vec::new();
    while let Ok(1..) = tcp.read_buf(&mut read).await {}
    String::from_utf8_lossy(&read).into_owned()
}

/// Sends until the server has had enough. Returns how many bytes that were.
async fn send_without_end(address: SocketAddr) -> usize {
    let mut tcp = TcpStream::connect(address).await.expect("the server listens");
    let head = "POST /message:send HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\n\
                transfer-encoding: chunked\r\n\r\n";
    tcp.write_all(head.as_bytes()).await.expect("it is taken");
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let mut written = 0;
    while tcp.write_all(chunk.as_bytes()).await.is_ok() {
        written += chunk.len();
        assert!(written < LIMIT + IN_BETWEEN, "it takes all there is");
    }
    written
}

/// The most memory that a process has ever had, in bytes.
fn most_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says it");
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes << 10
}
