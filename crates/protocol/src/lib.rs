//! A2A (Agent2Agent) 1.0: types, JSON, errors, task states, agent cards, and every other
//! wire form that agents speak, as pure functions. Nothing here does I/O.
//!
//! ```
//! use nuncio_protocol::{json, message::Message, operation::SendMessageRequest};
//!
//! let request = SendMessageRequest::new(Message::user("add 2 and 3"));
//! let text = json::to_string(&request);
//! assert_eq!(json::from_str::<SendMessageRequest>(&text), Ok(request));
//! ```
//!
//! The modules stand in reading order: first what everything is made of ([`json`], [`ids`],
//! [`time`]), then the model of A2A 1.0 ([`state`] to [`service`]), then the wire
//! ([`jsonrpc`], [`wire`], [`http`]), then all other forms ([`dialect`], `grpc`).

pub mod json;

pub mod ids;
pub mod time;

pub mod state;

pub mod message;
pub mod task;

pub mod push;

pub mod card;

pub mod operation;

pub mod version;

pub mod error;

pub mod service;

pub mod jsonrpc;

pub mod wire;

pub mod http;

pub mod dialect;

#[cfg(feature = "grpc")]
pub mod grpc;
