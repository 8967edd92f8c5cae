//! What all kinds hear, and what they say when something elsewhere goes wrong.

use std::time::Duration;

use http::{HeaderMap, header::RETRY_AFTER};
use nuncio_net::client::ResponseBody;
use nuncio_protocol::message::Message;

/// Returns what a message says to somebody who reads text: its texts, and its data as JSON, a
/// part a line. Callers such as the opportunity agents send nothing but data.
pub fn said(message: &Message) -> String {
    let parts = message.parts.iter();
    let lines = parts.filter_map(|part| part.as_text().or_else(|| Some(part.as_data()?.as_str())));
    lines.collect::<Vec<_>>().join("\n")
}

/// Adds whether trying again may help.
pub(crate) fn again(what: &str, may_pass: bool, retry_after: Option<Duration>) -> String {
    match (may_pass, retry_after) {
        (true, Some(delay)) => {
            format!("{what}; trying again in {} s may help", delay.as_secs().max(1))
        }
        (true, None) => format!("{what}; trying again may help"),
        (false, _) => format!("{what}; trying again will not help"),
    }
}

/// Reads when a server wants to be asked again: seconds, or a date (RFC 9110 §10.2.3).
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let moment = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    let delay = moment.duration_since(jiff::Timestamp::now());
    Duration::try_from(delay).ok()
}

/// Reads the beginning of a body as text for people, and drops the rest of it.
pub(crate) async fn beginning(mut body: ResponseBody, most: usize) -> String {
    let mut kept = Vec::new();
    // A body that breaks off has said all that it had to say.
    while let Ok(Some(chunk)) = body.chunk().await {
        kept.extend_from_slice(&chunk[..chunk.len().min(most + 1 - kept.len())]);
        if kept.len() > most {
            break;
        }
    }
    shorten(&String::from_utf8_lossy(&kept), most)
}

/// Keeps the beginning of a text, and says so if that is not all.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}
