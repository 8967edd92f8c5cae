//! `PocketPaw`'s settings: `config.json` and `POCKETPAW_A2A_*` (P-03 to P-05).

use serde_json::{Map, Value};

use super::{
    super::{Environment, WebUrl},
    ImportError,
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
    let name = settings.text("a2a_agent_name").unwrap_or_else(|| "PocketPaw".to_owned());
    if settings.is_on("a2a_enabled")? {
        draft.note(
            "PocketPaw listens at port 8888 unless told otherwise: mend `url` if it does not",
        );
        let is_fit = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
        let fit: String =
            name.chars().map(|letter| if is_fit(letter) { letter } else { '-' }).collect();
        let lines = [
            format!("- name: {}", quoted(fit.trim_matches('-'))),
            "  url: http://127.0.0.1:8888".to_owned(),
            "  dialect: pocketpaw".to_owned(),
        ];
        draft.add("agents", &lines);
    } else {
        draft.note(format!("a2a_enabled is off, so `{name}` itself is no agent here"));
    }
    for key in ["a2a_agent_description", "a2a_agent_version"] {
        if settings.text(key).is_some() {
            draft.left_out(key, "the agent's card says it");
        }
    }
    if let Some(seconds) = settings.seconds("a2a_task_timeout")? {
        draft.note(
            "a2a_task_timeout is how long a call is held; PocketPaw also fails the task then, \
             here it goes on",
        );
        draft.add("limits", &[format!("wait_timeout: {seconds}s")]);
    }
    for url in settings.list("a2a_trusted_agents")? {
        trusted(&url, draft);
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
    let Ok(parsed) = url.parse::<WebUrl>() else {
        draft.left_out(&format!("the trusted agent {url}"), "it is no URL that can be called");
        return;
    };
    let mut lines = vec![
        format!("- url: {}", quoted(url)),
        "  trust_tier: 3   # PocketPaw has no tiers: 1 is a stranger, 5 is in-house".to_owned(),
        "  allow_private: true   # who is trusted there is not checked further".to_owned(),
    ];
    if parsed.is_plain() {
        lines.push("  allow_plaintext: true   # use https if it can".to_owned());
    }
    draft.add("peers", &lines);
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

    fn seconds(&self, key: &str) -> Result<Option<u64>, ImportError> {
        let invalid = || ImportError::Invalid(format!("{key}: expected a number of seconds"));
        let Some(text) = self.text(key) else { return Ok(None) };
        text.parse().ok().filter(|seconds| *seconds > 0).map(Some).ok_or_else(invalid)
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
