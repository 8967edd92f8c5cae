//! What the nodes run.

use std::{fs::OpenOptions, future::pending, io::Write as _, path::PathBuf, time::Duration};

use nuncio_protocol::{
    ids::ArtifactId,
    message::{Part, Role},
    task::Artifact,
};
use nuncio_tasks::{
    agent::{Agent, Cause, Conduct, Failure, Interrupted, Turn},
    engine::Builder,
    output::{Chunk, Output},
};
use tokio::time::sleep;

use super::{bad::Bad, name};

/// Runs all agents under their names.
pub fn register(builder: Builder, effects: Option<PathBuf>) -> anyhow::Result<Builder> {
    Ok(builder
        .agent(name("echo")?, Echo)
        .agent(name("ask")?, Ask)
        .agent(name("steps-fail")?, Steps(Interrupted::Fail))
        .agent(name("steps-retry")?, Steps(Interrupted::Retry))
        .agent(name("steps-resume")?, Steps(Interrupted::Resume))
        .agent(name("effect")?, Effect { file: effects })
        .agent(name("bad")?, Bad))
}

/// Says what it was told.
#[derive(Debug)]
pub struct Echo;

impl Agent for Echo {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        output.text(turn.message.text()).await?;
        Ok(())
    }
}

/// Asks once, then says what it was answered.
#[derive(Debug)]
pub struct Ask;

impl Agent for Ask {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let said = turn.task.history.iter().filter(|message| message.role == Role::User).count();
        if said < 2 {
            output.ask("what else?").await?;
        } else {
            output.text(turn.message.text()).await?;
        }
        Ok(())
    }
}

/// Gives a result in chunks: the text says how many, how many milliseconds apart, and of how
/// many bytes; `hang` behind them that the work does not end. Any other text is answered with a
/// question. Work that was interrupted makes haste.
#[derive(Debug)]
pub struct Steps(pub Interrupted);

/// How far apart chunks are at most once the work was interrupted.
const HASTE: Duration = Duration::from_millis(20);

struct Plan {
    chunks: usize,
    apart: Duration,
    bytes: usize,
    hangs: bool,
}

impl Plan {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let chunks = words.next()?.parse().ok()?;
        let apart = Duration::from_millis(words.next()?.parse().ok()?);
        let bytes = words.next().map_or(Some(32), |word| word.parse().ok())?;
        let hangs = words.next() == Some("hang");
        Some(Self { chunks, apart, bytes, hangs })
    }
}

impl Agent for Steps {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        const ID: &str = "steps";
        let Some(plan) = Plan::parse(&turn.message.text()) else {
            output.ask("how many?").await?;
            return Ok(());
        };
        let apart = match turn.cause {
            Cause::Interrupted => plan.apart.min(HASTE),
            _ => plan.apart,
        };
        let resumes = self.0 == Interrupted::Resume && turn.cause == Cause::Interrupted;
        let stored =
            turn.task.artifacts.iter().find(|artifact| artifact.artifact_id.as_str() == ID);
        let done = stored.filter(|_| resumes).map_or(0, |artifact| artifact.parts.len());
        for chunk in done..plan.chunks {
            let text = format!("{chunk:0width$}", width = plan.bytes);
            let artifact = Artifact::new(ArtifactId::parse(ID)?, vec![Part::text(text)]);
            let last = chunk + 1 == plan.chunks;
            output.put(artifact, Chunk { append: chunk > 0, last }).await?;
            if !apart.is_zero() {
                sleep(apart).await;
            }
        }
        if plan.hangs {
            pending::<()>().await;
        }
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        Conduct { interrupted: self.0, ..Conduct::default() }
    }
}

/// Writes a line with its task into a file at each run, so that real runs can be counted; then
/// it takes as many milliseconds as the text says.
#[derive(Debug)]
pub struct Effect {
    file: Option<PathBuf>,
}

impl Agent for Effect {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let Some(path) = &self.file else { return Err(Failure::new("there is no file")) };
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        // One write: lines of several processes do not mix.
        file.write_all(format!("{}\n", turn.task.id).as_bytes())?;
        let text = turn.message.text();
        let millis = text.split_whitespace().next().and_then(|word| word.parse().ok());
        sleep(Duration::from_millis(millis.unwrap_or(0))).await;
        output.text("done").await?;
        Ok(())
    }
}
