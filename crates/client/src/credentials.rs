//! What proves to a peer who we are.
//!
//! Every credential belongs to one [`Origin`](crate::Origin) and goes nowhere else, whatever
//! a card says: a proof for another URL is no error, it is just not there. Secrets are kept
//! in [`Secret`](nuncio_net::Secret), which shows nothing.
//!
//! [`required`] tells from a card which of these an agent would take, to explain a 401.

mod fixed;
mod oauth;
mod required;

use std::{fmt, pin::Pin};

use http::HeaderMap;
use nuncio_net::{CheckedUrl, Guard};

pub use self::{
    fixed::{ApiKey, Basic, Bearer, KeyPlace, NoCredentials, UnfitSecret},
    oauth::{ClientSecretIn, OAuth2ClientCredentials},
    required::{Kind, Requirement, required},
};

/// The future of a credential that may have to be fetched first.
pub type Proof<'a> = Pin<Box<dyn Future<Output = Result<(), Unavailable>> + Send + 'a>>;

/// What proves to one peer who we are.
pub trait Credentials: fmt::Debug + Send + Sync {
    /// Adds the proof to the headers of a request, if the URL is one that it belongs to.
    fn prove<'a>(&'a self, url: &'a CheckedUrl, headers: &'a mut HeaderMap) -> Proof<'a>;

    /// Returns what the query of a request must hold, as `name=value` and percent-encoded, if
    /// the proof goes there and the URL is one that it belongs to.
    fn query(&self, url: &CheckedUrl) -> Option<String> {
        let _ = url;
        None
    }

    /// Hears that the peer took no notice of the proof. Tells whether another try may fare
    /// better, because the next proof will be a fresh one.
    fn refused(&self) -> bool {
        false
    }
}

/// Adds a proof to a request for a URL: to the headers, or to the query. Returns the URL to
/// call, which the guard has seen.
pub async fn prove(
    credentials: &dyn Credentials,
    guard: &Guard,
    url: &CheckedUrl,
    headers: &mut HeaderMap,
) -> Result<CheckedUrl, Unavailable> {
    credentials.prove(url, headers).await?;
    let Some(pair) = credentials.query(url) else { return Ok(url.clone()) };
    let separator = if url.as_str().contains('?') { '&' } else { '?' };
    let text = format!("{}{separator}{pair}", url.as_str());
    guard.check_url(&text, url.errand()).map_err(|refused| Unavailable {
        host: url.host_text().to_owned(),
        cause: refused.to_string(),
    })
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
