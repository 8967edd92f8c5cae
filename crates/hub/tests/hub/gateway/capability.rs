//! Calls to whoever can do something.

use nuncio_protocol::dialect::WireForm;
use serde_json::{Value, json};

use super::{
    agents::{Served, Skilled},
    stage::Stage,
    world::World,
};

const JSON: [(&str, &str); 2] = [("content-type", "application/json"), ("a2a-version", "1.0")];

fn message(text: &str) -> Value {
    json!({"message": {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]}})
}

async fn post(world: &World, path: &str, body: &Value) -> (u16, Value) {
    let reply = world.administrator.request("POST", path, &JSON, body.to_string()).await;
    (reply.status, reply.json())
}

/// Returns the agents that are called for what scripts do, the best first.
async fn route(world: &World, capability: &str) -> Vec<String> {
    let path = format!("/api/v1/route?capability={capability}");
    let reply = world.administrator.request("GET", &path, &[], "").await.json();
    let names = reply["agents"].as_array().expect("a list").iter();
    names.map(|agent| agent["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn the_best_who_can_be_reached_is_called_and_keeps_the_task() {
    let world = World::start().await;
    let stage = Stage::default();
    let served = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
    let mut gone = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
    let skill = "play";
    world.add("second", &served.url()).await;
    let trusted = json!({"name": "first", "card_url": gone.url(), "trust": 5});
    world.add_as(&trusted).await;
    assert_eq!(route(&world, skill).await, ["first", "second"]);
    gone.stop().await;

    let path = format!("/agents/~{skill}");
    let (status, answer) = post(&world, &format!("{path}/message:send"), &message("ask:who")).await;
    assert_eq!(status, 200, "{answer}");
    let task = &answer["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{answer}");
    // C-32: the agent is told which of its skills is meant.
    assert_eq!(task["history"][0]["metadata"]["skillId"], json!(skill), "{answer}");
    let id = task["id"].as_str().expect("an id");
    let mut more = message("me");
    more["message"]["taskId"] = json!(id);
    let (status, answer) = post(&world, &format!("{path}/message:send"), &more).await;
    assert_eq!((status, &answer["task"]["id"]), (200, &json!(id)), "{answer}");
    let own = format!("/agents/second/tasks/{id}");
    let found = world.administrator.request("GET", &own, &JSON, "").await;
    assert_eq!(found.status, 200, "it is the task of whoever took it");

    let card = format!("{path}/.well-known/agent-card.json");
    let card = world.administrator.request("GET", &card, &JSON, "").await.json();
    assert_eq!(card["skills"][0]["id"], json!(skill));
    let (status, _) = post(&world, "/agents/~fly/message:send", &message("hello")).await;
    assert_eq!(status, 404);
}
