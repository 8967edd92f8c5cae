#![no_main]

#[path = "../src/workflow.rs"]
mod workflow;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| workflow::run("workflow_template", bytes));
