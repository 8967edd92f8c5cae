//! Heads of requests and answers.

use std::mem::MaybeUninit;

use bytes::{Buf as _, Bytes};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Version,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
};

use crate::{
    client::HEADERS,
    egress::CheckedUrl,
    http1::{self, Chunk, Fault, Framing, number},
};

/// A body that is not longer is written together with its head.
const SMALL_BODY: usize = 8 * 1024;

/// A request as it goes over the wire, or what is left of it.
pub(in crate::client) struct Written {
    head: Vec<u8>,
    /// How much of the head is over.
    at: usize,
    body: Bytes,
    /// Whether the answer has no body, whatever its head says.
    pub(super) skips_body: bool,
}

impl Written {
    /// Writes a request. Host and framing are those of the URL and the body, whatever the
    /// headers say.
    pub(in crate::client) fn new(
        method: &Method,
        url: &CheckedUrl,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Self {
        let is_small = body.len() <= SMALL_BODY;
        let line = |name: &HeaderName, value: &HeaderValue| name.as_str().len() + value.len() + 4;
        let size: usize = headers.iter().map(|(name, value)| line(name, value)).sum();
        let target = url.target();
        let fixed = 128 + target.len() + url.host_header().len();
        let mut head = Vec::with_capacity(fixed + size + if is_small { body.len() } else { 0 });
        for text in [method.as_str(), " ", target, " HTTP/1.1\r\nhost: "] {
            head.extend_from_slice(text.as_bytes());
        }
        head.extend_from_slice(url.host_header().as_bytes());
        for (name, value) in headers.iter().filter(|(name, _)| !is_ours(name)) {
            head.extend_from_slice(b"\r\n");
            head.extend_from_slice(name.as_str().as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value.as_bytes());
        }
        // Where a body is usual, its absence is said (RFC 9110 §8.6).
        if !body.is_empty() || matches!(*method, Method::POST | Method::PUT | Method::PATCH) {
            head.extend_from_slice(b"\r\ncontent-length: ");
            head.extend_from_slice(body.len().to_string().as_bytes());
        }
        head.extend_from_slice(b"\r\n\r\n");
        let skips_body = *method == Method::HEAD;
        if is_small {
            head.extend_from_slice(&body);
            return Self { head, at: 0, body: Bytes::new(), skips_body };
        }
        Self { head, at: 0, body, skips_body }
    }

    /// Returns what is to be written next, and what behind it.
    pub(super) fn rest(&self) -> (&[u8], &[u8]) {
        (&self.head[self.at..], &self.body)
    }

    /// Passes over what was written. Tells whether anything is left.
    pub(super) fn advance(&mut self, count: usize) -> bool {
        let of_head = count.min(self.head.len() - self.at);
        self.at += of_head;
        self.body.advance(count - of_head);
        self.at < self.head.len() || !self.body.is_empty()
    }
}

/// Tells whether a header is about the connection or the framing: one that says otherwise could
/// smuggle a request.
fn is_ours(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "host" | "connection" | "content-length" | "transfer-encoding" | "upgrade"
    )
}

/// The head of an answer.
pub(super) struct Head {
    status: StatusCode,
    version: Version,
    headers: HeaderMap,
}

impl Head {
    /// Reads a head with the empty line that ends it. Its values are slices of it.
    pub(super) fn read(bytes: &Bytes) -> Result<Self, Fault> {
        let malformed = Fault::Malformed("no head of HTTP/1");
        let mut room = [const { MaybeUninit::uninit() }; HEADERS];
        let mut read = httparse::Response::new(&mut []);
        let parser = httparse::ParserConfig::default();
        match parser.parse_response_with_uninit_headers(&mut read, bytes, &mut room) {
            Ok(httparse::Status::Complete(end)) if end == bytes.len() => {}
            Err(httparse::Error::TooManyHeaders) => return Err(Fault::TooLong),
            Ok(_) | Err(_) => return Err(malformed),
        }
        let version = if read.version == Some(1) { Version::HTTP_11 } else { Version::HTTP_10 };
        let status = read.code.and_then(|code| StatusCode::from_u16(code).ok());
        let Some(status) = status else { return Err(malformed) };
        let headers = http1::headers(bytes, read.headers).ok_or(malformed)?;
        Ok(Self { status, version, headers })
    }

    /// Tells whether the answer itself is still to come.
    pub(super) fn is_interim(&self) -> Result<bool, Fault> {
        if self.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Fault::Malformed("another protocol, which nobody asked for"));
        }
        Ok(self.status.is_informational())
    }

    /// Says how the end of the body is known (RFC 9112 §6.3), and whether the connection can be
    /// used behind it.
    pub(super) fn framing(&self, skips_body: bool) -> Result<(Framing, bool), Fault> {
        let mut is_kept = http1::is_kept(self.version, &self.headers);
        let has_none = matches!(self.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let length = self.length()?;
        let framing = if skips_body || has_none {
            Framing::Over
        } else if let Some(coding) = self.headers.get_all(TRANSFER_ENCODING).iter().next_back() {
            if self.version == Version::HTTP_10 {
                return Err(Fault::Malformed("chunks, which HTTP/1.0 does not have"));
            }
            // Who says both is understood by its chunks, but not believed twice.
            is_kept &= length.is_none();
            let last = coding.as_bytes().rsplit(|byte| *byte == b',').next().unwrap_or_default();
            if last.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                Framing::Chunks(Chunk::Size)
            } else {
                Framing::Rest
            }
        } else {
            match length {
                None => Framing::Rest,
                Some(0) => Framing::Over,
                Some(length) => Framing::Length(length),
            }
        };
        Ok((framing, is_kept && framing != Framing::Rest))
    }

    pub(super) fn into_answer(self) -> Response<()> {
        let mut answer = Response::new(());
        *answer.status_mut() = self.status;
        *answer.version_mut() = self.version;
        *answer.headers_mut() = self.headers;
        answer
    }

    /// Reads the length of the body. Who says it more than once must say the same.
    fn length(&self) -> Result<Option<u64>, Fault> {
        let mut length = None;
        for value in self.headers.get_all(CONTENT_LENGTH) {
            for text in value.as_bytes().split(|byte| *byte == b',') {
                let said = number(text.trim_ascii(), 10);
                if said.is_none() || length.is_some_and(|length| Some(length) != said) {
                    return Err(Fault::Malformed("a length that is none"));
                }
                length = said;
            }
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Head, Fault> {
        let end = http1::end_of_head(text.as_bytes(), 0).expect("the head is whole");
        Head::read(&Bytes::copy_from_slice(&text.as_bytes()[..end]))
    }

    #[track_caller]
    fn check(text: &str, expected: Framing, kept: bool) {
        assert_eq!(read(text).unwrap().framing(false).unwrap(), (expected, kept), "{text:?}");
    }

    #[track_caller]
    fn refused(text: &str) {
        let framing = read(text).and_then(|head| {
            head.is_interim()?;
            head.framing(false)
        });
        assert!(framing.is_err(), "{text:?}: {framing:?}");
    }

    #[test]
    fn what_a_head_says_is_read() {
        let head = read("HTTP/1.1 418\r\nX-A:  one \r\nx-a:two\r\nempty:\r\n\r\n").unwrap();
        let answer = head.into_answer();
        assert_eq!(answer.status(), StatusCode::IM_A_TEAPOT);
        let values: Vec<_> = answer.headers().get_all("x-a").iter().collect();
        assert_eq!(values, ["one", "two"]);
        assert_eq!(answer.headers()["empty"], "");
    }

    #[test]
    fn the_end_of_a_body_is_known_by_its_head() {
        check("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", Framing::Length(5), true);
        check("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", Framing::Over, true);
        check("HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\n", Framing::Length(5), true);
        check("HTTP/1.1 204 No\r\n\r\n", Framing::Over, true);
        check("HTTP/1.1 304 No\r\ncontent-length: 5\r\n\r\n", Framing::Over, true);
        check("HTTP/1.1 200 OK\r\n\r\n", Framing::Rest, false);
        let chunks = Framing::Chunks(Chunk::Size);
        check("HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n", chunks, true);
        check("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n", chunks, true);
        check("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", Framing::Rest, false);
        let both = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n";
        check(both, chunks, false);
        let head = read("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n").unwrap();
        assert_eq!(head.framing(true).unwrap(), (Framing::Over, true));
    }

    #[test]
    fn a_connection_is_kept_as_its_peer_says() {
        let length = "content-length: 1\r\n\r\n";
        let one = Framing::Length(1);
        check(&format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{length}"), one, false);
        check(&format!("HTTP/1.1 200 OK\r\nconnection: x, Close\r\n{length}"), one, false);
        check(&format!("HTTP/1.0 200 OK\r\n{length}"), one, false);
        check(&format!("HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\n{length}"), one, true);
    }

    #[test]
    fn what_is_not_http_is_refused() {
        for text in [
            "nonsense\r\n\r\n",
            "HTTP/2.0 200 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 101 Switching\r\n\r\n",
            "HTTP/1.1 200 OK\rfoo: bar\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nspace : x\r\n\r\n",
            "HTTP/1.1 200 OK\r\na: b\r\n folded\r\n\r\n",
            "HTTP/1.1 200 OK\r\na: b\0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length:\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 5, 6\r\n\r\n",
            "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        ] {
            refused(text);
        }
        let many = "a: b\r\n".repeat(HEADERS + 1);
        refused(&format!("HTTP/1.1 200 OK\r\n{many}\r\n"));
    }
}
