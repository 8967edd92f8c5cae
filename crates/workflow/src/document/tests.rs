use proptest::prelude::*;

use super::*;
use crate::problem::Code;

#[track_caller]
fn check(text: &str, json: &str) {
    let value = Value::read(text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
    assert_eq!(value.to_raw().as_str(), json, "{text}");
}

#[track_caller]
fn check_refused(text: &str, code: Code, line: u32, column: u32) {
    let problems = Value::read(text).expect_err(text);
    let found: Vec<_> = problems.iter().map(|problem| (problem.code(), problem.place())).collect();
    assert_eq!(found, [(code, Place::new(line, column))], "{problems:?}");
}

#[test]
fn yaml_and_json_are_read_alike() {
    let json = r#"{"a":1,"b":[true,null,"x"],"c":{"d":"e: f"}}"#;
    check("a: 1\nb: [true, ~, x]\nc:\n  d: 'e: f'\n", json);
    check("a: 1\nb:\n- true\n-\n- x\nc: {d: \"e: f\"} # a comment\n", json);
    check(json, json);
    check("{\n\t\"a\": 1,\r\n\t\"b\": [true, null, \"x\"],\n\t\"c\": {\"d\": \"e: f\"}\n}\n", json);
    check("\u{feff}{\"a\":\"\\ud83d\\ude00\\/\\u0041\"}", "{\"a\":\"😀/A\"}");
    check(&format!("{{\"{}\":1}}", "k".repeat(4000)), &format!("{{\"{}\":1}}", "k".repeat(4000)));
}

#[test]
fn scalars_are_those_of_the_core_schema() {
    check(
        "[0, 007, -12, +3, 0x10, 0o17, 1.50, .5, 1e3, 12345678901234567890123]",
        "[0,7,-12,3,16,15,1.5,0.5,1000,12345678901234567890123]",
    );
    check(
        "[yes, 1_000, 1.2.3, 0x, .inf, .nan, '1', \"true\", 1e999, 60s]",
        r#"["yes","1_000","1.2.3","0x",".inf",".nan","1","true","1e999","60s"]"#,
    );
    check("[!!str 1, !!int 2, !!bool true]", r#"["1",2,true]"#);
    check("a: |\n  one\n  two\nb: >\n  one\n  two\n", r#"{"a":"one\ntwo\n","b":"one two\n"}"#);
}

#[test]
fn aliases_and_merges_are_written_out() {
    check("a: &x {k: 1}\nb: *x", r#"{"a":{"k":1},"b":{"k":1}}"#);
    check("a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}", r#"{"a":{"k":1,"l":2},"b":{"l":2,"k":3}}"#);
    check("a: &x {k: 1}\nb: {k: 3, <<: [*x]}", r#"{"a":{"k":1},"b":{"k":3}}"#);
    check_refused("a: &x [*x]", Code::Syntax, 1, 8);
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    check_refused("", Code::Syntax, 0, 0);
    check_refused("# nothing\n", Code::Syntax, 0, 0);
    check_refused("a: [1, 2\nb: 3", Code::Syntax, 2, 2);
    check_refused("a: 1\n---\nb: 2", Code::Syntax, 2, 1);
    check_refused("a: 1\nb: 2\na: 3", Code::DuplicateKey, 3, 1);
    check_refused("a: {{x}}", Code::Syntax, 1, 5);
    check_refused("a: !secret x", Code::Syntax, 1, 12);
    check_refused(&format!("a: {}{}", "[".repeat(100), "]".repeat(100)), Code::TooLarge, 1, 67);
    check_refused(&"x".repeat(MAX_BYTES + 1), Code::TooLarge, 0, 0);
}

#[test]
fn a_file_of_a_billion_laughs_is_refused() {
    let mut lines = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x, x]".to_owned()];
    for level in 1..10 {
        let alias = format!("*a{}", level - 1);
        lines.push(format!("a{level}: &a{level} [{}]", vec![alias; 10].join(", ")));
    }
    let text = lines.join("\n");
    let problems = Value::read(&text).expect_err("too much");
    assert_eq!(problems[0].code(), Code::TooLarge);
}

#[test]
fn a_word_within_a_text_has_a_place() {
    let text = "a: 'see {{x}} and {{y}}'\nb: |\n  one\n  two {{z}}\nc: \"\\u0041 {{x}}\"\n";
    let value = Value::read(text).unwrap();
    let place = |key: &str, count| {
        let place = value.get(key).unwrap().place_of(text, "{{", count);
        (place.line(), place.column())
    };
    assert_eq!(place("a", 0), (1, 9));
    assert_eq!(place("a", 1), (1, 19));
    assert_eq!(place("b", 0), (4, 7));
    assert_eq!(place("c", 0), (5, 12));
    assert_eq!(place("a", 2), (1, 4), "there is no third one");
}

/// Each of these took minutes with a reader that looks at every key for every key.
#[test]
fn large_files_take_no_longer_than_their_size() {
    let keys: Vec<String> = (0..60_000).map(|number| format!("k{number}: 1")).collect();
    for text in [
        format!("{{{}}}", keys.join(", ")),
        keys.join("\n"),
        format!("[{}]", "{a: 1}, ".repeat(100_000)),
        format!("- &a a\n{}", "- *a\n".repeat(100_000)),
        "[]".repeat(MAX_BYTES / 2),
    ] {
        let _ = Value::read(&text);
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[-a-c:{}\\[\\]\"'&*<!|>#,0-9 \n\t.~]{0,80}") {
        if let Ok(value) = Value::read(&text) {
            let json = value.to_raw();
            let again = Value::read(json.as_str()).map(|value| value.to_raw());
            prop_assert_eq!(again.ok(), Some(json));
        }
    }

    #[test]
    fn json_means_what_it_says(words in prop::collection::vec(("[a-z]{1,3}", any::<i64>(), ".{0,20}"), 0..5)) {
        let json = write_with(|writer| writer.array(&words, |writer, (key, number, text)| {
            writer.object(|object| {
                object.entry(key, &Raw::parse_text(&number.to_string()).unwrap());
                object.entry(&format!("{key}-"), text);
            });
        }));
        let read = Value::read(&json).map(|value| value.to_raw().as_str().to_owned());
        // YAML has no word for these characters but an escape.
        let is_odd = |letter: char| letter.is_control() || (0xfffe..=0xffff).contains(&u32::from(letter));
        if read.is_ok() || !json.contains(is_odd) {
            prop_assert_eq!(read, Ok(json));
        }
    }
}
