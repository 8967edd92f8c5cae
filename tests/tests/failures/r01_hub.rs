//! R01, for a hub: the process that writes what it knows is killed at any moment, again and
//! again, on the same data.

use std::time::Duration;

use nuncio_testkit::{process::Process, random::Random, services};
use nuncio_tests::{
    figures,
    hub::{self, Ack, Told},
    node::Kept,
};

const ROUNDS: u64 = 12;

/// The last moment of a kill, from the first acknowledgement on.
const LATEST: u64 = 120;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_a_hub_was_told_is_lost_by_kills_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    kill_again_and_again("SQLite", &Kept::Sqlite(directory.path().join("data")), async || {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_a_hub_was_told_is_lost_by_kills_on_postgres() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    // The server may still be at the last commit of one who is dead.
    let gone = async || {
        let sessions = "SELECT count(*) FROM pg_stat_activity \
            WHERE datname = current_database() AND application_name = 'nuncio'";
        while database.query(sessions).await.trim() != "0" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    kill_again_and_again("Postgres", &Kept::Postgres(database.url()), gone).await;
}

/// Kills, waits until nothing of the killed is left, and looks.
async fn kill_again_and_again(what: &str, kept: &Kept, gone: impl AsyncFn()) {
    let mut random = Random::new();
    let mut told = Told::default();
    let mut compared = None;
    for round in 0..ROUNDS {
        let moment = Duration::from_millis(random.below(LATEST));
        write_until_killed(kept, &format!("run{round}"), moment, &mut told).await;
        gone().await;
        let store = hub::open(kept).await.expect("what was killed can be opened");
        compared = Some(told.check(&*store).await);
    }
    let compared = compared.expect("there are rounds");
    assert!(compared.commits > 0 && compared.lines > 0, "{compared:?}");
    figures::print(&format!(
        "R01: a hub on {what}, {ROUNDS} rounds: {} acked, {} commits, {} lines of the trail, 0 lost",
        figures::count(compared.acked),
        compared.commits,
        compared.lines,
    ));
}

async fn write_until_killed(kept: &Kept, run: &str, moment: Duration, told: &mut Told) {
    let program = env!("CARGO_BIN_EXE_nuncio-test-hub");
    let no_variables: [(&str, &str); 0] = [];
    let mut process = Process::spawn(program, [kept.to_string().as_str(), run], no_variables);
    let first = process.line().await.unwrap_or_else(|| panic!("it ended: {}", process.errors()));
    told.note(Ack::read(&first).expect("it says what is acknowledged"));
    // Nothing depends on where exactly this falls.
    tokio::time::sleep(moment).await;
    process.kill9().await;
    while let Some(line) = process.line().await {
        // What was torn was not said.
        if let Some(ack) = Ack::read(&line) {
            told.note(ack);
        }
    }
    assert_eq!(process.errors(), "");
}
