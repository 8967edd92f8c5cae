//! Reading and writing of A2A requests, ours beside the other ways to do it.
//!
//! All contenders take turns within one run, and what is reported is the ratio of two that
//! ran next to each other: on a shared machine nothing else can be compared. Before any clock
//! starts, every contender must have understood every payload alike.
//!
//! `cargo run --release -p nuncio-bench` prints the table. `bench/official` adds the way
//! that the server of the official Rust SDK takes.
//!
//! What engine and stores cost is measured by the program `tasks`, what a hub's store costs by
//! `hub`, what runs of workflows cost by [`workflow`], and what whole servers cost by [`serve`].

pub mod contender;
pub mod figures;
pub mod measure;
pub mod payload;
pub mod report;
pub mod serve;
pub mod workflow;

mod derived;

pub use contender::{Codec, Contender};

/// Returns the contenders that this crate knows, ours first.
pub fn contenders() -> Vec<Contender> {
    vec![
        Contender::of::<contender::Nuncio>(),
        Contender::of::<contender::Derived>(),
        Contender::of::<contender::DerivedTree>(),
        Contender::of::<contender::ThroughTree>(),
        Contender::of::<contender::OfficialNative>(),
    ]
}
