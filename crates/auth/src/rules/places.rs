//! Where agents stand in their organisation.

use std::{borrow::Cow, collections::HashSet};

use nuncio_protocol::ids::{AgentId, Organisation};

use super::key::AgentKey;

/// How many levels a hierarchy may have; an agent without a parent is the first.
pub const MAX_DEPTH: usize = 32;

/// Knows where agents stand; a directory does.
pub trait Places {
    /// Returns where an agent stands; `None` if it is unknown or removed.
    fn place(&self, agent: &AgentId) -> Option<Place<'_>>;
}

/// Knows also who is below an agent, which takes to move one.
pub trait Tree: Places {
    /// Returns the agents whose parent this one is.
    fn children(&self, agent: &AgentId) -> impl Iterator<Item = &AgentId>;
}

/// Where an agent stands.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Whose agent it is.
    pub organisation: &'a Organisation,
    /// The agent above it.
    pub parent: Option<&'a AgentId>,
    /// The agent and all above it, itself first, if the directory has them at hand and the tree
    /// above is sound. Without, they are looked up one by one.
    pub line: Option<&'a [AgentKey]>,
    /// Its skills that not every agent may use.
    pub limits: &'a [SkillLimit],
}

/// A skill that only some agents may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillLimit {
    skill: String,
    agents: HashSet<AgentId>,
}

/// Why an agent cannot be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// There is no such agent.
    #[error("there is no such agent")]
    UnknownAgent,
    /// There is no such parent, or it is another organisation's.
    #[error("there is no such parent")]
    UnknownParent,
    /// It would stand below itself.
    #[error("an agent cannot be its own parent")]
    Itself,
    /// It would stand below one of those that stand below it.
    #[error("the new parent is below the agent")]
    Cycle,
    /// The hierarchy would become too deep.
    #[error("the hierarchy would have more than {MAX_DEPTH} levels")]
    TooDeep,
    /// The hierarchy above the new parent is not sound.
    #[error("the hierarchy above the new parent is broken")]
    Broken,
}

impl SkillLimit {
    /// Limits a skill to some agents.
    pub fn new(skill: impl Into<String>, agents: impl IntoIterator<Item = AgentId>) -> Self {
        Self { skill: skill.into(), agents: agents.into_iter().collect() }
    }

    /// Returns the skill's id.
    pub fn skill(&self) -> &str {
        &self.skill
    }

    /// Tells whether an agent may use the skill.
    pub fn allows(&self, agent: &AgentId) -> bool {
        self.agents.contains(agent)
    }
}

/// Checks that an agent may be put below another, or at the top, with all that is below it.
///
/// Serves for a new agent too, once it has a place at the top. Who checks and then moves must
/// keep others from moving in between.
pub fn check_move(
    tree: &impl Tree,
    agent: &AgentId,
    new_parent: Option<&AgentId>,
) -> Result<(), MoveError> {
    let place = tree.place(agent).ok_or(MoveError::UnknownAgent)?;
    let Some(parent) = new_parent else { return Ok(()) };
    if parent == agent {
        return Err(MoveError::Itself);
    }
    let above = tree.place(parent).filter(|above| above.organisation == place.organisation);
    let above = above.ok_or(MoveError::UnknownParent)?;
    let line = Line::from(tree, parent, above).ok_or(MoveError::Broken)?;
    if line.contains(&AgentKey::new(agent)) {
        return Err(MoveError::Cycle);
    }
    if line.depth() + height(tree, agent) > MAX_DEPTH {
        return Err(MoveError::TooDeep);
    }
    Ok(())
}

/// Returns how many levels an agent and all below it have, or one more than there may be.
fn height(tree: &impl Tree, agent: &AgentId) -> usize {
    let mut level = vec![agent];
    for height in 0..=MAX_DEPTH {
        if level.is_empty() {
            return height;
        }
        level = level.into_iter().flat_map(|agent| tree.children(agent)).collect();
    }
    MAX_DEPTH + 1
}

/// An agent and all above it, the agent first.
pub(super) struct Line<'a>(Cow<'a, [AgentKey]>);

impl<'a> Line<'a> {
    /// Follows the parents up to the top; `None` if there is a loop or a gap, or if it is too
    /// far.
    pub(super) fn from(places: &impl Places, agent: &AgentId, place: Place<'a>) -> Option<Self> {
        if let Some(line) = place.line {
            return (1..=MAX_DEPTH).contains(&line.len()).then_some(Self(Cow::Borrowed(line)));
        }
        let mut line = vec![AgentKey::new(agent)];
        let mut next = place.parent.cloned();
        // A loop is longer than any line may be.
        while let Some(parent) = next {
            if line.len() == MAX_DEPTH {
                return None;
            }
            line.push(AgentKey::new(&parent));
            let above = places.place(&parent)?;
            if above.organisation != place.organisation {
                return None;
            }
            next = above.parent.cloned();
        }
        Some(Self(Cow::Owned(line)))
    }

    pub(super) fn depth(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &AgentKey> {
        self.0.iter()
    }

    pub(super) fn contains(&self, agent: &AgentKey) -> bool {
        self.0.contains(agent)
    }

    pub(super) fn agent(&self) -> Option<&AgentKey> {
        self.0.first()
    }

    pub(super) fn parent(&self) -> Option<&AgentKey> {
        self.0.get(1)
    }
}
