//! The JSON Schema of `nuncio.yaml`, and the reference page, both made of the doc comments.

use std::fmt::Write as _;

use schemars::{generate::SchemaSettings, transform::Transform as _};
use serde_json::{Map, Value};

use super::{Configuration, layers::VARIABLES};

/// Returns the JSON Schema (draft 2020-12) of `nuncio.yaml`.
pub fn json_schema() -> String {
    let mut text = serde_json::to_string_pretty(&schema()).unwrap_or_default();
    text.push('\n');
    text
}

fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12();
    let mut schema = settings.into_generator().into_root_schema_for::<Configuration>();
    // `null` is YAML for nothing; a key that may be left out may also stand there empty.
    schemars::transform::RestrictFormats::default().transform(&mut schema);
    schema.to_value()
}

/// Returns the tables of keys in `docs/reference/configuration.md`, in Markdown.
pub fn reference() -> String {
    let schema = schema();
    let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut page = String::new();
    section(&mut page, "The file", &schema);
    for (name, definition) in &definitions {
        if properties(definition).is_some() {
            section(&mut page, name, definition);
        } else {
            choices(&mut page, name, definition);
        }
    }
    // Writing to a string cannot fail.
    let _ = writeln!(page, "## Variables\n\nOf the environment. They overrule the file.\n");
    for variable in VARIABLES {
        let _ = writeln!(page, "- `{}`", variable.name);
    }
    page
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn section(page: &mut String, name: &str, schema: &Value) {
    let about = about(schema);
    let _ = writeln!(
        page,
        "## {name}\n\n{about}\n\n| Key | Value | Default | Meaning |\n|---|---|---|---|"
    );
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    for (key, value) in properties(schema).into_iter().flatten() {
        let default = match value.get("default") {
            _ if required.contains(&key.as_str()) => "(needed)".to_owned(),
            // What is made of several keys is told where they are.
            None | Some(Value::Null | Value::Object(_)) => "–".to_owned(),
            Some(Value::Array(list)) if list.is_empty() => "–".to_owned(),
            Some(Value::String(text)) if text.is_empty() => "–".to_owned(),
            Some(default) => format!("`{}`", plain(default)),
        };
        let (kind, about) = (kind(value), about_key(value));
        let _ = writeln!(page, "| `{key}` | {kind} | {default} | {about} |");
    }
    page.push('\n');
}

fn choices(page: &mut String, name: &str, schema: &Value) {
    let _ = writeln!(page, "## {name}\n\n{}\n", about(schema));
    for choice in alternatives(schema) {
        let (value, form) = match choice.get("const").and_then(Value::as_str) {
            Some(value) => (value, String::new()),
            None => match properties(choice).and_then(|properties| properties.iter().next()) {
                Some((key, value)) => (key.as_str(), format!(" ({})", kind(value))),
                None => continue,
            },
        };
        let _ = writeln!(page, "- `{value}`{form}: {}", about(choice));
    }
    for value in schema.get("enum").and_then(Value::as_array).into_iter().flatten() {
        let _ = writeln!(page, "- `{}`", plain(value));
    }
    page.push('\n');
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten()
}

/// Returns what kind of value a key has.
fn kind(schema: &Value) -> String {
    if let Some(name) = reference_of(schema) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(title) = schema.get("title").and_then(Value::as_str) {
        return title.to_owned();
    }
    if let Some(items) = schema.get("items") {
        return format!("list of: {}", kind(items));
    }
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        return format!("by name: {}", kind(values));
    }
    let types = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(only)) => vec![only.as_str()],
        _ => Vec::new(),
    };
    match types.into_iter().find(|name| *name != "null") {
        Some("boolean") => "true or false".to_owned(),
        Some("string") => "text".to_owned(),
        Some("integer" | "number") => "number".to_owned(),
        Some(other) => other.to_owned(),
        None => alternatives(schema).next().map(kind).unwrap_or_default(),
    }
}

fn reference_of(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.rsplit('/').next()
}

fn about(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let mut paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    let first = paragraphs.next().unwrap_or_default();
    paragraphs.fold(first, |text, next| text + "\n\n" + &next)
}

fn about_key(schema: &Value) -> String {
    about(schema).replace("\n\n", " ").replace('|', "\\|")
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = include_str!("../../../../docs/reference/nuncio.schema.json");
    const PAGE: &str = include_str!("../../../../docs/reference/configuration.md");

    #[test]
    fn the_schema_in_the_docs_is_fresh() {
        let command = "cargo run -p nuncio -- config schema > docs/reference/nuncio.schema.json";
        assert!(SCHEMA == json_schema(), "it is made by: {command}");
    }

    #[test]
    fn the_reference_page_holds_the_tables() {
        let tables = reference();
        let command = "cargo run -p nuncio -- config schema --markdown";
        assert!(PAGE.contains(tables.trim()), "its tables are made by: {command}");
    }

    #[track_caller]
    fn check(yaml: &str, expected: bool) {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let document: Value = serde_saphyr::from_str(yaml).unwrap();
        let problems: Vec<_> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
        assert_eq!(problems.is_empty(), expected, "{problems:?}\n{yaml}");
    }

    #[test]
    fn the_schema_says_what_the_reader_says() {
        check(include_str!("../../../../examples/nuncio.yaml"), true);
        check("{}", true);
        check("listen: ${LISTEN}", true);
        for wrong in [
            "listne: 127.0.0.1:1",
            "listen: nonsense",
            "limits: {drain: 30}",
            "limits: {connections: 0}",
            "limits: {request_body: 10MB}",
            "agents: [{url: 'https://a'}]",
            "agents: [{name: a, url: 'https://a', trust: 9}]",
            "agents: [{name: a, kind: parrot}]",
            "hosts: ['https://hub.example']",
            "rules: [{effect: maybe, caller: a, target: b}]",
            "rules: [{effect: deny, caller: a, target: b, operations: [Send]}]",
            "database: mysql://h",
        ] {
            check(wrong, false);
            assert!(super::super::read(wrong, &[].into()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_key_is_explained() {
        let schema = schema();
        let definitions = schema["$defs"].as_object().unwrap();
        for schema in definitions.values().chain([&schema]) {
            for (key, value) in properties(schema).into_iter().flatten() {
                assert!(!about(value).is_empty(), "{key}");
            }
        }
    }
}
