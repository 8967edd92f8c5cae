//! The emit and accept rules of A2A's JSON, row by row (A2A digest §1).

use nuncio_protocol::{
    card::AgentCard,
    ids::{ContextId, TaskId},
    json::{self, FromJson, Raw, ToJson, from_str, to_string},
    message::{Message, Part},
    operation::{
        GetTaskRequest, ListTaskPushNotificationConfigsResponse, ListTasksRequest,
        ListTasksResponse, Operation, Request, SendMessageConfiguration, SendMessageRequest,
    },
    state::TaskState,
    task::{StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus},
};

/// Reads a text and asserts how it is written again.
#[track_caller]
fn check<T: FromJson + ToJson>(text: &str, written: &str) {
    let value: T = from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(to_string(&value), written);
}

#[track_caller]
fn refused<T: FromJson>(text: &str, expected: &str) {
    let error = from_str::<T>(text).err().expect("the text must be refused");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn names_are_written_in_camel_case_and_read_in_both() {
    check::<Message>(
        r#"{"message_id":"m","context_id":"c","task_id":"t","role":"ROLE_USER","parts":
            [{"url":"u","media_type":"a/b"}],"reference_task_ids":["r"]}"#,
        r#"{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER","parts":[{"url":"u","mediaType":"a/b"}],"referenceTaskIds":["r"]}"#,
    );
    refused::<Message>(
        r#"{"messageId":"a","message_id":"b"}"#,
        "`message_id`: the key stands twice in its object (byte 30)",
    );
}

#[test]
fn unknown_members_are_ignored_and_never_written() {
    check::<Part>(r#"{"kind":"text","text":"x","later":{"a":[1]}}"#, r#"{"text":"x"}"#);
    check::<StreamResponse>(
        r#"{"future":1,"message":{"messageId":"m","role":2,"parts":[{"text":"x"}],"generation":"7"}}"#,
        r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#,
    );
}

#[test]
fn enumerations_are_written_by_name_and_read_by_name_or_number() {
    for &state in TaskState::ALL {
        let written = format!(r#"{{"state":"{}"}}"#, state.as_str());
        check::<TaskStatus>(&written, &written);
        check::<TaskStatus>(&format!(r#"{{"state":{}}}"#, state.number()), &written);
    }
    refused::<TaskStatus>(
        r#"{"state":"working"}"#,
        "`state`: `working` is not one of TASK_STATE_UNSPECIFIED, TASK_STATE_SUBMITTED, \
         TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, \
         TASK_STATE_INPUT_REQUIRED, TASK_STATE_REJECTED, TASK_STATE_AUTH_REQUIRED",
    );
    assert!(from_str::<TaskStatus>(r#"{"state":9}"#).is_err());
}

/// Peers whose JSON comes from protobuf leave out an empty list, required or not; the last
/// chunk of an artifact may well have one.
#[test]
fn parts_left_out_are_none_except_in_a_request() {
    check::<TaskArtifactUpdateEvent>(
        r#"{"taskId":"t","contextId":"c","artifact":{"artifactId":"a"},"lastChunk":true}"#,
        r#"{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[]},"lastChunk":true}"#,
    );
    let text = r#"{"message":{"messageId":"m","role":"ROLE_USER"}}"#;
    let read = json::read_with(text, |reader| Request::read(Operation::SendMessage, reader));
    assert_eq!(read.unwrap_err().to_string(), "`message.parts`: needs at least one part");
}

#[test]
fn defaults_are_not_written_and_null_is_absent() {
    check::<TaskArtifactUpdateEvent>(
        r#"{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","name":"","description":null,
            "parts":[{"text":"x","filename":""}],"extensions":[]},"append":false,"lastChunk":null}"#,
        r#"{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}"#,
    );
    check::<Task>(
        r#"{"id":"t","contextId":"","status":{"state":2,"message":null,"timestamp":null},"artifacts":null,"history":[],"metadata":null}"#,
        r#"{"id":"t","status":{"state":"TASK_STATE_WORKING"}}"#,
    );
}

#[test]
fn a_history_length_of_zero_is_not_an_absent_one() {
    check::<GetTaskRequest>(r#"{"id":"t","historyLength":0}"#, r#"{"id":"t","historyLength":0}"#);
    check::<GetTaskRequest>(r#"{"id":"t","historyLength":null}"#, r#"{"id":"t"}"#);
    check::<SendMessageConfiguration>(r#"{"history_length":0}"#, r#"{"historyLength":0}"#);
    check::<ListTasksRequest>(r#"{"includeArtifacts":false}"#, r#"{"includeArtifacts":false}"#);
}

#[test]
fn integers_are_read_from_numbers_and_from_text() {
    for number in ["5", "\"5\"", "5.0", "5e0", "\"5\""] {
        check::<GetTaskRequest>(
            &format!(r#"{{"id":"t","historyLength":{number}}}"#),
            r#"{"id":"t","historyLength":5}"#,
        );
    }
    for number in ["5.5", "2147483648", "\"x\"", "\"\"", "\"inf\""] {
        refused::<GetTaskRequest>(
            &format!(r#"{{"id":"t","historyLength":{number}}}"#),
            "`historyLength`: expected a 32-bit integer",
        );
    }
}

#[test]
fn bytes_are_written_padded_and_read_in_either_alphabet() {
    for text in ["+/8=", "-_8=", "+/8", "-_8"] {
        check::<Part>(&format!(r#"{{"raw":"{text}"}}"#), r#"{"raw":"+/8="}"#);
    }
    refused::<Part>(r#"{"raw":"?"}"#, "`raw`: not base64: Invalid symbol 63, offset 0.");
}

#[test]
fn integers_of_any_size_stay_exact_in_data_and_metadata() {
    for number in ["9007199254740993", "-9223372036854775809", "123456789012345678901234567890"] {
        let part = format!(r#"{{"data":{{"n":{number}}},"metadata":{{"n":{number}}}}}"#);
        check::<Part>(&part, &part);
    }
}

#[test]
fn null_is_a_value_of_data_and_absence_elsewhere() {
    check::<Part>(r#"{"data":null}"#, r#"{"data":null}"#);
    check::<Part>(r#"{"data":null,"text":null}"#, r#"{"data":null}"#);
    refused::<Part>(r#"{"text":null}"#, "needs one of text, raw, url, data");
}

#[test]
fn a_oneof_has_exactly_one_member() {
    check::<Part>(r#"{"text":""}"#, r#"{"text":""}"#);
    refused::<Part>(r#"{"text":"x","url":"u"}"#, "has more than one of text, raw, url, data");
    refused::<StreamResponse>(
        "{}",
        "needs one of `task` `message` `statusUpdate` `artifactUpdate`",
    );
    let message = r#"{"messageId":"m","role":1,"parts":[{"text":"x"}]}"#;
    refused::<StreamResponse>(
        &format!(r#"{{"message":{message},"task":{{"id":"t","status":{{"state":1}}}}}}"#),
        "has more than one of `task` `message` `statusUpdate` `artifactUpdate`",
    );
}

#[test]
fn moments_are_written_in_utc_with_milliseconds() {
    check::<TaskStatus>(
        r#"{"state":1,"timestamp":"2026-08-20T11:00:00+02:00"}"#,
        r#"{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-08-20T09:00:00.000Z"}"#,
    );
    refused::<TaskStatus>(
        r#"{"state":1,"timestamp":"today"}"#,
        "`timestamp`: expected an RFC 3339 moment such as 2026-08-20T09:00:00.000Z",
    );
}

#[test]
fn a_page_of_tasks_always_has_its_four_members() {
    check::<ListTasksResponse>(
        "{}",
        r#"{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}"#,
    );
    check::<ListTaskPushNotificationConfigsResponse>(r#"{"configs":null}"#, r#"{"configs":[]}"#);
}

#[test]
fn required_members_of_a_card_are_always_written() {
    check::<AgentCard>(
        r#"{"name":"n"}"#,
        r#"{"name":"n","description":"","supportedInterfaces":[],"version":"","capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}"#,
    );
}

#[test]
fn a_missing_required_member_is_named_by_its_path() {
    refused::<SendMessageRequest>("{}", "`message`: is required");
    refused::<SendMessageRequest>(
        r#"{"message":{"role":"ROLE_USER","parts":[]}}"#,
        "`message.messageId`: is required",
    );
    refused::<SendMessageRequest>(
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"},{"text":7}]}}"#,
        "`message.parts[1].text`: expected a string, found a number",
    );
    refused::<Task>(r#"{"id":"t","status":{}}"#, "`status.state`: is required");
    refused::<Task>(r#"{"id":""}"#, "`id`: an identifier has 1 to 256 bytes, this has 0");
}

#[test]
fn requests_are_checked_beyond_their_shape() {
    let read = |operation, text: &str| {
        json::read_with(text, |reader| Request::read(operation, reader)).unwrap_err().to_string()
    };
    let send = |role: &str, parts: &str| {
        format!(r#"{{"message":{{"messageId":"m","role":{role},"parts":{parts}}}}}"#)
    };
    assert_eq!(
        read(Operation::SendMessage, &send("1", "[]")),
        "`message.parts`: needs at least one part"
    );
    assert_eq!(
        read(Operation::SendMessage, &send("0", r#"[{"text":"x"}]"#)),
        "`message.role`: must be ROLE_USER or ROLE_AGENT"
    );
    assert_eq!(
        read(Operation::GetTask, r#"{"id":"t","historyLength":-1}"#),
        "`historyLength`: must not be negative"
    );
    assert_eq!(
        read(Operation::ListTasks, r#"{"pageSize":101}"#),
        "`pageSize`: must be between 1 and 100"
    );
    assert_eq!(
        read(Operation::CreateTaskPushNotificationConfig, r#"{"url":"u"}"#),
        "`taskId`: is required"
    );
}

#[test]
fn the_types_work_with_serde_too() {
    let task = Task::new(
        TaskId::parse("t").unwrap(),
        ContextId::parse("c").unwrap(),
        TaskStatus { state: TaskState::Working, message: None, timestamp: None },
    );
    let value = serde_json::to_value(&task).unwrap();
    assert_eq!(value["status"]["state"], "TASK_STATE_WORKING");
    assert_eq!(serde_json::from_value::<Task>(value).unwrap(), task);
    assert_eq!(serde_json::from_str::<Task>(&to_string(&task)).unwrap(), task);
    let raw = Raw::from_value(&vec![1, 2]).unwrap();
    assert_eq!(raw.parse::<Vec<u8>>().unwrap(), [1, 2]);
}
