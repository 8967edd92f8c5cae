//! Every value of a configuration, and where it comes from.
//!
//! Secrets are not shown: neither what the file declares as one, nor what looks like one in a
//! place where any text may stand.

use nuncio_hub::configuration::{Setting, Source, SourceKind};
use serde_json::Value;

use super::{
    Flags, Layers, Loaded,
    layers::VARIABLES,
    lines::{Line, Lines},
};

/// What stands in place of a secret, here and wherever a configuration is written.
const SECRET: &str = "(secret)";

/// What the names of keys, variables and options have in them whose values nobody may see.
const TELLING: [&str; 6] = ["token", "secret", "password", "bearer", "api_key", "credential"];

/// Lists of things, of which only what the file says is worth a line.
const COLLECTIONS: [&str; 2] = ["providers.", "mcp_servers."];

impl Loaded {
    /// Returns every value with where it comes from, sorted by key.
    pub fn settings(&self, layers: &Layers) -> Vec<Setting> {
        let lines = Lines::read(&self.text);
        let file = layers.file.as_ref().map(|file| file.display().to_string());
        let sources = Sources { layers, lines: &lines, file };
        let mut settings = Vec::new();
        if let Ok(value) = serde_json::to_value(&self.configuration) {
            sources.walk("", &value, &mut settings);
        }
        settings
    }
}

struct Sources<'a> {
    layers: &'a Layers,
    lines: &'a Lines,
    file: Option<String>,
}

impl Sources<'_> {
    fn walk(&self, key: &str, value: &Value, settings: &mut Vec<Setting>) {
        match value {
            Value::Object(members) if !members.is_empty() => {
                for (name, value) in members {
                    let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                    self.walk(&key, value, settings);
                }
            }
            Value::Array(items) if items.iter().any(|item| item.is_array() || item.is_object()) => {
                for (index, item) in items.iter().enumerate() {
                    self.walk(&format!("{key}[{index}]"), item, settings);
                }
            }
            value => settings.extend(self.setting(key, value)),
        }
    }

    fn setting(&self, key: &str, value: &Value) -> Option<Setting> {
        let source = self.source(key);
        let is_listed = key.contains('[') || COLLECTIONS.iter().any(|name| key.starts_with(name));
        if is_listed && source.kind == SourceKind::Default {
            return None;
        }
        let shown = match value {
            Value::Null => None,
            Value::Array(items) => {
                let mut is_next = false;
                let items = items.iter().enumerate().map(|(index, item)| {
                    let text = plain(item);
                    let is_secret = std::mem::replace(&mut is_next, is_option(&text));
                    let line = self.lines.find(&format!("{key}[{index}]"));
                    if is_secret { SECRET.to_owned() } else { masked(key, text, line) }
                });
                Some(format!("[{}]", items.collect::<Vec<_>>().join(", ")))
            }
            Value::Object(_) => Some("{}".to_owned()),
            value => Some(masked(key, plain(value), self.lines.find(key))),
        };
        let is_secret = shown.as_ref().is_some_and(|shown| shown.contains(SECRET));
        Some(Setting { key: key.to_owned(), value: shown, is_secret, source })
    }

    /// Returns where a value comes from: the last who said something counts.
    fn source(&self, key: &str) -> Source {
        let named = |kind, name: String| Source {
            kind,
            name: Some(name),
            line: None,
            variables: Vec::new(),
        };
        let flags = flags(&self.layers.flags, key);
        if !flags.is_empty() {
            return named(SourceKind::Flag, flags.join(", "));
        }
        let is_set =
            |name: &str| self.layers.environment.get(name).is_some_and(|value| !value.is_empty());
        let variable = VARIABLES.iter().find(|one| one.key == key && is_set(one.name));
        if let Some(variable) = variable {
            return named(SourceKind::Environment, variable.name.to_owned());
        }
        match self.lines.source(key) {
            Some(Line { number, variables, .. }) => Source {
                kind: SourceKind::File,
                name: self.file.clone(),
                line: Some(*number),
                variables: variables.clone(),
            },
            None => Source::default_value(),
        }
    }
}

/// Returns the flags that have set a key.
fn flags(flags: &Flags, key: &str) -> Vec<&'static str> {
    let Flags { host, port, public_url, data_dir, in_memory, open } = flags;
    let all = [
        ("listen", host.is_some(), "--host"),
        ("listen", port.is_some(), "--port"),
        ("public_url", public_url.is_some(), "--public-url"),
        ("data_dir", data_dir.is_some(), "--data-dir"),
        ("database", *in_memory, "--in-memory"),
        ("authentication.open", *open, "--open"),
    ];
    let set = all.into_iter().filter(|(name, is_set, _)| *is_set && *name == key);
    set.map(|(_, _, flag)| flag).collect()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Returns a value without what nobody may see of it.
fn masked(key: &str, text: String, line: Option<&Line>) -> String {
    let name = key.rsplit('.').next().unwrap_or(key);
    let variables = line.map(|line| line.variables.as_slice()).unwrap_or_default();
    let is_telling = |text: &str| is_telling(text);
    if is_telling(name) || variables.iter().any(|name| is_telling(name) || names_key(name)) {
        return SECRET.to_owned();
    }
    if let Some((option, _)) = text.split_once('=').filter(|(option, _)| is_option(option)) {
        return format!("{option}={SECRET}");
    }
    for scheme in ["Bearer ", "Basic "] {
        if let Some((before, _)) = text.split_once(scheme) {
            return format!("{before}{scheme}{SECRET}");
        }
    }
    without_url_secrets(text)
}

fn is_telling(text: &str) -> bool {
    let text = text.to_ascii_lowercase().replace('-', "_");
    TELLING.iter().any(|word| text.contains(word))
}

/// Tells whether a variable is called a key.
fn names_key(variable: &str) -> bool {
    let variable = variable.to_ascii_lowercase();
    variable == "key" || variable.ends_with("_key")
}

/// Tells whether a word of a command line says that a secret is next.
fn is_option(text: &str) -> bool {
    text.starts_with('-') && (is_telling(text) || text.ends_with("-key"))
}

/// Names and passwords stand before the host of a URL, and tokens behind its question mark.
fn without_url_secrets(text: String) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, _)) => (rest, format!("?{SECRET}")),
        None => (rest, String::new()),
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{SECRET}@{host}"),
        None => authority.to_owned(),
    };
    format!("{scheme}://{authority}{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Configuration, Environment},
        *,
    };

    fn load(text: &str, environment: &[(&str, &str)], flags: Flags) -> Vec<Setting> {
        let environment: Environment =
            environment.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let layers = Layers { file: Some("nuncio.yaml".into()), environment, flags };
        layers.load_text(text.to_owned()).expect("a good configuration").settings(&layers)
    }

    #[track_caller]
    fn check(settings: &[Setting], key: &str, value: &str, source: &str) {
        let setting = settings.iter().find(|one| one.key == key);
        let setting = setting.unwrap_or_else(|| panic!("there is no {key}"));
        let Source { kind, name, line, variables } = &setting.source;
        let mut found = format!("{kind:?}");
        for text in name.iter().cloned().chain(line.map(|line| line.to_string())) {
            found = format!("{found} {text}");
        }
        let found = variables.iter().fold(found, |found, name| format!("{found} ${name}"));
        assert_eq!((setting.value.as_deref().unwrap_or("-"), &*found), (value, source), "{key}");
    }

    #[test]
    fn each_value_names_whoever_said_it_last() {
        let flags = Flags { port: Some(0), open: true, ..Flags::default() };
        let text = "organisation: acme\nlimits:\n  drain: 5s\nlisten: 127.0.0.1:1\n";
        let settings = load(text, &[("NUNCIO_HIERARCHY", "lineage")], flags);
        check(&settings, "organisation", "acme", "File nuncio.yaml 1");
        check(&settings, "limits.drain", "5s", "File nuncio.yaml 3");
        check(&settings, "limits.sweep", "15s", "Default");
        check(&settings, "hierarchy", "lineage", "Environment NUNCIO_HIERARCHY");
        check(&settings, "listen", "127.0.0.1:0", "Flag --port");
        check(&settings, "authentication.open", "true", "Flag --open");
        check(&settings, "public_url", "-", "Default");
        check(&settings, "dialects", "[molecule, opportunity, upal]", "Default");
    }

    #[test]
    fn of_agents_only_what_the_file_says_is_there() {
        let text = "agents:\n  - name: a\n    url: https://a.example/x\n    trust: 5\n";
        let settings = load(text, &[], Flags::default());
        check(&settings, "agents[0].name", "a", "File nuncio.yaml 2");
        check(&settings, "agents[0].url", "https://a.example/x", "File nuncio.yaml 3");
        check(&settings, "agents[0].trust", "5", "File nuncio.yaml 4");
        let of_agent = settings.iter().filter(|one| one.key.starts_with("agents["));
        assert_eq!(of_agent.count(), 3);
    }

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        let text = "
database: postgres://u:swordfish@h/d
authentication: {admin_key: swordfish-swordfish-swordfish-0}
providers:
  one: {type: openai, url: 'https://m.example/v1?key=swordfish', api_key: '${KEY}'}
agents:
  - {name: a, url: 'https://a.example/?key=swordfish', credential: {bearer: swordfish}}
  - {name: b, kind: command, command: [curl, --token, swordfish, '--api-key=swordfish']}
  - {name: c, kind: command, command: [run, '${MY_TOKEN}', 'Authorization: Bearer swordfish']}
  - {name: d, kind: http, url: 'https://d.example', headers: {x-any: swordfish}}
telemetry: {otlp: {endpoint: 'https://o.example', headers: {x: swordfish}}}
";
        let environment = [("KEY", "swordfish"), ("MY_TOKEN", "swordfish")];
        let settings = load(text, &environment, Flags::default());
        assert!(!format!("{settings:?}").contains("swordfish"), "{settings:#?}");
        check(&settings, "database", "(secret)", "File nuncio.yaml 2");
        check(&settings, "providers.one.api_key", "(secret)", "File nuncio.yaml 5 $KEY");
        let (key, line) = ("agents[0].url", "File nuncio.yaml 7");
        check(&settings, key, "https://a.example/?(secret)", line);
        let (key, line) = ("agents[1].command", "File nuncio.yaml 8");
        check(&settings, key, "[curl, --token, (secret), --api-key=(secret)]", line);
    }

    #[test]
    fn every_variable_and_flag_names_a_key_that_is_there() {
        let settings =
            load("telemetry: {otlp: {endpoint: 'https://o.example'}}", &[], Flags::default());
        let keys = VARIABLES.iter().map(|variable| variable.key);
        for key in keys.chain(["listen", "public_url", "data_dir", "database"]) {
            assert!(settings.iter().any(|one| one.key == key), "{key}");
        }
    }

    #[test]
    fn what_comes_by_a_reference_stands_where_the_reference_does() {
        let text = "limits: &l {drain: 5s}\nagents:\n  - {name: a, url: &u 'https://a.example'}\n  - name: b\n    url: *u\n";
        let settings = load(text, &[], Flags::default());
        check(&settings, "agents[1].url", "https://a.example", "File nuncio.yaml 5");
    }

    #[test]
    fn the_defaults_say_that_they_are_defaults() {
        let settings = load("", &[], Flags::default());
        assert!(settings.iter().all(|one| one.source.kind == SourceKind::Default));
        let count = serde_json::to_value(Configuration::default()).unwrap();
        assert!(settings.len() >= count.as_object().unwrap().len() - 3, "{settings:#?}");
    }
}
