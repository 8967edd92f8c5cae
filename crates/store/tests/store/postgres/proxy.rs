//! Stands between a store and its database, and cuts the connection at a commit.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
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
    /// The connection is lost, and the database hears of it when it is told to.
    Late = 4,
}

/// A proxy on loopback.
pub(crate) struct Proxy {
    port: u16,
    next: Arc<AtomicU8>,
    late: Arc<Late>,
}

/// What the database is yet to hear.
#[derive(Default)]
struct Late {
    deliver: Notify,
    delivered: Notify,
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
        let late = Arc::new(Late::default());
        let waiting = Arc::clone(&late);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.expect("the server listens");
                let (orders, waiting) = (Arc::clone(&orders), Arc::clone(&waiting));
                tokio::spawn(carry(client, server, orders, waiting));
            }
        });
        Self { port, next, late }
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

    /// Lets the database hear of a commit that was cut [`Late`](Cut::Late), and waits until it
    /// is done with it.
    pub(crate) async fn deliver(&self) {
        self.late.deliver.notify_one();
        self.late.delivered.notified().await;
    }

    /// Tells whether the order was carried out.
    pub(crate) fn has_cut(&self) -> bool {
        self.next.load(Ordering::SeqCst) == Cut::Never as u8
    }
}

/// Carries bytes both ways until either side ends, or an order is carried out.
async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    orders: Arc<AtomicU8>,
    late: Arc<Late>,
) {
    let (mut from_client, mut from_server) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut opening = None;
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(count @ 1..) = read else { return };
                let bytes = &from_client[..count];
                opening = opening.or_else(|| name_of_opening(bytes));
                let opens = opening.as_ref().is_some_and(|name| is_run(bytes, name));
                let is_commit = opens || contains(bytes, b"COMMIT\0");
                let order = orders.load(Ordering::SeqCst);
                if is_commit && order != Cut::Never as u8 {
                    orders.store(Cut::Never as u8, Ordering::SeqCst);
                    if order == Cut::Late as u8 {
                        drop(client);
                        late.deliver.notified().await;
                        server.write_all(bytes).await.expect("the server takes it");
                        wait_for_commit(&mut server).await;
                        late.delivered.notify_one();
                        return;
                    }
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

/// The name that a statement is prepared under which is a transaction by itself.
fn name_of_opening(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = b"\0WITH mark AS ";
    let end = bytes.windows(text.len()).position(|window| window == text)?;
    // Names are an `s` and a number.
    let start = bytes[..end].iter().rposition(|byte| *byte == b's')?;
    Some(bytes[start..end].to_vec())
}

/// Whether a prepared statement is run: its name stands behind that of a portal without one.
fn is_run(bytes: &[u8], name: &[u8]) -> bool {
    let bound = [b"\0", name, b"\0"].concat();
    let places = bytes.windows(bound.len()).enumerate().filter(|(_, window)| *window == bound);
    places.into_iter().any(|(place, _)| place >= 5 && bytes[place - 5] == b'B')
}

/// Waits until the server is ready and in no transaction.
async fn wait_for_commit(server: &mut TcpStream) {
    let mut answer = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while !contains(&answer, b"Z\0\0\0\x05I") {
        match server.read(&mut buffer).await {
            Ok(count @ 1..) => answer.extend_from_slice(&buffer[..count]),
            _ => panic!("the server does not answer"),
        }
    }
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}
