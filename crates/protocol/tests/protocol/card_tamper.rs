//! No part of a signed card can be changed unnoticed (A-CARD).

use std::sync::LazyLock;

use nuncio_protocol::card::{
    sign::{Algorithm, sign_text, verify},
    write_hybrid,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::card_support::signed::{ALGORITHMS, KEYS, rich, signed, signer};

/// A card by every algorithm, and one whose signature covers the members of 0.3, too.
static SIGNED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let hybrid = write_hybrid(&rich()).expect("an interface of 0.3");
    let whole = sign_text(&hybrid, &signer(Algorithm::EdDsa)).expect("a signature");
    ALGORITHMS.into_iter().map(signed).chain([whole]).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_changed_byte_is_noticed(
        card in prop::sample::select(&**SIGNED),
        at in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let mut bytes = card.into_bytes();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes) {
            prop_assert!(verify(&text, &KEYS).is_err(), "{}", text);
        }
    }

    #[test]
    fn a_changed_member_is_noticed(
        card in prop::sample::select(&**SIGNED),
        at in any::<prop::sample::Index>(),
        change in prop::sample::select(&[Change::Remove, Change::Rename, Change::Replace][..]),
    ) {
        let mut card: Value = serde_json::from_str(&card).unwrap();
        let mut places = Vec::new();
        list_places(&card, "", &mut places);
        let place = &places[at.index(places.len())];
        tamper(&mut card, place, change);
        prop_assert!(verify(&card.to_string(), &KEYS).is_err(), "{:?} {}", change, place);
    }
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Remove,
    /// In an array: repeat.
    Rename,
    Replace,
}

/// Lists every place in a card but the signatures, as pointers.
fn list_places(value: &Value, path: &str, places: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| *key != "signatures")
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in children {
        let path = format!("{path}/{key}");
        list_places(value, &path, places);
        places.push(path);
    }
}

fn tamper(card: &mut Value, place: &str, change: Change) {
    let (parent, key) = place.rsplit_once('/').expect("a pointer");
    match (change, card.pointer_mut(parent).expect("a place on the card")) {
        (Change::Remove, Value::Object(members)) => drop(members.remove(key)),
        (Change::Rename, Value::Object(members)) => {
            let value = members.remove(key).expect("a member");
            members.insert(format!("{key}X"), value);
        }
        (Change::Remove, Value::Array(items)) => {
            items.remove(key.parse().expect("an index"));
        }
        (Change::Rename, Value::Array(items)) => {
            items.push(items[key.parse::<usize>().expect("an index")].clone());
        }
        (_, _) => {
            let value = card.pointer_mut(place).expect("a place on the card");
            *value = other(value.take());
        }
    }
}

/// Returns a value that is not equal.
///
/// Nothing is added to an object: a member that A2A does not know is not covered, and makes
/// no difference to anybody.
fn other(value: Value) -> Value {
    match value {
        Value::String(text) => json!(format!("{text}x")),
        Value::Bool(value) => json!(!value),
        Value::Array(items) if !items.is_empty() => json!(items[1..]),
        Value::Object(members) if !members.is_empty() => {
            Value::Object(members.into_iter().skip(1).collect())
        }
        Value::Number(_) | Value::Array(_) | Value::Object(_) | Value::Null => json!("x"),
    }
}
