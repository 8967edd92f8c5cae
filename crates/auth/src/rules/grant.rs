//! What somebody may do at an agent: operations and skills.

use std::{fmt, sync::Arc};

use nuncio_protocol::{
    json::{self, FromJson, Reader, ToJson, Writer},
    operation::Operation,
};

const MAX_SKILLS: usize = 100;
const MAX_SKILL_BYTES: usize = 256;

/// A set of operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operations(u16);

/// A set of skills.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Skills {
    /// All of them, known or not, and messages that name none.
    #[default]
    Any,
    /// These, by their ids.
    Only(Arc<[String]>),
}

/// What somebody may do at an agent.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Grant {
    /// Which operations.
    pub operations: Operations,
    /// For which skills messages may be sent.
    pub skills: Skills,
}

/// Why something is not part of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Outside {
    /// The operation is not.
    #[error("the operation `{}` is not permitted to this caller", .0.name())]
    Operation(Operation),
    /// The skill is not.
    #[error("the skill is not permitted to this caller")]
    Skill,
    /// Some skills are not, and the message does not say which one it is for.
    #[error("only some skills are permitted to this caller; name one in `metadata.skillId`")]
    NoSkill,
}

impl Operations {
    /// All operations.
    pub const ALL: Self = Self((1 << Operation::ALL.len()) - 1);
    /// None of them.
    pub const NONE: Self = Self(0);

    /// Tells whether an operation is among them.
    pub const fn contains(self, operation: Operation) -> bool {
        self.0 & Self::bit(operation) != 0
    }

    /// Returns them with one more.
    #[must_use]
    pub const fn with(self, operation: Operation) -> Self {
        Self(self.0 | Self::bit(operation))
    }

    /// Returns those that are in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Tells whether these are all there are.
    pub const fn is_all(self) -> bool {
        self.0 == Self::ALL.0
    }

    /// Tells whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns each, in the order of the specification.
    pub fn iter(self) -> impl Iterator<Item = Operation> {
        Operation::ALL.iter().copied().filter(move |operation| self.contains(*operation))
    }

    const fn bit(operation: Operation) -> u16 {
        1 << operation as u16
    }
}

impl Default for Operations {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Operation> for Operations {
    fn from_iter<I: IntoIterator<Item = Operation>>(operations: I) -> Self {
        operations.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl FromJson for Operations {
    /// Reads a list of names. An empty one is refused: it could be meant to say all or none.
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let mut found = Self::NONE;
        let mut is_twice = false;
        reader.items(|reader| {
            let name = reader.string()?;
            let operation = Operation::from_name(&name)
                .ok_or_else(|| json::Error::shape("expected the name of an operation"))?;
            is_twice |= found.contains(operation);
            found = found.with(operation);
            Ok(())
        })?;
        if found.is_empty() || is_twice {
            return Err(json::Error::shape("expected at least one operation, and none twice"));
        }
        Ok(found)
    }
}

impl ToJson for Operations {
    fn write(&self, writer: &mut Writer) {
        writer.array(self.iter(), |writer, operation| writer.string(operation.name()));
    }
}

impl Skills {
    /// Tells whether a skill is among them; `None` is a message that names no skill.
    pub fn contains(&self, skill: Option<&str>) -> bool {
        match (self, skill) {
            (Self::Any, _) => true,
            (Self::Only(_), None) => false,
            (Self::Only(skills), Some(skill)) => skills.iter().any(|one| one == skill),
        }
    }

    /// Reads a list of skills; an empty one is refused, as it could be meant to say all.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let skills = Vec::<String>::read(reader)?;
        let is_skill = |skill: &String| (1..=MAX_SKILL_BYTES).contains(&skill.len());
        if skills.is_empty() || skills.len() > MAX_SKILLS || !skills.iter().all(is_skill) {
            return Err(json::Error::shape("expected 1 to 100 skills of 1 to 256 bytes"));
        }
        Ok(Self::Only(skills.into()))
    }
}

impl<T: Into<String>> FromIterator<T> for Skills {
    fn from_iter<I: IntoIterator<Item = T>>(skills: I) -> Self {
        Self::Only(skills.into_iter().map(Into::into).collect())
    }
}

impl Grant {
    /// Everything.
    pub const ALL: Self = Self { operations: Operations::ALL, skills: Skills::Any };

    /// Checks that an operation is part of it, for a message also the skill that it names.
    pub fn check(&self, operation: Operation, skill: Option<&str>) -> Result<(), Outside> {
        if !self.operations.contains(operation) {
            return Err(Outside::Operation(operation));
        }
        if !names_skill(operation) || self.skills.contains(skill) {
            return Ok(());
        }
        Err(if skill.is_some() { Outside::Skill } else { Outside::NoSkill })
    }
}

/// Tells whether requests of an operation are for a skill. The others are about tasks that
/// are there already.
pub(super) const fn names_skill(operation: Operation) -> bool {
    matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage)
}
