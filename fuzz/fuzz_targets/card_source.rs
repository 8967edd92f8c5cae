#![no_main]

#[path = "../src/client.rs"]
mod client;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| client::run("card_source", bytes));
