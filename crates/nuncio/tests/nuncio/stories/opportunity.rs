//! The opportunity agents: ten capabilities, the request of the specification, and the analysis
//! of several opportunities at once.

use nuncio_testkit::llm::{self, Answer, Provider};
use serde_json::json;
use tokio::runtime::Runtime;

use super::Story;

/// O-02.
const CAPABILITIES: [&str; 10] = [
    "pain_point_validation",
    "competitor_analysis",
    "evidence_collection",
    "market_analysis",
    "competitive_intelligence",
    "oss_recommendations",
    "strategic_positioning",
    "agent_orchestration",
    "result_synthesis",
    "project_generation",
];

/// O-24, to the letter.
const O24: &str = r#"{
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

#[test]
fn opportunity_plays() {
    let story = Story::play("opportunity");

    let known = story.step("Ten capabilities");
    let listed = known.json(0);
    for capability in CAPABILITIES {
        let has = listed["capabilities"].as_array().expect("a list").contains(&json!(capability));
        assert!(has, "{capability}: {listed}");
    }
    assert_eq!(known.json(1)["agents"][0]["agent_id"], "validation-agent");

    // O-24: the same answer from the agent and, by way of the hub, from whoever can do it.
    let answer = json!({
        "protocol_version": "1.0",
        "request_id": "abc-123-def",
        "agent_id": "validation-agent",
        "capability": "pain_point_validation",
        "status": "success",
        "result": {
            "validation_score": 87,
            "evidence": {"posts": 42, "complaints": 31},
            "recommendation": "STRONG VALIDATION",
        },
    });
    let direct = story.step("The request of the specification");
    direct.assert_sent(O24);
    assert_eq!(direct.json(0), answer);
    assert_eq!(story.step("The same to the hub").json(0), answer);

    // O-10.
    let errors = story.step("What nobody can do");
    let code = |index: usize| {
        let error = errors.json(index);
        assert_eq!(error["status"], "error");
        error["error"].as_str().expect("words").split(':').next().map(str::to_owned)
    };
    assert_eq!(code(0).as_deref(), Some("CAPABILITY_NOT_SUPPORTED"));
    assert_eq!(code(1).as_deref(), Some("INVALID_PROTOCOL_VERSION"));

    // O-18, OD-04.
    let ranked = &story.step("parallel_analysis").json(0)["result"]["ranked"];
    let places: Vec<_> = ranked.as_array().expect("a list").iter().collect();
    let problems: Vec<_> = places.iter().map(|place| place["problem"].as_str()).collect();
    assert_eq!(
        problems,
        [Some("equipment tracking"), Some("inventory waste"), Some("pigeon taxis")]
    );
    assert_eq!(places[0]["score"], 81.0);

    // OG-04: all have begun before any has ended. The order of the log does not depend on speed:
    // what can begin is begun before anything is waited for.
    let log = story.step("The log of the run");
    let happened = |what: &str| {
        let lines = log.text().lines().enumerate().filter(|(_, line)| line.contains("analyses["));
        lines.filter(|(_, line)| line.contains(what)).map(|(place, _)| place).collect::<Vec<_>>()
    };
    let (begun, ended) = (happened("node.started"), happened("node.completed"));
    assert_eq!((begun.len(), ended.len()), (3, 3), "{}", log.text());
    assert!(begun.iter().max() < ended.iter().min(), "{}", log.text());

    let everybody = story.step("Everything is there in A2A 1.0");
    assert_eq!(everybody.json(0)["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(everybody.json(1)["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    story.end();
}

#[test]
fn opportunity_plays_with_a_model_where_there_is_a_key() {
    let runtime = Runtime::new().expect("a runtime");
    // One for all that it is asked, whoever asks first.
    let answer = json!({
        "validation_score": 70, "evidence": {}, "recommendation": "VALIDATION",
        "opportunity_score": 50, "tam": 3, "sam": 2, "som": 1,
    });
    let answers = (0..13).map(|_| Answer::says(&answer.to_string()));
    let provider = runtime.block_on(Provider::start(answers));
    let place = format!("{}/v1", provider.url());
    let story = Story::play_with(
        "opportunity",
        &[("OPENAI_API_KEY", llm::KEY), ("OPENAI_BASE_URL", &place), ("OPENAI_MODEL", "m-1")],
    );
    // The agent itself has its script; whoever asks the hub is answered by the model.
    let direct = story.step("The request of the specification").json(0);
    assert_eq!(direct["result"]["validation_score"], 87);
    assert_eq!(story.step("The same to the hub").json(0)["result"]["validation_score"], 70);
    let ranked = story.step("parallel_analysis").json(0);
    assert_eq!(ranked["result"]["ranked"][0]["score"], 62.0, "{ranked}");
    story.end();
}
