#![no_main]

#[path = "../src/requests.rs"]
mod requests;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| requests::run("requests", bytes));
