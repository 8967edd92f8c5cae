//! Upal's nodes.

use nuncio_server::Dialects;
use serde_json::json;

use crate::dialects::world::{World, server};

/// The request of the design document (U-15).
fn send(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"1","method":"a2a.sendMessage","params":{{
            "message":{{"role":"user","parts":[{{"type":"text","text":"{text}"}}]}},
            "configuration":{{"acceptedOutputModes":["text/plain","application/json"]}}}}}}"#
    )
}

async fn world() -> World {
    World::of(server().dialects(Dialects::default().upal())).await
}

/// U-08, U-16, U-18: the answer is a bare task whose status is a word.
#[tokio::test]
async fn a_node_answers_with_a_task() {
    let world = world().await;
    let reply = world.post("/a2a/nodes/competitor_analysis", &send("hello")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.at("/result/status"), "completed");
    assert_eq!(reply.at("/result/artifacts/0/parts/0/text"), "heard hello");
    assert_eq!(reply.at("/result/artifacts/0/index"), 0);
    world.stop().await;
}

/// C-32: the node is the skill, and the agent is told which.
#[tokio::test]
async fn the_agent_is_told_which_node_is_asked() {
    let world = world().await;
    let answer =
        |reply: crate::dialects::world::Reply| reply.at("/result/artifacts/0/parts/0/text");
    let node = answer(world.post("/a2a/nodes/competitor_analysis", &send("skill")).await);
    assert_eq!(node, "\"competitor_analysis\"");
    for path in ["/a2a/nodes/validation-agent", "/a2a"] {
        assert_eq!(answer(world.post(path, &send("skill")).await), "none", "{path}");
    }
    world.stop().await;
}

/// C-16, catalogue §7.7: a node that is not registered.
#[tokio::test]
async fn an_unknown_node_is_not_found() {
    let world = world().await;
    let reply = world.post("/a2a/nodes/nobody", &send("hello")).await;
    assert_eq!((reply.status, reply.at("/error/code")), (404, json!(-32001)), "{}", reply.body);
    world.stop().await;
}

/// U-10, U-13, U-18, C-17.
#[tokio::test]
async fn every_node_has_a_card() {
    let world = world().await;
    let url = |path: &str| json!(format!("http://{}{path}", world.address));
    let whole = world.get("/a2a/agent-card").await;
    assert_eq!((whole.status, whole.at("/url")), (200, url("/a2a")));
    assert_eq!(whole.at("/skills/1/id"), "competitor_analysis");
    assert_eq!(whole.at("/skills/1/inputModes"), json!(["text/plain", "application/json"]));

    let node = world.get("/a2a/nodes/competitor_analysis/agent-card").await;
    assert_eq!(node.at("/url"), url("/a2a/nodes/competitor_analysis"));
    assert_eq!(node.at("/name"), "competitor_analysis");
    assert_eq!(node.at("/skills/1"), json!(null));
    assert_eq!(node.at("/capabilities/streaming"), false);
    let own = world.get("/a2a/nodes/validation-agent/agent-card").await;
    assert_eq!(own.at("/url"), url("/a2a/nodes/validation-agent"));
    assert_eq!(world.get("/a2a/nodes/nobody/agent-card").await.status, 404);
    world.stop().await;
}
