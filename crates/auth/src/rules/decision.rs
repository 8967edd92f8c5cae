//! An answer, and why it is so.

use std::{fmt, sync::Arc};

use nuncio_protocol::json::{ToJson, Writer};

/// Whether somebody may call an agent, and why.
///
/// `Display` gives one sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Decision {
    reason: Reason,
    rule: Option<Arc<str>>,
}

/// Why a call is allowed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// Allowed: an agent calls itself.
    Itself,
    /// Allowed: a rule says so.
    RuleAllows,
    /// Allowed: the caller is the target's parent.
    Parent,
    /// Allowed: the target is the caller's parent.
    Child,
    /// Allowed: both have the same parent.
    Sibling,
    /// Allowed: neither has a parent, and such agents count as siblings here.
    RootSibling,
    /// Allowed: the caller is above the target.
    Ancestor,
    /// Allowed: the target is above the caller.
    Descendant,
    /// Allowed: a person of the organisation calls.
    Member,
    /// Allowed: an administrator of the organisation calls.
    Administrator,
    /// Denied: there is no such agent, or not for the asker.
    NotFound,
    /// Denied: the caller is not, or no longer, an agent of its organisation.
    UnknownCaller,
    /// Denied: the hierarchy above the caller or the target is not sound.
    BrokenTree,
    /// Denied: a rule says so.
    RuleDenies,
    /// Denied: the hierarchy does not connect the two, and no rule allows it.
    Unrelated,
    /// Denied: a rule allows the caller something at the target, but not this.
    OutsideRule,
    /// Denied: the skill is limited to other agents.
    SkillLimited,
    /// Denied: some skills are not for this caller, and the message does not say which one it
    /// is for.
    SkillRequired,
}

impl Decision {
    pub(super) fn new(reason: Reason) -> Self {
        Self { reason, rule: None }
    }

    pub(super) fn by_rule(reason: Reason, rule: &Arc<str>) -> Self {
        Self { reason, rule: Some(Arc::clone(rule)) }
    }

    /// Tells whether the call is allowed.
    pub fn is_allowed(&self) -> bool {
        self.reason.allows()
    }

    /// Returns why.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Returns the id of the rule that made the difference, if one did.
    pub fn rule(&self) -> Option<&str> {
        self.rule.as_deref()
    }
}

impl Reason {
    /// Every one of them.
    pub const ALL: &[Self] = &[
        Self::Itself,
        Self::RuleAllows,
        Self::Parent,
        Self::Child,
        Self::Sibling,
        Self::RootSibling,
        Self::Ancestor,
        Self::Descendant,
        Self::Member,
        Self::Administrator,
        Self::NotFound,
        Self::UnknownCaller,
        Self::BrokenTree,
        Self::RuleDenies,
        Self::Unrelated,
        Self::OutsideRule,
        Self::SkillLimited,
        Self::SkillRequired,
    ];

    /// Tells whether it is a reason to allow a call.
    pub const fn allows(self) -> bool {
        match self {
            Self::Itself
            | Self::RuleAllows
            | Self::Parent
            | Self::Child
            | Self::Sibling
            | Self::RootSibling
            | Self::Ancestor
            | Self::Descendant
            | Self::Member
            | Self::Administrator => true,
            Self::NotFound
            | Self::UnknownCaller
            | Self::BrokenTree
            | Self::RuleDenies
            | Self::Unrelated
            | Self::OutsideRule
            | Self::SkillLimited
            | Self::SkillRequired => false,
        }
    }

    /// Returns the name by which programs know it. It does not change.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Itself => "SELF",
            Self::RuleAllows => "RULE_ALLOWS",
            Self::Parent => "PARENT",
            Self::Child => "CHILD",
            Self::Sibling => "SIBLING",
            Self::RootSibling => "ROOT_SIBLING",
            Self::Ancestor => "ANCESTOR",
            Self::Descendant => "DESCENDANT",
            Self::Member => "MEMBER",
            Self::Administrator => "ADMINISTRATOR",
            Self::NotFound => "NOT_FOUND",
            Self::UnknownCaller => "UNKNOWN_CALLER",
            Self::BrokenTree => "BROKEN_TREE",
            Self::RuleDenies => "RULE_DENIES",
            Self::Unrelated => "UNRELATED",
            Self::OutsideRule => "OUTSIDE_RULE",
            Self::SkillLimited => "SKILL_LIMITED",
            Self::SkillRequired => "SKILL_REQUIRED",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Itself => "an agent may call itself",
            Self::RuleAllows => "a rule allows it",
            Self::Parent => "the caller is the parent of the target",
            Self::Child => "the caller is a child of the target",
            Self::Sibling => "the caller and the target have the same parent",
            Self::RootSibling => "the caller and the target both have no parent",
            Self::Ancestor => "the caller is above the target",
            Self::Descendant => "the caller is below the target",
            Self::Member => "the caller is a person of the organisation",
            Self::Administrator => "the caller is an administrator of the organisation",
            Self::NotFound => "there is no such agent",
            Self::UnknownCaller => "the caller is not an agent of this organisation",
            Self::BrokenTree => "the hierarchy above the caller or the target is broken",
            Self::RuleDenies => "a rule denies it",
            Self::Unrelated => "the hierarchy does not connect them and no rule allows it",
            Self::OutsideRule => "a rule allows the caller something else at the target",
            Self::SkillLimited => "the skill is limited to other agents",
            Self::SkillRequired => {
                "some skills are not for this caller, and the message names none"
            }
        })
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = if self.is_allowed() { "allowed" } else { "denied" };
        write!(f, "{answer}: {}", self.reason)?;
        match &self.rule {
            Some(rule) => write!(f, " (rule `{rule}`)"),
            None => Ok(()),
        }
    }
}

impl ToJson for Decision {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            object.member("allowed", &self.is_allowed());
            object.member("code", self.reason.code());
            object.member("reason", &*self.reason.to_string());
            if let Some(rule) = &self.rule {
                object.member("rule", &**rule);
            }
        });
    }
}
