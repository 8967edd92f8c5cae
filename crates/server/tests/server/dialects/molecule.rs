//! Molecule, Harbor, and what is there when nothing is switched on.

use nuncio_server::{Dialects, dialects::Molecule};
use serde_json::{Value, json};

use crate::dialects::world::{World, server};

async fn world(flat: bool) -> World {
    World::of(server().dialects(Dialects::default().molecule(Molecule { flat }))).await
}

fn call(method: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"task-123","method":"{method}","params":{{"message":{{
            "role":"user","parts":[{{"kind":"text","text":"{text}"}}],"messageId":"msg-456"}}}}}}"#
    )
}

/// M-10, M-22: waits, and answers with a task as in 0.3.
#[tokio::test]
async fn message_send_waits_for_the_end() {
    let world = world(false).await;
    let reply = world.post("/a2a", &call("message/send", "hello")).await;
    assert_eq!(reply.at("/id"), "task-123");
    assert_eq!(reply.at("/result/status/state"), "completed", "{}", reply.body);
    assert_eq!(reply.at("/result/artifacts/0/parts/0/text"), "heard hello");
    world.stop().await;
}

/// M-23, M-24, M-30, C-03: the last event of a flat stream has the artifacts.
#[tokio::test]
async fn a_flat_stream_ends_with_the_whole_task() {
    let world = world(true).await;
    for method in ["message/sendSubscribe", "message/stream"] {
        let frames = world.post("/a2a", &call(method, "hello")).await.frames();
        let (_, first) = frames.first().expect("a frame");
        let (_, last) = frames.last().expect("a frame");
        assert_eq!(last["id"], "task-123");
        assert_eq!(last["result"]["status"], "completed", "{method}: {last}");
        let artifacts = json!([{"type": "text/plain", "content": "heard hello"}]);
        assert_eq!(last["result"]["artifacts"], artifacts);
        // M-26: the first event names the task.
        assert_eq!(first["result"]["id"], last["result"]["id"]);
    }
    world.stop().await;
}

/// M-33, M-34: neither envelope nor message id.
#[tokio::test]
async fn a_body_without_envelope_is_taken() {
    let world = world(true).await;
    let body = r#"{"method":"message/send","params":{"message":
        {"role":"user","parts":[{"type":"text","text":"hello"}]}}}"#;
    for path in ["/a2a", "/", "/workspaces/validation-agent/a2a"] {
        let reply = world.post(path, body).await;
        assert_eq!(reply.at("/result/status"), "completed", "{path}: {}", reply.body);
        assert!(reply.at("/id").is_string(), "{path}");
    }
    assert_eq!(world.post("/workspaces/somebody/a2a", body).await.status, 404);
    world.stop().await;
}

/// M-27: the task of any call is found by its id, flat or not.
#[tokio::test]
async fn a_task_is_looked_up_by_get() {
    for (flat, pointer) in [(true, "/status"), (false, "/status/state")] {
        let world = world(flat).await;
        let sent = world.post("/a2a", &call("message/send", "hello")).await;
        let id = sent.at("/result/id");
        let found = world.get(&format!("/tasks/{}", id.as_str().expect("an id"))).await;
        assert_eq!((found.status, found.at(pointer)), (200, json!("completed")), "{}", found.body);
        assert_eq!(found.at("/id"), id);
        assert_eq!(world.get("/tasks/unknown").await.status, 404);
        world.stop().await;
    }
}

/// M-28.
#[tokio::test]
async fn cancel_takes_the_id_of_the_task() {
    let world = world(true).await;
    let asked = world.post("/a2a", &call("message/send", "ask")).await;
    assert_eq!(asked.at("/result/status"), "input-required");
    let id = asked.at("/result/id");
    let cancel =
        json!({"jsonrpc": "2.0", "id": "2", "method": "tasks/cancel", "params": {"id": id}});
    let canceled = world.post("/a2a", &cancel.to_string()).await;
    assert_eq!(canceled.at("/result/status"), "canceled", "{}", canceled.body);
    world.stop().await;
}

/// H-14: Harbor's calls are answered in its form.
#[tokio::test]
async fn harbor_is_answered() {
    let world = World::of(server().dialects(Dialects::default().harbor())).await;
    let reply = world.post("/a2a", &call("message/send", "hello")).await;
    let task = reply.at("/result/task");
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{}", reply.body);
    let get =
        json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"id": task["id"]}});
    let found = world.post("/a2a", &get.to_string()).await;
    assert_eq!(found.at("/result/id"), task["id"], "{}", found.body);
    world.stop().await;
}

/// Catalogue §7.1: a dialect that is off is as good as not there, and the answer is in the form
/// of 1.0.
#[tokio::test]
async fn with_everything_off_no_path_of_a_dialect_exists() {
    let world = World::of(server().dialects(Dialects::none())).await;
    for (method, path) in [
        ("GET", "/a2a/capabilities"),
        ("GET", "/a2a/health"),
        ("GET", "/a2a/agent-card"),
        ("GET", "/a2a/nodes/competitor_analysis/agent-card"),
        ("POST", "/a2a/nodes/competitor_analysis"),
        ("POST", "/a2a/tasks/send"),
        ("POST", "/a2a/tasks/send/stream"),
        ("GET", "/a2a/tasks/t1"),
        ("POST", "/a2a/tasks/t1/cancel"),
        ("POST", "/workspaces/validation-agent/a2a"),
    ] {
        let reply = world.ask(method, path, &[], "").await;
        assert_eq!(reply.status, 404, "{method} {path}: {}", reply.body);
        assert_eq!(reply.at("/error/code"), 404, "{method} {path}: {}", reply.body);
    }
    // Neither is the method of any of them.
    for body in [call("message/sendSubscribe", "x"), call("a2a.sendMessage", "x")] {
        let reply = world.post("/a2a", &body).await;
        assert!(reply.at("/error/code").is_i64() && reply.at("/result") == Value::Null);
    }
    world.stop().await;
}
