//! Why a peer is not taken, or not called.

use nuncio_net::Refused;

use super::rank::LeftOut;
use crate::origin::Origin;

/// Why a peer is not taken, or not called.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL is http, off this machine, and the entry does not allow that (H-15).
    #[error(
        "{origin} is plain http; use https, or set `allow_plaintext` for a network that is safe"
    )]
    InsecureScheme {
        /// Where the URL leads.
        origin: Origin,
    },
    /// The peer is not in the table (H-16). Whoever is to be called must be registered.
    #[error("`{url}` is not a registered peer")]
    PeerNotAllowed {
        /// The URL, without its query.
        url: String,
    },
    /// The URL is empty or none (H-21).
    #[error("`{url}` is not a peer's URL{}", reason(cause.as_ref()))]
    InvalidPeerUrl {
        /// The text, without a query.
        url: String,
        /// What is wrong with it.
        cause: Option<Refused>,
    },
    /// The guard lets nothing go there.
    #[error("peer `{url}` may not be called: {refused}")]
    Refused {
        /// The URL, without its query.
        url: String,
        /// Why not.
        refused: Refused,
    },
    /// The trust is none of 1 to 5 (H-25).
    #[error("trust of `{url}` is {trust}, expected 1 (a stranger) to 5 (in-house)")]
    TrustTier {
        /// The URL, without its query.
        url: String,
        /// What was said.
        trust: u8,
    },
    /// There is no peer at all (H-23).
    #[error("no peers are configured")]
    NoPeers,
    /// Nobody can be called for the capability.
    #[error("no peer can be called for `{capability}`{}", others(left_out))]
    NoPeer {
        /// The capability.
        capability: String,
        /// Who was considered, and why not.
        left_out: Vec<LeftOut>,
    },
}

/// Tells whether a refusal is about where a URL leads, not how it is written.
pub(super) const fn is_about_place(refused: &Refused) -> bool {
    matches!(
        refused,
        Refused::NotPublic { .. }
            | Refused::Metadata { .. }
            | Refused::Forbidden { .. }
            | Refused::OwnListener { .. }
            | Refused::PlainHttp { .. }
    )
}

fn reason(cause: Option<&Refused>) -> String {
    cause.map(|refused| format!(": {refused}")).unwrap_or_default()
}

fn others(left_out: &[LeftOut]) -> String {
    let shown: Vec<_> = left_out.iter().take(5).map(ToString::to_string).collect();
    match left_out.len() {
        0 => String::new(),
        1..=5 => format!(": {}", shown.join("; ")),
        more => format!(": {}; and {} more", shown.join("; "), more - 5),
    }
}
