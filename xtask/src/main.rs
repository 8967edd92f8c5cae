//! Code generation and release checks.
//!
//! `cargo run -p xtask -- generate` writes the Rust code of the gRPC services;
//! `generate --check` fails when what is committed is no longer what it would write.

use std::env;

use anyhow::bail;

mod generate;

const USAGE: &str = "usage: cargo run -p xtask -- generate [--check]";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        _ => bail!(USAGE),
    }
}
