//! `PocketPaw`: JSON-RPC, routes, settings, and names that callers give to tasks.

use std::{sync::Arc, time::Duration};

use nuncio_auth::{ApiKey, ApiKeys, Gatekeeper};
use nuncio_server::{
    Dialects, Server,
    dialects::{PocketPaw, Switch},
};
use nuncio_store::sqlite::{Options, SqliteStore};
use serde_json::{Value, json};

use crate::dialects::world::{Reply, World, server};

fn speaking(settings: PocketPaw) -> Server {
    server().dialects(Dialects::default().pocketpaw(settings))
}

async fn world() -> World {
    World::of(speaking(PocketPaw::default())).await
}

/// The parameters of the documents' example (P-14), for a task of this name.
fn params(name: Option<&str>, text: &str) -> Value {
    let mut params =
        json!({"message": {"role": "user", "parts": [{"type": "text", "text": text}]}});
    if let Some(name) = name {
        params["id"] = json!(name);
    }
    params
}

fn call(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

async fn rpc(world: &World, method: &str, params: Value) -> Reply {
    world.post("/a2a", &call(method, &params).to_string()).await
}

/// P-11, P-12, P-14, P-15.
#[tokio::test]
async fn the_example_of_the_documents_is_answered() {
    let world = world().await;
    for path in ["/a2a", "/"] {
        let body = call("message/send", &params(None, "What is the weather in Tokyo?"));
        let reply = world.post(path, &body.to_string()).await;
        assert_eq!((reply.status, reply.at("/id")), (200, json!(1)), "{path}");
        let task = reply.at("/result");
        assert_eq!(task["status"]["state"], "completed", "{path}: {}", reply.body);
        assert_eq!(task["history"][0]["parts"][0]["type"], "text");
        let said = "heard What is the weather in Tokyo?";
        let parts = json!([{"type": "text", "text": said}]);
        let message = &task["status"]["message"];
        assert_eq!((&message["role"], &message["parts"]), (&json!("agent"), &parts));
        assert_eq!(task["artifacts"][0]["parts"], parts);
        assert_eq!(task["session_id"], task["context_id"]);
    }
    world.stop().await;
}

/// P-16: frames are called `message`, tell the state, and the last says so.
#[tokio::test]
async fn a_stream_looks_as_in_the_documents() {
    let world = world().await;
    let reply = rpc(&world, "message/stream", params(Some("haiku"), "Write a haiku")).await;
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    // PD-06.
    assert_eq!(reply.header("x-accel-buffering"), Some("no"));
    let frames = reply.frames();
    assert!(frames.iter().all(|(name, _)| name.as_deref() == Some("message")));
    let results: Vec<&Value> = frames.iter().map(|(_, frame)| &frame["result"]).collect();
    assert!(results.iter().all(|result| result["task_id"] == "haiku"), "{results:?}");
    assert_eq!(results[0]["status"]["state"], "submitted");
    let last = results[results.len() - 1];
    assert_eq!((&last["status"]["state"], &last["final"]), (&json!("completed"), &json!(true)));
    assert!(
        results
            .iter()
            .any(|result| { result["artifact"]["parts"][0]["text"] == "heard Write a haiku" })
    );
    world.stop().await;
}

/// P-13, P-17, PD-05: the routes, with names of events of their own.
#[tokio::test]
async fn the_routes_send_stream_get_and_cancel() {
    let world = world().await;
    let sent = world.post("/a2a/tasks/send", &params(Some("a1b2c3d4"), "hello").to_string()).await;
    assert_eq!((sent.status, sent.at("/id")), (200, json!("a1b2c3d4")), "{}", sent.body);
    assert_eq!(sent.at("/status/state"), "completed");
    // P-15.
    assert_eq!(sent.at("/status/message/parts/0/text"), "heard hello");
    let found = world.get("/a2a/tasks/a1b2c3d4").await;
    assert_eq!(found.at("/status/message"), sent.at("/status/message"));

    for (query, messages) in [("", 1), ("?history_length=2", 1), ("?history_length=0", 0)] {
        let found = world.get(&format!("/a2a/tasks/a1b2c3d4{query}")).await;
        assert_eq!(found.at("/id"), "a1b2c3d4", "{}", found.body);
        assert_eq!(found.at("/history").as_array().map(Vec::len), Some(messages), "{query}");
    }

    let path = "/a2a/tasks/send/stream";
    let frames = world.post(path, &params(None, "hello").to_string()).await.frames();
    let names: Vec<&str> = frames.iter().filter_map(|(name, _)| name.as_deref()).collect();
    assert!(names.contains(&"task_artifact_update"), "{names:?}");
    assert_eq!(names.last(), Some(&"task_status_update"));

    world.post("/a2a/tasks/send", &params(Some("open"), "ask").to_string()).await;
    let canceled = world.post("/a2a/tasks/open/cancel", "").await;
    assert_eq!(canceled.json(), json!({"id": "open", "status": "canceled"}));
    // PD-05, PG-06: statuses of the routes.
    assert_eq!(world.post("/a2a/tasks/open/cancel", "").await.status, 409);
    assert_eq!(world.get("/a2a/tasks/unknown").await.status, 404);
    assert_eq!(world.post("/a2a/tasks/unknown/cancel", "").await.status, 404);
    assert_eq!(world.post("/a2a/tasks/send", "{").await.status, 400);
    world.stop().await;
}

/// P-10, P-24, P-25.
#[tokio::test]
async fn the_card_is_in_the_form_of_pocketpaw() {
    let world = world().await;
    for path in ["/.well-known/agent.json", "/.well-known/agent-card.json"] {
        let card = world.get(path).await;
        assert_eq!(card.at("/protocol_version"), "0.2.5", "{path}");
        assert_eq!(card.at("/url"), format!("http://{}", world.address));
        let interface = card.at("/supported_interfaces/0/url");
        assert_eq!(interface, format!("http://{}/a2a", world.address));
        assert_eq!(card.at("/capabilities/push_notifications"), false);
        assert_eq!(card.header("cache-control"), Some("public, max-age=30"));
    }
    let headers = [("A2A-Version", "1.0")];
    let card = world.ask("GET", "/.well-known/agent-card.json", &headers, "").await;
    assert!(card.at("/supportedInterfaces/0/url").is_string(), "{}", card.body);
    world.stop().await;
}

/// P-26, PD-01, C-14, C-15.
#[tokio::test]
async fn errors_have_the_codes_of_pocketpaw() {
    let world = world().await;
    rpc(&world, "message/send", params(Some("done"), "hello")).await;
    let mut modes = params(None, "hello");
    modes["configuration"] = json!({"accepted_output_modes": ["image/png"]});
    let cases = [
        ("message/send", json!({}), -32602),
        ("message/send", params(Some("not a name"), "hello"), -32602),
        ("tasks/get", json!({"id": "a/b"}), -32602),
        ("tasks/unknown", json!({}), -32601),
        ("tasks/get", json!({"id": "unknown"}), -32001),
        ("tasks/cancel", json!({"id": "done"}), -32002),
        // P-19: terminal states are immutable.
        ("message/send", params(Some("done"), "more"), -32003),
        ("message/stream", params(Some("done"), "more"), -32003),
        // P-30, PD-04.
        ("tasks/pushNotificationConfig/set", json!({"id": "done"}), -32004),
        // P-18.
        ("message/send", modes, -32005),
    ];
    for (method, params, code) in cases {
        let reply = rpc(&world, method, params).await;
        assert_eq!(
            (reply.status, reply.at("/error/code")),
            (200, json!(code)),
            "{method}: {}",
            reply.body
        );
        // Whoever calls a task by a name hears of no other.
        let text = reply.at("/error/message");
        if matches!(code, -32002 | -32003) {
            assert!(text.as_str().expect("a text").contains("task done "), "{text}");
        }
    }
    assert_eq!(world.post("/a2a", "{").await.at("/error/code"), -32700);
    assert_eq!(world.post("/a2a", "{}").await.at("/error/code"), -32600);
    world.stop().await;
}

/// PD-04, PG-06, C-42.
#[tokio::test]
async fn a_batch_is_answered_call_by_call() {
    let world = world().await;
    let mut second = call("tasks/get", &json!({"id": "first"}));
    second["id"] = json!("two");
    let mut silent = call("message/send", &params(Some("silent"), "hello"));
    silent.as_object_mut().expect("an object").remove("id");
    let stream = call("message/stream", &params(None, "hello"));
    let first = call("message/send", &params(Some("first"), "hello"));
    let batch = json!([first, second, silent.clone(), stream, 7]);
    let reply = world.post("/a2a", &batch.to_string()).await;
    let replies = reply.json();
    assert_eq!(replies.as_array().map(Vec::len), Some(4), "{replies}");
    assert_eq!(replies[0]["result"]["id"], "first");
    assert_eq!((&replies[1]["id"], &replies[1]["result"]["id"]), (&json!("two"), &json!("first")));
    assert_eq!(replies[2]["error"]["code"], -32600, "a stream");
    assert_eq!(replies[3]["error"]["code"], -32600, "no object");

    assert_eq!(world.post("/a2a", "[]").await.at("/error/code"), -32600);
    let none = world.post("/a2a", &json!([silent]).to_string()).await;
    assert_eq!((none.status, &*none.body), (204, ""));
    // The notification was followed.
    let found = world.get("/a2a/tasks/silent").await;
    assert_eq!(found.status, 200, "{}", found.body);
    world.stop().await;
}

/// C-29: the name is used for the whole of the task's life, and only in this form.
#[tokio::test]
async fn a_task_is_called_by_its_callers_name() {
    let world = world().await;
    let asked = rpc(&world, "message/send", params(Some("my.task_1-A"), "ask")).await;
    assert_eq!(asked.at("/result/id"), "my.task_1-A");
    assert_eq!(asked.at("/result/status/state"), "input_required");
    let answered = rpc(&world, "message/send", params(Some("my.task_1-A"), "this one")).await;
    assert_eq!(answered.at("/result/id"), "my.task_1-A", "{}", answered.body);
    assert_eq!(answered.at("/result/status/state"), "completed");
    assert_eq!(
        answered.at("/result/history").as_array().map(Vec::len),
        Some(3),
        "{}",
        answered.body
    );

    // In 1.0 the same task has an identifier of ours.
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
    let listed = world.ask("POST", "/", &[("A2A-Version", "1.0")], &list.to_string()).await;
    let id = listed.at("/result/tasks/0/id");
    assert_eq!(id.as_str().map(str::len), Some(36), "{}", listed.body);
    // Which is good here as well.
    let found = rpc(&world, "tasks/get", json!({"id": id})).await;
    assert_eq!(found.at("/result/id"), id);
    world.stop().await;
}

/// P-20: a task that was not named goes on by the identifier it got.
#[tokio::test]
async fn a_task_without_name_goes_on_by_its_identifier() {
    let world = world().await;
    let asked = rpc(&world, "message/send", params(None, "ask")).await;
    let id = asked.at("/result/id");
    let answered = rpc(&world, "message/send", params(id.as_str(), "this one")).await;
    assert_eq!(answered.at("/result/id"), id, "{}", answered.body);
    assert_eq!(answered.at("/result/history").as_array().map(Vec::len), Some(3));
    world.stop().await;
}

/// PG-08: two callers with one name have two tasks.
#[tokio::test]
async fn nobody_sees_the_tasks_of_another_by_their_name() {
    let (ann, first) = ApiKey::generate("ann");
    let (ben, second) = ApiKey::generate("ben");
    let keys = ApiKeys::from_iter([first, second]);
    let gatekeeper = Gatekeeper::builder().api_keys(keys).build().expect("a gatekeeper");
    let world = World::of(speaking(PocketPaw::default()).gatekeeper(gatekeeper)).await;
    let ask = async |key: &ApiKey, method: &str, params: Value| {
        let key = format!("Bearer {key}");
        let body = call(method, &params).to_string();
        world.ask("POST", "/a2a", &[("Authorization", &key)], &body).await
    };
    ask(&ann, "message/send", params(Some("mine"), "ask")).await;
    let found = ask(&ben, "tasks/get", json!({"id": "mine"})).await;
    assert_eq!(found.at("/error/code"), -32001, "{}", found.body);
    let own = ask(&ben, "message/send", params(Some("mine"), "hello")).await;
    assert_eq!(own.at("/result/artifacts/0/parts/0/text"), "heard hello", "{}", own.body);
    let found = ask(&ann, "tasks/get", json!({"id": "mine"})).await;
    assert_eq!(found.at("/result/status/state"), "input_required", "{}", found.body);
    world.stop().await;
}

/// C-29, P-32: names are as durable as tasks.
#[tokio::test]
async fn names_survive_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let open = || {
        let store = SqliteStore::open(directory.path(), Options::default()).expect("a store");
        speaking(PocketPaw::default()).store(Arc::new(store))
    };
    let world = World::of(open()).await;
    rpc(&world, "message/send", params(Some("kept"), "ask")).await;
    world.stop().await;

    let world = World::of(open()).await;
    let found = world.get("/a2a/tasks/kept").await;
    assert_eq!(found.at("/status/state"), "input_required", "{}", found.body);
    let answered = rpc(&world, "message/send", params(Some("kept"), "this one")).await;
    assert_eq!(answered.at("/result/status/state"), "completed", "{}", answered.body);
    assert_eq!(answered.at("/result/history").as_array().map(Vec::len), Some(3));
    world.stop().await;
}

/// C-29: many messages with one new name begin one task; the others are refused, or go on.
#[tokio::test]
async fn a_name_that_is_used_at_once_begins_one_task() {
    let world = Arc::new(world().await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let world = Arc::clone(&world);
        calls.spawn(async move { rpc(&world, "message/send", params(Some("one"), "hello")).await });
    }
    let mut completed = 0;
    while let Some(reply) = calls.join_next().await {
        let reply = reply.expect("no panic");
        completed += usize::from(reply.at("/result/status/state") == "completed");
        let code = reply.at("/error/code");
        assert!(code == Value::Null || code == -32003 || code == -32004, "{}", reply.body);
    }
    assert!(completed >= 1);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
    let listed = world.ask("POST", "/", &[("A2A-Version", "1.0")], &list.to_string()).await;
    assert_eq!(listed.at("/result/totalSize"), 1, "{}", listed.body);
    Arc::into_inner(world).expect("the only one").stop().await;
}

/// C-04: of a task that has ended, whoever comes late hears the last word.
#[tokio::test]
async fn whoever_follows_an_ended_task_gets_one_final_event() {
    let world = world().await;
    rpc(&world, "message/send", params(Some("done"), "hello")).await;
    let frames = rpc(&world, "tasks/resubscribe", json!({"id": "done"})).await.frames();
    assert_eq!(frames.len(), 1);
    let result = &frames[0].1["result"];
    assert_eq!((&result["task_id"], &result["final"]), (&json!("done"), &json!(true)));
    assert_eq!(result["status"]["state"], "completed");
    assert_eq!(result["status"]["message"]["parts"][0]["text"], "heard hello");
    let unknown = rpc(&world, "tasks/resubscribe", json!({"id": "unknown"})).await;
    assert_eq!(unknown.at("/error/code"), -32001);
    world.stop().await;
}

/// P-04, PG-07: the work is ended, then the task has failed.
#[tokio::test]
async fn a_task_that_takes_too_long_fails() {
    let settings = PocketPaw::default().task_timeout(Some(Duration::from_millis(50)));
    let world = World::of(speaking(settings)).await;
    let reply = rpc(&world, "message/send", params(Some("slow"), "hang")).await;
    assert_eq!(reply.at("/result/status/state"), "failed", "{}", reply.body);
    let said = reply.at("/result/status/message/parts/0/text");
    assert_eq!(said, "the task took longer than 0.05 seconds");
    world.stop().await;
}

/// P-03, PD-05: nobody is answered while the switch is off, whatever they ask.
#[tokio::test]
async fn while_switched_off_everybody_is_refused() {
    let switch = Switch::new(false);
    let world = World::of(speaking(PocketPaw::default().switch(&switch))).await;
    for (method, path) in [
        ("POST", "/a2a"),
        ("POST", "/a2a/tasks/send"),
        ("GET", "/a2a/tasks/t1"),
        ("GET", "/.well-known/agent.json"),
        ("GET", "/.well-known/agent-card.json"),
    ] {
        let reply = world.ask(method, path, &[], "").await;
        assert_eq!(reply.status, 403, "{method} {path}");
        assert_eq!(reply.at("/detail"), "A2A protocol is disabled on this agent.");
    }
    switch.set(true);
    assert_eq!(world.get("/.well-known/agent.json").await.status, 200);
    world.stop().await;
}

/// PD-06: messages that the caller brings along reach the agent.
#[tokio::test]
async fn the_agent_is_told_what_was_said_before() {
    let world = world().await;
    let mut params = params(None, "history");
    params["history"] = json!([{"role": "user", "parts": [{"type": "text", "text": "before"}]}]);
    let reply = rpc(&world, "message/send", params).await;
    let said = reply.at("/result/artifacts/0/parts/0/text");
    assert!(said.as_str().expect("a text").contains("before"), "{}", reply.body);
    world.stop().await;
}
