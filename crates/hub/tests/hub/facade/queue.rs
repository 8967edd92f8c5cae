//! Messages for agents that are busy (MD-33, MG-10, MG-11, T-11).

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{
    Reply, World,
    carried::{Disk, Process, message},
    stub::{Act, Stub},
};

fn busy(retry_after: u32) -> Act {
    let headers = format!("retry-after: {retry_after}\r\n");
    Act::status("503 Service Unavailable", &headers, r#"{"busy": true}"#)
}

#[track_caller]
fn queued(reply: &Reply) -> String {
    assert_eq!(reply.status, 202, "{}", reply.body);
    assert_eq!(reply.at("/queued"), true);
    assert!(reply.at("/message").as_str().is_some_and(|text| !text.is_empty()));
    // MG-21: it is an answer of JSON-RPC, too.
    assert_eq!(reply.at("/result/status/state"), "submitted");
    assert_eq!(reply.at("/result/id"), reply.at("/queue_id"));
    reply.at("/queue_id").as_str().expect("an id").to_owned()
}

/// MG-11: the end of one call makes room for the next, without any heartbeat.
#[tokio::test]
async fn t11_a_message_for_a_busy_agent_is_kept_and_delivered_once() {
    let world = World::carrying(|settings| settings.limits.in_flight = 1).await;
    let gate = Arc::new(Semaphore::new(0));
    let acts = ["one", "two", "three"].map(|text| Act::after(&gate, Act::Say(text)));
    let stub = Stub::start(acts).await;
    let pm = world.employ("pm", &stub, None).await;
    let first = async { world.say(&pm, "first").await };
    let rest = async {
        stub.has(1).await;
        let second = world.say(&pm, "second").await;
        let third = world.say(&pm, "third").await;
        assert_eq!((second.at("/queue_depth"), third.at("/queue_depth")), (json!(1), json!(2)));
        assert_eq!(stub.texts(), ["first"]);
        let ids = (queued(&second), queued(&third));
        gate.add_permits(3);
        ids
    };
    let (first, (second, third)) = tokio::join!(first, rest);
    assert_eq!(first.check(200).at("/result/parts/0/text"), "one");
    let text = |task: &Value| task["status"]["message"]["parts"][0]["text"].to_string();
    let second = text(&world.settled(&second, "completed").await);
    let third = text(&world.settled(&third, "completed").await);
    // Calls that came within the same moment may go in either order.
    assert!([second.as_str(), third.as_str()].contains(&"\"two\""), "{second}, {third}");
    assert_ne!(second, third);
    let mut sent = stub.texts();
    sent.sort();
    assert_eq!(sent, ["first", "second", "third"]);
}

/// MG-10: a message that comes back to the queue is not lost there.
#[tokio::test]
async fn t11_an_agent_that_says_it_is_busy_gets_the_message_later_and_once() {
    let world =
        World::carrying(|settings| settings.queueing.busy = Duration::from_millis(50)).await;
    let stub = Stub::start([busy(0), busy(0), Act::Say("now")]).await;
    let pm = world.employ("pm", &stub, None).await;
    let id = queued(&world.say(&pm, "please").await);
    let task = world.settled(&id, "completed").await;
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "now");
    let sent = stub.bodies();
    assert_eq!(stub.texts(), ["please"; 3]);
    let names = sent.iter().map(|body| body["params"]["message"]["messageId"].clone());
    let names: Vec<Value> = names.collect();
    assert!(names.iter().all(|name| *name == names[0]), "it is the same message");
}

/// MG-11: a heartbeat makes room, too.
#[tokio::test]
async fn a_heartbeat_that_says_there_is_room_drains_the_queue() {
    let world = World::carrying(|_| ()).await;
    let stub = Stub::start([busy(3_000), Act::Say("now")]).await;
    let pm = world.employ("pm", &stub, None).await;
    let id = queued(&world.say(&pm, "please").await);
    let full = json!({"active_tasks": 1, "runtime_metadata": {"max_concurrent_tasks": 1}});
    world.beat(&pm, full.clone()).await;
    assert_eq!(stub.texts().len(), 1);
    world.beat(&pm, json!({"active_tasks": 0})).await;
    world.settled(&id, "completed").await;
    assert_eq!(stub.texts().len(), 2);

    // And one that says there is none is believed before anything is sent.
    world.beat(&pm, full).await;
    let id = queued(&world.say(&pm, "later").await);
    assert_eq!(stub.texts().len(), 2);
    world.beat(&pm, json!({"active_tasks": 0})).await;
    world.settled(&id, "completed").await;
    assert_eq!(stub.texts(), ["please", "please", "later"]);
}

#[tokio::test]
async fn md33_an_agent_that_is_always_busy_is_given_up() {
    let world = World::carrying(|settings| {
        settings.queueing.attempts = 3;
        settings.queueing.busy = Duration::from_millis(50);
    })
    .await;
    let stub = Stub::start(std::iter::repeat_n(busy(0), 9)).await;
    let pm = world.employ("pm", &stub, None).await;
    let id = queued(&world.say(&pm, "please").await);
    let task = world.settled(&id, "failed").await;
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "the agent was busy 3 times");
    assert_eq!(stub.texts().len(), 3);
}

#[tokio::test]
async fn md33_a_message_waits_no_longer_than_it_may() {
    let world = World::carrying(|settings| {
        settings.queueing.expiry = Duration::from_millis(300);
    })
    .await;
    let stub = Stub::start([busy(3_000)]).await;
    let pm = world.employ("pm", &stub, None).await;
    let id = queued(&world.say(&pm, "please").await);
    world.settled(&id, "failed").await;
    assert_eq!(stub.texts().len(), 1);
}

#[tokio::test]
async fn md32_who_finds_the_queue_full_is_told_to_come_back() {
    let world = World::carrying(|settings| {
        settings.limits.in_flight = 1;
        settings.limits.queue = 1;
    })
    .await;
    let gate = Arc::new(Semaphore::new(0));
    let stub = Stub::start([Act::after(&gate, Act::Say("one"))]).await;
    let pm = world.employ("pm", &stub, None).await;
    let first = async { world.say(&pm, "first").await };
    let rest = async {
        stub.has(1).await;
        queued(&world.say(&pm, "second").await);
        let third = world.say(&pm, "third").await;
        assert_eq!(third.check(503).at("/busy"), true);
        assert_eq!(
            (third.at("/retry_after"), third.header("retry-after")),
            (json!(30), Some("30"))
        );
        gate.add_permits(1);
    };
    tokio::join!(first, rest);
    stub.has(2).await;
    assert_eq!(stub.texts(), ["first", "second"]);
}

/// What does not fit into the queue's memory is not promised.
#[tokio::test]
async fn a_call_with_too_much_metadata_is_not_kept() {
    let world = World::carrying(|_| ()).await;
    let stub = Stub::start([busy(60)]).await;
    let pm = world.employ("pm", &stub, None).await;
    let mut body = message("please");
    body["params"]["metadata"] = json!({"history": "x".repeat(100_000)});
    let reply = world.post(&pm, &body.to_string()).await;
    assert_eq!(reply.check(503).at("/busy"), true);
    assert_eq!(stub.texts().len(), 1);
}

/// What a message brings along is not lost while it waits.
#[tokio::test]
async fn t11_a_queued_message_survives_a_kill_and_is_delivered_once() {
    fn change(settings: &mut nuncio_hub::gateway::Settings) {
        settings.queueing.busy = Duration::from_secs(600);
    }
    let disk = Disk::default();
    let stub = Stub::start([busy(600), Act::Say("after all")]).await;
    let first = Process::start(&disk, change).await;
    let pm = first.world.employ("pm", &stub, None).await;
    let mut body = message("please");
    body["params"]["metadata"] = json!({"history": ["before"]});
    let id = queued(&first.world.post(&pm, &body.to_string()).await);
    first.kill();

    let second = Process::start(&disk, change).await;
    second.world.settled(&id, "completed").await;
    assert_eq!(stub.texts(), ["please", "please"], "refused once, and done once");
    let sent = stub.bodies();
    assert_eq!(sent[1]["params"]["metadata"]["history"], json!(["before"]));
    assert_eq!(sent[0]["params"]["message"], sent[1]["params"]["message"]);
}

/// Nobody knows whether the agent has got it, so nobody sends it again.
#[tokio::test]
async fn t11_a_message_is_not_sent_twice_when_the_hub_is_killed_after_it_was_handed_over() {
    fn change(settings: &mut nuncio_hub::gateway::Settings) {
        settings.limits.in_flight = 1;
    }
    let disk = Disk::default();
    let never = Arc::new(Semaphore::new(0));
    let once = Arc::new(Semaphore::new(0));
    let acts = [Act::after(&once, Act::Say("one")), Act::after(&never, Act::Say("two"))];
    let stub = Stub::start(acts).await;
    let first = Process::start(&disk, change).await;
    let pm = first.world.employ("pm", &stub, None).await;
    let begun = async { first.world.say(&pm, "first").await };
    let rest = async {
        stub.has(1).await;
        let id = queued(&first.world.say(&pm, "second").await);
        once.add_permits(1);
        stub.has(2).await;
        id
    };
    let (_, id) = tokio::join!(begun, rest);
    first.kill();

    let second = Process::start(&disk, change).await;
    let task = second.world.settled(&id, "failed").await;
    let text = task["status"]["message"]["parts"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("INTERRUPTED"), "{text}");
    assert_eq!(stub.texts(), ["first", "second"]);
}

/// M-16, MG-12: who may call whom is asked again when the message is handed over.
#[tokio::test]
async fn who_may_no_longer_call_an_agent_has_nothing_delivered() {
    let world = World::carrying(|_| ()).await;
    let stub = Stub::start([busy(3_000)]).await;
    let lead = world.add("lead", None).await;
    let pm = world.employ("pm", &stub, Some(&lead)).await;
    let dev = world.add("dev", Some(&lead)).await;
    let path = format!("/workspaces/{}/a2a", pm.id());
    let reply = world.by(&dev.token, "POST", &path, &message("please").to_string()).await;
    let id = queued(&reply);
    let up = format!("/workspaces/{}", dev.id());
    world.admin("PATCH", &up, r#"{"parent_id":null}"#).await.check(200);
    world.beat(&pm, json!({"active_tasks": 0})).await;
    // Who may not call it does not even see what became of it.
    world.by(&dev.token, "GET", &format!("/tasks/{id}"), "").await.check(404);
    let path = format!("/api/v1/tasks/{id}");
    loop {
        let reply = world.admin("GET", &path, "").await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        if reply.at("/state") == "TASK_STATE_REJECTED" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(stub.texts(), ["please"]);
}

#[tokio::test]
async fn md33_an_administrator_drops_what_is_stale() {
    // All that happens here happened an hour and a half ago.
    let world = World::carrying_as_of(Duration::from_secs(5_400)).await;
    let stub = Stub::start([busy(3_000)]).await;
    let pm = world.employ("pm", &stub, None).await;
    let other = world.add("other", None).await;
    let id = queued(&world.say(&pm, "please").await);
    let path = "/admin/a2a-queue/drop-stale";
    world.by(&pm.token, "POST", path, "").await.check(403);
    for wrong in ["0", "-5", "abc"] {
        let path = format!("{path}?max_age_minutes={wrong}");
        world.admin("POST", &path, "").await.check(400);
    }
    for query in ["?max_age_minutes=120".to_owned(), format!("?workspace_id={}", other.id())] {
        let reply = world.admin("POST", &format!("{path}{query}"), "").await;
        assert_eq!(reply.check(200).body, r#"{"dropped":0}"#, "{query}");
    }
    let reply = world.admin("POST", &format!("{path}?workspace_id={}", pm.id()), "").await;
    assert_eq!(reply.check(200).body, r#"{"dropped":1}"#);
    let task = world.settled(&id, "canceled").await;
    let text = &task["status"]["message"]["parts"][0]["text"];
    assert_eq!(text, "canceled before the agent was asked");
    world.beat(&pm, json!({"active_tasks": 0})).await;
    world.say(&pm, "fresh").await.check(200);
    assert_eq!(stub.texts(), ["please", "fresh"]);
}

/// A caller can take back what waits at any time.
#[tokio::test]
async fn a_message_that_waits_is_taken_back_by_its_caller() {
    let world = World::carrying(|_| ()).await;
    let stub = Stub::start([busy(3_000)]).await;
    let pm = world.employ("pm", &stub, None).await;
    let id = queued(&world.say(&pm, "please").await);
    let cancel = json!({"method": "tasks/cancel", "params": {"id": id}});
    let reply = world.post(&pm, &cancel.to_string()).await;
    assert_eq!(reply.check(200).at("/result/status/state"), "canceled");
    assert_eq!(stub.texts(), ["please"]);
}

/// The queue is for everybody who wants it, not only for molecule.
#[tokio::test]
async fn any_caller_may_have_its_call_kept() {
    let world = World::carrying(|_| ()).await;
    let stub = Stub::start([busy(3_000), busy(3_000), Act::Say("now")]).await;
    let pm = world.employ("pm", &stub, None).await;
    let body = json!({"message": {
        "messageId": "m", "role": "ROLE_USER", "parts": [{"text": "please"}]
    }})
    .to_string();
    let bearer = format!("Bearer {}", world.admin);
    let plain = [("authorization", bearer.as_str()), ("a2a-version", "1.0")];
    let refused = world.ask("POST", "/agents/pm/message:send", &plain, &body).await;
    assert_eq!(refused.status, 503, "who does not ask for it is refused: {}", refused.body);
    let wish = ("a2a-extensions", "urn:nuncio:extension:queue:v1");
    let reply =
        world.ask("POST", "/agents/pm/message:send", &[plain[0], plain[1], wish], &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.header(wish.0), Some(wish.1), "the extension is active");
    assert_eq!(reply.at("/task/status/state"), "TASK_STATE_SUBMITTED");
    assert_eq!(reply.at("/task/status/message/metadata/queued"), 1);
    let id = reply.at("/task/id").as_str().unwrap().to_owned();
    assert!(!stub.head().contains("extension:queue"), "it is no wish to the agent");
    world.beat(&pm, json!({"active_tasks": 0})).await;
    world.settled(&id, "completed").await;
    assert_eq!(stub.texts().len(), 3);
}
