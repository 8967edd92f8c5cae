//! A2A servers from outside: ours beside references that do the least.
//!
//! Servers are processes of their own and take turns under the same load; what is reported is
//! the ratio of those who ran next to each other. The load shares the cores with them, and
//! judges every answer: the state, the echoed text, all chunks in order, the terminal event, no
//! stream closed early. One wrong answer ends the run. Nothing is asserted on time.
//!
//! `cargo build --release -p nuncio-bench --bins --examples` makes all of it; `target/release/serve --help`
//! says what can be asked for.
//!
//! # The measured server
//!
//! Any program that reads `PORT`, `GRPC_PORT` and `STORE` (`memory`, `sqlite:PATH` or
//! `postgres://…`) from the environment, listens on loopback, serves its card, JSON-RPC at `/`
//! and gRPC, and runs an echo agent:
//!
//! | text of the message | events |
//! |---|---|
//! | anything | the task, working, one artifact `out` that is the text, completed |
//! | `chunks:N` | the task, working, N appended chunks of 32 bytes, one turn of the scheduler before each, completed |
//! | `hold` | the task, working, then nothing until it is cancelled |
//!
//! Chunks may begin with their number, eight digits and a blank, from 0 on; then their order is
//! judged, too. The program must be the server itself, not a script around it: time and memory
//! are those of one process.
//!
//! # The measured client
//!
//! Any program that reads `URL`, `IN_FLIGHT` and `SECONDS` from the environment, sends messages
//! of the text that it likes for so long, so many at a time, and prints how many were answered
//! and in how many seconds: `61234 1.503`.

mod settings;

mod suites;

mod rounds;

mod clients;
mod grpc_load;
mod load;

mod client;
mod wire;

mod child;
mod reference;

mod markdown;
mod report;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::time::Instant;

pub use report::{Goal, Line, Report, Table, Verdict};
pub use settings::{HELP, Ours, SUITES, Settings};

/// Runs the program with the arguments behind its name.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a program")]
pub fn main(arguments: &[String]) -> ExitCode {
    let result = match arguments.first().map(String::as_str) {
        Some("--help") => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Some("reference") => in_runtime(refer(&arguments[1..])),
        _ => in_runtime(measure(arguments)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("serve: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the suites that the settings name and returns what they found. `program` is the one
/// that [`main`] is called by: it is the references, too.
#[expect(clippy::print_stdout, reason = "figures are worth reading before all are there")]
pub async fn run(settings: Settings, program: &Path) -> Result<Report> {
    let ours = match settings.ours.clone() {
        Ours::Command(command) => Some(command),
        Ours::None => None,
        Ours::Echo => Some(beside(program, "examples/bench_echo")?),
    };
    let references = child::References::of(program);
    let (suites, write) = (settings.only.clone(), settings.write.clone());
    let setup = suites::Setup::new(settings, references, ours).await?;
    let mut all = Report::default();
    let (begun, before) = (Instant::now(), child::everybodys_processor_time()?);
    for suite in SUITES.into_iter().filter(|name| suites.iter().any(|wanted| wanted == name)) {
        let report = suites::run(suite, &setup).await.with_context(|| format!("suite {suite}"))?;
        report.print_tables();
        all.append(report);
    }
    all.print_verdicts();
    let after = child::everybodys_processor_time()?;
    let (everybody, we) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    let others = everybody.saturating_sub(we).as_secs_f64() / begun.elapsed().as_secs_f64();
    println!("\nOther programs kept {others:.1} cores busy meanwhile, Postgres among them.");
    if let Some(path) = write {
        let text = all.markdown(others);
        std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(all)
}

fn in_runtime(work: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::runtime::Runtime::new().context("no runtime")?.block_on(work)
}

async fn measure(arguments: &[String]) -> Result<()> {
    let settings = Settings::parse(arguments)?;
    allow_many_connections()?;
    run(settings, &std::env::current_exe()?).await.map(drop)
}

/// Serves as a reference: `reference KIND --port PORT …`; without a port, that of `PORT`.
#[expect(clippy::print_stdout, reason = "the figures of a client are what it is run for")]
async fn refer(arguments: &[String]) -> Result<()> {
    let (kind, options) = arguments.split_first().context("which reference?")?;
    if kind == "client" {
        println!("{}", clients::call_barely().await?);
        return Ok(());
    }
    let port = |name| match std::env::var(name) {
        Ok(port) => port.parse().map(Some).with_context(|| format!("{name} is no port")),
        Err(_) => Ok(None),
    };
    let mut given = None;
    let mut grpc_port = port("GRPC_PORT")?;
    let (mut answers, mut log, mut agent) = (None, None, None);
    for option in options.chunks(2) {
        let [name, value] = option else { bail!("{} needs a value", option[0]) };
        match &**name {
            "--port" => given = Some(value.parse().context("--port is no port")?),
            "--grpc-port" => grpc_port = Some(value.parse().context("--grpc-port is no port")?),
            "--answers" => answers = Some(PathBuf::from(value)),
            "--log" => log = Some(PathBuf::from(value)),
            "--agent" => agent = Some(value.parse().context("--agent is no address")?),
            _ => bail!("references know no option {name}"),
        }
    }
    let port = given.or(port("PORT")?).context("no --port, and no PORT")?;
    let kind = kind.clone();
    let store = std::env::var("STORE").ok();
    reference::run(reference::Options { kind, port, grpc_port, answers, log, store, agent }).await
}

/// Returns the program of this name that was built together with another.
fn beside(program: &Path, name: &str) -> Result<Vec<String>> {
    let found = program.with_file_name(name);
    ensure!(
        found.exists(),
        "{} is not there; `cargo build --release -p nuncio-bench --bins --examples` makes it",
        found.display()
    );
    Ok(vec![found.to_string_lossy().into_owned()])
}

/// Lets us and the servers that we start open as many files as we may.
fn allow_many_connections() -> Result<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).context("allow many connections")
}
