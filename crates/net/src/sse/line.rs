//! Lines, and what they say.

use std::{ops::Range, time::Duration};

use bytes::{Bytes, BytesMut};

/// Cuts a stream into lines that end in CR, LF or CRLF.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// What arrived last. It is let go when all of it was taken and more is asked for.
    piece: Bytes,
    /// How much of it was taken.
    at: usize,
    /// The beginning of a line of which the end has not yet arrived.
    begun: BytesMut,
    /// Whether the last line ended in CR, so that an LF that follows belongs to it.
    after_return: bool,
    /// Whether any line was taken: only the first can begin with a byte order mark.
    has_begun: bool,
    taken: usize,
}

/// A line, without its end.
#[derive(Debug)]
pub(super) enum Line {
    /// A part of the piece that arrived last.
    Within(Range<usize>),
    /// It arrived in more than one piece.
    Joined(Bytes),
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Lines {
    pub(super) fn push(&mut self, piece: Bytes) {
        let rest = &self.piece[self.at..];
        self.piece = if rest.is_empty() { piece } else { [rest, &piece[..]].concat().into() };
        self.at = 0;
    }

    /// Returns how many bytes were taken, line ends included. It wraps around.
    pub(super) const fn taken(&self) -> usize {
        self.taken
    }

    pub(super) fn is_inside_line(&self) -> bool {
        !self.begun.is_empty() || self.at < self.piece.len()
    }

    /// Takes the next line; `None` if it has not yet arrived. Fails if the line is longer than
    /// the limit, before that much of it is kept.
    pub(super) fn next_line(&mut self, limit: usize) -> Result<Option<Line>, ()> {
        if self.after_return && self.at < self.piece.len() {
            self.after_return = false;
            if self.piece[self.at] == b'\n' {
                self.take(1);
            }
        }
        let rest = &self.piece[self.at..];
        let end = memchr::memchr2(b'\n', b'\r', rest);
        let length = end.unwrap_or(rest.len());
        if self.begun.len() + length > limit {
            return Err(());
        }
        let Some(end) = end else {
            self.begun.extend_from_slice(rest);
            self.take(length);
            (self.piece, self.at) = (Bytes::new(), 0);
            return Ok(None);
        };
        self.after_return = rest[end] == b'\r';
        let mut line = if self.begun.is_empty() {
            Line::Within(self.at..self.at + length)
        } else {
            self.begun.extend_from_slice(&rest[..length]);
            Line::Joined(std::mem::take(&mut self.begun).freeze())
        };
        self.take(length + 1);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first && self.text(&line).starts_with(BYTE_ORDER_MARK) {
            line = Line::Joined(self.part(&line, BYTE_ORDER_MARK.len()));
        }
        Ok(Some(line))
    }

    /// Returns the text of the line that was taken last.
    pub(super) fn text<'a>(&'a self, line: &'a Line) -> &'a [u8] {
        match line {
            Line::Within(range) => &self.piece[range.clone()],
            Line::Joined(text) => text,
        }
    }

    /// Returns the line that was taken last from a byte of it on, without a copy.
    pub(super) fn part(&self, line: &Line, from: usize) -> Bytes {
        match line {
            Line::Within(range) => self.piece.slice(range.start + from..range.end),
            Line::Joined(text) => text.slice(from..),
        }
    }

    fn take(&mut self, length: usize) {
        self.taken = self.taken.wrapping_add(length);
        self.at += length;
    }
}

/// What a line says. A value is where in the line it begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field {
    Data(usize),
    Id(usize),
    Event(usize),
    Retry(Duration),
    /// A comment, or a field that nobody knows.
    Other,
}

impl Field {
    pub(super) fn of(line: &[u8]) -> Self {
        let colon = memchr::memchr(b':', line);
        let name = &line[..colon.unwrap_or(line.len())];
        let value = match colon {
            None => line.len(),
            Some(colon) if line.get(colon + 1) == Some(&b' ') => colon + 2,
            Some(colon) => colon + 1,
        };
        match name {
            b"data" => Self::Data(value),
            // An identifier with a NUL is none (HTML §9.2.6).
            b"id" if !line[value..].contains(&0) => Self::Id(value),
            b"event" => Self::Event(value),
            b"retry" => retry(&line[value..]).map_or(Self::Other, Self::Retry),
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
