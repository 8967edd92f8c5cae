//! Clients beside a bare one, against a server that costs as little as it can.
//!
//! Every client is a process of its own. It reads `URL`, `IN_FLIGHT` and `SECONDS` from the
//! environment, sends messages for so long, and prints how many calls were answered and in how
//! many seconds.

use std::{process::Stdio, time::Duration};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, process::Command, task::JoinSet, time::Instant};

use super::{
    child::{self, Server},
    load::{self, Sample},
    report::{Goal, Line, Report, Table},
    suites::Setup,
    wire,
};

const IN_FLIGHT: usize = 64;
const BARE: &str = "bare client";
const OURS: &str = "our client";

/// Measures the bare client, and ours.
pub(crate) async fn run(setup: &Setup) -> Result<Report> {
    let server = setup.references.client_target().start().await?;
    load::check(&server).await?;
    let program = setup.references.program().to_string_lossy();
    let bare = ["reference", "client"].map(str::to_owned);
    let bare = [program.into_owned()].into_iter().chain(bare).collect();
    let mut commands: Vec<(&str, Vec<String>)> = vec![(BARE, bare)];
    let ours = match setup.settings.client.clone() {
        Some(command) => command,
        None => super::beside(setup.references.program(), "call")?,
    };
    commands.push((OURS, ours));

    let mut table = Table::new(format!("client, {IN_FLIGHT} in flight"), "calls");
    table.lines = commands.iter().map(|(name, _)| Line::new(*name)).collect();
    for round in 0..setup.settings.rounds {
        for turn in 0..commands.len() {
            let who = (round + turn) % commands.len();
            let sample = measure(&commands[who].1, &server, setup.settings.point).await?;
            table.lines[who].push(sample);
        }
    }
    let mut report = Report::default();
    report.judge(&table, OURS, BARE, Goal::AtLeast(0.75, 0.85));
    report.tables.push(table);
    drop(server);
    // A client of others need not be able to do this.
    if setup.settings.client.is_none()
        && let Some(agent) = setup.memory()
    {
        let streams = setup.settings.streams;
        let agent = agent.start().await?;
        let mebibytes = keep_streams(&commands[1].1, &agent, streams).await? / 1024.0;
        let what = format!("the process of a client with {streams} idle streams");
        report.add(what, vec![mebibytes], " MiB", Some(Goal::AtMost(64.0, 64.0)));
    }
    Ok(report)
}

/// Lets a client open streams on which nothing happens, and returns how many KiB it has then.
async fn keep_streams(command: &[String], agent: &Server, streams: usize) -> Result<f64> {
    let text = output(command, agent, &[("STREAMS", streams.to_string())]).await?;
    text.trim().parse().context("no number of kibibytes")
}

/// Lets a client call for so long.
async fn measure(command: &[String], server: &Server, duration: Duration) -> Result<Sample> {
    let before = child::reaped_processor_time()?;
    let seconds = ("SECONDS", duration.as_secs_f64().to_string());
    let text = output(command, server, &[seconds]).await?;
    let (count, seconds) = text.trim().split_once(' ').context("no count and seconds")?;
    Ok(Sample {
        count: count.parse()?,
        elapsed: Duration::try_from_secs_f64(seconds.parse()?)?,
        processor_time: child::reaped_processor_time()?.saturating_sub(before),
        latency: Duration::ZERO,
    })
}

/// Runs a client with these settings, and returns what it prints.
async fn output(
    command: &[String],
    server: &Server,
    settings: &[(&str, String)],
) -> Result<String> {
    let (program, arguments) = command.split_first().context("no client")?;
    let output = Command::new(program)
        .args(arguments)
        .env("URL", format!("http://{}/", server.address()))
        .env("IN_FLIGHT", IN_FLIGHT.to_string())
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("run {program}"))?;
    ensure!(output.status.success(), "{program}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The bare client: one connection of `hyper` for each call in flight, nothing decoded.
pub(crate) async fn call_barely() -> Result<String> {
    let variable = |name| std::env::var(name).with_context(|| format!("{name} is not set"));
    let url = variable("URL")?;
    let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let in_flight: usize = variable("IN_FLIGHT")?.parse()?;
    let duration = Duration::try_from_secs_f64(variable("SECONDS")?.parse()?)?;
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..in_flight {
        callers.spawn(call(host.clone(), begun + duration));
    }
    let mut calls = 0;
    while let Some(count) = callers.join_next().await {
        calls += count??;
    }
    Ok(format!("{calls} {}", begun.elapsed().as_secs_f64()))
}

async fn call(host: String, end: Instant) -> Result<u64> {
    let stream = TcpStream::connect(&host).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with its sender; what goes wrong is told there.
    tokio::spawn(connection);
    let mut calls = 0;
    while calls == 0 || Instant::now() < end {
        let body = wire::message("SendMessage", wire::TEXT);
        let request = Request::post("/")
            .header("host", &host)
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(Full::new(Bytes::from(body)))?;
        sender.ready().await?;
        let answer = sender.send_request(request).await?.into_body().collect().await?;
        ensure!(wire::is_echo(&answer.to_bytes()), "the text is not echoed");
        calls += 1;
    }
    Ok(calls)
}
