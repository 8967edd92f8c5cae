//! Every suite runs, for a moment, with a reference in the place of our server. Figures are
//! looked at for being there, not for what they are.

use std::{path::Path, time::Duration};

use nuncio_bench::serve::{Ours, Report, Settings, run};

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

/// Runs a suite and checks that its tables have these titles and contestants, and that
/// everybody answered in every round.
async fn check(settings: Settings, tables: &[(&str, &[&str])], verdicts: usize) -> Report {
    let report = run(settings, Path::new(PROGRAM)).await.expect("the suite runs");
    let titles: Vec<&str> = report.tables.iter().map(|table| &*table.title).collect();
    let expected: Vec<&str> = tables.iter().map(|(title, _)| *title).collect();
    assert_eq!(titles, expected);
    for (table, (_, names)) in report.tables.iter().zip(tables) {
        let found: Vec<&str> = table.lines.iter().map(|line| line.name).collect();
        assert_eq!(found, *names, "{}", table.title);
        for line in &table.lines {
            assert_eq!(line.counts().len(), ROUNDS, "{}", line.name);
            assert!(line.counts().iter().all(|count| *count > 0), "{}", line.name);
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
    check(settings("unary"), &[("SendMessage × 64", names), ("SendMessage × 1", names)], 3).await;
}

#[tokio::test]
async fn messages_are_answered_durably() {
    let names = ["durable", "ours, SQLite"].as_slice();
    check(settings("durable"), &[("SendMessage × 64", names), ("SendMessage × 1", names)], 3).await;
}

#[tokio::test]
async fn whole_streams_are_counted() {
    let names = ["typed", "bare", "ours, memory", "ours, SQLite"].as_slice();
    let tables = [("64 streams × 100 chunks", names), ("1 streams × 100 chunks", names)];
    let report = check(settings("stream"), &tables, 4).await;
    for table in &report.tables {
        // The task, working, the chunks, completed.
        let whole = |count: &u64| count.is_multiple_of(103);
        assert!(table.lines.iter().all(|line| line.counts().iter().all(whole)), "{table}");
    }
}

#[tokio::test]
async fn grpc_calls_are_answered() {
    let names = ["grpc-bare", "ours, memory"].as_slice();
    check(settings("grpc"), &[("gRPC, 64 in flight on 8 connections", names)], 1).await;
}

#[tokio::test]
async fn tasks_are_read_at_every_size() {
    let names = ["bare", "ours, memory", "ours, SQLite"].as_slice();
    let tables = [
        ("GetTask × 64, 300 tasks", names),
        ("ListTasks(50) × 16, 300 tasks", names),
        ("GetTask × 64, 600 tasks", names),
        ("ListTasks(50) × 16, 600 tasks", names),
    ];
    // Weighed twice and read twice at each size, and the growth of both.
    check(settings("read"), &tables, 2 * (2 + 2 + 2) + 2).await;
}

#[tokio::test]
async fn idle_streams_stay_open() {
    check(settings("hold"), &[], 3).await;
}

#[tokio::test]
async fn clients_are_measured_beside_the_bare_one() {
    let mut settings = settings("client");
    settings.client = Some([PROGRAM, "reference", "client"].map(str::to_owned).into());
    check(settings, &[("client, 64 in flight", &["bare client", "our client"])], 1).await;
}

#[tokio::test]
async fn references_are_measured_without_ours() {
    let mut settings = settings("unary");
    settings.ours = Ours::None;
    let names = ["typed", "bare"].as_slice();
    check(settings, &[("SendMessage × 64", names), ("SendMessage × 1", names)], 0).await;
}

#[tokio::test]
async fn a_server_that_does_not_echo_ends_the_run() {
    for command in ["true", "/nonexistent/server"] {
        let mut settings = settings("unary");
        settings.ours = Ours::Command(vec![command.to_owned()]);
        run(settings, Path::new(PROGRAM)).await.unwrap_err();
    }
}
