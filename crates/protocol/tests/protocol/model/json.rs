//! Open-ended JSON.

use nuncio_protocol::json::{Object, Raw};
use proptest::{prelude::*, strategy::Union};

use super::text;

/// Any value, in the spelling that every wire form keeps: keys sorted, integers that a double
/// can hold, fractions in their shortest form, no escape that is not needed.
pub(crate) fn canonical() -> impl Strategy<Value = Raw> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        (-(1_i64 << 53)..=1 << 53).prop_map(|number| number.to_string()),
        any::<i32>().prop_map(|number| (f64::from(number) / 64.0).to_string()),
    ]
    .prop_map(|text| raw(&text));
    let leaf = prop_oneof![leaf, text().prop_map(|text| Raw::string(&text))];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|items| array(&items)),
            members(inner).prop_map(Object::into_raw)
        ]
    })
}

/// Any object, in the spelling that every wire form keeps.
pub(crate) fn object() -> impl Strategy<Value = Object> {
    members(canonical())
}

/// Any object or none.
pub(crate) fn optional_object() -> impl Strategy<Value = Option<Object>> {
    prop::option::of(object())
}

/// Any value in any spelling.
pub(crate) fn any_spelling() -> impl Strategy<Value = Raw> {
    let spellings = [
        "1.0",
        "-0.0",
        "1e3",
        "1E-7",
        "5e-324",
        "1.7976931348623157e308",
        "9007199254740993",
        "12345678901234567890",
        "123456789012345678901234567890",
        "0.1000",
        r#""\u0041\/\ud83e\udda6\b""#,
    ];
    let odd = Union::new(spellings.map(|text| Just(raw(text))));
    let leaf = prop_oneof![odd, canonical()];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let keys = prop::sample::subsequence(vec!["b", "a", "", "é", "\n"], 0..4).prop_shuffle();
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|items| array(&items)),
            (keys, prop::collection::vec(inner, 4)).prop_map(|(keys, values)| {
                Object::from_members(keys.into_iter().zip(values)).into_raw()
            }),
        ]
    })
}

fn array(items: &[Raw]) -> Raw {
    let items: Vec<&str> = items.iter().map(Raw::as_str).collect();
    raw(&format!("[{}]", items.join(",")))
}

fn members(value: impl Strategy<Value = Raw>) -> impl Strategy<Value = Object> {
    prop::collection::btree_map(text(), value, 0..3).prop_map(|map| {
        Object::from_members(map.iter().map(|(key, value)| (key.as_str(), value.clone())))
    })
}

fn raw(text: &str) -> Raw {
    Raw::parse_text(text).expect("the text is JSON")
}
