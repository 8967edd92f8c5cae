use proptest::prelude::*;

use super::{
    Error, ErrorKind, KeyCase, MAX_DEPTH, Object, Raw, ToJson, bytes_with, from_slice, from_str,
    to_bytes, to_string, write_with,
};

#[track_caller]
fn refused(text: &str) -> Error {
    from_str::<Raw>(text).expect_err("the text must be refused")
}

#[track_caller]
fn check(text: &str, path: &str, what: &str) {
    let error = refused(text);
    assert_eq!((error.path().as_str(), error.what()), (path, what));
    assert_eq!(error.kind(), ErrorKind::Syntax);
}

#[test]
fn a_key_twice_in_one_object_is_refused() {
    check(r#"{"a":{"b":1,"b":2}}"#, "a.b", "the key stands twice in its object");
    check(r#"{"a":1,"\u0061":2}"#, "a", "the key stands twice in its object");
    check(r#"{"\u0061":1,"a":2}"#, "a", "the key stands twice in its object");
    check(r#"{"b":0,"\u0061":{"b":1},"b":2}"#, "b", "the key stands twice in its object");
    from_str::<Raw>(r#"[{"a":1},{"a":{"a":2}}]"#).unwrap();
}

#[test]
fn a_key_twice_is_found_among_very_many() {
    let members: Vec<String> = (0..100_000).map(|number| format!(r#""k{number}":0"#)).collect();
    from_str::<Raw>(&format!("{{{}}}", members.join(","))).unwrap();
    check(
        &format!(r#"{{{},"k31":0}}"#, members.join(",")),
        "k31",
        "the key stands twice in its object",
    );
}

#[test]
fn nesting_is_allowed_to_the_limit_and_no_further() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    from_str::<Raw>(&nested(MAX_DEPTH)).unwrap();
    assert_eq!(refused(&nested(MAX_DEPTH + 1)).what(), "nested deeper than 128 levels");
    assert_eq!(refused(&"[".repeat(1_000_000)).what(), "nested deeper than 128 levels");
    assert_eq!(refused(&r#"{"a":"#.repeat(1_000_000)).what(), "nested deeper than 128 levels");
}

#[test]
fn numbers_no_double_can_hold_are_refused() {
    check(r#"{"a":[1e999]}"#, "a[0]", "the number is out of range");
    check("-1e400", "", "the number is out of range");
    check(&"9".repeat(400), "", "the number is out of range");
    for fine in ["1e308", "5e-324", "1e-999", "9007199254740993", "18446744073709551616"] {
        assert_eq!(from_str::<Raw>(fine).unwrap().as_str(), fine);
    }
}

#[test]
fn lone_surrogates_are_refused_also_where_nobody_reads() {
    for bad in [r"\ud800", r"\udc00", r"\ud800x", r"\ud800\ud800", r"\ud800\u0041"] {
        check(&format!(r#"{{"a":"{bad}"}}"#), "a", "a surrogate without its partner");
        check(&format!(r#"{{"{bad}":1}}"#), "", "a surrogate without its partner");
    }
    assert_eq!(from_str::<String>(r#""\ud83e\udda6""#).unwrap(), "🦦");
}

#[test]
fn broken_syntax_is_refused() {
    for bad in [
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{'a':1}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "NaN",
        "Infinity",
        "tru",
        "nul",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\n\"",
        "\"a",
        "1 1",
        "// x\n1",
        "\u{feff}1",
    ] {
        assert_eq!(refused(bad).kind(), ErrorKind::Syntax, "{bad:?}");
    }
    assert_eq!(from_slice::<Raw>(b"\"\xff\"").unwrap_err().what(), "the text is not UTF-8");
}

#[test]
fn raw_values_lose_white_space_and_nothing_else() {
    let raw: Raw = from_str(" { \"a b\" : [ 1 , \" x\\\" y \" ] ,\n\"c\":\t{ } } ").unwrap();
    assert_eq!(raw.as_str(), r#"{"a b":[1," x\" y "],"c":{}}"#);
}

#[test]
fn a_long_key_does_not_make_a_long_error() {
    let error = refused(&format!(r#"{{"{}":tru}}"#, "é".repeat(100_000)));
    assert!(error.to_string().len() < 200);
}

#[test]
fn objects_can_be_taken_apart_and_changed() {
    let object = Object::parse_text(r#"{"a":1,"b":{"c":[]}}"#).unwrap();
    assert_eq!(object.get("b").unwrap().as_str(), r#"{"c":[]}"#);
    assert_eq!(object.with("a", Raw::string("x")).as_str(), r#"{"a":"x","b":{"c":[]}}"#);
    assert_eq!(object.without("a").as_str(), r#"{"b":{"c":[]}}"#);
}

#[test]
fn only_the_protocols_own_keys_change_their_spelling() {
    let metadata = r#"{"someKey":{"innerKey":1}}"#;
    let json = format!(
        r#"{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"x","mediaType":"a/b"}}],"metadata":{metadata}}}"#
    );
    let message: crate::message::Message = from_str(&json).unwrap();
    let snake = json.replace("messageId", "message_id").replace("mediaType", "media_type");
    let written = write_with(|writer| {
        writer.with_key_case(KeyCase::Snake, |writer| message.write(writer));
    });
    assert_eq!(written, snake);
    assert_eq!(from_str(&snake), Ok(message));
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
        "[\\\\\"\u{0}-\u{20}/a]{0,40}".prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
fn shared_texts_do_not_mix_however_they_are_written() {
    let long = "x".repeat(100 << 10);
    for text in ["one", &long, "", "two"] {
        assert_eq!(to_bytes(text), to_string(text));
    }
    let mut inner = None;
    let outer = bytes_with(|writer| {
        writer.array([1, 2], |writer, item: i32| {
            inner = Some(to_bytes("within"));
            item.write(writer);
        });
    });
    assert_eq!((&outer[..], inner.as_deref()), (&b"[1,2]"[..], Some(&b"\"within\""[..])));
}

proptest! {
    #[test]
    fn what_serde_json_writes_is_read_unchanged(value in json_value()) {
        let compact = serde_json::to_string(&value).unwrap();
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        for text in [&compact, &pretty] {
            let raw: Raw = from_str(text).unwrap();
            prop_assert_eq!(raw.as_str(), &compact);
        }
    }

    #[test]
    fn strings_survive_writing_and_reading(text: String) {
        let json = to_string(&text);
        prop_assert_eq!(&from_str::<String>(&json).unwrap(), &text);
        prop_assert_eq!(&serde_json::from_str::<String>(&json).unwrap(), &text);
    }

    /// Whatever we accept, `serde_json` accepts too and understands alike.
    #[test]
    fn nothing_is_accepted_that_is_not_json(text in "[\\[\\]{}\",:0-9eE+.\\-a-u \\\\]{0,24}") {
        if let Ok(raw) = from_str::<Raw>(&text) {
            let ours: serde_json::Value = raw.parse().unwrap();
            prop_assert_eq!(ours, serde_json::from_str::<serde_json::Value>(&text).unwrap());
        }
    }
}
