//! The test plan of Upal's design (U-23), by name: workflows of models, which are served over HTTP
//! as real ones are.

use std::{fs, process::Command};

use nuncio_testkit::{
    llm::{self, Answer, Provider},
    program::Program,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A hub that knows one model.
struct House {
    hub: Program,
    provider: Provider,
    _folder: TempDir,
}

impl House {
    async fn open(answers: impl IntoIterator<Item = Answer>) -> Self {
        let provider = Provider::start(answers).await;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("nuncio.yaml");
        let url = provider.url();
        let settings = format!(
            "providers:\n  house: {{type: openai, url: '{url}/v1', api_key: '${{LLM_KEY}}'}}\n"
        );
        fs::write(&file, settings).expect("the folder is there");
        let mut command = Command::new(env!("CARGO_BIN_EXE_nuncio"));
        command
            .args(["up", "--open", "--in-memory", "--port", "0", "--config"])
            .arg(&file)
            .arg("--data-dir")
            .arg(folder.path())
            .env("LLM_KEY", llm::KEY);
        let hub = tokio::task::block_in_place(|| Program::start(&mut command));
        Self { hub, provider, _folder: folder }
    }

    /// Asks the hub while the model answers meanwhile; returns head and body.
    fn ask(&self, method: &str, path: &str, body: &Value) -> (String, String) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        tokio::task::block_in_place(|| self.hub.send(method, path, "", &body))
    }

    #[track_caller]
    fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let (head, body) = self.ask(method, path, body);
        assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {head} {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// Saves a workflow, runs it about otters, and returns the run when it has ended.
    #[track_caller]
    fn run(&self, workflow: &Value) -> Value {
        self.done("POST", "/api/workflows", workflow);
        let name = workflow["name"].as_str().expect("a name");
        let headers = "accept: text/event-stream\r\n";
        let inputs = json!({ "inputs": { "topic": "otters" } }).to_string();
        let path = format!("/api/workflows/{name}/run");
        let (head, events) =
            tokio::task::block_in_place(|| self.hub.send("POST", &path, headers, &inputs));
        assert!(head.starts_with("HTTP/1.1 200"), "{head} {events}");
        let page = self.done("GET", "/api/v1/runs", &Value::Null);
        let id = page["runs"][0]["id"].as_str().expect("a run").to_owned();
        self.done("GET", &format!("/api/v1/runs/{id}"), &Value::Null)
    }
}

/// A workflow in Upal's form: from the topic to each of these models, and from all to the output.
fn workflow(name: &str, models: &[&str]) -> Value {
    let mut nodes = vec![json!({ "id": "topic", "type": "input", "config": { "value": "" } })];
    let mut edges = Vec::new();
    for model in models {
        nodes.push(json!({
            "id": model, "type": "agent",
            "config": { "model": "house/m-1", "prompt": format!("{model} {{{{topic}}}}") },
        }));
        edges.push(json!({ "from": "topic", "to": model }));
        edges.push(json!({ "from": model, "to": "out" }));
    }
    nodes.push(json!({ "id": "out", "type": "output", "config": {} }));
    json!({ "name": name, "version": 1, "nodes": nodes, "edges": edges })
}

fn states(run: &Value) -> Vec<(&str, &str)> {
    let nodes = run["nodes"].as_array().expect("nodes").iter();
    nodes
        .map(|node| (node["node"].as_str().unwrap_or(""), node["state"].as_str().unwrap_or("")))
        .collect()
}

fn output(run: &Value) -> Vec<&str> {
    let parts = run["output"].as_array().into_iter().flatten();
    let parts = parts.flat_map(|artifact| artifact["parts"].as_array().into_iter().flatten());
    parts.filter_map(|part| part["text"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn u23_serial_input_agent_output() {
    let house = House::open([Answer::says("Otters swim.")]).await;
    let run = house.run(&workflow("serial", &["research"]));
    assert_eq!(run["state"], "completed", "{run}");
    // U-11: the output is all that was brought about before it.
    assert_eq!(output(&run), ["otters", "Otters swim."]);
    let asked = house.provider.asked(1).await[0].body.to_string();
    assert!(asked.contains("research otters"), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u23_parallel_input_two_agents_output() {
    // Which of them asks first is nobody's promise.
    let house = House::open([Answer::says("Swims."), Answer::says("Swims.")]).await;
    let run = house.run(&workflow("parallel", &["a", "b"]));
    assert_eq!(run["state"], "completed", "{run}");
    assert_eq!(output(&run), ["otters", "Swims.", "Swims."]);
    let asked = house.provider.asked(2).await;
    let mut asked: Vec<bool> =
        asked.iter().map(|each| each.body.to_string().contains("a otters")).collect();
    asked.sort_unstable();
    assert_eq!(asked, [false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn u23_an_error_propagates_and_what_depends_on_it_is_canceled() {
    let refusal = r#"{"error":{"message":"no such model"}}"#;
    let house = House::open([Answer::Refuses(400, String::new(), refusal.to_owned())]).await;
    let run = house.run(&workflow("broken", &["research"]));
    assert_eq!(run["state"], "failed", "{run}");
    let expected = [("topic", "completed"), ("research", "failed"), ("out", "canceled")];
    assert_eq!(states(&run), expected);
    let reason = run["reason"].as_str().expect("a reason");
    assert!(reason.contains("research") && reason.contains("no such model"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u23_lifecycle_of_a_run_and_of_its_nodes() {
    let house = House::open([Answer::says("Otters swim.")]).await;
    let run = house.run(&workflow("serial", &["research"]));
    let id = run["id"].as_str().expect("an id");
    let page = house.done("GET", &format!("/api/v1/runs/{id}/events"), &Value::Null);
    let events = page["events"].as_array().expect("events").iter();
    let told = events
        .map(|event| (event["type"].as_str().unwrap_or(""), event["node"].as_str().unwrap_or("")))
        .filter(|(kind, _)| kind.starts_with("run.") || kind.starts_with("node."))
        .collect::<Vec<_>>();
    let expected = [
        ("run.started", ""),
        ("node.started", "topic"),
        ("node.completed", "topic"),
        ("node.started", "research"),
        ("node.completed", "research"),
        ("node.started", "out"),
        ("node.completed", "out"),
        ("run.completed", ""),
    ];
    assert_eq!(told, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn u23_json_rpc_requests_and_answers_are_validated() {
    let house = House::open([Answer::says("Otters swim.")]).await;
    house.done("POST", "/api/workflows", &workflow("serial", &["research"]));
    let call = |body: Value| house.done("POST", "/a2a/nodes/research", &body);
    let message = json!({ "role": "user", "parts": [{ "type": "text", "text": "otters" }] });
    let good = json!({
        "jsonrpc": "2.0", "id": "r1", "method": "a2a.sendMessage",
        "params": { "message": message },
    });
    let answer = call(good.clone());
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!("r1")), "{answer}");
    assert!(answer["error"].is_null(), "{answer}");
    let task = &answer["result"];
    assert_eq!(task["status"], "completed", "{answer}");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "Otters swim.");

    for (member, value, code) in [
        ("jsonrpc", json!("1.0"), -32600),
        ("method", json!(7), -32600),
        ("method", json!("a2a.nothing"), -32601),
        ("params", json!({}), -32602),
        ("params", json!({ "message": { "role": "user", "parts": "otters" } }), -32602),
    ] {
        let mut bad = good.clone();
        bad[member] = value;
        let answer = call(bad.clone());
        assert_eq!(answer["error"]["code"], code, "{bad}: {answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(answer["result"].is_null(), "{answer}");
    }
    assert_eq!(house.provider.asked(1).await.len(), 1, "nothing of that was run");
}
