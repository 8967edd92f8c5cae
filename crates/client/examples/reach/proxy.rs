//! A way to the agent that breaks off.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::Failure;

/// Passes everything on until it is dropped, and cuts connections after so many bytes of answers.
pub(crate) struct Proxy {
    pub(crate) address: String,
    cuts: Arc<AtomicUsize>,
    running: JoinHandle<()>,
}

impl Proxy {
    /// The first connections end after so many bytes each, later ones do not.
    pub(crate) async fn start(agent: String, limits: Vec<usize>) -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let cuts = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&cuts);
        let running = tokio::spawn(async move {
            let mut limits = limits.into_iter();
            while let Ok((caller, _)) = listener.accept().await {
                let limit = limits.next().unwrap_or(usize::MAX);
                // An agent that is not there is what the caller will find.
                let Ok(agent) = TcpStream::connect(&agent).await else { continue };
                tokio::spawn(carry(caller, agent, limit, Arc::clone(&count)));
            }
        });
        Ok(Self { address, cuts, running })
    }

    /// Returns how many connections were cut.
    pub(crate) fn cuts(&self) -> usize {
        self.cuts.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.running.abort();
    }
}

async fn carry(caller: TcpStream, agent: TcpStream, mut left: usize, cuts: Arc<AtomicUsize>) {
    let (mut from_caller, mut to_caller) = caller.into_split();
    let (mut from_agent, mut to_agent) = agent.into_split();
    let asking = tokio::spawn(async move {
        // Whoever leaves first ends it.
        let _ = tokio::io::copy(&mut from_caller, &mut to_agent).await;
    });
    let mut bytes = vec![0; 4096];
    loop {
        let room = left.min(bytes.len());
        match from_agent.read(&mut bytes[..room]).await {
            Ok(0) | Err(_) => break,
            Ok(count) => {
                left -= count;
                if to_caller.write_all(&bytes[..count]).await.is_err() {
                    break;
                }
            }
        }
        if left == 0 {
            cuts.fetch_add(1, Ordering::Relaxed);
            break;
        }
    }
    asking.abort();
}
