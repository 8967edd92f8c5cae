//! PocketPaw: its card, routes and errors, and an assistant that delegates over two turns.

use serde_json::{Value, json};

use super::{Story, text_of};

/// P-14 and P-16, as the seed has them, in one line.
const P14: &str = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","parts":[{"type":"text","text":"What is the weather in Tokyo?"}]}}}"#;
const P16: &str = r#"{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"role":"user","parts":[{"type":"text","text":"Write a haiku about code"}]}}}"#;

#[test]
fn pocketpaw_plays() {
    let story = Story::play("pocketpaw");

    // P-04, P-24: what config.json says is on the card, in PocketPaw's spelling.
    let card = story.step("PocketPaw itself").json(0);
    assert_eq!((&card["name"], &card["version"]), (&json!("PocketPaw"), &json!("0.5.0")));
    assert_eq!(card["capabilities"]["streaming"], true);
    assert_eq!(card["capabilities"]["push_notifications"], false);
    assert!(card["supported_interfaces"][0]["protocol_binding"].is_string(), "{card}");

    // P-15, P-20.
    let asked = story.step("A question.");
    asked.assert_sent(P14);
    let answer = asked.json(0);
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["status"]["state"], "completed");
    let said = text_of(&answer["result"]);
    assert_eq!(said, "weather says: Sunny, 21 degrees (What is the weather in Tokyo?)\n");

    // P-16.
    let stream = story.step("A stream, in frames");
    stream.assert_sent(P16);
    let frames = stream.events();
    let of = |event: &Value| event["result"]["status"]["state"].as_str().map(str::to_owned);
    let states: Vec<_> = frames.iter().filter_map(of).collect();
    assert_eq!(states.first().map(String::as_str), Some("submitted"), "{states:?}");
    assert_eq!(states.last().map(String::as_str), Some("completed"), "{states:?}");
    let last = frames.iter().filter(|frame| frame["result"]["final"] == true);
    assert_eq!(last.count(), 1);

    // PG-01: the second turn goes on with the task that waits.
    let turns = story.step("Two turns");
    assert_eq!(text_of(&turns.json(0)), "travel asks: Which day?\n");
    assert_eq!(text_of(&turns.json(1)), "travel says: Book a train to Kyoto, on Friday\n");

    // P-26.
    let errors = story.step("The errors that PocketPaw has");
    let codes: Vec<_> = (0..3).map(|index| errors.json(index)["error"]["code"].clone()).collect();
    assert_eq!(codes, [-32003, -32005, -32001]);

    // P-09, PD-07: the tool by PocketPaw's name, with its parameters.
    let tool = story.step("The same tool in anybody else");
    let second = &tool.json(2)["result"]["structuredContent"];
    assert_eq!(second["status"], "completed");
    assert_eq!(second["artifacts"][0]["content"], "Book a train to Nara, on Sunday");
    // P-21.
    assert_eq!(story.step("Addresses that a model names").json(0)["result"]["isError"], true);

    let v1 = story.step("And everybody speaks A2A 1.0").json(0);
    assert_eq!(v1["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    story.end();
}
