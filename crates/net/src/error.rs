//! Why nothing, or not everything, came back.

use std::{error::Error as StdError, io, sync::Arc, time::Duration};

use crate::egress::Refused;

/// Why a call failed.
///
/// Cheap to clone, so that everybody who waits for one answer can have its error. Names at
/// most the host of the URL: the rest may hold secrets.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The guard does not let anything go there.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The host's name has no address, or nobody could tell.
    #[error("no address for host `{host}`")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        source: Arc<io::Error>,
    },
    /// No address of the host takes connections.
    #[error("connect to host `{host}`")]
    Connect {
        /// The name or address.
        host: String,
        /// What the last attempt said.
        source: Arc<io::Error>,
    },
    /// The host did not prove to be the one named, or speaks no TLS that we do.
    #[error("secure the connection to host `{host}`")]
    Tls {
        /// The name or address.
        host: String,
        /// What went wrong in the handshake.
        source: Arc<io::Error>,
    },
    /// Every connection that such an errand may have is in use.
    #[error("all {limit} connections are in use")]
    Busy {
        /// How many there are.
        limit: usize,
    },
    /// A clock ran out.
    #[error("{clock} took longer than {limit:?}")]
    Timeout {
        /// Which one.
        clock: Clock,
        /// How long it ran.
        limit: Duration,
    },
    /// The body of the answer is larger than asked for.
    #[error("the answer has more than {limit} bytes")]
    TooLarge {
        /// The most bytes that were wanted.
        limit: usize,
    },
    /// The peer broke off, or what it said was not HTTP.
    #[error("the exchange with host `{host}` broke off")]
    Http {
        /// The name or address.
        host: String,
        /// What happened.
        source: Arc<dyn StdError + Send + Sync>,
    },
}

/// A clock that runs during a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Clock {
    /// Finding the addresses of a name.
    Resolve,
    /// Opening a connection, TLS included.
    Connect,
    /// From the connection to the head of the answer.
    FirstByte,
    /// Silence within the body of the answer.
    Idle,
    /// The call from its start to the end of the answer.
    Whole,
}

impl Error {
    /// Returns the stable code of the error.
    pub const fn code(&self) -> Code {
        match self {
            Self::Refused(refused) => refused.code(),
            Self::Resolve { .. } => Code::Resolve,
            Self::Connect { .. } => Code::Connect,
            Self::Tls { .. } => Code::Tls,
            Self::Busy { .. } => Code::Busy,
            Self::Timeout { .. } => Code::Timeout,
            Self::TooLarge { .. } => Code::TooLarge,
            Self::Http { .. } => Code::Http,
        }
    }

    /// Tells whether the request surely never left, so that nobody can have acted on it.
    pub const fn is_unsent(&self) -> bool {
        match self {
            Self::Refused(_)
            | Self::Resolve { .. }
            | Self::Connect { .. }
            | Self::Tls { .. }
            | Self::Busy { .. } => true,
            Self::Timeout { clock, .. } => matches!(clock, Clock::Resolve | Clock::Connect),
            Self::TooLarge { .. } | Self::Http { .. } => false,
        }
    }

    /// Tells whether the same request may be sent again whatever it does: it never left, and
    /// it may fare better another time.
    pub const fn is_retryable(&self) -> bool {
        self.is_unsent() && !matches!(self, Self::Refused(_))
    }
}

impl std::fmt::Display for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Resolve => "finding the host's address",
            Self::Connect => "connecting",
            Self::FirstByte => "the head of the answer",
            Self::Idle => "a pause within the answer",
            Self::Whole => "the call",
        })
    }
}

macro_rules! codes {
    ($($name:ident = $code:literal $cause:literal, $fix:literal;)*) => {
        /// What went wrong, by a name that never changes its meaning.
        /// `docs/reference/egress.md` lists them all.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $cause] $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the stable name, `url-scheme`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// Returns what causes it.
            pub const fn cause(self) -> &'static str {
                match self { $(Self::$name => $cause,)* }
            }

            /// Returns how to mend it.
            pub const fn fix(self) -> &'static str {
                match self { $(Self::$name => $fix,)* }
            }
        }
    };
}

codes! {
    UrlTooLong = "url-too-long"
        "The URL has more than 8,192 bytes.",
        "send long values in the body";
    UrlUnparsable = "url-unparsable"
        "The text is not a URL.",
        "write the whole URL, such as `https://agent.example/path`";
    UrlAmbiguous = "url-ambiguous"
        "The URL has a blank, a control character, a backslash or no `//`: programs read such URLs differently.",
        "percent-encode such characters and start with `https://`";
    UrlScheme = "url-scheme"
        "The scheme is neither https nor http.",
        "use an https URL";
    UrlPlainHttp = "url-plain-http"
        "The URL is http, which is not allowed for this purpose.",
        "use an https URL, or let the policy allow http for the purpose";
    UrlCredentials = "url-credentials"
        "The URL contains a user name or password.",
        "remove it and send credentials in a header";
    UrlFragment = "url-fragment"
        "The URL has a fragment, which is never sent.",
        "remove the `#` and what follows it";
    UrlPort = "url-port"
        "The port is 0.",
        "name a port from 1 to 65535, or none";
    UrlHost = "url-host"
        "The host is missing or no name that DNS can hold.",
        "name a host such as `agent.example`";
    AddressNotPublic = "address-not-public"
        "The host leads to an address that is not public.",
        "name a public host; an administrator can open ranges for targets that administrators register";
    AddressMetadata = "address-metadata"
        "The host leads to an address where a cloud serves machines their credentials.",
        "name another host; no policy opens such an address";
    AddressForbidden = "address-forbidden"
        "The host leads to an address that the policy forbids.",
        "name another host, or take the range off the policy's list";
    AddressOwnListener = "address-own-listener"
        "The host leads back to this program.",
        "name another host: the program does not call itself";
    Resolve = "resolve"
        "The host's name has no address, or the resolver failed.",
        "check the name and the resolver";
    Connect = "connect"
        "No address of the host takes connections.",
        "check that the peer runs and that a route leads there";
    Tls = "tls"
        "The TLS handshake failed: a wrong name, an unknown issuer, an expired certificate.",
        "mend the peer's certificate, or add its issuer to the client's roots";
    Busy = "busy"
        "Every connection that such a call may have is in use.",
        "call again later, or raise the client's number of connections";
    Timeout = "timeout"
        "The peer, or the way to it, took longer than allowed.",
        "call again later, or raise the clock that the error names";
    TooLarge = "too-large"
        "The answer is larger than allowed.",
        "have the peer send less, or raise the limit";
    Http = "http"
        "The peer closed the connection or did not speak HTTP.",
        "check that the peer serves HTTP at that address; it may have acted on the request";
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
