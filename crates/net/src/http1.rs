//! What both ends of HTTP/1.1 read alike: where a head ends, what a header is, and where a body
//! ends.

mod framing;

use std::{fmt, io};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Version, header::CONNECTION};

pub(crate) use self::framing::{Chunk, Framing, Taken};

/// What a peer sends and must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not HTTP/1.
    Malformed(&'static str),
    /// A head, or what there is between pieces of a body, is longer than it may be.
    TooLong,
}

/// Returns where the body begins, behind a head that is whole. Nothing before `from` ends it.
pub(crate) fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let searched = bytes.get(from..)?;
    memchr::memchr_iter(b'\n', searched).find_map(|at| match searched.get(at + 1..)? {
        [b'\n', ..] => Some(from + at + 2),
        [b'\r', b'\n', ..] => Some(from + at + 3),
        _ => None,
    })
}

/// Keeps the headers of a head; their values are slices of it.
pub(crate) fn headers(head: &Bytes, read: &[httparse::Header<'_>]) -> Option<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(read.len());
    for header in read {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        // An empty slice has no place of its own.
        let value = match header.value {
            [] => Bytes::new(),
            value => head.slice_ref(value),
        };
        headers.append(name, HeaderValue::from_maybe_shared(value).ok()?);
    }
    Some(headers)
}

/// Tells whether a peer lets another exchange follow on the connection.
pub(crate) fn is_kept(version: Version, headers: &HeaderMap) -> bool {
    let mut is_kept = version == Version::HTTP_11;
    for value in headers.get_all(CONNECTION) {
        for token in value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if token.eq_ignore_ascii_case(b"close") {
                return false;
            }
            is_kept |= token.eq_ignore_ascii_case(b"keep-alive");
        }
    }
    is_kept
}

/// Reads digits and nothing but digits: no sign, no space.
pub(crate) fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let digits = str::from_utf8(digits).ok()?;
    let is_plain = digits.chars().all(|digit| digit.is_digit(radix));
    if is_plain { u64::from_str_radix(digits, radix).ok() } else { None }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "not HTTP: {what}"),
            Self::TooLong => f.write_str("too long a head"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        Self::new(io::ErrorKind::InvalidData, fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_head_is_found() {
        for (text, expected) in [
            ("", None),
            ("HTTP/1.1 200 OK\r\n", None),
            ("HTTP/1.1 200 OK\r\n\r", None),
            ("HTTP/1.1 200 OK\r\n\r\nbody\r\n\r\n", Some(19)),
            ("HTTP/1.1 200 OK\n\nbody", Some(17)),
            ("HTTP/1.1 200 OK\r\na: b\r\n\r\n", Some(25)),
        ] {
            assert_eq!(end_of_head(text.as_bytes(), 0), expected, "{text:?}");
            if let Some(end) = expected {
                assert_eq!(end_of_head(text.as_bytes(), end - 4), expected, "{text:?}");
            }
        }
    }
}
