//! `POST /workspaces/{id}/a2a`: a message to an agent, for those who cannot reach it (M-31 to
//! M-38, MD-30 to MD-39).

use axum::{
    body::Body,
    extract::{Path, Request, State},
    response::Response,
};
use bytes::Bytes;
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
    request::Parts,
};
use nuncio_auth::rules::Question;
use nuncio_net::listen::body::Guarded;
use nuncio_protocol::{
    dialect::{WireForm, molecule::Molecule},
    error::Error as A2aError,
    ids::TaskId,
    json::{self, Kind, Reader, read_with, write_with},
    jsonrpc::Refusal,
    operation::{GetTaskRequest, Operation, Request as A2aRequest, Response as A2aResponse},
    service::{Answered, read},
    task::{SendMessageResponse, Task},
    wire::{Call, Echo, JsonRpcForm as _},
};
use nuncio_tasks::scope::{Name, Scope};
use tokio::sync::oneshot;
use tracing::Instrument as _;

use super::{
    asked::{Caller, find},
    outcome::{Outcome, is_rejected},
    refused::Refused,
    told::Telling,
};
use crate::{
    agent::{Agent, Status},
    error::Error,
    gateway::queue::{self, QUEUE},
    http::{
        calls::Callee,
        problem::Problem,
        who::{Role, Who},
    },
    hub::Hub,
};

/// The largest body, and the largest answer, in bytes (MD-30, M-36).
const MAX_BODY: u64 = 1 << 20;
const MAX_ANSWER: usize = 10 << 20;

/// The header by which a caller names what it sends.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The member of a request's metadata in which an agent says who it is (MD-39).
const SOURCE: &str = "source_workspace_id";

pub(super) const FORM: Molecule = Molecule { flat: false };

pub(super) async fn proxy(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    who.somebody()?;
    let agent = find(&hub, &who, &id)?;
    let decision = hub.directory.decide(&Question::new(who.asker(), &agent.id));
    if !decision.is_allowed() {
        return Err(Error::Denied { decision: Box::new(decision) }.into());
    }
    let (head, body) = request.into_parts();
    let body = read_body(&hub, &head, body).await?;
    let call = match json::text(&body)
        .map_err(Into::into)
        .and_then(|text| FORM.read_call(text).map_err(|Refusal { error, .. }| error))
    {
        Ok(call) => call,
        Err(error) => return Ok(Outcome::unread(&error).into_response()),
    };
    if agent.status == Status::Paused {
        return Ok(Outcome::paused().into_response());
    }
    check_claims(&who, &call.request)?;
    let key = head.headers.get(IDEMPOTENCY_KEY).and_then(|key| key.to_str().ok());
    let name = key.map(str::to_owned).or_else(|| sent_message_id(&body));
    let callee = Callee::new(&hub, &who, &agent, head)?;
    if call.echo.operation.is_streaming() {
        return Ok(callee.answer_molecule(&hub, &agent, body).await?);
    }
    let (respond, response) = oneshot::channel();
    let telling = Telling::of(&hub, &who, &agent, &call.request, name.clone());
    let carrier = hub.clone();
    let carrying = async move {
        let Call { echo, request, .. } = call;
        let answer = ask(&callee, request, name).await;
        // Nobody may wait for it any more.
        let _ = respond.send(respond_with(&hub, &agent, &echo, &answer));
        if let Some(telling) = telling {
            telling.tell(&hub, &echo, answer).await;
        }
    };
    // It goes on if the caller goes away (MD-31): others listen for what comes of it.
    carrier.tellers.carry(carrying.in_current_span());
    let lost = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", "the call was lost");
    Ok(response.await.map_err(lost)?)
}

/// A task of the caller's, whichever agent works on it (M-27).
pub(super) async fn task(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    who.somebody()?;
    let gateway = hub.gateway.as_ref().ok_or_else(Problem::not_found)?;
    let unknown = || Error::Unknown { what: "task" };
    let id = TaskId::parse(&id).map_err(|_| unknown())?;
    let tenant = Name::parse(who.organisation.as_str()).map_err(|_| unknown())?;
    let kin = gateway.tasks().kin(&Scope::tenant(tenant), &id).await;
    let kin = kin.ok().flatten().ok_or_else(unknown)?;
    let agent = find(&hub, &who, kin.place.agent.as_str()).map_err(|_| unknown())?;
    let callee = Callee::new(&hub, &who, &agent, request.into_parts().0)?;
    let request = GetTaskRequest { tenant: None, id, history_length: None };
    match callee
        .call(A2aRequest::GetTask(request), |ctx| ctx.form = Some(WireForm::MoleculeHttp))
        .await
    {
        Ok(found) => match found.into_response() {
            Ok(found) => {
                let text =
                    write_with(|writer| FORM.write_response(Operation::GetTask, &found, writer));
                Ok(document(StatusCode::OK, text))
            }
            Err(_) => Err(unknown().into()),
        },
        Err(_) => Err(unknown().into()),
    }
}

async fn read_body(hub: &Hub, head: &Parts, body: Body) -> Result<Bytes, Refused> {
    let is_plain = head.headers.get(CONTENT_ENCODING).is_none_or(|coding| coding == "identity");
    if !is_plain {
        let text = "compressed bodies are not read; send it plain";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "COMPRESSED", text).into());
    }
    let mut limits = hub.settings.call_bodies;
    limits.bytes = limits.bytes.min(MAX_BODY);
    Ok(Guarded::new(body, limits).collect().await.map_err(Problem::from)?)
}

/// Whoever sends a message says of themselves what their credential says, or nothing (C-20).
fn check_claims(who: &Who, request: &A2aRequest) -> Result<(), Refused> {
    let (A2aRequest::SendMessage(send) | A2aRequest::SendStreamingMessage(send)) = request else {
        return Ok(());
    };
    let metadata = [send.metadata.as_ref(), send.message.metadata.as_ref()];
    for claimed in metadata.into_iter().flatten().filter_map(|metadata| metadata.get(SOURCE)) {
        let is_own = match &who.role {
            Role::Agent(id) => claimed.as_text().as_deref() == Some(id.as_str()),
            _ => false,
        };
        if !is_own {
            let text = format!("`{SOURCE}` names somebody else than the credential does");
            return Err(Problem::new(StatusCode::FORBIDDEN, "FOREIGN_IDENTITY", text).into());
        }
    }
    Ok(())
}

async fn ask(
    callee: &Callee,
    request: A2aRequest,
    name: Option<String>,
) -> Result<A2aResponse, A2aError> {
    let answered = callee.call(request, |ctx| {
        ctx.form = Some(WireForm::Molecule);
        ctx.extensions.insert(QUEUE.to_owned());
        // A message that its sender has named is sent once, however often it is posted (C-30).
        if ctx.idempotency_key.is_none() {
            ctx.idempotency_key = name;
        }
    });
    match answered.await? {
        Answered::SendMessage(answer) => read(answer).map(A2aResponse::SendMessage),
        answer => answer.into_response(),
    }
}

fn respond_with(
    hub: &Hub,
    agent: &Agent,
    echo: &Echo,
    answer: &Result<A2aResponse, A2aError>,
) -> Response {
    match answer {
        Ok(response) => match waiting(response) {
            Some((task, depth)) => {
                document(StatusCode::ACCEPTED, queued(echo, response, task, depth))
            }
            None => whole(echo, response),
        },
        Err(error) if is_rejected(error) => {
            let (status, text) = (Outcome::status(error), FORM.write_reply(echo, Err(error)));
            document(status, text)
        }
        Err(error) => {
            // It may have changed since it was called.
            let state = hub.directory.state();
            let now = state.agent(&agent.id).map_or(agent.status, |agent| agent.status);
            Outcome::failed(error, now).into_response()
        }
    }
}

/// Answers with all that the agent says, or with nothing of it (MG-05).
fn whole(echo: &Echo, response: &A2aResponse) -> Response {
    let text = FORM.write_reply(echo, Ok(response));
    if text.len() > MAX_ANSWER {
        return Outcome::too_large(MAX_ANSWER).into_response();
    }
    document(StatusCode::OK, text)
}

fn waiting(response: &A2aResponse) -> Option<(&Task, u64)> {
    match response {
        A2aResponse::SendMessage(SendMessageResponse::Task(task)) => {
            Some((task, queue::depth(task)?))
        }
        _ => None,
    }
}

/// Says that the message is kept: as molecule does, and as the task that it is (MG-21).
fn queued(echo: &Echo, response: &A2aResponse, task: &Task, depth: u64) -> String {
    let why = task.status.message.as_ref().map(|message| message.text()).unwrap_or_default();
    write_with(|writer| {
        writer.object(|object| {
            object.member("queued", &true);
            object.member("queue_id", task.id.as_str());
            object
                .with("queue_depth", |writer| writer.int(i64::try_from(depth).unwrap_or(i64::MAX)));
            object.member("message", &why);
            object.member("jsonrpc", "2.0");
            object.member("id", &echo.id());
            object.with("result", |writer| FORM.write_response(echo.operation, response, writer));
        });
    })
}

/// Returns the id of a message if its sender has given it one. The reader gives one to all.
fn sent_message_id(body: &[u8]) -> Option<String> {
    let mut id = None;
    let mut find = |reader: &mut Reader<'_>, wanted: &[&str]| -> Result<(), json::Error> {
        descend(reader, wanted, &mut id)
    };
    read_with(json::text(body).ok()?, |reader| find(reader, &["params", "message"])).ok()?;
    id.filter(|id| (1..=256).contains(&id.len()))
}

fn descend(
    reader: &mut Reader<'_>,
    path: &[&str],
    id: &mut Option<String>,
) -> Result<(), json::Error> {
    if reader.peek()? != Kind::Object {
        return reader.skip();
    }
    reader.members(|reader, key| match path {
        [next, rest @ ..] if key == *next => descend(reader, rest, id),
        [] if matches!(&*key, "messageId" | "message_id") && reader.peek()? == Kind::String => {
            *id = Some(reader.string()?.into_owned());
            Ok(())
        }
        _ => reader.skip(),
    })
}

fn document(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_that_was_sent_is_one() {
        let check = |body: &str, expected: Option<&str>| {
            assert_eq!(sent_message_id(body.as_bytes()).as_deref(), expected, "{body}");
        };
        check(r#"{"params":{"message":{"messageId":"m","parts":[]}}}"#, Some("m"));
        check(r#"{"params":{"message":{"message_id":"m"}}}"#, Some("m"));
        check(r#"{"params":{"message":{"parts":[{"messageId":"x"}]}}}"#, None);
        check(r#"{"params":{"messageId":"x"},"messageId":"x"}"#, None);
        check(r#"{"params":{"message":{"messageId":""}}}"#, None);
        check(r#"{"params":{"message":{"messageId":7}}}"#, None);
        check(r#"{"params":[]}"#, None);
        check("nothing", None);
    }
}
