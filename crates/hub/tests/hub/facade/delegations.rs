//! Work that one agent gives to another (MD-34, MD-35), and what is shown of it (MD-37).

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Semaphore};

use super::{
    Member, Reply, World,
    carried::{Disk, Process},
    stub::{Act, Stub},
};

/// A lead and somebody below it who can be reached.
struct Team {
    world: World,
    stub: Stub,
    lead: Member,
    pm: Member,
}

impl Team {
    async fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        let world = World::carrying(|settings| settings.limits.in_flight = 1).await;
        let stub = Stub::start(acts).await;
        let lead = world.add("lead", None).await;
        let pm = world.employ("pm", &stub, Some(&lead)).await;
        Self { world, stub, lead, pm }
    }

    fn path(&self, what: &str) -> String {
        format!("/workspaces/{}/{what}", self.lead.id())
    }

    async fn delegate(&self, body: &Value) -> Reply {
        self.world.by(&self.lead.token, "POST", &self.path("delegate"), &body.to_string()).await
    }

    async fn give(&self, task: &str) -> String {
        let reply = self.delegate(&json!({"target_id": self.pm.id().as_str(), "task": task})).await;
        assert_eq!(reply.check(202).at("/status"), "delegated");
        assert_eq!(reply.at("/target_id"), self.pm.id().as_str());
        reply.at("/delegation_id").as_str().expect("an id").to_owned()
    }

    async fn list(&self) -> Vec<Value> {
        let reply = self.world.get(&self.lead.token, &self.path("delegations")).await;
        reply.check(200).json().as_array().expect("a list").clone()
    }

    /// Waits until a delegation has a status.
    async fn settled(&self, id: &str, status: &str) -> Value {
        for _ in 0..2_000 {
            let list = self.list().await;
            let found = list.iter().find(|one| one["delegation_id"] == id).expect("it is listed");
            if found["status"] == status {
                return found.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{id} is never {status}: {:?}", self.list().await);
    }
}

#[tokio::test]
async fn md34_work_is_given_and_fetched_later() {
    let gate = Arc::new(Semaphore::new(0));
    let acts = [Act::after(&gate, Act::Say("built")), Act::after(&gate, Act::Say("tested"))];
    let team = Team::new(acts).await;
    let first = team.give("Build the login feature").await;
    team.stub.has(1).await;
    let second = team.give("Test it").await;
    team.settled(&second, "queued").await;
    assert_eq!(team.settled(&first, "dispatched").await["summary"], "Build the login feature");
    gate.add_permits(2);
    let done = team.settled(&first, "completed").await;
    assert_eq!(done["response_preview"], "built");
    assert_eq!(done["source_id"], team.lead.id().as_str());
    assert_eq!(done["target_id"], team.pm.id().as_str());
    assert_eq!(done["type"], "delegation");
    assert_eq!(team.settled(&second, "completed").await["response_preview"], "tested");
    assert_eq!(team.stub.texts(), ["Build the login feature", "Test it"]);
    let ids: Vec<Value> =
        team.list().await.iter().map(|one| one["delegation_id"].clone()).collect();
    assert_eq!(ids, [json!(second), json!(first)], "the newest first");
    let events = team.world.admin("GET", &format!("/events/{}", team.lead.id()), "").await;
    assert_eq!(events.at("/0/event"), "DELEGATION_SENT");
    assert_eq!(events.at("/0/payload/delegation_id"), second);
}

#[tokio::test]
async fn md34_the_same_key_gives_the_work_once() {
    let team = Team::new([]).await;
    let body = |task: &str| json!({"target_id": team.pm.id().as_str(), "task": task, "idempotency_key": "k-1"});
    let first = team.delegate(&body("once")).await;
    let id = first.check(202).at("/delegation_id");
    assert_eq!(first.at("/idempotent_hit"), Value::Null);
    team.settled(id.as_str().unwrap(), "completed").await;
    let again = team.delegate(&body("once")).await;
    assert_eq!(again.check(200).at("/idempotent_hit"), true);
    assert_eq!((again.at("/delegation_id"), again.at("/status")), (id, json!("completed")));
    team.delegate(&body("something else")).await.check(409);
    assert_eq!(team.stub.texts(), ["once"]);
    assert_eq!(team.list().await.len(), 1);
}

#[tokio::test]
async fn md34_nobody_gives_work_to_itself_or_to_whom_it_may_not_call() {
    let team = Team::new([]).await;
    let stranger = team.world.add("stranger", None).await;
    let target = |id: &str| json!({"target_id": id, "task": "do it"});
    team.delegate(&target(team.lead.id().as_str())).await.check(400);
    team.delegate(&target(stranger.id().as_str())).await.check(403);
    team.delegate(&target("6f1c2a30-8c2e-4b52-9a45-0d7f3c1e9b11")).await.check(404);
    team.delegate(&target("nobody")).await.check(400);
    team.delegate(&json!({"target_id": team.pm.id().as_str(), "task": " "})).await.check(400);
    team.delegate(&json!({"target_id": team.pm.id().as_str()})).await.check(400);
    // Nobody speaks for somebody else, but an administrator.
    let body = target(team.pm.id().as_str()).to_string();
    team.world.by(&team.pm.token, "POST", &team.path("delegate"), &body).await.check(403);
    team.world.by(&stranger.token, "POST", &team.path("delegate"), &body).await.check(404);
    assert_eq!(team.stub.texts().len(), 0);
    let reply = team.world.admin("POST", &team.path("delegate"), &body).await;
    let id = reply.check(202).at("/delegation_id").as_str().unwrap().to_owned();
    team.settled(&id, "completed").await;
}

/// MD-35: what has surely not reached the agent is tried once more.
#[tokio::test]
async fn t12_md35_an_agent_that_is_not_there_is_tried_once_more() {
    let team = Team::new([]).await;
    let address = team.stub.address;
    let Team { world, stub, lead, pm } = team;
    drop(stub);
    let listener = loop {
        // Whoever listened there has stopped in a moment.
        match TcpListener::bind(address).await {
            Ok(listener) => break listener,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    drop(listener);
    let body = json!({"target_id": pm.id().as_str(), "task": "please"}).to_string();
    let path = format!("/workspaces/{}/delegate", lead.id());
    let reply = world.by(&lead.token, "POST", &path, &body).await;
    let id = reply.check(202).at("/delegation_id").as_str().unwrap().to_owned();
    let list = format!("/workspaces/{}/delegations", lead.id());
    while world.get(&lead.token, &list).await.at("/0/status") != "pending" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let stub = Stub::on(TcpListener::bind(address).await.unwrap(), []);
    let team = Team { world, stub, lead, pm };
    team.settled(&id, "completed").await;
    assert_eq!(team.stub.texts(), ["please"]);
}

/// MD-35: and what may have reached it is not.
#[tokio::test]
async fn t12_md35_what_may_have_been_done_is_not_given_again() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    for act in [Act::Raw(String::new()), Act::Raw(cut.to_owned())] {
        let team = Team::new([act]).await;
        let id = team.give("please").await;
        let failed = team.settled(&id, "failed").await;
        let why = failed["error"].as_str().unwrap();
        assert!(why.contains("whether the agent got the message"), "{why}");
        assert_eq!(team.stub.texts(), ["please"]);
    }
}

/// What agents do among themselves they may have written down.
#[tokio::test]
async fn md34_an_agent_records_what_it_has_given_by_itself() {
    let team = Team::new([]).await;
    let (world, token) = (&team.world, &team.lead.token);
    let body = json!({
        "target_id": team.pm.id().as_str(), "task": "directly", "delegation_id": "del-xyz"
    })
    .to_string();
    let record = team.path("delegations/record");
    world.by(&team.pm.token, "POST", &record, &body).await.check(403);
    let reply = world.by(token, "POST", &record, &body).await;
    assert_eq!(reply.check(202).body, r#"{"delegation_id":"del-xyz","status":"recorded"}"#);
    world.by(token, "POST", &record, &body).await.check(202);
    assert_eq!(team.list().await.len(), 1, "told twice, written once");
    assert_eq!(team.settled("del-xyz", "dispatched").await["summary"], "directly");

    let update = async |id: &str, body: Value| {
        let path = team.path(&format!("delegations/{id}/update"));
        world.by(token, "POST", &path, &body.to_string()).await
    };
    update("del-xyz", json!({"status": "lost"})).await.check(400);
    update("unknown", json!({"status": "failed"})).await.check(404);
    let done = json!({"status": "completed", "response_preview": "all of it"});
    let reply = update("del-xyz", done).await;
    assert_eq!(reply.check(200).body, r#"{"delegation_id":"del-xyz","status":"completed"}"#);
    let shown = team.settled("del-xyz", "completed").await;
    assert_eq!(shown["response_preview"], "all of it");
    assert_eq!(team.stub.texts().len(), 0, "nothing is sent");
    let carried = team.give("carried").await;
    update(&carried, json!({"status": "failed"})).await.check(409);
}

#[tokio::test]
async fn md37_the_activity_of_an_agent_is_what_it_was_asked_and_has_asked() {
    let error = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32004,"message":"not that"}}"#;
    let team = Team::new([Act::Say("done"), Act::status("200 OK", "", error)]).await;
    let id = team.give("build").await;
    team.settled(&id, "completed").await;
    assert_eq!(team.world.say(&team.pm, "fly").await.status, 400);
    let of = async |member: &Member, query: &str| {
        let path = format!("/workspaces/{}/activity{query}", member.id());
        let reply = team.world.by(&member.token, "GET", &path, "").await;
        let list = reply.check(200).json();
        list.as_array().expect("a list").clone()
    };
    let all = of(&team.pm, "").await;
    let texts: Vec<&Value> = all.iter().map(|entry| &entry["summary"]).collect();
    assert_eq!(texts, ["fly", "build"]);
    assert_eq!((&all[0]["status"], &all[0]["error_detail"]), (&json!("error"), &json!("not that")));
    assert_eq!((&all[1]["status"], &all[1]["id"]), (&json!("ok"), &json!(id)));
    assert!(
        all.iter().all(|entry| entry["duration_ms"].is_u64() && entry["created_at"].is_string())
    );
    assert_eq!(of(&team.pm, "?source=canvas").await[0]["summary"], "fly");
    assert_eq!(of(&team.pm, "?source=agent&type=a2a_receive").await[0]["summary"], "build");
    assert_eq!(of(&team.pm, "?type=a2a_send").await.len(), 0);
    assert_eq!(of(&team.pm, "?limit=1").await.len(), 1);
    let sent = of(&team.lead, "").await;
    assert_eq!((&sent[0]["activity_type"], sent.len()), (&json!("a2a_send"), 1));
    assert_eq!(sent[0]["target_id"], team.pm.id().as_str());
    let path = format!("/workspaces/{}/activity", team.lead.id());
    team.world.by(&team.pm.token, "GET", &path, "").await.check(403);
}

/// Waits until the end of a delegation is told, and returns how.
async fn told(world: &World, lead: &Member, id: &str) -> (Value, Value) {
    for _ in 0..2_000 {
        let events = world.admin("GET", &format!("/events/{}", lead.id()), "").await;
        let events = events.check(200).json();
        let mut all = events.as_array().expect("a list").iter();
        let found = all
            .find(|one| one["event"] != "DELEGATION_SENT" && one["payload"]["delegation_id"] == id);
        if let Some(found) = found {
            return (found["event"].clone(), found["payload"].clone());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody is told that {id} has ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn md50_the_end_of_a_delegation_is_told_once_and_after_a_crash_too() {
    let disk = Disk::kept();
    let gate = Arc::new(Semaphore::new(0));
    let acts = [Act::Say("built"), Act::after(&gate, Act::Say("lost"))];
    let stub = Stub::start(acts).await;
    let first = Process::start(&disk, |_| ()).await;
    let lead = first.world.add("lead", None).await;
    let pm = first.world.employ("pm", &stub, Some(&lead)).await;
    let give = async |world: &World, task: &str| {
        let body = json!({"target_id": pm.id().as_str(), "task": task}).to_string();
        let path = format!("/workspaces/{}/delegate", lead.id());
        let reply = world.by(&lead.token, "POST", &path, &body).await;
        reply.check(202).at("/delegation_id").as_str().expect("an id").to_owned()
    };
    let built = give(&first.world, "Build it").await;
    let (name, payload) = told(&first.world, &lead, &built).await;
    assert_eq!(name, "DELEGATION_COMPLETE");
    let expected = json!({
        "delegation_id": built, "target_id": pm.id().as_str(), "response_preview": "built",
    });
    assert_eq!(payload, expected);
    let cut = give(&first.world, "Test it").await;
    stub.has(2).await;
    first.kill();

    let second = Process::start(&disk, |_| ()).await;
    let (name, payload) = told(&second.world, &lead, &cut).await;
    assert_eq!(name, "DELEGATION_FAILED", "it may have been done: {payload}");
    assert!(payload["error"].as_str().is_some_and(|error| !error.is_empty()), "{payload}");
    // By the time that this one is told of, all that is to be told of the others was.
    let last = give(&second.world, "Ship it").await;
    told(&second.world, &lead, &last).await;
    let events = second.world.admin("GET", &format!("/events/{}", lead.id()), "").await.json();
    for (id, count) in [(&built, 2), (&cut, 2), (&last, 2)] {
        let all = events.as_array().expect("a list").iter();
        let about = all.filter(|one| one["payload"]["delegation_id"] == **id);
        assert_eq!(about.count(), count, "{events}");
    }
}
