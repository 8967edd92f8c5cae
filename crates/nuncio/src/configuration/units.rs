//! Values with a form of their own: lengths of time, sizes, addresses, secrets, places.

use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

use ipnet::IpNet;
use nuncio_net::Secret;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A value that is written as text, with a form of its own.
macro_rules! textual {
    ($type:ident, $expected:literal, $pattern:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(|InvalidValue(expected)| {
                    D::Error::custom(format_args!("expected {expected}"))
                })
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "title": $expected, "pattern": concat!($pattern, r"|\$\{") })
            }
        }

        impl $type {
            const EXPECTED: InvalidValue = InvalidValue($expected);
        }
    };
}

/// A text is not what its place needs. It says what would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct InvalidValue(pub(super) &'static str);

/// A length of time: `500ms`, `30s`, `5m`, `1h30m`, `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HumanDuration(pub Duration);

textual!(
    HumanDuration,
    "a length of time such as 500ms, 30s, 5m, 1h or 7d",
    r"^(\d+(ms|s|m|h|d))+$"
);

impl HumanDuration {
    /// So many seconds.
    pub const fn seconds(count: u64) -> Self {
        Self(Duration::from_secs(count))
    }

    /// Returns it as the standard library has it.
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl FromStr for HumanDuration {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let mut rest = text.trim();
        let mut total = Duration::ZERO;
        while !rest.is_empty() {
            let (number, behind) = number_and_rest(rest).ok_or(Self::EXPECTED)?;
            let length =
                behind.find(|letter: char| letter.is_ascii_digit()).unwrap_or(behind.len());
            let (unit, behind) = behind.split_at(length);
            let seconds = |each: u64| number.checked_mul(each).map(Duration::from_secs);
            let piece = match unit {
                "ms" => Some(Duration::from_millis(number)),
                "s" => seconds(1),
                "m" => seconds(60),
                "h" => seconds(60 * 60),
                "d" => seconds(24 * 60 * 60),
                _ => None,
            };
            total = piece.and_then(|piece| total.checked_add(piece)).ok_or(Self::EXPECTED)?;
            rest = behind;
        }
        // Nothing here is meant to take no time at all.
        if total.is_zero() { Err(Self::EXPECTED) } else { Ok(Self(total)) }
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match (self.0.subsec_millis(), seconds) {
            (1.., _) => write!(f, "{}ms", self.0.as_millis()),
            (0, _) if seconds.is_multiple_of(24 * 3600) => write!(f, "{}d", seconds / (24 * 3600)),
            (0, _) if seconds.is_multiple_of(3600) => write!(f, "{}h", seconds / 3600),
            (0, _) if seconds.is_multiple_of(60) => write!(f, "{}m", seconds / 60),
            (0, _) => write!(f, "{seconds}s"),
        }
    }
}

/// A size: `512B`, `64KiB`, `10MiB`, `1GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(u64);

textual!(ByteSize, "a size such as 512B, 64KiB, 10MiB or 1GiB", r"^\d+(B|KiB|MiB|GiB)$");

impl ByteSize {
    /// So many times 1024 bytes.
    pub const fn kibibytes(count: u64) -> Self {
        Self(count * 1024)
    }

    /// So many times 1024 KiB.
    pub const fn mebibytes(count: u64) -> Self {
        Self::kibibytes(count * 1024)
    }

    /// Returns the number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (number, unit) = number_and_rest(text.trim()).ok_or(Self::EXPECTED)?;
        let each = match unit {
            "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err(Self::EXPECTED),
        };
        number.checked_mul(each).filter(|bytes| *bytes > 0).map(Self).ok_or(Self::EXPECTED)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, each) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
            if self.0 >= each && self.0.is_multiple_of(each) {
                return write!(f, "{}{unit}", self.0 / each);
            }
        }
        write!(f, "{}B", self.0)
    }
}

fn number_and_rest(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, rest) = text.split_at(end);
    Some((number.parse().ok()?, rest))
}

/// An address to listen at: a host and a port, `127.0.0.1:7420` or `[::1]:7420`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    host: String,
    port: u16,
}

textual!(ListenAddress, "a host and a port such as 127.0.0.1:7420 or [::1]:0", r"^.+:\d+$");

impl ListenAddress {
    /// Puts a host and a port together.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// Returns the host, an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port; 0 takes any that is free.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the same host with another port.
    #[must_use]
    pub fn with_port(&self, port: u16) -> Self {
        Self { host: self.host.clone(), port }
    }

    /// Tells whether only this machine can call there.
    pub fn is_loopback(&self) -> bool {
        let address = self.host.parse::<std::net::IpAddr>();
        self.host == "localhost"
            || address.is_ok_and(|address| address.to_canonical().is_loopback())
    }
}

impl FromStr for ListenAddress {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (host, port) = text.trim().rsplit_once(':').ok_or(Self::EXPECTED)?;
        let port = port.parse().map_err(|_| Self::EXPECTED)?;
        let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_address = |host: &str| host.parse::<std::net::Ipv6Addr>().is_ok();
        let is_name = |host: &str| {
            !host.is_empty()
                && host
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter))
        };
        match inside {
            Some(host) if is_address(host) => Ok(Self::new(host, port)),
            None if is_name(host) => Ok(Self::new(host, port)),
            _ => Err(Self::EXPECTED),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// A URL with `http` or `https`, kept as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebUrl(String);

textual!(WebUrl, "a URL that begins with http:// or https://", r"^https?://.+");

impl WebUrl {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether it is plain http to another machine.
    pub fn is_plain(&self) -> bool {
        let Ok(url) = url::Url::parse(&self.0) else { return true };
        let is_local = match url.host() {
            Some(url::Host::Domain(name)) => {
                let name = name.trim_end_matches('.');
                name == "localhost" || name.ends_with(".localhost")
            }
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.to_canonical().is_loopback(),
            None => false,
        };
        url.scheme() == "http" && !is_local
    }
}

impl FromStr for WebUrl {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let url = url::Url::parse(text).map_err(|_| Self::EXPECTED)?;
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        // A password in a URL would be shown wherever the URL is.
        let is_bare = url.username().is_empty() && url.password().is_none();
        match (is_web, is_bare) {
            (true, true) => Ok(Self(text.to_owned())),
            (true, false) => Err(InvalidValue("a URL without a user and password in it")),
            _ => Err(Self::EXPECTED),
        }
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A host under which a browser may come, with the port if the address bar shows one. Kept in
/// small letters, as browsers send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserHost(String);

textual!(
    BrowserHost,
    "a host such as hub.example or 10.1.2.3:7420, without http://",
    r"^[A-Za-z0-9._-]+(:\d+)?$|^\[[0-9a-fA-F:.]+\](:\d+)?$"
);

impl BrowserHost {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BrowserHost {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        // With some port, a host is one to listen at as well.
        let text = text.trim();
        let is_address = |text: &str| text.parse::<ListenAddress>().is_ok();
        let is_host = is_address(text) || is_address(&format!("{text}:0"));
        if is_host { Ok(Self(text.to_ascii_lowercase())) } else { Err(Self::EXPECTED) }
    }
}

impl fmt::Display for BrowserHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A range of addresses: `10.0.0.0/8`, `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange(pub IpNet);

textual!(
    AddressRange,
    "a range of addresses such as 10.0.0.0/8 or fd00::/8",
    r"^[0-9a-fA-F.:]+/\d+$"
);

impl FromStr for AddressRange {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        text.trim().parse().map(Self).map_err(|_| Self::EXPECTED)
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The SHA-256 hash of a certificate, as `openssl x509 -fingerprint -sha256` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

textual!(
    Fingerprint,
    "a SHA-256 hash: 64 hexadecimal digits, with or without colons",
    r"^([0-9a-fA-F]{2}:?){31}[0-9a-fA-F]{2}$"
);

impl FromStr for Fingerprint {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let mut rest = text.trim();
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            if index > 0 {
                rest = rest.strip_prefix(':').unwrap_or(rest);
            }
            let (digits, behind) = rest.split_at_checked(2).ok_or(Self::EXPECTED)?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(Self::EXPECTED);
            }
            *byte = u8::from_str_radix(digits, 16).map_err(|_| Self::EXPECTED)?;
            rest = behind;
        }
        if rest.is_empty() { Ok(Self(bytes)) } else { Err(Self::EXPECTED) }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A secret in the file, usually taken from the environment: `${TOKEN}`.
#[derive(Clone)]
pub struct SecretText(pub Secret);

impl SecretText {
    /// Returns it for use.
    pub const fn secret(&self) -> &Secret {
        &self.0
    }
}

impl PartialEq for SecretText {
    /// Both texts are the administrator's own, so how long it takes tells nobody anything.
    fn eq(&self, other: &Self) -> bool {
        self.0.expose() == other.0.expose()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Err(D::Error::custom("expected a secret, found an empty text"));
        }
        Ok(Self(Secret::new(text)))
    }
}

impl Serialize for SecretText {
    /// Never shows the text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("(secret)")
    }
}

impl JsonSchema for SecretText {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "title": "a secret, best taken from the environment: ${NAME}",
            "minLength": 1, "writeOnly": true
        })
    }
}

/// A value, and where it stands in the file. Two are equal if their values are.
#[derive(Clone, Debug, Default)]
pub struct Placed<T> {
    value: T,
    /// From 1; 0 if it stands in no file.
    pub(super) line: u64,
    pub(super) column: u64,
}

impl<T> Placed<T> {
    /// A value that stands in no file.
    pub const fn nowhere(value: T) -> Self {
        Self { value, line: 0, column: 0 }
    }

    /// Puts another value in the same place.
    pub(super) fn with<U>(&self, value: U) -> Placed<U> {
        Placed { value, line: self.line, column: self.column }
    }

    /// Returns the value.
    pub const fn get(&self) -> &T {
        &self.value
    }

    /// Returns the value, to change it.
    pub(super) const fn value_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> std::ops::Deref for Placed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Placed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Placed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = serde_saphyr::Spanned::<T>::deserialize(deserializer)?;
        let place = spanned.referenced;
        Ok(Self { value: spanned.value, line: place.line(), column: place.column() })
    }
}

impl<T: Serialize> Serialize for Placed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<T: JsonSchema> JsonSchema for Placed<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_duration(text: &str, millis: Option<u64>) {
        let read: Option<HumanDuration> = text.parse().ok();
        assert_eq!(
            read,
            millis.map(|millis| HumanDuration(Duration::from_millis(millis))),
            "{text}"
        );
    }

    #[test]
    fn lengths_of_time_have_a_unit() {
        check_duration("500ms", Some(500));
        check_duration("30s", Some(30_000));
        check_duration(" 5m ", Some(300_000));
        check_duration("1h", Some(3_600_000));
        check_duration("7d", Some(604_800_000));
        check_duration("1h30m", Some(5_400_000));
        for text in
            ["", "30", "s", "0s", "-1s", "1.5s", "30 s", "1w", "1h30", "99999999999999999999s"]
        {
            check_duration(text, None);
        }
    }

    #[track_caller]
    fn check_size(text: &str, bytes: Option<u64>) {
        assert_eq!(text.parse().ok(), bytes.map(ByteSize), "{text}");
    }

    #[test]
    fn sizes_have_a_unit() {
        check_size("512B", Some(512));
        check_size("64KiB", Some(65_536));
        check_size("10MiB", Some(10 << 20));
        check_size("1GiB", Some(1 << 30));
        for text in ["", "10", "10MB", "10 MiB", "0B", "-1B", "99999999999GiB"] {
            check_size(text, None);
        }
    }

    #[track_caller]
    fn check_address(text: &str, expected: Option<(&str, u16, bool)>) {
        let read: Option<ListenAddress> = text.parse().ok();
        let found = read.as_ref().map(|read| (read.host(), read.port(), read.is_loopback()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn addresses_are_a_host_and_a_port() {
        check_address("127.0.0.1:7420", Some(("127.0.0.1", 7420, true)));
        check_address("[::1]:0", Some(("::1", 0, true)));
        check_address("[::ffff:127.0.0.1]:1", Some(("::ffff:127.0.0.1", 1, true)));
        check_address("localhost:80", Some(("localhost", 80, true)));
        check_address("0.0.0.0:80", Some(("0.0.0.0", 80, false)));
        check_address("hub.example:443", Some(("hub.example", 443, false)));
        for text in ["", "7420", ":7420", "::1:80", "a:b", "a:70000", "[a]:1", "http://a:1"] {
            check_address(text, None);
        }
    }

    #[track_caller]
    fn check_host(text: &str, expected: Option<&str>) {
        let read: Option<BrowserHost> = text.parse().ok();
        assert_eq!(read.as_ref().map(BrowserHost::as_str), expected, "{text}");
    }

    #[test]
    fn hosts_are_as_browsers_send_them() {
        check_host("Hub.Example", Some("hub.example"));
        check_host("hub.example:8443", Some("hub.example:8443"));
        check_host("[::1]:1", Some("[::1]:1"));
        check_host("[::1]", Some("[::1]"));
        for text in ["", "https://hub.example", "hub.example/", "a b", "a:b", "::1", "u@a", "a:"] {
            check_host(text, None);
        }
    }

    #[test]
    fn fingerprints_are_as_openssl_shows_them() {
        let plain = "00ff".repeat(16);
        let expected = Fingerprint([0, 255].repeat(16).try_into().unwrap());
        assert_eq!(plain.parse(), Ok(expected));
        assert_eq!(["00:FF"; 16].join(":").parse(), Ok(expected));
        assert_eq!(expected.to_string(), plain);
        for text in
            ["", "00", &plain[1..], &"+1".repeat(32), &format!("{plain}:"), &plain.repeat(2)]
        {
            assert_eq!(text.parse(), Err::<Fingerprint, _>(Fingerprint::EXPECTED), "{text}");
        }
    }

    #[track_caller]
    fn check_url(text: &str, is_plain: Option<bool>) {
        let read: Option<WebUrl> = text.parse().ok();
        assert_eq!(read.map(|read| read.is_plain()), is_plain, "{text}");
    }

    #[test]
    fn urls_are_of_the_web_and_hold_no_password() {
        check_url("https://a.example", Some(false));
        check_url("http://a.example/x", Some(true));
        check_url("http://localhost:1", Some(false));
        check_url("http://[::1]:1", Some(false));
        check_url("http://127.0.0.1", Some(false));
        for text in ["", "a.example", "ftp://a", "https://", "https://u:p@a.example", "file:///x"] {
            check_url(text, None);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(millis in 1..u32::MAX, bytes in 1..u64::MAX) {
            let duration = HumanDuration(Duration::from_millis(millis.into()));
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
            prop_assert_eq!(ByteSize(bytes).to_string().parse(), Ok(ByteSize(bytes)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = text.parse::<HumanDuration>();
            let _ = text.parse::<ByteSize>();
            let _ = text.parse::<ListenAddress>();
            let _ = text.parse::<WebUrl>();
            let _ = text.parse::<BrowserHost>();
            let _ = text.parse::<Fingerprint>();
        }
    }
}
