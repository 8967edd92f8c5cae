//! Upal: its own file, its API, its events, and its nodes as agents.

use serde_json::json;

use super::Story;

#[test]
fn upal_plays() {
    let story = Story::play("upal");

    // UD-01: what went in comes out.
    let saved = story.step("The workflow, in Upal's own file").json(0);
    assert_eq!(saved["name"], "Topic Report");
    assert_eq!(saved["nodes"][1]["type"], "external");

    // U-14, UD-07: in the order of the graph, each with what it brought about, and last the whole.
    let run = story.step("Upal runs it");
    let names: Vec<&str> =
        run.text().lines().filter_map(|line| line.strip_prefix("   < event: ")).collect();
    let one = ["node_started", "node_completed"];
    assert_eq!(names, [&one[..], &one, &one, &one, &["done"]].concat());
    let events = run.events();
    let nodes: Vec<_> = events.iter().filter_map(|event| event["node_id"].as_str()).collect();
    let expected = ["topic", "research", "summary", "result"].map(|node| [node, node]).concat();
    assert_eq!(nodes, expected);
    assert_eq!(events.last().expect("events")["status"], "completed");

    // UG-02, U-19: a failed task fails the run, and what depends on it does not run.
    let failed = story.step("A failed task is a failure").json(0);
    let state = |node: &str| {
        let runs = failed["node_runs"].as_array().expect("nodes").iter();
        let mut found = runs.filter(|run| run["node_id"] == node);
        found.next().map(|run| run["status"].clone())
    };
    assert_eq!(state("research"), Some(json!("completed")), "{failed}");
    assert_eq!(state("summary"), Some(json!("failed")), "{failed}");
    assert_eq!(state("result"), Some(json!("skipped")), "{failed}");

    // U-13, U-15, U-05 to U-08.
    let node = story.step("Every node is an agent");
    node.assert_sent(r#""method":"a2a.sendMessage""#);
    let card = node.json(0);
    let place = card["url"].as_str().expect("a URL");
    assert!(place.contains("/a2a/nodes/"), "{card}");
    let task = &node.json(1)["result"];
    assert_eq!(task["status"], "completed");
    assert_eq!(task["artifacts"][0]["index"], 0);
    assert_eq!(task["artifacts"][0]["parts"][0]["type"], "text");

    let v1 = story.step("The whole workflow is an agent").json(0);
    assert_eq!(v1["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    story.end();
}
