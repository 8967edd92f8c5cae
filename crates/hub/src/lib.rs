//! Which agents exist, how they are, and who may call whom.

pub mod canvas;
pub mod configuration;
pub mod doctor;
pub mod http;
pub mod hub;
mod keeper;
mod limits;
mod probe;
mod serve;
mod session;
mod trail;

pub mod gateway;

pub mod directory;
pub mod state;

pub mod agent;
pub mod beat;
pub mod event;
pub mod name;
pub mod signatures;
pub mod triggers;
pub mod workflow;

pub mod access;
pub mod audit;
mod error;
mod line;
pub mod metrics;

pub mod memory;
pub mod store;

pub use directory::Directory;
pub use error::Error;
pub use gateway::Gateway;
pub use hub::Hub;
pub use limits::Limits;
pub use metrics::Metrics;
pub use serve::{serve, serve_behind};
pub use session::{Login, Sessions};
