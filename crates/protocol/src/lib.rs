//! A2A.

#[cfg(feature = "grpc")]
pub mod grpc;
