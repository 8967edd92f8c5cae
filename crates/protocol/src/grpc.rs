//! The protobuf messages and gRPC services of A2A, as they are on the wire.
//!
//! The code is generated from `proto/` by `cargo run -p xtask -- generate` and committed,
//! so that no build needs `protoc`. The messages are only the outer form of our own model:
//! everything past the gRPC edge uses that model instead.
//!
//! There is no transport here. A client wraps any `tower` service that sends HTTP
//! requests, and a server is such a service.

mod value;

mod status;

/// A2A 1.0: package `lf.a2a.v1`.
pub use generated::v1;

/// A2A 0.3: package `a2a.v1`, named before the protocol reached 1.0.
pub use generated::v03;

/// The error details of a gRPC status: package `google.rpc`.
pub use generated::rpc;

#[rustfmt::skip]
#[allow(
    missing_docs,
    unused_qualifications,
    clippy::default_trait_access,
    clippy::doc_markdown,
    clippy::too_many_lines,
    reason = "generated"
)]
mod generated {
    pub mod rpc;
    pub mod v03;
    pub mod v1;
}
