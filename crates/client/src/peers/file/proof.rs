//! What proves to a peer who we are, in its entry.

use std::sync::Arc;

use http::HeaderName;
use nuncio_net::Secret;
use serde::Deserialize;

use super::FileError;
use crate::{
    credentials::{ApiKey, Basic, Bearer, Credentials, KeyPlace},
    origin::Origin,
};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Proof {
    Bearer(Variable),
    ApiKey { header: String, key: Variable },
    Basic { user: String, password: Variable },
}

/// The name of a variable of the environment, written `${NAME}`.
pub(super) struct Variable(String);

impl Proof {
    /// Makes the proof for the origin of a peer, and for no other.
    pub(super) fn bind(
        &self,
        url: &str,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> Result<Arc<dyn Credentials>, FileError> {
        let wrong = |problem: String| FileError { line: 0, column: 0, problem };
        let origin = Origin::parse(url)
            .map_err(|_| wrong("credentials of a peer that has no URL".to_owned()))?;
        let (Self::Bearer(name)
        | Self::ApiKey { key: name, .. }
        | Self::Basic { password: name, .. }) = self;
        let Variable(name) = name;
        let secret = variable(name).filter(|secret| !secret.is_empty()).ok_or_else(|| {
            wrong(format!("the credentials for {origin} are in `{name}`, which is not set"))
        })?;
        let secret = Secret::new(secret);
        let unfit = |_| wrong(format!("what `{name}` holds cannot be sent to {origin}"));
        Ok(match self {
            Self::Bearer(_) => Arc::new(Bearer::new(origin.clone(), &secret).map_err(unfit)?),
            Self::Basic { user, .. } => {
                Arc::new(Basic::new(origin.clone(), user, &secret).map_err(unfit)?)
            }
            Self::ApiKey { header, .. } => {
                let name = HeaderName::try_from(header.as_str())
                    .map_err(|_| wrong(format!("the header for {origin} has no valid name")))?;
                let place = KeyPlace::Header(name);
                Arc::new(ApiKey::new(origin.clone(), place, &secret).map_err(unfit)?)
            }
        })
    }
}

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let is_name = |name: &&str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        // What was written may be the secret itself, so it is not said.
        let expected = "a secret is not written here: name a variable, such as `${PEER_TOKEN}`";
        name.filter(is_name)
            .map(|name| Self(name.to_owned()))
            .ok_or_else(|| serde::de::Error::custom(expected))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use nuncio_net::{Errand, Guard, Policy, Purpose};

    use super::super::read_harbor_with;

    fn file(credentials: &str) -> String {
        format!(
            "tools:\n  a2a_peers:\n    - url: https://a.example\n      trust_tier: 5\n      \
             credentials: {credentials}\n"
        )
    }

    fn variable(name: &str) -> Option<String> {
        (name == "PEER_TOKEN").then(|| "swordfish".to_owned())
    }

    async fn check(credentials: &str, header: &str, expected: &str) {
        let peers = read_harbor_with(&file(credentials), variable).unwrap();
        let proof = peers[0].proof().expect("it has one");
        let guard = Guard::new(Policy::default());
        for (url, expected) in [("https://a.example/x", expected), ("https://b.example/x", "")] {
            let url = guard.check_url(url, Errand::caller(Purpose::Agent)).unwrap();
            let mut headers = HeaderMap::new();
            proof.prove(&url, &mut headers).await.unwrap();
            let shown = headers.get(header).map_or("", |value| value.to_str().unwrap());
            assert_eq!(shown, expected, "{credentials} at {}", url.as_str());
        }
    }

    #[tokio::test]
    async fn a_secret_of_the_environment_goes_to_its_peer_and_to_no_other() {
        check("{bearer: \"${PEER_TOKEN}\"}", "authorization", "Bearer swordfish").await;
        check("{api_key: {header: X-Key, key: \"${PEER_TOKEN}\"}}", "x-key", "swordfish").await;
        let basic = "{basic: {user: ann, password: \"${PEER_TOKEN}\"}}";
        check(basic, "authorization", "Basic YW5uOnN3b3JkZmlzaA==").await;
    }

    #[test]
    fn secrets_in_the_file_and_missing_ones_are_refused_and_never_repeated() {
        for (credentials, expected) in [
            ("{bearer: swordfish}", "line 5"),
            ("{bearer: \"$swordfish\"}", "name a variable"),
            ("{bearer: \"${}\"}", "name a variable"),
            ("{bearer: \"${OTHER}\"}", "`OTHER`, which is not set"),
            ("{api_key: {header: \"X Key\", key: \"${PEER_TOKEN}\"}}", "no valid name"),
            ("{api_key: {key: \"${PEER_TOKEN}\"}}", "header"),
            ("{token: \"${PEER_TOKEN}\"}", "token"),
        ] {
            let error = read_harbor_with(&file(credentials), variable).unwrap_err().to_string();
            assert!(error.contains(expected), "{credentials}: {error}");
            assert!(!error.contains("swordfish"), "{error}");
        }
    }
}
