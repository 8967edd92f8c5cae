//! Stands between a store and its database, and cuts the connection at a commit.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What happens to the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Cut {
    Never = 0,
    /// The database never hears of it.
    Before = 1,
    /// The database commits, and nobody hears of that.
    After = 2,
    /// The database has begun to commit.
    During = 3,
}

/// A proxy on loopback.
pub(crate) struct Proxy {
    port: u16,
    next: Arc<AtomicU8>,
}

impl Proxy {
    /// Starts one before the server that a URL names.
    pub(crate) async fn start(url: &str) -> Self {
        let server = url.split('@').nth(1).and_then(|rest| rest.split('/').next());
        let server = server.expect("the URL names a server").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let next = Arc::new(AtomicU8::new(Cut::Never as u8));
        let orders = Arc::clone(&next);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.expect("the server listens");
                tokio::spawn(carry(client, server, Arc::clone(&orders)));
            }
        });
        Self { port, next }
    }

    /// Returns the URL that leads through the proxy.
    pub(crate) fn url(&self, url: &str) -> String {
        let (user, rest) = url.split_once('@').expect("the URL names a user");
        let (_, database) = rest.split_once('/').expect("the URL names a database");
        format!("{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// Says what happens to the next commit.
    pub(crate) fn cut_next(&self, cut: Cut) {
        self.next.store(cut as u8, Ordering::SeqCst);
    }

    /// Tells whether the order was carried out.
    pub(crate) fn has_cut(&self) -> bool {
        self.next.load(Ordering::SeqCst) == Cut::Never as u8
    }
}

/// Carries bytes both ways until either side ends, or an order is carried out.
async fn carry(mut client: TcpStream, mut server: TcpStream, orders: Arc<AtomicU8>) {
    let (mut from_client, mut from_server) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(count @ 1..) = read else { return };
                let bytes = &from_client[..count];
                let is_commit = bytes.windows(7).any(|window| window == b"COMMIT\0");
                let order = orders.load(Ordering::SeqCst);
                if is_commit && order != Cut::Never as u8 {
                    orders.store(Cut::Never as u8, Ordering::SeqCst);
                    if order != Cut::Before as u8 {
                        server.write_all(bytes).await.expect("the server takes it");
                    }
                    if order == Cut::During as u8 {
                        drop(client);
                    }
                    if order != Cut::Before as u8 {
                        wait_for_commit(&mut server).await;
                    }
                    return;
                }
                if server.write_all(bytes).await.is_err() { return }
            }
            read = server.read(&mut from_server) => {
                let Ok(count @ 1..) = read else { return };
                if client.write_all(&from_server[..count]).await.is_err() { return }
            }
        }
    }
}

async fn wait_for_commit(server: &mut TcpStream) {
    let mut answer = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while !answer.windows(7).any(|window| window == b"COMMIT\0") {
        match server.read(&mut buffer).await {
            Ok(count @ 1..) => answer.extend_from_slice(&buffer[..count]),
            _ => panic!("the server does not answer"),
        }
    }
}
