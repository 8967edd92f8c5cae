//! Which agents exist, how they are, and who may call whom.

pub mod audit;

pub mod memory;
pub mod store;
