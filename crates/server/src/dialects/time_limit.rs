//! An agent that may take only so long (P-04).

use std::time::Duration;

use futures_util::{FutureExt as _, future::Either};
use nuncio_protocol::message::Message;
use nuncio_tasks::{
    agent::{Agent, Conduct, Failure, Turn},
    output::Output,
    scope::Place,
};
use tokio::time::timeout;

/// An agent each of whose turns is ended, and its task failed, when it takes too long.
pub(crate) struct TimeLimited<A> {
    pub(crate) agent: A,
    pub(crate) limit: Option<Duration>,
}

impl<A: Agent> Agent for TimeLimited<A> {
    fn run(&self, turn: Turn, output: Output) -> impl Future<Output = Result<(), Failure>> + Send {
        let work = self.agent.run(turn, output);
        let Some(limit) = self.limit else { return Either::Left(work) };
        // Dropping the future ends the work, so that nothing goes on behind a failed task.
        Either::Right(timeout(limit, work).map(move |outcome| {
            outcome.unwrap_or_else(|_| {
                let seconds = limit.as_secs_f64();
                Err(Failure::new(format!("the task took longer than {seconds} seconds")))
            })
        }))
    }

    async fn reply(&self, message: &Message, place: &Place) -> Result<Option<Message>, Failure> {
        self.agent.reply(message, place).await
    }

    fn conduct(&self) -> Conduct {
        self.agent.conduct()
    }
}
