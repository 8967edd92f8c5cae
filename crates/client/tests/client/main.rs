//! The client from outside. One program, since each costs a link.

mod corpus;
mod discovery;
mod webhook;
mod wire;
