//! Holds `docs/reference/listener.md` to the code.

use nuncio_net::listen::{BodyLimits, Limits};

const PAGE: &str = include_str!("../../../../docs/reference/listener.md");

#[test]
fn the_page_lists_every_default() {
    let limits = format!("{:?}", Limits::default());
    let bodies = format!("{:?}", BodyLimits::default());
    let fields = fields(&limits, "").into_iter().chain(fields(&bodies, "BodyLimits::"));
    for (name, value) in fields {
        let row = format!("| `{name}` | {value} |");
        assert!(PAGE.contains(&row), "no row `{row}`");
    }
}

/// Reads names and values of a struct's debug text.
fn fields(text: &str, prefix: &str) -> Vec<(String, String)> {
    let (_, fields) = text.split_once(" { ").expect("a struct");
    let fields = fields.trim_end_matches(" }").split(", ");
    let fields = fields.filter_map(|field| field.split_once(": "));
    fields
        .map(|(name, value)| {
            let seconds = value.strip_suffix('s').map(|seconds| format!("{seconds} s"));
            (format!("{prefix}{name}"), seconds.unwrap_or_else(|| value.to_owned()))
        })
        .collect()
}
