//! A2A.
pub mod card;
pub mod ids;
pub mod json;
pub mod message;
pub mod operation;
pub mod push;
pub mod state;
pub mod task;
pub mod time;
