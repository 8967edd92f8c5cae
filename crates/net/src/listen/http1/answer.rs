//! Answers as they go over the wire.

use std::{
    cell::RefCell,
    io::{self, IoSlice, Write as _},
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::{Buf, Bytes};
use http::{
    HeaderName, StatusCode, Version,
    header::{CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING},
    response,
};
use tokio::io::AsyncWrite;

use crate::http1::{self, number};

/// What is said to somebody who waits before it sends a body.
pub(super) const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What a request says about how it can be answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) version: Version,
    /// Whether nothing follows the head of the answer.
    pub(super) is_head: bool,
}

/// What is still to be said of the body of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Nothing,
    /// So many bytes, at least one.
    Length(u64),
    Chunks,
    /// Everything until the connection is closed.
    Open,
}

/// What waits to be written. Small pieces are put together, a large one goes as it is.
#[derive(Default)]
pub(super) struct Out {
    bytes: Vec<u8>,
    /// How much of the bytes is over.
    at: usize,
    piece: Bytes,
    /// What follows the piece.
    tail: &'static [u8],
}

/// A piece of a body that is not larger is copied.
const SMALL_PIECE: usize = 4 * 1024;
/// What is kept for a peer that does not read, besides a piece that is larger than this.
const MOST_BYTES: usize = 64 * 1024;

impl Out {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes the head of an answer. Framing is that of the body, whatever the headers say; a
    /// length that they give is believed if the body does not tell its own.
    pub(super) fn push_head(
        &mut self,
        head: &response::Parts,
        asked: Asked,
        exact: Option<u64>,
        is_kept: &mut bool,
    ) -> Rest {
        let given = head.headers.get(CONTENT_LENGTH);
        let given = given.and_then(|length| number(length.as_bytes(), 10));
        let (rest, length) = match head.status {
            StatusCode::NO_CONTENT => (Rest::Nothing, None),
            StatusCode::NOT_MODIFIED => (Rest::Nothing, given),
            _ if asked.is_head => {
                (Rest::Nothing, given.or_else(|| exact.filter(|exact| *exact > 0)))
            }
            _ => match exact.or(given) {
                Some(0) => (Rest::Nothing, Some(0)),
                Some(length) => (Rest::Length(length), Some(length)),
                None if asked.version == Version::HTTP_11 => (Rest::Chunks, None),
                None => (Rest::Open, None),
            },
        };
        // A service may want the connection to end, too.
        *is_kept &= rest != Rest::Open && http1::is_kept(Version::HTTP_11, &head.headers);

        let line = |(name, value): (&HeaderName, &http::HeaderValue)| {
            name.as_str().len() + value.len() + 4
        };
        let size: usize = head.headers.iter().map(line).sum();
        let small = exact.map_or(0, |exact| exact.min(SMALL_PIECE as u64));
        self.bytes.reserve(160 + size + usize::try_from(small).unwrap_or_default());
        let is_old = asked.version != Version::HTTP_11;
        self.push(if is_old { b"HTTP/1.0 " } else { b"HTTP/1.1 " });
        self.push(head.status.as_str().as_bytes());
        self.push(b" ");
        self.push(head.status.canonical_reason().unwrap_or("Unknown").as_bytes());
        for (name, value) in &head.headers {
            if matches!(*name, CONNECTION | CONTENT_LENGTH | TRANSFER_ENCODING) {
                continue;
            }
            self.push(b"\r\n");
            self.push(name.as_str().as_bytes());
            self.push(b": ");
            self.push(value.as_bytes());
        }
        if let Some(length) = length {
            self.push(b"\r\ncontent-length: ");
            self.push_number(format_args!("{length}"));
        } else if rest == Rest::Chunks {
            self.push(b"\r\ntransfer-encoding: chunked");
        }
        if !*is_kept {
            self.push(b"\r\nconnection: close");
        } else if is_old {
            self.push(b"\r\nconnection: keep-alive");
        }
        if !head.headers.contains_key(DATE) {
            self.push(b"\r\ndate: ");
            push_date(&mut self.bytes);
        }
        self.push(b"\r\n\r\n");
        rest
    }

    /// Adds a piece of the body.
    pub(super) fn push_piece(&mut self, rest: &mut Rest, mut data: impl Buf) -> io::Result<()> {
        let length = data.remaining();
        if length == 0 {
            return Ok(());
        }
        match rest {
            Rest::Length(left) => match left.checked_sub(length as u64) {
                Some(0) => *rest = Rest::Nothing,
                Some(more) => *left = more,
                None => return Err(io::Error::other("the body is longer than it says")),
            },
            Rest::Chunks => {
                self.push_number(format_args!("{length:x}"));
                self.push(b"\r\n");
            }
            Rest::Open => {}
            Rest::Nothing => return Err(io::Error::other("a body where there is none")),
        }
        let tail: &[u8] = if *rest == Rest::Chunks { b"\r\n" } else { b"" };
        if length <= SMALL_PIECE {
            while data.has_remaining() {
                let chunk = data.chunk();
                let count = chunk.len();
                self.push(chunk);
                data.advance(count);
            }
            self.push(tail);
        } else {
            self.piece = data.copy_to_bytes(length);
            self.tail = tail;
        }
        Ok(())
    }

    /// Ends the body.
    pub(super) fn push_end(&mut self, rest: &mut Rest) -> io::Result<()> {
        match std::mem::replace(rest, Rest::Nothing) {
            Rest::Length(_) => Err(io::Error::other("the body is shorter than it says")),
            Rest::Chunks => {
                self.push(b"0\r\n\r\n");
                Ok(())
            }
            Rest::Open | Rest::Nothing => Ok(()),
        }
    }

    /// Returns whether more can be added.
    pub(super) fn has_room(&self) -> bool {
        self.piece.is_empty() && self.tail.is_empty() && self.bytes.len() < MOST_BYTES
    }

    /// Writes everything.
    pub(super) fn poll_send(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let bytes = &self.bytes[self.at..];
            let stream = Pin::new(&mut *stream);
            let count = if self.piece.is_empty() && self.tail.is_empty() {
                if bytes.is_empty() {
                    self.bytes.clear();
                    self.at = 0;
                    return stream.poll_flush(cx);
                }
                ready!(stream.poll_write(cx, bytes))?
            } else {
                let slices = [bytes, &self.piece, self.tail].map(IoSlice::new);
                ready!(stream.poll_write_vectored(cx, &slices))?
            };
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(count);
        }
    }

    /// Gives back what memory it can.
    pub(super) fn release(&mut self) {
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
    }

    fn advance(&mut self, count: usize) {
        let of_bytes = count.min(self.bytes.len() - self.at);
        self.at += of_bytes;
        let of_piece = (count - of_bytes).min(self.piece.len());
        self.piece.advance(of_piece);
        self.tail = &self.tail[count - of_bytes - of_piece..];
    }

    fn push_number(&mut self, number: std::fmt::Arguments<'_>) {
        // A vector takes whatever is written.
        let _ = self.bytes.write_fmt(number);
    }
}

impl Rest {
    pub(super) fn is_nothing(self) -> bool {
        self == Self::Nothing
    }
}

/// Writes the time of day, of which a text is made once a second.
fn push_date(out: &mut Vec<u8>) {
    thread_local! {
        static DATE: RefCell<(u64, String)> = const { RefCell::new((u64::MAX, String::new())) };
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    DATE.with_borrow_mut(|(second, text)| {
        if *second != now {
            *second = now;
            *text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(now));
        }
        out.extend_from_slice(text.as_bytes());
    });
}
