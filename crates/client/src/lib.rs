//! Calls any A2A agent, whatever version and binding it speaks, and only where it may.

mod credentials;
mod interface;

pub mod fan_out;

pub use credentials::{Credentials, Proof, Unavailable};
pub use interface::Interface;
