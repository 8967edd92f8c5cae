//! Headers in which callers say who they are. They prove nothing (C-20).

use http::{HeaderMap, StatusCode};
use nuncio_protocol::ids::AgentId;

use crate::http::{
    problem::Problem,
    who::{Role, Who},
};

/// Checks that a header names nobody but whoever sent it, if it is there (MG-01).
///
/// People and administrators are no agents, so they must not claim to be one. A newcomer may
/// name the agent it is about to become.
pub(super) fn check(headers: &HeaderMap, name: &str, who: &Who) -> Result<(), Problem> {
    match &who.role {
        Role::Agent(id) => names(headers, name, id),
        Role::Newcomer(enrolment) => match &enrolment.agent {
            Some(id) => names(headers, name, id),
            None => Ok(()),
        },
        _ if headers.contains_key(name) => Err(foreign(name)),
        _ => Ok(()),
    }
}

/// Checks that a header names this agent, if it is there.
pub(super) fn names(headers: &HeaderMap, name: &str, agent: &AgentId) -> Result<(), Problem> {
    let mut values = headers.get_all(name).iter();
    if values.all(|value| value.to_str().is_ok_and(|claimed| is_same(agent, claimed))) {
        Ok(())
    } else {
        Err(foreign(name))
    }
}

/// UUIDs are the same in either case.
fn is_same(agent: &AgentId, claimed: &str) -> bool {
    let agent = agent.as_str();
    agent == claimed || (is_uuid(agent) && agent.eq_ignore_ascii_case(claimed))
}

/// Tells whether a text is a UUID with hyphens.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn foreign(name: &str) -> Problem {
    let detail = format!("`{name}` names somebody else than the credential does");
    Problem::new(StatusCode::FORBIDDEN, "FOREIGN_IDENTITY", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_hyphens_and_sixteen_bytes() {
        let check = |text, expected| assert_eq!(is_uuid(text), expected, "{text}");
        check("550e8400-e29b-41d4-a716-446655440000", true);
        check("550E8400-E29B-41D4-A716-446655440000", true);
        check("550e8400e29b41d4a716446655440000", false);
        check("550e8400-e29b-41d4-a716-44665544000g", false);
        check("550e8400-e29b-41d4-a716-4466554400000", false);
        check("550e8400+e29b-41d4-a716-446655440000", false);
        check("developer-pm-id", false);
        check("", false);
    }
}
