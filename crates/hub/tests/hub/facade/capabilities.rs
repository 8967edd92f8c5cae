//! `POST /a2a`: capabilities, routed to whoever has them (O-01 to O-24, T-18).

use std::{sync::Arc, time::Duration};

use nuncio_hub::agent::Status;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Semaphore,
};

use super::{
    Member, Reply, World,
    stub::{Act, Stub},
};

/// The request of the document's first example, byte for byte.
const DOCUMENT: &str = r#"{
  "protocol_version": "1.0",
  "source_agent": {
    "id": "orchestrator-agent",
    "endpoint": "https://orchestrator.example.com"
  },
  "capability": "pain_point_validation",
  "payload": {
    "problem": "construction equipment tracking",
    "subreddits": ["construction", "contractors"],
    "competitors": ["ToolTracker"],
    "timeframe": "month"
  },
  "request_id": "abc-123-def"
}"#;

/// An orchestrator, and agents with the envelope below the same lead.
struct Team {
    world: World,
    lead: Member,
    token: String,
}

impl Team {
    async fn new() -> Self {
        let world = World::carrying(|_| ()).await;
        let lead = world.add("lead", None).await;
        let mut team = Self { world, lead, token: String::new() };
        let orchestrator = json!({
            "agent_id": "orchestrator-agent", "endpoint": "https://orchestrator.example.com",
            "capabilities": ["agent_orchestration"], "protocol_version": "1.0"
        });
        team.token = team.register(&orchestrator).await;
        team
    }

    async fn register(&self, agent: &Value) -> String {
        let enrolment = self.world.enrolment(Some(&self.lead)).await;
        let reply = self.world.by(&enrolment, "POST", "/register", &agent.to_string()).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.at("/token").as_str().expect("a token").to_owned()
    }

    /// Lets an agent register that is where the stub is.
    async fn join(&self, id: &str, stub: &Stub, more: Value) -> String {
        let mut agent = json!({
            "agent_id": id, "endpoint": format!("http://{}", stub.address),
            "capabilities": ["pain_point_validation"], "protocol_version": "1.0"
        });
        for (key, value) in more.as_object().expect("an object") {
            agent[key] = value.clone();
        }
        let token = self.register(&agent).await;
        let beat = json!({"workspace_id": id}).to_string();
        self.world.by(&token, "POST", "/registry/heartbeat", &beat).await;
        token
    }

    async fn ask(&self, headers: &[(&str, &str)], body: &str) -> Reply {
        let bearer = format!("Bearer {}", self.token);
        let own = [
            ("authorization", bearer.as_str()),
            ("a2a-protocol-version", "1.0"),
            ("a2a-source-agent", "orchestrator-agent"),
        ];
        self.world.ask("POST", "/a2a", &[&own, headers].concat(), body).await
    }
}

/// An answer in the envelope.
fn success(agent: &str) -> Act {
    let body = json!({
        "protocol_version": "1.0", "request_id": "abc-123-def", "agent_id": agent,
        "capability": "pain_point_validation", "status": "success",
        "result": {"validation_score": 87, "evidence": {}, "recommendation": "STRONG VALIDATION"}
    });
    Act::status("200 OK", "", &body.to_string())
}

#[track_caller]
fn refused(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.status, status, "{}", reply.body);
    assert_eq!(
        (reply.at("/status"), reply.at("/protocol_version")),
        (json!("error"), json!("1.0"))
    );
    let error = reply.at("/error").as_str().expect("a text").to_owned();
    assert!(error == code || error.starts_with(&format!("{code}: ")), "{error}");
}

#[tokio::test]
async fn t18_the_example_of_the_document_finds_its_agent() {
    let team = Team::new().await;
    let stub = Stub::start([success("validation-agent")]).await;
    team.join("validation-agent", &stub, json!({})).await;
    let reply = team.ask(&[], DOCUMENT).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let expected = json!({
        "protocol_version": "1.0", "request_id": "abc-123-def", "agent_id": "validation-agent",
        "capability": "pain_point_validation", "status": "success",
        "result": {"validation_score": 87, "evidence": {}, "recommendation": "STRONG VALIDATION"}
    });
    assert_eq!(reply.json(), expected);
    let sent = &stub.bodies()[0];
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    for member in ["protocol_version", "capability", "payload", "request_id"] {
        assert_eq!(sent[member], document[member], "{member}");
    }
    assert_eq!(sent["source_agent"]["id"], "orchestrator-agent");
    let metrics = team.world.admin("GET", "/metrics", "").await.body;
    let counted = metrics.lines().any(|line| {
        line.starts_with("a2a_requests_total{")
            && line.contains(r#"dialect="opportunity envelope""#)
            && line.contains(r#"direction="received""#)
            && line.contains(r#"method="SendMessage""#)
    });
    assert!(counted, "{metrics}");
}

#[tokio::test]
async fn t18_each_code_has_its_cause() {
    let team = Team::new().await;
    let body = |change: &dyn Fn(&mut Value)| {
        let mut body: Value = serde_json::from_str(DOCUMENT).unwrap();
        change(&mut body);
        body.to_string()
    };
    refused(&team.ask(&[], DOCUMENT).await, 200, "CAPABILITY_NOT_SUPPORTED");
    let other = body(&|body| body["protocol_version"] = "2.0".into());
    refused(&team.ask(&[], &other).await, 200, "INVALID_PROTOCOL_VERSION");
    refused(&team.ask(&[], "{").await, 200, "INVALID_REQUEST");
    let missing = body(&|body| body["payload"] = Value::Null);
    refused(&team.ask(&[], &missing).await, 200, "INVALID_REQUEST");
    let foreign = body(&|body| body["source_agent"]["id"] = "somebody-else".into());
    refused(&team.ask(&[], &foreign).await, 403, "INVALID_REQUEST");
    refused(&team.world.ask("POST", "/a2a", &[], DOCUMENT).await, 401, "INVALID_REQUEST");
    refused(
        &team.ask(&[("a2a-priority", "urgent")], DOCUMENT).await,
        200,
        "CAPABILITY_NOT_SUPPORTED",
    );

    // Somebody offers it, and is down.
    let stub = Stub::start([]).await;
    team.join("validation-agent", &stub, json!({})).await;
    refused(&team.ask(&[("a2a-priority", "urgent")], DOCUMENT).await, 200, "INVALID_REQUEST");
    let failing = Act::status("200 OK", "", r#"{"status":"error","error":"INTERNAL_ERROR: oh"}"#);
    let stub = Stub::start([failing]).await;
    let second = Team::new().await;
    second.join("validation-agent", &stub, json!({})).await;
    refused(&second.ask(&[], DOCUMENT).await, 200, "INTERNAL_ERROR");
    drop(stub);
    let again = body(&|body| body["request_id"] = "another".into());
    refused(&second.ask(&[], &again).await, 503, "AGENT_UNAVAILABLE");
}

/// O-06, O-10: what the head says is judged with the body, whose id the answer echoes.
#[tokio::test]
async fn o06_a_head_that_is_refused_costs_no_connection() {
    let team = Team::new().await;
    let refused = [
        ("a2a-protocol-version: 2.0", "200 OK", "INVALID_PROTOCOL_VERSION: "),
        ("a2a-source-agent: somebody-else", "403 Forbidden", "INVALID_REQUEST: "),
    ];
    let mut tcp = TcpStream::connect(team.world.address).await.expect("it listens");
    for (header, status, code) in refused {
        let head = format!(
            "POST /a2a HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer {}\r\n{header}\r\n\
             content-type: application/json\r\nexpect: 100-continue\r\n\
             content-length: {}\r\n\r\n",
            team.token,
            DOCUMENT.len()
        );
        tcp.write_all(head.as_bytes()).await.expect("the connection is kept");
        assert_eq!(read_head(&mut tcp).await, "HTTP/1.1 100 Continue", "{header}");
        tcp.write_all(DOCUMENT.as_bytes()).await.expect("the body is read");
        let head = read_head(&mut tcp).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{header}: {head}");
        assert!(!head.to_lowercase().contains("connection: close"), "{header}: {head}");
        let body = read_body(&mut tcp, &head).await;
        assert_eq!(body["request_id"], "abc-123-def", "{body}");
        assert!(body["error"].as_str().is_some_and(|error| error.starts_with(code)), "{body}");
    }
}

/// Reads the head of an answer, without the empty line.
async fn read_head(tcp: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(tcp.read_u8().await.expect("an answer"));
    }
    String::from_utf8(head).expect("a text").trim_end().to_owned()
}

/// Reads the body that a head announces.
async fn read_body(tcp: &mut TcpStream, head: &str) -> Value {
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.and_then(|text| text.parse().ok()).expect("a length")];
    tcp.read_exact(&mut body).await.expect("all of it");
    serde_json::from_slice(&body).expect("JSON")
}

/// O-07: milliseconds, after which the task goes on without its caller.
#[tokio::test]
async fn t18_a_timeout_in_milliseconds_names_the_task() {
    let team = Team::new().await;
    let gate = Arc::new(Semaphore::new(0));
    let stub = Stub::start([Act::after(&gate, success("validation-agent"))]).await;
    team.join("validation-agent", &stub, json!({})).await;
    let headers = [("a2a-request-timeout", "200"), ("a2a-priority", "high")];
    let reply = team.ask(&headers, DOCUMENT).await;
    refused(&reply, 200, "TIMEOUT");
    // O-10: a code, and a text.
    assert_eq!(reply.at("/error"), "TIMEOUT: the wait is over, the task goes on");
    let task = reply.at("/task_id").as_str().expect("a task").to_owned();
    let metrics = team.world.admin("GET", "/metrics", "").await.body;
    assert!(metrics.contains("a2a_timeouts_total 1"), "{metrics}");
    gate.add_permits(1);
    loop {
        let reply = team.world.get(&team.token, &format!("/tasks/{task}")).await;
        if reply.at("/status/state") == "completed" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(stub.bodies().len(), 1);
}

#[tokio::test]
async fn the_best_agent_is_asked_and_the_next_if_it_is_not_there() {
    let team = Team::new().await;
    let (near, far) = (Stub::start([]).await, Stub::start([success("far"), success("far")]).await);
    team.join("near", &near, json!({})).await;
    team.join("far", &far, json!({})).await;
    for (name, trust) in [("near", 5), ("far", 2)] {
        let body = json!({"trust": trust}).to_string();
        let path = format!("/api/v1/agents/{name}");
        let reply = team.world.admin("PATCH", &path, &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    let route = async || {
        let path = "/api/v1/route?capability=pain_point_validation";
        team.world.get(&team.token, path).await
    };
    let explained = route().await;
    assert_eq!(explained.status, 200, "{}", explained.body);
    assert_eq!(
        (explained.at("/agents/0/name"), explained.at("/agents/1/name")),
        (json!("near"), json!("far"))
    );
    let why = "online, trust 5, by skill, latency unknown, 0 calls before";
    assert_eq!(explained.at("/agents/0/why"), why);
    drop(near);
    let reply = team.ask(&[], DOCUMENT).await;
    assert_eq!((reply.status, reply.at("/agent_id")), (200, json!("far")), "{}", reply.body);
    assert_eq!(far.bodies().len(), 1);

    let path = "/api/v1/agents/far/pause";
    assert_eq!(team.world.admin("POST", path, "").await.status, 200);
    let explained = route().await;
    assert_eq!(explained.at("/left_out/0/why"), Status::Paused.as_str());
    assert_eq!(explained.at("/agents").as_array().map(Vec::len), Some(1));
    let nobody = team.world.admin("GET", "/api/v1/route?capability=nothing", "").await;
    assert_eq!(nobody.at("/agents"), json!([]));
}

/// O-13.
#[tokio::test]
async fn t18_a_capability_is_for_those_who_may_use_it() {
    let team = Team::new().await;
    let stub = Stub::start([success("validation-agent")]).await;
    let limits = json!({"allowed_agents": [
        {"capability": "pain_point_validation", "allowed_agents": ["research-agent"]}
    ]});
    team.join("validation-agent", &stub, limits).await;
    refused(&team.ask(&[], DOCUMENT).await, 403, "INVALID_REQUEST");
    let path = "/api/v1/route?capability=pain_point_validation";
    let explained = team.world.get(&team.token, path).await;
    let why = explained.at("/left_out/0/why").as_str().unwrap().to_owned();
    assert!(why.starts_with("forbidden: "), "{why}");
    assert_eq!(stub.bodies().len(), 0);
}

#[tokio::test]
async fn o08_the_hub_says_what_can_be_asked_and_that_it_is_well() {
    let team = Team::new().await;
    let stub = Stub::start([]).await;
    team.join("validation-agent", &stub, json!({})).await;
    let reply = team.world.get(&team.token, "/a2a/capabilities").await;
    let expected = json!({
        "agent_id": "registry", "protocol_version": "1.0",
        "capabilities": ["agent_orchestration", "pain_point_validation"]
    });
    assert_eq!((reply.status, reply.json()), (200, expected));
    assert_eq!(team.world.ask("GET", "/a2a/capabilities", &[], "").await.status, 401);
    let health = team.world.ask("GET", "/a2a/health", &[], "").await;
    assert_eq!((health.status, health.at("/status")), (200, json!("ok")));
}

/// Catalogue §7.5: the body decides.
#[tokio::test]
async fn whoever_speaks_json_rpc_names_the_agent_as_a_tenant() {
    let world = World::carrying(|_| ()).await;
    let stub = Stub::start([Act::Say("hello")]).await;
    world.employ("pm", &stub, None).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "tenant": "pm",
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    }});
    let bearer = format!("Bearer {}", world.admin);
    let headers = [("authorization", bearer.as_str()), ("a2a-version", "1.0")];
    let reply = world.ask("POST", "/a2a", &headers, &body.to_string()).await;
    assert_eq!(reply.at("/result/message/parts/0/text"), "hello", "{}", reply.body);
    let mut nobody = body.clone();
    nobody["params"]["tenant"] = Value::Null;
    let reply = world.ask("POST", "/a2a", &headers, &nobody.to_string()).await;
    assert_eq!(reply.at("/error/code"), -32602, "{}", reply.body);
}
