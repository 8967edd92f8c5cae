//! What an agent does, as its test sees and directs it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use nuncio_protocol::{
    ids::ArtifactId,
    message::{Content, Message, Part},
    task::Artifact,
};
use nuncio_server::{Agent, Chunk, Conduct, Failure, Output, Turn};
use nuncio_tasks::scope::Place;
use tokio::sync::{Semaphore, watch};

use super::callers::patiently;

/// Where scripts are played. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Stage(Arc<Inner>);

#[derive(Default)]
struct Inner {
    plays: watch::Sender<HashMap<String, Play>>,
    gates: Mutex<HashMap<String, Arc<Semaphore>>>,
    parent: Mutex<Option<String>>,
    calls: watch::Sender<Calls>,
    holds_answers: watch::Sender<bool>,
}

/// How often a script of a name was played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Play {
    pub(crate) begun: usize,
    pub(crate) running: usize,
}

/// How often an agent was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// For an answer.
    pub(crate) asked: usize,
    /// For a stream.
    pub(crate) followed: usize,
}

/// A script that runs until this is dropped.
pub(crate) struct Running {
    stage: Stage,
    name: String,
}

impl Stage {
    /// Lets `gated:NAME:…` say so many pieces more.
    pub(crate) fn open(&self, name: &str, pieces: usize) {
        self.gate(name).add_permits(pieces);
    }

    /// Returns how often the script of a name was begun.
    pub(crate) fn begun(&self, name: &str) -> usize {
        self.0.plays.borrow().get(name).map_or(0, |play| play.begun)
    }

    /// Waits until the script of a name runs.
    pub(crate) async fn runs(&self, name: &str) {
        self.until(name, |play| play.running > 0).await;
    }

    /// Waits until the script of a name was begun so often.
    pub(crate) async fn has_begun(&self, name: &str, times: usize) {
        self.until(name, |play| play.begun >= times).await;
    }

    /// Waits until the script of a name has run, and runs no more.
    pub(crate) async fn has_stopped(&self, name: &str) {
        self.until(name, |play| play.begun > 0 && play.running == 0).await;
    }

    /// Keeps back what the agent answers, or lets it out.
    pub(crate) fn hold_answers(&self, holds: bool) {
        self.0.holds_answers.send_replace(holds);
    }

    /// Waits until answers are let out.
    pub(crate) async fn let_out(&self) {
        let mut holds = self.0.holds_answers.subscribe();
        holds.wait_for(|holds| !holds).await.expect("the stage is there");
    }

    /// Hears by which name of a task it was called last.
    pub(crate) fn hear_of(&self, parent: &str) {
        *self.0.parent.lock().expect("nobody panics with it") = Some(parent.to_owned());
    }

    /// Returns by which name of a task it was called last.
    pub(crate) fn parent(&self) -> Option<String> {
        self.0.parent.lock().expect("nobody panics with it").clone()
    }

    /// Hears that it is called, for an answer or for a stream.
    pub(crate) fn hear_call(&self, is_stream: bool) {
        self.0.calls.send_modify(|calls| {
            let count = if is_stream { &mut calls.followed } else { &mut calls.asked };
            *count += 1;
        });
    }

    /// Returns how often it was called since this was asked last.
    pub(crate) fn take_calls(&self) -> Calls {
        self.0.calls.send_replace(Calls::default())
    }

    /// Waits until it is called for a stream.
    pub(crate) async fn is_followed(&self) {
        let mut calls = self.0.calls.subscribe();
        let followed = calls.wait_for(|calls| calls.followed > 0);
        patiently(followed).await.expect("the stage is there");
    }

    async fn until(&self, name: &str, reached: impl Fn(Play) -> bool) {
        let mut plays = self.0.plays.subscribe();
        let plays = plays.wait_for(|plays| reached(plays.get(name).copied().unwrap_or_default()));
        patiently(plays).await.expect("the stage is there");
    }

    fn gate(&self, name: &str) -> Arc<Semaphore> {
        let mut gates = self.0.gates.lock().expect("nobody panics with it");
        let gate = gates.entry(name.to_owned());
        Arc::clone(gate.or_insert_with(|| Arc::new(Semaphore::new(0))))
    }

    pub(crate) fn begin(&self, name: &str) -> Running {
        self.0.plays.send_modify(|plays| {
            let play = plays.entry(name.to_owned()).or_default();
            play.begun += 1;
            play.running += 1;
        });
        Running { stage: self.clone(), name: name.to_owned() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stage.0.plays.send_modify(|plays| {
            plays.entry(self.name.clone()).or_default().running -= 1;
        });
    }
}

/// Does what the text of a message says, and notes it on its stage:
///
/// `hold:NAME` works until it is cancelled, `gated:NAME:N` gives a file in N pieces, each when
/// its gate opens, `count:N` gives them at once, `say:NAME:A,B` says what it does and then gives a
/// file, `ask:…` asks, `reply:…` answers without a task,
/// `fail:…` fails; everything else is said back.
pub(crate) struct Script(pub(crate) Stage);

impl Agent for Script {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let text = told(&turn.message);
        let mut words = text.splitn(3, ':');
        let (verb, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let rest = words.next().unwrap_or_default();
        let _running = self.0.begin(name);
        match verb {
            "hold" => {
                output.working("holding").await?;
                std::future::pending().await
            }
            "gated" => {
                let gate = self.0.gate(name);
                let count = number(rest)?;
                for index in 0..count {
                    gate.acquire().await?.forget();
                    piece(&output, index, index + 1 == count).await?;
                }
                Ok(())
            }
            "count" => {
                let count = number(name)?;
                for index in 0..count {
                    piece(&output, index, index + 1 == count).await?;
                }
                Ok(())
            }
            "say" => {
                for word in rest.split(',') {
                    output.working(word).await?;
                }
                Ok(output.text("said").await?)
            }
            "ask" => Ok(output.ask("which one?").await?),
            "fail" => Err(Failure::new("it broke")),
            _ => Ok(output.text(text).await?),
        }
    }

    async fn reply(&self, message: &Message, _: &Place) -> Result<Option<Message>, Failure> {
        let text = message.text();
        Ok(text.strip_prefix("reply:").map(Message::agent))
    }

    fn conduct(&self) -> Conduct {
        Conduct { replies: true, ..Conduct::default() }
    }
}

/// Returns what a message says, in its text or in the member `text` of its data.
fn told(message: &Message) -> String {
    let data = message.parts.iter().find_map(|part| match &part.content {
        Content::Data(data) => data.as_object()?.get("text")?.as_text(),
        _ => None,
    });
    data.unwrap_or_else(|| message.text())
}

async fn piece(output: &Output, index: u32, last: bool) -> Result<(), Failure> {
    let id = ArtifactId::parse("count")?;
    let artifact = Artifact::new(id, vec![Part::text(format!("{index} "))]);
    Ok(output.put(artifact, Chunk { append: index > 0, last }).await?)
}

/// What `count:N` gives.
pub(crate) fn counted(count: u32) -> String {
    (0..count).map(|index| index.to_string() + " ").collect()
}

fn number(text: &str) -> Result<u32, Failure> {
    text.parse().map_err(|_| Failure::new(format!("`{text}` is no number")))
}
