#![no_main]

#[path = "../src/auth.rs"]
mod auth;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auth::run("auth_pair", bytes));
