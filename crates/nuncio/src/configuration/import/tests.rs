//! What is taken over, and what is told about the rest.

use proptest::prelude::*;

use super::{
    super::{Agent, Configuration, read as read_ours},
    *,
};

fn set(variables: &[(&str, &str)]) -> Environment {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Imports, and reads what came out with the reader of `nuncio.yaml`.
#[track_caller]
fn check(text: &str, variables: &[(&str, &str)]) -> (String, Configuration) {
    let environment = set(variables);
    let yaml = import(text, None, &environment).unwrap_or_else(|error| panic!("{error}"));
    let configuration =
        read_ours(&yaml, &environment).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    (yaml, configuration)
}

#[track_caller]
fn check_told(yaml: &str, notes: &[&str]) {
    for note in notes {
        assert!(
            yaml.lines().any(|line| line.trim_start().starts_with('#') && line.contains(note)),
            "{note}\n{yaml}"
        );
    }
}

/// Shows what an import can set.
fn shown(agent: &Agent) -> String {
    let url = agent.url.as_ref().expect("every agent has a URL");
    let mut text = format!("{} {url} trust {}", agent.name.get(), agent.trust);
    text.extend(agent.latency_hint.map(|latency| format!(" {latency}")));
    text.extend(agent.allow_http.then_some(" http"));
    text.extend((!agent.allow_private.is_empty()).then_some(" in"));
    text.extend(agent.allow_private.iter().map(|range| format!(" {range}")));
    text
}

#[test]
fn harbors_peers_are_taken_over() {
    let text = "
llm: {api_key: hunter2}
tools:
  http: []
  a2a_peers:
    - {url: 'https://a.example/x', trust_tier: 5, latency_tier_ms: 50, agent_card_ttl: 1h30m}
    - {url: 'https://a.example:8443', trust_tier: 4, latency_tier_ms: 0, allow_private: true}
    - {url: 'http://127.0.0.1:9', trust_tier: 1, allow_insecure_loopback: true}
    - {url: 'http://b.example', trust_tier: 3}
    - {url: 'http://b.example/', trust_tier: 2, allow_insecure_loopback: true, dialect: harbor}
    - {url: 'http://c.example', trust_tier: 2}
";
    let (yaml, configuration) = check(text, &[]);
    assert_eq!(
        configuration.agents.iter().map(shown).collect::<Vec<_>>(),
        [
            "a.example https://a.example/x trust 5 50ms",
            "a.example-8443 https://a.example:8443 trust 4 \
             in 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16",
            "127-0-0-1 http://127.0.0.1:9 trust 1 http in 127.0.0.0/8",
            "b.example http://b.example/ trust 2 http",
        ]
    );
    check_told(
        &yaml,
        &[
            "not taken over: llm",
            "not taken over: tools.http",
            "c.example",
            "agent_card_ttl of https://a.example/x",
            "dialect of http://b.example/",
            "http://b.example stands there twice",
        ],
    );
    assert!(!yaml.contains("hunter2"), "{yaml}");
    for wrong in ["{url: 'https://a'}", "{url: 'https://a', trust_tier: 6}"] {
        let text = format!("tools: {{a2a_peers: [{wrong}]}}");
        assert!(import(&text, None, &set(&[])).is_err(), "{text}");
    }
}

#[test]
fn pocketpaws_settings_are_taken_over() {
    let text = r#"{
        "a2a_enabled": true, "a2a_agent_name": "My $Paw", "a2a_agent_description": "d",
        "a2a_task_timeout": 60, "openai_api_key": "hunter2",
        "a2a_trusted_agents": ["http://agent-b:8001", "https://agent-c", "nonsense", "https://agent-c/",
                               "http://[::1]:7", "https://10.0.0.7"]
    }"#;
    let (yaml, configuration) = check(text, &[]);
    assert_eq!(
        configuration.agents.iter().map(shown).collect::<Vec<_>>(),
        [
            "agent-b http://agent-b:8001 trust 3 http in 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16",
            "agent-c https://agent-c trust 3 in 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16",
            "1 http://[::1]:7 trust 3 http in ::1/128",
            "10-0-0-7 https://10.0.0.7 trust 3 in 10.0.0.7/32",
        ]
    );
    check_told(
        &yaml,
        &[
            "a2a_agent_description",
            "nuncio serve",
            "a2a_task_timeout",
            "openai_api_key",
            "nonsense",
            "8888",
        ],
    );
    assert!(!yaml.contains("hunter2"), "{yaml}");
}

#[test]
fn pocketpaws_variables_overrule_its_file() {
    let variables = [
        ("POCKETPAW_A2A_ENABLED", "true"),
        ("POCKETPAW_A2A_TRUSTED_AGENTS", r#"["https://d"]"#),
        ("POCKETPAW_A2A_TASK_TIMEOUT", "7"),
        ("POCKETPAW_TELEGRAM_TOKEN", "hunter2"),
    ];
    let (yaml, configuration) =
        check(r#"{"a2a_enabled": false, "a2a_task_timeout": 1}"#, &variables);
    assert_eq!(configuration.agents[0].name.as_str(), "d");
    check_told(&yaml, &["POCKETPAW_TELEGRAM_TOKEN", "a2a_enabled", "a2a_task_timeout"]);
    assert!(!yaml.contains("hunter2"), "{yaml}");
    // A file of variables is one of its files, too.
    let lines =
        "export POCKETPAW_A2A_ENABLED=true\nPOCKETPAW_A2A_TRUSTED_AGENTS='[\"https://d\"]'\n";
    let (_, configuration) = check(lines, &[]);
    assert_eq!(configuration.agents[0].name.as_str(), "d");
    let off = check(r#"{"a2a_enabled": false}"#, &[]).1;
    assert!(off.agents.is_empty());
    assert!(import(r#"{"a2a_trusted_agents": "x"}"#, None, &set(&[])).is_err());
}

#[test]
fn an_opportunity_agent_is_taken_over() {
    let text = "
name: validation-agent-us-central1
description: validates
model: some
a2a:
  enabled: true
  protocol_version: '1.0'
  timeout: 60
  capabilities:
    - pain_point_validation
    - {capability: evidence_collection, allowed_agents: [Orchestrator-Agent, research agent, '*']}
";
    let endpoint = ("VALIDATION_AGENT_ENDPOINT", "https://v.example");
    let (yaml, configuration) = check(text, &[endpoint]);
    let agent = &configuration.agents[0];
    assert_eq!(agent.name.as_str(), "validation-agent-us-central1");
    assert_eq!(agent.url.as_ref().unwrap().as_str(), "https://v.example");
    let allowed = &agent.skills["evidence_collection"].allowed_agents;
    assert_eq!(allowed, &["orchestrator-agent", "research-agent"]);
    check_told(
        &yaml,
        &[
            "VALIDATION_AGENT_ENDPOINT",
            "pain_point_validation",
            "description",
            "model",
            "a2a.timeout",
            "\"*\" in allowed_agents",
            "must know every agent",
        ],
    );
    let named = "a2a: {enabled: true}\nagent_id: x\nendpoint: http://10.0.0.1:80\n";
    let (_, configuration) = check(named, &[]);
    assert_eq!(shown(&configuration.agents[0]), "x http://10.0.0.1:80 trust 3 http in 10.0.0.1/32");
    let (yaml, configuration) = check("a2a: {enabled: false}\nname: x\nendpoint: https://x\n", &[]);
    assert!(configuration.agents.is_empty());
    check_told(&yaml, &["a2a.enabled is false", "- name: \"x\""]);
}

#[test]
fn a_file_of_nobody_is_refused_unless_somebody_says_whose_it_is() {
    let error = |text| import(text, None, &set(&[])).unwrap_err();
    assert_eq!(error("name: x"), ImportError::Unknown);
    assert!(matches!(error("[1"), ImportError::Unreadable(_)));
    assert!(import("theme: dark", Some(Kind::PocketPaw), &set(&[])).is_ok());
    assert!(import("theme: dark", Some(Kind::Harbor), &set(&[])).is_err());
}

proptest! {
    /// Whatever names and addresses a file has, what comes out can be read.
    #[test]
    fn what_comes_out_is_a_configuration(
        name in "\\PC{1,20}",
        urls in prop::collection::vec("https?://[a-z$0-9.-]{1,70}(:[0-9]{1,4})?(/\\PC{0,10})?", 0..4),
        key in "[a-z_$#]{1,10}",
    ) {
        let document = serde_json::json!({
            "a2a_enabled": true, "a2a_agent_name": name, "a2a_trusted_agents": urls, &*key: name,
        });
        let peers: Vec<_> = urls.iter().map(|url| {
            serde_json::json!({"url": url, "trust_tier": 1, "allow_insecure_loopback": true})
        }).collect();
        let harbor = serde_json::json!({"tools": {"a2a_peers": peers}});
        let agent = serde_json::json!({
            "name": name, "endpoint": "https://a",
            "a2a": {"capabilities": [{"name": key, "allowed_agents": [name]}]},
        });
        for document in [document, harbor, agent] {
            let yaml = import(&document.to_string(), None, &set(&[])).unwrap();
            let read = read_ours(&yaml, &set(&[]));
            prop_assert!(read.is_ok(), "{}\n{yaml}", read.unwrap_err());
        }
    }

    #[test]
    fn any_text_is_taken_over_or_refused(text in "\\PC*", number in 0..3_usize) {
        let kind = [Kind::Harbor, Kind::PocketPaw, Kind::Opportunity][number];
        let _ = import(&text, Some(kind), &set(&[]));
        let _ = import(&format!("a2a: {{capabilities: [{text}]}}\nname: {text}"), None, &set(&[]));
    }
}
