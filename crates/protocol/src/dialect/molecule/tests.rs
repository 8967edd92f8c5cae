use super::*;
use crate::{
    dialect::loose::artifact_id_at,
    error::ErrorTable,
    http::{HttpCall, HttpForm, HttpReply},
    ids::ContextId,
    json::{Object, Raw, write_with},
    message::Part,
    state::TaskState,
    task::{Artifact, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent},
    wire::{Echo, V1},
};

const PLAIN: Molecule = Molecule { flat: false };
const FLAT: Molecule = Molecule { flat: true };
const PLAIN_HTTP: MoleculeHttp = MoleculeHttp { flat: false };
const FLAT_HTTP: MoleculeHttp = MoleculeHttp { flat: true };

fn value(json: &str) -> serde_json::Value {
    serde_json::from_str(json).unwrap()
}

fn id(text: &str) -> TaskId {
    TaskId::parse(text).unwrap()
}

/// Reads a result that stands in an envelope with the id `task-123`.
#[track_caller]
fn answer(result: &str) -> SendMessageResponse {
    let body = format!(r#"{{"jsonrpc":"2.0","id":"task-123","result":{result}}}"#);
    match PLAIN.read_reply(Operation::SendMessage, &body).unwrap() {
        Response::SendMessage(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn event(result: &str) -> StreamResponse {
    let data = format!(r#"{{"jsonrpc":"2.0","id":"task-123","result":{result}}}"#);
    PLAIN.read_frame(&data).unwrap()
}

fn write(form: Molecule, event: &StreamResponse) -> String {
    write_with(|writer| form.write_event(event, StreamEnd::Open, writer))
}

fn status(state: TaskState, text: &str) -> TaskStatus {
    let message = (!text.is_empty()).then(|| Box::new(Message::agent(text)));
    TaskStatus { state, message, timestamp: None }
}

fn update(state: TaskState, text: &str) -> StreamResponse {
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: id("t"),
        context_id: ContextId::parse("t").unwrap(),
        status: status(state, text),
        metadata: None,
    })
}

// The JSON examples of seed 000.

#[test]
fn the_request_of_the_seed_survives() {
    // M-10
    let body = r#"{
        "jsonrpc": "2.0",
        "id": "task-123",
        "method": "message/send",
        "params": {
            "message": {
                "role": "user",
                "parts": [{ "kind": "text", "text": "Build the login feature" }],
                "messageId": "msg-456"
            }
        }
    }"#;
    let call = PLAIN.read_call(body).unwrap();
    let written = PLAIN.write_call(&call.echo.id(), &call.request).unwrap();
    // The writer says what sort of object it is, as 0.3 does.
    let mut expected = value(body);
    expected["params"]["message"]["kind"] = "message".into();
    assert_eq!(value(&written), expected);
}

#[test]
fn the_artifacts_of_the_seed_survive() {
    // M-30
    let result = r#"{
        "status": "completed",
        "artifacts": [
            { "type": "text/plain", "content": "Page generated successfully" },
            { "type": "application/json", "content": { "page_path": "/kitchen-renovation-vancouver" } }
        ]
    }"#;
    let read = answer(result);
    let SendMessageResponse::Task(task) = &read else { panic!("{read:?}") };
    // M-26: the example does not name its task, so the request does.
    assert_eq!((task.id.as_str(), task.status.state), ("task-123", TaskState::Completed));
    assert_eq!(task.artifacts[0].text(), "Page generated successfully");
    let page =
        Part::data(Raw::parse_text(r#"{"page_path":"/kitchen-renovation-vancouver"}"#).unwrap());
    assert_eq!(task.artifacts[1].parts, [page.with_media_type("application/json")]);
    let written = write_with(|writer| {
        let operation = Operation::SendMessage;
        FLAT.write_response(operation, &Response::SendMessage(read.clone()), writer);
    });
    let mut expected = value(result);
    expected["id"] = "task-123".into();
    assert_eq!(value(&written), expected);
}

#[test]
fn the_subscription_of_the_seed_is_understood() {
    // M-23, C-03
    let params =
        r#"{"message":{"role":"user","parts":[{"kind":"text","text":"x"}],"messageId":"m"}}"#;
    let body = |method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    };
    let call = PLAIN.read_call(&body("message/sendSubscribe")).unwrap();
    assert_eq!(call.echo.operation, Operation::SendStreamingMessage);
    assert_eq!(PLAIN.read_call(&body("message/stream")).unwrap(), call);
    let written = PLAIN.write_call(&call.echo.id(), &call.request).unwrap();
    assert!(written.contains(r#""method":"message/sendSubscribe""#), "{written}");

    // M-24: what the loop of the seed looks at.
    let working = value(&write(FLAT, &update(TaskState::Working, "half way")));
    assert_eq!((&working["status"], &working["message"]), (&"working".into(), &"half way".into()));
    for (state, word) in [
        (TaskState::Completed, "completed"),
        (TaskState::Failed, "failed"),
        (TaskState::Canceled, "canceled"),
    ] {
        let end = value(&write(FLAT, &update(state, "")));
        assert_eq!(end["status"], word);
        assert!(end["artifacts"].is_array(), "M-25: the loop takes the artifacts from {end}");
    }
}

#[test]
fn the_cancellation_of_the_seed_survives() {
    // M-28
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"t1"}}"#;
    let call = PLAIN.read_call(body).unwrap();
    assert_eq!(PLAIN.write_call(&call.echo.id(), &call.request).unwrap(), body);
}

#[test]
fn the_status_check_of_the_seed_survives() {
    // M-27
    let call = |target: &'static str| {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        PLAIN_HTTP.read_call(&HttpCall { method: "GET", path, query, body: b"" })
    };
    for target in ["/tasks/t1", "/tasks/a%2Fb?historyLength=0"] {
        let request = call(target).unwrap();
        assert_eq!(PLAIN_HTTP.write_call(&request).unwrap().path, target);
    }
    for target in ["/tasks", "/tasks/t1:cancel", "/tasks/t1/pushNotificationConfigs", "/"] {
        assert_eq!(call(target).unwrap_err().kind(), ErrorKind::MethodNotFound, "{target}");
    }
    let body = r#"{"id":"t1","status":"working","artifacts":[]}"#;
    let read = FLAT_HTTP.read_reply(Operation::GetTask, 200, body.as_bytes());
    let reply = FLAT_HTTP.write_reply(Operation::GetTask, read.as_ref());
    assert_eq!(reply, HttpReply { status: 200, body: body.into() });
}

// What molecule's proxy does (M-33, M-34).

#[test]
fn a_body_without_jsonrpc_is_wrapped() {
    let read = |body: &str| PLAIN.read_call(body);
    let params = r#""params":{"id":"t"}"#;
    let call = read(&format!(r#"{{"method":"tasks/cancel",{params}}}"#)).unwrap();
    let made_up = call.echo.id();
    assert_eq!(made_up.as_str().len(), r#""00000000-0000-0000-0000-000000000000""#.len());
    let kept = read(&format!(r#"{{"id":7,"method":"tasks/cancel",{params}}}"#)).unwrap();
    assert_eq!(kept.echo.id().as_str(), "7");
    let null = read(&format!(r#"{{"id":null,"method":"tasks/cancel",{params}}}"#)).unwrap();
    assert_ne!(null.echo.id(), Id::null());
    let notification = read(&format!(r#"{{"jsonrpc":"2.0","method":"tasks/cancel",{params}}}"#));
    assert_eq!(notification.unwrap().echo.id, None);
    let other = read(&format!(r#"{{"jsonrpc":"1.0","method":"tasks/cancel",{params}}}"#));
    assert_eq!(other.unwrap_err().error.kind(), ErrorKind::InvalidRequest);
    assert_eq!(read("{}").unwrap_err().error.kind(), ErrorKind::InvalidRequest);
}

#[test]
fn a_message_without_id_gets_one() {
    let body = r#"{"method":"message/send","params":{"message":{"role":"user","parts":[{"type":"text","text":"x"}]}}}"#;
    let ids: Vec<MessageId> = (0..2)
        .map(|_| match PLAIN.read_call(body).unwrap().request {
            Request::SendMessage(request) => request.message.message_id,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn the_history_of_the_canvas_stays_in_the_metadata() {
    // MD-39
    let metadata = r#"{"history":[{"role":"user","parts":[{"kind":"text","text":"before"}]}],"traceparent":"00-a-b-01"}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"message/send","params":{{"message":{{"kind":"message","messageId":"m","role":"user","parts":[{{"kind":"text","text":"x"}}]}},"metadata":{metadata}}}}}"#
    );
    let call = PLAIN.read_call(&body).unwrap();
    assert_eq!(PLAIN.write_call(&call.echo.id(), &call.request).unwrap(), body);
}

// Answers.

#[test]
fn the_text_of_an_answer_is_found_wherever_it_stands() {
    // MD-36
    let part = r#"{"kind":"text","text":"yo"}"#;
    for result in [
        format!(r#"{{"parts":[{part}]}}"#),
        format!(r#"{{"message":{{"parts":[{part}]}}}}"#),
        format!(r#"{{"kind":"message","messageId":"m","role":"agent","parts":[{part}]}}"#),
    ] {
        let SendMessageResponse::Message(message) = answer(&result) else { panic!("{result}") };
        assert_eq!((message.text().as_str(), message.role), ("yo", Role::Agent), "{result}");
        assert!(matches!(event(&result), StreamResponse::Message(_)), "{result}");
    }
    for result in [
        format!(r#"{{"artifacts":[{{"parts":[{part}]}}]}}"#),
        r#"{"artifacts":[{"type":"text/plain","content":"yo"}]}"#.to_owned(),
        r#"{"id":"t","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"type":"text","text":"yo"}]}]}"#
            .to_owned(),
        format!(
            r#"{{"kind":"task","id":"t","contextId":"c","status":{{"state":"completed"}},"artifacts":[{{"artifactId":"a","parts":[{part}]}}]}}"#
        ),
    ] {
        let SendMessageResponse::Task(task) = answer(&result) else { panic!("{result}") };
        assert_eq!(task.artifacts[0].text(), "yo", "{result}");
        assert_eq!(task.status.state, TaskState::Completed, "{result}");
    }
}

#[test]
fn an_error_may_be_a_bare_text() {
    let body = r#"{"error":"workspace budget limit exceeded"}"#;
    let error = PLAIN.read_reply(Operation::SendMessage, body).unwrap_err();
    assert_eq!(error.message(), "workspace budget limit exceeded");
    let body = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"m"}}"#;
    let error = PLAIN.read_reply(Operation::SendMessage, body).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
}

#[test]
fn events_of_one_stream_belong_to_one_task_though_only_the_first_names_it() {
    for result in [
        r#"{"status":"working","message":"half way"}"#,
        r#"{"status":"completed","artifacts":[{"type":"text/plain","content":"x"}]}"#,
    ] {
        let task = match event(result) {
            StreamResponse::Task(task) => task.id,
            StreamResponse::StatusUpdate(update) => update.task_id,
            other => panic!("{other:?}"),
        };
        assert_eq!(task.as_str(), "task-123");
    }
    let first = event(r#"{"id":"t","status":"submitted"}"#);
    assert!(matches!(first, StreamResponse::StatusUpdate(update) if update.task_id == id("t")));
}

// States (catalogue §7.3).

#[test]
fn states_that_molecule_does_not_know_become_the_nearest_and_come_back() {
    for (state, word, metadata) in [
        (TaskState::AuthRequired, "input-required", r#"{"state":"auth-required"}"#),
        (TaskState::Rejected, "failed", r#"{"state":"rejected","reason":"no"}"#),
    ] {
        let event = update(state, "no");
        let plain = value(&write(PLAIN, &event));
        assert_eq!(plain["status"]["state"], word);
        assert_eq!(plain["metadata"], value(metadata));
        assert_eq!(
            read_with(&plain.to_string(), |reader| PLAIN.read_event(reader)),
            Ok(event.clone())
        );

        let flat = write(FLAT, &event);
        assert_eq!(value(&flat)["status"], word);
        assert_eq!(value(&flat)["metadata"], value(metadata));
        let back = read_with(&flat, |reader| FLAT.read_event(reader)).unwrap();
        assert_eq!(back.state(), Some(state));
        assert_eq!(write(FLAT, &back), flat);
    }
}

#[test]
fn the_metadata_of_a_rejected_task_is_kept_beside_the_truth() {
    let context = ContextId::parse("c").unwrap();
    let mut task = Task::new(id("t"), context, status(TaskState::Rejected, ""));
    task.metadata = Some(Object::parse_text(r#"{"mine":1}"#).unwrap());
    let response = Response::Task(task);
    let echo = Echo::new(Id::number(1), Operation::CancelTask);
    let body = PLAIN.write_reply(&echo, Ok(&response));
    assert!(body.contains(r#""metadata":{"mine":1,"state":"rejected"}"#), "{body}");
    assert_eq!(PLAIN.read_reply(Operation::CancelTask, &body), Ok(response));
}

#[test]
fn the_other_states_are_those_of_0_3() {
    for &state in TaskState::ALL {
        if state::lowered(state) != state {
            continue;
        }
        let json = write(PLAIN, &update(state, ""));
        assert_eq!(value(&json)["status"]["state"], write::state(state));
        assert!(value(&json)["metadata"].is_null());
    }
}

// The flat view.

/// Writes an event in the flat view, reads it back, and writes it again.
#[track_caller]
fn check_flat(event: &StreamResponse, json: &str) {
    assert_eq!(write(FLAT, event), json);
    let back = read_with(json, |reader| FLAT.read_event(reader)).unwrap();
    assert_eq!(write(FLAT, &back), json);
    assert_eq!(std::mem::discriminant(&back), std::mem::discriminant(event));
}

#[test]
fn every_event_has_its_flat_view() {
    let parts = vec![
        Part::text("x"),
        Part::data(Raw::parse_text("[1]").unwrap()),
        Part::raw(&b"hi"[..]).with_media_type("image/png"),
        Part::url("https://h/x"),
        Part::text("{}").with_media_type("application/json"),
        Part::data(Raw::string("x")).with_media_type("text/plain"),
    ];
    let artifacts = concat!(
        r#""artifacts":[{"type":"text/plain","content":"x"},"#,
        r#"{"type":"application/json","content":[1]},"#,
        r#"{"type":"image/png","content":"aGk=","encoding":"base64"},"#,
        r#"{"type":"application/octet-stream","content":"https://h/x","encoding":"url"},"#,
        r#"{"type":"application/json","content":"{}","encoding":"text"},"#,
        r#"{"type":"text/plain","content":"x","encoding":"json"}]"#,
    );
    let context_id = ContextId::parse("c").unwrap();
    let artifact = Artifact::new(artifact_id_at(0), parts.clone());

    let mut task = Task::new(id("t"), context_id.clone(), status(TaskState::Completed, "done"));
    task.artifacts = vec![artifact.clone()];
    check_flat(
        &StreamResponse::Task(task),
        &format!(r#"{{"id":"t","status":"completed","message":"done",{artifacts}}}"#),
    );
    check_flat(
        &update(TaskState::Working, "half way"),
        r#"{"id":"t","taskId":"t","status":"working","message":"half way"}"#,
    );
    check_flat(
        &update(TaskState::Canceled, ""),
        r#"{"id":"t","taskId":"t","status":"canceled","artifacts":[]}"#,
    );
    check_flat(
        &StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: id("t"),
            context_id,
            artifact,
            append: true,
            last_chunk: true,
            metadata: None,
        }),
        &format!(
            r#"{{"id":"t","taskId":"t","status":"working","artifactId":"artifact-0",{artifacts},"append":true,"lastChunk":true}}"#
        ),
    );
    let mut message = Message::agent("x");
    message.message_id = MessageId::parse("m").unwrap();
    message.parts = parts;
    check_flat(
        &StreamResponse::Message(message),
        &format!(r#"{{"status":"completed","message":"x\n{{}}",{artifacts},"messageId":"m"}}"#),
    );
}

#[test]
fn what_is_wrong_in_a_flat_answer_is_named() {
    for (result, path) in [
        (r#"{"status":"done","artifacts":[]}"#, "status"),
        (r#"{"status":"completed","artifacts":[{"type":"text/plain"}]}"#, "artifacts[0].content"),
        (
            r#"{"status":"completed","artifacts":[{"content":7,"encoding":"url"}]}"#,
            "artifacts[0].content",
        ),
        (
            r#"{"status":"completed","artifacts":[{"content":"%","encoding":"base64"}]}"#,
            "artifacts[0].content",
        ),
        (r#"{"status":"completed","artifacts":{}}"#, "artifacts"),
        (r#"{"status":"completed","id":7}"#, "id"),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let error = FLAT.read_reply(Operation::SendMessage, &body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
        assert_eq!(error.violations()[0].field, path, "{result}");
    }
}

// Errors (catalogue §7.7).

#[test]
fn every_error_of_the_status_check_has_molecules_status_and_comes_back() {
    for &kind in ErrorKind::ALL {
        let error = Error::new(kind, "why");
        let reply = PLAIN_HTTP.write_reply(Operation::GetTask, Err(&error));
        let expected = match kind {
            ErrorKind::Parse
            | ErrorKind::InvalidRequest
            | ErrorKind::InvalidParams
            | ErrorKind::VersionNotSupported => 400,
            ErrorKind::MethodNotFound | ErrorKind::TaskNotFound => 404,
            ErrorKind::TaskNotCancelable => 409,
            ErrorKind::Internal => 500,
            ErrorKind::InvalidAgentResponse => 502,
            ErrorKind::Unavailable => 503,
            other => other.http_status(ErrorTable::V1_0_0),
        };
        assert_eq!(reply.status, expected, "{kind:?}");
        let body = reply.body.as_bytes();
        let back = PLAIN_HTTP.read_reply(Operation::GetTask, reply.status, body);
        assert_eq!(back.unwrap_err(), error);
    }
    let busy = br#"{"error":"busy","busy":true,"retry_after":30}"#;
    let error = PLAIN_HTTP.read_reply(Operation::GetTask, 503, busy).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.retry_after().unwrap().as_secs(), 30);
    let silent = PLAIN_HTTP.read_reply(Operation::GetTask, 404, b"").unwrap_err();
    assert_eq!(silent.kind(), ErrorKind::TaskNotFound);
}

#[test]
fn bad_input_gets_the_errors_of_1_0() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for params in [
        "{}".to_owned(),
        r#"{"message":{"messageId":"m","parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","messageId":"n"}}"#.to_owned(),
        format!(r#"{{"x":{deep}}}"#),
    ] {
        let body = |method: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
        };
        let old = PLAIN.read_call(&body("message/send")).unwrap_err();
        let new = V1.read_call(&body("SendMessage")).unwrap_err();
        assert_eq!(old.id, new.id);
        assert_eq!(old.error.kind(), new.error.kind(), "{params}");
        assert_eq!(old.error.violations(), new.error.violations(), "{params}");
    }
}

#[test]
fn only_the_methods_of_the_seed_are_there() {
    for &operation in Operation::ALL {
        let method = PLAIN.method(operation);
        let expected = matches!(
            operation,
            Operation::SendMessage | Operation::SendStreamingMessage | Operation::CancelTask
        );
        assert_eq!(method.is_some(), expected, "{operation:?}");
        assert!(method.is_none_or(|method| PLAIN.operation(method) == Some(operation)));
    }
}
