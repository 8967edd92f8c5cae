//! Real services, as tests of the stores use them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nuncio_testkit::process::Process;
use nuncio_testkit::services::{self, Postgres};
use tokio::time::{sleep, timeout};

const NO_ENVIRONMENT: [(&str, &str); 0] = [];
const VICTIM: &str = env!("CARGO_BIN_EXE_testkit-victim");

#[tokio::test]
async fn databases_of_the_shared_postgres_are_apart() {
    let Some(postgres) = services::postgres().await else { return };
    let (one, other) = (postgres.database().await, postgres.database().await);
    one.query("CREATE TABLE things AS SELECT 7 AS id").await;
    assert_eq!(one.query("SELECT id FROM things").await, "7");
    assert_eq!(other.query("SELECT to_regclass('things') IS NULL").await, "t");
    assert_ne!(one.url(), other.url());
}

#[tokio::test]
async fn settings_are_safe_unless_the_test_says_otherwise() {
    let Some(postgres) = services::postgres().await else { return };
    let Some(unsafe_one) = Postgres::start_with(&[("fsync", "off")]).await else { return };
    let settings = "SELECT string_agg(setting, ' ' ORDER BY name) FROM pg_settings \
                    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')";
    assert_eq!(postgres.database().await.query(settings).await, "on on on");
    assert_eq!(unsafe_one.database().await.query(settings).await, "off on on");
}

#[tokio::test]
async fn postgres_wants_its_password() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let connect = |url: &str| {
        let mut psql = Command::new("psql");
        psql.args([url, "--no-psqlrc", "--no-password", "-c", "SELECT 1"]);
        psql.output().expect("psql runs").status.success()
    };
    assert!(connect(&database.url()));
    let (before, after) = database.url().split_once('@').map(own_both).expect("a URL");
    let user = before.rsplit_once(':').expect("user and password").0;
    assert!(!connect(&format!("{user}:wrong@{after}")));
}

fn own_both((before, after): (&str, &str)) -> (String, String) {
    (before.to_owned(), after.to_owned())
}

#[tokio::test]
async fn what_postgres_committed_survives_its_kill() {
    let Some(postgres) = Postgres::start().await else { return };
    let database = postgres.database().await;
    let url = database.url();
    database.query("CREATE TABLE things AS SELECT 7 AS id").await;
    for _ in 0..3 {
        postgres.kill9().await;
        assert_eq!(postgres.id(), None);
        postgres.restart().await;
        assert_eq!(database.query("SELECT id FROM things").await, "7");
    }
    postgres.stop().await;
    postgres.restart().await;
    assert_eq!(database.query("SELECT id FROM things").await, "7");
    assert_eq!(database.url(), url);
}

#[tokio::test]
async fn a_paused_postgres_is_silent_on_open_connections_until_resumed() {
    let Some(postgres) = Postgres::start().await else { return };
    let url = postgres.database().await.url();
    let mut session =
        Process::spawn("psql", [&url, "--no-psqlrc", "-q", "-A", "-t"], NO_ENVIRONMENT);
    session.send("SELECT 1;").await.unwrap();
    assert_eq!(session.line().await.as_deref(), Some("1"));
    postgres.pause();
    session.send("SELECT 2;").await.unwrap();
    assert!(timeout(Duration::from_millis(300), session.line()).await.is_err());
    postgres.resume();
    assert_eq!(session.line().await.as_deref(), Some("2"));
}

#[tokio::test]
async fn redis_forgets_when_told_and_when_killed() {
    let Some(redis) = services::redis().await else { return };
    let url = redis.url();
    assert_eq!(redis.command("SET name value").await, "+OK");
    assert_eq!(redis.command("GET name").await, "$5\nvalue");
    redis.flush_all().await;
    assert_eq!(redis.command("GET name").await, "$-1");
    redis.command("SET name value").await;
    redis.kill9().await;
    redis.restart().await;
    assert_eq!(redis.command("GET name").await, "$-1");
    redis.stop().await;
    redis.restart().await;
    assert_eq!(redis.url(), url);
}

#[tokio::test]
async fn a_paused_redis_is_silent_until_resumed() {
    let Some(redis) = services::redis().await else { return };
    redis.pause();
    let command = redis.command("PING");
    tokio::pin!(command);
    assert!(timeout(Duration::from_millis(300), &mut command).await.is_err());
    redis.resume();
    assert_eq!(command.await, "+PONG");
}

#[tokio::test]
async fn a_killed_test_leaves_nothing_behind() {
    if services::redis().await.is_none() || services::postgres().await.is_none() {
        return;
    }
    let mut victim = Process::spawn(VICTIM, ["hold-services"], NO_ENVIRONMENT);
    let mut made = Vec::new();
    loop {
        let line = victim.line().await.expect("the victim comes to `ready`");
        if line == "ready" {
            break;
        }
        let (kind, name) = line.split_once(' ').expect("two words");
        let path = if kind == "process" { format!("/proc/{name}") } else { name.to_owned() };
        assert!(Path::new(&path).exists(), "{path}");
        made.push(path);
    }
    // Four processes, three directories, and a disk where that may be mounted.
    assert!((7..=8).contains(&made.len()), "{made:?}");
    victim.kill9().await;
    let gone = async {
        while let Some(path) = made.pop() {
            while is_there(Path::new(&path)) {
                sleep(Duration::from_millis(20)).await;
            }
        }
    };
    timeout(Duration::from_secs(30), gone).await.expect("all of it goes away");
}

/// A process that has ended counts as gone, also where nobody waits for orphans.
fn is_there(path: &Path) -> bool {
    let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
    path.exists() && !stat.contains(") Z ")
}

#[tokio::test]
async fn a_service_left_out_is_named_and_one_missing_fails() {
    let run = async |environment: &[(&str, &str)]| {
        let mut victim = Process::spawn(VICTIM, ["hold-services"], environment.iter().copied());
        assert!(!victim.wait().await.success());
        while victim.line().await.is_some() {}
        victim.errors()
    };
    let left_out = run(&[("NUNCIO_WITHOUT", "redis, postgres")]).await;
    assert!(left_out.contains("not tested here: redis (NUNCIO_WITHOUT)"), "{left_out}");
    let missing = run(&[("NUNCIO_WITHOUT", "postgres"), ("PATH", "/nowhere")]).await;
    assert!(missing.contains("this test needs redis, which is not in PATH"), "{missing}");
}
