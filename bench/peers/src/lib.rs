//! What the echo agent of the benchmarks does, whichever SDK it is on.

/// What every chunk says.
pub const CHUNK: &str = "0123456789abcdef0123456789abcdef";

/// The name of the one artifact.
pub const ARTIFACT: &str = "out";

/// What a message asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The text, as one artifact.
    Echo,
    /// So many chunks, with one turn of the scheduler before each.
    Chunks(usize),
    /// Work without an end.
    Hold,
}

impl Asked {
    /// Reads the text of a message.
    pub fn read(text: &str) -> Self {
        if let Some(count) = text.strip_prefix("chunks:") {
            return Self::Chunks(count.trim().parse().unwrap_or(1));
        }
        if text.starts_with("hold") { Self::Hold } else { Self::Echo }
    }
}

/// Reads a port from the environment.
pub fn port(name: &str) -> Result<u16, String> {
    let text = std::env::var(name).map_err(|_| format!("{name} is not set"))?;
    text.parse().map_err(|_| format!("{name} is no port: {text}"))
}
