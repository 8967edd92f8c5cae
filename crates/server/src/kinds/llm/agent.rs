//! A task for every message.

use std::sync::Arc;

use nuncio_protocol::{
    ids::ArtifactId,
    message::{Message, Part, Role},
    task::Artifact,
};
use nuncio_tasks::{
    agent::{Agent, Conduct, Failure, Interrupted, Turn},
    output::{self, Chunk, Output},
};

use super::{Error, Listener, Llm, Said};
use crate::kinds::tool::{Boxed, Call};

/// Names the answer within its task. It is always the same, so that a turn that is run again
/// writes over what the first attempt has left.
const ANSWER: &str = "answer";

impl Agent for Llm {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let said = self.said(&turn).await.map_err(Error::into_failure)?;
        let call = Call {
            place: Some(turn.place.clone()),
            task: Some(turn.task.id.clone()),
            context: turn.task.context_id.clone(),
            trace: turn.asked.trace.clone(),
            progress: Some(Arc::new(output.clone())),
        };
        let answer = Box::pin(self.answer(said, &call, &output)).await;
        let parts = answer.map_err(Error::into_failure)?;
        if !self.settings.streams() {
            output.artifact(artifact(parts)).await?;
        }
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        Conduct { interrupted: Interrupted::Retry, ..Conduct::default() }
    }
}

impl Llm {
    /// Gathers what the model is told: earlier tasks of the conversation, and this one.
    async fn said(&self, turn: &Turn) -> Result<Vec<Said>, Error> {
        let mut said = match &self.memory {
            Some(memory) => {
                let most = self.settings.limits.memory_bytes;
                memory.earlier(&turn.place, &turn.task, most).await?
            }
            None => Vec::new(),
        };
        let asked = turn.task.history.iter().filter(|message| message.role == Role::User);
        let mut asked: Vec<&Message> = asked.collect();
        if !asked.iter().any(|message| message.message_id == turn.message.message_id) {
            asked.push(&turn.message);
        }
        said.extend(asked.into_iter().map(|message| Said::User(message.parts.clone())));
        Ok(said)
    }
}

impl Listener for Output {
    fn piece(&self, text: String, chunk: Chunk) -> Boxed<'_, Result<(), output::Error>> {
        Box::pin(self.put(artifact(vec![Part::text(text)]), chunk))
    }
}

fn artifact(parts: Vec<Part>) -> Artifact {
    Artifact::new(ArtifactId::parse(ANSWER).expect("it is short"), parts)
}
