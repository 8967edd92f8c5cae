use nuncio_protocol::{
    ids::ArtifactId,
    json::Raw,
    message::{Message, Part},
    time::Timestamp,
};
use proptest::prelude::*;

use super::*;

fn at(seconds: i64) -> Timestamp {
    format!("2026-01-01T00:00:{seconds:02}Z").parse().expect("a moment")
}

fn task() -> Task {
    let status = TaskStatus::new(TaskState::Submitted, at(0));
    let (id, context) = (TaskId::parse("t"), ContextId::parse("c"));
    Task::new(id.expect("an id"), context.expect("an id"), status)
}

fn put(task: &Task, name: &str, texts: &[&str], append: bool) -> StreamResponse {
    let id = ArtifactId::parse(name).expect("an id");
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone().expect("it has one"),
        artifact: Artifact::new(id, texts.iter().map(|text| Part::text(*text)).collect()),
        append,
        last_chunk: false,
        metadata: None,
    })
}

fn become_(task: &Task, state: TaskState, message: Option<&str>) -> StreamResponse {
    let mut status = TaskStatus::new(state, at(1));
    if let Some(text) = message {
        let mut message = Message::user(text);
        message.message_id = nuncio_protocol::ids::MessageId::parse("m").expect("an id");
        status = status.with_message(message);
    }
    let context = task.context_id.clone().expect("it has one");
    StreamResponse::StatusUpdate(status_update(&task.id, &context, &status))
}

/// What a server makes of an event.
fn apply(task: &mut Task, event: &StreamResponse) {
    let mut seen = Seen {
        status: Some(task.status.clone()),
        artifacts: task.artifacts.clone(),
        metadata: task.metadata.clone(),
    };
    seen.add(event);
    task.artifacts = seen.artifacts;
    task.metadata = seen.metadata;
    task.status = seen.status.expect("it had one");
}

fn missed(before: &[StreamResponse], now: &Task) -> Vec<StreamResponse> {
    let mut seen = Seen::default();
    for event in before {
        seen.add(event);
    }
    seen.missed(now, None)
}

#[test]
fn whoever_has_seen_nothing_gets_the_task() {
    assert_eq!(missed(&[], &task()), [StreamResponse::Task(task())]);
}

#[test]
fn whoever_has_seen_all_gets_nothing_even_if_the_time_is_another() {
    let mut now = task();
    now.status.timestamp = Some(at(9));
    assert_eq!(missed(&[StreamResponse::Task(task())], &now), []);
}

#[test]
fn only_the_new_parts_of_an_artifact_come_and_the_status_last() {
    let begun = StreamResponse::Task(task());
    let first = put(&task(), "a", &["one"], false);
    let mut now = task();
    apply(&mut now, &first);
    apply(&mut now, &put(&task(), "a", &["two", "three"], true));
    apply(&mut now, &put(&task(), "b", &["other"], false));
    let done = become_(&task(), TaskState::Completed, Some("done"));
    apply(&mut now, &done);
    let mut expected =
        [put(&task(), "a", &["two", "three"], true), put(&task(), "b", &["other"], false), done];
    for event in &mut expected {
        if let StreamResponse::ArtifactUpdate(update) = event {
            update.last_chunk = true;
        }
    }
    assert_eq!(missed(&[begun, first], &now), expected);
}

#[test]
fn an_artifact_that_was_rewritten_comes_whole() {
    let mut now = task();
    apply(&mut now, &put(&task(), "a", &["new"], false));
    let before = [StreamResponse::Task(task()), put(&task(), "a", &["old", "older"], false)];
    assert_eq!(missed(&before, &now), [put(&task(), "a", &["new"], false)]);
}

#[test]
fn metadata_that_is_new_comes_once_and_with_the_status() {
    let mut now = task();
    now.metadata = Some(Object::from_members([("by", Raw::string("us"))]));
    let begun = StreamResponse::Task(task());
    let events = missed(std::slice::from_ref(&begun), &now);
    let [StreamResponse::StatusUpdate(update)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((&update.status, update.task_metadata()), (&task().status, now.metadata.clone()));
    assert_eq!(missed(&[begun, events[0].clone()], &now), []);
}

fn event() -> impl Strategy<Value = StreamResponse> {
    let names = prop::sample::select(vec!["a", "b", "c"]);
    let texts = prop::collection::vec(prop::sample::select(vec!["x", "y", "z"]), 1..3);
    let states = prop::sample::select(vec![TaskState::Working, TaskState::InputRequired]);
    let words = prop::option::of(prop::sample::select(vec!["one", "two"]));
    prop_oneof![
        (names, texts, any::<bool>()).prop_map(|(name, texts, append)| put(
            &task(),
            name,
            &texts,
            append
        )),
        (states, words).prop_map(|(state, word)| become_(&task(), state, word)),
    ]
}

proptest! {
    /// Wherever a stream is cut: what was seen and what was missed make the task as it is.
    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(
        events in prop::collection::vec(event(), 0..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut now = task();
        for event in &events {
            apply(&mut now, event);
        }
        let cut = cut.index(events.len() + 1);
        let mut reader = task();
        let mut seen = Seen::default();
        seen.add(&StreamResponse::Task(task()));
        for event in &events[..cut] {
            apply(&mut reader, event);
            seen.add(event);
        }
        for event in seen.missed(&now, None) {
            apply(&mut reader, &event);
            seen.add(&event);
        }
        prop_assert_eq!(&reader.artifacts, &now.artifacts);
        prop_assert!(is_same(&reader.status, &now.status));
        prop_assert_eq!(seen.missed(&now, None), vec![]);
    }
}
