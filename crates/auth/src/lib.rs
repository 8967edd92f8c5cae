//! Who is calling: API keys, tokens of an issuer, client certificates.
//!
//! A [`Gatekeeper`] knows every way in which callers of an endpoint may prove themselves. It
//! is shown what a request brought along and says who sent it, or why it is not let in.
//!
//! ```
//! use nuncio_auth::{ApiKey, ApiKeys, Gatekeeper, Presented};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (key, record) = ApiKey::generate("alice");
//! println!("shown once: {key}");
//! let gatekeeper = Gatekeeper::builder().api_keys(ApiKeys::from_iter([record])).build()?;
//!
//! let mut headers = http::HeaderMap::new();
//! headers.insert("x-api-key", key.to_string().parse()?);
//! let presented = Presented {
//!     headers: &headers,
//!     query: None,
//!     address: "192.0.2.7:4711".parse()?,
//!     certificate: None,
//! };
//! let identity = gatekeeper.admit(presented).await?;
//! assert_eq!(identity.name(), Some("alice"));
//! # Ok(())
//! # }
//! ```
//!
//! Only a verified credential says who calls. Headers that merely claim it
//! (`X-Forwarded-User` and the like) are not read at all, and neither is a secret in a URL
//! taken. What a caller may do at which agent is decided by [`rules`].
//!
//! Invariant: why a credential was not accepted is told to the operator's log and never to
//! the caller, who gets the same text for each.
//!
//! `docs/reference/authentication.md` explains each way in and every refusal.

mod gatekeeper;
mod presented;

mod identity;
mod refusal;

pub mod api_key;
pub mod jwt;
pub mod mtls;
pub mod pair;

pub mod rules;

mod guesses;

pub use api_key::{ApiKey, ApiKeys, KeyRecord, KeySource};
pub use gatekeeper::{Builder, Gatekeeper, Misconfigured};
pub use guesses::GuessLimit;
pub use identity::{Identity, Method};
pub use jwt::JwtIssuer;
pub use mtls::Mtls;
pub use presented::{Certificate, Presented};
pub use refusal::{Refusal, Why};
