//! Server-sent events: a stream of bytes in, events out, never more memory than allowed.
//!
//! The [`Decoder`] does no I/O. It is given the bytes as they arrive, cut in any way, and
//! gives back the events that are complete. The data of an event that arrived in one piece and
//! on one line, as nearly all do, is a slice of what arrived and not a copy.
//!
//! ```
//! use nuncio_net::sse::{Decoder, Limits};
//!
//! let mut decoder = Decoder::new(Limits::default());
//! decoder.push("id: 7\ndata: {\"n\":1}\n\n: alive\n\ndata: cut ".into());
//! let event = decoder.next_event()?.expect("it is complete");
//! assert_eq!((event.number, &event.data[..]), (1, &b"{\"n\":1}"[..]));
//! assert_eq!(event.id.as_deref(), Some(&b"7"[..]));
//! assert_eq!(decoder.next_event()?, None);
//! assert!(decoder.is_inside_event());
//! # Ok::<(), nuncio_net::sse::TooLong>(())
//! ```

mod line;

use std::{fmt, time::Duration};

use bytes::{Bytes, BytesMut};

use self::line::{Field, Lines};

/// How much a peer may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Limits {
    /// The most bytes of one line.
    pub line: usize,
    /// The most bytes from one event to the end of the next, comments between them included:
    /// a storm of comments is as endless as an event without end.
    pub event: usize,
    /// The most bytes of the whole stream.
    pub stream: u64,
}

impl Default for Limits {
    /// A line and an event 16 MiB, the stream 1 GiB.
    fn default() -> Self {
        Self { line: 16 << 20, event: 16 << 20, stream: 1 << 30 }
    }
}

/// An event that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Which one it is in its stream, counted from 1.
    pub number: u64,
    /// What its own `id:` line says, if it has one.
    pub id: Option<Bytes>,
    /// What its `event:` line says, if it has one.
    pub name: Option<Bytes>,
    /// Its `data:` lines, joined by line feeds. Never empty, and not sure to be UTF-8.
    pub data: Bytes,
}

/// A peer sends more than it may. Nothing more is read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("frame {frame}: {what} has more than {limit} bytes")]
pub struct TooLong {
    /// The event in which it happened, counted from 1.
    pub frame: u64,
    /// What is too long.
    pub what: Part,
    /// The most bytes it may have.
    pub limit: u64,
}

/// A part of a stream that has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// One line.
    Line,
    /// One event.
    Event,
    /// All of it.
    Stream,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "a line",
            Self::Event => "an event",
            Self::Stream => "the stream",
        })
    }
}

/// Reads events from bytes that arrive in pieces.
///
/// Between two calls it holds the line that is not yet complete, the lines of the event that is
/// not yet complete, and the last piece that was pushed.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    lines: Lines,
    /// Bytes of the stream, and of the event being read.
    stream_bytes: u64,
    event_bytes: usize,
    /// How many events are complete.
    events: u64,
    next: Unfinished,
    /// The last `retry:`, and the event before which it came.
    retry: Option<(Duration, u64)>,
    failure: Option<TooLong>,
}

/// An event of which the end is still to come.
#[derive(Debug, Default)]
struct Unfinished {
    id: Option<Bytes>,
    name: Option<Bytes>,
    data: Data,
}

/// The data of an event: one line is kept as it came, only more are put together.
#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    Line(Bytes),
    Lines(BytesMut),
}

impl Decoder {
    /// Begins a stream.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            lines: Lines::default(),
            stream_bytes: 0,
            event_bytes: 0,
            events: 0,
            next: Unfinished::default(),
            retry: None,
            failure: None,
        }
    }

    /// Takes the next piece of the stream. [`Decoder::next_event`] is to be asked until it has
    /// nothing more before the next one is pushed; otherwise the pieces are copied together.
    pub fn push(&mut self, piece: Bytes) {
        if self.failure.is_none() {
            self.lines.push(piece);
        }
    }

    /// Returns the next event that is complete, `None` if more bytes are needed. An error is
    /// the end of the stream, and said again however often one asks.
    pub fn next_event(&mut self) -> Result<Option<Event>, TooLong> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.read().inspect_err(|failure| {
            self.failure = Some(*failure);
            // A hostile stream is not to be remembered either.
            self.lines = Lines::default();
            self.next = Unfinished::default();
        })
    }

    /// Returns how long the peer wants its readers to wait before they come back, if it has
    /// said so.
    pub fn retry(&self) -> Option<Duration> {
        self.retry.map(|(delay, _)| delay)
    }

    /// Returns the same if the peer has said so after the last event: it takes its leave then,
    /// and wants its readers back.
    pub fn parting(&self) -> Option<Duration> {
        self.retry.filter(|(_, frame)| *frame == self.frame()).map(|(delay, _)| delay)
    }

    /// Tells whether an event, or a line, has begun and not ended: a stream that ends here was
    /// cut.
    pub fn is_inside_event(&self) -> bool {
        self.lines.is_inside_line() || !matches!(self.next.data, Data::None)
    }

    /// Returns the number of the event that is being read, counted from 1.
    pub const fn frame(&self) -> u64 {
        self.events + 1
    }

    fn read(&mut self) -> Result<Option<Event>, TooLong> {
        loop {
            let before = self.lines.taken();
            let line = self.lines.next_line(self.limits.line);
            let taken = self.lines.taken() - before;
            self.count(taken)?;
            let Some(line) = line.map_err(|()| self.too_long(Part::Line))? else {
                return Ok(None);
            };
            let text = self.lines.text(&line);
            if text.is_empty() {
                if let Some(event) = self.finish() {
                    return Ok(Some(event));
                }
                continue;
            }
            match Field::of(text) {
                Field::Data(value) => self.next.data.add(self.lines.part(&line, value)),
                Field::Id(value) => self.next.id = Some(self.lines.part(&line, value)),
                Field::Event(value) => self.next.name = Some(self.lines.part(&line, value)),
                Field::Retry(delay) => self.retry = Some((delay, self.frame())),
                Field::Other => {}
            }
        }
    }

    fn count(&mut self, bytes: usize) -> Result<(), TooLong> {
        self.stream_bytes = self.stream_bytes.saturating_add(bytes as u64);
        self.event_bytes = self.event_bytes.saturating_add(bytes);
        if self.event_bytes > self.limits.event {
            return Err(self.too_long(Part::Event));
        }
        if self.stream_bytes > self.limits.stream {
            return Err(self.too_long(Part::Stream));
        }
        Ok(())
    }

    fn too_long(&self, what: Part) -> TooLong {
        let limit = match what {
            Part::Line => self.limits.line as u64,
            Part::Event => self.limits.event as u64,
            Part::Stream => self.limits.stream,
        };
        TooLong { frame: self.frame(), what, limit }
    }

    /// Ends an event. One without data only keeps the connection alive.
    fn finish(&mut self) -> Option<Event> {
        let Unfinished { id, name, data } = std::mem::take(&mut self.next);
        let data = match data {
            Data::None => return None,
            Data::Line(line) => line,
            Data::Lines(lines) => lines.freeze(),
        };
        if data.is_empty() {
            return None;
        }
        self.events += 1;
        self.event_bytes = 0;
        Some(Event { number: self.events, id, name, data })
    }
}

impl Data {
    fn add(&mut self, line: Bytes) {
        *self = match std::mem::take(self) {
            Self::None => Self::Line(line),
            Self::Line(first) => {
                let mut lines = BytesMut::with_capacity(first.len() + 1 + line.len());
                lines.extend_from_slice(&first);
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&line);
                Self::Lines(lines)
            }
            Self::Lines(mut lines) => {
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&line);
                Self::Lines(lines)
            }
        };
    }
}

#[cfg(test)]
mod tests;
