//! Calls any A2A agent, whatever version and binding it speaks, and only where it may.

pub mod discover;

pub mod credentials;
mod flight;
mod interface;
pub mod negotiate;
mod origin;
pub mod peers;

pub mod fan_out;
pub mod webhook;

pub use credentials::{Credentials, Proof, Unavailable};
pub use interface::Interface;
pub use origin::{InvalidOrigin, Origin};
