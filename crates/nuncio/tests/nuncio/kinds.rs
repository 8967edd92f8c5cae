//! Agents that the hub runs itself: a model, a request, a tool of a server.

use std::{fs, process::Command};

use nuncio_testkit::{
    llm::{self, Answer, Provider},
    mcp,
    program::Program,
};

/// Starts an open hub that is told this.
fn up(folder: &tempfile::TempDir, configuration: &str) -> Program {
    let file = folder.path().join("nuncio.yaml");
    fs::write(&file, configuration).expect("the folder is there");
    let mut command = Command::new(env!("CARGO_BIN_EXE_nuncio"));
    command
        .args(["up", "--open", "--in-memory", "--port", "0", "--config"])
        .arg(&file)
        .arg("--data-dir")
        .arg(folder.path())
        .env("LLM_KEY", llm::KEY);
    Program::start(&mut command)
}

async fn ask(hub: Program, agent: &str, text: &str) -> (Program, String) {
    let path = format!("/agents/{agent}/message:send");
    let body = format!(
        r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}"#
    );
    // The servers that it calls answer meanwhile.
    let asked = tokio::task::spawn_blocking(move || {
        let answer = hub.post(&path, &body);
        (hub, answer)
    });
    asked.await.expect("it is asked")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hub_runs_models_requests_and_tools() {
    let provider = Provider::start([
        Answer::Calls(
            "One moment.".to_owned(),
            vec![
                ("echo".to_owned(), r#"{"text":"from the server"}"#.to_owned()),
                ("shout".to_owned(), r#"{"message":"from the agent"}"#.to_owned()),
                ("secret".to_owned(), r#"{"message":"from nobody"}"#.to_owned()),
            ],
        ),
        Answer::says("All done."),
    ])
    .await;
    let tools = mcp::Server::start(Some("swordfish")).await;
    let configuration = format!(
        "
providers:
  house: {{type: openai, url: '{}/v1', api_key: '${{LLM_KEY}}'}}
default_model: house/m-1
mcp_servers:
  tools: {{url: '{}', bearer: swordfish}}
agents:
  - {{name: team, kind: echo}}
  - {{name: helper, kind: llm, parent: team, system_prompt: Help.,
     tools: ['mcp://tools/echo', 'agent://shout', 'agent://secret']}}
  - {{name: shout, kind: command, parent: team, command: [tr, a-z, A-Z]}}
  - {{name: secret, kind: echo}}
  - {{name: adder, kind: mcp, tool: 'mcp://tools/add'}}
  - {{name: fetch, kind: http, url: '{}/nowhere'}}
",
        provider.url(),
        tools.url(),
        provider.url(),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let hub = up(&folder, &configuration);
    let (hub, answer) = ask(hub, "helper", "Go").await;
    assert!(answer.contains(r#""text":"All done.""#), "{answer}");
    let told = provider.asked(2).await[1].body.to_string();
    assert!(told.contains(r#"mcp://tools/echo\",\"content\":\"from the server"#), "{told}");
    // The other agent is called as the model's own, so only a sibling can be.
    assert!(told.contains(r#"agent://shout\",\"content\":\"FROM THE AGENT"#), "{told}");
    assert!(told.contains(r#"agent://secret\",\"error\":\"it could not be asked"#), "{told}");
    let (hub, answer) = ask(hub, "adder", r#"{\"a\":1,\"b\":2}"#).await;
    assert!(answer.contains(r#""data":{"sum":3.0}"#), "{answer}");
    let (_hub, answer) = ask(hub, "fetch", "Go").await;
    assert!(answer.contains("127.0.0.1 answered 404 Not Found"), "{answer}");
}
