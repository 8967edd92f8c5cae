//! Stands between a store and its database, and lets everything that is sent take its time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// How many pieces may be on their way.
const MOST_PIECES: usize = 1024;

/// A line on loopback with so many milliseconds from the store to the database.
pub(crate) struct SlowLine {
    port: u16,
    latency: Arc<AtomicU64>,
}

impl SlowLine {
    /// Starts one before the server that a URL names; it is fast until it is told otherwise.
    pub(crate) async fn start(url: &str) -> Self {
        let server = url.split('@').nth(1).and_then(|rest| rest.split('/').next());
        let server = server.expect("the URL names a server").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let latency = Arc::new(AtomicU64::new(0));
        let known = Arc::clone(&latency);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.expect("the server listens");
                tokio::spawn(carry(client, server, Arc::clone(&known)));
            }
        });
        Self { port, latency }
    }

    /// Returns the URL that leads over the line.
    pub(crate) fn url(&self, url: &str) -> String {
        let (user, rest) = url.split_once('@').expect("the URL names a user");
        let (_, database) = rest.split_once('/').expect("the URL names a database");
        format!("{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// Says how long everything takes from now on.
    pub(crate) fn set_latency(&self, latency: Duration) {
        let millis = u64::try_from(latency.as_millis()).expect("a short time");
        self.latency.store(millis, Ordering::SeqCst);
    }
}

async fn carry(client: TcpStream, server: TcpStream, latency: Arc<AtomicU64>) {
    for stream in [&client, &server] {
        stream.set_nodelay(true).expect("it is a socket");
    }
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, to_server) = server.into_split();
    // Either side's end is the end of both.
    tokio::select! {
        () = delay(from_client, to_server, latency) => {}
        _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
    }
}

/// What is sent back to back arrives back to back.
async fn delay(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, latency: Arc<AtomicU64>) {
    let (sender, mut pieces) = mpsc::channel::<(Instant, Vec<u8>)>(MOST_PIECES);
    let read = async move {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            let due = Instant::now() + Duration::from_millis(latency.load(Ordering::SeqCst));
            if sender.send((due, buffer[..count].to_vec())).await.is_err() {
                return;
            }
        }
    };
    let write = async move {
        while let Some((due, piece)) = pieces.recv().await {
            sleep_until(due).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(read, write);
}
