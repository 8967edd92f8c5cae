//! What is read and written.

use serde_json::{Value, json};

/// The name of [`short_text`].
pub const SHORT_TEXT: &str = "short text";

/// The name of [`nested_data`].
pub const NESTED_DATA: &str = "nested data";

/// A request body with a name.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    /// What the table calls it.
    pub name: &'static str,
    /// The body, without white space.
    pub body: &'static [u8],
}

/// A chat message of about 400 bytes.
pub fn short_text() -> Payload {
    let text = "Please compare the quarterly figures of the three northern branches with \
                last year's, and tell me which of them \"needs attention\" first.\nThank you!";
    payload(SHORT_TEXT, &json!({ "text": text }))
}

/// A data part of about 15 KB: a forecast with some 2,000 small values in nested objects.
pub fn nested_data() -> Payload {
    let days: Vec<Value> = (0..12).map(forecast_day).collect();
    let data = json!({ "station": "Šibenik-7", "unit": { "t": "°C", "w": "m/s" }, "days": days });
    payload(NESTED_DATA, &json!({ "data": data, "mediaType": "application/json" }))
}

/// A text part of 64 KB.
pub fn long_text() -> Payload {
    let line = "The committee met at nine and found, after some debate, that \
                the harbour wall — built in 1874 — would not last another winter.\n";
    let mut text = line.repeat(64 * 1024 / line.len());
    text.truncate(text.rfind('\n').unwrap_or_default());
    payload("long text", &json!({ "text": text }))
}

fn forecast_day(day: u32) -> Value {
    let hours: Vec<Value> = (0..24).map(|hour| forecast_hour(day * 24 + hour)).collect();
    json!({ "date": format!("2026-08-{:02}", day + 1), "sun": [5.25, 20.5], "hours": hours })
}

fn forecast_hour(hour: u32) -> Value {
    let wave = hour * 7 % 24;
    json!({
        "t": f64::from(wave) / 2.0 + 4.5,
        "rh": 40 + wave * 2,
        "ok": !hour.is_multiple_of(11),
        "w": { "v": wave % 9, "d": wave * 15 },
    })
}

fn payload(name: &'static str, part: &Value) -> Payload {
    let request = json!({
        "message": {
            "messageId": "019c2f4e-8a51-7d3c-9b1e-5f0a6c7d8e9f",
            "contextId": "019c2f4e-1111-7abc-8def-0123456789ab",
            "role": "ROLE_USER",
            "parts": [part],
            "metadata": { "https://example.com/ext/trace/v1": { "span": "00f067aa0ba902b7" } },
        },
        "configuration": { "acceptedOutputModes": ["text/plain"], "historyLength": 10 },
    });
    Payload { name, body: request.to_string().into_bytes().leak() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(tree: &Value) -> usize {
        match tree {
            Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
            Value::Object(members) => 1 + members.values().map(values).sum::<usize>(),
            _ => 1,
        }
    }

    #[test]
    fn the_payloads_are_as_large_as_they_say() {
        assert!((380..=480).contains(&short_text().body.len()), "{}", short_text().body.len());
        assert!((64_000..=66_500).contains(&long_text().body.len()), "{}", long_text().body.len());
        let data = nested_data();
        assert!((14_000..=17_000).contains(&data.body.len()), "{}", data.body.len());
        let count = values(&serde_json::from_slice(data.body).unwrap());
        assert!((1_800..=2_200).contains(&count), "{count}");
    }
}
