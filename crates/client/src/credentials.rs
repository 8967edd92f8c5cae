//! What proves to a peer who we are.

use std::{fmt, pin::Pin};

use http::HeaderMap;
use nuncio_net::CheckedUrl;

/// The future of a credential that may have to be fetched first.
pub type Proof<'a> = Pin<Box<dyn Future<Output = Result<(), Unavailable>> + Send + 'a>>;

/// What proves to one peer who we are.
pub trait Credentials: fmt::Debug + Send + Sync {
    /// Adds the proof to the headers of a request, if the URL is one that it belongs to.
    fn prove<'a>(&'a self, url: &'a CheckedUrl, headers: &'a mut HeaderMap) -> Proof<'a>;

    /// Hears that the peer took no notice of the proof. Tells whether another try may fare
    /// better, because the next proof will be a fresh one.
    fn refused(&self) -> bool {
        false
    }
}

/// Why there is no proof.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no credential for `{host}`: {cause}")]
pub struct Unavailable {
    /// The host it was for.
    pub host: String,
    /// What went wrong, without secrets.
    pub cause: String,
}
