//! Harbor's list of peers, `tools.a2a_peers` (H-06).

use nuncio_client::peers::read_harbor;
use serde_json::{Map, Value};

use super::{
    super::{HumanDuration, WebUrl},
    ImportError,
    draft::{Draft, quoted},
};

pub(super) fn import(
    text: &str,
    document: &Map<String, Value>,
    draft: &mut Draft,
) -> Result<(), ImportError> {
    // Its own reader says what is wrong, and in which line.
    read_harbor(text).map_err(|error| ImportError::Invalid(error.to_string()))?;
    let tools = document.get("tools").and_then(Value::as_object);
    let entries = tools.and_then(|tools| tools.get("a2a_peers")).and_then(Value::as_array);
    for entry in entries.into_iter().flatten() {
        peer(entry, draft);
    }
    for key in document.keys().filter(|key| *key != "tools") {
        draft.left_out(key, "Harbor's own");
    }
    for key in tools.into_iter().flat_map(Map::keys).filter(|key| *key != "a2a_peers") {
        draft.left_out(&format!("tools.{key}"), "Harbor's own");
    }
    Ok(())
}

fn peer(entry: &Value, draft: &mut Draft) {
    let url = entry.get("url").and_then(Value::as_str).unwrap_or_default();
    let is_on = |key: &str| entry.get(key).and_then(Value::as_bool).unwrap_or(false);
    let Ok(parsed) = url.parse::<WebUrl>() else {
        draft.left_out(&format!("the peer {url}"), "it is no URL that can be called");
        return;
    };
    let allows_loopback = is_on("allow_insecure_loopback");
    let mut allows_plaintext = is_on("allow_plaintext");
    if parsed.is_plain() && !allows_plaintext {
        if !allows_loopback {
            draft.left_out(&format!("the peer {url}"), "Harbor refuses plain http there, too");
            return;
        }
        // There the key lets plain http off this machine, too (H-07).
        allows_plaintext = true;
        draft.note(format!("{url} is plain http: `allow_plaintext` says so; use https if it can"));
    }
    let mut lines = vec![format!("- url: {}", quoted(url))];
    for key in ["trust_tier", "latency_tier_ms"] {
        if let Some(number) = entry.get(key) {
            lines.push(format!("  {key}: {number}"));
        }
    }
    if let Some(text) = entry.get("agent_card_ttl").and_then(Value::as_str) {
        match text.parse::<HumanDuration>() {
            Ok(ttl) => lines.push(format!("  agent_card_ttl: {ttl}")),
            // Nothing is Harbor's default, and ours.
            Err(_) if text.trim_matches(|sign: char| !sign.is_ascii_digit()) == "0" => {}
            Err(_) => {
                draft.left_out(&format!("agent_card_ttl of {url}"), "write it as 90s or 1h30m");
            }
        }
    }
    let switches = [
        ("allow_insecure_loopback", allows_loopback),
        ("allow_plaintext", allows_plaintext),
        ("allow_private", is_on("allow_private")),
        ("forward_identity", is_on("forward_identity")),
    ];
    lines.extend(switches.iter().filter(|(_, on)| *on).map(|(key, _)| format!("  {key}: true")));
    if let Some(dialect) = entry.get("dialect").and_then(Value::as_str) {
        lines.push(format!("  dialect: {dialect}"));
    }
    draft.add("peers", &lines);
}
