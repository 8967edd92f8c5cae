//! The `agent.yaml` of an opportunity agent (OD-05).

use serde_json::{Map, Value};

use super::{
    super::WebUrl,
    ImportError,
    address::{self, Network},
    draft::{Draft, fit, quoted},
};

/// Where its name and its address may stand, in the order in which they are believed.
const NAMES: [&str; 5] = ["agent_id", "id", "name", "agent.id", "agent.name"];
const ENDPOINTS: [&str; 4] = ["a2a.endpoint", "endpoint", "agent.endpoint", "url"];

pub(super) fn import(document: &Map<String, Value>, draft: &mut Draft) -> Result<(), ImportError> {
    let a2a = document.get("a2a").and_then(Value::as_object).ok_or(ImportError::Unknown)?;
    let (name_key, name) = first(document, &NAMES).ok_or_else(|| {
        ImportError::Invalid("it names no agent: `name` or `agent_id` is missing".to_owned())
    })?;
    let mut used = vec![name_key];
    let mut lines = vec![format!("- name: {}", quoted(draft.name(name).as_str()))];
    if let Some((key, endpoint)) = first(document, &ENDPOINTS) {
        used.push(key);
        let url: WebUrl = endpoint
            .parse()
            .map_err(|invalid| ImportError::Invalid(format!("{key}: {invalid}")))?;
        let keys = address::keys(&url, Network::AsWritten);
        lines.extend(keys.iter().map(|line| format!("  {line}")));
    } else {
        let variable = endpoint_variable(name);
        draft.note(format!("the file names no address: set the variable {variable} (O-15)"));
        lines.push(format!("  url: ${{{variable}}}"));
    }
    capabilities(a2a, &mut lines, draft);
    match a2a.get("protocol_version") {
        None => {}
        Some(version) if matches!(version.to_string().trim_matches('"'), "1.0" | "1") => {}
        Some(version) => {
            draft.note(format!("a2a.protocol_version is {version}; 1.0 is spoken with it"));
        }
    }
    if a2a.get("enabled").and_then(Value::as_bool) == Some(false) {
        draft.note("a2a.enabled is false, so the agent is commented out");
        let lines: Vec<_> = lines.iter().map(|line| format!("# {line}")).collect();
        draft.add("agents", &lines);
        draft.add("agents", &["[]".to_owned()]);
    } else {
        draft.add("agents", &lines);
    }
    rest(document, a2a, &used, draft);
    Ok(())
}

fn capabilities(a2a: &Map<String, Value>, lines: &mut Vec<String>, draft: &mut Draft) {
    let mut restricted = Vec::new();
    let mut open = Vec::new();
    for capability in a2a.get("capabilities").and_then(Value::as_array).into_iter().flatten() {
        let member = |key: &str| capability.get(key).and_then(Value::as_str);
        let name = capability.as_str().or_else(|| member("capability")).or_else(|| member("name"));
        let allowed = capability.get("allowed_agents").and_then(Value::as_array);
        match (name, allowed) {
            (Some(name), Some(allowed)) => {
                let allowed: Vec<_> = names(allowed, draft).iter().map(|it| quoted(it)).collect();
                restricted.push(format!(
                    "    {}: {{allowed_agents: [{}]}}",
                    quoted(name),
                    allowed.join(", ")
                ));
            }
            (Some(name), None) => open.push(name),
            (None, _) => draft.left_out("one of a2a.capabilities", "it has no name"),
        }
    }
    if !restricted.is_empty() {
        draft.note("the hub must know every agent in `allowed_agents`: import them as well");
        lines.push("  skills:".to_owned());
        lines.append(&mut restricted);
    }
    if !open.is_empty() {
        draft.note(format!("the agent itself says what it can do: {}", open.join(", ")));
    }
}

/// Returns the names of agents as they are here.
fn names(agents: &[Value], draft: &mut Draft) -> Vec<String> {
    let mut names = Vec::new();
    for agent in agents {
        match agent.as_str().and_then(fit) {
            Some(name) => names.push(name.as_str().to_owned()),
            None => draft.left_out(&format!("{agent} in allowed_agents"), "it is no name"),
        }
    }
    names
}

/// Names everything that was not looked at.
fn rest(document: &Map<String, Value>, a2a: &Map<String, Value>, used: &[&str], draft: &mut Draft) {
    let taken = ["enabled", "protocol_version", "capabilities"];
    let is_used = |key: &str| used.contains(&key);
    let why = "the agent's own";
    for key in a2a.keys().filter(|key| !taken.contains(&key.as_str())) {
        let path = format!("a2a.{key}");
        if !is_used(&path) {
            draft.left_out(&path, why);
        }
    }
    for (key, value) in document.iter().filter(|(key, _)| *key != "a2a") {
        match value.as_object().filter(|_| key == "agent") {
            Some(agent) => {
                let paths = agent.keys().map(|inner| format!("agent.{inner}"));
                paths.filter(|path| !is_used(path)).for_each(|path| draft.left_out(&path, why));
            }
            None if is_used(key) => {}
            None => draft.left_out(key, why),
        }
    }
}

fn first<'a>(
    document: &'a Map<String, Value>,
    keys: &[&'static str],
) -> Option<(&'static str, &'a str)> {
    keys.iter().find_map(|key| {
        let value = match key.split_once('.') {
            Some((outer, inner)) => document.get(outer)?.get(inner),
            None => document.get(*key),
        };
        Some((*key, value?.as_str()?))
    })
}

/// Returns the variable in which the others look for the agent's address:
/// `VALIDATION_AGENT_ENDPOINT`.
fn endpoint_variable(name: &str) -> String {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric();
    let word: String =
        name.chars().map(|letter| if is_fit(letter) { letter } else { '_' }).collect();
    let word = word.trim_matches('_').to_ascii_uppercase();
    // `validation-agent-us-central1` is one of several `validation-agent`.
    let stem = word.find("_AGENT").map_or(word.as_str(), |at| &word[..at + "_AGENT".len()]);
    let stem = if stem.starts_with(|first: char| first.is_ascii_digit()) || stem.is_empty() {
        format!("AGENT_{stem}")
    } else {
        stem.to_owned()
    };
    format!("{stem}_ENDPOINT")
}
