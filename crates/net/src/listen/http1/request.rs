//! Heads of requests.

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::{
    HeaderMap, Method, Request, Uri, Version,
    header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING},
};

use crate::http1::{self, Chunk, Fault, Framing, number};

/// The head of a request that can be understood in one way only.
pub(super) struct Head {
    pub(super) request: Request<()>,
    /// What follows.
    pub(super) framing: Framing,
    /// Whether the peer lets another request follow.
    pub(super) is_kept: bool,
    /// Whether the peer sends its body once it is told to go on.
    pub(super) waits: bool,
}

/// How many headers there is room for without asking for memory.
const USUAL_HEADERS: usize = 100;

impl Head {
    /// Reads a head with the empty line that ends it. Its values are slices of it.
    pub(super) fn read(bytes: &Bytes, most_headers: usize) -> Result<Self, Fault> {
        if has_bare_line_feed(bytes) {
            return Err(Fault::Malformed("a line that does not end in CRLF"));
        }
        with_room(most_headers, |room| {
            let mut read = httparse::Request::new(&mut []);
            let end = parse(&mut read, bytes, room)?;
            if end != Some(bytes.len()) {
                return Err(NO_HEAD);
            }
            Self::of(bytes, &read)
        })
    }

    fn of(bytes: &Bytes, read: &httparse::Request<'_, '_>) -> Result<Self, Fault> {
        let method = Method::from_bytes(read.method.unwrap_or_default().as_bytes());
        let target = read.path.unwrap_or_default().as_bytes();
        let target = Uri::from_maybe_shared(bytes.slice_ref(target));
        let (Ok(method), Ok(target)) = (method, target) else { return Err(NO_HEAD) };
        let version = if read.version == Some(1) { Version::HTTP_11 } else { Version::HTTP_10 };
        let headers = http1::headers(bytes, read.headers).ok_or(NO_HEAD)?;
        let framing = framing(version, &headers)?;
        let is_kept = http1::is_kept(version, &headers);
        let waits = version == Version::HTTP_11
            && headers
                .get(EXPECT)
                .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
        let mut request = Request::new(());
        *request.method_mut() = method;
        *request.uri_mut() = target;
        *request.version_mut() = version;
        *request.headers_mut() = headers;
        Ok(Self { request, framing, is_kept, waits })
    }
}

const NO_HEAD: Fault = Fault::Malformed("no head of a request");

/// Looks at the beginning of a head, and finds out if it cannot become one.
pub(super) fn check_start(bytes: &[u8], most_headers: usize) -> Result<(), Fault> {
    with_room(most_headers, |room| {
        parse(&mut httparse::Request::new(&mut []), bytes, room).map(|_| ())
    })
}

/// Parses a head, and returns where it ends if all of it is there.
fn parse<'h, 'b>(
    read: &mut httparse::Request<'h, 'b>,
    bytes: &'b [u8],
    room: &'h mut [MaybeUninit<httparse::Header<'b>>],
) -> Result<Option<usize>, Fault> {
    match read.parse_with_uninit_headers(bytes, room) {
        Ok(httparse::Status::Complete(end)) => Ok(Some(end)),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(Fault::TooLong),
        Err(_) => Err(NO_HEAD),
    }
}

/// Makes room for so many headers.
fn with_room<'b, T>(
    headers: usize,
    read: impl FnOnce(&mut [MaybeUninit<httparse::Header<'b>>]) -> T,
) -> T {
    let mut usual = [const { MaybeUninit::uninit() }; USUAL_HEADERS];
    match usual.get_mut(..headers) {
        Some(room) => read(room),
        None => read(&mut vec![MaybeUninit::uninit(); headers]),
    }
}

/// Tells what follows a head. Whatever two readers could understand in two ways is refused: a
/// proxy in front of us may have understood otherwise, and then what it took for a body would be
/// a request to us.
fn framing(version: Version, headers: &HeaderMap) -> Result<Framing, Fault> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    match (codings.next(), lengths.next()) {
        (None, None) => Ok(Framing::Over),
        (None, Some(length)) => {
            let length = number(length.as_bytes(), 10).filter(|_| lengths.next().is_none());
            match length.ok_or(Fault::Malformed("a length that is none"))? {
                0 => Ok(Framing::Over),
                length => Ok(Framing::Length(length)),
            }
        }
        (Some(coding), None) => {
            let is_chunked = coding.as_bytes().eq_ignore_ascii_case(b"chunked");
            if !is_chunked || codings.next().is_some() || version != Version::HTTP_11 {
                return Err(Fault::Malformed("a body of which nobody knows where it ends"));
            }
            Ok(Framing::Chunks(Chunk::Size))
        }
        (Some(_), Some(_)) => Err(Fault::Malformed("both a length and chunks")),
    }
}

fn has_bare_line_feed(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes).any(|at| at == 0 || bytes[at - 1] != b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Head, Fault> {
        Head::read(&Bytes::copy_from_slice(text.as_bytes()), 100)
    }

    #[track_caller]
    fn check(head: &str, expected: Framing, kept: bool) {
        let read =
            read(&format!("{head}\r\n\r\n")).unwrap_or_else(|fault| panic!("{head}: {fault}"));
        assert_eq!((read.framing, read.is_kept), (expected, kept), "{head:?}");
    }

    #[test]
    fn what_a_head_says_is_read() {
        let head = read("PATCH /a?b HTTP/1.1\r\nX-A:  one \r\nx-a:two\r\nempty:\r\n\r\n").unwrap();
        assert_eq!(head.request.method(), Method::PATCH);
        assert_eq!(head.request.uri(), "/a?b");
        assert_eq!(head.request.version(), Version::HTTP_11);
        let values: Vec<_> = head.request.headers().get_all("x-a").iter().collect();
        assert_eq!(values, ["one", "two"]);
        assert_eq!(head.request.headers()["empty"], "");
    }

    #[test]
    fn the_end_of_a_body_is_known_by_its_head() {
        check("GET / HTTP/1.1", Framing::Over, true);
        check("POST / HTTP/1.1\r\ncontent-length: 0", Framing::Over, true);
        check("POST / HTTP/1.1\r\nContent-Length:   5 ", Framing::Length(5), true);
        let chunks = Framing::Chunks(Chunk::Size);
        check("POST / HTTP/1.1\r\nTransfer-Encoding: Chunked", chunks, true);
        check("GET / HTTP/1.1\r\nconnection: x, Close", Framing::Over, false);
        check("GET / HTTP/1.0", Framing::Over, false);
        check(
            "POST / HTTP/1.0\r\nconnection: keep-alive\r\ncontent-length: 1",
            Framing::Length(1),
            true,
        );
    }

    #[test]
    fn what_two_could_understand_in_two_ways_is_refused() {
        for head in [
            "POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked",
            "POST / HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 5",
            "POST / HTTP/1.1\r\ncontent-length: +5",
            "POST / HTTP/1.1\r\ncontent-length: 5, 5",
            "POST / HTTP/1.1\r\ncontent-length:",
            "POST / HTTP/1.1\r\ncontent-length: 99999999999999999999",
            "POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked",
            "POST / HTTP/1.1\r\ntransfer-encoding:",
            "POST / HTTP/1.0\r\ntransfer-encoding: chunked",
            "GET / HTTP/1.1\nhost: a",
            "GET / HTTP/1.1\r\nhost: a\r\n b",
            "GET / HTTP/1.1\r\nhost: a\rb: c",
            "GET / HTTP/2.0",
            "GET /",
        ] {
            let outcome = read(&format!("{head}\r\n\r\n"));
            assert!(matches!(outcome, Err(Fault::Malformed(_))), "{head:?}");
        }
    }

    #[test]
    fn what_cannot_become_a_head_is_known_at_once() {
        for start in ["", "G", "GET /", "GET / HTTP/1.1\r\nhos"] {
            assert_eq!(check_start(start.as_bytes(), 100), Ok(()), "{start:?}");
        }
        for start in ["\u{16}\u{3}\u{1}", "GET / FTP", "GET / HTTP/1.1\r\n : x\r\n"] {
            assert!(check_start(start.as_bytes(), 100).is_err(), "{start:?}");
        }
    }
}
