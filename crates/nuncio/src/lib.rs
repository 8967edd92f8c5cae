//! What the `nuncio` program is told, and what it tells about itself.
//!
//! The program itself is in `main.rs`; this library holds the parts that the hub's daemon, its
//! tests and the fuzz targets share. It does not start anything.

pub mod configuration;
pub mod telemetry;

mod inert;
