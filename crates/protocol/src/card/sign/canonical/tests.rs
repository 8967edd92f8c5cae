use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, style: Style, expected: &str) {
    assert_eq!(of_text(text, style).unwrap(), expected);
}

/// RFC 8785 §3.2.4.
#[test]
fn the_example_of_the_rfc_comes_out_as_it_says() {
    check(
        r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#,
        Style::Jcs,
        "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
         \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
    );
}

/// RFC 8785 §3.2.3: order is by UTF-16 unit, in which an emoji comes before U+FB33.
#[test]
fn keys_are_sorted_by_utf_16_unit() {
    check(
        r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7,"":8,"11":9}"#,
        Style::Jcs,
        "{\"\":8,\"\\r\":2,\"1\":4,\"11\":9,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}",
    );
    check(
        r#"{"\ufb33":3,"\ud83d\ude00":5,"\u007f":1}"#,
        Style::PrunedPython,
        r#"{"\u007f":1.0,"\ufb33":3.0,"\ud83d\ude00":5.0}"#,
    );
}

/// RFC 8785, appendix B.
#[test]
fn numbers_are_those_of_the_rfc() {
    for (bits, expected) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        let number = f64::from_bits(bits);
        // With an exponent, so that no number looks like an integer beyond 2^53.
        check(&format!(r#"{{"n":{number:e}}}"#), Style::Jcs, &format!(r#"{{"n":{expected}}}"#));
    }
}

#[test]
fn python_writes_numbers_its_own_way() {
    for (text, expected) in [
        ("1", "1.0"),
        ("-0.0", "-0.0"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("1e15", "1000000000000000.0"),
        ("1e16", "1e+16"),
        ("1.5e300", "1.5e+300"),
        ("123456789.125", "123456789.125"),
    ] {
        check(
            &format!(r#"{{"n":{text}}}"#),
            Style::PrunedPython,
            &format!(r#"{{"n":{expected}}}"#),
        );
    }
}

#[test]
fn integers_that_readers_understand_differently_are_refused() {
    let safe = r#"{"n":[9007199254740991,-9007199254740991]}"#;
    check(safe, Style::Jcs, safe);
    for text in ["9007199254740992", "-9007199254740993", "100000000000000000000"] {
        let error = of_text(&format!(r#"{{"a":[{text}]}}"#), Style::Jcs).unwrap_err();
        assert_eq!(error.path(), "a[0]");
    }
}

#[test]
fn pruning_takes_whatever_is_empty_all_the_way_up() {
    let text = r#"{"a":"","b":[[],{},"",null,{"c":[""]}],"d":[1,"",2],"e":false,"f":0,"signatures":[1],"g":{"signatures":1}}"#;
    check(text, Style::Pruned, r#"{"d":[1,2],"e":false,"f":0,"g":{"signatures":1}}"#);
    check(
        text,
        Style::Jcs,
        r#"{"a":"","b":[[],{},"",null,{"c":[""]}],"d":[1,"",2],"e":false,"f":0,"g":{"signatures":1}}"#,
    );
}

/// A2A digest §16.3, row by row: required members stay, optional ones stay if present, other
/// defaults go.
#[test]
fn the_presence_of_members_is_as_a2a_wants_it() {
    let card: AgentCard = json::from_str(
        r#"{"name":"x","description":"","skills":[{"id":"s","examples":[]}],"iconUrl":"","unknown":1,
            "supportedInterfaces":[{"url":"u","tenant":"","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
            "capabilities":{"streaming":false,"extensions":[{"uri":"e","required":false,"params":{}},{"params":{"a":""}}]},
            "securitySchemes":{"m":{"mtlsSecurityScheme":{}},"o":{"oauth2SecurityScheme":{"flows":{"authorizationCode":{"pkceRequired":false}}}}},
            "securityRequirements":[{"schemes":{"m":{"list":[]}}},{}],
            "signatures":[{"protected":"p","signature":"s"}]}"#,
    )
    .unwrap();
    assert_eq!(
        of_card(&card).unwrap(),
        concat!(
            r#"{"capabilities":{"extensions":[{"uri":"e"},{"params":{"a":""}}],"streaming":false},"#,
            r#""defaultInputModes":[],"defaultOutputModes":[],"description":"","iconUrl":"","name":"x","#,
            r#""securityRequirements":[{"schemes":{"m":{}}},{}],"#,
            r#""securitySchemes":{"m":{"mtlsSecurityScheme":{}},"#,
            r#""o":{"oauth2SecurityScheme":{"flows":{"authorizationCode":{"authorizationUrl":"","scopes":{},"tokenUrl":""}}}}},"#,
            r#""skills":[{"description":"","id":"s","name":"","tags":[]}],"#,
            r#""supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"u"}],"version":""}"#,
        )
    );
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Another implementation of RFC 8785 agrees.
    #[test]
    fn canonical_json_is_the_same_for_others(value in json_value()) {
        let text = format!(r#"{{"value":{value}}}"#);
        let theirs = serde_json_canonicalizer::to_string(&serde_json::json!({"value": value}));
        prop_assert_eq!(of_text(&text, Style::Jcs).unwrap(), theirs.unwrap());
    }

    #[test]
    fn canonical_json_stays_as_it_is(value in json_value()) {
        for style in [Style::Jcs, Style::Pruned, Style::PrunedPython] {
            // What other styles make of 1e300 may look like an integer, which is refused.
            let once = of_text(&format!(r#"{{"value":{value}}}"#), style).unwrap();
            if let Ok(twice) = of_text(&once, style) {
                prop_assert_eq!(twice, once);
            }
        }
    }
}
