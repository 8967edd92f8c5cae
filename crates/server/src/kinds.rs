//! Agents that are ready to be served.
//!
//! Each is made of plain values, so that a program can make one for a single call as well as
//! keep one for years.

mod command;
mod echo;
mod group;

pub mod http;
pub mod llm;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod tool;

mod words;

pub use command::Command;
pub use echo::Echo;
pub use words::said;
