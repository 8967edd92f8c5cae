//! The suites: who is put under which load, and which goals that decides.

use std::{fs, net::SocketAddr, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use nuncio_testkit::services;
use tempfile::TempDir;

use super::{
    child::{Launch, References, Side},
    clients,
    load::{self, Held, as_f64},
    report::{Goal, Line, Report, Table, Verdict, spread},
    rounds::{Contestant, Point, take_turns},
    settings::Settings,
};

/// What the report calls the measured server, by its store.
const MEMORY: &str = "ours, memory";
const SQLITE: &str = "ours, SQLite";
const POSTGRES: &str = "ours, Postgres";
const GATEWAY: &str = "ours, gateway";
const LEGACY: &str = "ours, gateway to 0.3";
const KEPT: &str = "ours, gateway on SQLite";

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * 1024.0;

/// How many connections warm a server up and make it grow.
const GROWERS: usize = 16;

/// What every suite needs.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    pub(crate) references: References,
    /// The program of the measured server and its arguments.
    ours: Option<Vec<String>>,
    /// Databases, logs, and what ours answers, for the bare server to answer the same.
    directory: TempDir,
}

/// Runs a suite by its name.
pub(crate) async fn run(name: &str, setup: &Setup) -> Result<Report> {
    match name {
        "cold" => cold(setup).await,
        "unary" => unary(setup).await,
        "durable" => durable(setup).await,
        "postgres" => postgres(setup).await,
        "stream" => stream(setup).await,
        "grpc" => grpc(setup).await,
        "read" => read(setup).await,
        "hold" => hold(setup).await,
        "gateway" => gateway(setup).await,
        _ => clients::run(setup).await,
    }
}

impl Setup {
    pub(crate) async fn new(
        settings: Settings,
        references: References,
        ours: Option<Vec<String>>,
    ) -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("nuncio-bench-")
            .tempdir_in(settings.directory.as_deref().unwrap_or_else(|| references.directory()))
            .context("make a directory for databases")?;
        fs::create_dir(directory.path().join("answers"))?;
        let setup = Self { settings, references, ours, directory };
        setup.record_answers().await?;
        Ok(setup)
    }

    /// Lets the bare server say the same bytes as ours, so that it has as much to send.
    async fn record_answers(&self) -> Result<()> {
        let Some(launch) = self.memory() else { return Ok(()) };
        let server = launch.start().await?;
        load::grow(&server, 100, GROWERS).await?;
        let said = load::check(&server).await?;
        let answers = self.answers();
        fs::write(answers.join("sent.json"), said.sent)?;
        fs::write(answers.join("got.json"), said.got)?;
        fs::write(answers.join("listed.json"), load::check_page(&server).await?)?;
        Ok(())
    }

    fn answers(&self) -> PathBuf {
        self.directory.path().join("answers")
    }

    fn bare(&self) -> Launch {
        self.references.bare(&self.answers())
    }

    pub(super) fn memory(&self) -> Option<Launch> {
        self.ours_with(MEMORY, "memory".to_owned())
    }

    /// Ours on a database that nobody has used.
    fn sqlite(&self) -> Result<Option<Launch>> {
        let path = self.fresh()?.join("tasks.sqlite");
        Ok(self.ours_with(SQLITE, format!("sqlite:{}", path.display())))
    }

    /// Ours on a Postgres database that nobody has used, if Postgres is not left out.
    async fn postgres(&self) -> Option<Launch> {
        self.ours.as_ref()?;
        let database = services::postgres().await?.database().await;
        self.ours_with(POSTGRES, database.url())
    }

    fn durable(&self) -> Result<Launch> {
        Ok(self.references.durable(&self.fresh()?.join("log")))
    }

    /// A directory of its own; all go away with the run.
    fn fresh(&self) -> Result<PathBuf> {
        let directory = tempfile::Builder::new().tempdir_in(self.directory.path())?;
        Ok(directory.keep())
    }

    fn ours_with(&self, name: &str, store: String) -> Option<Launch> {
        launch(name, Side::Ours, self.ours.as_ref()?, store)
    }

    /// A hub of ours before an agent that speaks one version.
    fn gateway(
        &self,
        (name, version): (&str, &str),
        agent: SocketAddr,
        store: String,
    ) -> Result<Launch> {
        let mut command = super::beside(self.references.program(), "gateway")?;
        command.extend([agent.to_string(), version.to_owned()]);
        launch(name, Side::Ours, &command, store).context("no program")
    }

    /// Servers of others that keep their tasks in memory.
    async fn peers(&self) -> Vec<Launch> {
        let mut able = Vec::new();
        for (name, command) in &self.settings.peers {
            able.extend(tried(launch(name, Side::Peer, command, "memory".to_owned())).await);
        }
        able
    }

    /// Servers of others, each on a SQLite database that nobody has used.
    async fn durable_peers(&self) -> Result<Vec<Launch>> {
        let mut able = Vec::new();
        for (name, command) in &self.settings.peers {
            let store = || anyhow::Ok(format!("sqlite:{}", self.fresh()?.join("peer").display()));
            let name = format!("{name}, SQLite");
            if tried(launch(&name, Side::Peer, command, store()?)).await.is_some() {
                able.extend(launch(&name, Side::Peer, command, store()?));
            }
        }
        Ok(able)
    }

    /// Measures rounds, each with servers that were started for it.
    async fn rounds(
        &self,
        points: &[Point],
        launches: impl AsyncFn() -> Result<Vec<Option<Launch>>>,
    ) -> Result<Vec<Table>> {
        let mut tables: Vec<Table> = points.iter().map(|point| point.table("")).collect();
        let duration = self.settings.point;
        for round in 0..self.settings.rounds {
            let mut contestants = Vec::new();
            for launch in launches().await?.into_iter().flatten() {
                let contestant = Contestant::start(&launch).await?;
                load::ask(&contestant.server, &load::Question::Send, GROWERS, duration / 4).await?;
                contestants.push(contestant);
            }
            take_turns(&contestants, points, &mut tables, (round, duration)).await?;
        }
        Ok(tables)
    }
}

fn launch(name: &str, side: Side, command: &[String], store: String) -> Option<Launch> {
    let (program, arguments) = command.split_first()?;
    Some(Launch {
        name: name.to_owned(),
        side,
        program: program.into(),
        arguments: arguments.to_vec(),
        store: Some(store),
    })
}

/// Returns a server that starts and echoes, and says why of one that does not.
#[expect(clippy::print_stdout, reason = "who is missing is part of the report")]
async fn tried(launch: Option<Launch>) -> Option<Launch> {
    let launch = launch?;
    match Contestant::start(&launch).await {
        Ok(_) => Some(launch),
        Err(error) => {
            println!("{} is left out: {error:#}.\n", launch.name);
            None
        }
    }
}

/// Spawn to first card, and the memory of a server that does nothing.
async fn cold(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let launches = [Some(setup.bare()), setup.memory(), setup.sqlite()?];
    let peers = setup.peers().await;
    let launches: Vec<Launch> = launches.into_iter().flatten().chain(peers).collect();
    let mut starts = vec![Vec::new(); launches.len()];
    let mut sizes = vec![Vec::new(); launches.len()];
    for _ in 0..setup.settings.rounds {
        for (who, launch) in launches.iter().enumerate() {
            let server = launch.start().await?;
            starts[who].push(server.cold_start().as_secs_f64() * 1e3);
            sizes[who].push(as_f64(server.settled_memory().await?) / MIB);
        }
    }
    for (launch, (starts, sizes)) in launches.iter().zip(starts.into_iter().zip(sizes)) {
        let what = |what| format!("{what}, {}", launch.name);
        let goal = launch.is_measured().then_some(Goal::AtMost(10.0, 10.0));
        report.add(what("start to first card"), starts, " ms", goal);
        report.add(what("idle process"), sizes, " MiB", None);
    }
    Ok(report)
}

async fn unary(setup: &Setup) -> Result<Report> {
    let points = [Point::Send { connections: 64 }, Point::Send { connections: 1 }];
    let peers = setup.peers().await;
    let launches = async || {
        let mut all = vec![Some(setup.references.typed()), Some(setup.bare()), setup.memory()];
        all.extend(peers.iter().cloned().map(Some));
        Ok(all)
    };
    let tables = setup.rounds(&points, launches).await?;
    let mut report = Report::default();
    let goals = [Goal::AtLeast(0.70, 0.90), Goal::AtLeast(0.75, 0.90)];
    for (table, goal) in tables.iter().zip(goals) {
        report.judge(table, MEMORY, "typed", goal);
    }
    report.judge_processor(&tables[0], MEMORY, Goal::AtMost(20.0, 15.0));
    report.tables = tables;
    Ok(report)
}

async fn durable(setup: &Setup) -> Result<Report> {
    let points = [Point::Send { connections: 64 }, Point::Send { connections: 1 }];
    let peers = setup.durable_peers().await?;
    let launches = async || {
        let mut all = vec![Some(setup.durable()?), setup.sqlite()?];
        all.extend(peers.iter().cloned().map(Some));
        Ok(all)
    };
    let tables = setup.rounds(&points, launches).await?;
    let mut report = Report::default();
    let goals = [Goal::AtLeast(0.30, 0.50), Goal::AtLeast(0.40, 0.90)];
    for (table, goal) in tables.iter().zip(goals) {
        report.judge(table, SQLITE, "durable", goal);
    }
    report.judge_processor(&tables[0], SQLITE, Goal::AtMost(35.0, 25.0));
    report.tables = tables;
    Ok(report)
}

async fn postgres(setup: &Setup) -> Result<Report> {
    let Some(server) = services::postgres().await else { return Ok(Report::default()) };
    let points = [Point::Send { connections: 64 }, Point::Send { connections: 1 }];
    let launches = async || {
        let reference = setup.references.postgres(server.database().await.url());
        Ok(vec![Some(reference), setup.postgres().await])
    };
    let tables = setup.rounds(&points, launches).await?;
    let mut report = Report::default();
    report.judge(&tables[0], POSTGRES, "postgres", Goal::AtLeast(0.60, 0.60));
    report.tables = tables;
    Ok(report)
}

async fn stream(setup: &Setup) -> Result<Report> {
    let points = [(64, 100), (1, 100)].map(|(streams, chunks)| Point::Stream { streams, chunks });
    let peers = setup.peers().await;
    let launches = async || {
        let references = [setup.references.typed(), setup.bare(), setup.durable()?].map(Some);
        let all = references.into_iter().chain([setup.memory(), setup.sqlite()?]);
        Ok(all.chain(peers.iter().cloned().map(Some)).collect())
    };
    let tables = setup.rounds(&points, launches).await?;
    let mut report = Report::default();
    report.judge(&tables[0], MEMORY, "typed", Goal::AtLeast(0.60, 0.80));
    report.judge(&tables[0], SQLITE, "typed", Goal::AtLeast(0.15, 0.35));
    let goal = Goal::AtMost(2.0, 1.3);
    // What is on disk before anybody sees it is compared with what is, too.
    for (name, reference, goal) in
        [(MEMORY, "typed", Some(goal)), (SQLITE, "durable", Some(goal)), (SQLITE, "typed", None)]
    {
        if let Some(figures) = tables[1].latency_ratio(name, reference) {
            let what = format!("time to first event, {name} against {reference}");
            report.add(what, figures, "×", goal);
        }
    }
    report.tables = tables;
    Ok(report)
}

async fn grpc(setup: &Setup) -> Result<Report> {
    let points = [Point::Grpc { connections: 8, in_flight: 64 }];
    let peers = setup.peers().await;
    let launches = async || {
        let mut all = vec![Some(setup.references.grpc_bare()), setup.memory()];
        all.extend(peers.iter().cloned().map(Some));
        Ok(all)
    };
    let tables = setup.rounds(&points, launches).await?;
    let mut report = Report::default();
    report.judge(&tables[0], MEMORY, "grpc-bare", Goal::AtLeast(0.50, 0.65));
    report.tables = tables;
    Ok(report)
}

/// Reads tasks of servers that grow, and weighs what they keep.
async fn read(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let grown = [setup.memory(), setup.sqlite()?, setup.postgres().await];
    let mut contestants = vec![Contestant::start(&setup.bare()).await?];
    for launch in grown.into_iter().flatten().chain(setup.peers().await) {
        contestants.push(Contestant::start(&launch).await?);
    }
    let bases = warm(&contestants).await?;
    let points = [Point::Get { connections: 64 }, Point::List { connections: 16 }];
    let mut reached = 0;
    for &size in &setup.settings.tasks {
        for (contestant, base) in contestants.iter().zip(&bases).skip(1) {
            load::grow(&contestant.server, size - reached, GROWERS).await?;
            if contestant.server.side() == Side::Ours {
                load::check_page(&contestant.server).await?;
            }
            report.weigh(contestant, *base, size).await?;
        }
        reached = size;
        let suffix = format!(", {size} tasks");
        let mut tables: Vec<Table> = points.iter().map(|point| point.table(&suffix)).collect();
        for round in 0..setup.settings.rounds {
            let turn = (round, setup.settings.point);
            take_turns(&contestants, &points, &mut tables, turn).await?;
        }
        report.judge(&tables[0], MEMORY, "bare", Goal::AtLeast(0.75, 0.90));
        report.judge(&tables[0], SQLITE, "bare", Goal::AtLeast(0.50, 0.90));
        for name in [MEMORY, SQLITE, POSTGRES] {
            report.judge(&tables[1], name, "bare", Goal::AtLeast(0.10, 0.10));
        }
        report.tables.extend(tables);
    }
    report.judge_growth();
    Ok(report)
}

/// Lets everybody have the buffers that load needs, so that growth is growth of tasks.
async fn warm(contestants: &[Contestant]) -> Result<Vec<u64>> {
    let mut bases = Vec::new();
    for contestant in contestants {
        load::grow(&contestant.server, 200, GROWERS).await?;
        bases.push(contestant.server.settled_memory().await?);
    }
    Ok(bases)
}

/// What an open stream weighs that says nothing.
async fn hold(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let streams = setup.settings.streams;
    let launches = [Some(setup.references.typed()), setup.memory(), setup.sqlite()?];
    for launch in launches.into_iter().flatten().chain(setup.peers().await) {
        let what = format!("idle stream of {streams}, {}", launch.name);
        let goal = launch.is_measured().then_some(Goal::AtMost(18.0, 16.0));
        match hold_streams(&launch, streams).await {
            Ok(each) => report.add(what, vec![each], " KiB", goal),
            Err(_) if launch.side == Side::Peer => report.add(what, Vec::new(), " KiB", None),
            Err(error) => return Err(error),
        }
    }
    Ok(report)
}

/// Returns how many KiB a server needs for each of so many idle streams.
async fn hold_streams(launch: &Launch, streams: usize) -> Result<f64> {
    let Contestant { server, .. } = Contestant::start(launch).await?;
    let before = server.settled_memory().await?;
    let held = Held::open(&server, streams).await?;
    let after = server.settled_memory().await?;
    let open = held.open_streams();
    ensure!(open == streams, "{} closed {} idle streams", launch.name, streams - open);
    Ok(as_f64(after.saturating_sub(before)) / as_f64(streams as u64) / KIB)
}

/// Calls that the hub carries, beside a proxy that looks at nothing.
async fn gateway(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let Some(agent) = setup.memory() else { return Ok(report) };
    let agent = Contestant::start(&agent).await?;
    let behind = agent.server.address();
    let points = [
        Point::Send { connections: 64 },
        Point::Send { connections: 1 },
        Point::Stream { streams: 64, chunks: 100 },
    ];
    let launches = async || {
        let memory = || "memory".to_owned();
        let kept = format!("sqlite:{}", setup.fresh()?.join("tasks.sqlite").display());
        Ok(vec![
            Some(setup.references.proxy(behind)),
            Some(setup.gateway((GATEWAY, "1.0"), behind, memory())?),
            Some(setup.gateway((LEGACY, "0.3"), behind, memory())?),
            Some(setup.gateway((KEPT, "1.0"), behind, kept)?),
        ])
    };
    let tables = setup.rounds(&points, launches).await?;
    for table in &tables[..2] {
        report.judge(table, GATEWAY, "proxy", Goal::AtLeast(0.60, 0.75));
        report.judge(table, LEGACY, "proxy", Goal::AtLeast(0.45, 0.60));
    }
    report.judge(&tables[2], GATEWAY, "proxy", Goal::AtLeast(0.80, 0.80));
    report.tables = tables;
    let streams = setup.settings.streams;
    let launch = setup.gateway((GATEWAY, "1.0"), behind, "memory".to_owned())?;
    let each = hold_streams(&launch, streams).await?;
    let what = format!("idle stream of {streams}, {GATEWAY}");
    report.add(what, vec![each], " KiB", Some(Goal::AtMost(30.0, 30.0)));
    Ok(report)
}

impl Report {
    pub(super) fn add(
        &mut self,
        what: String,
        figures: Vec<f64>,
        unit: &'static str,
        goal: Option<Goal>,
    ) {
        self.verdicts.push(Verdict { what, figures, unit, goal });
    }

    /// Judges how fast ours is as a part of a reference, if ours was there.
    pub(super) fn judge(&mut self, table: &Table, name: &str, reference: &str, goal: Goal) {
        if let Some(figures) = table.ratio(name, reference) {
            let what = format!("{}, {name} against {reference}", table.title);
            self.add(what, figures, "", Some(goal));
        }
    }

    fn judge_processor(&mut self, table: &Table, name: &str, goal: Goal) {
        if let Some(figures) = table.line(name).map(Line::processor_micros) {
            self.add(format!("CPU, {}, {name}", table.title), figures, " µs", Some(goal));
        }
    }

    async fn weigh(&mut self, contestant: &Contestant, base: u64, tasks: u64) -> Result<()> {
        let server = &contestant.server;
        let memory = server.settled_memory().await?;
        if server.name() == MEMORY || server.side() == Side::Peer {
            let each = as_f64(memory.saturating_sub(base)) / as_f64(tasks);
            let what = format!("memory for each of {tasks} tasks, {}", server.name());
            let goal = (server.side() == Side::Ours).then_some(Goal::AtMost(1500.0, 1500.0));
            self.add(what, vec![each], " bytes", goal);
        } else {
            let what = format!("resident with {tasks} tasks, {}", server.name());
            let goal = (server.name() == SQLITE).then_some(Goal::AtMost(64.0, 64.0));
            self.add(what, vec![as_f64(memory) / MIB], " MiB", goal);
        }
        Ok(())
    }

    /// Judges how many times slower lists are when there are most tasks. Each ratio is to the
    /// bare server at the same time, because sizes cannot take turns.
    fn judge_growth(&mut self) {
        let lists: Vec<&Table> =
            self.tables.iter().filter(|table| table.title.starts_with("ListTasks")).collect();
        let (Some(small), Some(large)) = (lists.first(), lists.last()) else { return };
        if lists.len() < 2 {
            return;
        }
        let mut verdicts = Vec::new();
        for name in [MEMORY, SQLITE, POSTGRES] {
            let (Some(small), Some(large)) = (small.ratio(name, "bare"), large.ratio(name, "bare"))
            else {
                continue;
            };
            let figures = vec![spread(&small).0 / spread(&large).0];
            verdicts.push((format!("ListTasks slower with most tasks, {name}"), figures));
        }
        for (what, figures) in verdicts {
            self.add(what, figures, "×", Some(Goal::AtMost(1.3, 1.1)));
        }
    }
}
