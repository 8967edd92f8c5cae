//! Tasks that nothing can lose: engine, event log, leases, push outbox.
//!
//! The modules stand in reading order: whose a task is ([`scope`]), what happened to it
//! ([`log`]), what keeps it ([`store`]), how others hear of it at once ([`hints`]).

pub mod scope;

pub mod log;

pub mod store;

pub mod hints;
