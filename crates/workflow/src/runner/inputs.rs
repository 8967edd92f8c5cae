//! What a message gives to the inputs of a workflow.

use std::collections::BTreeMap;

use nuncio_protocol::{
    error::{Error, ErrorKind},
    json::{Object, Raw},
    message::{Message, Part},
};

use crate::graph::Workflow;

/// Reads the inputs of a run from the message that asks for it:
///
/// - data `{"inputs": {…}}`, or text that is this, as Upal has it (UD-11): the inputs by name;
/// - other data that is an object: the same;
/// - anything else, if the workflow has but one input: that input.
pub fn read(workflow: &Workflow, message: &Message) -> Result<BTreeMap<String, Vec<Part>>, Error> {
    let names: Vec<&str> = workflow.inputs().map(|(node, _)| node.id().as_str()).collect();
    let mut inputs = BTreeMap::new();
    let mut rest = Vec::new();
    for part in &message.parts {
        match named(part, &names) {
            Some(object) => {
                inputs.extend(
                    object.members().into_iter().map(|(name, value)| (name, vec![of_value(value)])),
                );
            }
            None => rest.push(part.clone()),
        }
    }
    let says_something = rest.iter().any(|part| part.as_text().is_none_or(|text| !text.is_empty()));
    if !says_something || names.is_empty() {
        return Ok(inputs);
    }
    let open: Vec<&&str> = names.iter().filter(|name| !inputs.contains_key(**name)).collect();
    match (names.as_slice(), open.as_slice()) {
        ([only], [_]) => {
            inputs.insert((*only).to_owned(), rest);
            Ok(inputs)
        }
        // A word beside the inputs is for people.
        _ if !inputs.is_empty() => Ok(inputs),
        _ => {
            let text = format!(
                "the workflow has the inputs {}: send data {{\"inputs\": {{…}}}}",
                names.join(", ")
            );
            let error = Error::new(ErrorKind::InvalidParams, text.clone());
            Err(error.with_violation("message.parts", text))
        }
    }
}

/// Returns the inputs by name that a part holds, if it does.
fn named(part: &Part, names: &[&str]) -> Option<Object> {
    let (object, is_text) = match (part.as_data(), part.as_text()) {
        (Some(data), _) => (data.as_object()?, false),
        (None, Some(text)) if text.trim_start().starts_with('{') => {
            (Object::parse_text(text).ok()?, true)
        }
        _ => return None,
    };
    if let Some(inputs) = object.get("inputs").and_then(|inputs| inputs.as_object())
        && !names.contains(&"inputs")
    {
        return Some(inputs);
    }
    let members = object.members();
    let are_names = members.iter().any(|(name, _)| names.contains(&name.as_str()));
    // The one input of a workflow may well be an object itself.
    (!members.is_empty() && (are_names || !is_text && names.len() != 1)).then_some(object)
}

/// Makes a part of a value: text stays text.
pub fn of_value(value: Raw) -> Part {
    match value.as_text() {
        Some(text) => Part::text(text).with_media_type("text/plain"),
        None => Part::data(value).with_media_type("application/json"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow(inputs: &[&str]) -> Workflow {
        let nodes: Vec<_> = inputs.iter().map(|id| format!("{{id: {id}, type: input}}")).collect();
        let edges: Vec<_> = inputs.iter().map(|id| format!("{{from: {id}, to: out}}")).collect();
        let text = format!(
            "{{name: w, nodes: [{}, {{id: out, type: output}}], edges: [{}]}}",
            nodes.join(", "),
            edges.join(", ")
        );
        Workflow::read(&text).expect("a workflow")
    }

    fn given(inputs: &[&str], part: Part) -> Result<Vec<(String, String)>, String> {
        let mut message = Message::user("");
        message.parts = vec![part];
        let read = read(&workflow(inputs), &message).map_err(|error| error.to_string())?;
        let text = |parts: &[Part]| match (parts[0].as_text(), parts[0].as_data()) {
            (Some(text), _) => text.to_owned(),
            (None, data) => data.map(|data| data.as_str().to_owned()).unwrap_or_default(),
        };
        Ok(read.iter().map(|(name, parts)| (name.clone(), text(parts))).collect())
    }

    fn data(text: &str) -> Part {
        Part::data(Raw::parse_text(text).expect("JSON"))
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_only_input_is_whatever_is_said() {
        assert_eq!(given(&["topic"], Part::text("otters")), Ok(pairs(&[("topic", "otters")])));
        assert_eq!(given(&["topic"], data("{\"a\":1}")), Ok(pairs(&[("topic", "{\"a\":1}")])));
        assert_eq!(given(&["topic"], Part::text("{x")), Ok(pairs(&[("topic", "{x")])));
    }

    #[test]
    fn inputs_are_given_by_name_as_data_and_as_upal_does_as_text() {
        let both = Ok(pairs(&[("a", "x"), ("b", "[1]")]));
        assert_eq!(given(&["a", "b"], data(r#"{"inputs":{"a":"x","b":[1]}}"#)), both);
        assert_eq!(given(&["a", "b"], data(r#"{"a":"x","b":[1]}"#)), both);
        let upal = r#"{"workflow":"w","inputs":{"a":"x","b":[1]}}"#;
        assert_eq!(given(&["a", "b"], Part::text(upal)), both);
    }

    #[test]
    fn words_for_several_inputs_are_refused_with_their_names() {
        let refused = given(&["a", "b"], Part::text("otters")).expect_err("for which?");
        assert!(refused.contains("a, b"), "{refused}");
    }
}
