//! A server in a process of its own, so that its time and memory are its own, too.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};
use uuid::Uuid;

use super::client::Connection;

/// How long a server may take until it serves its card.
const PATIENCE: Duration = Duration::from_secs(60);

const CARD: &str = "/.well-known/agent-card.json";

/// How to start a server.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// What the report calls it.
    pub(crate) name: String,
    /// Whose server it is.
    pub(crate) side: Side,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// `STORE`: where tasks are kept.
    pub(crate) store: Option<String>,
}

/// Whose server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The measured one: its wrong answers end the run.
    Ours,
    /// One that others have made. What it cannot do is told, and the run goes on.
    Peer,
    /// One that does the least.
    Reference,
}

/// A server that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    name: String,
    side: Side,
    child: Child,
    pid: u32,
    address: SocketAddr,
    grpc: SocketAddr,
    cold_start: Duration,
}

impl Launch {
    /// Whether this is the measured server, and no reference.
    pub(crate) fn is_measured(&self) -> bool {
        self.side == Side::Ours
    }

    /// Starts the server and waits for its card.
    pub(crate) async fn start(&self) -> Result<Server> {
        let (address, grpc) = free_addresses()?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env("PORT", address.port().to_string())
            .env("GRPC_PORT", grpc.port().to_string())
            .env_remove("STORE")
            // References end when their input ends, also if we cannot end them.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true);
        if let Some(store) = &self.store {
            command.env("STORE", store);
        }
        let begun = Instant::now();
        let child = command.spawn().with_context(|| format!("start {}", self.program.display()))?;
        let pid = child.id().context("a process that was just started has an id")?;
        let cold_start = Duration::ZERO;
        let (name, side) = (self.name.clone(), self.side);
        let mut server = Server { name, side, child, pid, address, grpc, cold_start };
        server.wait_for_card(begun).await?;
        server.cold_start = begun.elapsed();
        Ok(server)
    }
}

impl Server {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn side(&self) -> Side {
        self.side
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it serves gRPC.
    pub(crate) fn grpc(&self) -> SocketAddr {
        self.grpc
    }

    /// How long it took from its start to its first card.
    pub(crate) fn cold_start(&self) -> Duration {
        self.cold_start
    }

    /// The processor time that it has used so far.
    pub(crate) fn processor_time(&self) -> Result<Duration> {
        processor_time(&format!("/proc/{}/stat", self.pid), 11)
    }

    /// Its resident memory in bytes, when it has come to rest.
    pub(crate) async fn settled_memory(&self) -> Result<u64> {
        let mut seen = Vec::new();
        for _ in 0..3 {
            sleep(Duration::from_millis(200)).await;
            seen.push(self.memory()?);
        }
        seen.sort_unstable();
        Ok(seen[1])
    }

    fn memory(&self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.pid);
        let status = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()).context("no VmRSS")?;
        Ok(kib.parse::<u64>().context("VmRSS is no number")? * 1024)
    }

    async fn wait_for_card(&mut self, begun: Instant) -> Result<()> {
        while begun.elapsed() < PATIENCE {
            if let Ok(mut connection) = Connection::open(self.address).await
                && connection.get(CARD).await.is_ok_and(|status| status == 200)
            {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended instead of serving: {status}", self.name);
            }
            sleep(Duration::from_micros(300)).await;
        }
        bail!("{} served no card within {} s", self.name, PATIENCE.as_secs())
    }
}

/// The processor time of all processes that we have started and that have ended.
pub(crate) fn reaped_processor_time() -> Result<Duration> {
    processor_time("/proc/self/stat", 13)
}

/// The processor time that everybody has used since the machine was started, and of it what
/// was used by us and by those processes that we have started and that have ended.
pub(crate) fn everybodys_processor_time() -> Result<(Duration, Duration)> {
    let stat = fs::read_to_string("/proc/stat").context("read /proc/stat")?;
    let line = stat.lines().next().unwrap_or_default();
    // User, nice, system, idle, waiting, interrupts, soft interrupts, stolen.
    let fields = line.split_whitespace().skip(1).take(8).map(str::parse::<u64>);
    let fields = fields.collect::<Result<Vec<u64>, _>>()?;
    let idle: u64 = fields.iter().skip(3).take(2).sum();
    let ours = processor_time("/proc/self/stat", 11)? + reaped_processor_time()?;
    Ok((ticks(fields.iter().sum::<u64>() - idle), ours))
}

/// Adds up two neighbouring fields, user and system time, counted behind the name.
fn processor_time(path: &str, first: usize) -> Result<Duration> {
    let stat = fs::read_to_string(path).with_context(|| format!("read {path}"))?;
    // The name in parentheses may hold anything.
    let (_, fields) = stat.rsplit_once(')').with_context(|| format!("no fields in {path}"))?;
    let times = fields.split_whitespace().skip(first).take(2);
    Ok(ticks(times.map(str::parse::<u64>).sum::<Result<u64, _>>()?))
}

fn ticks(count: u64) -> Duration {
    let nanoseconds = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Duration::from_nanos(count * nanoseconds)
}

/// Two ports that nobody listens on now. Somebody could take one before the server does; then
/// the server ends, and the run with it.
fn free_addresses() -> Result<(SocketAddr, SocketAddr)> {
    let (one, other) = (free_listener()?, free_listener()?);
    Ok((one.local_addr()?, other.local_addr()?))
}

/// Takes a port by lot. Not one of those that the system gives to connections: under load there
/// are many, and one could get the port before the server does.
fn free_listener() -> Result<TcpListener> {
    for _ in 0..1000 {
        let [first, second, ..] = Uuid::new_v4().into_bytes();
        let port = 12_000 + u16::from_be_bytes([first, second]) % 20_000;
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return Ok(listener);
        }
    }
    bail!("no port is free")
}

/// How to start each reference: this program, with a hidden command.
#[derive(Clone, Debug)]
pub(crate) struct References {
    program: PathBuf,
}

impl References {
    pub(crate) fn of(program: &Path) -> Self {
        Self { program: program.to_owned() }
    }

    /// Where this program is.
    pub(crate) fn directory(&self) -> &Path {
        self.program.parent().unwrap_or_else(|| Path::new("."))
    }

    /// This program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn bare(&self, answers: &Path) -> Launch {
        self.launch("bare", &["--answers", &answers.to_string_lossy()])
    }

    pub(crate) fn typed(&self) -> Launch {
        self.launch("typed", &[])
    }

    pub(crate) fn durable(&self, log: &Path) -> Launch {
        self.launch("durable", &["--log", &log.to_string_lossy()])
    }

    pub(crate) fn postgres(&self, url: String) -> Launch {
        Launch { store: Some(url), ..self.launch("postgres", &[]) }
    }

    pub(crate) fn grpc_bare(&self) -> Launch {
        self.launch("grpc-bare", &[])
    }

    pub(crate) fn client_target(&self) -> Launch {
        self.launch("client-target", &[])
    }

    /// A proxy before an agent.
    pub(crate) fn proxy(&self, agent: SocketAddr) -> Launch {
        self.launch("proxy", &["--agent", &agent.to_string()])
    }

    fn launch(&self, name: &str, options: &[&str]) -> Launch {
        let arguments =
            ["reference", name].into_iter().chain(options.iter().copied()).map(str::to_owned);
        Launch {
            name: name.to_owned(),
            side: Side::Reference,
            program: self.program.clone(),
            arguments: arguments.collect(),
            store: None,
        }
    }
}
