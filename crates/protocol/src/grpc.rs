//! The protobuf messages and gRPC services of A2A, and what they mean in our own model.
//!
//! Each message of [`v1`] and [`v03`] is made from its type of the model with `From`, or with
//! `TryFrom` if not all of the type can be said, and read into it with `TryFrom`, whose
//! [`json::Error`](crate::json::Error) names the offending field as the JSON readers do. Where
//! the model and a message agree, the two directions come from one table; see the files beside
//! this one.
//!
//! ```
//! use nuncio_protocol::{
//!     grpc::{self, v1},
//!     operation::{GetTaskRequest, Request},
//! };
//!
//! let message = v1::GetTaskRequest { id: "t1".to_owned(), ..Default::default() };
//! let request = grpc::read_request(message, Request::GetTask)?;
//! assert_eq!(request.operation().name(), "GetTask");
//!
//! let error = GetTaskRequest::try_from(v1::GetTaskRequest::default()).unwrap_err();
//! assert_eq!(error.to_string(), "`id`: is required");
//! # Ok::<(), nuncio_protocol::json::Error>(())
//! ```
//!
//! An [`Error`](crate::error::Error) becomes a status with
//! [`to_tonic`](crate::error::Error::to_tonic) and is read from one with
//! [`from_tonic`](crate::error::Error::from_tonic).
//!
//! # What gets lost
//!
//! The way to protobuf and back loses what the rows of gRPC in `docs/reference/translation.md`
//! say, and nothing else of what protobuf can carry. It cannot carry:
//!
//! - Objects and lists that nest beyond about 30 levels. They are written, but decoders of
//!   protobuf refuse them.
//! - An empty text where one is required: it is absent, and so refused.
//! - In 0.3: `ListTasks`, the card of an agent that does not speak 0.3, and the name of a task
//!   whose id holds `/pushNotificationConfigs/` or ends so. These are refused.
//!
//! What peers send is kept but for this:
//!
//! - The kind of an error is the one of its reason. If nobody knows that, the code decides; so
//!   does it for [`ErrorKind::Other`](crate::error::ErrorKind::Other), which no code is like.
//! - Details of an error that are of unknown type are kept as type and base64, and passed on as
//!   `google.protobuf.Struct`.
//! - In 0.3 only the first of the `schemes` that a webhook authenticates with is kept, and
//!   `final` of a status update is known to [`v03::StreamResponse::end`] alone.
//!
//! The code of the messages is generated from `proto/` by `cargo run -p xtask -- generate` and
//! committed, so that no build needs `protoc`. There is no transport here. A client wraps any
//! `tower` service that sends HTTP requests, and a server is such a service.

mod mirror;
mod value;

mod message;
mod task;

mod name;
mod push;

mod operation;

mod card;
mod card_v03;

mod status;

use crate::{json::Error, operation::Request};

/// A2A 1.0: package `lf.a2a.v1`.
pub use generated::v1;

/// A2A 0.3: package `a2a.v1`, named before the protocol reached 1.0.
pub use generated::v03;

/// The error details of a gRPC status: package `google.rpc`.
pub use generated::rpc;

/// Reads a request of any version and checks it; `operation` is the variant it becomes.
pub fn read_request<P, M>(
    message: P,
    operation: impl FnOnce(M) -> Request,
) -> Result<Request, Error>
where
    M: TryFrom<P, Error = Error>,
{
    let request = operation(message.try_into()?);
    request.check()?;
    Ok(request)
}

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
