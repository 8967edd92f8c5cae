//! A lead and two members: who calls whom shows in the call tree.

use nuncio_hub::Gateway;
use nuncio_protocol::{
    ids::{AgentId, TaskId, Tenant},
    message::Message,
    operation::SendMessageRequest,
    service::{A2aService, CallContext, Caller, read},
    task::SendMessageResponse,
};
use nuncio_tasks::agent::{Agent, Conduct, Failure, Interrupted, Turn};
use nuncio_tasks::output::Output;

/// Does nothing itself (MD-57).
pub(super) struct Lead {
    id: AgentId,
    gateway: std::sync::Arc<dyn A2aService>,
}

impl Lead {
    pub(super) fn new(id: &AgentId, gateway: &Gateway) -> Self {
        Self { id: id.clone(), gateway: gateway.service() }
    }

    /// Calls a member, as every agent calls another: by the hub and its rules.
    async fn ask(&self, member: &str, turn: &Turn) -> Result<String, Failure> {
        let mut ctx = CallContext::new(Caller::Agent(self.id.as_str().into()));
        ctx.organisation = Some(turn.place.tenant.as_str().into());
        ctx.tenant = Tenant::parse(member).ok();
        ctx.parent = Some(turn.task.id.clone());
        // Asked once, also if the turn is run again.
        ctx.idempotency_key = Some(key(&turn.task.id, member));
        let mut request = SendMessageRequest::new(Message::user(turn.message.text()));
        request.tenant.clone_from(&ctx.tenant);
        let failed = |why: &str| Failure::new(format!("{member}: {why}"));
        let answer = self.gateway.send_message(ctx, request).await;
        match answer.and_then(read).map_err(|error| failed(error.message()))? {
            SendMessageResponse::Message(message) => Ok(message.text()),
            SendMessageResponse::Task(task) if task.status.state.is_failure() => {
                let word = task.status.message.map(|message| message.text());
                Err(failed(&word.unwrap_or_else(|| "it did not work out".to_owned())))
            }
            SendMessageResponse::Task(task) => {
                let texts = task.artifacts.iter().map(nuncio_protocol::task::Artifact::text);
                Ok(texts.collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

fn key(task: &TaskId, member: &str) -> String {
    format!("{task}/{member}")
}

impl Agent for Lead {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        output.working("asking team-a and team-b").await?;
        let both = Box::pin(async {
            tokio::try_join!(self.ask("team-a", &turn), self.ask("team-b", &turn))
        });
        let (counted, reversed) = both.await?;
        output.text(format!("team-a: {counted}\nteam-b: {reversed}")).await?;
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        Conduct { interrupted: Interrupted::Retry, ..Conduct::default() }
    }
}

/// Does one small thing.
pub(super) enum Member {
    Counts,
    Reverses,
}

impl Agent for Member {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let text = turn.message.text();
        let done = match self {
            Self::Counts => format!("{} words", text.split_whitespace().count()),
            Self::Reverses => text.split_whitespace().rev().collect::<Vec<_>>().join(" "),
        };
        output.text(done).await?;
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        Conduct { interrupted: Interrupted::Retry, ..Conduct::default() }
    }
}
