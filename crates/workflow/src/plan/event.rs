//! What happens in a run.

use std::fmt;

use nuncio_protocol::{
    json::{Error, FromJson, Reader, ToJson, Writer},
    task::Artifact,
};

use crate::graph::NodeId;

/// One attempt at a node, or at one item of a list. It is the same in every replay, so that what
/// names it to the agent can be made of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The node.
    pub node: NodeId,
    /// How often the node has been reached, from 1: more than once in a loop.
    pub iteration: u32,
    /// The number of the item, from 0, of a node that runs over a list.
    pub item: Option<u32>,
    /// From 1.
    pub attempt: u32,
}

impl fmt::Display for Call {
    /// `draft`, `draft#2`, `each[3]`, `draft!2` for a second attempt.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, iteration, item, attempt } = self;
        write!(f, "{node}")?;
        if *iteration > 1 {
            write!(f, "#{iteration}")?;
        }
        if let Some(item) = item {
            write!(f, "[{item}]")?;
        }
        if *attempt > 1 { write!(f, "!{attempt}") } else { Ok(()) }
    }
}

/// Something that has happened in a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A call is about to be made.
    Started {
        /// Which one.
        call: Call,
    },
    /// A call has succeeded.
    Finished {
        /// Which one.
        call: Call,
        /// What came of it.
        artifacts: Vec<Artifact>,
    },
    /// A call has failed, or could not be made.
    Failed {
        /// Which one.
        call: Call,
        /// Why.
        reason: String,
        /// Whether another attempt would fail, too.
        is_final: bool,
    },
    /// A call was canceled, or a node will not be reached because of what failed before.
    Canceled {
        /// Which one.
        call: Call,
        /// Why.
        reason: String,
    },
    /// No edge leads to a node this time.
    Skipped {
        /// The call that there is none of.
        call: Call,
        /// Why.
        reason: String,
    },
    /// A call waits for somebody.
    Asked {
        /// Which one.
        call: Call,
        /// For what.
        question: Question,
    },
    /// A call has got its answer, and goes on.
    Answered {
        /// Which one.
        call: Call,
    },
    /// The run is to end.
    StopRequested {
        /// Why.
        cause: Cause,
    },
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Somebody's answer.
    Input,
    /// A credential.
    Credential,
}

/// Why a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Somebody wants it.
    Canceled,
    /// It takes too long.
    TimedOut,
}

impl Event {
    /// Returns the call that it is about.
    pub const fn call(&self) -> Option<&Call> {
        match self {
            Self::Started { call }
            | Self::Finished { call, .. }
            | Self::Failed { call, .. }
            | Self::Canceled { call, .. }
            | Self::Skipped { call, .. }
            | Self::Asked { call, .. }
            | Self::Answered { call } => Some(call),
            Self::StopRequested { .. } => None,
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Finished { .. } => "finished",
            Self::Failed { .. } => "failed",
            Self::Canceled { .. } => "canceled",
            Self::Skipped { .. } => "skipped",
            Self::Asked { .. } => "asked",
            Self::Answered { .. } => "answered",
            Self::StopRequested { .. } => "stopRequested",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.call() {
            Some(call) => write!(f, "`{}` of `{call}`", self.name()),
            None => write!(f, "`{}`", self.name()),
        }
    }
}

/// `{"finished":{"node":"draft","iteration":1,"attempt":1,"artifacts":[…]}}`
impl ToJson for Event {
    fn write(&self, writer: &mut Writer) {
        writer.object(|event| {
            event.with(self.name(), |writer| {
                writer.object(|object| {
                    if let Some(call) = self.call() {
                        object.with("node", |writer| writer.string(call.node.as_str()));
                        object.with("iteration", |writer| writer.int(call.iteration.into()));
                        if let Some(item) = call.item {
                            object.with("item", |writer| writer.int(item.into()));
                        }
                        object.with("attempt", |writer| writer.int(call.attempt.into()));
                    }
                    match self {
                        Self::Finished { artifacts, .. } => object.member("artifacts", artifacts),
                        Self::Failed { reason, is_final, .. } => {
                            object.member("reason", reason);
                            object.member("isFinal", is_final);
                        }
                        Self::Canceled { reason, .. } | Self::Skipped { reason, .. } => {
                            object.member("reason", reason);
                        }
                        Self::Asked { question, .. } => {
                            let name = match question {
                                Question::Input => "input",
                                Question::Credential => "credential",
                            };
                            object.member("question", name);
                        }
                        Self::StopRequested { cause } => {
                            let name = match cause {
                                Cause::Canceled => "canceled",
                                Cause::TimedOut => "timedOut",
                            };
                            object.member("cause", name);
                        }
                        Self::Started { .. } | Self::Answered { .. } => {}
                    }
                });
            });
        });
    }
}

impl FromJson for Event {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut event = None;
        reader.members(|reader, name| {
            event = Some(Members::read(reader)?.into_event(&name)?);
            Ok(())
        })?;
        event.ok_or_else(|| Error::shape("holds no event"))
    }
}

/// The members that events have.
#[derive(Default)]
struct Members {
    node: Option<NodeId>,
    iteration: u32,
    item: Option<u32>,
    attempt: u32,
    artifacts: Vec<Artifact>,
    reason: String,
    is_final: bool,
    /// Of a question, or a cause.
    word: String,
}

impl Members {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut members = Self::default();
        let whole = |reader: &mut Reader<'_>| {
            u32::try_from(reader.int32()?).map_err(|_| Error::shape("is negative"))
        };
        reader.members(|reader, key| {
            match &*key {
                "node" => {
                    let id = NodeId::parse(&reader.string()?);
                    members.node = Some(id.map_err(|error| Error::shape(error.to_string()))?);
                }
                "iteration" => members.iteration = whole(reader)?,
                "item" => members.item = Some(whole(reader)?),
                "attempt" => members.attempt = whole(reader)?,
                "artifacts" => members.artifacts = FromJson::read(reader)?,
                "reason" => members.reason = FromJson::read(reader)?,
                "isFinal" => members.is_final = reader.bool()?,
                "question" | "cause" => members.word = FromJson::read(reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(members)
    }

    fn into_event(self, name: &str) -> Result<Event, Error> {
        let Self { node, iteration, item, attempt, artifacts, reason, is_final, word } = self;
        if name == "stopRequested" {
            let cause = match word.as_str() {
                "canceled" => Cause::Canceled,
                "timedOut" => Cause::TimedOut,
                _ => return Err(Error::missing("cause")),
            };
            return Ok(Event::StopRequested { cause });
        }
        let node = node.ok_or_else(|| Error::missing("node"))?;
        let call = Call { node, iteration, item, attempt };
        Ok(match name {
            "started" => Event::Started { call },
            "finished" => Event::Finished { call, artifacts },
            "failed" => Event::Failed { call, reason, is_final },
            "canceled" => Event::Canceled { call, reason },
            "skipped" => Event::Skipped { call, reason },
            "answered" => Event::Answered { call },
            "asked" => {
                let question = match word.as_str() {
                    "input" => Question::Input,
                    "credential" => Question::Credential,
                    _ => return Err(Error::missing("question")),
                };
                Event::Asked { call, question }
            }
            _ => return Err(Error::shape("is no event")),
        })
    }
}
