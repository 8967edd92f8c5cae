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
    assert_eq!(column(ranking.text()), ["dead", "quick", "slow", "hostile"]);

    // The first in line is dead: the next one gets what surely never arrived.
    let sent = story.step("A message goes to the best");
    assert!(sent.text().contains("quickly: Good morning"), "{}", sent.text());
    let dead = story.step("The dead one, by its name");
    assert_eq!(dead.statuses(), [503]);
    assert!(dead.json(0).to_string().contains(r#""delivery":"none""#), "{}", dead.json(0));

    // H-20: a line without an end is an error that names the limit and the frame.
    let error = story.step("The hostile one begins a line").json(0);
    assert_eq!(error["error"]["code"], "InvalidAgentResponseError", "{error}");
    let text = error["error"]["message"].as_str().expect("words");
    assert!(text.contains("16777216 bytes") && text.contains("frame 1"), "{text}");

    // It goes on, and whoever is dead is no longer in line.
    let later = story.step("The hub remembers");
    let names = column(later.text());
    assert_eq!(names.first().map(String::as_str), Some("quick"), "{names:?}");
    assert!(later.text().contains("dead     left out"), "{}", later.text());
    assert!(later.text().contains("quickly: Good night"), "{}", later.text());

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

/// Returns the names in a table, those of agents that are left out at the end.
fn column(text: &str) -> Vec<String> {
    let rows = text.lines().skip_while(|line| !line.contains("NAME "));
    let rows = rows.skip(1).map_while(|line| line.strip_prefix("   < "));
    let names = rows.filter_map(|row| row.split_whitespace().next().map(str::to_owned));
    names.collect()
}
