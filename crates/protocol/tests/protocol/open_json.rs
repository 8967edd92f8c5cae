//! What becomes of open-ended JSON where every number is a double.
//!
//! A thing said is changed by way of its JSON: the fixed members hold no number, text or order
//! that these changes could touch, so only open-ended JSON comes back different.

use nuncio_protocol::json::{self, Object, Raw, ToJson};
use serde_json::value::RawValue;

use crate::losses::{Loss, Said};

/// What no double holds.
pub(crate) const BIG_INTEGERS: Loss = Loss {
    id: "big-integers",
    forget: round_numbers,
    witness: || data(r#"{"a":[9007199254740993,9007199254740992,0.1,0.12345678901234567890]}"#),
};

/// What says the same in other letters.
pub(crate) const JSON_SPELLING: Loss = Loss {
    id: "json-spelling",
    forget: spell_anew,
    witness: || data(r#"{"b":[1.0,1e3],"a":"\u0041\/"}"#),
};

fn data(data: &str) -> Said {
    let message = r#"{"message":{"messageId":"m","role":2,"parts":[{"data":@}]}}"#;
    Said::event(&message.replace('@', data))
}

/// Rounds the numbers that no double holds.
fn round_numbers(said: &mut Said) {
    rewrite(said, |json| rebuild(json, Order::Kept, rounded));
}

/// Spells everything in the one way that is left: members sorted, numbers short, no escape that
/// is not needed.
fn spell_anew(said: &mut Said) {
    rewrite(said, |json| rebuild(json, Order::Sorted, spelled));
}

fn rewrite(said: &mut Said, change: fn(&Raw) -> Raw) {
    fn changed(value: &impl ToJson, change: fn(&Raw) -> Raw) -> Raw {
        change(&raw(&json::to_string(value)))
    }
    *said = match said {
        Said::Request(request) => {
            Said::request(request.operation(), changed(request, change).as_str())
        }
        Said::Response(operation, response) => {
            Said::response(*operation, changed(response, change).as_str())
        }
        Said::Event(event) => Said::event(changed(event, change).as_str()),
    };
}

/// What becomes of the order of members.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Kept,
    Sorted,
}

/// Changes every number, text and other leaf of a value.
fn rebuild(value: &Raw, order: Order, leaf: fn(&Raw) -> Raw) -> Raw {
    if let Some(object) = value.as_object() {
        let mut members = object.members();
        if order == Order::Sorted {
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        let members =
            members.iter().map(|(key, value)| (key.as_str(), rebuild(value, order, leaf)));
        return Object::from_members(members).into_raw();
    }
    if value.as_str().starts_with('[') {
        let items: Vec<Box<RawValue>> = value.parse().expect("an array");
        let items = items.iter().map(|item| rebuild(&raw(item.get()), order, leaf));
        let items: Vec<String> = items.map(|item| item.as_str().to_owned()).collect();
        return raw(&format!("[{}]", items.join(",")));
    }
    leaf(value)
}

fn rounded(leaf: &Raw) -> Raw {
    match number(leaf) {
        Some(short) if decimal(&short) != decimal(leaf.as_str()) => raw(&short),
        _ => leaf.clone(),
    }
}

fn spelled(leaf: &Raw) -> Raw {
    match leaf.as_text() {
        Some(text) => Raw::string(&text),
        None => number(leaf).map_or_else(|| leaf.clone(), |short| raw(&short)),
    }
}

/// Returns the shortest spelling of the double nearest to a number.
fn number(leaf: &Raw) -> Option<String> {
    if !leaf.as_str().starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return None;
    }
    let double: f64 = leaf.as_str().parse().expect("a number");
    let few_digits = double == 0.0 || (1e-6..1e21).contains(&double.abs());
    Some(if few_digits { double.to_string() } else { format!("{double:e}") })
}

/// Returns what a number's text says: sign, digits without zeros around them, exponent.
fn decimal(text: &str) -> (bool, String, i32) {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let mut exponent: i32 = exponent.parse().expect("a small exponent");
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = whole.trim_start_matches('-').to_owned();
    for digit in fraction.chars() {
        digits.push(digit);
        exponent -= 1;
    }
    while digits.ends_with('0') {
        digits.pop();
        exponent += 1;
    }
    let digits = digits.trim_start_matches('0').to_owned();
    let exponent = if digits.is_empty() { 0 } else { exponent };
    (text.starts_with('-'), digits, exponent)
}

fn raw(text: &str) -> Raw {
    Raw::parse_text(text).expect("the text is JSON")
}
