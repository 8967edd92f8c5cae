//! Which agents exist, how they are, and who may call whom.

pub mod metrics;

pub use metrics::Metrics;
