//! R01 through a hub: it is killed while it carries calls, and nothing that it has acknowledged
//! is lost, nor done twice.

mod agent;
mod callers;
mod runs;

use std::{path::PathBuf, sync::Arc, time::Duration};

use nuncio_testkit::{program::Program, random::Random, services};
use tokio::{task::JoinSet, time::sleep};

use self::{
    agent::{Counting, Keys, Served},
    callers::{Caller, Came},
};
use crate::cli::support::User;

/// How many callers of each kind there are at once.
const CALLERS: usize = 12;

/// A hub that can be killed and started again, on the same data and at the same port.
struct Hub {
    user: User,
    database: Option<String>,
    program: Option<Program>,
    address: String,
}

impl Hub {
    fn start(database: Option<String>) -> Self {
        let user = User::new();
        user.write(
            "nuncio.yaml",
            "limits: {calls_per_minute: 1000000, streams_per_caller: 1000}\n",
        );
        let mut hub = Self { user, database, program: None, address: "127.0.0.1:0".to_owned() };
        hub.start_again();
        hub
    }

    fn start_again(&mut self) {
        let port = self.address.rsplit_once(':').map_or("0", |(_, port)| port);
        let mut command = self.user.command(&["up", "--port", port]);
        if let Some(database) = &self.database {
            command.env("NUNCIO_DATABASE", database);
        }
        let program = Program::start(&mut command);
        program.address().clone_into(&mut self.address);
        self.program = Some(program);
    }

    /// Kills it, as `kill -9` does.
    fn kill(&mut self) {
        self.program = None;
    }

    fn key(&self) -> String {
        let file: PathBuf = self.user.home().join(".local/share/nuncio/hub/admin.key");
        std::fs::read_to_string(file).expect("the first start makes a key").trim().to_owned()
    }

    /// Brings in an agent.
    fn add(&self, name: &str, url: &str) {
        let came = self.user.run(&["agents", "add", url, "--name", name]);
        assert_eq!(came.code, 0, "{}", came.err);
    }
}

/// Kills a hub so often while callers stream and send, and compares what they got with what the
/// agent did.
async fn check(what: &str, database: Option<String>, kills: usize) -> String {
    let (mut random, mut figures) = (Random::new(), Vec::new());
    let mut hub = tokio::task::block_in_place(|| Hub::start(database));
    let key = hub.key();
    for keys in [Keys::Known, Keys::Unknown] {
        let counting = Counting::default();
        let served = Served::start(keys, counting.clone()).await;
        let agent = match keys {
            Keys::Known => "knowing",
            Keys::Unknown => "simple",
        };
        tokio::task::block_in_place(|| hub.add(agent, &served.url()));
        let caller = Arc::new(Caller::new(&hub.address, agent, &key));
        let mut calls = JoinSet::new();
        for index in 0..CALLERS {
            let (caller, late) = (Arc::clone(&caller), Duration::from_millis(random.below(200)));
            let name = format!("{agent}-{index}");
            calls.spawn(async move {
                // Some are in the middle, some at their beginning, when it is killed.
                sleep(late).await;
                let (stream, send) = (format!("stream-{name}"), format!("send-{name}"));
                tokio::join!(caller.stream(&stream), caller.send(&send))
            });
        }
        for _ in 0..kills {
            sleep(Duration::from_millis(50 + random.below(250))).await;
            tokio::task::block_in_place(|| {
                hub.kill();
                hub.start_again();
            });
        }
        let (mut done, mut given_up) = (0, 0);
        while let Some(called) = calls.join_next().await {
            let (stream, send) = called.expect("no caller fails");
            for came in [stream, send] {
                let Came { name, failure } = came;
                let begun = counting.begun(&name);
                match failure {
                    None => {
                        assert_eq!(begun, 1, "{what}: {name} was done {begun} times");
                        done += 1;
                    }
                    Some(why) => {
                        assert_eq!(keys, Keys::Unknown, "{what}: {name}: {why}");
                        assert!(begun <= 1, "{what}: {name} was done {begun} times: {why}");
                        assert!(why.contains("nobody knows whether"), "{what}: {name}: {why}");
                        given_up += 1;
                    }
                }
            }
        }
        figures.push(format!(
            "R01: {what}, {agent} agent, {kills} kills: {done} done once, {given_up} given up"
        ));
        assert!(done > 0, "{what}: all of it was given up");
    }
    figures.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn r01_calls_outlive_kills_of_the_hub_on_sqlite() {
    println!("{}", check("SQLite", None, 2).await);
}

/// Another process may own what a dead one has left only when its lease is over.
#[tokio::test(flavor = "multi_thread")]
async fn r01_calls_outlive_kills_of_the_hub_on_postgres() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    println!("{}", check("Postgres", Some(database.url()), 1).await);
}
