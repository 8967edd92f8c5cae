//! What a hub costs: decisions, searches, and keeping what it knows in SQLite, as ratios within
//! one run.
//!
//! `cargo run --release -p nuncio-bench --bin hub`. The reference for writing is the least that
//! anything durable can cost here: the same bytes at the end of a file, and an `fdatasync`. For
//! reading it is the hub in memory, and for searches a server that answers the same bytes.

mod decisions;
mod pages;
mod town;

use std::{fs::File, io::Write as _, path::Path, sync::Arc, time::Duration};

use crate::town::{Town, letters};
use nuncio_bench::figures::{say, spread};
use nuncio_hub::{
    Directory,
    agent::{Origin, Status},
    beat::Beat,
    directory::{self, Actor, NewAgent},
    memory::MemoryHub,
    store::{Commit, Committed, HubStore, Kind, NewEvent, Record, Version},
};
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    time::Timestamp,
};
use nuncio_store::sqlite::{Options, SqliteStore};
use rustix::time::{ClockId, clock_gettime};
use tokio::{
    runtime::Runtime,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Agents that beat, and how often each does.
const AGENTS: u32 = 1_000;
const EVERY: Duration = Duration::from_secs(30);

/// How long agents are watched at their own pace: every one of them beats, and the hub looks twice
/// who is silent.
const WATCHED: Duration = Duration::from_secs(30);

const RECORDS: u32 = 10_000;
const ROUNDS: usize = 15;
const WRITES: u32 = 50;

fn main() {
    Runtime::new().expect("a runtime can be had").block_on(async {
        let town = Town::new().await;
        decisions::measure(&town);
        pages::measure(&town).await;
        drop(town);
        let directory = tempfile::tempdir_in(".").expect("a directory can be made here");
        let path = directory.path().join("data");
        let store = SqliteStore::open(&path, Options::default()).expect("it opens");
        let mut reference = Reference::new(directory.path());
        fill(&store).await;
        let paced = directory.path().join("paced");
        let paced = SqliteStore::open(&paced, Options::default()).expect("it opens");
        beats_at_their_pace(paced).await;
        beats_in_a_row(&store, &mut reference).await;
        commits(&store, &mut reference).await;
        reading(&store).await;
    });
}

/// A thousand agents as they come, and a hub that looks after them.
async fn beats_at_their_pace(store: SqliteStore) {
    let store: Arc<dyn HubStore> = Arc::new(store);
    let directory = Directory::open(store, directory::Options::default()).await.expect("it opens");
    let organisation = Organisation::parse("acme").expect("a short text is a name");
    let actor = Actor::hub();
    let mut agents = Vec::with_capacity(AGENTS as usize);
    for number in 0..AGENTS {
        let name = format!("agent-{}", letters(number as usize)).parse().expect("a name");
        let new = NewAgent::new(name);
        let added = directory.add(&organisation, new, Origin::Administrator, &actor).await;
        agents.push(added.expect("it can be added").id.clone());
    }
    let beat = |number: u32| {
        let (directory, agent) = (directory.clone(), agents[(number % AGENTS) as usize].clone());
        async move {
            let current_task = "at work".to_owned();
            let beat = Beat { active_tasks: 3, current_task, ..Beat::default() };
            let told = directory.heartbeat(&agent, beat).await;
            assert_eq!(told.expect("it is taken").status, Status::Online);
        }
    };
    // The first word of each is news.
    for number in 0..AGENTS {
        beat(number).await;
    }
    pages::hub(&directory, &organisation).await;
    let mut beats = interval(EVERY / AGENTS);
    beats.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut number = 0;
    let (start, spent) = (Instant::now(), processor());
    // Agents do not wait for each other.
    let mut under_way = JoinSet::new();
    while start.elapsed() < WATCHED {
        beats.tick().await;
        under_way.spawn(beat(number));
        while under_way.try_join_next().is_some() {}
        number += 1;
    }
    under_way.join_all().await;
    let spent = processor().saturating_sub(spent);
    let share = spent.as_secs_f64() / start.elapsed().as_secs_f64() * 100.0;
    let each = spent.as_secs_f64() * 1e6 / f64::from(number);
    let figure = format!("{share:.2} % of a core, {each:.0} µs of it for each of {number} beats");
    let what = format!("{AGENTS} agents that beat every {} s, and a hub", EVERY.as_secs());
    say(&what, &figure, "1 %", share < 1.0);
}

async fn beats_in_a_row(store: &SqliteStore, reference: &mut Reference) {
    let body = said(0);
    let mut number = 0;
    let compared = Compared::take(
        async || {
            beat(store, number % AGENTS).await;
            number += 1;
        },
        async || reference.write(body.as_bytes()),
    )
    .await;
    compared.say("a beat against an append to a file", 5.0);
}

async fn commits(store: &SqliteStore, reference: &mut Reference) {
    let mut seen = store.changes(Version(u64::MAX)).await.expect("it reads").version;
    let mut number = 0;
    let body = card(0);
    let compared = Compared::take(
        async || {
            seen = commit(store, seen, vec![record(number % RECORDS)]).await;
            number += 1;
        },
        async || reference.write(body.as_bytes()),
    )
    .await;
    compared.say("a commit of a record, an event and a line against an append to a file", 8.0);
}

async fn reading(store: &SqliteStore) {
    let memory = MemoryHub::default();
    fill(&memory).await;
    let read = async |hub: &dyn HubStore| {
        let changes = hub.changes(Version(0)).await.expect("it reads");
        assert_eq!(changes.records.len(), RECORDS as usize);
    };
    let compared = Compared::take_with(1, async || read(store).await, async || read(&memory).await);
    compared.await.say(&format!("all of {RECORDS} records against those in memory"), 10.0);
}

/// How many times as long as a reference something takes.
struct Compared {
    times: Vec<f64>,
    /// Microseconds of both, and of the processor for ours.
    ours: Vec<f64>,
    theirs: Vec<f64>,
    spent: Vec<f64>,
}

impl Compared {
    async fn take(ours: impl AsyncFnMut(), theirs: impl AsyncFnMut()) -> Self {
        Self::take_with(WRITES, ours, theirs).await
    }

    /// Lets both take turns.
    async fn take_with(
        times: u32,
        mut ours: impl AsyncFnMut(),
        mut theirs: impl AsyncFnMut(),
    ) -> Self {
        let mut taken =
            Self { times: Vec::new(), ours: Vec::new(), theirs: Vec::new(), spent: Vec::new() };
        let each = |duration: Duration| duration.as_secs_f64() * 1e6 / f64::from(times);
        for _ in 0..ROUNDS {
            let (start, spent) = (Instant::now(), processor());
            for _ in 0..times {
                ours().await;
            }
            let (mine, spent) = (each(start.elapsed()), each(processor().saturating_sub(spent)));
            let start = Instant::now();
            for _ in 0..times {
                theirs().await;
            }
            let other = each(start.elapsed());
            taken.times.push(mine / other);
            taken.ours.push(mine);
            taken.theirs.push(other);
            taken.spent.push(spent);
        }
        taken
    }

    fn say(self, what: &str, goal: f64) {
        let (middle, least, most) = spread(self.times);
        let [ours, theirs, spent] = [self.ours, self.theirs, self.spent].map(|all| spread(all).0);
        let figure = format!(
            "{middle:.1} times ({least:.1} to {most:.1}), {ours:.0} µs against {theirs:.0}, of \
             which {spent:.0} are of the processor"
        );
        say(what, &figure, &format!("{goal:.0} times"), middle <= goal);
    }
}

/// A file that grows, and is on the disk after each write.
struct Reference(File);

impl Reference {
    fn new(directory: &Path) -> Self {
        Self(File::create_new(directory.join("reference")).expect("a file can be made"))
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("it takes bytes");
        self.0.sync_data().expect("they come to the disk");
    }
}

async fn fill(hub: &dyn HubStore) {
    let records = (0..RECORDS).map(record).collect();
    commit(hub, Version(0), records).await;
}

async fn commit(hub: &dyn HubStore, seen: Version, records: Vec<Record>) -> Version {
    let event = NewEvent {
        organisation: Organisation::parse("acme").expect("a short text is a name"),
        name: "AGENT_UPDATED".to_owned(),
        agent: Some(agent(0)),
        at: Timestamp::now(),
        payload: said(0),
    };
    let commit = Commit { seen, records, events: vec![event], audit: vec![said(0)] };
    match hub.commit(commit).await.expect("it writes") {
        Committed::Done { version, .. } => version,
        Committed::Behind => unreachable!("nobody else writes"),
    }
}

async fn beat(store: &SqliteStore, number: u32) {
    store.beat(agent(number), said(number)).await.expect("it writes");
}

fn agent(number: u32) -> AgentId {
    AgentId::parse(&format!("01980000-0000-7000-8000-{number:012}")).expect("it is short")
}

fn record(number: u32) -> Record {
    let key = agent(number).as_str().to_owned();
    Record { kind: Kind::Agent, key, body: Some(card(number)) }
}

/// What an agent says of itself every time.
fn said(number: u32) -> String {
    format!(r#"{{"status":"ONLINE","load":{number},"tasks":3,"message":"at work"}}"#)
}

/// As long as a card with a few skills.
fn card(number: u32) -> String {
    format!(r#"{{"id":"{number}","card":"{}"}}"#, "x".repeat(2_000))
}

/// What this process has had of the processor.
fn processor() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
