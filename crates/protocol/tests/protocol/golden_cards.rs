//! The cards of the seed documents and of A2A 0.3: each is read into the model and written
//! back in its own form (T-01, C-18).

use nuncio_protocol::{
    card::{CardForm, read_any},
    dialect::{pocketpaw::PocketPaw, upal::Upal, v03::V03},
    json::Raw,
    wire::{JsonRpcForm, card_document},
};

/// Compares as JSON, whatever the order of the members.
#[track_caller]
fn check(form: &dyn JsonRpcForm, card: &str, expected: CardForm) {
    let (model, found) = read_any(card).unwrap_or_else(|error| panic!("{error}: {card}"));
    assert_eq!(found, expected);
    let value = |text: &str| {
        let raw = Raw::parse_text(text).expect("strict JSON");
        raw.parse::<serde_json::Value>().expect("JSON")
    };
    assert_eq!(value(&card_document(form, &model)), value(card));
}

#[test]
fn pocketpaw() {
    // P-24
    check(
        &PocketPaw,
        r#"{"name":"PocketPaw","description":"Self-hosted, modular AI agent...",
            "url":"http://localhost:8888","version":"0.5.0","protocol_version":"0.2.5",
            "capabilities":{"streaming":true,"push_notifications":false,"state_transition_history":true},
            "skills":[{"id":"web_search","name":"web_search","description":"Search the web...",
                "input_modes":["text/plain"],"output_modes":["text/plain"]}],
            "supported_interfaces":[{"url":"http://localhost:8888/a2a",
                "protocol_binding":"jsonrpc-over-https","protocol_version":"0.2.5"}]}"#,
        CardForm::PocketPaw,
    );
}

#[test]
fn upal() {
    // U-10, U-13
    check(
        &Upal,
        r#"{"name":"research-agent","description":"Research expert agent",
            "url":"http://localhost:8080/a2a/nodes/research",
            "capabilities":{"streaming":true,"pushNotifications":false},
            "skills":[{"id":"research","name":"Research Topic",
                "description":"Researches a given topic using LLM","inputModes":["text/plain"],
                "outputModes":["text/plain","application/json"]}],
            "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"]}"#,
        CardForm::Upal,
    );
}

#[test]
fn a2a_0_3() {
    check(
        &V03,
        r#"{"protocolVersion":"0.3.0","name":"Echo","description":"Repeats text",
            "url":"https://a.example/rpc","preferredTransport":"JSONRPC","version":"1.0.0",
            "capabilities":{"streaming":true},"defaultInputModes":["text/plain"],
            "defaultOutputModes":["text/plain"],
            "skills":[{"id":"echo","name":"Echo","description":"Echo","tags":["demo"]}]}"#,
        CardForm::V03,
    );
}
