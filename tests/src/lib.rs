//! Kills, stops and starves the task engine, and counts what was lost.
//!
//! A [`client`] starts processes that run the engine ([`node`]), speaks to them in lines
//! ([`wire`]), and kills them. A [`witness`] writes down what it was told before it goes on,
//! and compares that with the log at the end. The tests are named after the failures they
//! bring about, R01 to R25.

pub mod wire;

pub mod node;

pub mod served;

pub mod hub;

pub mod client;

pub mod witness;

pub mod takeover;

pub mod figures;
