//! What scripts make agents do.

use std::path::Path;

use super::*;

#[test]
fn an_empty_script_echoes() {
    let mock = mock("{}");
    let answer = say(&mock, "hello");
    assert_eq!((state(&answer), result(&answer).as_str()), ("TASK_STATE_COMPLETED", "hello"));
}

#[test]
fn the_first_rule_that_fits_is_followed() {
    let mock = mock(
        "
rules:
  - when: {text: ping}
    then: [{reply: pong}]
  - when: {contains: weather, turn: 1}
    then: [{artifact: {text: sunny}}]
  - when: {matches: '^order #[0-9]+$'}
    then: [{state: rejected, text: sold out}]
  - when: {skill: translate}
    then: [{artifact: {text: traduit}}]
  - when: {metadata: {tier: gold, level: '3'}}
    then: [{artifact: {text: 'welcome back'}}]
otherwise:
  - fail: 'what is {{text}}?'
",
    );
    let pong = say(&mock, "ping");
    assert_eq!(pong["message"]["parts"][0]["text"], "pong", "{pong}");
    assert_eq!(result(&say(&mock, "the weather?")), "sunny");
    let rejected = say(&mock, "order #12");
    assert_eq!((state(&rejected), status_text(&rejected)), ("TASK_STATE_REJECTED", "sold out"));
    for (metadata, expected) in [
        (json!({"skillId": "translate"}), "traduit"),
        (json!({"tier": "gold", "level": 3}), "welcome back"),
        (json!({"tier": "gold", "level": 4}), ""),
    ] {
        let mut request = parse(&message("hello", None));
        request["message"]["metadata"] = metadata;
        let answer = parse(&mock.post("/message:send", &request.to_string()));
        assert_eq!(result(&answer), expected);
    }
    let failed = say(&mock, "{{turn}}");
    assert_eq!((state(&failed), status_text(&failed)), ("TASK_STATE_FAILED", "what is {{turn}}?"));
}

#[test]
fn every_state_can_be_reached() {
    for (name, expected) in [
        ("completed", "TASK_STATE_COMPLETED"),
        ("failed", "TASK_STATE_FAILED"),
        ("rejected", "TASK_STATE_REJECTED"),
        ("canceled", "TASK_STATE_CANCELED"),
        ("input-required", "TASK_STATE_INPUT_REQUIRED"),
        ("auth-required", "TASK_STATE_AUTH_REQUIRED"),
    ] {
        let mock = mock(&format!("otherwise:\n  - state: {name}\n    text: 'so {{{{text}}}}'\n"));
        let answer = say(&mock, "it is");
        assert_eq!((state(&answer), status_text(&answer)), (expected, "so it is"));
    }
}

#[test]
fn results_have_parts_of_every_kind() {
    let mock = mock(
        "
otherwise:
  - artifact:
      name: report
      text: see below
      data: {said: '{{text}}', list: [1, true, null, 2.5]}
      file: {name: a.txt, media_type: text/plain, text: 'abc'}
",
    );
    let answer = say(&mock, "\"quoted\"");
    let artifact = &answer["task"]["artifacts"][0];
    assert_eq!(artifact["name"], "report");
    assert_eq!(artifact["parts"][0]["text"], "see below");
    let data = json!({"said": "\"quoted\"", "list": [1, true, null, 2.5]});
    assert_eq!(artifact["parts"][1]["data"], data);
    assert_eq!(artifact["parts"][2]["raw"], "YWJj");
    assert_eq!(artifact["parts"][2]["filename"], "a.txt");
}

#[test]
fn dialects_are_spoken() {
    let mock = mock("dialects: [molecule]\n");
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "message/send", "params": {
        "message": {"messageId": "m", "role": "user", "parts": [{"type": "text", "text": "hi"}]}}});
    let answer = exchange(&mock, "0.3", "/", &body.to_string());
    assert!(answer.contains("\"hi\""), "{answer}");
}

#[test]
fn an_agent_of_0_3_knows_nothing_of_1_0() {
    let mock = mock("versions: ['0.3']\n");
    let card = parse(&mock.send("GET", "/.well-known/agent-card.json", "", "").1);
    assert_eq!(card["protocolVersion"], "0.3.0", "{card}");
    assert!(card["supportedInterfaces"].is_null(), "{card}");
    let send = |method: &str| {
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"message":
            {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}}})
        .to_string()
    };
    // It does not look at the version that callers name.
    let answer = exchange(&mock, "1.0", "/", &send("message/send"));
    assert!(answer.contains(r#""state":"completed""#), "{answer}");
    let answer = exchange(&mock, "1.0", "/", &send("SendMessage"));
    assert!(answer.contains(r#""error":{"code":-32601,"message":"no method"#), "{answer}");
    // Nor does it tell them to name one.
    let headers = "a2a-version: 1.0\r\ncontent-type: application/json\r\n";
    let (status, answer) = mock.send("POST", "/message:send", headers, &message("hi", None));
    assert!(status.starts_with("HTTP/1.1 404 ") && !answer.contains("A2A-Version"), "{answer}");
}

#[test]
fn only_known_callers_are_let_in() {
    let made = nuncio(&["key", "new", "ann", "--keys"])
        .arg(tempfile::tempdir().unwrap().path().join("keys.json"))
        .output()
        .unwrap();
    let key = String::from_utf8(made.stdout).unwrap();
    let mock = mock(&format!("auth: {{keys: [{}]}}\n", key.trim()));
    let status = |headers: &str| mock.send("GET", "/tasks", headers, "").0;
    assert!(status("").starts_with("HTTP/1.1 401 "));
    assert!(status(&format!("x-api-key: {}\r\n", key.trim())).starts_with("HTTP/1.1 200 "));
}

#[test]
fn mistakes_are_told_with_file_and_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.yaml");
    std::fs::write(&path, "rules:\n  - then:\n      - sya: hello\n").unwrap();
    let output = nuncio(&["mock"]).arg(&path).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.starts_with("nuncio: ") && error.contains("agent.yaml:3:"), "{error}");
    assert!(error.contains("`sya`, expected one of say, "), "{error}");

    std::fs::write(&path, "{}").unwrap();
    let output = nuncio(&["mock", "--host", "0.0.0.0"]).arg(&path).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("`auth: {keys: "), "{error}");
}

fn example(name: &str) -> Program {
    mock_file(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mock").join(name))
}

#[test]
fn the_example_of_a_travel_agent_asks_and_goes_on() {
    let mock = example("travel.yaml");
    let asked = say(&mock, "book a train to Rome");
    assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED");
    let asked = say_to(&mock, &asked, "Monday");
    assert_eq!(status_text(&asked), "Monday. First or second class?");
    let booked = say_to(&mock, &asked, "second");
    assert_eq!(state(&booked), "TASK_STATE_COMPLETED");
    assert_eq!(result(&booked), "book a train to Rome: second class");
    assert_eq!(say(&mock, "help")["message"]["parts"][0]["text"], "Ask me to book something.");
}

#[test]
fn the_example_of_a_writer_streams_in_pieces() {
    let mock = example("writer.yaml");
    let (events, _) = stream(&mock, "autumn");
    let pieces: Vec<&str> = events
        .iter()
        .filter_map(|event| event["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str())
        .collect();
    assert_eq!(pieces.len(), 4);
    assert_eq!(pieces.concat(), "A poem about autumn.");
    let last = &events.last().unwrap()["statusUpdate"]["status"]["state"];
    assert_eq!(last, "TASK_STATE_COMPLETED");
}

#[test]
fn the_example_of_an_unreliable_agent_recovers() {
    let mock = example("unreliable.yaml");
    for _ in 0..2 {
        let (head, _) = mock.send("POST", "/message:send", "", &message("hello", None));
        assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
        assert!(head.to_ascii_lowercase().contains("retry-after: 1"), "{head}");
    }
    assert_eq!(result(&say(&mock, "hello")), "hello");
    let (events, raw) = stream(&mock, "hello");
    assert_eq!(events.len(), 2, "{raw}");
    assert!(!raw.ends_with("0\r\n\r\n"), "{raw}");
}
