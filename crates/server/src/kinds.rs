//! Agents that are ready to be served.

mod command;
mod echo;

pub use command::Command;
pub use echo::Echo;
