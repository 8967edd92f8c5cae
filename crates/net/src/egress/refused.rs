//! Why a URL is refused.

use ::url::ParseError;

use super::{Purpose, Range};
use crate::error::Code;

/// Why a URL is refused: which part of it, and what to write instead.
///
/// Names at most the host, and never an address found behind a name: the one who asked
/// shall not learn how the inside of a network looks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// See [`Code::UrlTooLong`].
    #[error("the URL has more than {limit} bytes; {}", self.code().fix())]
    TooLong {
        /// The most bytes allowed.
        limit: usize,
    },
    /// See [`Code::UrlUnparsable`].
    #[error("not a URL; {}", self.code().fix())]
    Unparsable(#[source] ParseError),
    /// See [`Code::UrlAmbiguous`].
    #[error("the URL has {what}; {}", self.code().fix())]
    Ambiguous {
        /// What can be read in two ways.
        what: &'static str,
    },
    /// See [`Code::UrlScheme`].
    #[error("the URL's scheme is neither https nor http; {}", self.code().fix())]
    Scheme,
    /// See [`Code::UrlPlainHttp`].
    #[error("the URL's scheme is http, which is not allowed for {purpose}; {}", self.code().fix())]
    PlainHttp {
        /// What the request is for.
        purpose: Purpose,
    },
    /// See [`Code::UrlCredentials`].
    #[error("the URL contains a user name or password; {}", self.code().fix())]
    Credentials,
    /// See [`Code::UrlFragment`].
    #[error("the URL has a fragment; {}", self.code().fix())]
    Fragment,
    /// See [`Code::UrlPort`].
    #[error("the URL's port is 0; {}", self.code().fix())]
    Port,
    /// See [`Code::UrlHost`].
    #[error("the URL's host is missing or not a name that DNS can hold; {}", self.code().fix())]
    Host,
    /// See [`Code::AddressNotPublic`].
    #[error("the URL's host `{host}` leads to an address that is not public ({}); {}", range.name, self.code().fix())]
    NotPublic {
        /// The name or address.
        host: String,
        /// The range the address is in.
        range: &'static Range,
    },
    /// See [`Code::AddressMetadata`].
    #[error("the URL's host `{host}` leads to a metadata address; {}", self.code().fix())]
    Metadata {
        /// The name or address.
        host: String,
    },
    /// See [`Code::AddressForbidden`].
    #[error("the URL's host `{host}` leads to a forbidden address; {}", self.code().fix())]
    Forbidden {
        /// The name or address.
        host: String,
    },
    /// See [`Code::AddressOwnListener`].
    #[error("the URL's host `{host}` leads back to this program; {}", self.code().fix())]
    OwnListener {
        /// The name or address.
        host: String,
    },
}

impl Refused {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> Code {
        match self {
            Self::TooLong { .. } => Code::UrlTooLong,
            Self::Unparsable(_) => Code::UrlUnparsable,
            Self::Ambiguous { .. } => Code::UrlAmbiguous,
            Self::Scheme => Code::UrlScheme,
            Self::PlainHttp { .. } => Code::UrlPlainHttp,
            Self::Credentials => Code::UrlCredentials,
            Self::Fragment => Code::UrlFragment,
            Self::Port => Code::UrlPort,
            Self::Host => Code::UrlHost,
            Self::NotPublic { .. } => Code::AddressNotPublic,
            Self::Metadata { .. } => Code::AddressMetadata,
            Self::Forbidden { .. } => Code::AddressForbidden,
            Self::OwnListener { .. } => Code::AddressOwnListener,
        }
    }
}
