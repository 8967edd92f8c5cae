use super::*;
use crate::{json::to_string, state::TaskState};

#[track_caller]
fn part(json: &str) -> Part {
    read_with(json, |reader| Loose::default().part(reader)).unwrap()
}

/// Reads a part and checks what it is in the form of 1.0.
#[track_caller]
fn check(json: &str, v1: &str) {
    assert_eq!(to_string(&part(json)), v1);
}

#[track_caller]
fn refused(json: &str, error: &str) {
    let found = read_with(json, |reader| Loose::default().part(reader)).unwrap_err();
    assert_eq!(found.to_string(), error);
}

#[test]
fn parts_are_known_by_kind_by_type_and_by_member() {
    for text in
        [r#"{"kind":"text","text":"x"}"#, r#"{"type":"text","text":"x"}"#, r#"{"text":"x"}"#]
    {
        check(text, r#"{"text":"x"}"#);
    }
    check(r#"{"text":"x","kind":"text","data":null,"file":null}"#, r#"{"text":"x"}"#);
    check(r#"{"kind":"data","data":null}"#, r#"{"data":null}"#);
    check(r#"{"data":{"k":9007199254740993}}"#, r#"{"data":{"k":9007199254740993}}"#);
}

#[test]
fn files_are_read_in_every_form() {
    let url = r#"{"url":"https://h/x","filename":"x","mediaType":"a/b"}"#;
    for json in [
        r#"{"kind":"file","file":{"uri":"https://h/x","name":"x","mimeType":"a/b"}}"#,
        r#"{"type":"file","uri":"https://h/x","name":"x","media_type":"a/b"}"#,
        r#"{"file":{"fileWithUri":"https://h/x","mimeType":"a/b","name":"x"}}"#,
        r#"{"url":"https://h/x","filename":"x","media_type":"a/b"}"#,
        r#"{"file":{"uri":"https://h/x"},"name":"x","mimeType":"a/b"}"#,
    ] {
        check(json, url);
    }
    for json in [
        r#"{"kind":"file","file":{"bytes":"aGk="}}"#,
        r#"{"type":"file","bytes_data":"aGk"}"#,
        r#"{"raw":"aGk="}"#,
        r#"{"file":{"fileWithBytes":"aGk="}}"#,
    ] {
        check(json, r#"{"raw":"aGk="}"#);
    }
}

#[test]
fn a_discriminator_that_contradicts_its_part_is_refused() {
    refused(
        r#"{"kind":"data","text":"x"}"#,
        "`kind`: says `data`, but the part holds something else",
    );
    refused(
        r#"{"type":"text","data":{}}"#,
        "`type`: says `text`, but the part holds something else",
    );
    refused(r#"{"kind":"image","text":"x"}"#, "`kind`: `image` is not one of text, file, data");
    refused(
        r#"{"kind":"text","type":"text","text":"x"}"#,
        "`type`: is given twice, in two spellings",
    );
    refused(r#"{"text":"x","data":{}}"#, "has more than one of text, file, data");
    refused(r#"{"kind":"text"}"#, "needs one of text, file, data");
    refused(r#"{"file":{"name":"x"}}"#, "`file`: needs one of bytes, uri");
    refused(r#"{"file":{"bytes":"%"}}"#, "`file.bytes`: not base64: Invalid symbol 37, offset 0.");
    refused(
        r#"{"uri":"u","mimeType":"a/b","mime_type":"a/b"}"#,
        "`mime_type`: is given twice, in two spellings",
    );
}

#[test]
fn wrapped_values_are_taken_out_again() {
    for value in ["null", "7", "\"x\"", "[1]"] {
        let (object, wrapped) = wrap_data(&Raw::parse_text(value).unwrap());
        let metadata = wrapped_metadata(None, wrapped).unwrap();
        let json = format!(
            r#"{{"kind":"data","data":{},"metadata":{}}}"#,
            object.as_str(),
            metadata.as_str()
        );
        check(&json, &format!(r#"{{"data":{value}}}"#));
    }
}

#[test]
fn a_flag_does_not_unwrap_what_was_not_wrapped() {
    for data in [r#"{"value":1,"more":2}"#, "{}", r#"{"other":1}"#] {
        let json = format!(r#"{{"data":{data},"metadata":{{"data_part_compat":true}}}}"#);
        check(&json, &json);
    }
}

#[test]
fn states_are_known_in_every_spelling() {
    for (spellings, state) in [
        ("submitted created TASK_STATE_SUBMITTED", TaskState::Submitted),
        ("input-required input_required TASK_STATE_INPUT_REQUIRED", TaskState::InputRequired),
        ("canceled cancelled TASK_STATE_CANCELLED TASK_STATE_CANCELED", TaskState::Canceled),
        ("auth-required auth_required", TaskState::AuthRequired),
        ("unknown", TaskState::Unspecified),
    ] {
        for name in spellings.split(' ') {
            let read = read_with(&format!("\"{name}\""), read_state);
            assert_eq!(read.unwrap(), state, "{name}");
        }
    }
}

#[test]
fn a_moment_without_offset_is_utc() {
    let read = read_with("\"2026-08-20T09:00:00.123456\"", read_timestamp).unwrap();
    assert_eq!(read.to_string(), "2026-08-20T09:00:00.123456Z");
}

#[track_caller]
fn event(json: &str) -> Result<StreamResponse, Error> {
    read_with(json, |reader| Loose::default().event(reader))
}

#[test]
fn events_without_kind_are_known_by_their_members() {
    assert!(matches!(
        event(r#"{"task_id":"t","status":{"state":"working"},"final":false}"#),
        Ok(StreamResponse::StatusUpdate(update)) if update.context_id.as_str() == "t"
    ));
    assert!(matches!(
        event(r#"{"task_id":"t","artifact":{"parts":[{"type":"text","text":"x"}]},"append":true}"#),
        Ok(StreamResponse::ArtifactUpdate(update))
            if update.append && update.artifact.artifact_id.as_str() == "artifact-0"
    ));
    assert!(matches!(event(r#"{"id":"t","status":"created"}"#), Ok(StreamResponse::Task(_))));
    let message = event(r#"{"role":"agent","parts":[],"messageId":"m"}"#);
    assert!(matches!(message, Ok(StreamResponse::Message(_))));
    assert!(event("{}").is_err());
    assert_eq!(event(r#"{"kind":"odd"}"#).unwrap_err().path(), "kind");
    assert_eq!(
        event(r#"{"kind":"task","id":"t","status":{"state":"done"}}"#).unwrap_err().path(),
        "status.state"
    );
}

#[test]
fn flat_artifacts_become_parts() {
    // M-30
    let task = read_with(
        r#"{"id":"t","status":"completed","artifacts":[{"type":"text/plain","content":"done"},
            {"type":"application/json","content":{"page_path":"/k"}}]}"#,
        |reader| Loose::default().task(reader),
    )
    .unwrap();
    assert_eq!(
        to_string(&task.artifacts[0].parts),
        r#"[{"text":"done","mediaType":"text/plain"}]"#
    );
    assert_eq!(
        to_string(&task.artifacts[1].parts),
        r#"[{"data":{"page_path":"/k"},"mediaType":"application/json"}]"#
    );
}

#[test]
fn waiting_is_understood_in_both_spellings() {
    let waits = |configuration: &str| {
        let json = format!(
            r#"{{"message":{{"messageId":"m","role":"user","parts":[]}},"configuration":{configuration}}}"#
        );
        !read_with(&json, |reader| Loose::default().send(reader)).unwrap().returns_immediately()
    };
    assert!(waits("{}") && waits("null") && waits(r#"{"blocking":true}"#));
    assert!(waits(r#"{"return_immediately":false}"#) && waits(r#"{"blocking":null}"#));
    assert!(!waits(r#"{"blocking":false}"#) && !waits(r#"{"returnImmediately":true}"#));
}

#[test]
fn of_several_schemes_the_first_is_kept() {
    let json = r#"{"url":"u","authentication":{"schemes":["Bearer","Basic"],"credentials":"s"}}"#;
    let config = read_with(json, read_push_config).unwrap();
    let authentication = config.authentication.unwrap();
    assert_eq!((&*authentication.scheme, &*authentication.credentials), ("Bearer", "s"));
}

#[test]
fn what_must_be_there_is_named() {
    let missing = |json: &str| {
        read_with(json, |reader| Loose::default().send(reader)).unwrap_err().to_string()
    };
    assert_eq!(missing("{}"), "`message`: is required");
    assert_eq!(
        missing(r#"{"message":{"role":"user","parts":[]}}"#),
        "`message.messageId`: is required"
    );
    assert_eq!(
        missing(r#"{"message":{"messageId":"m","parts":[]}}"#),
        "`message.role`: is required"
    );
}

#[test]
fn parts_left_out_are_none() {
    for parts in ["", r#","parts":null"#, r#","parts":[]"#] {
        let json = format!(r#"{{"messageId":"m","role":"user"{parts}}}"#);
        let message = read_with(&json, |reader| Loose::default().message(reader)).unwrap();
        assert!(message.parts.is_empty());
        let json = format!(r#"{{"artifactId":"a"{parts}}}"#);
        let artifact = read_with(&json, |reader| Loose::default().artifact(0, reader)).unwrap();
        assert!(artifact.parts.is_empty());
    }
}

#[track_caller]
fn wrapped(json: &str) -> Result<StreamResponse, Error> {
    read_with(json, |reader| Loose::default().wrapped_event(reader))
}

#[test]
fn events_are_read_bare_and_wrapped() {
    let update = r#"{"taskId":"t","contextId":"c","status":{"state":"working"}}"#;
    for json in [
        update.to_owned(),
        format!(r#"{{"statusUpdate":{update}}}"#),
        format!(r#"{{"task":null,"status_update":{update}}}"#),
    ] {
        assert!(matches!(wrapped(&json), Ok(StreamResponse::StatusUpdate(_))), "{json}");
    }
    let message = r#"{"messageId":"m","role":"ROLE_AGENT","content":[]}"#;
    let json = format!(r#"{{"msg":{message}}}"#);
    assert!(matches!(wrapped(&json), Ok(StreamResponse::Message(_))));
    let both = format!(r#"{{"message":{message},"statusUpdate":{update}}}"#);
    assert_eq!(
        wrapped(&both).unwrap_err().to_string(),
        "`statusUpdate`: stands beside another event"
    );
    assert!(wrapped(r#"{"task":null}"#).is_err());
    assert_eq!(
        wrapped(r#"{"task":{"id":"t","status":{}}}"#).unwrap_err().path(),
        "task.status.state"
    );
}

#[test]
fn only_a_task_or_a_message_answers_a_message() {
    let answer = |json| read_with(json, |reader| Loose::default().answer(reader));
    assert!(answer(r#"{"kind":"task","id":"t","status":{"state":"working"}}"#).is_ok());
    let event = answer(r#"{"taskId":"t","status":{"state":"working"}}"#);
    assert_eq!(event.unwrap_err().what(), "is an event; expected a task or a message");
}

#[test]
fn webhooks_are_read_with_their_task_in_every_form() {
    let whole = r#"{"tenant":"x","id":"c","taskId":"t","url":"u","token":"s"}"#;
    assert_eq!(to_string(&read_with(whole, read_task_push_config).unwrap()), whole);
    let flat = r#"{"id":"c","taskId":"t","url":"u"}"#;
    for json in [
        flat,
        r#"{"taskId":"t","pushNotificationConfig":{"id":"c","url":"u"}}"#,
        r#"{"name":"tasks/t/pushNotificationConfigs/c","pushNotificationConfig":{"url":"u"}}"#,
        r#"{"name":"tasks/t/pushNotificationConfigs/c","push_notification_config":{"id":"c","url":"u"}}"#,
        r#"{"parent":"tasks/t","configId":"c","config":{"pushNotificationConfig":{"url":"u"}}}"#,
        r#"{"parent":"tasks/t","config_id":"c","config":{"name":"","pushNotificationConfig":{"id":"c","url":"u"}}}"#,
    ] {
        let config = read_with(json, read_task_push_config).unwrap();
        assert_eq!(to_string(&config), flat, "{json}");
    }
    let page = read_with(&format!("[{flat}]"), read_push_configs).unwrap();
    assert_eq!(read_with(&format!(r#"{{"configs":[{flat}]}}"#), read_push_configs).unwrap(), page);
    assert_eq!(page.configs.len(), 1);
    assert!(read_with("null", read_push_configs).unwrap().configs.is_empty());
    assert!(read_with("{}", read_push_configs).unwrap().configs.is_empty());
}

#[test]
fn a_webhook_that_contradicts_its_name_is_refused() {
    for (json, path) in [
        (r#"{"taskId":"x","name":"tasks/t","pushNotificationConfig":{"url":"u"}}"#, "name"),
        (
            r#"{"name":"tasks/t/pushNotificationConfigs/x","pushNotificationConfig":{"id":"c","url":"u"}}"#,
            "name",
        ),
        (r#"{"parent":"tasks/x","config":{"taskId":"t","url":"u"}}"#, "parent"),
        (r#"{"configId":"x","config":{"id":"c","url":"u"}}"#, "configId"),
        (r#"{"taskId":"t","pushNotificationConfig":{}}"#, "pushNotificationConfig.url"),
        (r#"{"taskId":"t","pushNotificationConfig":null}"#, "pushNotificationConfig"),
    ] {
        assert_eq!(read_with(json, read_task_push_config).unwrap_err().path(), path, "{json}");
    }
}

#[test]
fn a_page_of_tasks_may_be_a_bare_list() {
    let tasks = r#"[{"id":"t","status":{"state":"working"}}]"#;
    let read = |json: &str| read_with(json, |reader| Loose::default().tasks(reader)).unwrap();
    let page = read(&format!(r#"{{"tasks":{tasks},"next_page_token":"n","totalSize":9}}"#));
    assert_eq!((page.next_page_token.as_str(), page.total_size), ("n", 9));
    assert_eq!(read(tasks).tasks, page.tasks);
}
