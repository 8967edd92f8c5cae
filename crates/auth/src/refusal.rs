//! Why somebody is not let in, and what they are told.

use std::{fmt, time::Duration};

use http::{HeaderValue, StatusCode};
use nuncio_protocol::error::{Error, ErrorKind, ErrorTable};

/// Why a request is not let in.
///
/// `Display` is what the caller may know. Why a credential is invalid stands in [`Why`] and
/// is for the operator alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No credential came along (401).
    #[error("no credential; send an API key or a token in a header, never in the URL")]
    Missing,
    /// The credential is not valid (401).
    #[error("the credential is not valid")]
    Invalid {
        /// What is wrong with it; not for the caller.
        why: Why,
    },
    /// More than one credential came along (400).
    #[error("more than one credential; send exactly one")]
    Several,
    /// The caller is known, or need not be, and is not let in (403).
    #[error("this caller is not let in here")]
    Forbidden,
    /// The credential cannot be checked now (503).
    #[error("credentials cannot be checked now; try again later")]
    Unavailable,
    /// Too many invalid credentials came from this address (429).
    #[error("too many invalid credentials from this address; try again later")]
    TooMany {
        /// How long to wait.
        retry_after: Duration,
    },
}

/// What is wrong with a credential. For logs, never for callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Why {
    /// The `Authorization` header has a scheme other than `Bearer`, or is garbled.
    Scheme,
    /// No way in takes such a credential.
    NotTaken,
    /// The API key is garbled.
    KeyText,
    /// The API key is unknown or its secret is wrong.
    WrongKey,
    /// The API key has been revoked.
    KeyRevoked,
    /// The API key has expired.
    KeyExpired,
    /// The token is too long, not three parts of base64url, or not JSON inside.
    TokenText,
    /// The token's header names a key itself, or demands what we do not know.
    HeaderMember,
    /// The token's type is not one that is taken.
    Type,
    /// The token's algorithm is none of ours, or not the key's.
    Algorithm,
    /// The token names no key.
    NoKeyId,
    /// The token's key is not among the issuer's.
    UnknownKey,
    /// The token's signature is wrong.
    Signature,
    /// The token's issuer is not known.
    Issuer,
    /// The token is not for us, or not for us alone.
    Audience,
    /// The token lacks `exp`.
    NoExpiry,
    /// The token has expired.
    Expired,
    /// The token is not valid yet.
    NotYet,
    /// The token lives longer than allowed.
    Lifetime,
    /// The token names no caller, or by a name that is not fit to be one.
    Caller,
    /// The token is bound to a key that the caller has not shown.
    Binding,
    /// The pair token is of another organisation.
    Organisation,
    /// The pair token was issued before the rules changed.
    Epoch,
    /// The pair token does not say what it is good for.
    Grant,
    /// The pair token's delegation is garbled or too long.
    Chain,
    /// The pair token has been used before, and counts once.
    Replayed,
}

impl Refusal {
    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        let status = self.kind().http_status(ErrorTable::default());
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Returns the value of a `WWW-Authenticate` header, if the answer needs one.
    pub fn challenge(&self) -> Option<HeaderValue> {
        match self {
            Self::Missing => Some(HeaderValue::from_static(r#"Bearer realm="nuncio""#)),
            Self::Invalid { .. } => {
                Some(HeaderValue::from_static(r#"Bearer realm="nuncio", error="invalid_token""#))
            }
            _ => None,
        }
    }

    /// Returns how long to wait before trying again, for a `Retry-After` header.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooMany { retry_after } => Some(*retry_after),
            Self::Unavailable => Some(Duration::from_secs(5)),
            _ => None,
        }
    }

    /// Returns what the caller is told.
    pub fn to_error(&self) -> Error {
        let error = Error::new(self.kind(), self.to_string());
        match self.retry_after() {
            Some(delay) => error.with_retry_after(delay),
            None => error,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Missing | Self::Invalid { .. } => ErrorKind::Unauthenticated,
            Self::Several => ErrorKind::InvalidRequest,
            Self::Forbidden => ErrorKind::PermissionDenied,
            Self::Unavailable => ErrorKind::Unavailable,
            Self::TooMany { .. } => ErrorKind::RateLimited,
        }
    }
}

impl From<Why> for Refusal {
    fn from(why: Why) -> Self {
        Self::Invalid { why }
    }
}

impl From<&Refusal> for Error {
    fn from(refusal: &Refusal) -> Self {
        refusal.to_error()
    }
}

impl Why {
    /// Every one of them.
    pub const ALL: &[Self] = &[
        Self::Scheme,
        Self::NotTaken,
        Self::KeyText,
        Self::WrongKey,
        Self::KeyRevoked,
        Self::KeyExpired,
        Self::TokenText,
        Self::HeaderMember,
        Self::Type,
        Self::Algorithm,
        Self::NoKeyId,
        Self::UnknownKey,
        Self::Signature,
        Self::Issuer,
        Self::Audience,
        Self::NoExpiry,
        Self::Expired,
        Self::NotYet,
        Self::Lifetime,
        Self::Caller,
        Self::Binding,
        Self::Organisation,
        Self::Epoch,
        Self::Grant,
        Self::Chain,
        Self::Replayed,
    ];

    /// Tells whether it may have been a guess.
    ///
    /// Whoever sends a token an hour too long has not tried a secret, and shall not shut out
    /// everybody else behind the same address.
    pub(crate) const fn may_be_a_guess(self) -> bool {
        match self {
            Self::Scheme
            | Self::NotTaken
            | Self::KeyText
            | Self::WrongKey
            | Self::TokenText
            | Self::HeaderMember
            | Self::Algorithm
            | Self::NoKeyId
            | Self::Signature
            | Self::Binding => true,
            // A key that the issuer has just begun to use is not known here for a moment.
            Self::UnknownKey
            | Self::KeyRevoked
            | Self::KeyExpired
            | Self::Type
            | Self::Issuer
            | Self::Audience
            | Self::NoExpiry
            | Self::Expired
            | Self::NotYet
            | Self::Lifetime
            | Self::Caller
            | Self::Organisation
            | Self::Epoch
            | Self::Grant
            | Self::Chain
            | Self::Replayed => false,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "the authorization header has another scheme or is garbled",
            Self::NotTaken => "no way in takes such a credential",
            Self::KeyText => "the API key is garbled",
            Self::WrongKey => "the API key is unknown or its secret is wrong",
            Self::KeyRevoked => "the API key has been revoked",
            Self::KeyExpired => "the API key has expired",
            Self::TokenText => "the token cannot be read",
            Self::HeaderMember => "the token's header has a member that is not taken",
            Self::Type => "the token's type is not taken",
            Self::Algorithm => "the token's algorithm is not the key's",
            Self::NoKeyId => "the token names no key",
            Self::UnknownKey => "the token's key is not known",
            Self::Signature => "the token's signature is wrong",
            Self::Issuer => "the token's issuer is not known",
            Self::Audience => "the token is not for us, or not for us alone",
            Self::NoExpiry => "the token has no expiry",
            Self::Expired => "the token has expired",
            Self::NotYet => "the token is not valid yet",
            Self::Lifetime => "the token lives longer than allowed",
            Self::Caller => "the token names no caller",
            Self::Binding => "the token is bound to a key that was not shown",
            Self::Organisation => "the pair token is of another organisation",
            Self::Epoch => "the pair token is older than the rules",
            Self::Grant => "the pair token does not say what it is good for",
            Self::Chain => "the pair token has been handed on too often",
            Self::Replayed => "the pair token has been used before",
        })
    }
}
