//! Where HTTP/1 requests begin and end, read a second time and more strictly.
//!
//! Hyper takes a request with both a length and chunks by its chunks, drops the length, and
//! takes lines that end without a carriage return. RFC 9112 allows both, but a proxy in front
//! of us may have understood otherwise, and then what it took for a body is a request to us.
//! No service could tell, so such requests are found here, on the way to hyper, and refused.

/// Follows the requests of a connection. It reads heads and the sizes of chunks and skips
/// everything else.
#[derive(Debug)]
pub(super) struct Framing {
    state: State,
    head: Head,
    /// The beginning of a line of which the end has not come.
    line: Line,
    /// How many heads have ended.
    heads: u32,
}

/// From this request on, counted from zero, nothing is as it seems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ambiguous(pub(super) u32);

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before a request line.
    Start,
    /// Between a request line and the empty line after the headers.
    Headers,
    /// This much of a body with a length is to come.
    Body(u64),
    ChunkSize,
    /// This much of a chunk is to come.
    Chunk(u64),
    ChunkEnd,
    Trailers,
    /// Found ambiguous. Nothing more is read.
    Lost,
    /// Not HTTP/1. Nothing is read.
    Off,
}

/// What the headers so far say of the body.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    length: Option<u64>,
    is_chunked: bool,
}

/// As much of a line as it takes to know what it is.
#[derive(Debug)]
struct Line {
    start: [u8; LINE_BYTES],
    length: u32,
    last: u8,
}

/// Room for the longest line that matters, a length of twenty digits.
const LINE_BYTES: usize = 40;

impl Framing {
    pub(super) fn new() -> Self {
        Self {
            state: State::Start,
            head: Head::default(),
            line: Line { start: [0; LINE_BYTES], length: 0, last: 0 },
            heads: 0,
        }
    }

    pub(super) fn turn_off(&mut self) {
        self.state = State::Off;
    }

    /// Returns whether more of a request is to come.
    pub(super) fn is_within_request(&self) -> bool {
        !matches!(self.state, State::Start | State::Off)
    }

    /// Reads on. After an error it reads nothing more.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Result<(), Ambiguous> {
        while !bytes.is_empty() {
            match self.state {
                State::Lost | State::Off => return Ok(()),
                State::Body(left) => {
                    let left = skip(&mut bytes, left);
                    self.state = if left == 0 { State::Start } else { State::Body(left) };
                }
                State::Chunk(left) => {
                    let left = skip(&mut bytes, left);
                    self.state = if left == 0 { State::ChunkEnd } else { State::Chunk(left) };
                }
                _ => {
                    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else {
                        self.line.keep(bytes);
                        return Ok(());
                    };
                    let (line, rest) = bytes.split_at(end);
                    bytes = rest.get(1..).unwrap_or_default();
                    if self.read_line(line).is_none() {
                        self.state = State::Lost;
                        return Err(Ambiguous(self.heads));
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes a line, without its line feed. `None` is one that is not to be.
    fn read_line(&mut self, end: &[u8]) -> Option<()> {
        if self.line.length == 0 {
            let line = end.strip_suffix(b"\r")?;
            return self.take(&line[..line.len().min(LINE_BYTES)], line.len());
        }
        self.line.keep(end);
        if self.line.last != b'\r' {
            return None;
        }
        let (start, length) = (self.line.start, self.line.length as usize - 1);
        self.line.length = 0;
        self.take(&start[..length.min(LINE_BYTES)], length)
    }

    /// Takes a line of this length, of which the beginning is known.
    fn take(&mut self, line: &[u8], length: usize) -> Option<()> {
        self.state = match self.state {
            // Empty lines before a request are skipped by hyper, too.
            State::Start | State::Trailers if length == 0 => State::Start,
            State::Start => {
                self.head = Head::default();
                State::Headers
            }
            State::Headers if length == 0 => {
                let next = match self.head {
                    Head { length: Some(_), is_chunked: true } => return None,
                    Head { is_chunked: true, .. } => State::ChunkSize,
                    Head { length: None | Some(0), .. } => State::Start,
                    Head { length: Some(length), .. } => State::Body(length),
                };
                self.heads = self.heads.saturating_add(1);
                next
            }
            State::Headers => {
                self.head.read(line, length)?;
                State::Headers
            }
            State::ChunkSize => match chunk_size(line, length)? {
                0 => State::Trailers,
                size => State::Chunk(size),
            },
            State::ChunkEnd if length == 0 => State::ChunkSize,
            State::Trailers => State::Trailers,
            State::ChunkEnd | State::Body(_) | State::Chunk(_) | State::Lost | State::Off => {
                return None;
            }
        };
        Some(())
    }
}

impl Head {
    fn read(&mut self, line: &[u8], length: usize) -> Option<()> {
        if has_name(line, b"transfer-encoding:") {
            self.is_chunked = true;
        } else if has_name(line, b"content-length:") {
            // Twice the same length is one too many, and one with so much space before it that
            // it does not fit is an attempt to hide it.
            if self.length.is_some() || length > line.len() {
                return None;
            }
            let digits = line[b"content-length:".len()..].trim_ascii();
            self.length = Some(number(digits, 10)?);
        }
        Some(())
    }
}

impl Line {
    fn keep(&mut self, bytes: &[u8]) {
        let Some(&last) = bytes.last() else { return };
        let kept = (self.length as usize).min(LINE_BYTES);
        let more = bytes.len().min(LINE_BYTES - kept);
        self.start[kept..kept + more].copy_from_slice(&bytes[..more]);
        self.length = self.length.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.last = last;
    }
}

fn skip(bytes: &mut &[u8], count: u64) -> u64 {
    let skipped = usize::try_from(count).unwrap_or(usize::MAX).min(bytes.len());
    *bytes = &bytes[skipped..];
    count - skipped as u64
}

fn has_name(line: &[u8], name: &[u8]) -> bool {
    line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

fn chunk_size(line: &[u8], length: usize) -> Option<u64> {
    match line.iter().position(|byte| matches!(byte, b';' | b' ' | b'\t')) {
        Some(end) => number(&line[..end], 16),
        None if length == line.len() => number(line, 16),
        None => None,
    }
}

/// Reads digits and nothing but digits: no sign, no space.
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let digits = str::from_utf8(digits).ok()?;
    let is_plain = digits.chars().all(|digit| digit.is_digit(radix));
    if is_plain { u64::from_str_radix(digits, radix).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLEAR: &[&str] = &[
        "GET / HTTP/1.1\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n\n\n\n\n\n",
        "POST / HTTP/1.1\r\ncontent-length:0\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\nb\r\nA;x=y\r\n0123456789\r\n\
         0\r\nt: railer\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nx-content-length: 3\r\n\r\n0\r\n\r\n",
    ];

    const AMBIGUOUS: &[&str] = &[
        "POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nContent-length: 5\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: +5\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 5, 5\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length:\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length:                                            5\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\nhost: a\r\n\r\n",
        "GET / HTTP/1.1\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\n\n",
    ];

    const ZEROS: &str = "00000000000000000000000000000000000000000000000005\r\n";

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<u32, Ambiguous> {
        let mut framing = Framing::new();
        for piece in pieces {
            framing.read(piece)?;
        }
        Ok(framing.heads)
    }

    #[test]
    fn clear_requests_are_counted() {
        for text in CLEAR {
            assert_eq!(read([text.as_bytes()]), Ok(1), "{text:?}");
        }
        assert_eq!(read(CLEAR.iter().map(|text| text.as_bytes())), Ok(6));
    }

    #[test]
    fn ambiguous_requests_are_found_wherever_they_are() {
        for text in AMBIGUOUS {
            assert_eq!(read([text.as_bytes()]), Err(Ambiguous(0)), "{text:?}");
            for before in CLEAR {
                let both = [before.as_bytes(), text.as_bytes()].concat();
                assert_eq!(read([&both[..]]), Err(Ambiguous(1)), "{before:?} {text:?}");
            }
        }
    }

    #[test]
    fn chunks_that_are_not_framed_as_they_say_are_found() {
        let head = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
        for chunks in
            ["3\r\nabcd\r\n", "3\nabc\r\n", "3\r\nabc\n", "x\r\n", "-1\r\n", "\r\n", ZEROS]
        {
            assert_eq!(read([head.as_bytes(), chunks.as_bytes()]), Err(Ambiguous(1)), "{chunks:?}");
        }
    }

    proptest! {
        #[test]
        fn how_bytes_are_cut_makes_no_difference(
            requests in prop::collection::vec(
                prop::sample::select([CLEAR, AMBIGUOUS].concat()), 1..6),
            cuts in prop::collection::vec(1usize..50, 1..20),
        ) {
            let whole = requests.concat();
            let (mut rest, mut pieces) = (whole.as_bytes(), Vec::new());
            for &cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(read(pieces), read([whole.as_bytes()]));
        }

        #[test]
        fn any_bytes_can_be_read(bytes: Vec<u8>) {
            let _ = read(bytes.chunks(7));
        }
    }
}
