//! The client commands of `nuncio`, from outside: the real program on both sides.

mod commands;
mod errors;
mod help;
mod hub_file;
pub(crate) mod issuer;
mod secrets;
mod snapshots;
mod streams;
pub(crate) mod support;
pub(crate) mod terminal;
mod ways;
