//! What comes over a webhook: is it signed, and what does it give to a run.

use std::fmt::Write as _;

use aws_lc_rs::{digest, hmac, rand};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::HeaderMap;
use nuncio_protocol::json::{Object, Raw};
use nuncio_workflow::graph::Workflow;

use super::Trigger;

/// The HMAC-SHA256 of the body, in hexadecimal digits.
const SIGNATURE: &str = "x-webhook-signature";

/// The name of a delivery, which is the same if it is repeated.
const DELIVERY: &str = "x-webhook-id";

/// When a delivery was first sent.
const SENT: &str = "x-webhook-timestamp";

/// Makes a secret that nobody can guess.
pub(crate) fn new_secret() -> Option<String> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

/// Tells whether a body was signed with a trigger's secret. Takes the same time however much of
/// the signature is right.
pub(crate) fn is_signed(trigger: &Trigger, headers: &HeaderMap, body: &[u8]) -> bool {
    let Some(secret) = &trigger.secret else { return false };
    let given = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
    let given = given.map(|given| given.strip_prefix("sha256=").unwrap_or(given));
    let Some(given) = given.and_then(bytes) else { return false };
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hmac::verify(&key, body, &given).is_ok()
}

/// Reads hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || digits.len() > 128 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    digits.chunks(2).map(|pair| Some((digit(pair[0])? << 4) | digit(pair[1])?)).collect()
}

/// One delivery to a webhook.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery<'a> {
    pub(crate) trigger: &'a Trigger,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
}

impl Delivery<'_> {
    /// Returns what repeated deliveries have in common, if they can be told from new ones.
    pub(crate) fn key(&self) -> Option<String> {
        let Self { trigger, headers, body } = self;
        let mut hashed = digest::Context::new(&digest::SHA256);
        hashed.update(trigger.id.as_bytes());
        if let Some(id) = headers.get(DELIVERY) {
            hashed.update(b"\0id\0");
            hashed.update(id.as_bytes());
        } else {
            hashed.update(b"\0sent\0");
            hashed.update(headers.get(SENT)?.as_bytes());
            hashed.update(b"\0");
            hashed.update(body);
        }
        let mut key = String::from("hook:");
        for byte in hashed.finish().as_ref() {
            let _ = write!(key, "{byte:02x}"); // Writing to a text cannot fail.
        }
        Some(key)
    }
}

/// Returns what a run is given for the body of a delivery, over what the trigger says: values by
/// the names of inputs, or else the whole for the one input that is left.
pub(crate) fn inputs(workflow: &Workflow, given: Object, body: &[u8]) -> Result<Object, String> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(given);
    }
    let text = std::str::from_utf8(body).map_err(|_| "the body must be text".to_owned())?;
    let names: Vec<&str> = workflow.inputs().map(|(node, _)| node.id().as_str()).collect();
    let whole = Raw::parse_text(text).unwrap_or_else(|_| Raw::string(text));
    let object = whole.as_object();
    let inner = object.as_ref().and_then(|object| object.get("inputs")?.as_object());
    let values = inner.filter(|_| !names.contains(&"inputs")).or(object).unwrap_or_default();
    let known: Vec<(String, Raw)> =
        values.members().into_iter().filter(|(name, _)| names.contains(&name.as_str())).collect();
    if !known.is_empty() {
        return Ok(known.iter().fold(given, |all, (name, value)| all.with(name, value.clone())));
    }
    let mut left = names.iter().filter(|name| given.get(name).is_none());
    match (left.next(), left.next()) {
        (Some(only), None) => Ok(given.with(only, whole)),
        // Nobody asks what it says.
        (None, _) => Ok(given),
        (Some(_), Some(_)) => Err(format!(
            "the workflow has the inputs {}: send a JSON object with their names",
            names.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(inputs_of: &[&str], set: &[(&str, &str)], body: &str) -> Result<String, String> {
        let nodes: Vec<_> =
            inputs_of.iter().map(|id| format!("{{id: {id}, type: input}}")).collect();
        let edges: Vec<_> = inputs_of.iter().map(|id| format!("{{from: {id}, to: out}}")).collect();
        let text = format!(
            "{{name: w, nodes: [{}, {{id: out, type: output}}], edges: [{}]}}",
            nodes.join(", "),
            edges.join(", ")
        );
        let workflow = Workflow::read(&text).expect("a workflow");
        let set = set.iter().map(|(name, value)| (*name, Raw::string(value)));
        let all = inputs(&workflow, Object::from_members(set), body.as_bytes())?;
        Ok(all.as_str().to_owned())
    }

    #[test]
    fn a_body_gives_inputs_by_name_or_is_the_only_one() {
        let two = &["a", "b"];
        assert_eq!(given(two, &[("a", "x")], r#"{"b":2,"c":3}"#), Ok(r#"{"a":"x","b":2}"#.into()));
        assert_eq!(given(two, &[], r#"{"inputs":{"a":1,"b":2}}"#), Ok(r#"{"a":1,"b":2}"#.into()));
        assert_eq!(given(two, &[("a", "x")], "[1]"), Ok(r#"{"a":"x","b":[1]}"#.into()));
        assert_eq!(given(&["a"], &[], "hello"), Ok(r#"{"a":"hello"}"#.into()));
        assert_eq!(given(&["a"], &[("a", "x")], ""), Ok(r#"{"a":"x"}"#.into()));
        let refused = given(two, &[], "hello").expect_err("for which?");
        assert!(refused.contains("a, b"), "{refused}");
    }
}
