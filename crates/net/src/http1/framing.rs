//! Where a body ends.

use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderName, HeaderValue};

use super::{Fault, number};

/// What is still to come of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Head {
        /// Whether nothing follows, whatever it says.
        skips_body: bool,
    },
    /// So many bytes, at least one.
    Length(u64),
    Chunks(Chunk),
    /// Everything until the connection is closed.
    Rest,
    /// Nothing.
    Over,
}

/// What comes next in a body of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    Size,
    /// So many bytes, at least one.
    Data(u64),
    End,
    /// Lines behind the last chunk, of which there were so many bytes.
    Trailers(usize),
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Piece(Bytes),
    /// More has to arrive first.
    Nothing,
    End,
}

/// The most bytes of a line before a chunk, and of all lines behind the last.
const LONGEST_LINE: usize = 4 * 1024;
const TRAILER_BYTES: usize = 16 * 1024;

impl Framing {
    /// Takes the next piece of a body off what was received.
    pub(crate) fn take(&mut self, received: &mut BytesMut) -> Result<Taken, Fault> {
        loop {
            *self = match *self {
                Self::Over => return Ok(Taken::End),
                _ if received.is_empty() => return Ok(Taken::Nothing),
                Self::Head { .. } => return Err(Fault::Malformed("a body before its head")),
                Self::Rest => return Ok(Taken::Piece(received.split().freeze())),
                Self::Length(left) => {
                    let (piece, left) = split(received, left);
                    *self = if left == 0 { Self::Over } else { Self::Length(left) };
                    return Ok(Taken::Piece(piece));
                }
                Self::Chunks(Chunk::Data(left)) => {
                    let (piece, left) = split(received, left);
                    let next = if left == 0 { Chunk::End } else { Chunk::Data(left) };
                    *self = Self::Chunks(next);
                    return Ok(Taken::Piece(piece));
                }
                Self::Chunks(chunk) => {
                    let Some(end) = memchr::memchr(b'\n', received) else {
                        let is_too_long = received.len() > LONGEST_LINE;
                        return if is_too_long { Err(Fault::TooLong) } else { Ok(Taken::Nothing) };
                    };
                    let line = received[..end].strip_suffix(b"\r");
                    let line = line.ok_or(Fault::Malformed("a line that does not end in CRLF"))?;
                    let next = chunk.after(line)?;
                    received.advance(end + 1);
                    next.map_or(Self::Over, Self::Chunks)
                }
            };
        }
    }
}

impl Chunk {
    /// Returns what comes behind a line; `None`: nothing.
    fn after(self, line: &[u8]) -> Result<Option<Self>, Fault> {
        match self {
            Self::Size => {
                let end = line.iter().position(|byte| matches!(byte, b';' | b' ' | b'\t'));
                match number(&line[..end.unwrap_or(line.len())], 16) {
                    Some(0) => Ok(Some(Self::Trailers(0))),
                    Some(size) => Ok(Some(Self::Data(size))),
                    None => Err(Fault::Malformed("a chunk without a size")),
                }
            }
            Self::End if line.is_empty() => Ok(Some(Self::Size)),
            Self::Trailers(_) if line.is_empty() => Ok(None),
            Self::Trailers(bytes) if bytes + line.len() > TRAILER_BYTES => Err(Fault::TooLong),
            Self::Trailers(_) if !is_header(line) => {
                Err(Fault::Malformed("a trailer that is no header"))
            }
            Self::Trailers(bytes) => Ok(Some(Self::Trailers(bytes + line.len() + 2))),
            Self::End | Self::Data(_) => Err(Fault::Malformed("a chunk longer than its size")),
        }
    }
}

/// Takes as much as there is, but no more than is left. Returns how much is left then.
fn split(received: &mut BytesMut, left: u64) -> (Bytes, u64) {
    let count = usize::try_from(left).unwrap_or(usize::MAX).min(received.len());
    (received.split_to(count).freeze(), left - count as u64)
}

/// Tells whether a line, without its end, is a header.
fn is_header(line: &[u8]) -> bool {
    let Some(colon) = memchr::memchr(b':', line) else { return false };
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    HeaderName::from_bytes(name).is_ok() && HeaderValue::from_bytes(value).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a body that arrives in pieces; how many bytes came behind it.
    fn read(mut framing: Framing, pieces: &[&[u8]]) -> Result<(Vec<u8>, Option<usize>), Fault> {
        let (mut body, mut received) = (Vec::new(), BytesMut::new());
        let mut is_over = false;
        for piece in pieces {
            received.extend_from_slice(piece);
            loop {
                match framing.take(&mut received)? {
                    Taken::Piece(piece) => body.extend_from_slice(&piece),
                    Taken::Nothing => break,
                    Taken::End => {
                        is_over = true;
                        break;
                    }
                }
            }
        }
        Ok((body, is_over.then_some(received.len())))
    }

    const CHUNKS: Framing = Framing::Chunks(Chunk::Size);
    const BODY: &str = "5\r\nhello\r\nA;x=y\r\n0123456789\r\n1 \r\n!\r\n0\r\nt: railer\r\n\r\nnext";

    #[test]
    fn chunks_are_put_together() {
        let (body, rest) = read(CHUNKS, &[BODY.as_bytes()]).unwrap();
        assert_eq!((&body[..], rest), (&b"hello0123456789!"[..], Some(4)));
        let (body, rest) = read(CHUNKS, &[b"5\r\nhel"]).unwrap();
        assert_eq!((&body[..], rest), (&b"hel"[..], None));
    }

    #[test]
    fn a_length_is_held() {
        let (body, rest) = read(Framing::Length(5), &[b"hel", b"lonext"]).unwrap();
        assert_eq!((&body[..], rest), (&b"hello"[..], Some(4)));
    }

    #[test]
    fn chunks_that_are_not_framed_as_they_say_are_refused() {
        for text in [
            "\r\n",
            "x\r\n",
            "-1\r\n",
            "+1\r\n",
            "3\nabc\r\n",
            "3\r\nabcd\r\n",
            "3\r\nabc\n",
            "10000000000000000\r\n",
        ] {
            assert!(read(CHUNKS, &[text.as_bytes()]).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_is_between_chunks_is_limited() {
        let endless = format!("1;{}", "x".repeat(LONGEST_LINE + 1));
        assert!(matches!(read(CHUNKS, &[endless.as_bytes()]), Err(Fault::TooLong)));
        let endless = format!("0\r\n{}", "t: railer\r\n".repeat(TRAILER_BYTES / 8));
        assert!(matches!(read(CHUNKS, &[endless.as_bytes()]), Err(Fault::TooLong)));
    }

    proptest! {
        #[test]
        fn how_bytes_are_cut_makes_no_difference(
            cuts in prop::collection::vec(1usize..20, 1..20),
        ) {
            let (mut rest, mut pieces) = (BODY.as_bytes(), Vec::new());
            for &cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            let (body, rest) = read(CHUNKS, &pieces).unwrap();
            prop_assert_eq!(&body[..], &b"hello0123456789!"[..]);
            prop_assert_eq!(rest, Some(4));
        }

        #[test]
        fn any_bytes_can_be_read(bytes: Vec<u8>) {
            let pieces: Vec<&[u8]> = bytes.chunks(7).collect();
            let _ = read(CHUNKS, &pieces);
        }
    }
}
