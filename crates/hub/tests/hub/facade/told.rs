//! What becomes of messages that come by the proxy, told to whoever listens (MD-50).

use std::{sync::Arc, time::Duration};

use nuncio_hub::{gateway::Settings, hub};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, net::TcpStream, sync::Semaphore};

use super::{
    World,
    carried::{Disk, message},
    discretion::next_of,
    live::listen,
    stub::{Act, Stub},
};

/// The text of an answer that was told.
fn text_of(event: &Value) -> &Value {
    let result = &event["payload"]["response_body"]["result"];
    let parts = result.pointer("/artifacts/0/parts").or_else(|| result.pointer("/parts"));
    let parts = parts.or_else(|| result.pointer("/status/message/parts"));
    &parts.unwrap_or_else(|| panic!("{event}"))[0]["text"]
}

#[tokio::test]
async fn md50_the_canvas_hears_what_an_agent_was_asked_and_has_answered() {
    let world = World::carrying(|_| ()).await;
    let stub = Stub::start([Act::Say("built")]).await;
    let pm = world.employ("pm", &stub, None).await;
    let mut canvas = listen(&world, &world.admin).await;
    world.say(&pm, "build it").await.check(200);
    let activity = next_of(&mut canvas, "ACTIVITY_LOGGED").await;
    assert_eq!(activity["workspace_id"], pm.id().as_str());
    let payload = &activity["payload"];
    for (member, expected) in [
        ("activity_type", json!("a2a_receive")),
        ("method", json!("message/send")),
        ("summary", json!("build it")),
        ("status", json!("ok")),
        ("source_id", Value::Null),
        ("target_id", json!(pm.id().as_str())),
    ] {
        assert_eq!(payload[member], expected, "{member}: {payload}");
    }
    assert!(payload["duration_ms"].is_u64(), "{payload}");
    let answer = next_of(&mut canvas, "A2A_RESPONSE").await;
    assert_eq!(answer["workspace_id"], pm.id().as_str());
    assert_eq!(answer["payload"]["method"], "message/send");
    assert_eq!(text_of(&answer), "built");
}

#[tokio::test]
async fn md31_an_answer_is_told_also_if_whoever_asked_has_left() {
    let world = World::carrying(|_| ()).await;
    let gate = Arc::new(Semaphore::new(0));
    let stub = Stub::start([Act::after(&gate, Act::Say("built"))]).await;
    let pm = world.employ("pm", &stub, None).await;
    let mut canvas = listen(&world, &world.admin).await;
    let body = message("build it").to_string();
    let request = format!(
        "POST /workspaces/{}/a2a HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        pm.id(),
        world.admin,
        body.len()
    );
    let mut browser = TcpStream::connect(world.address).await.expect("it listens");
    browser.write_all(request.as_bytes()).await.expect("it reads");
    stub.has(1).await;
    drop(browser);
    gate.add_permits(1);
    assert_eq!(text_of(&next_of(&mut canvas, "A2A_RESPONSE").await), "built");
}

#[tokio::test]
async fn md50_the_answer_to_a_message_that_was_kept_is_told_when_it_comes() {
    let world =
        World::carrying(|settings| settings.queueing.busy = Duration::from_millis(50)).await;
    let busy = Act::status("503 Service Unavailable", "retry-after: 0\r\n", r#"{"busy": true}"#);
    let stub = Stub::start([busy, Act::Say("now")]).await;
    let pm = world.employ("pm", &stub, None).await;
    let mut canvas = listen(&world, &world.admin).await;
    let kept = world.say(&pm, "please").await;
    assert_eq!(kept.check(202).at("/queued"), true);
    let event = next_of(&mut canvas, "A2A_RESPONSE").await;
    assert_eq!(event["payload"]["task_id"], kept.at("/queue_id"));
    assert_eq!(text_of(&event), "now");
}

/// The agent asks before it works: that is what becomes of the message, for now.
#[tokio::test]
async fn md50_a_question_about_a_message_that_was_kept_is_told_when_it_is_asked() {
    let world =
        World::carrying(|settings| settings.queueing.busy = Duration::from_millis(50)).await;
    let busy = Act::status("503 Service Unavailable", "retry-after: 0\r\n", r#"{"busy": true}"#);
    let stub = Stub::start([busy, asking()]).await;
    let pm = world.employ("pm", &stub, None).await;
    let mut canvas = listen(&world, &world.admin).await;
    let kept = world.say(&pm, "please").await;
    assert_eq!(kept.check(202).at("/queued"), true);
    let event = next_of(&mut canvas, "A2A_RESPONSE").await;
    assert_eq!(event["payload"]["task_id"], kept.at("/queue_id"));
    let status = &event["payload"]["response_body"]["result"]["status"];
    assert_eq!(status["state"], "input-required", "{event}");
}

/// Answers with a task that waits for its caller.
fn asking() -> Act {
    Act::result(&json!({
        "kind": "task", "id": "t-1", "contextId": "c-1",
        "status": { "state": "input-required", "message": {
            "kind": "message", "messageId": "q-1", "role": "agent",
            "parts": [{ "kind": "text", "text": "which one?" }],
        } },
    }))
}

#[tokio::test]
async fn md50_a_message_that_is_sent_again_is_not_told_again() {
    let world = World::carrying(|_| ()).await;
    let stub = Stub::start([Act::Say("built"), Act::Say("tested")]).await;
    let pm = world.employ("pm", &stub, None).await;
    let mut canvas = listen(&world, &world.admin).await;
    let named = |id: &str, text: &str| {
        let mut body = message(text);
        body["params"]["message"]["messageId"] = id.into();
        body.to_string()
    };
    for body in [named("m-1", "build it"), named("m-1", "build it"), named("m-2", "test it")] {
        world.post(&pm, &body).await.check(200);
    }
    assert_eq!(stub.texts(), ["build it", "test it"]);
    for expected in ["built", "tested"] {
        assert_eq!(text_of(&next_of(&mut canvas, "A2A_RESPONSE").await), expected);
    }
}

#[tokio::test]
async fn no_more_tasks_are_followed_than_may_be() {
    let busy = |settings: &mut Settings| settings.queueing.busy = Duration::from_secs(600);
    let one = |settings: &mut hub::Settings| settings.followed = 1;
    let (hub, world) = World::carrier(Disk::default(), one, busy, |builder| builder).await;
    let world = world.on(|listener| nuncio_hub::serve(hub, listener)).await;
    let refusal = || Act::status("503 Service Unavailable", "", r#"{"busy": true}"#);
    let stub = Stub::start([refusal(), refusal()]).await;
    let pm = world.employ("pm", &stub, None).await;
    let mut canvas = listen(&world, &world.admin).await;
    let kept = world.say(&pm, "first").await;
    let left = world.say(&pm, "second").await;
    for reply in [&left, &kept] {
        let cancel = json!({ "method": "tasks/cancel", "params": { "id": reply.at("/queue_id") } });
        world.post(&pm, &cancel.to_string()).await.check(200);
    }
    let event = next_of(&mut canvas, "A2A_RESPONSE").await;
    assert_eq!(event["payload"]["task_id"], kept.at("/queue_id"), "the second is not told of");
}

/// What got nowhere is told each time that it is tried.
#[tokio::test]
async fn md50_a_message_that_failed_is_told_again_when_it_is_sent_again() {
    let world = World::carrying(|_| ()).await;
    let broken = Act::status("500 Internal Server Error", "", "out of order");
    let stub = Stub::start([broken, Act::Say("built")]).await;
    let pm = world.employ("pm", &stub, None).await;
    let mut canvas = listen(&world, &world.admin).await;
    let mut body = message("build it");
    body["params"]["message"]["messageId"] = "m-1".into();
    for _ in 0..2 {
        let _ = world.post(&pm, &body.to_string()).await;
        next_of(&mut canvas, "ACTIVITY_LOGGED").await;
    }
}

#[tokio::test]
async fn md50_what_agents_ask_each_other_is_activity_of_both_and_no_answer_to_the_canvas() {
    let world = World::carrying(|_| ()).await;
    let stub = Stub::start([Act::Say("to the lead"), Act::Say("to a person")]).await;
    let lead = world.add("lead", None).await;
    let pm = world.employ("pm", &stub, Some(&lead)).await;
    let sibling = world.add("sibling", Some(&lead)).await;
    let mut canvas = listen(&world, &world.admin).await;
    let mut other = listen(&world, &sibling.token).await;
    let path = format!("/workspaces/{}/a2a", pm.id());
    world.by(&lead.token, "POST", &path, &message("secret").to_string()).await.check(200);
    for (kind, about) in [("a2a_receive", &pm), ("a2a_send", &lead)] {
        let event = next_of(&mut canvas, "ACTIVITY_LOGGED").await;
        assert_eq!(event["workspace_id"], about.id().as_str());
        let payload = &event["payload"];
        assert_eq!(
            (&payload["activity_type"], &payload["summary"]),
            (&json!(kind), &json!("secret"))
        );
        assert_eq!(payload["source_id"], lead.id().as_str());
        assert_eq!(payload["target_id"], pm.id().as_str());
        // What is said is for the two, and for those who oversee them.
        assert_eq!(next_of(&mut other, "ACTIVITY_LOGGED").await["payload"], json!({}));
    }
    world.say(&pm, "hello").await.check(200);
    assert_eq!(text_of(&next_of(&mut canvas, "A2A_RESPONSE").await), "to a person");
    assert_eq!(next_of(&mut other, "A2A_RESPONSE").await["payload"], json!({}));
}

#[tokio::test]
async fn md50_what_goes_wrong_is_activity_too() {
    let world = World::carrying(|_| ()).await;
    let stub = Stub::start([]).await;
    let pm = world.employ("pm", &stub, None).await;
    drop(stub);
    let mut canvas = listen(&world, &world.admin).await;
    let reply = world.say(&pm, "hello").await;
    assert!(reply.status >= 500, "{}", reply.body);
    assert_eq!(next_of(&mut canvas, "ACTIVITY_LOGGED").await["payload"]["status"], "error");
}
