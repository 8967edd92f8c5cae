//! Members of mappings as types. What is of the wrong shape is not there.

use std::time::Duration;

use crate::{
    document::{Kind, Value},
    graph::Time,
};

pub(super) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    match value.get(key).map(Value::kind) {
        Some(Kind::List(items)) => items,
        _ => &[],
    }
}

pub(super) fn is_null(value: &Value) -> bool {
    matches!(value.kind(), Kind::Null)
}

pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_text().map(str::to_owned)
}

pub(super) fn texts(value: &Value, key: &str) -> Vec<String> {
    items(value, key).iter().filter_map(Value::as_text).map(str::to_owned).collect()
}

pub(super) fn flag(value: &Value, key: &str) -> bool {
    matches!(value.get(key).map(Value::kind), Some(Kind::Bool(true)))
}

pub(super) fn whole(value: &Value, key: &str) -> Option<u32> {
    match value.get(key)?.kind() {
        Kind::Number(number) => number.parse().ok(),
        _ => None,
    }
}

pub(super) fn number(value: &Value, key: &str) -> Option<f64> {
    match value.get(key)?.kind() {
        Kind::Number(number) => number.parse().ok(),
        _ => None,
    }
}

/// A number counts seconds, as in Upal's files.
pub(super) fn time(value: &Value, key: &str) -> Option<Time> {
    match value.get(key)?.kind() {
        Kind::Text(text) => text.parse().ok(),
        Kind::Number(number) => {
            let seconds: f64 = number.parse().ok()?;
            Time::new(Duration::try_from_secs_f64(seconds).ok()?).ok()
        }
        _ => None,
    }
}
