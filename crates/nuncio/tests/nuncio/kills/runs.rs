//! R24: the hub is killed every two seconds while it runs workflows, and every run ends with what
//! it would have ended with, every node having done its work once (G9).

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::{Arc, Mutex},
    time::Duration,
};

use nuncio_server::{Agent, Failure, Output, Turn};
use nuncio_testkit::services;
use tokio::{task::JoinSet, time::sleep};

use super::{
    Hub,
    agent::{Keys, Served},
    callers::Caller,
};

/// How many runs there are, and how many nodes each has that call somebody.
const RUNS: usize = 20;
const NODES: usize = 18;

/// How many calls are made between two kills, at least.
const BETWEEN: usize = 30;

/// Says what it is told with a mark, after a while, and counts how often it was told what.
#[derive(Clone, Default)]
struct Marking(Arc<Mutex<HashMap<String, usize>>>);

impl Marking {
    fn count(&self) -> usize {
        self.0.lock().expect("nobody panics with it").len()
    }
}

impl Agent for Marking {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let said = turn.message.text();
        *self.0.lock().expect("nobody panics with it").entry(said.clone()).or_default() += 1;
        sleep(Duration::from_millis(60)).await;
        output.text(format!("{said}.")).await?;
        Ok(())
    }
}

/// A graph in which every third node waits for the two before it.
fn graph() -> String {
    let mut text = String::from("name: graph\nnodes:\n  - {id: topic, type: input}\n");
    let mut edges = String::from("edges:\n");
    for number in 0..NODES {
        let before: Vec<String> = match number {
            0 => vec!["topic".to_owned()],
            _ if number % 3 == 2 => vec![format!("n{}", number - 2), format!("n{}", number - 1)],
            _ => vec![format!("n{}", number - 1)],
        };
        let prompt: Vec<String> = before.iter().map(|node| format!("{{{{{node}}}}}")).collect();
        let prompt = format!("n{number}({})", prompt.join(","));
        let config = format!("{{agent: marks, prompt: '{prompt}'}}");
        writeln!(text, "  - {{id: n{number}, type: external, config: {config}}}").expect("a text");
        for node in before {
            writeln!(edges, "  - {{from: {node}, to: n{number}}}").expect("a text");
        }
    }
    let last = NODES - 1;
    writeln!(text, "  - {{id: out, type: output, config: {{gather: [n{last}]}}}}").expect("a text");
    writeln!(edges, "  - {{from: n{last}, to: out}}").expect("a text");
    text + &edges
}

/// What each node is told, and what comes of the last, if nothing goes wrong.
fn golden(topic: &str) -> (Vec<String>, String) {
    let (mut told, mut said): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for number in 0..NODES {
        let before = match number {
            0 => topic.to_owned(),
            _ if number % 3 == 2 => format!("{},{}", said[number - 2], said[number - 1]),
            _ => said[number - 1].clone(),
        };
        told.push(format!("n{number}({before})"));
        said.push(format!("n{number}({before})."));
    }
    (told, said.pop().unwrap_or_default())
}

/// Saves a workflow.
fn save(hub: &Hub, key: &str, source: &str) {
    let body = serde_json::json!({ "source": source }).to_string();
    let mut stream = TcpStream::connect(&hub.address).expect("the hub listens");
    write!(
        stream,
        "PUT /api/v1/workflows/graph HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

async fn check(what: &str, database: Option<String>, most_kills: usize) -> String {
    let mut hub = tokio::task::block_in_place(|| Hub::start(database));
    let key = hub.key();
    let marking = Marking::default();
    let served = Served::start(Keys::Known, marking.clone()).await;
    tokio::task::block_in_place(|| {
        hub.add("marks", &served.url());
        save(&hub, &key, &graph());
    });
    let caller = Arc::new(Caller::new(&hub.address, "graph", &key));
    let mut runs = JoinSet::new();
    for index in 0..RUNS {
        let caller = Arc::clone(&caller);
        runs.spawn(async move { (index, caller.run(&format!("run{index}")).await) });
    }
    let (mut kills, mut killed_at) = (0, 0);
    let mut ended = Vec::new();
    while ended.len() < RUNS {
        tokio::select! {
            Some(run) = runs.join_next() => ended.push(run.expect("no caller fails")),
            () = sleep(Duration::from_millis(10)), if kills < most_kills => {
                // In the middle of something, however fast the machine is.
                if marking.count() < killed_at + BETWEEN {
                    continue;
                }
                kills += 1;
                tokio::task::block_in_place(|| {
                    hub.kill();
                    hub.start_again();
                });
                killed_at = marking.count();
            }
        }
    }
    let told = marking.0.lock().expect("nobody panics with it").clone();
    for (index, output) in ended {
        let (expected, last) = golden(&format!("run{index}"));
        assert_eq!(output, last, "{what}: run {index}");
        for text in expected {
            let times = told.get(&text).copied().unwrap_or_default();
            assert_eq!(times, 1, "{what}: `{text}` was said {times} times");
        }
    }
    assert_eq!(told.len(), RUNS * NODES, "{what}: somebody was told something else");
    assert!(kills > 0, "{what}: all was done before the first kill");
    format!("R24: {what}, {RUNS} runs of {NODES} calls, {kills} kills: each call made once")
}

#[tokio::test(flavor = "multi_thread")]
async fn r24_runs_outlive_kills_of_the_hub_on_sqlite() {
    println!("{}", check("SQLite", None, 40).await);
}

/// Another process may own what a dead one has left only when its lease is over.
#[tokio::test(flavor = "multi_thread")]
async fn r24_runs_outlive_kills_of_the_hub_on_postgres() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    println!("{}", check("Postgres", Some(database.url()), 3).await);
}
