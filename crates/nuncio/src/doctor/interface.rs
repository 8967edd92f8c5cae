//! Whether an interface speaks what the card says, to the well-behaved and to the others.

use http::StatusCode;
use nuncio_client::{Error, credentials::required};
use nuncio_protocol::{
    error::ErrorKind,
    ids::{PushConfigId, TaskId},
    json::read_with,
    jsonrpc::Id,
    message::Message,
    operation::{
        CancelTaskRequest, GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest, Operation, Request, SendMessageRequest,
        SubscribeToTaskRequest,
    },
};

use super::{
    card::SLOW,
    check::Check,
    patient::{Patient, Told, is_unsayable, kind, said, unknown_id, unknown_task},
    report::Report,
    streaming,
    wire::{Reply, Sent, chain, is_json},
};

const GRPC: &str = "gRPC frames and types everything itself";
const OPEN: &str = "0.3 leaves open how errors look on HTTP+JSON";
const HTTP: &str = "HTTP+JSON has no such thing";

/// Returns whether the interface can be examined further.
pub(crate) async fn check(patient: &Patient<'_>, report: &mut Report) -> bool {
    unauthenticated(patient, report).await;
    let outcome = patient.call(unknown_task()).await;
    if matches!(&outcome, Err(Error::Status { status, .. }) if status.is_server_error()) {
        // It may be that one operation alone that fails.
        if kind(&patient.call(cancel(unknown_id())).await) == Some(ErrorKind::TaskNotFound) {
            report.pass(Check::InterfaceAnswers);
            task_not_found(patient, report).await;
            report.skip_rest_of(&["interface"], "GetTask, by which it is tried, fails");
            return true;
        }
    }
    let demands = !required(patient.card).is_empty();
    let why = match &outcome {
        Err(error) if error.is_unauthenticated() => {
            if demands && patient.wire.credentials.is_none() {
                let why = "the card demands credentials; give `--bearer` or `--api-key`";
                report.skip_rest_of(&["interface"], why);
                return false;
            }
            report.fail(Check::InterfaceAnswers, said(&outcome));
            if demands {
                report.because("the credential that was given is not accepted", "give another");
            } else {
                report.because(
                    "the agent demands credentials that its card does not name",
                    "declare `securitySchemes` and `securityRequirements` on the card",
                );
            }
            "the agent accepts no request"
        }
        Err(Error::Peer(error))
            if matches!(
                error.kind(),
                ErrorKind::MethodNotFound
                    | ErrorKind::VersionNotSupported
                    | ErrorKind::InvalidAgentResponse
                    | ErrorKind::InvalidRequest
                    | ErrorKind::Parse
            ) =>
        {
            report.fail(Check::InterfaceAnswers, said(&outcome));
            "the interface does not answer"
        }
        Ok(_) | Err(Error::Peer(_)) => {
            report.pass(Check::InterfaceAnswers);
            refusals(patient, report).await;
            task_not_found(patient, report).await;
            report.skip_rest_of(&["interface"], if patient.is_grpc() { GRPC } else { HTTP });
            return true;
        }
        Err(Error::WrongId { .. }) => {
            refusals(patient, report).await;
            "answers carry the id of another request"
        }
        Err(Error::NotA2a { .. }) if writes_bad_errors(patient, report).await => {
            "the agent's errors cannot be read"
        }
        Err(_) => {
            report.fail(Check::InterfaceAnswers, said(&outcome));
            "the interface does not answer"
        }
    };
    report.skip_rest_of(&["interface"], why);
    false
}

/// Tells whether the agent answers with an error that only it can read, and reports that.
async fn writes_bad_errors(patient: &Patient<'_>, report: &mut Report) -> bool {
    let Some(sent) = patient.written(unknown_task(), &Id::number(1)) else { return false };
    let Ok(reply) = patient.wire.send(sent).await else { return false };
    let is_error = patient.told(&reply).is_some();
    if is_error {
        error_shape(patient, &reply, report);
    }
    is_error
}

fn cancel(id: TaskId) -> Request {
    Request::CancelTask(CancelTaskRequest { tenant: None, id, metadata: None })
}

/// Makes a request without credentials where some are demanded.
async fn unauthenticated(patient: &Patient<'_>, report: &mut Report) {
    let check = Check::InterfaceUnauthenticated;
    if required(patient.card).is_empty() {
        return report.skip(check, "the card demands no credentials");
    }
    let Some(sent) = patient.written(unknown_task(), &Id::number(1)) else {
        return report.skip(check, GRPC);
    };
    match patient.wire.send(sent.anonymous()).await {
        Ok(reply) if reply.status == StatusCode::UNAUTHORIZED => {
            let has_challenge = reply.header("www-authenticate").is_some();
            report.pass_if(check, has_challenge, "401 comes without `WWW-Authenticate`");
        }
        Ok(reply) => report.fail(check, format!("it answers {}", reply.status)),
        Err(error) => report.fail(check, chain(&error)),
    }
}

/// Makes requests that an agent must refuse, or echo.
async fn refusals(patient: &Patient<'_>, report: &mut Report) {
    let Some(sent) = patient.written(unknown_task(), &Id::text("doctor-1")) else { return };
    let reply = match patient.wire.send(sent.clone()).await {
        Ok(reply) => reply,
        Err(error) => return report.fail(Check::InterfaceErrorShape, chain(&error)),
    };
    let media_type = reply.media_type();
    let text = format!("answers come as `{media_type}`");
    report.pass_if(Check::InterfaceContentType, is_json(&media_type), text);
    if reply.waited > SLOW {
        let text = format!("an answer took {:.1} s", reply.waited.as_secs_f32());
        report.warn(Check::TimingAnswer, text);
    } else {
        report.pass(Check::TimingAnswer);
    }
    error_shape(patient, &reply, report);
    version(patient, &sent, report).await;
    media_type_refused(patient, &sent, report).await;
    if patient.is_json_rpc() {
        echo(Check::InterfaceIdString, "\"doctor-1\"", &reply, report);
        json_rpc(patient, &sent, report).await;
    } else {
        http_json(patient, report).await;
    }
}

fn error_shape(patient: &Patient<'_>, reply: &Reply, report: &mut Report) {
    let check = Check::InterfaceErrorShape;
    if !patient.is_v1() && !patient.is_json_rpc() {
        return report.skip(check, OPEN);
    }
    let Some(told) = patient.told(reply) else {
        return report.fail(check, "an unknown task is answered without an error");
    };
    let mut missing = Vec::new();
    missing.extend(told.code.is_none().then_some("code"));
    missing.extend((!told.has_message).then_some("message"));
    // 0.3 leaves open what the details are.
    let details = if patient.is_json_rpc() { "data array" } else { "details array" };
    missing.extend((patient.is_v1() && !told.has_details).then_some(details));
    let text = format!("the error has no {}", missing.join(" and no "));
    report.pass_if(check, missing.is_empty(), text);
}

async fn version(patient: &Patient<'_>, sent: &Sent<'_>, report: &mut Report) {
    let check = Check::InterfaceVersion;
    if !patient.is_v1() {
        return report.skip(check, "0.3 has no version header");
    }
    match told(patient, sent.clone().header("a2a-version", "99.0")).await {
        Ok(Some(told)) if told.error.kind() == ErrorKind::VersionNotSupported => {
            report.pass(check);
        }
        Ok(Some(told)) => {
            report.fail(check, format!("A2A-Version: 99.0 is answered: {}", told.error));
        }
        Ok(None) => report.fail(check, "A2A-Version: 99.0 is accepted"),
        Err(error) => report.fail(check, error),
    }
}

async fn media_type_refused(patient: &Patient<'_>, sent: &Sent<'_>, report: &mut Report) {
    let check = Check::InterfaceMediaType;
    let sent = if patient.is_json_rpc() { Some(sent.clone()) } else { empty_message(patient) };
    let Some(sent) = sent else { return };
    match patient.wire.send(sent.header("content-type", "text/plain")).await {
        Ok(reply) if reply.status == StatusCode::UNSUPPORTED_MEDIA_TYPE => report.pass(check),
        Ok(reply) => match patient.told(&reply).map(|told| told.error.kind()) {
            Some(
                ErrorKind::ContentTypeNotSupported | ErrorKind::InvalidRequest | ErrorKind::Parse,
            ) => report.pass(check),
            _ => report.warn(check, "a request sent as text/plain is taken"),
        },
        Err(error) => report.warn(check, chain(&error)),
    }
}

async fn json_rpc(patient: &Patient<'_>, sent: &Sent<'_>, report: &mut Report) {
    if let Some(sent) = patient.written(unknown_task(), &Id::number(7)) {
        match patient.wire.send(sent).await {
            Ok(reply) => echo(Check::InterfaceIdNumber, "7", &reply, report),
            Err(error) => report.fail(Check::InterfaceIdNumber, chain(&error)),
        }
    }
    let with_body = |body: &str| Sent { body: body.to_owned(), ..sent.clone() };
    let form = patient.interface.form.json_rpc("");
    let method = form.and_then(|form| form.method(Operation::GetTask)).unwrap_or("GetTask");

    // Methods of 0.3 have a slash, and some agents tell the versions apart by that.
    let unknown = if patient.is_v1() { "NuncioDoctor" } else { "nuncio/doctor" };
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{unknown}","params":{{}}}}"#);
    let answer = told(patient, with_body(&body)).await;
    expect(Check::InterfaceMethod, -32601, answer, report);

    let answer = told(patient, with_body(r#"{"jsonrpc":"2.0","id":1,"#)).await;
    expect(Check::InterfaceParse, -32700, answer, report);

    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{}}}}"#);
    let answer = told(patient, with_body(&body)).await;
    let field = answer.as_ref().ok().and_then(Option::as_ref).map(|told| names(told, "id"));
    expect(Check::InterfaceParams, -32602, answer, report);
    names_field(field, report);

    let batch = format!("[{}]", sent.body);
    match patient.wire.send(with_body(&batch)).await {
        Ok(reply) => {
            let is_answered = reply.status.is_success() && patient.told(&reply).is_none();
            let text = format!("a batch is answered with {}", reply.status);
            report.pass_if(Check::InterfaceBatch, !is_answered, text);
        }
        Err(error) => report.fail(Check::InterfaceBatch, chain(&error)),
    }
    slash(patient, sent, report).await;
}

async fn http_json(patient: &Patient<'_>, report: &mut Report) {
    if let Ok(url) = patient.interface.url.below("/nuncio-doctor/unknown") {
        let sent = patient.addressed(Sent::get(&url));
        expect_status(patient, Check::InterfaceMethod, StatusCode::NOT_FOUND, sent, report).await;
    }
    let Some(sent) = empty_message(patient) else { return };
    let broken = Sent { body: "{\"message\":".to_owned(), ..sent.clone() };
    expect_status(patient, Check::InterfaceParse, StatusCode::BAD_REQUEST, broken, report).await;
    let told =
        expect_status(patient, Check::InterfaceParams, StatusCode::BAD_REQUEST, sent, report);
    let told = told.await;
    if patient.is_v1() {
        names_field(told.map(|told| names(&told, "message")), report);
    } else {
        report.skip(Check::InterfaceField, OPEN);
    }
}

/// Returns a message that says nothing, and that nobody can take for one.
fn empty_message<'a>(patient: &'a Patient<'_>) -> Option<Sent<'a>> {
    let request = Request::SendMessage(SendMessageRequest::new(Message::user("")));
    let sent = patient.written(request, &Id::number(1))?;
    Some(Sent { body: "{}".to_owned(), ..sent })
}

async fn expect_status(
    patient: &Patient<'_>,
    check: Check,
    wanted: StatusCode,
    sent: Sent<'_>,
    report: &mut Report,
) -> Option<Told> {
    match patient.wire.send(sent).await {
        Ok(reply) if reply.status == wanted => {
            report.pass(check);
            patient.told(&reply)
        }
        Ok(reply) if reply.status.is_client_error() => {
            report.warn(check, format!("it answers {}, not {wanted}", reply.status));
            patient.told(&reply)
        }
        Ok(reply) => {
            report.fail(check, format!("it answers {}, not {wanted}", reply.status));
            None
        }
        Err(error) => {
            report.fail(check, chain(&error));
            None
        }
    }
}

fn expect(check: Check, code: i32, told: Result<Option<Told>, String>, report: &mut Report) {
    match told {
        Ok(Some(told)) if told.code == Some(code) => report.pass(check),
        Ok(Some(told)) => {
            let got = told.code.map_or_else(|| "no code".to_owned(), |code| code.to_string());
            report.fail(check, format!("it answers {got}, not {code}: {}", told.error));
        }
        Ok(None) => report.fail(check, "it is not answered with an error of JSON-RPC"),
        Err(error) => report.fail(check, error),
    }
}

fn names_field(names: Option<bool>, report: &mut Report) {
    let check = Check::InterfaceField;
    match names {
        Some(true) => report.pass(check),
        Some(false) => report.warn(check, "the error does not name the missing field"),
        None => report.skip(check, "bad parameters are not refused with an error"),
    }
}

/// Tells whether an error names a field: in its details, or as a word of its message.
fn names(told: &Told, field: &str) -> bool {
    let message = told.error.message();
    !told.error.violations().is_empty()
        || message.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == field)
}

fn echo(check: Check, sent: &str, reply: &Reply, report: &mut Report) {
    let mut id = None;
    // What cannot be read has no id.
    let _ = read_with(reply.text(), |reader| {
        reader.members(|reader, key| {
            if key == "id" {
                id = Some(reader.value_text()?.to_owned());
                return Ok(());
            }
            reader.skip()
        })
    });
    let id = id.unwrap_or_else(|| "nothing".to_owned());
    report.pass_if(check, id == sent, format!("{sent} came back as {id}"));
}

async fn slash(patient: &Patient<'_>, sent: &Sent<'_>, report: &mut Report) {
    let check = Check::InterfaceSlash;
    let url = patient.interface.url.as_str();
    let path = url.strip_prefix(&patient.interface.url.origin()).unwrap_or_default();
    if path.trim_matches('/').is_empty() || path.contains('?') {
        return report.skip(check, "the URL has no path");
    }
    let other = match url.strip_suffix('/') {
        Some(without) => without.to_owned(),
        None => format!("{url}/"),
    };
    let guard = patient.wire.net.guard();
    let Ok(url) = guard.check_url(&other, patient.interface.url.errand()) else { return };
    match patient.wire.send(Sent { url, ..sent.clone() }).await {
        Ok(reply) if patient.told(&reply).is_some() => report.pass(check),
        Ok(reply) => report.warn(check, format!("{other} answers {}", reply.status)),
        Err(error) => report.warn(check, chain(&error)),
    }
}

async fn told(patient: &Patient<'_>, sent: Sent<'_>) -> Result<Option<Told>, String> {
    let reply = patient.wire.send(sent).await.map_err(|error| chain(&error))?;
    Ok(patient.told(&reply))
}

/// Asks every operation for a task that nobody has.
async fn task_not_found(patient: &Patient<'_>, report: &mut Report) {
    let capabilities = &patient.card.capabilities;
    let id = unknown_id();
    let mut requests = vec![unknown_task(), cancel(id.clone())];
    if capabilities.push_notifications == Some(true) {
        requests.push(Request::GetTaskPushNotificationConfig(
            GetTaskPushNotificationConfigRequest {
                tenant: None,
                task_id: id.clone(),
                id: PushConfigId::generate(),
            },
        ));
        requests.push(Request::ListTaskPushNotificationConfigs(
            ListTaskPushNotificationConfigsRequest {
                tenant: None,
                task_id: id.clone(),
                page_size: 0,
                page_token: String::new(),
            },
        ));
    }
    let mut wrong = Vec::new();
    for request in requests {
        let operation = request.operation();
        let outcome = patient.call(request).await;
        // A capability that is missing is told by the checks of that capability.
        let is_fine = matches!(
            kind(&outcome),
            Some(ErrorKind::TaskNotFound | ErrorKind::PushNotificationNotSupported)
        );
        if !is_unsayable(&outcome) && !is_fine {
            wrong.push(format!("{}: {}", operation.name(), said(&outcome)));
        }
    }
    if capabilities.streaming == Some(true) {
        let request = Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id });
        let recording = streaming::record(patient, request, None).await;
        let refusal = recording.refusal();
        if !matches!(refusal, Some(ErrorKind::TaskNotFound | ErrorKind::UnsupportedOperation)) {
            wrong.push(format!("SubscribeToTask: {}", recording.said()));
        }
    }
    report.pass_if(Check::InterfaceTaskNotFound, wrong.is_empty(), wrong.join("; "));
}
