//! An agent that does what agents may not.

use std::{future::pending, time::Duration};

use nuncio_protocol::{
    ids::TaskId,
    state::TaskState,
    task::{StreamResponse, TaskStatus, TaskStatusUpdateEvent},
    time::Timestamp,
};
use nuncio_tasks::{
    agent::{Agent, Conduct, Failure, Turn},
    output::Output,
};

/// Does what the text says; see the match.
#[derive(Debug)]
pub(super) struct Bad;

impl Agent for Bad {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        match turn.message.text().as_str() {
            "panic" => panic!("as I was told"),
            "after-end" => {
                output.status(TaskState::Completed, None).await?;
                output.text("one more thing").await?;
            }
            "after-turn" => {
                tokio::spawn(async move {
                    // Until nobody listens.
                    while output.working("still here").await.is_ok() {
                        tokio::task::yield_now().await;
                    }
                });
            }
            "wrong-id" => {
                let Some(context_id) = turn.task.context_id else { return Ok(()) };
                output
                    .event(StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                        task_id: TaskId::generate(),
                        context_id,
                        status: TaskStatus::new(TaskState::Completed, Timestamp::now()),
                        metadata: None,
                    }))
                    .await?;
            }
            "wrong-kind" => output.event(StreamResponse::Task(turn.task)).await?,
            "illegal" => output.status(TaskState::Submitted, None).await?,
            "storm" => loop {
                output.working("and on").await?;
            },
            "oversized" => output.text("x".repeat(17 << 20)).await?,
            "hang" => pending().await,
            "ignore-cancel" => {
                turn.cancelled().await;
                pending::<()>().await;
            }
            other => return Err(Failure::new(format!("what is {other}?"))),
        }
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        Conduct { cancel_grace: Duration::from_millis(100), ..Conduct::default() }
    }
}
