//! The agent that follows a script.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use nuncio_protocol::{
    ids::{ArtifactId, TaskId},
    message::{Message, Role},
    state::TaskState,
    task::Artifact,
};
use nuncio_server::{
    Agent, Chunk, Conduct, Failure, Output, Turn,
    kinds::{Echo, said},
};
use nuncio_tasks::scope::Place;

use super::{
    rule::Rule,
    step::{self, Step, Steps},
    template::Values,
};

/// Takes the steps of the first rule that fits.
#[derive(Debug)]
pub(super) struct Scripted {
    rules: Vec<Rule>,
    otherwise: Option<Steps>,
    /// Where tasks go on that have asked something. In memory, as the tasks are.
    asked: Mutex<HashMap<TaskId, Bookmark>>,
}

/// Where a task goes on.
#[derive(Debug)]
struct Bookmark {
    steps: Steps,
    next: usize,
    /// What the caller said when the rule was chosen.
    text: String,
}

impl Scripted {
    pub(super) fn new(rules: Vec<Rule>, otherwise: Option<Steps>) -> Self {
        Self { rules, otherwise, asked: Mutex::default() }
    }

    /// Returns the steps for a message; none, if it is to be echoed.
    fn choose(&self, message: &Message, turn: usize) -> Option<&Steps> {
        let rule = self.rules.iter().find(|rule| rule.is_for(message, turn));
        rule.map(|rule| &rule.then).or(self.otherwise.as_ref())
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, Bookmark>> {
        // Nothing panics while it is held.
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agent for Scripted {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let number = turn.task.history.iter().filter(|said| said.role == Role::User).count();
        let input = said(&turn.message);
        let bookmark = self.asked().remove(&turn.task.id);
        let Bookmark { steps, next, text } = match bookmark {
            Some(bookmark) => bookmark,
            None => match self.choose(&turn.message, number) {
                Some(steps) => Bookmark { steps: steps.clone(), next: 0, text: input.clone() },
                None => return Echo.run(turn, output).await,
            },
        };
        let values = Values { text: &text, input: &input, turn: number };
        for (index, step) in steps.0.iter().enumerate().skip(next) {
            match step {
                Step::Say(text) => output.working(text.render(&values)).await?,
                Step::State(state, text) => {
                    let message = text.as_ref().map(|text| Message::agent(text.render(&values)));
                    output.status(*state, message).await?;
                }
                Step::Artifact(artifact) => put(&output, artifact, &values).await?,
                Step::Delay(pause) => tokio::time::sleep(pause.0).await,
                Step::Ask(question) => {
                    let question = question.render(&values);
                    // Before anybody can answer.
                    let bookmark = Bookmark { steps: steps.clone(), next: index + 1, text };
                    self.asked().insert(turn.task.id.clone(), bookmark);
                    output.ask(question).await?;
                    return Ok(());
                }
                // Said to a task that is there already, so it is the last word about it.
                Step::Reply(text) => {
                    let message = Message::agent(text.render(&values));
                    output.status(TaskState::Completed, Some(message)).await?;
                }
                Step::Fail(text) => return Err(Failure::new(text.render(&values))),
            }
        }
        Ok(())
    }

    async fn reply(&self, message: &Message, _: &Place) -> Result<Option<Message>, Failure> {
        let Some(steps) = self.choose(message, 1) else { return Ok(None) };
        let [Step::Reply(text)] = &*steps.0 else { return Ok(None) };
        let said = said(message);
        let mut reply = Message::agent(text.render(&Values { text: &said, input: &said, turn: 1 }));
        reply.context_id.clone_from(&message.context_id);
        Ok(Some(reply))
    }

    fn conduct(&self) -> Conduct {
        let mut all = self.rules.iter().map(|rule| &rule.then).chain(&self.otherwise);
        let replies = all.any(|steps| matches!(&*steps.0, [Step::Reply(_)]));
        Conduct { replies, ..Conduct::default() }
    }
}

/// Gives a result, in as many pieces as it comes in.
async fn put(
    output: &Output,
    artifact: &step::Artifact,
    values: &Values<'_>,
) -> Result<(), Failure> {
    let id = ArtifactId::generate();
    let pieces = artifact.pieces(values);
    let last = pieces.len().saturating_sub(1);
    for (index, parts) in pieces.into_iter().enumerate() {
        if index > 0 {
            tokio::time::sleep(artifact.delay.0).await;
        }
        let mut piece = Artifact::new(id.clone(), parts);
        piece.name.clone_from(&artifact.name);
        piece.description.clone_from(&artifact.description);
        output.put(piece, Chunk { append: index > 0, last: index == last }).await?;
    }
    Ok(())
}
