//! How an agent is reached: bindings, and what an interface says about itself.

use std::fmt;

use super::AgentInterface;
use crate::version::Version;

/// A way to carry A2A: the `protocolBinding` of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// JSON-RPC 2.0 over HTTP.
    JsonRpc,
    /// Plain HTTP with JSON bodies.
    HttpJson,
    /// gRPC.
    Grpc,
    /// Somebody's own, named by a URI.
    Other(String),
}

impl Binding {
    /// Reads a name in any spelling that agents are known to use, such as
    /// `jsonrpc-over-https` or `REST`. Whatever is not one of ours is [`Other`](Self::Other).
    pub fn parse(text: &str) -> Self {
        let letters: String = text
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        match letters.as_str() {
            // A URI is a name of its own, whatever it reminds of.
            _ if text.contains(':') => Self::Other(text.to_owned()),
            "jsonrpc" | "jsonrpc2" | "jsonrpc20" | "jsonrpchttp" | "jsonrpchttps"
            | "jsonrpcoverhttp" | "jsonrpcoverhttps" => Self::JsonRpc,
            "httpjson" | "httpsjson" | "jsonhttp" | "http" | "https" | "rest" | "httprest"
            | "restjson" | "httpjsonrest" => Self::HttpJson,
            "grpc" | "grpcs" => Self::Grpc,
            _ => Self::Other(text.to_owned()),
        }
    }

    /// Returns the name as A2A spells it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
            Self::Grpc => "GRPC",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl AgentInterface {
    /// Reaches an agent at a URL; for gRPC `host:port`.
    #[expect(clippy::needless_pass_by_value, reason = "the usual argument is a bare variant")]
    pub fn new(url: impl Into<String>, binding: Binding, version: Version) -> Self {
        Self {
            url: url.into(),
            protocol_binding: binding.as_str().to_owned(),
            tenant: None,
            protocol_version: version.to_string(),
        }
    }

    /// Returns the binding, however it is spelled.
    pub fn binding(&self) -> Binding {
        Binding::parse(&self.protocol_binding)
    }

    /// Returns the version, if what stands there is one.
    pub fn version(&self) -> Option<Version> {
        Version::parse(&self.protocol_version)
    }

    /// Tells whether the interface speaks 0.3: it says so, or says nothing.
    pub fn speaks_v03(&self) -> bool {
        self.protocol_version.trim().is_empty()
            || self
                .version()
                .is_some_and(|version| (Version::V0_3..Version::V1_0).contains(&version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_are_known_in_every_spelling() {
        for (text, binding) in [
            ("JSONRPC", Binding::JsonRpc),
            ("json-rpc", Binding::JsonRpc),
            ("JSON-RPC 2.0", Binding::JsonRpc),
            // P-24, PG-12
            ("jsonrpc-over-https", Binding::JsonRpc),
            ("HTTP+JSON", Binding::HttpJson),
            ("http_json", Binding::HttpJson),
            ("REST", Binding::HttpJson),
            ("grpc", Binding::Grpc),
        ] {
            assert_eq!(Binding::parse(text), binding, "{text}");
        }
        for text in ["", "smtp", "urn:grpc", "https://example.org/bindings/grpc"] {
            assert_eq!(Binding::parse(text), Binding::Other(text.to_owned()));
            assert_eq!(Binding::parse(text).as_str(), text);
        }
    }

    #[test]
    fn an_interface_speaks_0_3_by_word_or_by_silence() {
        let speaks = |version: &str| {
            AgentInterface { protocol_version: version.to_owned(), ..Default::default() }
                .speaks_v03()
        };
        for version in ["", "0.3", "0.3.0", "0.9"] {
            assert!(speaks(version), "{version}");
        }
        for version in ["1.0", "1.1", "0.2", "0.2.5", "latest"] {
            assert!(!speaks(version), "{version}");
        }
    }
}
