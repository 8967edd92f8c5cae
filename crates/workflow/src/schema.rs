//! The JSON Schema of a workflow file, and its tables in the reference page, both made of the form
//! that the reader goes by.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::graph::form::{self, BODY, CONFIGS, Form, Member, NODE, SETTINGS, Shape, WORKFLOW};

/// Returns the JSON Schema (draft 2020-12) of a workflow file.
pub fn json_schema() -> String {
    let mut text = serde_json::to_string_pretty(&schema()).unwrap_or_default();
    text.push('\n');
    text
}

fn schema() -> Value {
    let mut definitions = Map::new();
    for form in [&form::EDGE, &form::LOOP, &form::GROUP, &form::RETRY, &form::EXTRACT] {
        definitions.insert(form.name.to_owned(), object(form, &[form]));
    }
    for (_, config) in &CONFIGS {
        definitions.insert(config.name.to_owned(), object(config, &[config, &SETTINGS]));
    }
    definitions.insert(NODE.name.to_owned(), node(&NODE, |_| true));
    let can_be_done = |kind: &str| !matches!(kind, "input" | "output" | "map");
    definitions.insert(BODY.name.to_owned(), node(&BODY, can_be_done));
    let mut schema = object(&WORKFLOW, &[&WORKFLOW]);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "A workflow".into();
    schema["$defs"] = definitions.into();
    schema
}

fn object(about: &Form, forms: &[&Form]) -> Value {
    let members = || forms.iter().flat_map(|form| form.members);
    let properties: Map<String, Value> = members()
        .map(|member| {
            let mut schema = shape(&member.shape);
            schema["description"] = member.about.into();
            (member.name.to_owned(), schema)
        })
        .collect();
    let mut schema = json!({
        "type": "object",
        "description": about.about,
        "properties": properties,
        "additionalProperties": false,
    });
    let required: Vec<&str> = required(members()).collect();
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    if !about.one_of.is_empty() {
        let choices: Vec<Value> =
            about.one_of.iter().map(|name| json!({ "required": [name] })).collect();
        schema["oneOf"] = choices.into();
    }
    schema
}

fn required<'a>(members: impl Iterator<Item = &'a Member>) -> impl Iterator<Item = &'static str> {
    members.filter(|member| member.is_required).map(|member| member.name)
}

/// A node, whose configuration is that of its type.
fn node(form: &Form, is_possible: impl Fn(&str) -> bool) -> Value {
    let mut schema = object(form, &[form]);
    let mut types = Vec::new();
    let mut cases = Vec::new();
    for (name, config) in CONFIGS.iter().filter(|(name, _)| is_possible(name)) {
        let names: &[&str] = if *name == "input" { &["input", "run_input"] } else { &[name] };
        types.extend_from_slice(names);
        let needs_config =
            !config.one_of.is_empty() || required(config.members.iter()).next().is_some();
        let mut then = json!({ "properties": { "config": { "$ref": definition(config) } } });
        if needs_config {
            then["required"] = json!(["config"]);
        }
        cases.push(json!({ "if": { "properties": { "type": { "enum": names } } }, "then": then }));
    }
    schema["properties"]["type"]["enum"] = types.into();
    schema["allOf"] = cases.into();
    schema
}

fn definition(form: &Form) -> String {
    format!("#/$defs/{}", form.name)
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Text | Shape::Template | Shape::Condition => json!({ "type": "string" }),
        Shape::Prompt => {
            json!({ "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
        }
        Shape::Tree | Shape::Json => json!({}),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Whole(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Shape::Number(least, most) => {
            json!({ "type": "number", "minimum": least, "maximum": most })
        }
        Shape::Time => json!({ "type": "string", "pattern": r"^(\d+(ms|s|m|h|d))+$" }),
        Shape::Choice(choices) => json!({ "enum": choices }),
        Shape::Id => {
            json!({ "type": "string", "pattern": "^(?!__)[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$" })
        }
        Shape::Nodes(choices) => {
            json!({ "oneOf": [{ "enum": choices }, { "type": "array", "items": self::shape(&Shape::Id) }] })
        }
        Shape::List(items) => json!({ "type": "array", "items": self::shape(items) }),
        Shape::ByName(values) => {
            json!({ "type": "object", "additionalProperties": self::shape(values) })
        }
        Shape::Form(form) => json!({ "$ref": definition(form) }),
        Shape::Node => json!({ "$ref": definition(&NODE) }),
        Shape::Body => json!({ "$ref": definition(&BODY) }),
    }
}

/// Returns the tables of members in `docs/reference/workflow.md`, in Markdown.
pub fn reference() -> String {
    let mut page = String::new();
    table(&mut page, "The file", &WORKFLOW);
    table(&mut page, "Edge", &form::EDGE);
    table(&mut page, "Loop", &form::LOOP);
    table(&mut page, "Group", &form::GROUP);
    table(&mut page, "Node", &NODE);
    table(&mut page, "Every `config`", &SETTINGS);
    table(&mut page, "Retry", &form::RETRY);
    for (name, config) in &CONFIGS {
        table(&mut page, &format!("Type `{name}`"), config);
    }
    table(&mut page, "Extract", &form::EXTRACT);
    page
}

fn table(page: &mut String, title: &str, form: &Form) {
    // Writing to a string cannot fail.
    let _ = write!(page, "### {title}\n\n{}", form.about);
    if !form.one_of.is_empty() {
        let _ = write!(page, " Exactly one of `{}` is set.", form.one_of.join("`, `"));
    }
    page.push_str("\n\n| Member | Value | Meaning |\n|---|---|---|\n");
    for member in form.members {
        let needed = if member.is_required { " (needed)" } else { "" };
        let (name, about) = (member.name, member.about.replace('|', "\\|"));
        let _ = writeln!(page, "| `{name}`{needed} | {} | {about} |", value(&member.shape));
    }
    page.push('\n');
}

fn value(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text".to_owned(),
        Shape::Template => "template".to_owned(),
        Shape::Prompt => "template, or list of templates".to_owned(),
        Shape::Condition => "condition".to_owned(),
        Shape::Tree => "anything; texts are templates".to_owned(),
        Shape::Json => "anything".to_owned(),
        Shape::Flag => "true or false".to_owned(),
        Shape::Whole(least, u32::MAX) => format!("whole number from {least}"),
        Shape::Whole(least, most) => format!("whole number from {least} to {most}"),
        Shape::Number(least, most) => format!("number from {least} to {most}"),
        Shape::Time => "length of time: `500ms`, `30s`, `1h30m`".to_owned(),
        Shape::Choice(choices) => format!("`{}`", choices.join("`, `")),
        Shape::Id => "name of a node".to_owned(),
        Shape::Nodes(choices) => format!("`{}`, or list of nodes", choices.join("`, `")),
        Shape::List(items) => format!("list of: {}", value(items)),
        Shape::ByName(values) => format!("by name: {}", value(values)),
        Shape::Form(form) => format!("[{}](#{})", form.name, form.name.to_lowercase()),
        Shape::Node => "[Node](#node)".to_owned(),
        Shape::Body => "a node without `id`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::graph::Workflow;

    /// Holds a file of the documentation to be what it is made of; `NUNCIO_BLESS=1` makes it so.
    #[track_caller]
    fn check_fresh(path: &str, made: impl FnOnce(&str) -> String) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(path);
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        let made = made(&kept);
        if std::env::var_os("NUNCIO_BLESS").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        assert!(kept == made, "run this test with NUNCIO_BLESS=1 and look at the difference");
    }

    #[test]
    fn the_schema_in_the_docs_is_fresh() {
        check_fresh("workflow.schema.json", |_| json_schema());
    }

    #[test]
    fn the_reference_page_holds_the_tables() {
        const MARKS: [&str; 2] = ["<!-- tables -->\n", "<!-- end of tables -->\n"];
        check_fresh("workflow.md", |page| {
            let (before, rest) = page.split_once(MARKS[0]).unwrap_or((page, ""));
            let (_, behind) = rest.split_once(MARKS[1]).unwrap_or(("", rest));
            format!("{before}{}\n{}{}{behind}", MARKS[0], reference(), MARKS[1])
        });
    }

    #[test]
    fn the_reference_page_lists_every_code() {
        let page = include_str!("../../../docs/reference/workflow.md");
        for code in crate::problem::Code::ALL {
            assert!(page.contains(&format!("| `{code}` |")), "{code}");
        }
    }

    #[track_caller]
    fn check(yaml: &str, expected: bool) {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let document = crate::document::Value::read(yaml).unwrap().to_raw();
        let document: Value = document.parse().unwrap();
        let problems: Vec<_> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
        assert_eq!(problems.is_empty(), expected, "{problems:?}\n{yaml}");
        let read = Workflow::read(yaml);
        assert_eq!(read.is_ok(), expected, "{read:?}\n{yaml}");
    }

    #[test]
    fn the_schema_says_what_the_reader_says() {
        check(include_str!("../../../examples/workflows/report.yaml"), true);
        let nodes = |nodes: &str| format!("{{name: w, nodes: [{nodes}]}}");
        for fine in [
            "{id: a, type: run_input}",
            "{id: a, type: agent, config: {prompt: [x, y], temperature: 1, timeout: 1h30m}}",
            "{id: a, type: http, config: {url: 'https://x', headers: {A: b}, body: {x: [1]}}}",
            "{id: a, type: wait, config: {for: 10s}}",
            "{id: a, type: map, config: {over: x, do: {type: agent}}}",
            "{id: a, type: output, config: {gather: []}}",
        ] {
            check(&nodes(fine), true);
        }
        for wrong in [
            "{id: a}",
            "{type: agent}",
            "{id: 'a b', type: agent}",
            "{id: __a, type: agent}",
            "{id: a, type: agnet}",
            "{id: a, type: agent, config: {promt: x}}",
            "{id: a, type: agent, config: {timeout: soon}}",
            "{id: a, type: agent, config: {timeout: 5}}",
            "{id: a, type: agent, config: {max_turns: 0}}",
            "{id: a, type: agent, config: {on_error: maybe}}",
            "{id: a, type: agent, position: 1}",
            "{id: a, type: tool}",
            "{id: a, type: external, config: {prompt: x}}",
            "{id: a, type: external, config: {agent: x, capability: y}}",
            "{id: a, type: wait, config: {}}",
            "{id: a, type: map, config: {over: x, do: {type: map, config: {over: x}}}}",
            "{id: a, type: output, config: {gather: some}}",
        ] {
            check(&nodes(wrong), false);
        }
        check("{nodes: []}", false);
        check("{name: w, nodes: {}}", false);
        check("{name: w, nodes: [], edges: [{from: a}]}", false);
        check("{name: w, nodes: [], colour: red}", false);
    }

    #[test]
    fn every_member_is_explained() {
        for form in CONFIGS.iter().map(|(_, form)| form).chain([&WORKFLOW, &NODE, &SETTINGS]) {
            for member in form.members {
                assert!(member.about.ends_with('.'), "{}.{}", form.name, member.name);
            }
        }
    }
}
