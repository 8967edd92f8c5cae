//! Harbor: peers as its file has them, ranked; one dead, one slow, one hostile.

use serde_json::json;

use super::Story;

#[test]
fn harbor_plays() {
    let story = Story::play("harbor");

    // H-06: the file as it is.
    let imported = story.step("Harbor's list of peers");
    for line in ["trust: 5", "latency_hint: 10ms", "trust: 4", "latency_hint: 2000ms", "trust: 1"] {
        assert!(imported.text().contains(line), "{line}: {}", imported.text());
    }

    // H-30: trust goes before speed, speed decides among equals, and a stranger at 1 ms is last
    // (HG-04).
    let ranking = story.step("Who would be asked to translate");
    let rows: Vec<&str> =
        ranking.text().lines().filter(|line| line.contains("127.0.0.1-")).collect();
    let scored: Vec<&&str> = rows.iter().filter(|row| !row.contains("left out")).collect();
    assert!(scored.len() >= 3, "{rows:?}");
    assert!(scored.last().expect("three").contains("trust 1"), "{rows:?}");

    // H-16 has no place here: who is dead is not delivered to, so the next is asked.
    let sent = story.step("A message goes to the best");
    assert!(sent.text().contains("quickly: Good morning"), "{}", sent.text());

    // H-20: a line without an end is an error that names the limit and the frame.
    let hostile = story.step("The hostile one never ends");
    let error = hostile.json(0);
    assert_eq!(error["error"]["code"], "INVALID_AGENT_RESPONSE", "{error}");
    let text = error["error"]["message"].as_str().expect("words");
    assert!(text.contains("16777216 bytes") && text.contains("frame 1"), "{text}");

    // H-11, H-14: Harbor's own method, headers and spelling.
    let driver = story.step("Harbor's own driver").json(0);
    assert_eq!(driver["id"], 7);
    let task = &driver["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{driver}");
    assert!(task["context_id"].is_string(), "{driver}");
    let part = &task["artifacts"][0]["parts"][0];
    assert_eq!(part["text"], json!("quickly: Good morning"));

    let v1 = story.step("And everybody else in A2A 1.0").json(0);
    assert_eq!(v1["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    story.end();
}
