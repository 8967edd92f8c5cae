//! Who may call whom: one decision for discovery, calls, events and tokens.
//!
//! [`Rules::decide`] answers a [`Question`] by asking, in this order:
//!
//! 1. Is the caller still somebody, and is the target an agent of the same organisation? If
//!    the target is not, the answer is [`Reason::NotFound`], whether it is unknown, removed or
//!    somebody else's: the asker cannot tell these apart.
//! 2. Does an agent call itself? It always may.
//! 3. Is the tree above both sound? A loop, a gap or more than [`MAX_DEPTH`] levels is a no.
//! 4. Does a rule deny it? No other rule and no kinship outweighs that.
//! 5. Does a rule allow it, or does the place in the hierarchy? People and administrators of
//!    the organisation need neither.
//! 6. Is the skill limited to other agents ([`SkillLimit`])? An allowing rule is an exception
//!    from the hierarchy and not from this.
//!
//! A limit to skills cannot be passed by naming none: who may use only some skills of an agent
//! has to say which one a message is for ([`Reason::SkillRequired`]).
//!
//! Nothing here waits or keeps state; where agents stand is asked of a [`Places`].
//!
//! ```
//! use nuncio_auth::rules::{Asker, Place, Places, Question, Rules, Settings};
//! use nuncio_protocol::ids::{AgentId, Organisation};
//!
//! struct Team { acme: Organisation, lead: AgentId, writer: AgentId }
//!
//! impl Places for Team {
//!     fn place(&self, agent: &AgentId) -> Option<Place<'_>> {
//!         let parent = (*agent == self.writer).then_some(&self.lead);
//!         let is_known = *agent == self.lead || parent.is_some();
//!         is_known.then_some(Place { organisation: &self.acme, parent, line: None, limits: &[] })
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let team = Team { acme: "acme".parse()?, lead: "lead".parse()?, writer: "writer".parse()? };
//! let rules = Rules::new(Settings::default(), []);
//! let asker = Asker::Agent { id: &team.lead, organisation: &team.acme };
//! let decision = rules.decide(&team, &Question::new(asker, &team.writer));
//! assert!(decision.is_allowed());
//! assert_eq!(decision.to_string(), "allowed: the caller is the parent of the target");
//! # Ok(())
//! # }
//! ```
//!
//! `docs/reference/rules.md` has every reason and the form of a rule.

mod decide;
mod decision;
mod grant;
mod index;
mod key;
mod places;
mod rule;

pub use decide::{Asker, Hierarchy, Question, Rules, Settings};
pub use decision::{Decision, Reason};
pub use grant::{Grant, Operations, Outside, Skills};
pub use key::{AgentKey, KeyMap};
pub use places::{MAX_DEPTH, MoveError, Place, Places, SkillLimit, Tree, check_move};
pub use rule::{Effect, Rule, Who};

#[cfg(test)]
mod tests;
