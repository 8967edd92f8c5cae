use super::*;
use crate::{
    json::{from_str, read_with, to_string, write_with},
    message::{Message, Part},
    wire::Echo,
};

const REQUEST: &str = r#"{
  "jsonrpc": "2.0",
  "method": "a2a.sendMessage",
  "params": {
    "message": {
      "role": "user",
      "parts": [{"type": "text", "text": "resolved prompt"}]
    },
    "configuration": {
      "acceptedOutputModes": ["text/plain", "application/json"]
    }
  }
}"#;

fn echo(operation: Operation) -> Echo {
    Echo::new(Id::number(1), operation)
}

fn params(request: &Request) -> String {
    write_with(|writer| Upal.write_request(request, writer))
}

#[test]
fn u22_messages_are_read_and_written_back() {
    // T-01, U-15. Whether to wait is said expressly (catalogue §7.4).
    let call = Upal.read_call(REQUEST).unwrap();
    assert_eq!(
        params(&call.request),
        r#"{"message":{"role":"user","parts":[{"type":"text","text":"resolved prompt"}]},"configuration":{"acceptedOutputModes":["text/plain","application/json"],"blocking":true}}"#
    );
    let written = Upal.write_call(&Id::text("r1"), &call.request).unwrap();
    assert!(
        written.starts_with(r#"{"jsonrpc":"2.0","id":"r1","method":"a2a.sendMessage","params":"#)
    );
    let Request::SendMessage(again) = Upal.read_call(&written).unwrap().request else { panic!() };
    let Request::SendMessage(first) = call.request else { panic!() };
    assert_ne!(again.message.message_id, first.message.message_id, "each reader makes one up");
    assert_eq!(again.message.parts, first.message.parts);
    assert_eq!(again.configuration, first.configuration);
}

#[test]
fn a_request_without_id_is_answered() {
    let call = Upal.read_call(REQUEST).unwrap();
    assert_eq!(call.echo.id, Some(Id::null()));
    let error = Error::new(ErrorKind::Internal, "no");
    assert!(Upal.write_reply(&call.echo, Err(&error)).contains(r#""id":null"#));
    let named = REQUEST.replace("\"method\"", "\"id\": 7, \"method\"");
    assert_eq!(Upal.read_call(&named).unwrap().echo.id, Some(Id::number(7)));
}

#[test]
fn cancelling_names_the_task() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"a2a.cancelTask","params":{"id":"t1"}}"#;
    let call = Upal.read_call(body).unwrap();
    assert_eq!(Upal.write_call(&call.echo.id(), &call.request).unwrap(), body);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"id":"t1","status":"canceled"}}"#;
    let response = Upal.read_reply(Operation::CancelTask, answer).unwrap();
    assert_eq!(Upal.write_reply(&call.echo, Ok(&response)), answer);
}

#[test]
fn a_message_that_belongs_somewhere_says_so() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"a2a.sendMessage","params":{"message":{"role":"user","parts":[{"type":"text","text":"yes"}],"contextId":"c1","taskId":"t1"}}}"#;
    let call = Upal.read_call(body).unwrap();
    assert_eq!(Upal.write_call(&Id::number(1), &call.request).unwrap(), body);
}

#[test]
fn there_are_two_methods() {
    for &operation in Operation::ALL {
        match Upal.method(operation) {
            Some(method) => assert_eq!(Upal.operation(method), Some(operation)),
            None => assert!(!matches!(operation, Operation::SendMessage | Operation::CancelTask)),
        }
    }
    let refusal = Upal.read_call(r#"{"jsonrpc":"2.0","id":1,"method":"a2a.getTask"}"#);
    assert_eq!(refusal.unwrap_err().error.kind(), ErrorKind::MethodNotFound);
}

/// Reads a task, checks what it is in the form of 1.0, and writes it back byte for byte.
#[track_caller]
fn task(json: &str, v1: &str) {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{json}}}"#);
    let response = Upal.read_reply(Operation::SendMessage, &body).unwrap();
    assert_eq!(Upal.write_reply(&echo(Operation::SendMessage), Ok(&response)), body);
    assert_eq!(without_message_ids(&to_string(&response)), format!(r#"{{"task":{v1}}}"#));
}

fn without_message_ids(json: &str) -> String {
    let mut pieces = json.split(r#""messageId":""#);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once("\",").unwrap().1)
}

#[test]
fn u22_tasks_have_a_bare_status_messages_and_numbered_artifacts() {
    // U-05, U-06, U-08, U-09, U-11
    task(
        r#"{"id":"task-1","contextId":"c1","status":"completed","messages":[{"role":"user","parts":[{"type":"text","text":"go"}]}],"artifacts":[{"name":"n","description":"d","parts":[{"type":"text","text":"x","mimeType":"text/plain"}],"index":0,"metadata":{"k":"v"}},{"parts":[{"type":"data","mimeType":"application/json","data":[1]},{"type":"file","file":{"uri":"https://h/x","name":"x","mimeType":"a/b"}},{"type":"file","file":{"bytes":"aGk="}}],"index":1}]}"#,
        r#"{"id":"task-1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"artifact-0","name":"n","description":"d","parts":[{"text":"x","mediaType":"text/plain"}],"metadata":{"k":"v"}},{"artifactId":"artifact-1","parts":[{"data":[1],"mediaType":"application/json"},{"url":"https://h/x","filename":"x","mediaType":"a/b"},{"raw":"aGk="}]}],"history":[{"role":"ROLE_USER","parts":[{"text":"go"}]}]}"#,
    );
}

#[test]
fn what_go_leaves_out_is_read_as_empty() {
    task(
        r#"{"id":"t","status":"created","artifacts":[{"parts":[{"type":"text"},{"type":"data","mimeType":"application/json"}],"index":0}]}"#,
        r#"{"id":"t","status":{"state":"TASK_STATE_SUBMITTED"},"artifacts":[{"artifactId":"artifact-0","parts":[{"text":""},{"data":null,"mediaType":"application/json"}]}]}"#,
    );
}

#[test]
fn the_agents_last_message_is_the_statuss() {
    // U-19
    task(
        r#"{"id":"t","status":"failed","messages":[{"role":"user","parts":[{"type":"text","text":"go"}]},{"role":"agent","parts":[{"type":"text","text":"no"}]}]}"#,
        r#"{"id":"t","status":{"state":"TASK_STATE_FAILED","message":{"role":"ROLE_AGENT","parts":[{"text":"no"}]}},"history":[{"role":"ROLE_USER","parts":[{"text":"go"}]}]}"#,
    );
}

#[test]
fn who_does_not_say_to_be_the_user_is_the_agent() {
    let read = |role: &str| {
        let task =
            format!(r#"{{"id":"t","status":"failed","messages":[{{"role":{role},"parts":[]}}]}}"#);
        let read = read_with(&task, |reader| Upal.read_response(Operation::CancelTask, reader));
        let Ok(Response::Task(task)) = read else { panic!("{read:?}") };
        task.status.message.is_some()
    };
    assert!(read("0") && read("\"agent\"") && !read("\"user\""));
}

#[test]
fn states_unknown_to_upal_are_told_in_metadata() {
    // §7.3
    task(
        r#"{"id":"t","status":"input-required","metadata":{"state":"auth-required"}}"#,
        r#"{"id":"t","status":{"state":"TASK_STATE_AUTH_REQUIRED"}}"#,
    );
    task(
        r#"{"id":"t","status":"failed","messages":[{"role":"agent","parts":[{"type":"text","text":"not mine"}]}],"metadata":{"state":"rejected","reason":"not mine"}}"#,
        r#"{"id":"t","status":{"state":"TASK_STATE_REJECTED","message":{"role":"ROLE_AGENT","parts":[{"text":"not mine"}]}}}"#,
    );
    for (state, word) in [
        (TaskState::Submitted, "created"),
        (TaskState::Working, "working"),
        (TaskState::InputRequired, "input-required"),
        (TaskState::Completed, "completed"),
        (TaskState::Failed, "failed"),
        (TaskState::Canceled, "canceled"),
    ] {
        let state = state.as_str();
        task(
            &format!(r#"{{"id":"t","status":"{word}"}}"#),
            &format!(r#"{{"id":"t","status":{{"state":"{state}"}}}}"#),
        );
    }
}

#[test]
fn a_status_message_that_stands_in_the_history_is_written_once() {
    let mut task: Task = from_str(
        r#"{"id":"t","status":{"state":4},"history":[{"messageId":"m","role":2,"parts":[{"text":"no"}]}]}"#,
    )
    .unwrap();
    task.status.message = task.history.last().cloned().map(Box::new);
    assert_eq!(
        write_with(|writer| write::task(&task, writer)),
        r#"{"id":"t","status":"failed","messages":[{"role":"agent","parts":[{"type":"text","text":"no"}]}]}"#
    );
}

#[test]
fn a_reply_without_task_becomes_a_completed_one() {
    // C-05, §7.4
    let mut message = Message::agent("hi");
    message.message_id = crate::ids::MessageId::parse("m1").unwrap();
    message.parts.push(Part::data(json::Raw::parse_text("{}").unwrap()));
    let response = Response::SendMessage(SendMessageResponse::Message(message));
    let parts =
        r#"[{"type":"text","text":"hi"},{"type":"data","mimeType":"application/json","data":{}}]"#;
    assert_eq!(
        Upal.write_reply(&echo(Operation::SendMessage), Ok(&response)),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"id":"m1","status":"completed","messages":[{{"role":"agent","parts":{parts}}}],"artifacts":[{{"parts":{parts},"index":0}}]}}}}"#
        )
    );
}

#[test]
fn metadata_of_artifacts_is_text() {
    let task: Task = from_str(
        r#"{"id":"t","status":{"state":3},"artifacts":[{"artifactId":"a","parts":[],"metadata":{"n":1,"s":"x\n","o":{"k":null}}},{"artifactId":"b","parts":[],"metadata":{}}]}"#,
    )
    .unwrap();
    assert_eq!(
        write_with(|writer| write::task(&task, writer)),
        r#"{"id":"t","status":"completed","artifacts":[{"parts":[],"index":0,"metadata":{"n":"1","s":"x\n","o":"{\"k\":null}"}},{"parts":[],"index":1}]}"#
    );
}

#[test]
fn errors_have_the_codes_of_the_catalogue() {
    // §7.7
    use ErrorKind as K;
    for (error, code) in [
        (Error::new(K::Parse, "x"), -32700),
        (Error::new(K::InvalidRequest, "x"), -32600),
        (Error::new(K::MethodNotFound, "x"), -32601),
        (Error::new(K::InvalidParams, "x"), -32602),
        (Error::new(K::Internal, "x"), -32603),
        (Error::new(K::TaskNotFound, "x"), -32001),
        (Error::new(K::VersionNotSupported, "x"), -32600),
        (Error::new(K::InvalidParams, "x").with_reason(reason::SKILL_NOT_FOUND), -32001),
        (Error::new(K::Unavailable, "x").with_reason(reason::AGENT_UNAVAILABLE), -32603),
    ] {
        let body = Upal.write_reply(&echo(Operation::SendMessage), Err(&error));
        assert!(body.contains(&format!(r#""error":{{"code":{code},"#)), "{body}");
        assert_eq!(Upal.read_reply(Operation::SendMessage, &body).unwrap_err(), error);
    }
    // Upal's own errors have no data.
    let body = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"node not found"}}"#;
    let error = Upal.read_reply(Operation::SendMessage, body).unwrap_err();
    assert_eq!(error.kind(), K::TaskNotFound);
}

#[track_caller]
fn refused(params: &str, message: &str) {
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a2a.sendMessage","params":{params}}}"#);
    let error = Upal.read_call(&body).unwrap_err().error;
    assert!(error.message().contains(message), "{error}");
}

#[test]
fn bad_requests_are_refused_with_the_path() {
    refused("{}", "`message`: is required");
    refused(r#"{"message":{"parts":[]}}"#, "`message.role`: is required");
    refused(r#"{"message":{"role":"user"}}"#, "`message.parts`: needs at least one part");
    refused(
        r#"{"message":{"role":"user","parts":[]}}"#,
        "`message.parts`: needs at least one part",
    );
    refused(
        r#"{"message":{"role":"user","parts":[{"type":"text","data":{}}]}}"#,
        "`message.parts[0].type`: says `text`, but the part holds something else",
    );
    refused(
        r#"{"message":{"role":"user","parts":[{"type":"text","text":"a","text":"b"}]}}"#,
        "the key stands twice in its object",
    );
    refused(
        r#"{"message":{"role":"user","parts":[{"type":"data","data":1e999}]}}"#,
        "`params.message.parts[0].data`: the number is out of range",
    );
    let deep = format!(r#"{{"message":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    refused(&deep, "nested deeper than 128 levels");
}

#[test]
fn bad_tasks_are_refused_with_the_path() {
    let read =
        |json: &str| read_with(json, |reader| Upal.read_response(Operation::SendMessage, reader));
    for (json, message) in [
        (r#"{"id":"t","status":"done"}"#, "`status`: `done` is not one of"),
        (r#"{"status":"working"}"#, "`id`: is required"),
        ("{}", "is neither a task nor a message"),
        (r#"{"task_id":"t","status":"working"}"#, "is neither a task nor a message"),
        (
            r#"{"id":"t","status":"working","artifacts":[{"parts":[{"type":"file"}]}]}"#,
            "`artifacts[0].parts[0]`: needs one of text, file, data",
        ),
    ] {
        let error = read(json).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn u22_the_card_is_written_as_upal_reads_it() {
    // T-01, U-10, U-13
    let card: AgentCard = from_str(
        r#"{"name":"research-agent","description":"Research expert agent","supportedInterfaces":[{"url":"h:1","protocolBinding":"GRPC"},{"url":"http://localhost:8080/a2a/nodes/research","protocolBinding":"JSONRPC"}],"capabilities":{"streaming":true},"skills":[{"id":"research","name":"Research Topic","description":"Researches a given topic using LLM","outputModes":["text/plain","application/json"]}],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"]}"#,
    )
    .unwrap();
    assert_eq!(
        crate::wire::card_document(&Upal, &card),
        r#"{"name":"research-agent","description":"Research expert agent","url":"http://localhost:8080/a2a/nodes/research","capabilities":{"streaming":true,"pushNotifications":false},"skills":[{"id":"research","name":"Research Topic","description":"Researches a given topic using LLM","inputModes":["text/plain"],"outputModes":["text/plain","application/json"]}],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"]}"#
    );
}
