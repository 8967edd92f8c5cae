//! One rule, as an administrator writes it.

use std::sync::Arc;

use nuncio_protocol::{
    ids::{AgentId, Organisation},
    json::{self, FromJson, Kind, Reader, ToJson, Writer},
};

use super::grant::{Operations, Skills};
use crate::api_key::is_name;

const MAX_NOTE_BYTES: usize = 1024;

/// Allows or denies some callers something at some agents of an organisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Names it within its organisation.
    pub id: Arc<str>,
    /// Where it holds.
    pub organisation: Organisation,
    /// What it does.
    pub effect: Effect,
    /// Who calls.
    pub caller: Who,
    /// Who is called; a [`Who::User`] never is.
    pub target: Who,
    /// Which operations it is about.
    pub operations: Operations,
    /// Which skills it is about.
    pub skills: Skills,
    /// Why it is there, for people.
    pub note: String,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It allows what the hierarchy does not.
    Allow,
    /// It denies, whatever else allows it.
    Deny,
}

/// Whom a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// Everybody of the organisation, people and administrators included.
    Any,
    /// One agent.
    Agent(AgentId),
    /// An agent and all below it.
    Team(AgentId),
    /// A person.
    User(Arc<str>),
}

impl Rule {
    /// A rule about all operations and skills.
    pub fn new(
        id: impl Into<Arc<str>>,
        organisation: Organisation,
        effect: Effect,
        (caller, target): (Who, Who),
    ) -> Self {
        Self {
            id: id.into(),
            organisation,
            effect,
            caller,
            target,
            operations: Operations::ALL,
            skills: Skills::Any,
            note: String::new(),
        }
    }
}

impl FromJson for Rule {
    /// Reads a rule. A member that is not known is refused: a misspelt `skills` must not
    /// make a rule about everything.
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let (mut id, mut organisation, mut effect) = (None, None, None);
        let (mut caller, mut target) = (None, None);
        let (mut operations, mut skills, mut note) = (None, None, String::new());
        reader.members(|reader, key| {
            match &*key {
                "id" => id = Some(read_name(reader)?),
                "organisation" => organisation = Some(Organisation::read(reader)?),
                "effect" => effect = Some(Effect::read(reader)?),
                "caller" => caller = Some(Who::read(reader)?),
                "target" => target = Some(Who::read(reader)?),
                "operations" => operations = Some(Operations::read(reader)?),
                "skills" => skills = Some(Skills::read(reader)?),
                "note" => note = read_note(reader)?,
                _ => return Err(json::Error::shape("a rule has no such member")),
            }
            Ok(())
        })?;
        let missing = |key| move || json::Error::missing(key);
        let target = target.ok_or_else(missing("target"))?;
        if matches!(target, Who::User(_)) {
            return Err(json::Error::shape("expected an agent or a team").inside("target"));
        }
        Ok(Self {
            id: id.ok_or_else(missing("id"))?,
            organisation: organisation.ok_or_else(missing("organisation"))?,
            effect: effect.ok_or_else(missing("effect"))?,
            caller: caller.ok_or_else(missing("caller"))?,
            target,
            operations: operations.unwrap_or_default(),
            skills: skills.unwrap_or_default(),
            note,
        })
    }
}

impl ToJson for Rule {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            object.member("id", &*self.id);
            object.member("organisation", &self.organisation);
            object.member("effect", self.effect.name());
            object.member("caller", &self.caller);
            object.member("target", &self.target);
            if !self.operations.is_all() {
                object.member("operations", &self.operations);
            }
            if let Skills::Only(skills) = &self.skills {
                object.member("skills", &**skills);
            }
            object.text("note", &self.note);
        });
    }
}

impl Effect {
    /// Returns its name, `allow` or `deny`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

impl FromJson for Effect {
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        match &*reader.string()? {
            "allow" => Ok(Self::Allow),
            "deny" => Ok(Self::Deny),
            _ => Err(json::Error::shape("expected `allow` or `deny`")),
        }
    }
}

impl FromJson for Who {
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let wrong = || json::Error::shape("expected `any` or one of `agent`, `team`, `user`");
        if reader.peek()? == Kind::String {
            return if reader.string()? == "any" { Ok(Self::Any) } else { Err(wrong()) };
        }
        let mut who = None;
        reader.members(|reader, key| {
            let found = match &*key {
                "agent" => Self::Agent(AgentId::read(reader)?),
                "team" => Self::Team(AgentId::read(reader)?),
                "user" => Self::User(read_name(reader)?),
                _ => return Err(wrong()),
            };
            if who.replace(found).is_some() { Err(wrong()) } else { Ok(()) }
        })?;
        who.ok_or_else(wrong)
    }
}

impl ToJson for Who {
    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Any => writer.string("any"),
            Self::Agent(agent) => writer.object(|object| object.member("agent", agent)),
            Self::Team(agent) => writer.object(|object| object.member("team", agent)),
            Self::User(name) => writer.object(|object| object.member("user", &**name)),
        }
    }
}

fn read_name(reader: &mut Reader<'_>) -> Result<Arc<str>, json::Error> {
    let name = reader.string()?;
    if is_name(&name) {
        return Ok((*name).into());
    }
    Err(json::Error::shape("expected 1 to 256 bytes without control characters"))
}

fn read_note(reader: &mut Reader<'_>) -> Result<String, json::Error> {
    let note = reader.string()?;
    if note.len() <= MAX_NOTE_BYTES {
        return Ok(note.into_owned());
    }
    Err(json::Error::shape("expected at most 1024 bytes"))
}
