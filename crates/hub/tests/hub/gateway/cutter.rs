//! A way between two that breaks when it is told to.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use nuncio_testkit::random::Random;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::{JoinHandle, JoinSet},
};

/// What is said in every piece of a script, on every binding.
const PIECE: &[u8] = b"count";

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is closed before anything has gone through.
    AtOnce,
    /// It is closed when a part of the request is there, of which nothing goes through.
    InRequest,
    /// All of the request goes through. It is closed in place of the answer.
    InsteadOfAnswer,
    /// It ends behind so many pieces of a script.
    AfterPieces(usize, End),
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Reset,
    Close,
    /// Nothing comes any more, and nobody says so.
    Silence,
}

impl End {
    pub(crate) const ALL: [Self; 3] = [Self::Reset, Self::Close, Self::Silence];
}

/// A way that breaks, for as long as this is held.
pub(crate) struct Cutter {
    pub(crate) address: SocketAddr,
    plan: Arc<Mutex<Plan>>,
    /// Ends all connections that are there.
    end: Arc<Notify>,
    accepting: Option<JoinHandle<()>>,
    listener: Option<TcpListener>,
}

/// What becomes of the next connections.
enum Plan {
    /// These faults, and then none.
    Told(VecDeque<Fault>),
    /// So many more, by chance.
    Chance(usize, Random),
}

impl Cutter {
    /// Takes a port; nobody answers before it [leads](Self::lead_to) somewhere.
    pub(crate) async fn new(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self::with(Plan::Told(faults.into_iter().collect())).await
    }

    /// Cuts so many connections behind a few pieces, by chance.
    pub(crate) async fn by_chance(cuts: usize, random: Random) -> Self {
        Self::with(Plan::Chance(cuts, random)).await
    }

    async fn with(plan: Plan) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let plan = Arc::new(Mutex::new(plan));
        Self { address, plan, end: Arc::default(), accepting: None, listener: Some(listener) }
    }

    /// Leads to somewhere from now on.
    pub(crate) fn lead_to(&mut self, target: SocketAddr) {
        let listener = self.listener.take().expect("it leads nowhere yet");
        let (plan, end) = (Arc::clone(&self.plan), Arc::clone(&self.end));
        self.accepting = Some(tokio::spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                let fault = plan.lock().expect("nobody panics with it").next();
                let end = Arc::clone(&end);
                open.spawn(async move {
                    tokio::select! {
                        () = carry(near, target, fault) => {}
                        () = end.notified() => {}
                    }
                });
            }
        }));
    }

    /// Ends the connections that are there; of those that follow, the first have these faults.
    pub(crate) fn cut_all(&self, faults: impl IntoIterator<Item = Fault>) {
        let plan = Plan::Told(faults.into_iter().collect());
        *self.plan.lock().expect("nobody panics with it") = plan;
        self.end.notify_waiters();
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

impl Plan {
    fn next(&mut self) -> Option<Fault> {
        match self {
            Self::Told(faults) => faults.pop_front(),
            Self::Chance(0, _) => None,
            Self::Chance(left, random) => {
                *left -= 1;
                let pieces = 1 + usize::try_from(random.below(6)).expect("a few");
                Some(Fault::AfterPieces(pieces, *random.pick(&End::ALL)))
            }
        }
    }
}

async fn carry(mut near: TcpStream, target: SocketAddr, fault: Option<Fault>) {
    let mut bytes = vec![0; 16 << 10];
    match fault {
        Some(Fault::AtOnce) => return reset(&near),
        Some(Fault::InRequest) => {
            // Whatever came of it, the connection is over.
            let _ = near.read(&mut bytes).await;
            return reset(&near);
        }
        _ => {}
    }
    let Ok(mut far) = TcpStream::connect(target).await else { return };
    let mut back = vec![0; 16 << 10];
    let (mut pieces, mut is_http2) = (0, false);
    loop {
        tokio::select! {
            read = near.read(&mut bytes) => match read {
                Ok(count @ 1..) => {
                    is_http2 |= bytes[..count].starts_with(b"PRI ");
                    if far.write_all(&bytes[..count]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
            read = far.read(&mut back) => {
                let Ok(count @ 1..) = read else { return };
                if fault == Some(Fault::InsteadOfAnswer) {
                    return reset(&near);
                }
                // It may be torn between two reads; then it is cut a little later.
                pieces += back[..count].windows(PIECE.len()).filter(|one| *one == PIECE).count();
                match fault {
                    Some(Fault::AfterPieces(most, end)) if pieces >= most => {
                        // Pings notice it on HTTP/2, which takes longer than a test may.
                        let end = if is_http2 { End::Reset } else { end };
                        return finish(near, far, end).await;
                    }
                    _ if near.write_all(&back[..count]).await.is_err() => return,
                    _ => {}
                }
            }
        }
    }
}

async fn finish(near: TcpStream, far: TcpStream, end: End) {
    match end {
        End::Reset => reset(&near),
        End::Close => {}
        End::Silence => {
            // Longer than anybody waits.
            tokio::time::sleep(Duration::from_secs(600)).await;
            drop((near, far));
        }
    }
}

/// Says to the other side that the connection broke, when it is dropped.
fn reset(stream: &TcpStream) {
    stream.set_zero_linger().expect("a socket takes options");
}
