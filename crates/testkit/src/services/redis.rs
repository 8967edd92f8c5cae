//! Redis that keeps nothing on disk.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use super::server::{Server, Started, folder_in_path, password};
use super::{blocking, is_left_out, missing};
use crate::leftovers::Directory;

/// A Redis server, reached by TCP on loopback. Dropping it stops it.
#[derive(Debug)]
pub struct Redis(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    server: Server,
    port: u16,
    password: String,
}

impl Redis {
    /// Starts a server for the caller alone. `None`: left out by `NUNCIO_WITHOUT`.
    ///
    /// # Panics
    /// If Redis is not installed or does not start.
    pub async fn start() -> Option<Self> {
        if is_left_out("redis") {
            return None;
        }
        Some(blocking(Self::launch).await)
    }

    /// The address for clients: `redis://:password@127.0.0.1:port`.
    pub fn url(&self) -> String {
        let Inner { password, port, .. } = &*self.0;
        format!("redis://:{password}@127.0.0.1:{port}")
    }

    /// Sends one command, such as `SET name value`, and returns the answer as it comes on the
    /// wire, without the line ends.
    ///
    /// # Panics
    /// If the server does not answer, or with an error.
    pub async fn command(&self, command: &str) -> String {
        let inner = Arc::clone(&self.0);
        let command = command.to_owned();
        blocking(move || ask(inner.port, &inner.password, &command).expect("redis answers")).await
    }

    /// Forgets everything that is stored.
    ///
    /// # Panics
    /// If the server does not answer.
    pub async fn flush_all(&self) {
        assert_eq!(self.command("FLUSHALL").await, "+OK");
    }

    /// Ends the server in good order. What it held is lost.
    pub async fn stop(&self) {
        let inner = Arc::clone(&self.0);
        blocking(move || inner.server.end(Signal::TERM)).await;
    }

    /// Kills the server. What it held is lost.
    pub async fn kill9(&self) {
        let inner = Arc::clone(&self.0);
        blocking(move || inner.server.crash()).await;
    }

    /// Starts it again after [`stop`](Self::stop) or [`kill9`](Self::kill9), empty and on the
    /// same port, and waits until it answers.
    ///
    /// # Panics
    /// If it runs, or does not start.
    pub async fn restart(&self) {
        let inner = Arc::clone(&self.0);
        blocking(move || {
            let started = inner.server.start(|_| is_ready(inner.port, &inner.password));
            assert_eq!(started, Started::Ready, "port {} was taken meanwhile", inner.port);
        })
        .await;
    }

    /// Stops the server where it stands: connections stay open, and nothing is answered.
    pub fn pause(&self) {
        self.0.server.pause();
    }

    /// Lets a paused server go on.
    pub fn resume(&self) {
        self.0.server.resume();
    }

    /// The id of its process, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.0.server.id()
    }

    /// Where it keeps its configuration and its log.
    pub fn directory(&self) -> &Path {
        self.0.server.directory()
    }

    fn launch() -> Self {
        let folder = folder_in_path("redis-server").unwrap_or_else(|| missing("redis", "PATH"));
        let directory = Directory::new(None);
        let password = password();
        // In a file, because everybody may read the arguments of a process.
        let secret = directory.path().join("redis.conf");
        fs::write(&secret, format!("requirepass {password}\n")).expect("our directory takes files");

        let mut server = Server::new(directory, None, folder.join("redis-server"));
        let port = server.start_on_free_port(
            |_, port| {
                let arguments = ["redis.conf", "--bind", "127.0.0.1", "--save", "", "--appendonly"];
                let rest = ["no", "--port", &port.to_string()].map(str::to_owned);
                arguments.map(str::to_owned).into_iter().chain(rest).collect()
            },
            |_, port, _| is_ready(port, &password),
        );
        Self(Arc::new(Inner { server, port, password }))
    }
}

/// Whether the server with this password, and no other, answers.
fn is_ready(port: u16, password: &str) -> bool {
    ask(port, password, "PING").is_ok_and(|answer| answer == "+PONG")
}

fn ask(port: u16, password: &str, command: &str) -> anyhow::Result<String> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    connection.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(connection, "AUTH {password}\r\n{command}\r\nQUIT\r\n")?;
    let mut answers = String::new();
    connection.read_to_string(&mut answers)?;
    let answer = answers
        .strip_prefix("+OK\r\n")
        .and_then(|rest| rest.strip_suffix("+OK\r\n"))
        .filter(|answer| !answer.starts_with('-'));
    answer
        .map(|answer| answer.trim_end().replace("\r\n", "\n"))
        .ok_or_else(|| anyhow::anyhow!("redis answered {answers:?}"))
}
