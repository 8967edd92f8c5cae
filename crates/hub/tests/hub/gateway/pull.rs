//! Agents that fetch their work.

use nuncio_testkit::wire::Http;
use serde_json::{Value, json};

use super::{callers::patiently, world::World};

const JSON: [(&str, &str); 2] = [("content-type", "application/json"), ("a2a-version", "1.0")];

/// An agent that fetches its work.
struct Worker {
    http: Http,
}

impl Worker {
    /// Registers at a hub on an administrator's word.
    async fn join(world: &World, name: &str) -> Self {
        let card = json!({
            "name": name, "description": "Works elsewhere", "version": "1",
            "supportedInterfaces": [], "capabilities": {"streaming": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [],
        });
        let body = json!({"name": name, "card": card, "delivery": "pull"}).to_string();
        let reply = world.administrator.request("POST", "/api/v1/register", &JSON, body).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        let token = reply.json()["token"].as_str().expect("a token").to_owned();
        let http = Http::new(world.address).with("authorization", &format!("Bearer {token}"));
        Self { http }
    }

    /// Waits for something to do.
    async fn fetch(&self) -> Value {
        let reply = patiently(self.http.request("GET", "/api/v1/work?wait=60", &[], "")).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()
    }

    async fn accept(&self, task: &str) -> u16 {
        let path = format!("/api/v1/work/{task}/accept");
        self.http.request("POST", &path, &[], "").await.status
    }

    async fn bring(&self, task: &str, seq: u64, event: Value) -> (u16, Value) {
        let path = format!("/api/v1/work/{task}/events");
        let body = json!({"events": [{"seq": seq, "event": event}]}).to_string();
        let reply = patiently(self.http.request("POST", &path, &JSON, body)).await;
        (reply.status, reply.json())
    }
}

fn piece(text: &str, append: bool) -> Value {
    json!({"artifactUpdate": {
        "taskId": "own-1", "contextId": "own-c", "append": append,
        "artifact": {"artifactId": "a", "parts": [{"text": text}]},
    }})
}

fn state(state: &str) -> Value {
    json!({"statusUpdate": {
        "taskId": "own-1", "contextId": "own-c",
        "status": {"state": format!("TASK_STATE_{state}"), "timestamp": "2026-01-01T00:00:00Z"},
    }})
}

fn message(text: &str, more: &Value) -> String {
    let mut message = json!({"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]});
    for (name, value) in more.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    json!({"message": message, "configuration": {"returnImmediately": true}}).to_string()
}

/// Says something to the agent, and returns the hub's name of the task.
async fn say(world: &World, text: &str, more: &Value) -> String {
    let path = "/agents/laptop/message:send";
    let reply = world.administrator.request("POST", path, &JSON, message(text, more)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["task"]["id"].as_str().expect("a task").to_owned()
}

async fn task(world: &World, id: &str) -> Value {
    let path = format!("/agents/laptop/tasks/{id}");
    world.administrator.request("GET", &path, &JSON, "").await.json()
}

#[tokio::test]
async fn a_message_is_fetched_accepted_once_and_brought_back_once() {
    let world = World::start().await;
    let worker = Worker::join(&world, "laptop").await;
    let id = say(&world, "hello", &json!({})).await;

    let work = worker.fetch().await;
    assert_eq!(work["task"], id.as_str());
    assert_eq!(work["request"]["message"]["parts"][0]["text"], "hello");
    let (status, _) = worker.bring(&id, 1, piece("too early", false)).await;
    assert_eq!(status, 503, "nothing is taken before the work is accepted");
    assert_eq!(worker.accept(&id).await, 204);
    assert_eq!(worker.accept(&id).await, 409, "it is somebody's already");

    for _ in 0..2 {
        let (status, taken) = worker.bring(&id, 1, piece("one", false)).await;
        assert_eq!((status, &taken["ended"]), (200, &json!(false)));
    }
    worker.bring(&id, 2, piece("two", true)).await;
    for _ in 0..2 {
        let (status, taken) = worker.bring(&id, 3, state("COMPLETED")).await;
        assert_eq!((status, &taken["ended"]), (200, &json!(true)), "also for who asks again");
    }
    let task = task(&world, &id).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    let texts: Vec<_> = task["artifacts"][0]["parts"].as_array().expect("parts").iter().collect();
    assert_eq!(texts, [&json!({"text": "one"}), &json!({"text": "two"})]);
}

#[tokio::test]
async fn an_answer_goes_to_the_task_that_the_agent_knows() {
    let world = World::start().await;
    let worker = Worker::join(&world, "laptop").await;
    let id = say(&world, "begin", &json!({})).await;
    worker.fetch().await;
    worker.accept(&id).await;
    worker.bring(&id, 1, state("INPUT_REQUIRED")).await;
    say(&world, "go on", &json!({"taskId": id})).await;

    let work = worker.fetch().await;
    assert_eq!(work["request"]["message"]["taskId"], "own-1");
    assert_eq!(work["request"]["message"]["contextId"], "own-c");
    assert_eq!(worker.accept(&id).await, 204);
    // Numbers begin anew with every message.
    worker.bring(&id, 1, state("COMPLETED")).await;
    assert_eq!(task(&world, &id).await["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_cancel_is_told_to_whoever_fetches_next() {
    let world = World::start().await;
    let worker = Worker::join(&world, "laptop").await;
    let id = say(&world, "long", &json!({})).await;
    worker.fetch().await;
    worker.accept(&id).await;
    worker.bring(&id, 1, state("WORKING")).await;
    let path = format!("/agents/laptop/tasks/{id}:cancel");
    let cancelling = world.administrator.request("POST", &path, &JSON, "{}");
    let working = async {
        let work = worker.fetch().await;
        assert_eq!((&work["task"], &work["cancel"]), (&json!(id), &json!(true)));
        worker.bring(&id, 2, state("CANCELED")).await;
    };
    let (reply, ()) = tokio::join!(cancelling, working);
    assert_eq!(reply.json()["status"]["state"], "TASK_STATE_CANCELED", "{}", reply.text());
}

#[tokio::test]
async fn nobody_fetches_the_work_of_others() {
    let world = World::start().await;
    let worker = Worker::join(&world, "laptop").await;
    let other = Worker::join(&world, "desktop").await;
    let id = say(&world, "hello", &json!({})).await;
    assert_eq!(other.accept(&id).await, 409);
    let nothing = other.http.request("GET", "/api/v1/work?wait=0", &[], "").await;
    assert_eq!(nothing.status, 204);
    let (status, _) = other.bring(&id, 1, piece("mine", false)).await;
    assert_eq!(status, 404, "it is not even told that there is such a task");
    assert_eq!(worker.fetch().await["task"], id.as_str());
    let person = world.administrator.request("GET", "/api/v1/work", &[], "").await;
    assert_eq!(person.status, 403);
}
