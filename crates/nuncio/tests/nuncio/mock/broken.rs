//! Every broken agent is broken, and in the way it says.

use nuncio_protocol::{
    card::sign::{self, KeySet},
    json,
};
use nuncio_testkit::broken::{self, Broken};

use super::*;

/// An agent without any of the defects.
const HEALTHY: &str = r#"
card:
  signed: true
rules:
  - then:
      - say: working on it
      - artifact: {name: answer, text: "you said {{text}}", chunks: 3}
"#;

/// Tells whether an agent has a defect.
type Shows = fn(&Program) -> bool;

/// How the defects show. Those that show by silence are not looked for in a healthy agent: how
/// long that may take to answer is nobody's promise.
const DEFECTS: &[(&str, Shows)] = &[
    ("always-busy", |mock| call(mock).0.starts_with("HTTP/1.1 503 ")),
    ("always-fails", |mock| state(&say(mock, "x")) == "TASK_STATE_FAILED"),
    ("answer-cut", |mock| {
        let body = call(mock).1;
        // Forty bytes in hexadecimal, and no last chunk of none.
        body.starts_with("28\r\n") && !body.ends_with("0\r\n\r\n")
    }),
    ("badly-signed", |mock| {
        let text = card_text(mock);
        let (_, keys) = mock.send("GET", "/.well-known/jwks.json", "", "");
        let keys: KeySet = json::from_str(&keys).expect("they are keys");
        let original = text.replace(", and was changed since", "");
        assert!(sign::verify(&original, &keys).is_ok(), "it was signed before");
        sign::verify(&text, &keys).is_err()
    }),
    ("binding-unknown", |mock| {
        card(mock)["supportedInterfaces"][0]["protocolBinding"] == "CARRIER-PIGEON"
    }),
    ("card-absent", |mock| card_head(mock).starts_with("HTTP/1.1 404 ")),
    ("card-as-html", |mock| {
        card_head(mock).contains("content-type: text/html") && card(mock)["name"] == "mock"
    }),
    ("card-not-json", |mock| card_text(mock).starts_with("<!doctype html>")),
    ("card-too-large", |mock| card_text(mock).len() > 1 << 20 && card(mock)["name"] == "mock"),
    ("card-truncated", |mock| serde_json::from_str::<Value>(&card_text(mock)).is_err()),
    ("error-as-200", |mock| {
        let (head, body) = unknown_task(mock);
        head.starts_with("HTTP/1.1 200 ") && parse(&body)["error"]["code"] == 404
    }),
    ("error-as-500", |mock| unknown_task(mock).0.starts_with("HTTP/1.1 500 ")),
    ("error-as-string", |mock| {
        let http = parse(&unknown_task(mock).1);
        let rpc = rpc(mock, "GetTask", &json!({"id": "none"}));
        http["error"].is_string() && rpc["error"].is_string() && rpc["id"] == 7
    }),
    ("error-without-code", |mock| {
        let rpc = rpc(mock, "GetTask", &json!({"id": "none"}));
        rpc["error"]["message"].is_string() && rpc["error"]["code"].is_null()
    }),
    ("extended-card-missing", |mock| {
        let (head, _) = mock.send("GET", "/extendedAgentCard", "", "");
        claims(mock, "extendedAgentCard") && !head.starts_with("HTTP/1.1 200 ")
    }),
    ("field-missing", |mock| {
        let card = card(mock);
        ["description", "version", "defaultInputModes"].iter().all(|key| card[key].is_null())
    }),
    ("first-event-missing", |mock| stream(mock, "x").0[0]["task"].is_null()),
    ("html-for-json", |mock| {
        let (head, body) = call(mock);
        head.contains("text/html") && body.starts_with("<html>")
    }),
    ("id-not-echoed", |mock| {
        let answer = rpc(mock, "SendMessage", &parse(&message("x", None)));
        answer["id"] != 7 && answer["result"]["task"].is_object()
    }),
    ("interface-missing", |mock| {
        let card = card(mock);
        card["supportedInterfaces"].is_null() && card["url"].is_null()
    }),
    ("name-missing", |mock| card(mock)["name"].is_null()),
    ("never-finishes", |mock| {
        let (heard, _) = listen(mock, "/message:stream", "nearly there");
        heard.contains("nearly there") && !heard.contains("TASK_STATE_COMPLETED")
    }),
    ("old-shapes", |mock| {
        let answer = rpc(mock, "SendMessage", &parse(&message("x", None)));
        let (events, _) = stream(mock, "x");
        answer["result"]["kind"] == "task"
            && answer["result"]["status"]["state"] == "completed"
            && events.last().is_some_and(|event| event["statusUpdate"]["final"] == true)
            && claimed_versions(mock) == ["1.0"; 3]
    }),
    ("push-refused", |mock| {
        let task = say(mock, "x");
        let id = task["task"]["id"].as_str().expect("it has an id");
        let config = json!({"taskId": id, "url": "https://example.com/hook"});
        let answer = rpc(mock, "CreateTaskPushNotificationConfig", &config);
        claims(mock, "pushNotifications") && answer["error"]["code"] == -32003
    }),
    ("says-nothing", |mock| {
        let answer = say(mock, "x");
        state(&answer) == "TASK_STATE_COMPLETED"
            && answer["task"]["artifacts"].is_null()
            && status_text(&answer).is_empty()
    }),
    ("secretly-locked", |mock| {
        call(mock).0.starts_with("HTTP/1.1 401 ") && card(mock)["securitySchemes"].is_null()
    }),
    ("silent", |mock| {
        let (heard, ended) = listen(mock, "/message:send", "");
        heard.is_empty() && !ended
    }),
    ("skills-missing", |mock| card(mock)["skills"] == json!([])),
    ("slow", |mock| {
        let (heard, ended) = listen(mock, "/message:send", "");
        heard.is_empty() && !ended && state(&say(mock, "x")) == "TASK_STATE_COMPLETED"
    }),
    ("stream-as-json", |mock| {
        let body = message("x", None);
        let (head, body) = mock.send("POST", "/message:stream", "", &body);
        head.contains("content-type: application/json") && body.contains("data:")
    }),
    ("stream-broken-event", |mock| {
        let (events, _) = stream(mock, "x");
        events.len() > 3 && events[1].is_null() && !events[2].is_null()
    }),
    ("stream-cut", |mock| {
        let (events, raw) = stream(mock, "x");
        events.len() == 2 && !raw.ends_with("0\r\n\r\n")
    }),
    ("stream-never-ends", |mock| {
        let (heard, ended) = listen(mock, "/message:stream", "TASK_STATE_COMPLETED");
        heard.contains("TASK_STATE_COMPLETED") && !ended
    }),
    ("stream-silent", |mock| {
        let (heard, ended) = listen(mock, "/message:stream", "\r\n\r\n");
        heard.contains("text/event-stream") && !heard.contains("data:") && !ended
    }),
    ("streaming-refused", |mock| {
        let answer = rpc(mock, "SendStreamingMessage", &parse(&message("x", None)));
        claims(mock, "streaming") && answer["error"]["code"] == -32004
    }),
    ("terminal-event-missing", |mock| {
        let (events, raw) = stream(mock, "x");
        events.len() > 3 && !raw.contains("TASK_STATE_COMPLETED") && raw.ends_with("0\r\n\r\n")
    }),
    ("unsigned", |mock| card(mock)["signatures"].is_null()),
    ("url-other-port", |mock| every_url(mock, "localhost:1")),
    ("url-unspecified", |mock| every_url(mock, "0.0.0.0:1")),
    ("version-empty", |mock| claimed_versions(mock).iter().all(String::is_empty)),
    ("version-ignored", |mock| {
        let heard = exchange(mock, "9.9", "/message:send", &message("x", None));
        heard.starts_with("HTTP/1.1 200 ") && heard.contains("TASK_STATE_COMPLETED")
    }),
    ("version-unknown", |mock| claimed_versions(mock).iter().all(|version| version == "9.9")),
];

/// Defects that show by silence.
const BY_SILENCE: &[&str] =
    &["never-finishes", "silent", "slow", "stream-never-ends", "stream-silent"];

fn card_text(mock: &Program) -> String {
    mock.send("GET", "/.well-known/agent-card.json", "", "").1
}

fn card_head(mock: &Program) -> String {
    mock.send("GET", "/.well-known/agent-card.json", "", "").0
}

/// Returns the card, or nothing if it is none.
fn card(mock: &Program) -> Value {
    serde_json::from_str(&card_text(mock)).unwrap_or_default()
}

fn claims(mock: &Program, capability: &str) -> bool {
    card(mock)["capabilities"][capability] == true
}

fn claimed_versions(mock: &Program) -> Vec<String> {
    let card = card(mock);
    let interfaces = card["supportedInterfaces"].as_array().cloned().unwrap_or_default();
    let versions = interfaces.iter().filter_map(|way| way["protocolVersion"].as_str());
    versions.map(str::to_owned).collect()
}

fn every_url(mock: &Program, expected: &str) -> bool {
    let card = card(mock);
    let interfaces = card["supportedInterfaces"].as_array().cloned().unwrap_or_default();
    let mut urls = interfaces.iter().filter_map(|way| way["url"].as_str());
    !interfaces.is_empty() && urls.all(|url| url.trim_start_matches("http://") == expected)
}

fn call(mock: &Program) -> (String, String) {
    mock.send("POST", "/message:send", "", &message("x", None))
}

fn unknown_task(mock: &Program) -> (String, String) {
    mock.send("GET", "/tasks/none", "", "")
}

fn shows(name: &str) -> Shows {
    let found = DEFECTS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("nobody looks for `{name}`")).1
}

#[test]
fn every_broken_agent_shows_its_defect() {
    for broken in broken::ALL {
        let mock = mock(broken.script);
        assert!(shows(broken.name)(&mock), "{}: {}", broken.name, broken.defect());
    }
}

#[test]
fn a_healthy_agent_shows_none_of_the_defects() {
    let healthy = mock(HEALTHY);
    for Broken { name, .. } in broken::ALL {
        if !BY_SILENCE.contains(name) {
            assert!(!shows(name)(&healthy), "{name}");
        }
    }
}

#[test]
fn every_script_says_what_is_wrong_and_has_its_file() {
    for broken in broken::ALL {
        assert!(broken.script.starts_with("# "), "{}", broken.name);
        assert!(broken.defect().ends_with('.'), "{}", broken.name);
        assert_eq!(broken::find(broken.name), broken);
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/broken");
    let files = std::fs::read_dir(directory).unwrap().count();
    assert_eq!(files, broken::ALL.len());
}
