#![no_main]

#[path = "../src/http1.rs"]
mod http1;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| http1::run("http1", bytes));
