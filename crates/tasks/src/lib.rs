//! Tasks that nothing can lose: engine, event log, leases, push outbox.
//!
//! The modules stand in reading order: whose a task is ([`scope`]), what happened to it
//! ([`log`]), what keeps it ([`store`], [`hints`]), what works on it ([`agent`], [`output`]),
//! what ties all this together ([`engine`]), and how others are told ([`push`]).

pub mod clock;
pub mod scope;

pub mod log;

pub mod hints;
pub mod store;

pub mod memory;

pub mod agent;
pub mod output;

mod live;
mod paging;

pub mod engine;

pub mod push;
