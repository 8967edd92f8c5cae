//! `POST /workspaces/{id}/a2a`, as molecule's canvas uses it (M-31 to M-38, MD-30 to MD-39, T-11).

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, net::TcpListener, sync::Semaphore};

use super::{
    World,
    carried::message,
    stub::{Act, Stub},
};

/// The request of molecule's document, byte for byte.
const DOCUMENT: &str = r#"{
"jsonrpc": "2.0",
"id": "task-123",
"method": "message/send",
"params": {
"message": {
"role": "user",
"parts": [{ "kind": "text", "text": "Build the login feature" }],
"messageId": "msg-456"
}
}
}"#;

async fn world() -> World {
    World::carrying(|_| ()).await
}

#[tokio::test]
async fn t11_the_request_of_the_document_is_carried_and_answered() {
    let world = world().await;
    let stub = Stub::start([Act::Say("on it")]).await;
    let pm = world.employ("pm", &stub, None).await;
    let reply = world.post(&pm, DOCUMENT).await;
    let reply = reply.check(200).json();
    assert_eq!((&reply["jsonrpc"], &reply["id"]), (&json!("2.0"), &json!("task-123")));
    assert_eq!(reply["result"]["kind"], "message");
    assert_eq!(reply["result"]["parts"], json!([{"kind": "text", "text": "on it"}]));
    let sent = &stub.bodies()[0];
    assert_eq!(sent["method"], "message/send");
    let said = &sent["params"]["message"];
    assert_eq!((&said["messageId"], &said["role"]), (&json!("msg-456"), &json!("user")));
    assert_eq!(said["parts"], json!([{"kind": "text", "text": "Build the login feature"}]));
}

/// M-33, M-34.
#[tokio::test]
async fn t11_a_body_without_envelope_is_wrapped_and_a_message_gets_an_id() {
    let world = world().await;
    let stub = Stub::start([]).await;
    let pm = world.employ("pm", &stub, None).await;
    let ids: Vec<Value> = vec![
        world.say(&pm, "one").await.check(200).at("/id"),
        world.say(&pm, "two").await.check(200).at("/id"),
    ];
    assert!(ids.iter().all(|id| id.as_str().is_some_and(|id| id.len() == 36)) && ids[0] != ids[1]);
    let sent = stub.bodies();
    let names = sent.iter().map(|body| body["params"]["message"]["messageId"].clone());
    let names: Vec<Value> = names.collect();
    assert!(names.iter().all(Value::is_string) && names[0] != names[1], "{names:?}");
    assert!(sent.iter().all(|body| body["jsonrpc"] == "2.0" && !body["id"].is_null()));
}

/// MD-39: what stands in the metadata goes on, and the trace with it.
#[tokio::test]
async fn md39_history_and_trace_go_on_to_the_agent() {
    let world = world().await;
    let stub = Stub::start([]).await;
    let pm = world.employ("pm", &stub, None).await;
    let mut body = message("go on");
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let history = json!([{"role": "user", "parts": [{"kind": "text", "text": "before"}]}]);
    body["params"]["metadata"] = json!({"history": history, "traceparent": trace});
    world.post(&pm, &body.to_string()).await.check(200);
    assert_eq!(stub.bodies()[0]["params"]["metadata"]["history"], history);
    assert!(stub.head().contains(&format!("traceparent: {trace}")), "{}", stub.head());

    // Nobody says who they are but by their credential.
    body["params"]["metadata"] = json!({"source_workspace_id": pm.id().as_str()});
    world.post(&pm, &body.to_string()).await.check(403);
    let path = format!("/workspaces/{}/a2a", pm.id());
    world.by(&pm.token, "POST", &path, &body.to_string()).await.check(200);
    assert_eq!(stub.texts().len(), 2);
}

/// What an agent may be called for a day is spent: molecule's callers read so, and it hears nothing.
#[tokio::test]
async fn t11_a_budget_that_is_spent_is_402() {
    let world = World::carrying(|settings| {
        settings.limits.budgets.agents.usual.calls_per_day = Some(1);
    })
    .await;
    let stub = Stub::start([]).await;
    let pm = world.employ("pm", &stub, None).await;
    world.say(&pm, "one").await.check(200);
    let refused = world.say(&pm, "two").await;
    let told = refused.check(402).at("/error");
    assert!(told.as_str().is_some_and(|why| why.contains("1 calls a day")), "{told}");
    assert!(refused.header("retry-after").is_some(), "it says when there is more");
    assert_eq!(stub.texts(), ["one"]);
}

#[tokio::test]
async fn t11_what_is_no_call_reaches_nobody() {
    let world = world().await;
    let stub = Stub::start([]).await;
    let pm = world.employ("pm", &stub, None).await;
    let stranger = world.add("stranger", None).await;
    let path = format!("/workspaces/{}/a2a", pm.id());
    let good = message("hello").to_string();
    for (body, status) in [
        ("{", 400),
        ("[]", 400),
        (r#"{"jsonrpc":"1.0","id":1,"method":"message/send","params":{}}"#, 400),
        (r#"{"method":"message/send","params":{"message":{"role":"user"}}}"#, 400),
        (r#"{"method":"message/shout","params":{}}"#, 404),
    ] {
        world.post(&pm, body).await.check(status);
    }
    world.ask("POST", &path, &[], &good).await.check(401);
    world.by(&stranger.token, "POST", &path, &good).await.check(403);
    let nobody = "/workspaces/6f1c2a30-8c2e-4b52-9a45-0d7f3c1e9b11/a2a";
    world.admin("POST", nobody, &good).await.check(404);
    world.admin("POST", "/workspaces/nobody/a2a", &good).await.check(400);

    // The limit is a mebibyte, and not a byte more.
    let padded = |bytes: usize| {
        let empty = message("").to_string();
        message(&"x".repeat(bytes - empty.len())).to_string()
    };
    world.post(&pm, &padded((1 << 20) + 1)).await.check(413);
    assert_eq!(stub.texts().len(), 0);
    world.post(&pm, &padded(1 << 20)).await.check(200);
    assert_eq!(stub.texts().len(), 1);

    world.admin("POST", &format!("/workspaces/{}/pause", pm.id()), "").await.check(200);
    let reply = world.post(&pm, &good).await;
    assert_eq!(reply.check(503).at("/paused"), true);
}

#[tokio::test]
async fn t11_what_an_agent_answers_wrongly_has_a_status_of_its_own() {
    let world = world().await;
    let cut = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n{";
    let large = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":"{}"}}"#, "x".repeat(10 << 20));
    for (act, status, confirmed) in [
        (Act::Raw(String::new()), 502, json!(false)),
        (Act::Raw(cut.to_owned()), 502, json!(true)),
        (
            Act::status("302 Found", "location: https://elsewhere.example/\r\n", ""),
            502,
            json!(false),
        ),
        (Act::status("200 OK", "", "no JSON"), 502, json!(true)),
        (Act::status("200 OK", "", &large), 502, json!(true)),
        (Act::status("418 I'm a teapot", "", "short and stout"), 418, Value::Null),
        (Act::status("500 Internal Server Error", "", "oh"), 500, Value::Null),
        (Act::status("503 Service Unavailable", "", "upstream reset"), 503, Value::Null),
    ] {
        let stub = Stub::start([act]).await;
        let pm = world.employ("pm", &stub, None).await;
        let reply = world.say(&pm, "hello").await;
        assert_eq!(reply.check(status).at("/delivery_confirmed"), confirmed, "{}", reply.body);
        assert_eq!(reply.at("/busy"), Value::Null, "{}", reply.body);
        assert_eq!(stub.bodies().len(), 1, "T-12: what may have been done is not done again");
        world.admin("DELETE", &format!("/workspaces/{}", pm.id()), "").await.check(200);
    }
}

#[tokio::test]
async fn t11_an_error_of_the_agent_is_passed_back() {
    let world = world().await;
    let error = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32004,"message":"not here"}}"#;
    let stub = Stub::start([Act::status("200 OK", "", error)]).await;
    let pm = world.employ("pm", &stub, None).await;
    let reply = world.post(&pm, DOCUMENT).await;
    assert_eq!(reply.status, 400);
    assert_eq!((reply.at("/id"), reply.at("/error/code")), (json!("task-123"), json!(-32004)));
    assert_eq!(reply.at("/error/message"), "not here");
}

#[tokio::test]
async fn t11_an_agent_that_is_gone_is_said_to_come_back_or_not() {
    let world = world().await;
    let stub = Stub::start([]).await;
    let pm = world.employ("pm", &stub, None).await;
    drop(stub);
    let reply = world.say(&pm, "hello").await;
    assert_eq!(reply.check(502).at("/restarting"), Value::Null, "it says that it is well");
    let lost = world.add("lost", None).await;
    let reply = world.say(&lost, "hello").await;
    assert_eq!(reply.check(503).at("/restarting"), true, "{}", reply.body);
    assert_eq!((reply.at("/retry_after"), reply.header("retry-after")), (json!(15), Some("15")));

    let body = r#"{"name":"nowhere"}"#;
    let made = world.admin("POST", "/workspaces", body).await;
    let path = format!("/workspaces/{}/a2a", made.check(201).at("/id").as_str().unwrap());
    let reply = world.admin("POST", &path, &message("hello").to_string()).await;
    assert!(reply.check(503).body.contains("no address"), "{}", reply.body);
}

/// MG-20: who waits for too long gets the task, and the agent goes on.
#[tokio::test]
async fn t11_a_wait_over_its_limit_is_answered_with_the_live_task() {
    let world = world().await;
    let gate = Arc::new(Semaphore::new(0));
    let stub = Stub::start([Act::after(&gate, Act::Say("at last"))]).await;
    let pm = world.employ("pm", &stub, None).await;
    let bearer = format!("Bearer {}", world.admin);
    let headers = [("authorization", bearer.as_str()), ("x-timeout", "1")];
    let path = format!("/workspaces/{}/a2a", pm.id());
    let reply = world.ask("POST", &path, &headers, &message("think").to_string()).await;
    assert_eq!(reply.check(200).at("/result/status/state"), "submitted");
    let id = reply.at("/result/id").as_str().unwrap().to_owned();
    gate.add_permits(1);
    let task = world.settled(&id, "completed").await;
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "at last");
    // It is nobody else's.
    world.get(&pm.token, &format!("/tasks/{id}")).await.check(404);
    world.admin("GET", "/tasks/nothing", "").await.check(404);
}

/// MD-30, C-27: whoever waits for ever waits for longer than others, and as long as the hub lets.
#[tokio::test]
async fn md30_a_timeout_of_nothing_waits_for_as_long_as_anybody_may() {
    let usual = Duration::from_millis(100);
    for (longest, expected) in [(Duration::from_secs(600), "completed"), (usual, "submitted")] {
        let world = World::carrying_for(usual, longest).await;
        let gate = Arc::new(Semaphore::new(0));
        let acts = ["at last", "at last, too"].map(|text| Act::after(&gate, Act::Say(text)));
        let stub = Stub::start(acts).await;
        let pm = world.employ("pm", &stub, None).await;
        let bearer = format!("Bearer {}", world.admin);
        let headers = [("authorization", bearer.as_str()), ("x-timeout", "0")];
        let (path, body) = (format!("/workspaces/{}/a2a", pm.id()), message("think").to_string());
        let patient = world.ask("POST", &path, &headers, &body);
        let others = async {
            stub.has(1).await;
            // Whoever comes later and says nothing has waited when the agent answers.
            let reply = world.say(&pm, "think").await;
            assert_eq!(reply.check(200).at("/result/status/state"), "submitted");
            gate.add_permits(2);
        };
        let (patient, ()) = tokio::join!(patient, others);
        let state = patient.check(200).at("/result/status/state");
        // An answer of the agent is a message, and no task.
        let state = if state.is_null() { json!("completed") } else { state };
        assert_eq!(state, expected, "{longest:?}: {}", patient.body);
    }
}

/// MD-31.
#[tokio::test]
async fn t11_the_agent_goes_on_when_the_browser_has_gone() {
    let world = world().await;
    let gate = Arc::new(Semaphore::new(0));
    let stub = Stub::start([Act::after(&gate, Act::Say("finished"))]).await;
    let pm = world.employ("pm", &stub, None).await;
    let mut tcp = tokio::net::TcpStream::connect(world.address).await.unwrap();
    let body = message("work").to_string();
    let request = format!(
        "POST /workspaces/{}/a2a HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        pm.id(),
        world.admin,
        body.len()
    );
    tcp.write_all(request.as_bytes()).await.unwrap();
    stub.has(1).await;
    drop(tcp);
    gate.add_permits(1);
    let path = "/agents/pm/tasks?pageSize=1";
    let bearer = format!("Bearer {}", world.admin);
    let headers = [("authorization", bearer.as_str()), ("a2a-version", "1.0")];
    loop {
        let reply = world.ask("GET", path, &headers, "").await;
        if reply.at("/tasks/0/status/state") == "TASK_STATE_COMPLETED" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(stub.texts(), ["work"]);
}

/// C-30: a message that its sender has named is sent once, however often it is posted.
#[tokio::test]
async fn a_message_that_is_posted_twice_is_sent_once() {
    let world = world().await;
    let stub = Stub::start([]).await;
    let pm = world.employ("pm", &stub, None).await;
    world.post(&pm, DOCUMENT).await.check(200);
    let again = world.post(&pm, DOCUMENT).await;
    assert_eq!(again.check(200).at("/result/status/state"), "completed");
    assert_eq!(stub.texts().len(), 1);
}

/// MG-04: streams go through.
#[tokio::test]
async fn a_stream_is_a_stream() {
    let world = world().await;
    let stub = Stub::start([Act::Say("streamed")]).await;
    let pm = world.employ("pm", &stub, None).await;
    for method in ["message/sendSubscribe", "message/stream"] {
        let mut body = message("go");
        body["method"] = method.into();
        let reply = world.post(&pm, &body.to_string()).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(reply.header("content-type"), Some("text/event-stream"));
        assert!(reply.body.contains("data: {\"jsonrpc\":\"2.0\""), "{}", reply.body);
    }
    assert_eq!(stub.texts().len(), 2);
}

/// M-28: a task that an agent works on is ended by the same path.
#[tokio::test]
async fn a_task_is_cancelled_by_the_proxy() {
    let world = world().await;
    let status = json!({"state": "working"});
    let working = json!({"kind": "task", "id": "theirs", "contextId": "c", "status": status});
    let stub = Stub::start([Act::result(&working)]).await;
    let pm = world.employ("pm", &stub, None).await;
    let bearer = format!("Bearer {}", world.admin);
    let headers = [("authorization", bearer.as_str()), ("x-timeout", "1")];
    let path = format!("/workspaces/{}/a2a", pm.id());
    let reply = world.ask("POST", &path, &headers, &message("work").to_string()).await;
    let id = reply.check(200).at("/result/id");
    let cancel = json!({"jsonrpc": "2.0", "id": 7, "method": "tasks/cancel", "params": {"id": id}});
    let reply = world.post(&pm, &cancel.to_string()).await;
    assert_eq!(reply.check(200).at("/id"), 7);
    assert_eq!(reply.at("/result/status/state"), "canceled", "{}", reply.body);
    let again = world.post(&pm, &cancel.to_string()).await;
    assert_eq!((again.status, again.at("/error/code")), (409, json!(-32002)));
}

/// T-12: what has surely not reached the agent is tried again, and nothing else.
#[tokio::test]
async fn t12_only_what_never_left_is_sent_again() {
    let world = world().await;
    // Nobody listens there, and then somebody does.
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let stub = Stub::on(listener, [Act::Hang]);
    let pm = world.employ("pm", &stub, None).await;
    let reply = world.say(&pm, "hang up").await;
    assert_eq!(reply.check(502).at("/delivery_confirmed"), false);
    stub.has(1).await;
    assert_eq!(stub.bodies().len(), 0, "nobody knocks twice");
    drop(stub);
    world.say(&pm, "nobody").await.check(502);
    let listener = TcpListener::bind(address).await.unwrap();
    let stub = Stub::on(listener, []);
    world.say(&pm, "somebody").await.check(200);
    assert_eq!(stub.texts(), ["somebody"], "what failed is not kept");
}
