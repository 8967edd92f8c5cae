//! What people say to a task that they or others have asked for.

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::{AgentId, MessageId},
    json::{Object, Raw},
    message::{Message, Part, Role},
    operation::SendMessageRequest,
    service::TraceContext,
};
use nuncio_tasks::{agent::Asked, engine::Call, scope::Scope, store::Head};
use nuncio_workflow::runner::objection;

use super::{Gateway, Inner, trace};

/// The member of a message's metadata that says who has spoken in the caller's name. Only the
/// hub writes it.
const ANSWERED_BY: &str = "answeredBy";

/// What somebody says to a task.
#[derive(Debug)]
pub(crate) struct Word<'a> {
    /// What; at least one part.
    pub(crate) parts: Vec<Part>,
    /// Who.
    pub(crate) by: &'a str,
    /// The node of a run that it is for, if there are several that ask.
    pub(crate) node: Option<&'a str>,
    /// Two words with the same key are one.
    pub(crate) key: Option<&'a str>,
    /// Whether its task is canceled next. Then it need be no answer to what is asked.
    pub(crate) is_last: bool,
    /// The speaker's place in a distributed trace.
    pub(crate) trace: Option<TraceContext>,
}

impl Gateway {
    /// Says something to a task in its caller's name, and waits until the agent has heard it.
    /// Whoever calls this has decided that the speaker may.
    pub(crate) async fn say(&self, head: &Head, word: Word<'_>) -> Result<(), Error> {
        let Word { parts, by, node, key, is_last, trace } = word;
        let message_id = match key {
            Some(key) => repeated(head, by, key),
            None => MessageId::generate(),
        };
        let metadata = [(ANSWERED_BY, Raw::string(by))].into_iter();
        let metadata = metadata.chain(node.map(|node| ("node", Raw::string(node))));
        let message = Message {
            parts,
            message_id,
            task_id: Some(head.id.clone()),
            metadata: Some(Object::from_members(metadata)),
            ..Message::new(Role::User, Part::text(""))
        };
        let call = Call {
            // Keys of the caller's own are others.
            key: key.map(|_| format!("answer:{}", message.message_id)),
            asked: Asked { trace: trace.or_else(|| Some(trace::root())), ..Asked::default() },
            ..Call::new(head.place.clone())
        };
        let request = SendMessageRequest::new(message);
        if !is_last {
            self.0.check_answer(&call, &request).await?;
        }
        // The stream begins with the agent's first word; what follows is in the log.
        self.0.tasks.stream(&call, request).await.map(drop)
    }
}

impl Inner {
    /// Refuses what is no answer to an approval of a run: whoever says it learns what is, and the
    /// run goes on waiting.
    pub(super) async fn check_answer(
        &self,
        call: &Call,
        request: &SendMessageRequest,
    ) -> Result<(), Error> {
        let Some(run) = &request.message.task_id else { return Ok(()) };
        let agent = AgentId::parse(call.place.agent.as_str());
        let is_run = agent.is_ok_and(|agent| self.lines.is_workflow(&agent));
        // What is repeated was an answer to what was asked then.
        if !is_run || self.tasks.is_repeat(call, request).await? {
            return Ok(());
        }
        let scope = Scope::from(&call.place);
        match objection(&self.tasks, &scope, run, &request.message).await? {
            None => Ok(()),
            Some(told) => Err(Error::new(ErrorKind::InvalidParams, told)),
        }
    }
}

/// Names a message so that a repeated one has the same name.
fn repeated(head: &Head, by: &str, key: &str) -> MessageId {
    let all = [head.id.as_str(), by, key].map(|text| format!("{}:{text}", text.len())).concat();
    let hash = digest(&SHA256, all.as_bytes());
    let text = URL_SAFE_NO_PAD.encode(hash);
    MessageId::parse(&text).unwrap_or_else(|_| MessageId::generate())
}

/// Takes away what a caller says about who has spoken in its name.
pub(super) fn unsign(message: &mut Message) {
    let Some(metadata) = &message.metadata else { return };
    if metadata.get(ANSWERED_BY).is_some() {
        message.metadata = Some(metadata.without(ANSWERED_BY));
    }
}
