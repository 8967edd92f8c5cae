//! Harbor's list of peers, `tools.a2a_peers` (H-06).

use nuncio_client::peers::read_harbor;
use serde_json::{Map, Value};

use super::{
    super::WebUrl,
    ImportError,
    address::{self, Network},
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
    let entries = entries.map(Vec::as_slice).unwrap_or_default();
    for (index, entry) in entries.iter().enumerate() {
        if entries[index + 1..].iter().any(|later| url_of(later) == url_of(entry)) {
            draft.note(format!("{} stands there twice: the last one counts", url_of(entry)));
        } else {
            peer(entry, draft)?;
        }
    }
    for key in document.keys().filter(|key| *key != "tools") {
        draft.left_out(key, "Harbor's own");
    }
    for key in tools.into_iter().flat_map(Map::keys).filter(|key| *key != "a2a_peers") {
        draft.left_out(&format!("tools.{key}"), "Harbor's own");
    }
    Ok(())
}

fn url_of(entry: &Value) -> &str {
    entry.get("url").and_then(Value::as_str).unwrap_or_default().trim_end_matches('/')
}

fn peer(entry: &Value, draft: &mut Draft) -> Result<(), ImportError> {
    let written = entry.get("url").and_then(Value::as_str).unwrap_or_default();
    let is_on = |key: &str| entry.get(key).and_then(Value::as_bool).unwrap_or(false);
    let Ok(url) = written.parse::<WebUrl>() else {
        draft.left_out(&format!("the peer {written}"), "it is no URL that can be called");
        return Ok(());
    };
    if url.is_plain() && !is_on("allow_plaintext") {
        if !is_on("allow_insecure_loopback") {
            draft.left_out(&format!("the peer {url}"), "Harbor refuses plain http there, too");
            return Ok(());
        }
        // There the key lets plain http off this machine, too (H-07).
        draft.note(format!("{url} is plain http: `allow_http` says so; use https if it can"));
    }
    let trust = entry.get("trust_tier").and_then(Value::as_u64).unwrap_or_default();
    if !(1..=5).contains(&trust) {
        return Err(ImportError::Invalid(format!("trust_tier of {url}: expected 1 to 5")));
    }
    let mut lines = vec![format!("- name: {}", quoted(draft.name_for(&url).as_str()))];
    let network = if is_on("allow_private") { Network::Any } else { Network::AsWritten };
    lines.extend(address::keys(&url, network).iter().map(|line| format!("  {line}")));
    lines.push(format!("  trust: {trust}"));
    match entry.get("latency_tier_ms").and_then(Value::as_u64) {
        // Nothing was measured, and nothing is claimed.
        None | Some(0) => {}
        Some(latency) => lines.push(format!("  latency_hint: {latency}ms")),
    }
    draft.add("agents", &lines);
    for (key, why) in [
        ("agent_card_ttl", "the hub itself sees to it that cards are fresh"),
        ("forward_identity", "callers get a token of their own for every agent"),
        ("dialect", "the agent's card says what it speaks"),
    ] {
        let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
        if entry.get(key).is_some_and(is_set) {
            draft.left_out(&format!("{key} of {url}"), why);
        }
    }
    Ok(())
}
