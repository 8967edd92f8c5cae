//! The opportunity agents' registry (O-09, OD-01, T-18).

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nuncio_hub::{
    agent::Status,
    beat::Beat,
    directory::{Item, Options},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::Interest,
};

use super::{Member, Reply, World};

/// The agents of the documents, with what they can do.
fn validation() -> Value {
    json!({
        "agent_id": "validation-agent-us-central1",
        "endpoint": "https://validation.example.com",
        "capabilities": ["pain_point_validation", "competitor_analysis", "evidence_collection"],
        "protocol_version": "1.0",
        "metadata": {"region": "us-central1"}
    })
}

fn orchestrator() -> Value {
    json!({
        "agent_id": "orchestrator-agent",
        "endpoint": "https://orchestrator.example.com",
        "capabilities": ["agent_orchestration", "result_synthesis", "project_generation"],
        "protocol_version": "1.0",
        "metadata": {}
    })
}

/// A team: agents below the same lead are siblings.
struct Team {
    world: World,
    lead: Member,
}

impl Team {
    async fn new() -> Self {
        let world = World::new().await;
        let lead = world.add("lead", None).await;
        Self { world, lead }
    }

    /// A team at a hub that also looks after its agents.
    async fn serving(options: Options) -> Self {
        let world = World::serving(options).await;
        let lead = world.add("lead", None).await;
        Self { world, lead }
    }

    async fn join(&self, body: &Value) -> String {
        let enrolment = self.world.enrolment(Some(&self.lead)).await;
        let reply = self.world.by(&enrolment, "POST", "/register", &body.to_string()).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.at("/token").as_str().expect("a token").to_owned()
    }

    async fn discover(&self, token: &str, capability: &str) -> Reply {
        self.world.get(token, &format!("/discover?capability={capability}")).await
    }
}

fn ids(reply: &Reply) -> Vec<String> {
    assert_eq!(reply.status, 200, "{}", reply.body);
    let agents = reply.at("/agents");
    let agents = agents.as_array().expect("a list").iter();
    agents.map(|agent| agent["agent_id"].as_str().expect("an id").to_owned()).collect()
}

#[track_caller]
fn check_refused(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.status, status, "{}", reply.body);
    assert_eq!(reply.at("/status"), "error", "{}", reply.body);
    assert_eq!(reply.at("/protocol_version"), "1.0");
    let error = reply.at("/error").as_str().expect("a text").to_owned();
    assert!(error.starts_with(&format!("{code}: ")), "{error}");
}

#[tokio::test]
async fn od01_agents_register_and_find_one_another() {
    let team = Team::new().await;
    team.join(&validation()).await;
    let token = team.join(&orchestrator()).await;

    let found = team.discover(&token, "pain_point_validation").await;
    let expected = json!({"agents": [{
        "agent_id": "validation-agent-us-central1",
        "endpoint": "https://validation.example.com",
        "capabilities": ["pain_point_validation", "competitor_analysis", "evidence_collection"],
        "protocol_version": "1.0",
        "status": "online"
    }]});
    assert_eq!(found.json(), expected);
    assert_eq!(ids(&team.discover(&token, "market_analysis").await), [""; 0]);
    let all = team.world.get(&token, "/agents").await;
    // Who was never seen comes last.
    let lead = team.lead.id().as_str();
    assert_eq!(ids(&all), ["orchestrator-agent", "validation-agent-us-central1", lead]);

    // C-33: it is one table of agents, whoever looks at it.
    let path = "/api/v1/agents/validation-agent-us-central1";
    let agent = team.world.admin("GET", path, "").await;
    assert_eq!(agent.at("/skills/0/id"), "pain_point_validation");
    assert_eq!(agent.at("/watch"), "probe");
}

#[tokio::test]
async fn registering_again_needs_the_agents_own_token() {
    let team = Team::new().await;
    let token = team.join(&validation()).await;
    let other = team.join(&orchestrator()).await;
    let mut moved = validation();
    moved["endpoint"] = json!("https://elsewhere.example.com/");
    let register =
        async |token: &str| team.world.by(token, "POST", "/register", &moved.to_string()).await;
    check_refused(&register(&other).await, 403, "INVALID_REQUEST");
    check_refused(&register(&team.world.enrolment(None).await).await, 403, "INVALID_REQUEST");
    let reply = team.world.ask("POST", "/register", &[], &moved.to_string()).await;
    check_refused(&reply, 401, "INVALID_REQUEST");
    let again = register(&token).await;
    assert_eq!((again.status, again.at("/token")), (200, Value::Null), "{}", again.body);
    let found = team.discover(&other, "competitor_analysis").await;
    assert_eq!(found.at("/agents/0/endpoint"), "https://elsewhere.example.com");
}

#[tokio::test]
async fn o16_the_first_that_is_found_is_usable() {
    let team = Team::new().await;
    let token = team.join(&orchestrator()).await;
    let able = |id: &str| {
        json!({
            "agent_id": id, "endpoint": format!("https://{id}.example.com"),
            "capabilities": ["market_analysis"], "protocol_version": "1.0", "metadata": {}
        })
    };
    for id in ["first", "second", "third"] {
        team.join(&able(id)).await;
    }
    assert_eq!(ids(&team.discover(&token, "market_analysis").await), ["first", "second", "third"]);
    let first = "first".parse().expect("an id");
    let failing = Beat { error_rate: 0.9, ..Beat::default() };
    team.world.directory.heartbeat(&first, failing).await.unwrap();
    assert_eq!(ids(&team.discover(&token, "market_analysis").await), ["second", "third", "first"]);
    // Who rests is not asked at all.
    team.world.admin("POST", "/api/v1/agents/second/pause", "").await;
    assert_eq!(ids(&team.discover(&token, "market_analysis").await), ["third", "first"]);
    // Who is beyond reach is not seen at all.
    let stranger = team.world.add("stranger", None).await;
    assert_eq!(ids(&team.discover(&stranger.token, "market_analysis").await), [""; 0]);
    let seen = team.world.get(&stranger.token, "/agents").await;
    assert_eq!(ids(&seen), [stranger.id().as_str()]);
}

/// O-13, T-18: whoever may not use a capability does not find it, however that was written down.
#[tokio::test]
async fn o13_a_limited_capability_is_found_by_those_who_may_use_it() {
    let limit =
        json!({"capability": "pain_point_validation", "allowed_agents": ["orchestrator-agent"]});
    let map = json!({"pain_point_validation": ["orchestrator-agent"]});
    let forms: [fn(&mut Value, &Value, &Value); 4] = [
        |body, limit, _| body["capabilities"][0] = limit.clone(),
        |body, limit, _| body["metadata"]["allowed_agents"] = json!([limit]),
        |body, _, map| body["metadata"]["allowed_agents"] = map.clone(),
        |body, _, map| body["allowed_agents"] = map.clone(),
    ];
    for write in forms {
        let team = Team::new().await;
        let mut body = validation();
        write(&mut body, &limit, &map);
        // The one who may comes later.
        team.join(&body).await;
        let allowed = team.join(&orchestrator()).await;
        let mut research = orchestrator();
        research["agent_id"] = json!("research-agent");
        let other = team.join(&research).await;
        let found = team.discover(&allowed, "pain_point_validation").await;
        assert_eq!(ids(&found), ["validation-agent-us-central1"], "{body}");
        let found = team.discover(&other, "pain_point_validation").await;
        assert_eq!(ids(&found), [""; 0], "{body}");
        let found = team.discover(&other, "competitor_analysis").await;
        assert_eq!(ids(&found), ["validation-agent-us-central1"], "{body}");
    }
}

/// O-06, C-20: the headers of the documents are read, and believed as far as they are proved.
#[tokio::test]
async fn o11_the_source_agent_is_a_claim() {
    let team = Team::new().await;
    let token = team.join(&orchestrator()).await;
    team.join(&validation()).await;
    let ask = async |token: Option<&str>, source: &str, version: &str| {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("A2A-Protocol-Version", version), ("A2A-Source-Agent", source)];
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        team.world.ask("GET", "/discover?capability=evidence_collection", &headers, "").await
    };
    assert_eq!(ids(&ask(Some(&token), "orchestrator-agent", "1.0").await).len(), 1);
    for source in ["validation-agent-us-central1", "system:x", ""] {
        check_refused(&ask(Some(&token), source, "1.0").await, 403, "INVALID_REQUEST");
    }
    check_refused(&ask(None, "orchestrator-agent", "1.0").await, 401, "INVALID_REQUEST");
    let admin = Some(team.world.admin.as_str());
    check_refused(&ask(admin, "orchestrator-agent", "1.0").await, 403, "INVALID_REQUEST");
    let refused = ask(Some(&token), "orchestrator-agent", "2.0").await;
    check_refused(&refused, 400, "INVALID_PROTOCOL_VERSION");
    // Who registers claims to be whom it registers.
    let enrolment = format!("Bearer {}", team.world.enrolment(None).await);
    let mut body = validation();
    body["agent_id"] = json!("newcomer");
    let headers =
        [("authorization", enrolment.as_str()), ("A2A-Source-Agent", "orchestrator-agent")];
    let reply = team.world.ask("POST", "/register", &headers, &body.to_string()).await;
    check_refused(&reply, 403, "INVALID_REQUEST");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_in_the_documents_form() {
    let team = Team::new().await;
    let enrolment = team.world.enrolment(None).await;
    let change: [(&str, Value, &str); 8] = [
        ("agent_id", json!(""), "INVALID_REQUEST"),
        ("agent_id", json!("a\nb"), "INVALID_REQUEST"),
        ("agent_id", Value::Null, "INVALID_REQUEST"),
        ("endpoint", json!("file:///etc/passwd"), "INVALID_REQUEST"),
        ("endpoint", json!("https://169.254.169.254"), "INVALID_REQUEST"),
        ("capabilities", json!([""]), "INVALID_REQUEST"),
        ("capabilities", json!([1]), "INVALID_REQUEST"),
        ("protocol_version", json!("2.0"), "INVALID_PROTOCOL_VERSION"),
    ];
    for (member, value, code) in change {
        let mut body = validation();
        body[member] = value;
        let reply = team.world.by(&enrolment, "POST", "/register", &body.to_string()).await;
        check_refused(&reply, 400, code);
    }
    let reply = team.world.by(&enrolment, "POST", "/register", "{").await;
    check_refused(&reply, 400, "INVALID_REQUEST");
    check_refused(&team.world.admin("GET", "/discover", "").await, 400, "INVALID_REQUEST");
    check_refused(&team.discover(&enrolment, "x").await, 403, "INVALID_REQUEST");
}

/// Keeps the fields of every line for the documents' log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Value>>>);

struct Fields<'a>(&'a mut Value);

impl Visit for Fields<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0[field.name()] = json!(value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0[field.name()] = json!(value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0[field.name()] = json!(format!("{value:?}"));
    }
}

impl Subscriber for Lines {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // Other tests have other subscribers.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "nuncio::a2a"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = json!({});
        event.record(&mut Fields(&mut line));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// O-21, O-22, T-18: the line and the metrics have the documents' names.
#[tokio::test]
async fn t18_every_request_is_logged_and_counted() {
    let lines = Lines::default();
    // A single subscriber is not asked about what other threads say first.
    let _second = tracing::Dispatch::new(Lines::default());
    let _listening = tracing::subscriber::set_default(lines.clone());
    let team = Team::new().await;
    let token = team.join(&orchestrator()).await;
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("x-request-id", "abc-123")];
    team.world.ask("GET", "/discover?capability=pain_point_validation", &headers, "").await;
    team.world.ask("GET", "/agents", &[], "").await;
    team.world.by(&token, "GET", "/discover", "").await;

    let lines = lines.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let statuses: Vec<_> = lines.iter().map(|line| line["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["success", "success", "denied", "error"]);
    let mut line = lines[1].clone();
    assert!(line["duration_ms"].is_u64(), "{line}");
    line["duration_ms"] = json!(1234);
    assert_eq!(
        line,
        json!({
            "event": "a2a_request", "source_agent": "orchestrator-agent",
            "target_agent": "registry", "capability": "pain_point_validation",
            "request_id": "abc-123", "duration_ms": 1234, "status": "success"
        })
    );
    assert!(!format!("{lines:?}").contains(&token), "a log has no secrets");

    let metrics = team.world.admin("GET", "/metrics", "").await.body;
    let labels = r#"{direction="received",method="unknown",dialect="opportunity envelope""#;
    for line in [
        format!(r#"a2a_requests_total{labels},status="success"}} 2"#),
        format!(r#"a2a_requests_total{labels},status="denied"}} 1"#),
        format!(r#"a2a_requests_total{labels},status="error"}} 1"#),
        format!("a2a_request_duration_seconds_count{labels}}} 4"),
        "a2a_timeouts_total 0".to_owned(),
    ] {
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
    assert!(metrics.contains("a2a_errors_total{type="), "{metrics}");
}

/// Answers every request with a status, and says what was asked for.
async fn endpoint(status: &'static str) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (asked, paths) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let count = tcp.read(&mut head).await.unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..count]).into_owned();
            let line = head.lines().next().unwrap_or_default().to_owned();
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            tcp.write_all(answer.as_bytes()).await.ok();
            if asked.send(line).is_err() {
                break;
            }
        }
    });
    (url, paths)
}

/// O-08: these agents show no card, so they are asked how they are.
#[tokio::test]
async fn o08_an_agent_is_asked_for_its_health() {
    let mut options = Options::default();
    options.liveness.probe = Duration::from_millis(20);
    let team = Team::serving(options).await;
    let (well, mut asked) = endpoint("200 OK").await;
    let (ill, _asked) = endpoint("503 Service Unavailable").await;
    for (id, url) in [("well", &well), ("ill", &ill)] {
        let mut body = validation();
        body["agent_id"] = json!(id);
        body["endpoint"] = json!(url);
        team.join(&body).await;
    }
    let mut reader = team.world.directory.feed().read(team.world.acme.clone(), None, Some(0));
    loop {
        let item = reader.next().await.unwrap();
        if let Item::Logged(logged) = item
            && logged.event.name == "WORKSPACE_OFFLINE"
        {
            assert_eq!(logged.event.agent.unwrap().as_str(), "ill");
            break;
        }
    }
    assert!(asked.recv().await.unwrap().starts_with("GET /a2a/health "));
    let well = "well".parse().expect("an id");
    assert_eq!(team.world.directory.state().agent(&well).unwrap().status, Status::Online);
}
