//! What authenticates us at a webhook.

use std::fmt;

use nuncio_protocol::{
    ids::{PushConfigId, TaskId},
    push::{AuthenticationInfo, TaskPushNotificationConfig},
};

use super::{SealingKey, Unsealable};
use crate::store::{Sealed, Webhook};

/// The longest scheme, credentials and token, in bytes. All of them end up in headers, of which
/// many servers take 8 KiB in all.
const MAX_SCHEME_BYTES: usize = 64;
const MAX_CREDENTIALS_BYTES: usize = 4096;
const MAX_TOKEN_BYTES: usize = 1024;

/// What authenticates us at a webhook. Never shown.
///
/// Invariant: every text is fit to be the value of a header.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Secrets {
    /// Empty if there is none.
    pub(super) token: String,
    pub(super) authorization: Option<Authorization>,
}

/// What goes into the `Authorization` header.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Authorization {
    pub(super) scheme: String,
    /// Empty if nothing stands behind the scheme.
    pub(super) credentials: String,
}

/// A member of a webhook that is not as it should be. Says nothing about its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfit {
    pub(super) member: &'static str,
    pub(super) what: String,
}

impl Secrets {
    /// Takes what a caller has registered.
    pub(super) fn of(config: &TaskPushNotificationConfig) -> Result<Self, Unfit> {
        check_text("token", &config.token, MAX_TOKEN_BYTES)?;
        let authorization = match &config.authentication {
            // Callers of 0.3 may list no scheme at all.
            Some(AuthenticationInfo { scheme, credentials })
                if !scheme.is_empty() || !credentials.is_empty() =>
            {
                check_scheme(scheme)?;
                check_text("authentication.credentials", credentials, MAX_CREDENTIALS_BYTES)?;
                Some(Authorization { scheme: scheme.clone(), credentials: credentials.clone() })
            }
            _ => None,
        };
        Ok(Self { token: config.token.clone(), authorization })
    }

    /// Seals them for their webhook.
    pub(super) fn seal(
        &self,
        key: &SealingKey,
        task: &TaskId,
        id: &PushConfigId,
    ) -> Result<Sealed, Unsealable> {
        let mut bytes = Vec::new();
        let mut put = |text: &str| {
            bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        put(&self.token);
        if let Some(Authorization { scheme, credentials }) = &self.authorization {
            put(scheme);
            put(credentials);
        }
        key.seal(task, id, &bytes)
    }

    /// Opens those of a webhook.
    pub(super) fn open(key: &SealingKey, webhook: &Webhook) -> Result<Self, Unsealable> {
        let bytes = key.open(&webhook.task_id, &webhook.id, &webhook.secrets)?;
        let mut rest = bytes.as_slice();
        let token = take(&mut rest).ok_or(Unsealable)?;
        let authorization = if rest.is_empty() {
            None
        } else {
            let scheme = take(&mut rest).ok_or(Unsealable)?;
            let credentials = take(&mut rest).ok_or(Unsealable)?;
            Some(Authorization { scheme, credentials })
        };
        if rest.is_empty() { Ok(Self { token, authorization }) } else { Err(Unsealable) }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// Takes the next text from what was sealed.
fn take(bytes: &mut &[u8]) -> Option<String> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
    let (text, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    String::from_utf8(text.to_vec()).ok()
}

fn check_scheme(text: &str) -> Result<(), Unfit> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if (1..=MAX_SCHEME_BYTES).contains(&text.len()) && text.bytes().all(is_token) {
        return Ok(());
    }
    let what = format!(
        "must be the name of an HTTP authentication scheme of at most {MAX_SCHEME_BYTES} bytes, \
         such as `Bearer`"
    );
    Err(Unfit { member: "authentication.scheme", what })
}

/// Lets pass what every server reads as it was sent. A line break would begin a header of the
/// caller's own making.
fn check_text(member: &'static str, text: &str, most: usize) -> Result<(), Unfit> {
    let what = if text.len() > most {
        format!("has {} bytes, at most {most} are allowed", text.len())
    } else if !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        "must be printable ASCII without line breaks; encode it, such as by base64".to_owned()
    } else if text.trim() != text {
        "must not begin or end with a blank".to_owned()
    } else {
        return Ok(());
    };
    Err(Unfit { member, what })
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::version::Version;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        log::Seq,
        store::{TaskRef, WebhookRef},
    };

    fn config(token: &str, scheme: &str, credentials: &str) -> TaskPushNotificationConfig {
        let mut config = TaskPushNotificationConfig::new("https://example.com");
        config.token = token.to_owned();
        config.authentication = Some(AuthenticationInfo {
            scheme: scheme.to_owned(),
            credentials: credentials.to_owned(),
        });
        config
    }

    #[track_caller]
    fn check(token: &str, scheme: &str, credentials: &str, expected: Result<(), &str>) {
        let found = Secrets::of(&config(token, scheme, credentials));
        assert_eq!(found.map(drop).map_err(|unfit| unfit.member), expected);
    }

    #[test]
    fn only_what_fits_into_a_header_is_taken() {
        check("t", "Bearer", "abc", Ok(()));
        check("", "", "", Ok(()));
        check("two words", "Digest", "a=\"b\", c=d", Ok(()));
        for spoilt in ["a\r\nx: y", "a\nb", "a\0b", "a\tb", "\u{7f}", "é", " a", "a "] {
            check(spoilt, "Bearer", "abc", Err("token"));
            check("t", spoilt, "abc", Err("authentication.scheme"));
            check("t", "Bearer", spoilt, Err("authentication.credentials"));
        }
        check("t", "", "abc", Err("authentication.scheme"));
        check("t", "Bearer abc", "", Err("authentication.scheme"));
        check(&"t".repeat(MAX_TOKEN_BYTES + 1), "Bearer", "", Err("token"));
        let credentials = "c".repeat(MAX_CREDENTIALS_BYTES + 1);
        check("t", "Bearer", &credentials, Err("authentication.credentials"));
        check("t", &"s".repeat(MAX_SCHEME_BYTES + 1), "", Err("authentication.scheme"));
    }

    #[test]
    fn nothing_secret_is_shown() {
        let secrets = Secrets::of(&config("t0ken", "Sch3me", "cr3dentials")).unwrap();
        assert_eq!(format!("{secrets:?}"), "Secrets");
        let unfit = Secrets::of(&config("t0ken\n", "Sch3me", "")).unwrap_err();
        assert!(!format!("{unfit:?}").contains("t0ken"));
    }

    proptest! {
        #[test]
        fn secrets_come_back(token in "[ -~]{0,40}", auth in prop::option::of("[ -~]{0,40}")) {
            let secrets = Secrets {
                token,
                authorization: auth.map(|credentials| Authorization {
                    scheme: "Bearer".to_owned(),
                    credentials,
                }),
            };
            let key = SealingKey::new(&[1; 32]);
            let (task_id, id) = (TaskId::generate(), PushConfigId::generate());
            let webhook = Webhook {
                reference: WebhookRef(1),
                task: TaskRef(1),
                secrets: secrets.seal(&key, &task_id, &id).unwrap(),
                task_id,
                id,
                url: String::new(),
                version: Version::V1_0,
                sent: Seq::START,
            };
            prop_assert_eq!(Secrets::open(&key, &webhook), Ok(secrets));
        }
    }
}
