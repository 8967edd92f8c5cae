//! The protobuf messages and gRPC services of A2A, and what they mean in our own model.
//!
//! Each message of [`v1`] and [`v03`] is made from its type of the model with `From`, and read
//! into it with `TryFrom`, whose [`json::Error`](crate::json::Error) names the offending field
//! as the JSON readers do. Where the model and a message agree, the two directions come from
//! one table; see the files beside this one.
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
//! The model survives the way to protobuf and back, but for this. In every version:
//!
//! | what | becomes |
//! |---|---|
//! | numbers in `data`, `metadata` and other open-ended JSON | doubles: integers beyond 2^53 are rounded, `1.0` becomes `1` |
//! | objects and texts in the same | sorted by key; without needless escapes |
//! | nesting beyond about 30 levels | written, but protobuf decoders refuse it |
//! | an empty text where one is required | absent, and so refused |
//! | `ErrorKind::Other`, and kinds with a reason of their own | the kind that the gRPC code suggests |
//! | error details of other types | `google.protobuf.Struct` when written; type and base64 when read |
//!
//! In 0.3 also:
//!
//! | what | becomes |
//! |---|---|
//! | `tenant`, `referenceTaskIds`, metadata of a cancellation | nothing |
//! | file name and media type of text and data | nothing |
//! | data that is no object | itself again, wrapped under way; metadata of it that is empty, nothing |
//! | a `data_part_compat` of one's own in the metadata of data | the mark of wrapped data, and so nothing |
//! | `historyLength` of 0, which means none | unset, which means all |
//! | no `configuration` | an empty one: it says whether to wait |
//! | the second and further `authentication.schemes` (reading) | nothing |
//! | `final` of a status update (reading) | nothing; ask [`v03::StreamResponse::end`] |
//! | `ListTasks` | there is no such operation |
//! | interfaces of a card that do not speak 0.3, or have no URL, or repeat the first | nothing |
//! | tenants and versions of the other interfaces | none, and `0.3` |
//! | capabilities said to be missing | capabilities not mentioned |
//! | empty `documentationUrl` or `iconUrl` | none |
//! | `pkceRequired` | nothing |
//! | an OAuth scheme for devices | a scheme without flow, and so nothing when read |
//! | signatures of a card | nothing: they cover another form |
//! | a task whose id holds `/pushNotificationConfigs/` | cannot be named |
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
