//! Every suite runs, for a moment, with a reference in the place of our server. Figures are
//! looked at for being there, not for what they are.

use std::{path::Path, time::Duration};

use nuncio_bench::serve::{Ours, Report, Settings, run};
use nuncio_testkit::services;

const PROGRAM: &str = env!("CARGO_BIN_EXE_serve");

/// How many rounds each suite has here.
const ROUNDS: usize = 2;

fn settings(suite: &str) -> Settings {
    let mut settings = Settings::quick();
    let reference = [PROGRAM, "reference", "typed"].map(str::to_owned);
    settings.ours = Ours::Command(reference.into());
    settings.only = vec![suite.to_owned()];
    settings.rounds = ROUNDS;
    settings.point = Duration::from_millis(50);
    settings.tasks = vec![300, 600];
    settings.streams = 20;
    settings
}

/// A table that a suite must bring: its title, the least that must be counted in a round, and
/// who is in it.
type Expected<'a> = (&'a str, u64, &'a [&'a str]);

/// Runs a suite and checks that its tables are these and no others, and that everybody
/// answered on every connection in every round.
async fn check(settings: Settings, tables: &[Expected<'_>], verdicts: usize) -> Report {
    let report = run(settings, Path::new(PROGRAM)).await.expect("the suite runs");
    let titles: Vec<&str> = report.tables.iter().map(|table| &*table.title).collect();
    let expected: Vec<&str> = tables.iter().map(|(title, ..)| *title).collect();
    assert_eq!(titles, expected);
    for (table, (_, least, names)) in report.tables.iter().zip(tables) {
        let found: Vec<&str> = table.lines.iter().map(|line| &*line.name).collect();
        assert_eq!(found, *names, "{}", table.title);
        for line in &table.lines {
            assert_eq!(line.counts().len(), ROUNDS, "{}", line.name);
            assert!(line.counts().iter().all(|count| count >= least), "{}", line.name);
        }
    }
    assert_eq!(report.verdicts.len(), verdicts, "{:#?}", report.verdicts);
    for verdict in &report.verdicts {
        assert!(!verdict.figures.is_empty(), "{verdict}");
        assert!(verdict.figures.iter().all(|figure| figure.is_finite()), "{verdict}");
    }
    report
}

#[tokio::test]
async fn cold_starts_are_measured_in_every_round() {
    let report = check(settings("cold"), &[], 6).await;
    assert!(report.verdicts.iter().all(|verdict| verdict.figures.len() == ROUNDS));
}

#[tokio::test]
async fn messages_are_answered_in_memory() {
    let names = ["typed", "bare", "ours, memory"].as_slice();
    check(settings("unary"), &[("SendMessage × 64", 64, names), ("SendMessage × 1", 1, names)], 3)
        .await;
}

#[tokio::test]
async fn messages_are_answered_durably() {
    let names = ["durable", "ours, SQLite"].as_slice();
    check(
        settings("durable"),
        &[("SendMessage × 64", 64, names), ("SendMessage × 1", 1, names)],
        3,
    )
    .await;
}

#[tokio::test]
async fn messages_are_answered_from_postgres() {
    if services::postgres().await.is_none() {
        return;
    }
    let names = ["postgres", "ours, Postgres"].as_slice();
    let tables = [("SendMessage × 64", 64, names), ("SendMessage × 1", 1, names)];
    check(settings("postgres"), &tables, 1).await;
}

#[tokio::test]
async fn whole_streams_are_counted() {
    let names = ["typed", "bare", "durable", "ours, memory", "ours, SQLite"].as_slice();
    let tables =
        [("64 streams × 100 chunks", 64 * 103, names), ("1 stream × 100 chunks", 103, names)];
    let report = check(settings("stream"), &tables, 5).await;
    for table in &report.tables {
        // The task, working, the chunks, completed.
        let whole = |count: &u64| count.is_multiple_of(103);
        assert!(table.lines.iter().all(|line| line.counts().iter().all(whole)), "{table}");
    }
}

#[tokio::test]
async fn grpc_calls_are_answered() {
    let names = ["grpc-bare", "ours, memory"].as_slice();
    check(settings("grpc"), &[("gRPC, 64 in flight on 8 connections", 64, names)], 1).await;
}

#[tokio::test]
async fn tasks_are_read_at_every_size() {
    let mut names = vec!["bare", "ours, memory", "ours, SQLite"];
    if services::postgres().await.is_some() {
        names.push("ours, Postgres");
    }
    let stores = names.len() - 1;
    let names = names.as_slice();
    let tables = [
        ("GetTask × 64, 300 tasks", 64, names),
        ("ListTasks(50) × 16, 300 tasks", 16, names),
        ("GetTask × 64, 600 tasks", 64, names),
        ("ListTasks(50) × 16, 600 tasks", 16, names),
    ];
    // At each size all are weighed and listed, and two have a goal for one task; then growth.
    check(settings("read"), &tables, 2 * (stores + stores + 2) + stores).await;
}

#[tokio::test]
async fn idle_streams_stay_open() {
    check(settings("hold"), &[], 3).await;
}

#[tokio::test]
async fn clients_are_measured_beside_the_bare_one() {
    let mut settings = settings("client");
    settings.client = Some([PROGRAM, "reference", "client"].map(str::to_owned).into());
    check(settings, &[("client, 64 in flight", 64, &["bare client", "our client"])], 1).await;
}

#[tokio::test]
async fn references_are_measured_without_ours() {
    let mut settings = settings("unary");
    settings.ours = Ours::None;
    let names = ["typed", "bare"].as_slice();
    check(settings, &[("SendMessage × 64", 64, names), ("SendMessage × 1", 1, names)], 0).await;
}

#[tokio::test]
async fn a_server_that_does_not_echo_ends_the_run() {
    for command in ["true", "/nonexistent/server"] {
        let mut settings = settings("unary");
        settings.ours = Ours::Command(vec![command.to_owned()]);
        run(settings, Path::new(PROGRAM)).await.unwrap_err();
    }
}

/// Our own server and client in the place of the references: every answer is judged.
#[tokio::test]
async fn our_server_and_our_client_answer_right() {
    let mut ours = settings("stream");
    ours.ours = Ours::Echo;
    let names = ["typed", "bare", "durable", "ours, memory", "ours, SQLite"].as_slice();
    let tables =
        [("64 streams × 100 chunks", 64 * 103, names), ("1 stream × 100 chunks", 103, names)];
    check(ours, &tables, 5).await;
    let mut ours = settings("client");
    ours.ours = Ours::Echo;
    check(ours, &[("client, 64 in flight", 64, &["bare client", "our client"])], 2).await;
}
