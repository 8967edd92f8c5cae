//! A2A.
pub mod card;
pub mod error;
pub mod http;
pub mod ids;
pub mod json;
pub mod jsonrpc;
pub mod message;
pub mod operation;
pub mod push;
pub mod service;
pub mod state;
pub mod task;
pub mod time;
pub mod version;
pub mod wire;
