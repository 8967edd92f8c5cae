//! Receivers that were registered in A2A 0.3.

use nuncio_client::webhook::Verifier;
use nuncio_protocol::{
    json::{Object, Raw},
    message::Message,
    state::TaskState,
    task::StreamResponse,
    version::Version,
};
use nuncio_testkit::webhook::Answer;

use crate::push::world::{World, call, check_order, header, open, with_secrets};

fn member(object: &Object, key: &str) -> String {
    object.get(key).as_ref().map(Raw::as_str).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn they_get_the_whole_task_as_of_every_event_in_the_words_of_0_3() {
    let world = World::start().await;
    // A retry in between makes the sender read the log anew.
    world.receiver.answer("/hook", [Answer::Status(200), Answer::Status(200), Answer::Status(500)]);
    let mut old = call();
    old.version = Version::V0_3;
    let config = with_secrets(world.webhook("/hook"));
    let task = open(&world.tasks, &old, "count 2", Some(config)).await;
    let requests = world.receiver.until("/hook", 5).await;
    check_order(&requests, 1, 4);
    let mut states = Vec::new();
    let verifier = Verifier::new("t0ken-of-ann").expect_task(task.clone());
    for request in &requests {
        assert_eq!(header(request, "content-type"), Some("application/json"));
        assert_eq!(header(request, "a2a-version"), Some("0.3"));
        let body = Object::parse_text(std::str::from_utf8(&request.body).unwrap()).unwrap();
        assert_eq!(member(&body, "kind"), r#""task""#);
        assert_eq!(member(&body, "id"), format!("\"{task}\""));
        let now = body.get("status").unwrap().as_object().unwrap();
        states.push(member(&now, "state"));
        let arrival = verifier.verify(&request.headers, &request.body).unwrap();
        assert!(matches!(arrival.event(), StreamResponse::Task(_)));
    }
    let expected = ["submitted", "working", "working", "working", "completed"];
    assert_eq!(states, expected.map(|state| format!("\"{state}\"")));
    // The last has what was said before in its history.
    let last = verifier.verify(&requests[4].headers, &requests[4].body).unwrap().into_event();
    let StreamResponse::Task(last) = last else { panic!("not a task") };
    assert_eq!(last.status.state, TaskState::Completed);
    let texts: Vec<String> = last.history.iter().map(Message::text).collect();
    assert_eq!(texts, ["count 2", "number 0", "number 1"]);
}

#[tokio::test]
async fn the_version_is_that_of_the_registration() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    let mut old = call();
    old.version = Version::V0_3;
    for (call, path) in [(&old, "/old"), (&call(), "/new")] {
        let mut config = world.webhook(path);
        config.task_id = Some(task.clone());
        world.tasks.create_push_config(call, config).await.unwrap();
    }
    world.say(&task, "end").await;
    let old = world.receiver.until("/old", 2).await;
    let new = world.receiver.until("/new", 2).await;
    check_order(&old, 2, 3);
    check_order(&new, 2, 3);
    assert_eq!(header(&old[0], "a2a-version"), Some("0.3"));
    assert_eq!(header(&new[0], "a2a-version"), Some("1.0"));
}
