//! What agents ask leave for before they do it (MD-56).
//!
//! One that nobody has decided is a note in the database, written with the event that it was
//! asked for and taken away with the event that it was decided. So it is decided once, whichever
//! hub hears it, and what comes after is in the log.

use nuncio_protocol::{
    ids::{AgentId, MessageId},
    json::Raw,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{Actor, Change, Directory};
use crate::{error::Error, event, state::State, store::Kind};

/// Before the id of an approval that nobody has decided.
const PENDING: &str = "approval/";

/// How many may wait of one agent.
const MOST: usize = 50;

/// Who decides where nobody does.
const NOBODY: &str = "auto-expired";

/// Something that an agent asks leave for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Approval {
    pub(crate) id: String,
    /// Who asks.
    pub(crate) workspace: AgentId,
    /// What it wants to do.
    pub(crate) action: String,
    pub(crate) reason: String,
    /// The task that it works on, as it says.
    pub(crate) task_id: String,
    pub(crate) created: Timestamp,
}

/// What becomes of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Approved,
    Denied,
}

impl Decision {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
        }
    }

    const fn event(self) -> event::Name {
        match self {
            Self::Approved => event::Name::ApprovalApproved,
            Self::Denied => event::Name::ApprovalDenied,
        }
    }
}

impl Approval {
    /// Begins one that is asked for now.
    pub(crate) fn new(workspace: AgentId, action: String, reason: String, task_id: String) -> Self {
        let id = MessageId::generate().to_string();
        Self { id, workspace, action, reason, task_id, created: Timestamp::now() }
    }

    fn note(&self) -> String {
        format!("{PENDING}{}", self.id)
    }
}

impl Directory {
    /// Keeps that an agent asks for leave, and tells the one above it.
    pub(crate) async fn ask_approval(
        &self,
        approval: &Approval,
        actor: &Actor,
    ) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let agent = state.agent(&approval.workspace).ok_or(Error::no_agent())?;
            let own = |other: &Approval| other.workspace == agent.id;
            if pending(state).filter(own).count() >= MOST {
                return Err(Error::TooMany { what: "approvals that wait", limit: MOST });
            }
            let id = ("approval_id", Raw::string(&approval.id));
            let action = ("action", Raw::string(&approval.action));
            let reason = ("reason", Raw::string(&approval.reason));
            let task = ("task_id", Raw::string(&approval.task_id));
            let asked = [id.clone(), action.clone(), reason.clone(), task];
            change.event(event::Name::ApprovalRequested, agent, &asked);
            if let Some(above) = agent.parent.as_ref().and_then(|parent| state.agent(parent)) {
                let from = ("from_workspace_id", Raw::string(agent.id.as_str()));
                let payload = [id, from, action, reason];
                change.event(event::Name::ApprovalEscalated, above, &payload);
            }
            let body = serde_json::to_string(approval).unwrap_or_default();
            change.put(Kind::Note, &approval.note(), Some(body));
            Ok((change, ()))
        })
        .await
    }

    /// Returns what nobody has decided, the oldest first.
    pub(crate) fn approvals(&self) -> Vec<Approval> {
        pending(&self.state()).collect()
    }

    /// Keeps what was decided. Returns whether it was: whoever comes second has decided nothing.
    pub(crate) async fn decide_approval(
        &self,
        approval: &Approval,
        decision: Decision,
        actor: &Actor,
    ) -> Result<bool, Error> {
        self.close_approval(approval, (decision, actor.as_str()), actor).await
    }

    /// Denies what nobody has decided for as long as it may wait.
    pub(crate) async fn deny_overdue(&self) -> Result<(), Error> {
        let now = Timestamp::now().as_millis();
        let wait = i64::try_from(self.options().approval_wait.as_millis()).unwrap_or(i64::MAX);
        for approval in self.approvals() {
            if now.saturating_sub(approval.created.as_millis()) >= wait {
                let decision = (Decision::Denied, NOBODY);
                self.close_approval(&approval, decision, &Actor::hub()).await?;
            }
        }
        Ok(())
    }

    async fn close_approval(
        &self,
        approval: &Approval,
        (decision, by): (Decision, &str),
        actor: &Actor,
    ) -> Result<bool, Error> {
        let note = approval.note();
        let payload = [
            ("approval_id", Raw::string(&approval.id)),
            ("decision", Raw::string(decision.as_str())),
            ("decided_by", Raw::string(by)),
        ];
        self.change(|state| {
            let mut change = Change::new(actor);
            if state.note(&note).is_none() {
                return Ok((change, false));
            }
            change.put(Kind::Note, &note, None);
            if let Some(agent) = state.agent(&approval.workspace) {
                change.event(decision.event(), agent, &payload);
                let action = format!("approval.{}", decision.as_str());
                change.note(&action, agent.id.as_str(), &approval.action);
            }
            Ok((change, true))
        })
        .await
    }
}

/// Ids begin with the moment, so their order is that in which they were asked for.
fn pending(state: &State) -> impl Iterator<Item = Approval> {
    // What another version has written and this one cannot read is not for this one.
    state.notes(PENDING).filter_map(|(_, note)| serde_json::from_str(note).ok())
}
