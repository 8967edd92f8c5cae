//! Measures the embedded store on this machine's disk.
//!
//! `cargo run --release -p nuncio-store --example sqlite_speed -- [directory] [tasks]`

#![expect(clippy::print_stdout, reason = "figures are what this program is for")]

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    message::Message,
    state::TaskState,
    task::{Task, TaskStatus},
    time::Timestamp,
};
use nuncio_store::sqlite::{Options, SqliteStore};
use nuncio_tasks::{
    log::{Batch, Folded, Seq},
    scope::{Name, Place, Scope},
    store::{
        Append, Appended, Create, Created, Filter, Head, LEASE, Lease, Limit, Page, Store, Tenancy,
        Wake, Want,
    },
};
use tokio::time::Instant;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How many callers share the tasks.
const CALLERS: usize = 100;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or_else(|| "target/speed".to_owned()));
    let tasks: usize = arguments.next().map_or(Ok(100_000), |text| text.parse())?;

    appends(&directory.join("appends")).await?;
    lists(&directory.join("few"), 1_000).await?;
    lists(&directory.join("many"), tasks).await?;
    println!("resident: {} KiB", resident());
    Ok(())
}

/// Appends durably, alone and in company.
async fn appends(directory: &Path) -> Result<(), Failure> {
    let store = SqliteStore::open(directory, Options::default())?;
    for writers in [1, 8, 64, 256] {
        let mut running = Vec::new();
        let watch = Stopwatch::start();
        let rounds = if writers == 1 { 2_000 } else { 40_000 / writers };
        for _ in 0..writers {
            let store = store.clone();
            running.push(tokio::spawn(async move {
                let mut head = open(&store, 0, TaskState::Working).await?;
                for round in 0..rounds {
                    head = append(&store, &head, round).await?;
                }
                Ok::<_, Failure>(())
            }));
        }
        for writer in running {
            writer.await??;
        }
        watch.tell(&format!("appends, {writers} writers"), writers * rounds);
    }

    let head = open(&store, 0, TaskState::Working).await?;
    let scope = Scope::from(&head.place);
    let watch = Stopwatch::start();
    for _ in 0..20_000 {
        store.find(&scope, &head.id).await?;
    }
    watch.tell("find", 20_000);
    let watch = Stopwatch::start();
    for _ in 0..20_000 {
        store.load(&scope, &head.id, Want::ALL).await?;
    }
    watch.tell("load", 20_000);
    let limit = Limit { entries: 100, bytes: 1 << 16 };
    let watch = Stopwatch::start();
    for _ in 0..20_000 {
        store.tail(head.reference, Seq::START, limit).await?;
    }
    watch.tell("tail", 20_000);
    store.close().await;
    Ok(())
}

/// Lists pages of 50, of few tasks and of many.
async fn lists(directory: &Path, tasks: usize) -> Result<(), Failure> {
    let store = SqliteStore::open(directory, Options::default())?;
    let there = count(&store, &Scope::tenant(name("acme")?), None).await?;
    let watch = Stopwatch::start();
    let missing = tasks.saturating_sub(usize::try_from(there)?);
    let mut running = Vec::new();
    for writer in 0..64 {
        let store = store.clone();
        running.push(tokio::spawn(async move {
            for task in (writer..missing).step_by(64) {
                let state = match task % 10 {
                    0 => TaskState::Failed,
                    1 => TaskState::Working,
                    _ => TaskState::Completed,
                };
                open(&store, task % CALLERS, state).await?;
            }
            Ok::<_, Failure>(())
        }));
    }
    for writer in running {
        writer.await??;
    }
    if missing > 0 {
        watch.tell("creates, 64 writers", missing);
    }
    let one = Scope::from(&place(7)?);
    let everybody = Scope::tenant(name("acme")?);
    let agent = Scope { caller: None, ..one.clone() };
    for (what, scope, state) in [
        ("of a caller", &one, None),
        ("of a caller, failed", &one, Some(TaskState::Failed)),
        ("of a tenant", &everybody, None),
        ("of a tenant, failed", &everybody, Some(TaskState::Failed)),
        ("of an agent", &agent, None),
    ] {
        let rounds = 500;
        count(&store, scope, state).await?;
        let watch = Stopwatch::start();
        for _ in 0..rounds {
            count(&store, scope, state).await?;
        }
        watch.tell(&format!("{tasks} tasks, a page {what}"), rounds);
    }
    println!("resident with {tasks} tasks: {} KiB", resident());
    store.close().await;
    Ok(())
}

async fn count(
    store: &SqliteStore,
    scope: &Scope,
    state: Option<TaskState>,
) -> Result<u64, Failure> {
    let page = Page { after: None, size: 50, history: false, artifacts: false };
    let filter = Filter { state, ..Filter::default() };
    Ok(store.list(scope, filter, page).await?.total)
}

async fn open(store: &SqliteStore, caller: usize, state: TaskState) -> Result<Head, Failure> {
    let context = ContextId::generate();
    let status = TaskStatus::new(state, Timestamp::now());
    let mut task = Task::new(TaskId::generate(), context.clone(), status);
    task.history.push(Message::user("x".repeat(300)));
    let folded = Folded { seq: Seq(1), task: task.clone() };
    let create = Create {
        place: place(caller)?,
        batch: Batch::open(task, context)?,
        snapshot: Some(folded.snapshot()),
        lease: (state == TaskState::Working).then_some(Lease { owner: name("one")?, lasts: LEASE }),
        key: None,
        webhooks: Vec::new(),
        wake: Wake::Keep,
        context_is_given: false,
        most_unfinished: u32::MAX,
    };
    match store.create(create).await? {
        Created::New(head) => Ok(head),
        Created::Repeated(_) => Err("the task is there already".into()),
    }
}

async fn append(store: &SqliteStore, head: &Head, round: usize) -> Result<Head, Failure> {
    let mut batch = Batch::follow(head.id.clone(), head.context.clone(), head.state);
    let word = Message::agent(format!("{round} {}", "x".repeat(200)));
    batch.status(TaskState::Working, Some(word), Timestamp::now())?;
    let append = Append {
        task: head.reference,
        epoch: Some(head.epoch),
        batch,
        snapshot: None,
        tenancy: Tenancy::Keep,
        key: None,
        webhooks: Vec::new(),
        wake: Wake::Keep,
    };
    match store.append(append).await? {
        Appended::Done { head, .. } => Ok(head),
        Appended::Repeated { .. } => Err("the batch was written already".into()),
    }
}

fn place(caller: usize) -> Result<Place, Failure> {
    Ok(Place {
        tenant: name("acme")?,
        agent: name("echo")?,
        caller: name(&format!("user:{caller}"))?,
    })
}

fn name(text: &str) -> Result<Name, Failure> {
    Ok(Name::parse(text)?)
}

/// Measures the time that passes, and the work of this process in it: on a machine that others
/// use as well only the latter says much.
struct Stopwatch {
    began: Instant,
    worked: Duration,
}

impl Stopwatch {
    fn start() -> Self {
        Self { began: Instant::now(), worked: worked() }
    }

    fn tell(&self, what: &str, count: usize) {
        let (passed, worked) = (self.began.elapsed(), worked().saturating_sub(self.worked));
        let rate = 1.0 / each(passed, count);
        let (passed, worked) = (each(passed, count) * 1e6, each(worked, count) * 1e6);
        println!("{what}: {rate:.0} / s, {passed:.1} µs each, of which {worked:.1} µs work");
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people to look at")]
fn each(whole: Duration, count: usize) -> f64 {
    whole.as_secs_f64() / count as f64
}

/// The time that this process has spent on a processor, where the system tells.
fn worked() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|text| text.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// The memory of this process in KiB, where the system tells.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap_or("?").trim().trim_end_matches(" kB").to_owned()
}
