//! What a provider streams, as it arrives.

use bytes::{Bytes, BytesMut};
use nuncio_net::sse::{self, Decoder};

use super::{
    ProviderKind, anthropic::Anthropic, gemini::Gemini, ollama::Ollama, openai::OpenAi,
    wire::Events,
};
use crate::kinds::llm::Delta;

/// Reads what a provider streams. It does no I/O: it is given the bytes as they arrive, cut in
/// any way, and gives back what they say.
#[derive(Debug)]
pub struct Reading {
    frames: Frames,
    events: Box<dyn Events>,
    /// How much the model has said, and may say.
    bytes: usize,
    limit: usize,
}

/// Why a stream is worth nothing more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Spoilt {
    /// It is not what such a provider says.
    #[error("{what}")]
    Unreadable {
        /// What is wrong with it.
        what: String,
    },
    /// The provider says that it has failed.
    #[error("{told}")]
    BrokenOff {
        /// What it says.
        told: String,
        /// Whether it may fare better another time.
        may_pass: bool,
    },
    /// It ended before the answer did.
    #[error("it ended too early")]
    Cut,
    /// The answer is too long.
    #[error("more than {limit} bytes")]
    TooLarge {
        /// How many it may have.
        limit: usize,
    },
}

/// Where one event ends and the next begins.
#[derive(Debug)]
enum Frames {
    Sse(Box<Decoder>),
    Lines { pending: BytesMut, limit: usize },
}

/// What a stream may have in bytes for each byte of the answer: providers wrap every few letters
/// into hundreds of bytes.
const WRAPPING: u64 = 256;

impl Reading {
    /// Begins a stream whose answer may have so many bytes.
    pub fn new(kind: ProviderKind, limit: usize) -> Self {
        // One event holds at most the whole answer, escaped, and some words around it.
        let event = limit.saturating_mul(6).saturating_add(64 << 10);
        let stream = (limit as u64).saturating_mul(WRAPPING).saturating_add(1 << 20);
        let sse =
            || Frames::Sse(Box::new(Decoder::new(sse::Limits { line: event, event, stream })));
        let (frames, events): (Frames, Box<dyn Events>) = match kind {
            ProviderKind::OpenAi => (sse(), Box::new(OpenAi::default())),
            ProviderKind::Anthropic => (sse(), Box::new(Anthropic::default())),
            ProviderKind::Gemini => (sse(), Box::new(Gemini::default())),
            ProviderKind::Ollama => {
                let pending = BytesMut::new();
                (Frames::Lines { pending, limit: event }, Box::new(Ollama::default()))
            }
        };
        Self { frames, events, bytes: 0, limit }
    }

    /// Takes the next bytes, and returns what they say.
    pub fn push(&mut self, piece: Bytes) -> Result<Vec<Delta>, Spoilt> {
        let mut said = Vec::new();
        match &mut self.frames {
            Frames::Sse(decoder) => {
                decoder.push(piece);
                let unreadable =
                    |error: sse::TooLong| Spoilt::Unreadable { what: error.to_string() };
                while let Some(event) = decoder.next_event().map_err(unreadable)? {
                    self.events.event(utf8(&event.data)?, &mut said)?;
                }
            }
            Frames::Lines { pending, limit } => {
                pending.extend_from_slice(&piece);
                while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                    let line = pending.split_to(end + 1);
                    let line = utf8(&line)?.trim();
                    if !line.is_empty() {
                        self.events.event(line, &mut said)?;
                    }
                }
                if pending.len() > *limit {
                    return Err(Spoilt::TooLarge { limit: *limit });
                }
            }
        }
        self.count(said)
    }

    /// Hears that nothing more comes.
    pub fn finish(mut self) -> Result<Vec<Delta>, Spoilt> {
        let mut said = Vec::new();
        if let Frames::Lines { pending, .. } = &self.frames {
            let line = utf8(pending)?.trim().to_owned();
            if !line.is_empty() {
                self.events.event(&line, &mut said)?;
            }
        }
        self.events.finish(&mut said)?;
        self.count(said)
    }

    fn count(&mut self, said: Vec<Delta>) -> Result<Vec<Delta>, Spoilt> {
        let more: usize = said.iter().map(size).sum();
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > self.limit {
            return Err(Spoilt::TooLarge { limit: self.limit });
        }
        Ok(said)
    }
}

fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) => text.len(),
        Delta::Call(call) => call.name.len() + call.input.len(),
        Delta::End(_) => 0,
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, Spoilt> {
    std::str::from_utf8(bytes)
        .map_err(|_| Spoilt::Unreadable { what: "it is not UTF-8".to_owned() })
}
