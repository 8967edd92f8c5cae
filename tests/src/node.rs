//! A process that runs the task engine over a store, and is told what to do in lines.
//!
//! It is as thin as can be: what tests find out about it is true of the engine and the store.

pub mod agents;
mod answer;
mod bad;
mod options;
mod stores;
mod view;
pub mod webhooks;

use std::{
    collections::HashMap,
    fs,
    io::{self, BufRead as _, BufWriter, Write as _},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use anyhow::Context as _;
use nuncio_tasks::{
    clock::Clock,
    engine::{Settings, Tasks},
    scope::Name,
    store::Store,
};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{Semaphore, mpsc, watch};

pub use options::{Kept, Options};

use crate::wire::{Line, READY, Reply, Request};

/// The organisation that everything belongs to.
pub const TENANT: &str = "acme";

/// How many lines may wait to be written.
const WAITING_LINES: usize = 1024;

/// Runs a node until it is told to stop, its input ends, or it is killed.
pub fn main(arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let options = Options::parse(arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(options))
}

/// The engine with its store, and what the requests share.
struct Node {
    tasks: Tasks,
    store: Arc<dyn Store>,
    lines: mpsc::Sender<String>,
    /// How many events stalled readers may still take.
    credits: Mutex<HashMap<u64, Arc<Semaphore>>>,
    /// Whether readers within the node may go on.
    unstalled: watch::Sender<bool>,
    /// Whether the engine has stopped in good order.
    stopped: watch::Sender<bool>,
}

async fn run(options: Options) -> anyhow::Result<()> {
    let (lines, waiting) = mpsc::channel(WAITING_LINES);
    let writer = thread::spawn(move || write_lines(waiting));
    let (store, hints) = stores::open(&options).await?;
    let mut builder = Tasks::builder(Arc::clone(&store))
        .hints(hints)
        .clock(clock(options.clock_offset))
        .settings(settings(&options));
    if options.webhooks {
        builder = builder.push(webhooks::push());
    }
    let tasks = agents::register(builder, options.effects.clone())?.start();
    let node = Arc::new(Node {
        tasks,
        store,
        lines: lines.clone(),
        credits: Mutex::default(),
        unstalled: watch::Sender::new(false),
        stopped: watch::Sender::new(false),
    });
    lines.send(READY.to_owned()).await.context("standard output is closed")?;
    drop(lines);
    let mut requests = read_requests();
    let mut stopped = node.stopped.subscribe();
    loop {
        let line = tokio::select! {
            line = requests.recv() => line,
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        // Without a line the test is gone.
        let Some(line) = line else { return Ok(()) };
        let request: Request = serde_json::from_str(&line).with_context(|| line.clone())?;
        tokio::spawn(answer::answer(Arc::clone(&node), request));
    }
    // Streams that are still open hold the node, and so the lines.
    drop(node);
    let flushed = tokio::task::spawn_blocking(move || writer.join());
    // Whatever is left is for nobody.
    tokio::time::timeout(Duration::from_secs(1), flushed).await.ok();
    Ok(())
}

impl Node {
    /// Says a line. A test that is gone does not hear it.
    async fn say(&self, id: u64, reply: Reply) {
        if let Ok(line) = serde_json::to_string(&Line { id, reply }) {
            self.lines.send(line).await.ok();
        }
    }

    fn credits(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Semaphore>>> {
        self.credits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the time, so many seconds wrong.
fn clock(offset: i64) -> Clock {
    use nuncio_protocol::time::Timestamp;
    Clock::new(move || {
        let now = Timestamp::now();
        Timestamp::from_millis(now.as_millis() + offset * 1_000).unwrap_or(now)
    })
}

fn settings(options: &Options) -> Settings {
    let mut settings = Settings::default();
    settings.unfinished_tasks = 1_000_000;
    if let Some(lease) = options.lease {
        settings.lease = lease;
    }
    if let Some(events) = options.task_events {
        settings.limits.task_events = events;
    }
    settings
}

/// Names that are written in this program, or come from a test.
fn name(text: &str) -> anyhow::Result<Name> {
    Name::parse(text).with_context(|| format!("name {text:?}"))
}

/// Reads lines in a thread of its own: standard input cannot be waited for otherwise.
fn read_requests() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Writes lines as they come, many at once if they come fast.
fn write_lines(mut lines: mpsc::Receiver<String>) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    while let Some(line) = lines.blocking_recv() {
        writeln!(output, "{line}")?;
        while let Ok(line) = lines.try_recv() {
            writeln!(output, "{line}")?;
        }
        output.flush()?;
    }
    Ok(())
}

/// How long processors have worked for the process.
fn processor_time() -> anyhow::Result<Duration> {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Ok(Duration::try_from(time)?)
}

/// How much memory the process has, in bytes.
fn memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}
