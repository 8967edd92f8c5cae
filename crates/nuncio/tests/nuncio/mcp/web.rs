//! `/mcp` on the hub.

use nuncio_testkit::program::Program;
use serde_json::{Value, json};

use super::{hello, is_error, request, words};
use crate::cli::support::User;

/// A hub, and who comes to it.
struct Office {
    user: User,
    hub: Program,
}

impl Office {
    fn new() -> Self {
        let user = User::new();
        let hub = Program::start(&mut user.command(&["up", "--port", "0", "--demo"]));
        Self { user, hub }
    }

    fn admin(&self) -> String {
        let file = self.user.home().join(".local/share/nuncio/hub/admin.key");
        std::fs::read_to_string(file).expect("there is a key").trim().to_owned()
    }

    fn did(&self, words: &[&str]) -> String {
        let came = self.user.run(words);
        assert_eq!(came.code, 0, "{words:?}: {}", came.err);
        came.out.trim().to_owned()
    }

    fn send(&self, key: &str, headers: &str, body: &str) -> (String, String) {
        let headers = format!(
            "authorization: Bearer {key}\r\naccept: application/json, text/event-stream\r\n{headers}"
        );
        self.hub.send("POST", "/mcp", &headers, body)
    }

    /// Begins a session, and returns its header.
    fn session(&self, key: &str) -> String {
        let (head, _) = self.send(key, "", &request(1, "initialize", &hello()));
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let mut lines = head.lines();
        let line = lines.find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
        let session = format!("{}\r\n", line.expect("a session"));
        let (head, _) =
            self.send(key, &session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert!(head.starts_with("HTTP/1.1 202"), "{head}");
        session
    }

    fn call(&self, key: &str, session: &str, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let (head, body) = self.send(key, session, &request(2, "tools/call", &params));
        assert!(head.starts_with("HTTP/1.1 200"), "{head} {body}");
        answer(&body)
    }
}

/// Finds the answer among the events of a stream.
fn answer(body: &str) -> Value {
    let mut datas = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let found = datas.find_map(|data| {
        let mut value: Value = serde_json::from_str(data.trim()).ok()?;
        value.get("result")?;
        Some(value["result"].take())
    });
    found.unwrap_or_else(|| panic!("no answer: {body}"))
}

#[test]
fn strangers_and_pages_of_others_are_refused() {
    let office = Office::new();
    let admin = office.admin();
    let first = request(1, "initialize", &hello());
    let accept = "accept: application/json, text/event-stream\r\n";
    let (head, _) = office.hub.send("POST", "/mcp", accept, &first);
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    let (head, _) = office.send(&admin, "origin: https://evil.example\r\n", &first);
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let headers = format!("authorization: Bearer {admin}\r\norigin: https://evil.example\r\n");
    let (head, _) = office.hub.send("GET", "/mcp", &headers, "");
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let (head, _) = office.send(&admin, "origin: http://localhost:1\r\n", &first);
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let ours = format!("origin: http://{}\r\n", office.hub.address());
    let (head, _) = office.send(&admin, &ours, &first);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");

    // A session is for who began it.
    let session = office.session(&admin);
    let other = office.did(&["token", "user", "vera"]);
    let list = request(3, "tools/list", &json!({}));
    let (head, _) = office.send(&other, &session, &list);
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    let (head, body) = office.send(&admin, &session, &list);
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("delegate_async"), "{head} {body}");
}

#[test]
fn the_rules_hold_for_whoever_has_the_key() {
    let office = Office::new();
    let outsider = office.did(&["token", "new", "echo"]);
    let lead = office.did(&["token", "new", "team-lead"]);
    let order = json!({"agent": "team-a", "task": "one two"});
    let session = office.session(&outsider);
    let denied = office.call(&outsider, &session, "delegate_to_a2a_agent", &order);
    assert!(is_error(&denied) && words(&denied).contains("NOT_FOUND"), "{denied}");
    let found = office.call(&outsider, &session, "list_agents", &json!({}));
    assert!(!words(&found).contains("team-a"), "{found}");
    let by_url = json!({"agent": "https://agent.example", "task": "x"});
    let refused = office.call(&outsider, &session, "delegate_to_a2a_agent", &by_url);
    assert!(is_error(&refused) && words(&refused).contains("only administrators"), "{refused}");

    let session = office.session(&lead);
    let done = office.call(&lead, &session, "delegate_to_a2a_agent", &order);
    assert_eq!(done["structuredContent"]["artifacts"][0]["content"], "2 words", "{done}");
    let task = done["structuredContent"]["task_id"].as_str().expect("an id").to_owned();

    // Nobody sees the tasks of others.
    let session = office.session(&outsider);
    let hidden = office.call(&outsider, &session, "task_status", &json!({"task_id": task}));
    assert!(is_error(&hidden), "{hidden}");
    let own = office.hub.address().to_owned();
    let by_own_url = json!({"agent": format!("http://{own}/agents/team-a"), "task": "one"});
    let denied = office.call(&outsider, &session, "delegate_to_a2a_agent", &by_own_url);
    assert!(is_error(&denied) && words(&denied).contains("NOT_FOUND"), "{denied}");
}
