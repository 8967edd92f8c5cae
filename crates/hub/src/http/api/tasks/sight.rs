//! Whose tasks somebody sees, and which of them they may steer.
//!
//! Administrators and viewers see those of their organisation; everybody else those that they
//! have asked for, and an agent those that it works on. A task that somebody may not see is no
//! other than one that is not there.

use nuncio_auth::rules::Question;
use nuncio_protocol::{
    error::ErrorKind,
    ids::{AgentId, TaskId},
    operation::Operation,
};
use nuncio_tasks::{
    scope::{Name, Place, Scope, caller_name},
    store::Head,
};

use crate::{
    Gateway,
    error::Error,
    gateway::runs,
    http::{
        problem::Problem,
        who::{Role, Who},
    },
    hub::Hub,
};

/// Returns the gateway, whose tasks they are.
pub(crate) fn gateway(hub: &Hub) -> Result<&Gateway, Problem> {
    hub.gateway.as_ref().ok_or_else(Problem::not_found)
}

/// Returns whose tasks somebody sees, as far as a scope can say it; see [`sees`].
pub(crate) fn scopes(who: &Who) -> Result<Vec<Scope>, Problem> {
    who.somebody()?;
    let all = Scope::tenant(name(who.organisation.as_str())?);
    let asked = || Ok::<_, Problem>(Scope { caller: Some(caller(who)?), ..all.clone() });
    Ok(match &who.role {
        Role::Administrator | Role::Viewer => vec![all],
        Role::Agent(id) => {
            vec![Scope { agent: Some(name(id.as_str())?), ..all.clone() }, asked()?]
        }
        Role::Person | Role::Newcomer(_) => vec![asked()?],
    })
}

/// Returns what of a scope somebody asked for themselves.
pub(crate) fn asked(who: &Who) -> Result<Vec<Scope>, Problem> {
    let mut scopes = scopes(who)?;
    if let Role::Agent(_) = who.role {
        scopes.retain(|scope| scope.caller.is_some());
    }
    Ok(scopes)
}

/// Returns the part of a scope with this agent and this caller, if there can be one.
pub(crate) fn narrowed(scope: Scope, agent: Option<&Name>, caller: Option<&Name>) -> Option<Scope> {
    let both = |one: Option<Name>, other: Option<&Name>| match (one, other) {
        (Some(one), Some(other)) if one != *other => None,
        (one, other) => Some(one.or_else(|| other.cloned())),
    };
    Some(Scope {
        agent: both(scope.agent, agent)?,
        caller: both(scope.caller, caller)?,
        tenant: scope.tenant,
    })
}

/// Tells whether somebody may see a task in one of their [`scopes`]: nobody sees what an agent
/// does whom they may not call any more.
pub(crate) fn sees(hub: &Hub, who: &Who, place: &Place) -> bool {
    let agent = match runs::node_of(place.agent.as_str()) {
        Some((workflow, _)) => Some(workflow),
        None => AgentId::parse(place.agent.as_str()).ok(),
    };
    match (&who.role, agent) {
        (Role::Administrator | Role::Viewer, _) => true,
        (Role::Agent(id), Some(agent)) if *id == agent => true,
        (_, Some(agent)) => who.sees(hub, Some(&agent)),
        (_, None) => false,
    }
}

/// Tells whether somebody may see a task.
pub(crate) fn shows(hub: &Hub, who: &Who, place: &Place) -> bool {
    let scopes = scopes(who).unwrap_or_default();
    scopes.iter().any(|scope| scope.sees(place)) && sees(hub, who, place)
}

/// Finds a task that somebody may see.
pub(crate) async fn find(hub: &Hub, who: &Who, id: &str) -> Result<Head, Problem> {
    let tasks = gateway(hub)?.tasks();
    let unknown = || Problem::from(Error::Unknown { what: "task" });
    let id = TaskId::parse(id).map_err(|_| unknown())?;
    for scope in scopes(who)? {
        match tasks.find(&scope, &id).await {
            Ok(head) if sees(hub, who, &head.place) => return Ok(head),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::TaskNotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(unknown())
}

/// Insists on an administrator, or on whoever asked for the task and may do this at its agent.
pub(crate) fn may(
    hub: &Hub,
    who: &Who,
    place: &Place,
    operation: Operation,
) -> Result<(), Problem> {
    if who.role == Role::Administrator {
        return Ok(());
    }
    if who.role == Role::Viewer || caller(who)? != place.caller {
        let text = "only an administrator and whoever asked for the task may do this";
        return Err(Problem::forbidden(text));
    }
    who.identity.grant.check(operation, None).map_err(|outside| {
        Problem::new(http::StatusCode::FORBIDDEN, "FORBIDDEN", outside.to_string())
    })?;
    let agent = AgentId::parse(place.agent.as_str()).map_err(|_| Error::no_agent())?;
    let operation = Some(operation);
    let question = Question { operation, ..Question::new(who.asker(), &agent) };
    let decision = hub.directory.decide(&question);
    if decision.is_allowed() {
        return Ok(());
    }
    Err(Error::Denied { decision: Box::new(decision) }.into())
}

/// Returns the name under which somebody's tasks are kept.
pub(crate) fn caller(who: &Who) -> Result<Name, Problem> {
    caller_name(&who.identity.caller)
        .map_err(|error| Problem::invalid("credential", error.to_string()))
}

pub(crate) fn name(text: &str) -> Result<Name, Problem> {
    Name::parse(text).map_err(|error| Problem::invalid("", error.to_string()))
}
