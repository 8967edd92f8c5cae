//! Whose task it is, and who may see it.

use std::{fmt, sync::Arc};

use nuncio_protocol::service::Caller;

/// The longest [`Name`], in bytes.
pub const MAX_NAME_BYTES: usize = 256;

/// A name that is never empty: of a tenant, an agent, a caller, an owner.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// A text that cannot be a [`Name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to {MAX_NAME_BYTES} bytes, this has {length}")]
pub struct InvalidName {
    /// How many bytes the text has.
    pub length: usize,
}

impl Name {
    /// Accepts any text of 1 to 256 bytes.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        if !(1..=MAX_NAME_BYTES).contains(&text.len()) {
            return Err(InvalidName { length: text.len() });
        }
        Ok(Self(text.into()))
    }

    /// Makes a name that nothing else has or had (UUID version 7).
    pub fn generate() -> Self {
        Self(uuid::Uuid::now_v7().to_string().into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a task belongs: whose it is, and which agent works on it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The organisation. Nothing crosses it.
    pub tenant: Name,
    /// The agent that works on it.
    pub agent: Name,
    /// Who asked for it.
    pub caller: Name,
}

/// The name under which a caller's tasks are kept.
///
/// Kinds of callers are told apart, so that an agent called `ann` never sees the tasks of a
/// person called `ann`. Callers nobody has proved share one name.
pub fn caller_name(caller: &Caller) -> Result<Name, InvalidName> {
    match caller {
        Caller::Agent(name) => Name::parse(&format!("agent:{name}")),
        Caller::User(name) => Name::parse(&format!("user:{name}")),
        _ => Name::parse("anonymous"),
    }
}

/// What a reader may see. There is no reading without one.
///
/// Invariant: a task outside the scope and a task that does not exist give the same answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Always one organisation.
    pub tenant: Name,
    /// One agent, or all.
    pub agent: Option<Name>,
    /// One caller, or all.
    pub caller: Option<Name>,
}

impl Scope {
    /// Sees everything of an organisation: for its administrators.
    pub fn tenant(tenant: Name) -> Self {
        Self { tenant, agent: None, caller: None }
    }

    /// Tells whether a task that belongs to `place` is seen.
    pub fn sees(&self, place: &Place) -> bool {
        let matches = |wanted: &Option<Name>, found: &Name| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        self.tenant == place.tenant
            && matches(&self.agent, &place.agent)
            && matches(&self.caller, &place.caller)
    }
}

impl From<&Place> for Scope {
    /// Sees what one caller has asked of one agent.
    fn from(place: &Place) -> Self {
        Self {
            tenant: place.tenant.clone(),
            agent: Some(place.agent.clone()),
            caller: Some(place.caller.clone()),
        }
    }
}
