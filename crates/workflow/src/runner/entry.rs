//! What stands in the log of a run.
//!
//! Each entry is the metadata of a status update of the run's task, under [`RUN`].

use std::{collections::BTreeMap, sync::Arc};

use nuncio_protocol::{
    error::Error,
    ids::{MessageId, TaskId},
    json::{self, FromJson, Object, Raw, Reader, ToJson, Writer},
    message::{Message, Part},
    task::StreamResponse,
    time::Timestamp,
};
use nuncio_tasks::{
    engine::Tasks,
    log::{Entry as Logged, Kind, Seq},
    scope::Scope,
    store::Limit,
};

use crate::plan::{Call, Event};

/// The member of an event's metadata that has an entry.
pub const RUN: &str = "urn:nuncio:run:v1";

/// How much of a log is read at once.
const PAGE: Limit = Limit { entries: 1_000, bytes: 8 << 20 };

/// What a run has begun with. It holds the workflow, so that nothing but the log is needed to go
/// on.
#[derive(Clone, Debug, PartialEq)]
pub struct Begun {
    /// The name of the workflow.
    pub workflow: String,
    /// Its version.
    pub version: u32,
    /// Its text.
    pub source: Arc<str>,
    /// What it was given.
    pub inputs: BTreeMap<String, Vec<Part>>,
    /// The run that this one repeats.
    pub rerun_of: Option<TaskId>,
}

/// Something that has happened, with what only the log needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Happened {
    /// What has happened.
    pub event: Event,
    /// The message because of which it has.
    pub answer: Option<MessageId>,
    /// What a node asks.
    pub question: Option<Message>,
}

impl From<Event> for Happened {
    fn from(event: Event) -> Self {
        Self { event, answer: None, question: None }
    }
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// The run has begun.
    Begun(Begun),
    /// Something has happened.
    Happened(Happened),
    /// A message is for a call, which is told next.
    Addressed(MessageId, Call),
    /// Whatever a message was to lead to has happened.
    Heard(MessageId),
}

impl Entry {
    /// Returns the entry that an event of a task has.
    pub fn of(response: &StreamResponse) -> Option<Self> {
        let StreamResponse::StatusUpdate(update) = response else { return None };
        json::from_str(update.metadata.as_ref()?.get(RUN)?.as_str()).ok()
    }

    /// Returns the metadata of an event that has this entry.
    pub fn metadata(&self) -> Object {
        // What is written is JSON.
        let raw = Raw::parse_text(&json::to_string(self)).unwrap_or_else(|_| Raw::bool(false));
        Object::from_members([(RUN, raw)])
    }
}

impl ToJson for Entry {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| match self {
            Self::Begun(begun) => object.with("begun", |writer| begun.write(writer)),
            Self::Happened(Happened { event, answer, question }) => {
                object.member("event", event);
                object.optional("answer", answer.as_ref());
                object.optional("question", question.as_ref());
            }
            Self::Addressed(message, call) => {
                object.member("addressed", message);
                object.member("event", &Event::Answered { call: call.clone() });
            }
            Self::Heard(message) => object.member("heard", message),
        });
    }
}

impl FromJson for Entry {
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let (mut begun, mut event, mut heard) = (None, None, None);
        let (mut answer, mut question, mut addressed) = (None, None, None);
        reader.members(|reader, key| {
            match &*key {
                "begun" => begun = Some(Begun::read(reader)?),
                "event" => event = Some(Event::read(reader)?),
                "answer" => answer = Some(FromJson::read(reader)?),
                "question" => question = Some(FromJson::read(reader)?),
                "addressed" => addressed = Some(FromJson::read(reader)?),
                "heard" => heard = Some(FromJson::read(reader)?),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        if let (Some(message), Some(Event::Answered { call })) = (&addressed, &event) {
            return Ok(Self::Addressed(MessageId::clone(message), call.clone()));
        }
        match (begun, event, heard) {
            (Some(begun), _, _) => Ok(Self::Begun(begun)),
            (_, Some(event), _) => Ok(Self::Happened(Happened { event, answer, question })),
            (_, _, Some(message)) => Ok(Self::Heard(message)),
            _ => Err(json::Error::shape("is no entry of a run")),
        }
    }
}

impl ToJson for Begun {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            object.member("workflow", &self.workflow);
            object.with("version", |writer| writer.int(self.version.into()));
            object.member("source", &*self.source);
            object.with("inputs", |writer| {
                writer.object(|inputs| {
                    for (name, parts) in &self.inputs {
                        inputs.entry(name, parts);
                    }
                });
            });
            object.optional("rerunOf", self.rerun_of.as_ref());
        });
    }
}

impl FromJson for Begun {
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let (mut workflow, mut version, mut source) = (String::new(), 0, String::new());
        let (mut inputs, mut rerun_of) = (BTreeMap::new(), None);
        reader.members(|reader, key| {
            match &*key {
                "workflow" => workflow = FromJson::read(reader)?,
                "version" => version = u32::try_from(reader.int32()?).unwrap_or_default(),
                "source" => source = FromJson::read(reader)?,
                "inputs" => reader.members(|reader, name| {
                    inputs.insert(name.into_owned(), FromJson::read(reader)?);
                    Ok(())
                })?,
                "rerunOf" => rerun_of = Some(FromJson::read(reader)?),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(Self { workflow, version, source: source.into(), inputs, rerun_of })
    }
}

/// A happening, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Dated {
    /// Its place in the log.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What.
    pub event: Event,
    /// What a node asks.
    pub question: Option<Message>,
}

/// The log of a run, as it is read.
#[derive(Debug, Default)]
pub struct Log {
    /// What it has begun with, if it has.
    pub begun: Option<Begun>,
    /// When.
    pub began_at: Option<Timestamp>,
    /// What has happened since.
    pub happened: Vec<Dated>,
    /// What was said to the run and has led to nothing yet, and the call that it is for.
    pub unheard: Vec<(Message, Option<Call>)>,
    /// The messages that have.
    pub heard: Vec<MessageId>,
    /// The newest entry.
    pub reached: u64,
}

impl Log {
    /// Takes in an entry of the task's log.
    pub fn take(&mut self, logged: &Logged) {
        let Logged { seq, record } = logged;
        self.reached = seq.0;
        if record.kind == Kind::Input {
            let said = record.message.as_ref().and_then(|message| message.value().ok());
            self.unheard.extend(said.map(|message| (message.clone(), None)));
            return;
        }
        let Ok(response) = record.event.value() else { return };
        let at = match response {
            StreamResponse::StatusUpdate(update) => update.status.timestamp,
            _ => None,
        };
        let at = at.or(self.began_at).unwrap_or_else(Timestamp::now);
        match Entry::of(response) {
            Some(Entry::Begun(begun)) => {
                (self.begun, self.began_at) = (Some(begun), Some(at));
            }
            Some(Entry::Happened(Happened { event, answer, question })) => {
                self.happened.push(Dated { seq: seq.0, at, event, question });
                self.hear(answer);
            }
            Some(Entry::Addressed(message, call)) => {
                let said = self.unheard.iter_mut().find(|(said, _)| said.message_id == message);
                if let Some((_, addressee)) = said {
                    *addressee = Some(call);
                }
            }
            Some(Entry::Heard(message)) => self.hear(Some(message)),
            None => {}
        }
    }

    fn hear(&mut self, message: Option<MessageId>) {
        if let Some(message) = message {
            self.unheard.retain(|(said, _)| said.message_id != message);
            self.heard.push(message);
        }
    }
}

/// Reads the log of a run.
pub async fn read_log(tasks: &Tasks, scope: &Scope, run: &TaskId) -> Result<Log, Error> {
    let mut log = Log::default();
    let mut after = Seq::START;
    loop {
        let page = tasks.log(scope, run, after, PAGE).await?;
        let Some(last) = page.entries.last() else { return Ok(log) };
        after = last.seq;
        page.entries.iter().for_each(|logged| log.take(logged));
        if after >= page.reached {
            return Ok(log);
        }
    }
}
