//! Text that is used and never shown.

use std::{fmt, sync::Arc};

use http::{HeaderValue, header::InvalidHeaderValue};

/// A password, a key or a token: text that no log, error or trace may hold. Cheap to clone.
///
/// `Debug` tells nothing about it, not even its length, and there is no `Display`.
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Shows the text to whoever needs it to make a proof of it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Tells whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text behind a prefix as the value of a header, marked as sensitive.
    pub fn to_header(&self, prefix: &str) -> Result<HeaderValue, InvalidHeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_used_and_not_shown() {
        let secret = Secret::new("swordfish");
        assert_eq!(secret.expose(), "swordfish");
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)), "Secret Some(\n    Secret,\n)");
        let header = secret.to_header("Bearer ").unwrap();
        assert_eq!(header, "Bearer swordfish");
        assert_eq!(format!("{header:?}"), "Sensitive");
        assert!(Secret::new("a\nb").to_header("").is_err());
    }
}
