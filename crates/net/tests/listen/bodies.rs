//! Bodies that are too large, too slow, or break off.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body_util::{Full, StreamBody};
use hyper::body::Frame;
use nuncio_net::listen::{BodyError, BodyLimits, Limits, body::Guarded};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::Instant,
};

use crate::support::{SECOND, Server};

async fn server(bytes: u64) -> Server {
    let mut bodies = BodyLimits::default();
    bodies.bytes = bytes;
    Server::with(Limits::default(), bodies, None).await
}

fn post(headers: &str) -> String {
    format!("POST /body HTTP/1.1\r\nhost: test\r\n{headers}\r\n\r\n")
}

#[tokio::test]
async fn a_body_up_to_the_limit_is_read() {
    let mut server = server(8).await;
    for (request, body) in [
        (post("content-length: 8") + "12345678", "12345678"),
        (post("transfer-encoding: chunked") + "3\r\n123\r\n5\r\n45678\r\n0\r\n\r\n", "12345678"),
        (post("content-length: 0"), ""),
    ] {
        let mut raw = server.raw().await;
        raw.send(request).await;
        assert!(raw.answer().await.starts_with("HTTP/1.1 200"));
        assert_eq!(server.bodies.recv().await.unwrap().unwrap(), body);
    }
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_refused_unread() {
    let mut server = server(8).await;
    let mut raw = server.raw().await;
    raw.send(post("content-length: 9\r\nexpect: 100-continue")).await;
    let answer = raw.rest().await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let outcome = server.bodies.recv().await.unwrap();
    assert!(matches!(outcome, Err(BodyError::TooLarge { limit: 8 })), "{outcome:?}");
}

#[tokio::test]
async fn a_client_that_sends_all_before_it_reads_learns_why_it_was_refused() {
    let server = server(8).await;
    for headers in ["content-length: 50000", "transfer-encoding: chunked\r\ncontent-length: 1"] {
        let mut raw = server.raw().await;
        raw.send(post(headers)).await;
        // Many writes, so that a connection that was reset would break one of them.
        for _ in 0..50 {
            raw.send([b'x'; 1000]).await;
            tokio::task::yield_now().await;
        }
        raw.tcp.shutdown().await.unwrap();
        let mut answer = String::new();
        raw.tcp.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_stops_sending_is_left_alone() {
    let server = server(8).await;
    let mut raw = server.raw().await;
    raw.send(post("content-length: 50000")).await;
    let mut answer = String::new();
    raw.tcp.read_to_string(&mut answer).await.unwrap();
    let start = Instant::now();
    server.drain.begin(30 * SECOND);
    server.serving.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 2);
}

#[tokio::test]
async fn an_endless_body_is_refused_soon_after_the_limit() {
    let limit = 1024 * 1024;
    let mut server = server(limit).await;
    for headers in ["transfer-encoding: chunked", "content-length: 99999999999"] {
        let mut raw = server.raw().await;
        raw.send(post(headers)).await;
        let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
        // The socket breaks when the server has had enough.
        while raw.tcp.write_all(chunk.as_bytes()).await.is_ok() {}
        let outcome = server.bodies.recv().await.unwrap();
        assert!(matches!(outcome, Err(BodyError::TooLarge { .. })), "{outcome:?}");
    }
}

#[tokio::test]
async fn no_more_than_the_limit_and_a_buffer_is_taken_from_a_body() {
    let limit = 100_000;
    let mut taken = 0;
    let pieces = stream::repeat_with(|| {
        taken += 16 * 1024;
        Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b'x'; 16 * 1024])))
    });
    let mut limits = BodyLimits::default();
    limits.bytes = limit;
    let outcome = Guarded::new(StreamBody::new(pieces), limits).collect().await;
    assert!(matches!(outcome, Err(BodyError::TooLarge { .. })), "{outcome:?}");
    assert!(taken <= limit + 64 * 1024, "{taken}");
}

#[tokio::test]
async fn a_body_in_one_piece_is_not_copied() {
    let body = Bytes::from(vec![1; 1000]);
    let read = Guarded::new(Full::new(body.clone()), BodyLimits::default()).collect().await;
    assert_eq!(read.unwrap().as_ptr(), body.as_ptr());
}

#[tokio::test]
async fn a_body_that_breaks_off_is_an_error() {
    let mut server = server(100).await;
    let mut raw = server.raw().await;
    raw.send(post("content-length: 10") + "123").await;
    drop(raw);
    // Nobody is left to answer: the connection may take the service's future with it.
    if let Some(outcome) = tokio::select! {
        outcome = server.bodies.recv() => outcome,
        () = async {
            server.reached.notified().await;
            server.drain.begin(Duration::ZERO);
            (&mut server.serving).await.unwrap();
        } => None,
    } {
        assert!(matches!(outcome, Err(BodyError::Broken(_))), "{outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sender_who_goes_silent_is_given_up() {
    let mut server = server(100_000).await;
    for sent in ["", "some"] {
        let mut raw = server.raw().await;
        let start = Instant::now();
        raw.send(post("content-length: 5000") + sent).await;
        assert!(raw.rest().await.starts_with("HTTP/1.1 408"));
        assert_eq!(start.elapsed().as_secs(), 10);
        let outcome = server.bodies.recv().await.unwrap();
        assert!(matches!(outcome, Err(BodyError::TooSlow)), "{outcome:?}");
    }
}

/// Reads a body that comes in pieces of this size, this long apart.
async fn paced(pieces: usize, bytes: usize, pause: Duration) -> Result<usize, BodyError> {
    let body = stream::iter(0..pieces).then(move |_| async move {
        tokio::time::sleep(pause).await;
        Ok::<_, Infallible>(Frame::data(Bytes::from(vec![0; bytes])))
    });
    let body = Box::pin(StreamBody::new(body));
    Guarded::new(body, BodyLimits::default()).collect().await.map(|body| body.len())
}

#[tokio::test(start_paused = true)]
async fn a_sender_who_keeps_the_pace_may_take_long() {
    assert_eq!(paced(1000, 1024, SECOND).await.unwrap(), 1_024_000);
    assert_eq!(paced(100, 9 * 1024, 9 * SECOND).await.unwrap(), 921_600);
}

#[tokio::test(start_paused = true)]
async fn a_sender_below_the_pace_is_given_up() {
    let start = Instant::now();
    assert!(matches!(paced(1000, 512, SECOND).await, Err(BodyError::TooSlow)));
    assert_eq!(start.elapsed().as_secs(), 19);
    // A large piece does not buy silence.
    assert!(matches!(paced(2, 1_000_000, 11 * SECOND).await, Err(BodyError::TooSlow)));
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_takes_its_time_is_not_the_senders_fault() {
    let body = stream::iter([1, 2]).then(|_| async {
        tokio::time::sleep(6 * SECOND).await;
        Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[0; 6 * 1024])))
    });
    let mut body = Guarded::new(Box::pin(StreamBody::new(body)), BodyLimits::default());
    for _ in 0..2 {
        tokio::time::sleep(60 * SECOND).await;
        http_body_util::BodyExt::frame(&mut body).await.unwrap().unwrap();
    }
}
