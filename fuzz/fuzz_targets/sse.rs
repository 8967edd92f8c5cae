#![no_main]

#[path = "../src/sse.rs"]
mod sse;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sse::run("sse", bytes));
