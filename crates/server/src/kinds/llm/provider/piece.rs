//! Parts of messages, as models can be told them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use nuncio_protocol::message::{Content, Part};

/// A part that cannot be told, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Untold {
    /// Which part, from 1.
    pub(super) number: usize,
    pub(super) what: String,
}

/// A part of a message, as a model can be told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    File(File),
}

/// A file that is not text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// In small letters, without parameters.
    pub(super) media_type: String,
    pub(super) name: String,
    pub(super) source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Bytes(Bytes),
    /// The provider fetches it, not we.
    Url(String),
}

impl File {
    /// Returns the bytes in base64, if they are here.
    pub(super) fn base64(&self) -> Option<String> {
        match &self.source {
            Source::Bytes(bytes) => Some(STANDARD.encode(bytes)),
            Source::Url(_) => None,
        }
    }

    /// Returns a URL: the file's own, or one that holds its bytes.
    pub(super) fn url(&self) -> String {
        match &self.source {
            Source::Bytes(bytes) => {
                format!("data:{};base64,{}", self.media_type, STANDARD.encode(bytes))
            }
            Source::Url(url) => url.clone(),
        }
    }

    pub(super) fn is_image(&self) -> bool {
        self.media_type.starts_with("image/")
    }

    /// Says why it cannot be told, and what could be.
    pub(super) fn untold(&self, takes: &str) -> String {
        let kind = match (self.media_type.as_str(), &self.source) {
            ("", _) => "a file without media type".to_owned(),
            (media_type, Source::Bytes(_)) => format!("a file of type {media_type}"),
            (media_type, Source::Url(_)) => format!("a file of type {media_type} by its URL"),
        };
        format!("it is {kind}; the provider takes {takes}")
    }
}

/// Makes pieces of parts. What `take` gives an error for cannot be told.
pub(super) fn tell<T>(
    parts: &[Part],
    mut take: impl FnMut(Piece) -> Result<T, String>,
) -> Result<Vec<T>, Untold> {
    let told = parts.iter().enumerate().map(|(index, part)| {
        piece(part).and_then(&mut take).map_err(|what| Untold { number: index + 1, what })
    });
    told.collect()
}

/// Makes a piece of a part.
fn piece(part: &Part) -> Result<Piece, String> {
    let essence = part.media_type.split(';').next().unwrap_or_default();
    let media_type = essence.trim().to_ascii_lowercase();
    let name = part.filename.clone();
    Ok(match &part.content {
        Content::Text(text) => Piece::Text(named(&name, text)),
        Content::Data(data) => Piece::Text(named(&name, data.as_str())),
        Content::Raw(bytes) if is_text(&media_type) => {
            let text = std::str::from_utf8(bytes)
                .map_err(|_| format!("it is said to be {media_type}, and is not UTF-8"))?;
            Piece::Text(named(&name, text))
        }
        Content::Raw(bytes) => {
            Piece::File(File { media_type, name, source: Source::Bytes(bytes.clone()) })
        }
        Content::Url(url) => {
            Piece::File(File { media_type, name, source: Source::Url(url.clone()) })
        }
    })
}

fn named(name: &str, text: &str) -> String {
    if name.is_empty() { text.to_owned() } else { format!("File {name}:\n{text}") }
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/")
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml") && !media_type.starts_with("image/")
        || matches!(
            media_type,
            "application/json"
                | "application/xml"
                | "application/yaml"
                | "application/toml"
                | "application/javascript"
                | "application/sql"
        )
}
