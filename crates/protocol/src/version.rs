//! Versions of A2A and how one is chosen (A2A digest §6).

use std::fmt;

use crate::error::Error;

/// A version of A2A, `Major.Minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
}

impl Version {
    /// A2A 0.2, which shares the 0.3 form on JSON-RPC.
    pub const V0_2: Self = Self { major: 0, minor: 2 };
    /// A2A 0.3.
    pub const V0_3: Self = Self { major: 0, minor: 3 };
    /// A2A 1.0.
    pub const V1_0: Self = Self { major: 1, minor: 0 };

    /// The versions we speak, as they are named to a peer.
    pub const SUPPORTED: &[&str] = &["1.0", "0.3"];

    /// Reads `1.0`, `0.3` or, the patch number ignored, `1.0.1`.
    pub fn parse(text: &str) -> Option<Self> {
        // What nearly everybody says.
        match text {
            "1.0" => return Some(Self::V1_0),
            "0.3" => return Some(Self::V0_3),
            _ => {}
        }
        let mut numbers = text.trim().split('.');
        let mut number = || {
            let text = numbers.next()?;
            text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
        };
        let version = Self { major: number()?, minor: number()? };
        let patch_is_number =
            numbers.next().is_none_or(|patch| patch.bytes().all(|byte| byte.is_ascii_digit()));
        (patch_is_number && numbers.next().is_none()).then_some(version)
    }

    /// Decides the version of a request by its `A2A-Version`: none, or empty, means 0.3.
    pub fn requested(header: Option<&str>) -> Result<Self, Error> {
        let Some(text) = header.map(str::trim).filter(|text| !text.is_empty()) else {
            return Ok(Self::V0_3);
        };
        match Self::parse(text) {
            Some(version @ (Self::V1_0 | Self::V0_3)) => Ok(version),
            _ => Err(Error::version_not_supported(text, Self::SUPPORTED)),
        }
    }

    /// Tells whether the version speaks the form of 0.3: 0.2 and all others below 1.0.
    pub const fn is_legacy(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patch_number_does_not_matter() {
        assert_eq!(Version::parse("1.0.1"), Some(Version::V1_0));
        assert_eq!(Version::parse("0.3.0"), Some(Version::V0_3));
        for text in ["", "1", "1.", "v1.0", "1.0.0.0", "1.x", "+1.0", "1.0.x", "99999.0"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }

    #[test]
    fn no_version_means_0_3() {
        for header in [None, Some(""), Some("  "), Some("0.3")] {
            assert_eq!(Version::requested(header).unwrap(), Version::V0_3);
        }
    }

    #[test]
    fn a_foreign_version_is_refused_with_the_ones_we_speak() {
        let error = Version::requested(Some("99.0")).unwrap_err();
        assert_eq!(error.kind(), crate::error::ErrorKind::VersionNotSupported);
        assert_eq!(error.metadata()["supportedVersions"], "1.0,0.3");
    }
}
