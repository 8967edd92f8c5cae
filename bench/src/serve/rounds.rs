//! Rounds in which everybody takes turns: what ran next to each other had the same neighbours.

use std::time::Duration;

use anyhow::Result;

use super::{
    child::{Launch, Server, Side},
    grpc_load,
    load::{self, Question, Sample},
    report::{Line, Table},
};

/// One kind of load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    Send { connections: usize },
    Get { connections: usize },
    List { connections: usize },
    Stream { streams: usize, chunks: usize },
    Grpc { connections: usize, in_flight: usize },
}

/// A running server, and a task that it knows.
#[derive(Debug)]
pub(crate) struct Contestant {
    pub(crate) server: Server,
    pub(crate) task: String,
}

impl Contestant {
    /// Starts a server and sees that it echoes.
    pub(crate) async fn start(launch: &Launch) -> Result<Self> {
        let server = launch.start().await?;
        let task = load::check(&server).await?.id;
        Ok(Self { server, task })
    }

    async fn measure(&self, point: Point, duration: Duration) -> Result<Sample> {
        let server = &self.server;
        let ask =
            async |question, connections| load::ask(server, &question, connections, duration).await;
        match point {
            Point::Send { connections } => ask(Question::Send, connections).await,
            Point::Get { connections } => {
                ask(Question::Get { id: self.task.clone() }, connections).await
            }
            Point::List { connections } => ask(Question::List, connections).await,
            Point::Stream { streams, chunks } => {
                load::stream(server, streams, chunks, duration).await
            }
            Point::Grpc { connections, in_flight } => {
                grpc_load::send(server, connections, in_flight, duration).await
            }
        }
    }
}

impl Point {
    pub(crate) fn table(self, suffix: &str) -> Table {
        let (title, unit) = match self {
            Self::Send { connections } => (format!("SendMessage × {connections}"), "requests"),
            Self::Get { connections } => (format!("GetTask × {connections}"), "requests"),
            Self::List { connections } => (format!("ListTasks(50) × {connections}"), "requests"),
            Self::Stream { streams: 1, chunks } => {
                (format!("1 stream × {chunks} chunks"), "events")
            }
            Self::Stream { streams, chunks } => {
                (format!("{streams} streams × {chunks} chunks"), "events")
            }
            Self::Grpc { connections, in_flight } => {
                (format!("gRPC, {in_flight} in flight on {connections} connections"), "requests")
            }
        };
        Table::new(format!("{title}{suffix}"), unit)
    }
}

/// Puts everybody under each load in turn, and adds what they showed to the tables.
///
/// The order changes from round to round, so that nobody always runs after the same one.
pub(crate) async fn take_turns(
    contestants: &[Contestant],
    points: &[Point],
    tables: &mut [Table],
    (round, duration): (usize, Duration),
) -> Result<()> {
    for (point, table) in points.iter().zip(tables) {
        if table.lines.is_empty() {
            table.lines = contestants.iter().map(|one| Line::new(one.server.name())).collect();
        }
        for turn in 0..contestants.len() {
            let who = (round + turn) % contestants.len();
            let (contestant, line) = (&contestants[who], &mut table.lines[who]);
            if line.failure.is_some() {
                continue;
            }
            match contestant.measure(*point, duration).await {
                Ok(sample) => line.push(sample),
                Err(error) if contestant.server.side() == Side::Peer => {
                    line.failure = Some(error.root_cause().to_string());
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
