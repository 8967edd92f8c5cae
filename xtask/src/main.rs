//! Code generation and release checks.
fn main() {}
