//! Open-ended JSON and moments on their way through protobuf.

use nuncio_protocol::{
    grpc::v1,
    json::{MAX_DEPTH, Object, Raw},
    message::Part,
    time::Timestamp,
};
use proptest::prelude::*;
use prost::Message as _;
use prost_types::{ListValue, Struct, Value, value::Kind};

use crate::model;

/// Checks as what a value comes back.
#[track_caller]
fn check(text: &str, returned: &str) {
    let value = Value::from(Raw::parse_text(text).expect("the text is JSON"));
    let raw = Raw::try_from(value).expect("what we write can be read");
    assert_eq!(raw.as_str(), returned);
}

#[track_caller]
fn unchanged(text: &str) {
    check(text, text);
}

#[test]
fn integers_stay_integers() {
    for text in
        ["0", "1", "-1", "100", "9007199254740991", "-9007199254740992", "100000000000000000000"]
    {
        unchanged(text);
    }
    check("1.0", "1");
    check("1e3", "1000");
    check("-0.0", "-0");
}

#[test]
fn integers_no_double_can_hold_are_rounded() {
    check("9007199254740993", "9007199254740992");
    check("12345678901234567890", "12345678901234567000");
}

#[test]
fn very_large_and_very_small_numbers_are_short() {
    check("1000000000000000000000", "1e21");
    check("1.7976931348623157e308", "1.7976931348623157e308");
    check("-0.0000001", "-1e-7");
    check("5e-324", "5e-324");
    check("0.00025", "0.00025");
}

#[test]
fn objects_come_back_sorted() {
    check(r#"{"b":1,"a":{"d":null,"c":[true,"x"]}}"#, r#"{"a":{"c":[true,"x"],"d":null},"b":1}"#);
}

#[test]
fn null_is_a_value() {
    unchanged("null");
    unchanged("[null]");
}

#[track_caller]
fn refused(value: Value, path: &str, what: &str) {
    let error = Raw::try_from(value.clone()).expect_err("the value must be refused");
    assert_eq!((error.path().as_str(), error.what()), (path, what));
    let object = Struct { fields: [("key".to_owned(), value)].into() };
    let error = Object::try_from(object).expect_err("the object must be refused");
    assert!(error.path().starts_with("key"), "{error}");
}

fn number(number: f64) -> Value {
    Value { kind: Some(Kind::NumberValue(number)) }
}

fn list(values: Vec<Value>) -> Value {
    Value { kind: Some(Kind::ListValue(ListValue { values })) }
}

fn object(key: &str, value: Value) -> Value {
    let fields = [(key.to_owned(), value)].into();
    Value { kind: Some(Kind::StructValue(Struct { fields })) }
}

#[test]
fn what_json_cannot_say_is_refused_with_its_path() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        refused(number(bad), "", "the number is out of range");
        refused(
            object("a", list(vec![number(1.0), number(bad)])),
            "a[1]",
            "the number is out of range",
        );
    }
    refused(object("a", Value { kind: None }), "a", "holds no value, not even null");
}

#[test]
fn nesting_is_allowed_to_the_limit_of_json_and_no_further() {
    let lists = |depth: usize| (0..depth).fold(number(1.0), |value, _| list(vec![value]));
    let objects = |depth: usize| (0..depth).fold(number(1.0), |value, _| object("a", value));
    for nested in [&lists as &dyn Fn(usize) -> Value, &objects] {
        let deepest = Raw::try_from(nested(MAX_DEPTH)).unwrap();
        Raw::parse_text(deepest.as_str()).unwrap();
        assert_eq!(Value::from(deepest), nested(MAX_DEPTH));
        for depth in [MAX_DEPTH + 1, 10 * MAX_DEPTH] {
            let error = Raw::try_from(nested(depth)).unwrap_err();
            assert_eq!(error.what(), "nested deeper than 128 levels");
        }
    }
}

/// Documented: decoders stop at a hundred messages within each other, of which an object
/// needs three.
#[test]
fn thirty_objects_within_each_other_can_be_sent() {
    let task = |depth: usize| {
        let text = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        let part = v1::Part::from(Part::data(Raw::parse_text(&text).unwrap()));
        let artifact = v1::Artifact { parts: vec![part], ..Default::default() };
        let task = v1::Task { artifacts: vec![artifact], ..Default::default() };
        v1::ListTasksResponse { tasks: vec![task], ..Default::default() }.encode_to_vec()
    };
    v1::ListTasksResponse::decode(task(30).as_slice()).unwrap();
    v1::ListTasksResponse::decode(task(34).as_slice()).unwrap_err();
}

#[test]
fn bytes_are_shared_not_copied() {
    let bytes = bytes::Bytes::from(vec![7; 1000]);
    let part = v1::Part::from(Part::raw(bytes.clone()));
    let Some(v1::part::Content::Raw(shared)) = &part.content else { panic!("{part:?}") };
    assert_eq!(shared.as_ptr(), bytes.as_ptr());
    let nuncio_protocol::message::Content::Raw(back) = Part::try_from(part).unwrap().content else {
        panic!("not bytes any more");
    };
    assert_eq!(back.as_ptr(), bytes.as_ptr());
}

#[test]
fn a_moment_that_is_none_is_refused() {
    for (seconds, nanos) in
        [(i64::MAX, 0), (i64::MIN, 0), (0, -1), (0, 1_000_000_000), (0, i32::MIN)]
    {
        let error = Timestamp::try_from(prost_types::Timestamp { seconds, nanos }).unwrap_err();
        assert_eq!(error.what(), format!("{seconds} s and {nanos} ns after 1970 is not a moment"));
    }
}

/// Turns every number into the double that it is for most other libraries.
fn doubles(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Number(number) => number.as_f64().into(),
        serde_json::Value::Array(items) => items.into_iter().map(doubles).collect(),
        serde_json::Value::Object(members) => {
            members.into_iter().map(|(key, value)| (key, doubles(value))).collect()
        }
        other => other,
    }
}

proptest! {
    #[test]
    fn the_canonical_spelling_survives(raw in model::json::canonical()) {
        unchanged(raw.as_str());
    }

    #[test]
    fn any_spelling_keeps_its_meaning_as_doubles(raw in model::json::any_spelling()) {
        let once = Raw::try_from(Value::from(raw.clone())).unwrap();
        prop_assert_eq!(doubles(once.parse().unwrap()), doubles(raw.parse().unwrap()));
        unchanged(once.as_str());
    }

    #[test]
    fn every_double_survives(double in any::<f64>().prop_filter("finite", |double| double.is_finite())) {
        let raw = Raw::try_from(number(double)).unwrap();
        Raw::parse_text(raw.as_str()).unwrap();
        prop_assert_eq!(Value::from(raw), number(double));
    }

    #[test]
    fn moments_survive(moment in model::moment()) {
        let proto = prost_types::Timestamp::from(moment);
        prop_assert!((0..1_000_000_000).contains(&proto.nanos));
        prop_assert_eq!(Timestamp::try_from(proto).unwrap(), moment);
    }

    /// Whatever bytes come, reading them ends in a value or an error.
    #[test]
    fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
        if let Ok(value) = Value::decode(bytes.as_slice()) {
            let _ = Raw::try_from(value);
        }
    }
}
