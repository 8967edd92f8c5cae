//! Agents that fetch their work.

use std::time::Duration;

use nuncio_testkit::wire::{Frames, Http};
use serde_json::{Value, json};

use super::{callers::patiently, world::World};

const STREAM: [(&str, &str); 1] = [("accept", "text/event-stream")];

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

/// Work that is handed over as it comes.
struct Stream(Frames);

impl Worker {
    async fn stream(&self, room: u32) -> Stream {
        let path = format!("/api/v1/work?room={room}");
        let mut frames = self.http.frames("GET", &path, &STREAM, "").await;
        let hello = frames.next_of_any_kind().await.expect("it begins at once");
        assert!(hello.data.is_empty() && hello.retry.is_some(), "{hello:?}");
        Stream(frames)
    }

    /// Accepts a piece of work and ends it.
    async fn finish(&self, task: &str) {
        assert_eq!(self.accept(task).await, 204);
        let (status, taken) = self.bring(task, 1, state("COMPLETED")).await;
        assert_eq!((status, &taken["ended"]), (200, &json!(true)));
    }
}

impl Stream {
    async fn next(&mut self) -> Value {
        let frame = patiently(self.0.next()).await.expect("it goes on");
        serde_json::from_str(&frame.data).expect("work is JSON")
    }

    async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(200), self.0.next()).await.is_err()
    }
}

#[tokio::test]
async fn a_stream_hands_over_what_comes_and_no_more_than_there_is_room_for() {
    let world = World::start().await;
    let worker = Worker::join(&world, "laptop").await;
    let first = say(&world, "first", &json!({})).await;
    let mut stream = worker.stream(2).await;
    assert_eq!(stream.next().await["task"], first.as_str());
    let second = say(&world, "second", &json!({})).await;
    let work = stream.next().await;
    assert_eq!(work["task"], second.as_str());
    assert_eq!(work["request"]["message"]["parts"][0]["text"], "second");
    let third = say(&world, "third", &json!({})).await;
    assert!(stream.is_silent().await, "there is room for two");
    worker.finish(&first).await;
    assert_eq!(stream.next().await["task"], third.as_str());
    worker.finish(&second).await;
    worker.finish(&third).await;
    assert!(stream.is_silent().await);
    for id in [first, second, third] {
        assert_eq!(task(&world, &id).await["status"]["state"], "TASK_STATE_COMPLETED");
    }
}

#[tokio::test]
async fn work_on_a_stream_that_is_cut_is_handed_to_the_next_and_accepted_once() {
    let world = World::start().await;
    let worker = Worker::join(&world, "laptop").await;
    let mut stream = worker.stream(8).await;
    let accepted = say(&world, "accepted", &json!({})).await;
    assert_eq!(stream.next().await["task"], accepted.as_str());
    assert_eq!(worker.accept(&accepted).await, 204);
    let shown = say(&world, "shown", &json!({})).await;
    assert_eq!(stream.next().await["task"], shown.as_str());
    drop(stream);

    let mut stream = worker.stream(8).await;
    let work = patiently(stream.next()).await;
    assert_eq!(work["task"], shown.as_str(), "what was accepted is nobody else's");
    assert_eq!(worker.accept(&shown).await, 204);
    assert_eq!(worker.accept(&shown).await, 409, "whoever was shown it before is too late");
    for id in [&accepted, &shown] {
        worker.bring(id, 1, state("COMPLETED")).await;
        assert_eq!(task(&world, id).await["status"]["state"], "TASK_STATE_COMPLETED");
    }
    assert!(stream.is_silent().await);
}

#[tokio::test]
async fn a_cancel_comes_over_the_stream_and_again_if_that_is_cut() {
    let world = World::start().await;
    let worker = Worker::join(&world, "laptop").await;
    let mut stream = worker.stream(1).await;
    let id = say(&world, "long", &json!({})).await;
    stream.next().await;
    worker.accept(&id).await;
    worker.bring(&id, 1, state("WORKING")).await;
    let path = format!("/agents/laptop/tasks/{id}:cancel");
    let cancelling = world.administrator.request("POST", &path, &JSON, "{}");
    let working = async {
        let cancel = json!({"task": id, "cancel": true});
        assert_eq!(stream.next().await, cancel, "also when there is no room for work");
        drop(stream);
        let mut stream = worker.stream(1).await;
        assert_eq!(stream.next().await, cancel);
        worker.bring(&id, 2, state("CANCELED")).await;
    };
    let (reply, ()) = tokio::join!(cancelling, working);
    assert_eq!(reply.json()["status"]["state"], "TASK_STATE_CANCELED", "{}", reply.text());
}

#[tokio::test]
async fn a_stream_ends_with_a_word_when_the_hub_stops_and_with_the_right_to_it() {
    let world = World::start().await;
    let worker = Worker::join(&world, "laptop").await;
    let mut stream = worker.stream(1).await;
    world.hub.drain.begin(Duration::from_secs(30));
    let last = patiently(stream.0.next_of_any_kind()).await.expect("a last word");
    assert_eq!(last.retry, Some(1000), "{last:?}");
    assert_eq!(patiently(stream.0.next_of_any_kind()).await, None);

    let world = World::start().await;
    let worker = Worker::join(&world, "laptop").await;
    let mut stream = worker.stream(1).await;
    let reply = world.administrator.request("DELETE", "/api/v1/agents/laptop", &[], "").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(patiently(stream.0.next()).await, None, "nobody waits for what they do not get");
    let person = world.administrator.request("GET", "/api/v1/work", &STREAM, "").await;
    assert_eq!(person.status, 403);
}
