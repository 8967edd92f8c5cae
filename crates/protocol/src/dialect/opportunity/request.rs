//! The envelope of a request (O-04).

use crate::{
    dialect::loose::{once, optional},
    ids::{ContextId, MessageId, TaskId},
    json::{Error, Kind, Object, Raw, Reader, Writer, read_id, read_value, read_with},
    jsonrpc::Id,
    message::{Message, Part, Role},
    operation::{Request, SendMessageRequest},
};

use super::{PROTOCOL_VERSION, content, is_spoken};

const SKILL_ID: &str = "skillId";
const SOURCE_AGENT: &str = "sourceAgent";

/// A request as it came, each member of the right shape but not yet known to be there.
#[derive(Default)]
pub(super) struct Envelope {
    protocol_version: Option<String>,
    source_agent: Option<Object>,
    capability: Option<String>,
    payload: Option<Object>,
    request_id: Option<MessageId>,
    task_id: Option<TaskId>,
    context_id: Option<ContextId>,
}

impl Envelope {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut envelope = Self::default();
        reader.members(|reader, key| match &*key {
            "protocol_version" | "protocolVersion" => {
                once(&mut envelope.protocol_version, read_value(reader)?)
            }
            "source_agent" | "sourceAgent" => {
                once(&mut envelope.source_agent, optional(reader, read_agent)?)
            }
            "capability" => once(&mut envelope.capability, read_value(reader)?),
            "payload" => once(&mut envelope.payload, read_value(reader)?),
            "request_id" | "requestId" => once(&mut envelope.request_id, read_value(reader)?),
            "task_id" | "taskId" => once(&mut envelope.task_id, read_id(reader)?),
            "context_id" | "contextId" => once(&mut envelope.context_id, read_id(reader)?),
            _ => reader.skip(),
        })?;
        Ok(envelope)
    }

    /// Returns the version that is asked for, if we do not speak it.
    pub(super) fn other_version(&self) -> Option<&str> {
        self.protocol_version.as_deref().filter(|version| !is_spoken(version))
    }

    /// Returns what the answer has to echo.
    pub(super) fn echo(&self) -> (Option<Id>, String) {
        let id = self.request_id.as_ref().map(|id| Id::text(id.as_str()));
        (id, self.capability.clone().unwrap_or_default())
    }

    pub(super) fn into_request(self) -> Result<Request, Error> {
        self.protocol_version.ok_or_else(|| Error::missing("protocol_version"))?;
        let source = self.source_agent.ok_or_else(|| Error::missing("source_agent"))?;
        let capability = self.capability.ok_or_else(|| Error::missing("capability"))?;
        if capability.is_empty() {
            return Err(Error::shape("must not be empty").inside("capability"));
        }
        let payload = self.payload.ok_or_else(|| Error::missing("payload"))?;
        let message_id = self.request_id.ok_or_else(|| Error::missing("request_id"))?;
        let message = Message {
            message_id,
            context_id: self.context_id,
            task_id: self.task_id,
            ..Message::new(Role::User, Part::data(payload.into_raw()))
        };
        let metadata = Object::from_members([
            (SKILL_ID, Raw::string(&capability)),
            (SOURCE_AGENT, source.into_raw()),
        ]);
        let request = Request::SendMessage(SendMessageRequest {
            metadata: Some(metadata),
            ..SendMessageRequest::new(message)
        });
        request.check()?;
        Ok(request)
    }
}

/// Reads who says to be asking; what is said besides is kept.
fn read_agent(reader: &mut Reader<'_>) -> Result<Object, Error> {
    let agent = reader.raw_object()?;
    read_with(agent.as_str(), |reader| {
        reader.members(|reader, key| match &*key {
            "id" | "endpoint" => read_value::<String>(reader).map(|_| ()),
            _ => reader.skip(),
        })
    })?;
    Ok(agent)
}

/// Returns the id of a request of which nothing else may be readable.
pub(super) fn find_id(body: &str) -> Id {
    let mut id = Id::null();
    let read = read_with(body, |reader| {
        reader.members(|reader, key| {
            if matches!(&*key, "request_id" | "requestId") && reader.peek()? == Kind::String {
                id = Id::text(&reader.string()?);
                return Ok(());
            }
            reader.skip()
        })
    });
    // What cannot be parsed has no id that could be trusted.
    if read.is_ok() { id } else { Id::null() }
}

/// Writes an id as text, which it is in this form; none is empty.
pub(super) fn write_id(id: &Id, writer: &mut Writer) {
    match id.as_str() {
        "null" => writer.string(""),
        text if text.starts_with('"') => writer.raw(text),
        number => writer.string(number),
    }
}

/// Returns the skill that a request asks for; empty if it names none.
pub(super) fn capability(request: &SendMessageRequest) -> String {
    let skill = |metadata: &Option<Object>| metadata.as_ref()?.get(SKILL_ID)?.as_text();
    skill(&request.metadata).or_else(|| skill(&request.message.metadata)).unwrap_or_default()
}

pub(super) fn write(
    request: &SendMessageRequest,
    capability: &str,
    agent_id: &str,
    writer: &mut Writer,
) {
    let named = request.metadata.as_ref().and_then(|metadata| metadata.get(SOURCE_AGENT));
    let source = named
        .and_then(|agent| agent.as_object())
        .unwrap_or_else(|| Object::from_members([("id", Raw::string(agent_id))]));
    let message = &request.message;
    writer.object(|object| {
        object.member("protocol_version", PROTOCOL_VERSION);
        object.member("source_agent", &source);
        object.member("capability", capability);
        object.member("payload", &content::bundle(&message.parts));
        object.member("request_id", &message.message_id);
        object.optional("task_id", message.task_id.as_ref());
        object.optional("context_id", message.context_id.as_ref());
    });
}
