//! The table.

#![expect(clippy::print_stdout, reason = "the table is what the program is for")]

use serde_json::Value;

use crate::{
    contender::{Codec as _, Contender, Derived, Prepared, ThroughTree},
    measure::{Spread, interleave},
    payload::{self, Payload},
};

/// How many times as long as ours a contender is to take, at least.
///
/// Ours checks more than derived code does, and may cost a little more on a small message.
const GOALS: [(&str, &str, &str, f64); 4] = [
    ("decode", payload::SHORT_TEXT, Derived::NAME, 1.0 / 1.3),
    ("encode", payload::SHORT_TEXT, Derived::NAME, 1.0 / 1.3),
    ("decode", payload::NESTED_DATA, ThroughTree::NAME, 5.0),
    ("encode", payload::NESTED_DATA, ThroughTree::NAME, 5.0),
];

/// Checks that all contenders agree, then measures and prints. Ours must be the first of
/// them: every ratio says how many times as long as ours the others take.
pub fn run(contenders: &[Contender]) {
    for payload in [payload::short_text(), payload::nested_data(), payload::long_text()] {
        let prepared: Vec<Prepared> =
            contenders.iter().map(|contender| contender.prepare(payload.body)).collect();
        check(payload, contenders, &prepared);
        let decodes: Vec<&dyn Fn(u32)> = prepared.iter().map(|one| &*one.decode).collect();
        print("decode", payload, contenders, &decodes);
        let encodes: Vec<&dyn Fn(u32)> = prepared.iter().map(|one| &*one.encode).collect();
        print("encode", payload, contenders, &encodes);
    }
}

/// Panics unless everybody writes back what was read.
fn check(payload: Payload, contenders: &[Contender], prepared: &[Prepared]) {
    let parse = |text| as_doubles(serde_json::from_slice(text).expect("codecs write JSON"));
    let expected = parse(payload.body);
    for (contender, prepared) in contenders.iter().zip(prepared) {
        let agrees = parse(prepared.rewritten.as_bytes()) == expected;
        assert!(agrees, "{} does not agree on {}", contender.name, payload.name);
    }
}

/// Forgets which numbers were written as integers: a way through protobuf cannot know it.
fn as_doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.into_iter().map(as_doubles).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| (key, as_doubles(value))).collect()
        }
        other => other,
    }
}

fn print(direction: &str, payload: Payload, contenders: &[Contender], work: &[&dyn Fn(u32)]) {
    let title = format!("{direction} {}, {} bytes", payload.name, payload.body.len());
    println!("{title:<32} {:>10} {:>8}   {:<16}", "median ns", "× ours", "middle 80 %");
    let series = interleave(work);
    for (contender, times) in contenders.iter().zip(&series) {
        let nanoseconds = times.spread().median;
        let Spread { low, median, high } = times.relative_to(&series[0]).spread();
        let middle = format!("{low:.2} – {high:.2}");
        let goal = goal(direction, payload, *contender).map_or_else(String::new, |goal| {
            format!("goal {goal:.2}: {}", if median >= goal { "reached" } else { "MISSED" })
        });
        println!(
            "  {:<30} {nanoseconds:>10.0} {median:>8.2}   {middle:<16} {goal}",
            contender.name
        );
    }
    println!();
}

fn goal(direction: &str, payload: Payload, contender: Contender) -> Option<f64> {
    let found = GOALS.iter().find(|(way, what, who, _)| {
        (*way, *what, *who) == (direction, payload.name, contender.name)
    });
    found.map(|(.., goal)| *goal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contenders_understand_all_payloads_alike() {
        let contenders = crate::contenders();
        for payload in [payload::short_text(), payload::nested_data(), payload::long_text()] {
            let prepared: Vec<Prepared> =
                contenders.iter().map(|contender| contender.prepare(payload.body)).collect();
            check(payload, &contenders, &prepared);
        }
    }
}
