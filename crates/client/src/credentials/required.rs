//! Which credentials an agent would take, by its card.

use std::fmt;

use nuncio_protocol::card::{AgentCard, OAuthFlows, SecurityRequirement, SecurityScheme, inert};

/// Credentials that are needed together. Any one requirement of a card is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requirement {
    /// All of these.
    pub all_of: Vec<Kind>,
}

/// A kind of credential.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A bearer token.
    Bearer {
        /// Such as `JWT`; may be empty.
        format: String,
    },
    /// A user's name and password.
    Basic,
    /// A key.
    ApiKey {
        /// `header`, `query` or `cookie`.
        location: String,
        /// Its name there.
        name: String,
    },
    /// A token that an authorization server gives to programs.
    OAuth2ClientCredentials {
        /// Where to get it. A stranger's word: the guard must see it.
        token_url: String,
        /// What to ask for.
        scopes: Vec<String>,
    },
    /// A token that needs a person.
    OAuth2WithUser {
        /// What to ask for.
        scopes: Vec<String>,
    },
    /// A token of an OpenID provider.
    OpenIdConnect {
        /// Its discovery document. A stranger's word: the guard must see it.
        url: String,
    },
    /// A client certificate.
    MutualTls,
    /// A scheme that we do not know, by its name on the card.
    Unknown {
        /// The name.
        name: String,
    },
}

/// Returns what would satisfy an agent: nothing if the card demands nothing.
pub fn required(card: &AgentCard) -> Vec<Requirement> {
    let read = |requirement: &SecurityRequirement| {
        let kinds = requirement.schemes.iter().map(|(name, scopes)| {
            let unknown = Kind::Unknown { name: name.clone() };
            card.security_schemes.get(name).map_or(unknown, |scheme| kind(scheme, &scopes.list))
        });
        Requirement { all_of: kinds.collect() }
    };
    let all: Vec<_> = card.security_requirements.iter().map(read).collect();
    // An empty requirement is the way to say that it also goes without.
    if all.iter().any(|one| one.all_of.is_empty()) { Vec::new() } else { all }
}

fn kind(scheme: &SecurityScheme, scopes: &[String]) -> Kind {
    let scopes = scopes.to_vec();
    match scheme {
        SecurityScheme::ApiKey(key) => {
            Kind::ApiKey { location: key.location.clone(), name: key.name.clone() }
        }
        SecurityScheme::Http(http) if http.scheme.eq_ignore_ascii_case("basic") => Kind::Basic,
        SecurityScheme::Http(http) if http.scheme.eq_ignore_ascii_case("bearer") => {
            Kind::Bearer { format: http.bearer_format.clone() }
        }
        SecurityScheme::Http(http) => Kind::Unknown { name: http.scheme.clone() },
        SecurityScheme::OAuth2(oauth) => match &oauth.flows {
            OAuthFlows::ClientCredentials(flow) => {
                Kind::OAuth2ClientCredentials { token_url: flow.token_url.clone(), scopes }
            }
            _ => Kind::OAuth2WithUser { scopes },
        },
        SecurityScheme::OpenIdConnect(connect) => {
            Kind::OpenIdConnect { url: connect.open_id_connect_url.clone() }
        }
        SecurityScheme::MutualTls(_) => Kind::MutualTls,
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<_> = self.all_of.iter().map(ToString::to_string).collect();
        f.write_str(&kinds.join(" together with "))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bearer { format } if format.is_empty() => f.write_str("a bearer token"),
            Self::Bearer { format } => write!(f, "a bearer token ({})", inert(format)),
            Self::Basic => f.write_str("a user name and password"),
            Self::ApiKey { location, name } => {
                write!(f, "an API key in the {} `{}`", inert(location), inert(name))
            }
            Self::OAuth2ClientCredentials { token_url, scopes } => {
                let url = inert(token_url);
                write!(f, "an OAuth 2.0 token from `{url}`{}", for_scopes(scopes))
            }
            Self::OAuth2WithUser { scopes } => {
                write!(f, "an OAuth 2.0 token that a person agrees to{}", for_scopes(scopes))
            }
            Self::OpenIdConnect { url } => {
                write!(f, "a token of the OpenID provider at `{}`", inert(url))
            }
            Self::MutualTls => f.write_str("a client certificate"),
            Self::Unknown { name } => {
                write!(f, "the scheme `{}`, which is not known here", inert(name))
            }
        }
    }
}

fn for_scopes(scopes: &[String]) -> String {
    if scopes.is_empty() { String::new() } else { format!(" for `{}`", inert(&scopes.join(" "))) }
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::card::read_any;

    use super::*;

    #[track_caller]
    fn check(schemes: &str, requirements: &str, expected: &[&str]) {
        let text =
            format!(r#"{{"name":"x","securitySchemes":{schemes},"security":{requirements}}}"#);
        let (card, _) = read_any(&text).unwrap();
        let found: Vec<_> = required(&card).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    const SCHEMES: &str = r#"{
        "bearer": {"type":"http","scheme":"bearer","bearerFormat":"JWT"},
        "basic": {"type":"http","scheme":"Basic"},
        "key": {"type":"apiKey","in":"header","name":"X-Key"},
        "oauth": {"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://t.example/","scopes":{}}}},
        "oidc": {"type":"openIdConnect","openIdConnectUrl":"https://o.example/"},
        "mtls": {"type":"mutualTLS"}
    }"#;

    #[test]
    fn what_an_agent_takes_is_said_in_words() {
        check(SCHEMES, "[]", &[]);
        check(SCHEMES, r#"[{"bearer":[]},{}]"#, &[]);
        check(
            SCHEMES,
            r#"[{"bearer":[]},{"basic":[]},{"key":[],"mtls":[]},{"oauth":["a","b"]},{"oidc":[]},{"other":[]}]"#,
            &[
                "a bearer token (JWT)",
                "a user name and password",
                "an API key in the header `X-Key` together with a client certificate",
                "an OAuth 2.0 token from `https://t.example/` for `a b`",
                "a token of the OpenID provider at `https://o.example/`",
                "the scheme `other`, which is not known here",
            ],
        );
    }
}
