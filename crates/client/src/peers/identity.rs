//! On whose behalf a call is made, as peers are told.

use http::{HeaderMap, HeaderName, HeaderValue};
use nuncio_protocol::{
    dialect::WireForm,
    operation::Request,
    service::{CallContext, Caller},
};

use super::Peer;

/// On whose behalf a call is made. Empty parts are not told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The tenant.
    pub tenant: String,
    /// The user.
    pub user: String,
    /// The session.
    pub session: String,
    /// The agent of ours that calls.
    pub agent: String,
}

impl Identity {
    /// Tells a peer, if its entry says so, by the headers that its dialect has for it: those
    /// of molecule and of the opportunity agents name the agent, all others are Harbor's.
    ///
    /// They are claims and prove nothing. A part that cannot stand in a header is left out.
    pub fn tell(&self, peer: &Peer, headers: &mut HeaderMap) {
        if peer.forwards_identity() {
            self.tell_in(peer.spoken_dialect(), headers);
        }
    }

    /// Returns on whose behalf a call is made.
    pub(crate) fn of(ctx: &CallContext, request: &Request, agent: &str) -> Self {
        let named = |name: &str| name.to_owned();
        let (user, calling) = match &ctx.caller {
            Caller::User(name) => (named(name), named(agent)),
            Caller::Agent(name) => (String::new(), named(name)),
            _ => (String::new(), named(agent)),
        };
        let session = match request {
            Request::SendMessage(send) | Request::SendStreamingMessage(send) => {
                send.message.context_id.as_ref().map_or("", |context| context.as_str())
            }
            _ => "",
        };
        Self {
            tenant: ctx.organisation.as_deref().map(named).unwrap_or_default(),
            user,
            session: named(session),
            agent: calling,
        }
    }

    pub(crate) fn tell_in(&self, dialect: Option<WireForm>, headers: &mut HeaderMap) {
        let mut put = |name: &'static str, value: &str| {
            if !value.is_empty()
                && let Ok(value) = HeaderValue::from_str(value)
            {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        match dialect {
            Some(WireForm::Molecule | WireForm::MoleculeHttp) => put("x-workspace-id", &self.agent),
            Some(WireForm::Opportunity) => put("a2a-source-agent", &self.agent),
            _ => {
                put("x-harbor-tenant", &self.tenant);
                put("x-harbor-user", &self.user);
                put("x-harbor-session", &self.session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(peer: &Peer, expected: &[(&str, &str)]) {
        let identity = Identity {
            tenant: "acme".to_owned(),
            user: "ann".to_owned(),
            session: "line\nbreak".to_owned(),
            agent: "planner".to_owned(),
        };
        let mut headers = HeaderMap::new();
        identity.tell(peer, &mut headers);
        let mut found: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn h_11_identity_is_told_only_where_the_entry_says_so() {
        let peer = || Peer::new("https://a.example", 3);
        check(&peer(), &[]);
        check(&peer().dialect(WireForm::Molecule), &[]);
        check(&peer().forward_identity(), &[("x-harbor-tenant", "acme"), ("x-harbor-user", "ann")]);
        let told = peer().forward_identity();
        check(&told.clone().dialect(WireForm::Molecule), &[("x-workspace-id", "planner")]);
        check(&told.dialect(WireForm::Opportunity), &[("a2a-source-agent", "planner")]);
    }
}
