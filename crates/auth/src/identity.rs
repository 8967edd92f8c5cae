//! A caller, as the rest of the program knows them.

use std::sync::Arc;

use nuncio_protocol::{service::Caller, time::Timestamp};

/// A caller who has proved who they are, or whom an open endpoint lets in unproved.
///
/// Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// Who it is.
    pub caller: Caller,
    /// To which organisation they belong, if the credential says so.
    pub organisation: Option<Arc<str>>,
    /// What the credential is good for, in the issuer's words.
    pub scopes: Arc<[String]>,
    /// How they proved it.
    pub method: Method,
    /// When the credential ends, so that a stream that lives longer can be ended too.
    pub expires: Option<Timestamp>,
}

/// How a caller proved who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Not at all: the endpoint is open.
    Open,
    /// By an API key.
    ApiKey,
    /// By a token of an issuer.
    Jwt,
    /// By a client certificate.
    Mtls,
}

impl Identity {
    /// A caller of whom nothing more is known.
    pub fn new(caller: Caller, method: Method) -> Self {
        Self { caller, organisation: None, scopes: Arc::default(), method, expires: None }
    }

    /// Somebody whom an open endpoint lets in.
    pub fn anonymous() -> Self {
        Self::new(Caller::Anonymous, Method::Open)
    }

    /// Returns the caller's name, if they have one.
    pub fn name(&self) -> Option<&str> {
        match &self.caller {
            Caller::Agent(name) | Caller::User(name) => Some(name),
            _ => None,
        }
    }
}
