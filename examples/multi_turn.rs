//! An agent that asks back: the task waits, with `TASK_STATE_INPUT_REQUIRED`, for an answer.
//!
//!     cargo run --example multi_turn
//!
//! Send "book a table"; it asks for how many. Send "four" with the `taskId` of the answer, and
//! the same task goes on.

use nuncio_server::{Agent, Error, Failure, Output, Server, Turn};

struct Waiter;

impl Agent for Waiter {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        // The history holds everything said so far, this turn's message last.
        let said = &turn.task.history;
        if said.len() == 1 {
            output.ask("For how many people?").await?;
        } else {
            output.text(format!("A table for {} is booked.", turn.message.text())).await?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let address = std::env::args().nth(1);
    Server::new("waiter", Waiter).serve(address.as_deref().unwrap_or("127.0.0.1:7420")).await
}
