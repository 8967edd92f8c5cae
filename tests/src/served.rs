//! A process that serves an agent over HTTP, and writes down each of its runs.

use std::{
    fs::OpenOptions,
    io::Write as _,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use nuncio_server::{Agent, Conduct, Failure, Output, Server, Turn};
use nuncio_store::sqlite::{Options, SqliteStore};
use nuncio_tasks::agent::Interrupted;
use nuncio_testkit::process::Process;
use tokio::net::TcpStream;

use crate::node::agents::Steps;

/// Serves until it is told to stop. The arguments are the address, a directory for tasks, and
/// a file for runs.
pub fn main(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let mut next = move || arguments.next().context("ADDRESS DIRECTORY FILE");
    let (address, directory, runs) = (next()?, next()?, next()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = SqliteStore::open(directory.as_ref(), Options::default())?;
        let agent = Counted { runs: runs.into(), steps: Steps(Interrupted::Fail) };
        let server = Server::new("counted", agent).store(Arc::new(store));
        Ok(server.serve(&address).await?)
    })
}

/// Gives a result in chunks, as [`Steps`] does, and writes the identifier of its message into a
/// file at each run.
#[derive(Debug)]
struct Counted {
    runs: PathBuf,
    steps: Steps,
}

impl Agent for Counted {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.runs)?;
        file.write_all(format!("{}\n", turn.message.message_id).as_bytes())?;
        self.steps.run(turn, output).await
    }

    fn conduct(&self) -> Conduct {
        Conduct { dedupes_by_message_id: true, ..self.steps.conduct() }
    }
}

/// Starts such a process, and waits until it listens.
///
/// # Panics
/// If it does not.
pub async fn start(address: SocketAddr, directory: &Path) -> Process {
    let test = std::env::current_exe().expect("a program knows its path");
    let folder = test.parent().and_then(Path::parent).expect("cargo made two folders");
    let arguments = [
        address.to_string(),
        directory.join("data").display().to_string(),
        runs(directory).display().to_string(),
    ];
    let environment: [(&str, &str); 0] = [];
    let process = Process::spawn(folder.join("nuncio-test-server"), arguments, environment);
    while TcpStream::connect(address).await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        assert!(!process.errors().contains("Error"), "{}", process.errors());
    }
    process
}

/// An address that is free now, and that nobody else takes meanwhile, most likely: a server that
/// is started again comes back to the same.
///
/// # Panics
/// If there is none.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("it is bound")
}

/// The file that runs are written into.
pub fn runs(directory: &Path) -> PathBuf {
    directory.join("runs")
}
