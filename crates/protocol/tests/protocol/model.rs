//! Arbitrary values of the model, small enough for hundreds of cases a second.
//!
//! What these strategies make is valid: requests pass `Request::check`. Open-ended JSON is in
//! the one spelling that every wire form keeps (see [`json::canonical`]); tests about spelling
//! use [`json::any_spelling`].

pub(crate) mod card;
pub(crate) mod error;
pub(crate) mod json;
pub(crate) mod message;
pub(crate) mod operation;
pub(crate) mod task;

use std::{collections::BTreeMap, fmt::Debug, str::FromStr};

use nuncio_protocol::{
    ids::{InvalidId, MAX_ID_BYTES},
    time::Timestamp,
};
use proptest::prelude::*;

/// Any text, also empty, with quotes, line breaks and whatever else Unicode has.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,8}", "(?s).{0,8}", "[\"\\\\/\u{0}-\u{1f}]{0,4}"]
}

/// Any text but the empty one.
pub(crate) fn some_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", "(?s).{1,8}"]
}

/// Something like a URL. Nothing checks it.
pub(crate) fn url() -> impl Strategy<Value = String> {
    "https://[a-z]{1,6}\\.example/[a-z0-9/?=&%]{0,8}"
}

/// Any identifier, the longest included.
pub(crate) fn id<T>() -> impl Strategy<Value = T>
where
    T: FromStr<Err = InvalidId> + Debug,
{
    let text = prop_oneof![
        6 => "[a-z0-9-]{1,8}",
        3 => "(?s).{1,8}",
        1 => Just("x".repeat(MAX_ID_BYTES)),
    ];
    text.prop_map(|text| text.parse().expect("the length is allowed"))
}

/// An identifier or none.
pub(crate) fn optional_id<T>() -> impl Strategy<Value = Option<T>>
where
    T: FromStr<Err = InvalidId> + Debug,
{
    prop::option::of(id())
}

/// Any moment from the year 1 to nearly the end of the year 9999.
pub(crate) fn moment() -> impl Strategy<Value = Timestamp> {
    let nanos =
        prop_oneof![Just(0), (0..1000).prop_map(|millis| millis * 1_000_000), 0..1_000_000_000];
    (-62_135_596_800_i64..253_402_200_000, nanos).prop_map(|(seconds, nanos)| {
        Timestamp::from_parts(seconds, nanos).expect("the moment is on the calendar")
    })
}

/// Up to two of them.
pub(crate) fn few<T: Debug>(item: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(item, 0..3)
}

/// One or two of them.
pub(crate) fn some<T: Debug>(item: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(item, 1..3)
}

/// Up to two of them, by name.
pub(crate) fn named<T: Debug>(
    item: impl Strategy<Value = T>,
) -> impl Strategy<Value = BTreeMap<String, T>> {
    prop::collection::btree_map(text(), item, 0..3)
}
