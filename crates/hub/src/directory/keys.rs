//! Keys and tokens: whose they are, and until when.

use nuncio_auth::{ApiKey, KeyRecord};
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    service::Caller,
    time::Timestamp,
};

use super::{Actor, Change, Directory, edit::present};
use crate::{agent::Agent, error::Error, state::State};

/// How many tokens an agent may have (MD-27).
pub const MAX_TOKENS: usize = 50;

/// What a key for newcomers may do, and nothing else.
pub const ENROL: &str = "enrol";

/// What an administrator's key may do: everything.
pub const ADMIN: &str = "admin";

/// Whose the hub's own key is, which comes from its settings. No other key has this name.
pub const ADMINISTRATOR: &str = "administrator";

/// What a viewer's key may do: look.
pub const READ: &str = "read";

/// An enrolment key that is good for more than one newcomer.
const REUSABLE: &str = "reusable";

/// Begins the scope that says below whom a newcomer comes to stand.
const PARENT: &str = "parent:";

/// What an enrolment token is good for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enrolment {
    /// The id of its key; empty for one that is yet to be made.
    pub key: String,
    /// The one agent that may register with it, if it is for one.
    pub agent: Option<AgentId>,
    /// Below whom the newcomer comes to stand.
    pub parent: Option<AgentId>,
    /// Whether it is good for more than one.
    pub is_reusable: bool,
    /// When it ends.
    pub expires: Option<Timestamp>,
}

/// A key that was made, and is shown once.
#[derive(Debug)]
pub struct Issued {
    /// The key.
    pub key: ApiKey,
    /// What is kept of it.
    pub record: KeyRecord,
}

impl Enrolment {
    /// Reads what a key is good for, if it is for newcomers.
    pub fn of(record: &KeyRecord) -> Option<Self> {
        let scopes = record.scopes();
        if !scopes.iter().any(|scope| scope == ENROL) {
            return None;
        }
        let agent = match record.caller() {
            Caller::Agent(id) => AgentId::parse(id).ok(),
            _ => None,
        };
        let parent = scopes.iter().find_map(|scope| scope.strip_prefix(PARENT));
        Some(Self {
            key: record.id().to_owned(),
            agent,
            parent: parent.and_then(|parent| AgentId::parse(parent).ok()),
            is_reusable: scopes.iter().any(|scope| scope == REUSABLE),
            expires: record.expires(),
        })
    }

    fn make(&self, organisation: &Organisation) -> Issued {
        let mut scopes = vec![ENROL.to_owned()];
        scopes.extend(self.is_reusable.then(|| REUSABLE.to_owned()));
        scopes.extend(self.parent.as_ref().map(|parent| format!("{PARENT}{parent}")));
        let (key, record) = match &self.agent {
            Some(agent) => {
                let (key, record) = ApiKey::generate(agent.as_str());
                (key, record.for_agent())
            }
            None => ApiKey::generate("enrolment"),
        };
        let record = record.with_scopes(scopes).with_organisation(organisation.as_str());
        let record = match self.expires {
            Some(expires) => record.with_expiry(expires),
            None => record,
        };
        Issued { key, record }
    }
}

impl Directory {
    /// Makes a token for newcomers.
    pub async fn new_enrolment(
        &self,
        organisation: &Organisation,
        enrolment: &Enrolment,
        actor: &Actor,
    ) -> Result<Issued, Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            if let Some(parent) = &enrolment.parent {
                present(state, organisation, parent)?;
            }
            let issued = enrolment.make(organisation);
            change.key(&issued.record);
            change.note("enrolment.new", issued.key.id(), "");
            Ok((change, issued))
        })
        .await
    }

    /// Makes one more token for an agent.
    pub async fn new_token(
        &self,
        organisation: &Organisation,
        agent: &AgentId,
        actor: &Actor,
    ) -> Result<Issued, Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let agent = present(state, organisation, agent)?;
            if state.keys_of(&agent.id).len() >= MAX_TOKENS {
                return Err(Error::TooMany { what: "tokens", limit: MAX_TOKENS });
            }
            let issued = make(agent);
            change.key(&issued.record);
            change.note("token.new", agent.id.as_str(), issued.key.id());
            Ok((change, issued))
        })
        .await
    }

    /// Makes a key for a person or program.
    pub async fn new_key(
        &self,
        organisation: &Organisation,
        name: &str,
        scopes: &[String],
        expires: Option<Timestamp>,
        actor: &Actor,
    ) -> Result<Issued, Error> {
        if name.is_empty() || name.len() > 256 || name.chars().any(char::is_control) {
            return Err(Error::invalid("name", "is 1 to 256 bytes without control characters"));
        }
        if name == ADMINISTRATOR {
            let what = format!("`{ADMINISTRATOR}` has the key of the hub's settings; use another");
            return Err(Error::invalid("name", what));
        }
        if let Some(unknown) = scopes.iter().find(|scope| !matches!(scope.as_str(), ADMIN | READ)) {
            return Err(Error::invalid(
                "scopes",
                format!("are `{ADMIN}` and `{READ}`, not `{unknown}`"),
            ));
        }
        self.change(|_| {
            let mut change = Change::new(actor);
            let (key, record) = ApiKey::generate(name);
            let record =
                record.with_scopes(scopes.to_vec()).with_organisation(organisation.as_str());
            let record = match expires {
                Some(expires) => record.with_expiry(expires),
                None => record,
            };
            change.key(&record);
            change.note("key.new", key.id(), name);
            Ok((change, Issued { key, record }))
        })
        .await
    }

    /// Lets in a key that was made elsewhere, as an administrator's.
    pub async fn admit_administrator(
        &self,
        organisation: &Organisation,
        key: &ApiKey,
        name: &str,
    ) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(&Actor::configuration());
            admit(state, &mut change, (organisation, key, name));
            Ok((change, ()))
        })
        .await
    }

    /// Lets in a key that was made elsewhere, as the administrator's of this name, and revokes
    /// every other that was.
    pub async fn admit_only_administrator(
        &self,
        organisation: &Organisation,
        key: &ApiKey,
        name: &str,
    ) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(&Actor::configuration());
            admit(state, &mut change, (organisation, key, name));
            let others = state.keys().filter(|record| {
                record.id() != key.id()
                    && record.revoked().is_none()
                    && is_of(record, organisation)
                    && *record.caller() == Caller::User(name.into())
                    && **record.scopes() == [ADMIN]
            });
            for other in others {
                change.key(&KeyRecord::clone(other).into_revoked());
                change.note("key.revoke", other.id(), name);
            }
            Ok((change, ()))
        })
        .await
    }

    /// Revokes a key or token, at once and for good.
    pub async fn revoke(
        &self,
        organisation: &Organisation,
        key: &str,
        actor: &Actor,
    ) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let record = state.key(key).filter(|record| is_of(record, organisation));
            let record = record.ok_or(Error::Unknown { what: "key" })?;
            if record.revoked().is_none() {
                change.key(&KeyRecord::clone(record).into_revoked());
                change.note("key.revoke", key, "");
            }
            Ok((change, ()))
        })
        .await
    }
}

fn admit(
    state: &State,
    change: &mut Change,
    (organisation, key, name): (&Organisation, &ApiKey, &str),
) {
    let is_known = state.key(key.id()).is_some_and(|record| record.revoked().is_none());
    if !is_known {
        let record = key.record(name).with_scopes([ADMIN]);
        change.key(&record.with_organisation(organisation.as_str()));
        change.note("key.admit", key.id(), name);
    }
}

/// Tells whether a key belongs to an organisation.
pub(crate) fn is_of(record: &KeyRecord, organisation: &Organisation) -> bool {
    record.organisation().is_some_and(|found| **found == *organisation.as_str())
}

fn make(agent: &Agent) -> Issued {
    let (key, record) = ApiKey::generate(agent.id.as_str());
    let record = record.for_agent().with_organisation(agent.organisation.as_str());
    Issued { key, record }
}

/// Makes the first token of an agent.
pub(super) fn issue(change: &mut Change, agent: &Agent) -> ApiKey {
    let Issued { key, record } = make(agent);
    change.key(&record);
    key
}

/// Uses an enrolment token up, and gives the agent one of its own.
pub(super) fn enrol(
    state: &State,
    change: &mut Change,
    enrolment: &Enrolment,
    agent: &Agent,
) -> Result<ApiKey, Error> {
    let record = state.key(&enrolment.key).filter(|record| record.revoked().is_none());
    // Somebody else has used it since it was shown.
    let record = record.ok_or(Error::Forbidden("this enrolment token was used up"))?;
    if !enrolment.is_reusable {
        change.key(&KeyRecord::clone(record).into_revoked());
    }
    Ok(issue(change, agent))
}
