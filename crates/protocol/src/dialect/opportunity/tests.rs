use super::*;
use crate::{
    ids::{ContextId, MessageId, TaskId},
    json::{Object, Raw, from_str, to_string},
    message::{Message, Part, Role},
    operation::SendMessageRequest,
    state::TaskState,
    task::{Artifact, Task, TaskStatus},
};

const REQUEST: &str = r#"{"protocol_version":"1.0","source_agent":{"id":"orchestrator-agent","endpoint":"https://example.com/orchestrator"},"capability":"pain_point_validation","payload":{"problem":"construction equipment tracking","subreddits":["construction"]},"request_id":"550e8400-e29b-41d4-a716-446655440000"}"#;
const ANSWER: &str = r#"{"protocol_version":"1.0","request_id":"550e8400-e29b-41d4-a716-446655440000","agent_id":"validation-agent","capability":"pain_point_validation","status":"success","result":{"validation_score":87,"evidence":{"posts":["r/construction"]}}}"#;
const ERROR: &str = r#"{"protocol_version":"1.0","request_id":"550e8400-e29b-41d4-a716-446655440000","agent_id":"validation-agent","capability":"pain_point_validation","status":"error","error":"CAPABILITY_NOT_SUPPORTED: pain_point_analysis is not a supported capability"}"#;
const WORKED_REQUEST: &str = r#"{"protocol_version":"1.0","source_agent":{"id":"orchestrator-agent","endpoint":"https://orchestrator.example.com"},"capability":"pain_point_validation","payload":{"problem":"construction equipment tracking","subreddits":["construction","contractors"],"competitors":["ToolTracker"],"timeframe":"month"},"request_id":"abc-123-def"}"#;
const WORKED_ANSWER: &str = r#"{"protocol_version":"1.0","request_id":"abc-123-def","agent_id":"validation-agent","capability":"pain_point_validation","status":"success","result":{"validation_score":87,"evidence":{"posts":[]},"recommendation":"STRONG VALIDATION"}}"#;

fn form() -> Opportunity {
    Opportunity { agent_id: "validation-agent".into() }
}

fn send(request: Request) -> SendMessageRequest {
    match request {
        Request::SendMessage(request) => request,
        other => panic!("{other:?}"),
    }
}

fn task(response: Response) -> Task {
    match response {
        Response::SendMessage(SendMessageResponse::Task(task)) => task,
        other => panic!("{other:?}"),
    }
}

/// T-01, O-04, O-05, O-24: the examples are read and written back byte for byte.
#[track_caller]
fn golden(request: &str, answer: &str) {
    let call = form().read_call(request).unwrap();
    assert_eq!(form().write_call(&Id::number(7), &call.request).unwrap(), request);
    let response = form().read_reply(Operation::SendMessage, answer).unwrap();
    assert_eq!(form().write_reply(&call.echo, Ok(&response)), answer);
}

#[test]
fn the_examples_come_back_byte_for_byte() {
    golden(REQUEST, ANSWER);
    golden(WORKED_REQUEST, WORKED_ANSWER);
    let error = form().read_reply(Operation::SendMessage, ERROR).unwrap_err();
    let call = form().read_call(REQUEST).unwrap();
    assert_eq!(form().write_reply(&call.echo, Err(&error)), ERROR);
}

#[test]
fn a_request_is_a_message_with_one_data_part_and_a_skill() {
    let call = form().read_call(WORKED_REQUEST).unwrap();
    assert_eq!(call.echo.capability, "pain_point_validation");
    assert_eq!(call.echo.id().as_str(), r#""abc-123-def""#);
    let request = send(call.request);
    assert_eq!(request.message.message_id.as_str(), "abc-123-def");
    assert_eq!(request.message.role, Role::User);
    assert_eq!(request.message.parts.len(), 1);
    let metadata = request.metadata.unwrap();
    assert_eq!(metadata.get("skillId").unwrap().as_text().unwrap(), "pain_point_validation");
    assert_eq!(
        metadata.get("sourceAgent").unwrap().as_str(),
        r#"{"id":"orchestrator-agent","endpoint":"https://orchestrator.example.com"}"#
    );
}

#[test]
fn an_answer_is_a_completed_task_with_one_artifact() {
    let task = task(form().read_reply(Operation::SendMessage, ANSWER).unwrap());
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(task.id.as_str(), "550e8400-e29b-41d4-a716-446655440000");
    assert_eq!(
        to_string(&task.artifacts[0].parts),
        r#"[{"data":{"validation_score":87,"evidence":{"posts":["r/construction"]}}}]"#
    );
}

#[test]
fn a_request_without_a_source_is_ours() {
    let mut request = SendMessageRequest::new(Message::new(Role::User, Part::text("hi")));
    request.message.message_id = MessageId::parse("m").unwrap();
    request.message.task_id = Some(TaskId::parse("t").unwrap());
    request.message.context_id = Some(ContextId::parse("c").unwrap());
    let request = |metadata: Option<&str>| {
        let metadata = metadata.map(|text| Object::parse_text(text).unwrap());
        let request = SendMessageRequest { metadata, ..request.clone() };
        form().write_call(&Id::null(), &Request::SendMessage(request))
    };
    assert_eq!(
        request(Some(r#"{"skillId":"s"}"#)).unwrap(),
        r#"{"protocol_version":"1.0","source_agent":{"id":"validation-agent"},"capability":"s","payload":{"text":"hi"},"request_id":"m","task_id":"t","context_id":"c"}"#
    );
    let error = request(None).unwrap_err();
    assert_eq!(error.violations()[0].field, "metadata.skillId");
}

#[test]
fn only_sending_can_be_asked_for() {
    for &operation in Operation::ALL {
        let expected = operation == Operation::SendMessage;
        assert_eq!(form().method(operation).is_some(), expected);
        assert_eq!(form().operation(operation.name()).is_some(), expected);
    }
    let get = Request::GetTask(crate::operation::GetTaskRequest {
        tenant: None,
        id: TaskId::parse("t").unwrap(),
        history_length: None,
    });
    let error = form().write_call(&Id::null(), &get).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
}

#[track_caller]
fn refused(body: &str, id: &str, kind: ErrorKind, message: &str) {
    let refusal = form().read_call(body).expect_err("the request must be refused");
    assert_eq!(refusal.error.kind(), kind, "{body}");
    assert_eq!(refusal.error.message(), message, "{body}");
    assert_eq!(refusal.id.as_str(), id, "{body}");
}

#[test]
fn each_required_member_is_asked_for_by_name() {
    for field in ["protocol_version", "source_agent", "capability", "payload", "request_id"] {
        let object = Object::parse_text(REQUEST).unwrap();
        let message = format!("not a capability request: `{field}`: is required");
        let id = object.get("request_id").unwrap();
        let id = if field == "request_id" { "null" } else { id.as_str() };
        for body in [object.without(field), object.with(field, Raw::parse_text("null").unwrap())] {
            refused(body.as_str(), id, ErrorKind::InvalidRequest, &message);
        }
    }
}

#[test]
fn bad_requests_are_refused_with_path_and_id() {
    let with = |field: &str, value: &str| {
        let object = Object::parse_text(REQUEST).unwrap();
        object.with(field, Raw::parse_text(value).unwrap()).as_str().to_owned()
    };
    let id = r#""550e8400-e29b-41d4-a716-446655440000""#;
    for (field, value, what) in [
        ("protocol_version", "1.0", "`protocol_version`: expected a string, found a number"),
        ("source_agent", "\"me\"", "`source_agent`: expected an object, found a string"),
        ("source_agent", r#"{"id":7}"#, "`source_agent.id`: expected a string, found a number"),
        ("capability", "\"\"", "`capability`: must not be empty"),
        ("payload", "[]", "`payload`: expected an object, found an array"),
        ("requestId", "\"x\"", "`requestId`: is given twice, in two spellings"),
    ] {
        let message = format!("not a capability request: {what}");
        let id = if field == "requestId" { r#""x""# } else { id };
        refused(&with(field, value), id, ErrorKind::InvalidRequest, &message);
    }
    refused(
        &with("request_id", "\"\""),
        r#""""#,
        ErrorKind::InvalidRequest,
        "not a capability request: `request_id`: an identifier has 1 to 256 bytes, this has 0",
    );
    refused(
        "[]",
        "null",
        ErrorKind::InvalidRequest,
        "not a capability request: expected an object, found an array",
    );
}

#[test]
fn what_is_not_json_as_we_accept_it_is_a_parse_error() {
    for (body, path) in [
        (r#"{"payload":{"a":1e999}}"#, "`payload.a`: the number is out of range"),
        (r#"{"payload":{"a":1,"a":2}}"#, "`payload.a`: the key stands twice"),
        (r#"{"request_id":"x","request_id":"x"}"#, "`request_id`: the key stands twice"),
    ] {
        let refusal = form().read_call(body).unwrap_err();
        assert_eq!((refusal.error.kind(), refusal.id.as_str()), (ErrorKind::Parse, "null"));
        assert!(refusal.error.message().contains(path), "{}", refusal.error);
    }
    let deep = format!(r#"{{"payload":{{"a":{}{}}}}}"#, "[".repeat(200), "]".repeat(200));
    assert!(form().read_call(&deep).unwrap_err().error.message().contains("nested deeper"));
}

#[test]
fn another_version_is_refused_before_anything_else() {
    for body in [r#"{"protocol_version":"2.0"}"#, r#"{"protocol_version":"x","payload":null}"#] {
        let error = form().read_call(body).unwrap_err().error;
        assert_eq!(error.kind(), ErrorKind::VersionNotSupported);
        assert_eq!(error.metadata()["supportedVersions"], "1.0");
        let echo = Echo::new(Id::null(), Operation::SendMessage);
        let answer = form().write_reply(&echo, Err(&error));
        assert!(answer.contains(r#""request_id":"","#), "{answer}");
        assert!(answer.contains(r#""error":"INVALID_PROTOCOL_VERSION: A2A "#), "{answer}");
    }
    assert!(form().read_call(&REQUEST.replace("\"1.0\"", "\"1.0.1\"")).is_ok());
}

/// The column of catalogue §7.7, and what our own kinds beyond it become.
#[test]
fn every_kind_of_error_has_a_code() {
    use ErrorKind as K;
    for (code, kinds) in [
        ("INVALID_PROTOCOL_VERSION", &[K::VersionNotSupported][..]),
        (
            "CAPABILITY_NOT_SUPPORTED",
            &[
                K::MethodNotFound,
                K::UnsupportedOperation,
                K::PushNotificationNotSupported,
                K::ExtendedAgentCardNotConfigured,
            ],
        ),
        (
            "INVALID_REQUEST",
            &[
                K::Parse,
                K::InvalidRequest,
                K::InvalidParams,
                K::TaskNotFound,
                K::TaskNotCancelable,
                K::ContentTypeNotSupported,
                K::ExtensionSupportRequired,
                K::Unauthenticated,
                K::PermissionDenied,
                K::TooLarge,
            ],
        ),
        ("TIMEOUT", &[K::Timeout]),
        ("AGENT_UNAVAILABLE", &[K::Unavailable]),
        (
            "INTERNAL_ERROR",
            &[K::Internal, K::InvalidAgentResponse, K::RateLimited, K::Other(-32050)],
        ),
    ] {
        for &kind in kinds {
            let text = code::write(&Error::new(kind, "why"));
            assert_eq!(text, format!("{code}: why"), "{kind:?}");
        }
    }
    let skill =
        Error::new(K::InvalidParams, "why").with_reason(crate::error::reason::SKILL_NOT_FOUND);
    assert_eq!(code::write(&skill), "CAPABILITY_NOT_SUPPORTED: why");
}

#[test]
fn the_six_codes_are_read_and_written_back() {
    // T-18
    for (text, kind) in [
        ("INVALID_PROTOCOL_VERSION: why", ErrorKind::VersionNotSupported),
        ("CAPABILITY_NOT_SUPPORTED: why", ErrorKind::InvalidParams),
        ("INVALID_REQUEST: a: b", ErrorKind::InvalidRequest),
        ("TIMEOUT: why", ErrorKind::Timeout),
        ("AGENT_UNAVAILABLE: why", ErrorKind::Unavailable),
        ("INTERNAL_ERROR: why", ErrorKind::Internal),
        ("TIMEOUT", ErrorKind::Timeout),
    ] {
        let error = code::read(text);
        assert_eq!(error.kind(), kind, "{text}");
        assert_eq!(code::write(&error), text);
    }
    for (text, reason, message) in [
        ("it broke: badly", "INTERNAL_ERROR", "it broke: badly"),
        ("QUOTA: none left", "QUOTA", "none left"),
        ("", "INTERNAL_ERROR", ""),
    ] {
        let error = code::read(text);
        assert_eq!((error.kind(), error.reason()), (ErrorKind::Internal, reason), "{text}");
        assert_eq!(error.message(), message);
    }
}

fn status(state: TaskState, text: Option<&str>) -> TaskStatus {
    let message = text.map(|text| Box::new(Message::agent(text)));
    TaskStatus { state, message, timestamp: None }
}

fn in_state(state: TaskState, text: Option<&str>) -> Task {
    Task {
        context_id: None,
        ..Task::new(
            TaskId::parse("t1").unwrap(),
            ContextId::parse("c1").unwrap(),
            status(state, text),
        )
    }
}

/// Returns what stands behind the echo in an answer.
fn answered(task: Task) -> (String, Result<Response, Error>) {
    let echo = form().read_call(REQUEST).unwrap().echo;
    let response = Response::SendMessage(SendMessageResponse::Task(task));
    let body = form().write_reply(&echo, Ok(&response));
    let start = body.find(r#""status""#).unwrap();
    (body[start..].to_owned(), form().read_reply(Operation::SendMessage, &body))
}

#[test]
fn each_state_is_told_as_the_catalogue_says() {
    // §7.3
    for (state, code, silence, back) in [
        (TaskState::Submitted, "TIMEOUT", "the wait is over, the task goes on", TaskState::Working),
        (TaskState::Working, "TIMEOUT", "the wait is over, the task goes on", TaskState::Working),
        (
            TaskState::Unspecified,
            "TIMEOUT",
            "the wait is over, the task goes on",
            TaskState::Working,
        ),
        (
            TaskState::InputRequired,
            "INPUT_REQUIRED",
            "the agent waits for an answer",
            TaskState::InputRequired,
        ),
        (
            TaskState::AuthRequired,
            "AUTH_REQUIRED",
            "the agent waits for a credential",
            TaskState::AuthRequired,
        ),
        (TaskState::Failed, "INTERNAL_ERROR", "the task has failed", TaskState::Failed),
        (TaskState::Canceled, "CANCELED", "the task was cancelled", TaskState::Canceled),
        (
            TaskState::Rejected,
            "CAPABILITY_NOT_SUPPORTED",
            "the agent has rejected the task",
            TaskState::Rejected,
        ),
    ] {
        // O-10: an error is a code and a text, also if the agent says nothing.
        for text in [Some("which?"), None] {
            let error = format!("{code}: {}", text.unwrap_or(silence));
            let (body, read) = answered(in_state(state, text));
            assert_eq!(body, format!(r#""status":"error","error":"{error}","task_id":"t1"}}"#));
            let read = task(read.unwrap());
            assert_eq!((read.id.as_str(), read.status.state), ("t1", back));
            assert_eq!(read.status.message.map(|message| message.text()).as_deref(), text);
        }
    }
}

#[test]
fn an_interruption_without_task_is_known_by_its_request() {
    let body = r#"{"request_id":"r","status":"error","error":"INPUT_REQUIRED: which?"}"#;
    let task = task(form().read_reply(Operation::SendMessage, body).unwrap());
    assert_eq!((task.id.as_str(), task.status.state), ("r", TaskState::InputRequired));
}

/// Completes a task with these parts in one artifact each, and returns the `result`.
fn result(parts: &[&str]) -> (String, Vec<Part>) {
    let mut completed = in_state(TaskState::Completed, None);
    for part in parts {
        let part = from_str::<Part>(part).unwrap();
        let id = crate::ids::ArtifactId::generate();
        completed.artifacts.push(Artifact::new(id, vec![part]));
    }
    let (body, read) = answered(completed);
    let result = body.strip_prefix(r#""status":"success","result":"#).unwrap();
    let parts = task(read.unwrap()).artifacts.into_iter().flat_map(|artifact| artifact.parts);
    (result[..result.len() - 1].to_owned(), parts.collect())
}

#[track_caller]
fn check(parts: &[&str], written: &str, read: &[&str]) {
    let (result, back) = result(parts);
    assert_eq!(result, written);
    assert_eq!(back.iter().map(to_string).collect::<Vec<_>>(), read);
}

#[test]
fn artifacts_are_merged_into_one_result() {
    // §7.4
    let data = r#"{"data":{"a":1,"b":2}}"#;
    check(&[data], r#"{"a":1,"b":2}"#, &[data]);
    check(
        &[data, r#"{"data":{"b":3}}"#, r#"{"data":[7]}"#],
        r#"{"a":1,"b":3,"value":[7]}"#,
        &[r#"{"data":{"a":1,"b":3,"value":[7]}}"#],
    );
    check(
        &[data, r#"{"text":"x"}"#],
        r#"{"a":1,"b":2,"text":"x"}"#,
        &[r#"{"data":{"a":1,"b":2,"text":"x"}}"#],
    );
    check(&[], "{}", &[]);
}

#[test]
fn texts_and_files_come_back_as_such() {
    let url = r#"{"url":"https://h/x","filename":"x","mediaType":"a/b"}"#;
    let raw = r#"{"raw":"aGk="}"#;
    check(
        &[r#"{"text":"a"}"#, r#"{"text":"b"}"#, url, raw],
        r#"{"text":"a\nb","files":[{"name":"x","media_type":"a/b","uri":"https://h/x"},{"bytes":"aGk="}]}"#,
        &[r#"{"text":"a\nb"}"#, url, raw],
    );
    // A member of somebody's own makes it their data.
    let own = r#"{"data":{"files":[{"uri":"https://h/x","stars":5}]}}"#;
    check(&[own], r#"{"files":[{"uri":"https://h/x","stars":5}]}"#, &[own]);
}

#[test]
fn a_task_without_artifacts_answers_with_its_last_words() {
    let (body, _) = answered(in_state(TaskState::Completed, Some("done")));
    assert_eq!(body, r#""status":"success","result":{"text":"done"}}"#);
    let echo = form().read_call(REQUEST).unwrap().echo;
    let reply = Response::SendMessage(SendMessageResponse::Message(Message::agent("hi")));
    let body = form().write_reply(&echo, Ok(&reply));
    assert!(body.ends_with(r#""status":"success","result":{"text":"hi"}}"#), "{body}");
}

#[test]
fn bad_answers_are_told_from_errors() {
    for (body, what) in [
        ("{}", "`status`: is required"),
        (r#"{"status":"done"}"#, "`status`: `done` is not one of success, error"),
        (r#"{"status":"error"}"#, "`error`: is required"),
        (r#"{"status":"error","error":7}"#, "`error`: expected a string, found a number"),
        ("{", "the text ends inside an object (byte 1)"),
    ] {
        let error = form().read_reply(Operation::SendMessage, body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{body}");
        assert_eq!(error.message(), format!("the peer's answer is invalid: {what}"));
    }
}

#[test]
fn registrations_and_rules_come_back_byte_for_byte() {
    fn golden<T: json::FromJson + ToJson>(json: &str) {
        assert_eq!(to_string(&from_str::<T>(json).unwrap()), json);
    }
    // OD-01, O-09, O-13
    let registration = r#"{"agent_id":"validation-agent-us-central1","endpoint":"https://validation.example.com","capabilities":["pain_point_validation"],"protocol_version":"1.0","metadata":{"region":"us"}}"#;
    golden::<Registration>(registration);
    golden::<Agents>(&format!(r#"{{"agents":[{registration}]}}"#));
    golden::<AccessRule>(
        r#"{"capability":"pain_point_validation","allowed_agents":["orchestrator-agent","research-agent"]}"#,
    );
    golden::<Health>(r#"{"status":"ok","agent_id":"validation-agent","protocol_version":"1.0"}"#);
    let error = from_str::<Registration>(r#"{"agent_id":"a"}"#).unwrap_err();
    assert_eq!(error.to_string(), "`endpoint`: is required");
}

#[test]
fn the_card_is_the_list_of_capabilities() {
    let card: AgentCard =
        from_str(r#"{"name":"V","skills":[{"id":"a","name":"A"},{"id":"b","name":"B"}]}"#).unwrap();
    let body = crate::wire::card_document(&form(), &card);
    assert_eq!(
        body,
        r#"{"agent_id":"validation-agent","protocol_version":"1.0","capabilities":["a","b"]}"#
    );
    assert_eq!(from_str::<Capabilities>(&body).unwrap().capabilities, ["a", "b"]);
}
