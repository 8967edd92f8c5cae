//! An agent that says what it hears.

use nuncio_protocol::{ids::ArtifactId, task::Artifact};
use nuncio_tasks::{
    agent::{Agent, Conduct, Failure, Turn},
    output::Output,
};

/// Gives back every part of a message, whatever it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo;

impl Agent for Echo {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        output.artifact(Artifact::new(ArtifactId::generate(), turn.message.parts)).await?;
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        // It changes nothing outside.
        Conduct { begins_early: true, ..Conduct::default() }
    }
}
