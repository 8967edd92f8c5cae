//! Ready-made agents, each against a real server or program.

mod command;
mod delegate;
mod desk;
mod http;
mod llm;
mod llm_errors;
#[cfg(feature = "mcp")]
mod mcp;
