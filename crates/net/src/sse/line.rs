//! Lines, and what they say.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

/// Cuts a stream into lines that end in CR, LF or CRLF.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// What arrived last and was not yet taken.
    piece: Bytes,
    /// The beginning of a line of which the end has not yet arrived.
    begun: BytesMut,
    /// Whether the last line ended in CR, so that an LF that follows belongs to it.
    after_return: bool,
    /// Whether any line was taken: only the first can begin with a byte order mark.
    has_begun: bool,
    taken: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Lines {
    pub(super) fn push(&mut self, piece: Bytes) {
        if self.piece.is_empty() {
            self.piece = piece;
        } else {
            self.piece = [&self.piece[..], &piece[..]].concat().into();
        }
    }

    /// Returns how many bytes were taken, line ends included. It wraps around.
    pub(super) const fn taken(&self) -> usize {
        self.taken
    }

    pub(super) fn is_inside_line(&self) -> bool {
        !self.begun.is_empty() || !self.piece.is_empty()
    }

    /// Takes the next line, without its end; `None` if it has not yet arrived. Fails if the
    /// line is longer than the limit, before that much of it is kept.
    pub(super) fn next_line(&mut self, limit: usize) -> Result<Option<Bytes>, ()> {
        if self.after_return && !self.piece.is_empty() {
            self.after_return = false;
            if self.piece[0] == b'\n' {
                self.take(1);
            }
        }
        let end = memchr::memchr2(b'\n', b'\r', &self.piece);
        let length = end.unwrap_or(self.piece.len());
        if self.begun.len() + length > limit {
            return Err(());
        }
        let text = self.take(length);
        let Some(_) = end else {
            self.begun.extend_from_slice(&text);
            return Ok(None);
        };
        self.after_return = self.take(1)[0] == b'\r';
        let line = if self.begun.is_empty() {
            text
        } else {
            self.begun.extend_from_slice(&text);
            std::mem::take(&mut self.begun).freeze()
        };
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first && line.starts_with(BYTE_ORDER_MARK) {
            return Ok(Some(line.slice(BYTE_ORDER_MARK.len()..)));
        }
        Ok(Some(line))
    }

    fn take(&mut self, length: usize) -> Bytes {
        self.taken = self.taken.wrapping_add(length);
        self.piece.split_to(length)
    }
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field {
    Data(Bytes),
    Id(Bytes),
    Event(Bytes),
    Retry(Duration),
    /// A comment, or a field that nobody knows.
    Other,
}

impl Field {
    pub(super) fn of(line: &Bytes) -> Self {
        let colon = memchr::memchr(b':', line);
        let name = &line[..colon.unwrap_or(line.len())];
        let value = || match colon {
            None => Bytes::new(),
            Some(colon) if line.get(colon + 1) == Some(&b' ') => line.slice(colon + 2..),
            Some(colon) => line.slice(colon + 1..),
        };
        match name {
            b"data" => Self::Data(value()),
            b"id" => Self::Id(value()),
            b"event" => Self::Event(value()),
            b"retry" => match retry(&value()) {
                Some(delay) => Self::Retry(delay),
                None => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

/// Reads a number of milliseconds, in digits and nothing else.
fn retry(value: &[u8]) -> Option<Duration> {
    if !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok().map(Duration::from_millis)
}
