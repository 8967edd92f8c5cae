//! `PocketPaw`'s settings: `config.json` and `POCKETPAW_A2A_*` (P-03 to P-05).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    super::{Environment, WebUrl},
    ImportError,
    address::{self, Network},
    draft::{Draft, quoted},
};

const PREFIX: &str = "POCKETPAW_";
/// Every key that is taken over or told about.
const TAKEN: [&str; 6] = [
    "a2a_enabled",
    "a2a_agent_name",
    "a2a_agent_description",
    "a2a_agent_version",
    "a2a_task_timeout",
    "a2a_trusted_agents",
];

/// Finds lines that set variables of `PocketPaw`, as a shell or `.env` has them.
pub(super) fn variables(text: &str) -> Environment {
    let entry = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        let (name, value) = line.split_once('=')?;
        let value = value.trim();
        let inside = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
        let value = inside('\'').or_else(|| inside('"')).unwrap_or(value);
        name.starts_with(PREFIX).then(|| (name.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(entry).collect()
}

pub(super) fn import(
    document: &Map<String, Value>,
    environment: &Environment,
    draft: &mut Draft,
) -> Result<(), ImportError> {
    let settings = Settings { document, environment };
    if settings.is_on("a2a_enabled")? {
        draft.left_out(
            "a2a_enabled",
            "PocketPaw's own; to have it in the hub's directory, add its `url` to `agents`: it \
             listens at http://127.0.0.1:8888 unless told otherwise",
        );
    }
    for (key, why) in [
        ("a2a_agent_name", "an agent's card says it; `nuncio serve --name` does for a program"),
        ("a2a_agent_description", "an agent's card says it; or `nuncio serve --description`"),
        ("a2a_agent_version", "an agent's card says it"),
        (
            "a2a_task_timeout",
            "each agent decides how long its tasks take, and each caller how long it waits: \
             `nuncio send --timeout`",
        ),
    ] {
        if settings.text(key).is_some() {
            draft.left_out(key, why);
        }
    }
    let mut seen = BTreeSet::new();
    for url in settings.list("a2a_trusted_agents")? {
        if seen.insert(url.trim_end_matches('/').to_owned()) {
            trusted(&url, draft);
        }
    }
    for key in document.keys().filter(|key| !TAKEN.contains(&key.as_str())) {
        draft.left_out(key, "PocketPaw's own");
    }
    let ours = |name: &str| TAKEN.iter().any(|key| variable(key) == name);
    for name in environment.keys().filter(|name| name.starts_with(PREFIX) && !ours(name)) {
        draft.left_out(name, "PocketPaw's own");
    }
    Ok(())
}

fn trusted(url: &str, draft: &mut Draft) {
    let Ok(url) = url.parse::<WebUrl>() else {
        draft.left_out(&format!("the trusted agent {url}"), "it is no URL that can be called");
        return;
    };
    let mut lines = vec![format!("- name: {}", quoted(draft.name_for(&url).as_str()))];
    // Who is trusted there is not checked further.
    lines.extend(address::keys(&url, Network::Any).iter().map(|line| format!("  {line}")));
    lines.push("  trust: 3   # PocketPaw has no tiers: 1 is a stranger, 5 is in-house".to_owned());
    draft.add("agents", &lines);
}

/// The file, overruled by the environment.
struct Settings<'a> {
    document: &'a Map<String, Value>,
    environment: &'a Environment,
}

impl Settings<'_> {
    fn value(&self, key: &str) -> Option<Value> {
        let overruling = self.environment.get(&variable(key)).filter(|value| !value.is_empty());
        match overruling {
            // As JSON, if it is: numbers, switches and lists are.
            Some(text) => Some(serde_json::from_str(text).unwrap_or_else(|_| text.clone().into())),
            None => self.document.get(key).filter(|value| !value.is_null()).cloned(),
        }
    }

    fn text(&self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::String(text) => Some(text).filter(|text| !text.is_empty()),
            other => Some(other.to_string()),
        }
    }

    fn is_on(&self, key: &str) -> Result<bool, ImportError> {
        let invalid = || ImportError::Invalid(format!("{key}: expected true or false"));
        match self.text(key).map(|text| text.to_ascii_lowercase()).as_deref() {
            None | Some("false" | "0" | "no" | "off") => Ok(false),
            Some("true" | "1" | "yes" | "on") => Ok(true),
            Some(_) => Err(invalid()),
        }
    }

    fn list(&self, key: &str) -> Result<Vec<String>, ImportError> {
        let invalid = || ImportError::Invalid(format!("{key}: expected a list of URLs"));
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let list = value.as_array().ok_or_else(invalid)?;
        list.iter().map(|url| url.as_str().map(str::to_owned).ok_or_else(invalid)).collect()
    }
}

fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.to_ascii_uppercase())
}
