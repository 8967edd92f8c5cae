//! What happens in a directory (MD-50).

use std::fmt;

/// The name of an event.
///
/// Those that last are kept in the log for good. The others only say what can be read elsewhere
/// at any time, and are sent to whoever happens to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Name {
    /// An agent is known, and was never seen.
    Provisioning,
    /// An agent is well.
    Online,
    /// An agent was not heard of for too long.
    Offline,
    /// Much of what an agent does fails.
    Degraded,
    /// An agent could not be brought up.
    Failed,
    /// An agent rests until somebody wakes it.
    Paused,
    /// An agent rests until it is needed.
    Hibernated,
    /// An agent is gone for good.
    Removed,
    /// An agent has another place in the hierarchy.
    Moved,
    /// An agent has another address.
    AddressChanged,
    /// An agent was removed, and another stands in for it.
    Replaced,
    /// An agent can do other things.
    CardUpdated,
    /// An agent wants to be able to do other things, and somebody has to agree.
    CardHeld,
    /// Something else about an agent changed.
    Changed,
    /// Rules changed.
    RulesChanged,
    /// An agent has given work to another.
    DelegationSent,
    /// Work that an agent has given to another is done.
    DelegationComplete,
    /// Work that an agent has given to another is not done.
    DelegationFailed,
    /// An agent asks for leave to do something.
    ApprovalRequested,
    /// An agent below asks for leave to do something.
    ApprovalEscalated,
    /// An agent may do what it has asked for.
    ApprovalApproved,
    /// An agent may not do what it has asked for.
    ApprovalDenied,
    /// An agent works on something else. Does not last.
    TaskUpdated,
    /// An agent was asked, or has asked another. Does not last.
    ActivityLogged,
    /// An agent has answered a person. Does not last.
    A2aResponse,
    /// An agent has said how it is. Does not last.
    Heartbeat,
}

impl Name {
    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provisioning => "WORKSPACE_PROVISIONING",
            Self::Online => "WORKSPACE_ONLINE",
            Self::Offline => "WORKSPACE_OFFLINE",
            Self::Degraded => "WORKSPACE_DEGRADED",
            Self::Failed => "WORKSPACE_PROVISION_FAILED",
            Self::Paused => "WORKSPACE_PAUSED",
            Self::Hibernated => "WORKSPACE_HIBERNATED",
            Self::Removed => "WORKSPACE_REMOVED",
            Self::Moved => "WORKSPACE_MOVED",
            Self::AddressChanged => "AGENT_MOVED",
            Self::Replaced => "AGENT_REPLACED",
            Self::CardUpdated => "AGENT_CARD_UPDATED",
            Self::CardHeld => "AGENT_CARD_HELD",
            Self::Changed => "AGENT_CHANGED",
            Self::RulesChanged => "RULES_CHANGED",
            Self::DelegationSent => "DELEGATION_SENT",
            Self::DelegationComplete => "DELEGATION_COMPLETE",
            Self::DelegationFailed => "DELEGATION_FAILED",
            Self::ApprovalRequested => "APPROVAL_REQUESTED",
            Self::ApprovalEscalated => "APPROVAL_ESCALATED",
            Self::ApprovalApproved => "APPROVAL_APPROVED",
            Self::ApprovalDenied => "APPROVAL_DENIED",
            Self::TaskUpdated => "TASK_UPDATED",
            Self::ActivityLogged => "ACTIVITY_LOGGED",
            Self::A2aResponse => "A2A_RESPONSE",
            Self::Heartbeat => "WORKSPACE_HEARTBEAT",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
