//! What administrators see of a hub from inside: its configuration, and how its agents are.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use nuncio_testkit::program::Program;
use serde_json::{Value, json};

use crate::cli::support::{User, serve};

/// What nobody may see.
const SECRET: &str = "swordfish";

/// A hub of somebody's own.
struct Watched {
    hub: Program,
    key: String,
    user: User,
}

impl Watched {
    fn start(file: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let user = User::new();
        user.write("nuncio.yaml", file);
        let mut command = user.command(&["up", "--port", "0"]);
        command.args(arguments).envs(environment.iter().copied());
        let hub = Program::start(&mut command);
        let file = user.home().join(".local/share/nuncio/hub/admin.key");
        let key = std::fs::read_to_string(file).expect("there is a key").trim().to_owned();
        Self { hub, key, user }
    }

    /// Asks with a key; returns the status and the document.
    fn ask(&self, key: &str, (method, path): (&str, &str), body: &Value) -> (u16, Value) {
        let headers = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
        let (head, body) = self.hub.send(method, path, &headers, &body.to_string());
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        let document = serde_json::from_str(&body).unwrap_or(Value::String(body));
        (status.expect("a status"), document)
    }

    #[track_caller]
    fn done(&self, request: (&str, &str), body: &Value) -> Value {
        let (status, document) = self.ask(&self.key, request, body);
        assert!(status < 300, "{request:?}: {status} {document}");
        document
    }

    /// Makes a key for somebody else.
    fn person(&self, name: &str, scopes: &[&str]) -> String {
        let made = self.done(("POST", "/api/v1/keys"), &json!({ "name": name, "scopes": scopes }));
        made["key"].as_str().expect("a key").to_owned()
    }

    /// Makes a token for an agent.
    fn agent(&self, name: &str) -> String {
        self.done(("POST", "/api/v1/agents"), &json!({ "name": name }));
        let made = self.done(("POST", &format!("/api/v1/agents/{name}/tokens")), &json!({}));
        let token = made["key"].as_str().or_else(|| made["token"].as_str());
        token.unwrap_or_else(|| panic!("a token: {made}")).to_owned()
    }

    #[track_caller]
    fn refuses(&self, key: &str, request: (&str, &str), expected: u16) {
        let (status, document) = self.ask(key, request, &json!({}));
        assert_eq!(status, expected, "{request:?}: {document}");
    }
}

#[track_caller]
fn check_setting(shown: &Value, key: &str, value: &str, source: &Value) {
    let settings = shown["settings"].as_array().expect("a list");
    let setting = settings.iter().find(|setting| setting["key"] == key);
    let setting = setting.unwrap_or_else(|| panic!("there is no {key}"));
    assert_eq!((&setting["value"], &setting["source"]), (&json!(value), source), "{key}");
}

#[test]
fn the_configuration_is_shown_with_who_said_what_and_no_secret() {
    let file = "\
organisation: acme
limits:
  drain: 7s
dialects: [molecule]
agents:
  - name: inner
    url: https://inner.example/a2a?key=swordfish
    allow_private: [10.1.0.0/16]
    credential: {bearer: '${INNER_TOKEN}'}
  - {name: runs, kind: command, command: [true, --api-key, swordfish]}
";
    let environment = [("INNER_TOKEN", SECRET), ("NUNCIO_HIERARCHY", "lineage")];
    let watched = Watched::start(file, &[], &environment);
    let shown = watched.done(("GET", "/api/v1/configuration"), &Value::Null);
    let text = shown.to_string();
    assert!(!text.contains(SECRET) && !text.contains(&watched.key), "{text}");

    let line = |line: u64| json!({ "kind": "file", "name": "nuncio.yaml", "line": line });
    check_setting(&shown, "organisation", "acme", &line(1));
    check_setting(&shown, "limits.drain", "7s", &line(3));
    check_setting(&shown, "limits.sweep", "15s", &json!({ "kind": "default" }));
    let variable = json!({ "kind": "environment", "name": "NUNCIO_HIERARCHY" });
    check_setting(&shown, "hierarchy", "lineage", &variable);
    check_setting(&shown, "listen", "127.0.0.1:0", &json!({ "kind": "flag", "name": "--port" }));
    let taken = json!({
        "kind": "file", "name": "nuncio.yaml", "line": 9, "variables": ["INNER_TOKEN"],
    });
    check_setting(&shown, "agents[0].credential.bearer", "(secret)", &taken);
    check_setting(&shown, "agents[0].url", "https://inner.example/a2a?(secret)", &line(7));
    check_setting(&shown, "agents[1].command", "[true, --api-key, (secret)]", &line(10));

    let is_on = |name| {
        let dialects = shown["dialects"].as_array().expect("a list");
        dialects.iter().find(|one| one["name"] == name).map(|one| one["is_on"] == true)
    };
    assert_eq!((is_on("molecule"), is_on("upal")), (Some(true), Some(false)));
    let networks = shown["networks"].to_string();
    assert!(networks.contains("10.1.0.0/16") && networks.contains("agent `inner`"), "{networks}");
    assert_eq!(shown["file"], "nuncio.yaml");
}

#[test]
fn the_configuration_and_the_doctor_are_for_administrators() {
    let watched = Watched::start("", &["--in-memory"], &[]);
    let people =
        [watched.person("vera", &["read"]), watched.person("bob", &[]), watched.agent("worker")];
    for key in &people {
        watched.refuses(key, ("GET", "/api/v1/configuration"), 403);
        watched.refuses(key, ("POST", "/api/v1/agents/worker/doctor"), 403);
    }
    let (head, _) = watched.hub.send("GET", "/api/v1/configuration", "", "");
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
}

#[test]
fn a_changed_file_is_shown_with_what_waits_for_a_start() {
    let watched = Watched::start("organisation: acme\n", &[], &[]);
    watched.user.write("nuncio.yaml", "\norganisation: acme\nlimits: {drain: 9s}\n");
    let mut shown = Value::Null;
    // The file is looked at once a second, and counts when it was the same twice.
    for _ in 0..600 {
        shown = watched.done(("GET", "/api/v1/configuration"), &Value::Null);
        if shown["waiting"] != json!([]) {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(shown["waiting"], json!(["limits.drain"]));
    let line = json!({ "kind": "file", "name": "nuncio.yaml", "line": 2 });
    check_setting(&shown, "organisation", "acme", &line);
}

#[test]
fn the_hub_examines_an_agent_as_the_command_does() {
    let watched = Watched::start("", &["--in-memory"], &[]);
    let (_agent, url) = serve(&["--name", "echo", "--in-memory"]);
    watched.done(("POST", "/api/v1/agents"), &json!({ "name": "echo", "card_url": url }));
    let report = watched.done(("POST", "/api/v1/agents/echo/doctor"), &json!({}));
    assert_eq!(report["reachable"], true);
    let of_command = watched.user.run(&["doctor", &url, "--format", "json"]).out;
    let of_command: Value = serde_json::from_str(&of_command).expect("a document");
    let codes = |report: &Value| -> Vec<(String, String)> {
        let checks = report["checks"].as_array().expect("a list").iter();
        checks.map(|one| (one["code"].to_string(), one["outcome"].to_string())).collect()
    };
    assert_eq!(codes(&report), codes(&of_command));
    assert_eq!(report["summary"], of_command["summary"]);
    assert_eq!(report["agent"], of_command["agent"]);

    let path = ("POST", "/api/v1/agents/echo/doctor");
    let looked = watched.done(path, &json!({ "read_only": true }));
    assert!(looked.to_string().contains("--read-only: no message is sent"), "{looked}");
    let (status, problem) = watched.ask(&watched.key, path, &json!({ "readonly": true }));
    assert_eq!(status, 400, "{problem}");
}

/// An agent that repeats what it is shown, and answers nothing else.
fn parrot() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let card = json!({
        "name": "parrot", "description": "d", "version": "1", "capabilities": {}, "skills": [],
        "defaultInputModes": [], "defaultOutputModes": [],
        "supportedInterfaces": [{
            "url": format!("http://{address}/"),
            "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
        }],
    });
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let card = card.to_string();
            // Whoever hangs up has heard enough.
            thread::spawn(move || repeat(stream, &card).ok());
        }
    });
    format!("http://{address}")
}

fn repeat(mut stream: TcpStream, card: &str) -> io::Result<()> {
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    while reader.read_line(&mut head)? > 2 {}
    let shown = head.lines().find(|line| line.to_ascii_lowercase().starts_with("authorization:"));
    let body = if head.starts_with("GET /.well-known/agent-card.json") {
        card.to_owned()
    } else {
        format!("you said {}", shown.unwrap_or("nothing"))
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
}

#[test]
fn the_doctor_shows_no_credential_of_the_hub_even_if_the_agent_repeats_it() {
    let url = parrot();
    let file =
        format!("agents:\n  - {{name: parrot, card: '{url}', credential: {{bearer: {SECRET}}}}}\n");
    let watched = Watched::start(&file, &[], &[]);
    let report = watched.done(("POST", "/api/v1/agents/parrot/doctor"), &json!({}));
    let text = report.to_string();
    assert!(!text.contains(SECRET) && text.contains("•••"), "{text}");
}

#[test]
fn the_doctor_goes_only_where_the_hub_may_go() {
    let file =
        "agents:\n  - {name: inner, url: 'https://10.9.9.9/'}\n  - {name: home, kind: echo}\n";
    let watched = Watched::start(file, &[], &[]);
    let report = watched.done(("POST", "/api/v1/agents/inner/doctor"), &json!({}));
    assert_eq!(report["reachable"], false, "{report}");
    let failed = report["checks"].as_array().expect("a list").iter();
    let failed: Vec<_> = failed.filter(|one| one["outcome"] == "failure").collect();
    assert!(failed.iter().all(|one| one["fix"].is_string()), "{failed:?}");
    assert!(failed[0]["code"] == "reach.url" || failed[0]["code"] == "reach.dns", "{failed:?}");

    let path = ("POST", "/api/v1/agents/home/doctor");
    let (status, problem) = watched.ask(&watched.key, path, &json!({}));
    assert_eq!((status, &problem["code"]), (409, &json!("NOT_CALLED")), "{problem}");
    let path = ("POST", "/api/v1/agents/nobody/doctor");
    assert_eq!(watched.ask(&watched.key, path, &json!({})).0, 404);
}
