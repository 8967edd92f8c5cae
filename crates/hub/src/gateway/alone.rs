//! Nodes of workflows that are called by themselves (U-16, U-18).
//!
//! Whoever may call the workflow may call its nodes. A node that asks somebody else may ask whom
//! its caller or its workflow may ask. The task is the caller's own.

use nuncio_protocol::{
    error::{Error, ErrorKind, reason},
    ids::Tenant,
    json::Shared,
    message::{Message, Part, Role},
    operation::{CancelTaskRequest, Operation, SendMessageRequest},
    service::{CallContext, Caller},
    task::{SendMessageResponse, Task},
};
use nuncio_tasks::{
    engine::{Call, Sent},
    scope::{Name, Scope, caller_name},
};
use nuncio_workflow::runner::{
    Callee,
    alone::{self, Alone},
};

use super::{Gateway, capability::SIGN, tree};

impl Gateway {
    /// Has a node of the workflow that the context names do its work for a message.
    pub(crate) async fn call_node(
        &self,
        mut ctx: CallContext,
        node: &str,
        mut request: SendMessageRequest,
    ) -> Result<Shared<SendMessageResponse>, Error> {
        let inner = &self.0;
        let operation = Operation::SendMessage;
        let (agent, call) = inner.judge(&ctx, Some(operation), &[None])?;
        let saved = inner.directory.state().workflow(&agent.id, None).cloned();
        let workflow = saved.as_ref().and_then(|saved| saved.workflow());
        let workflow = workflow.ok_or_else(|| invalid("the workflow cannot run any more"))?;
        if let Some(task) = &request.message.task_id {
            let call = Call { place: self.own_place(&ctx, task).await?, ..call };
            return self.tell_node(&call, request).await;
        }
        request.metadata = None;
        request.tenant = None;
        let prepared = alone::prepare(workflow, node, request.message.clone());
        match prepared.map_err(|why| invalid(&why))? {
            Alone::Say(parts) => Ok(Shared::new(SendMessageResponse::Message(said(parts)))),
            Alone::Give(Callee::Node(node, sort), message) => {
                let mut call = call;
                let name = format!("{}/{}/{node}", agent.id, sort.as_str());
                call.place.agent =
                    Name::parse(&name).map_err(|error| invalid(&error.to_string()))?;
                self.tell_node(&call, SendMessageRequest { message: *message, ..request }).await
            }
            Alone::Give(to, message) => {
                let name = match to {
                    Callee::Capability(name) => format!("{SIGN}{name}"),
                    to => inner.runs.callee(&call.place.tenant, &to)?,
                };
                ctx.tenant = Tenant::parse(&name).ok();
                ctx.on_behalf_of = Some(Caller::Agent(agent.id.as_str().into()));
                let tenant = ctx.tenant.clone();
                let request = SendMessageRequest { message: *message, tenant, ..request };
                self.service().send_message(ctx, request).await
            }
        }
    }

    /// Ends what a node does for the caller.
    pub(crate) async fn cancel_node(
        &self,
        ctx: CallContext,
        request: CancelTaskRequest,
    ) -> Result<Shared<Task>, Error> {
        let place = self.own_place(&ctx, &request.id).await?;
        let request = CancelTaskRequest { tenant: None, ..request };
        tree::cancel(&self.0.tasks, &Call::new(place), request).await
    }

    async fn tell_node(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<Shared<SendMessageResponse>, Error> {
        Ok(match self.0.tasks.send(call, request).await? {
            Sent::Task(task) => SendMessageResponse::of_task(&task),
            Sent::Message(message) => Shared::new(SendMessageResponse::Message(message)),
        })
    }

    /// Finds where a task of the caller's is.
    async fn own_place(
        &self,
        ctx: &CallContext,
        task: &nuncio_protocol::ids::TaskId,
    ) -> Result<nuncio_tasks::scope::Place, Error> {
        let unknown = || Error::task_not_found(task);
        let tenant = Name::parse(self.0.organisation(ctx)?.as_str()).map_err(|_| unknown())?;
        let caller = caller_name(&ctx.caller).map_err(|_| unknown())?;
        let scope = Scope { tenant, agent: None, caller: Some(caller) };
        Ok(self.0.tasks.find(&scope, task).await?.place)
    }
}

fn said(parts: Vec<Part>) -> Message {
    Message { parts, ..Message::new(Role::Agent, Part::text("")) }
}

fn invalid(text: &str) -> Error {
    Error::new(ErrorKind::InvalidParams, text).with_reason(reason::SKILL_NOT_FOUND)
}
