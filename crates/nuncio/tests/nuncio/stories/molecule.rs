//! molecule: an org, discovery, a pair token that ends, and the canvas.

use serde_json::json;

use super::{Story, text_of};

/// M-10, as the seed has it, in one line.
const M10: &str = r#"{"jsonrpc":"2.0","id":"task-123","method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":"Build the login feature"}],"messageId":"msg-456"}}}"#;

#[test]
fn molecule_plays() {
    let story = Story::play("molecule");

    // M-04 to M-06: an address and a token for the two, by the caller's own credential.
    let found = story.step("Business Core discovers Developer PM").json(0);
    let place = found["url"].as_str().expect("a URL");
    assert!(place.starts_with("http://127.0.0.1:"), "{found}");
    assert_eq!((&found["name"], &found["status"]), (&json!("developer-pm"), &json!("online")));
    assert!(found["token"].is_string() && found["epoch"].is_u64(), "{found}");

    // M-02, M-10, M-22: the message goes there and nowhere else, and the answer is molecule's.
    let direct = story.step("It calls Developer PM directly");
    direct.assert_sent(&format!("POST {place}"));
    direct.assert_sent(M10);
    let answer = direct.json(0);
    assert_eq!(answer["id"], "task-123");
    let task = &answer["result"];
    assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("completed")));
    assert_eq!(task["artifacts"][0]["parts"][0]["kind"], "text");
    assert_eq!(text_of(task), "Developer PM: Build the login feature\n");

    // M-23, M-25: the stream has a terminal event of its own.
    let events = story.step("The same as a stream").events();
    let last = &events.last().expect("events")["result"];
    assert_eq!((&last["status"]["state"], &last["final"]), (&json!("completed"), &json!(true)));

    let v1 = story.step("And the same in A2A 1.0").json(0);
    assert_eq!(v1["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");

    // M-17: validated on every request, and for one target.
    assert_eq!(story.step("Without the token nobody").statuses(), [401, 401]);

    // M-06, MD-20: refused, with a reason for whoever may know it.
    let across = story.step("Across teams");
    assert_eq!(across.statuses(), [200, 403]);
    assert_eq!(across.json(0), json!({"allowed": false}));
    assert!(across.text().contains("UNRELATED"));
    assert_eq!(story.step("Nobody is somebody else").statuses(), [403]);

    // M-16: an address and a token from before the move are worth nothing after it.
    assert_eq!(story.step("Business Core still has the address").statuses(), [401, 403]);

    // M-31 to M-34: no envelope, no id; both are there in the answer. M-27: and the task stays.
    let canvas = story.step("The canvas reaches everybody");
    let answer = canvas.json(0);
    assert_eq!(answer["jsonrpc"], "2.0");
    assert!(answer["id"].as_str().is_some_and(|id| id.len() == 36), "{answer}");
    assert_eq!(canvas.json(1)["status"]["state"], "completed");

    let everybody = story.step("And so does everybody with a key");
    assert_eq!(everybody.json(0)["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    story.end();
}
