#![no_main]

#[path = "../src/server.rs"]
mod server;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server::run("llm_stream", bytes));
