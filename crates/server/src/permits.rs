//! What a caller's credential permits: the operations and skills of a pair token.

use nuncio_auth::{Identity, rules::Skills};
use nuncio_protocol::{
    error::{Error, ErrorKind},
    json::{Object, Raw},
    operation::Request,
};

use crate::dialects::{SKILL_ID, tell};

/// Refuses what the caller's credential does not permit.
///
/// The agent sees the message and not the rest of a request. A skill that only the request
/// names is therefore told to the message, so that what was judged is what the agent reads.
pub(crate) fn check(identity: &Identity, request: &mut Request) -> Result<(), Error> {
    let grant = &identity.grant;
    let judge = |request: &Request, skill: Option<&str>| {
        let judged = grant.check(request.operation(), skill);
        judged.map_err(|outside| Error::new(ErrorKind::PermissionDenied, outside.to_string()))
    };
    if grant.skills == Skills::Any {
        return judge(request, None);
    }
    let (of_message, of_request) = match &*request {
        Request::SendMessage(send) | Request::SendStreamingMessage(send) => {
            (skill(send.message.metadata.as_ref())?, skill(send.metadata.as_ref())?)
        }
        _ => (None, None),
    };
    judge(request, of_message.as_deref().or(of_request.as_deref()))?;
    match (of_message, of_request) {
        (Some(_), Some(other)) => judge(request, Some(&other)),
        (None, Some(skill)) => {
            tell(request, SKILL_ID, Raw::string(&skill));
            Ok(())
        }
        (_, None) => Ok(()),
    }
}

fn skill(metadata: Option<&Object>) -> Result<Option<String>, Error> {
    let Some(value) = metadata.and_then(|metadata| metadata.get(SKILL_ID)) else {
        return Ok(None);
    };
    value.as_text().map(Some).ok_or_else(|| {
        let text = "must be the id of a skill";
        Error::new(ErrorKind::InvalidParams, format!("metadata.{SKILL_ID} {text}"))
            .with_violation(format!("metadata.{SKILL_ID}"), text)
    })
}
