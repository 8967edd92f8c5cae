//! What is taken over, and what is told about the rest.

use proptest::prelude::*;

use super::{
    super::{Configuration, Dialect, read as read_ours},
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

#[test]
fn harbors_peers_are_taken_over() {
    let text = "
llm: {api_key: hunter2}
tools:
  http: []
  a2a_peers:
    - {url: 'https://a.example', trust_tier: 5, latency_tier_ms: 50, agent_card_ttl: 1h30m}
    - {url: 'http://127.0.0.1:9', trust_tier: 1, allow_insecure_loopback: true, agent_card_ttl: '0'}
    - {url: 'http://b.example', trust_tier: 2, allow_insecure_loopback: true, dialect: harbor}
    - {url: 'http://c.example', trust_tier: 2}
";
    let (yaml, configuration) = check(text, &[]);
    let peers = &configuration.peers;
    let shown: Vec<_> = peers.iter().map(|peer| (peer.url.as_str(), peer.trust_tier)).collect();
    assert_eq!(
        shown,
        [("https://a.example", 5), ("http://127.0.0.1:9", 1), ("http://b.example", 2)]
    );
    assert_eq!(peers[0].agent_card_ttl.unwrap().get().as_secs(), 5400);
    assert_eq!((peers[0].latency_tier_ms, peers[1].agent_card_ttl), (50, None));
    assert!(peers[2].allow_plaintext && peers[2].dialect == Some(Dialect::Harbor));
    check_told(&yaml, &["not taken over: llm", "not taken over: tools.http", "c.example"]);
    assert!(!yaml.contains("hunter2"), "{yaml}");
    assert!(import("tools: {a2a_peers: [{url: 'https://a'}]}", None, &set(&[])).is_err());
}

#[test]
fn pocketpaws_settings_are_taken_over() {
    let text = r#"{
        "a2a_enabled": true, "a2a_agent_name": "My $Paw", "a2a_agent_description": "d",
        "a2a_task_timeout": 60, "openai_api_key": "hunter2",
        "a2a_trusted_agents": ["http://agent-b:8001", "https://agent-c", "nonsense"]
    }"#;
    let (yaml, configuration) = check(text, &[]);
    assert_eq!(configuration.agents[0].name.as_str(), "My--Paw");
    assert_eq!(configuration.agents[0].dialect, Some(Dialect::Pocketpaw));
    assert_eq!(configuration.limits.wait_timeout.get().as_secs(), 60);
    let peers: Vec<_> =
        configuration.peers.iter().map(|peer| (peer.url.as_str(), peer.allow_plaintext)).collect();
    assert_eq!(peers, [("http://agent-b:8001", true), ("https://agent-c", false)]);
    check_told(&yaml, &["a2a_agent_description", "openai_api_key", "nonsense", "8888"]);
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
    assert_eq!((configuration.agents.len(), configuration.peers.len()), (1, 1));
    assert_eq!(configuration.limits.wait_timeout.get().as_secs(), 7);
    check_told(&yaml, &["POCKETPAW_TELEGRAM_TOKEN"]);
    assert!(!yaml.contains("hunter2"), "{yaml}");
    // A file of variables is one of its files, too.
    let lines =
        "export POCKETPAW_A2A_ENABLED=true\nPOCKETPAW_A2A_TRUSTED_AGENTS='[\"https://d\"]'\n";
    let (_, configuration) = check(lines, &[]);
    assert_eq!((configuration.agents.len(), configuration.peers.len()), (1, 1));
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
    - {capability: evidence_collection, allowed_agents: [orchestrator-agent, research-agent]}
";
    let endpoint = ("VALIDATION_AGENT_ENDPOINT", "https://v.example");
    let (yaml, configuration) = check(text, &[endpoint]);
    let agent = &configuration.agents[0];
    assert_eq!(agent.name.as_str(), "validation-agent-us-central1");
    assert_eq!(agent.url.as_ref().unwrap().as_str(), "https://v.example");
    assert_eq!(agent.dialect, Some(Dialect::Opportunity));
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
        ],
    );
    let named = "a2a: {enabled: true}\nagent_id: x\nendpoint: http://10.0.0.1:80\n";
    let (_, configuration) = check(named, &[]);
    assert!(configuration.agents[0].allow_http);
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
    fn what_comes_out_is_a_configuration_or_a_refusal_of_ours(
        name in "\\PC{1,20}",
        url in "https?://[a-z$]{1,5}(/\\PC{0,10})?",
        key in "[a-z_$#]{1,10}",
    ) {
        let document = serde_json::json!({
            "a2a_enabled": true, "a2a_agent_name": name, "a2a_trusted_agents": [url], key: name,
        });
        let yaml = import(&document.to_string(), None, &set(&[])).unwrap();
        if let Err(error) = read_ours(&yaml, &set(&[])) {
            // A name of signs alone has no letters that could stay.
            let is_name = error.problems().iter().all(|problem| problem.key() == "agents[0].name");
            prop_assert!(is_name, "{error}\n{yaml}");
        }
    }

    #[test]
    fn any_text_is_taken_over_or_refused(text in "\\PC*", number in 0..3_usize) {
        let kind = [Kind::Harbor, Kind::PocketPaw, Kind::Opportunity][number];
        let _ = import(&text, Some(kind), &set(&[]));
        let _ = import(&format!("a2a: {{capabilities: [{text}]}}\nname: {text}"), None, &set(&[]));
    }
}
