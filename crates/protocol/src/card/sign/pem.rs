//! PEM, the text form of keys (RFC 7468).

use base64::{Engine as _, engine::general_purpose::STANDARD};

const LINE: usize = 64;

/// Returns the label and the bytes of the first private key in a text.
///
/// OpenSSL writes the parameters of a curve in front of the key; they are passed over.
pub(super) fn private_key(text: &str) -> Option<(String, Vec<u8>)> {
    let mut rest = text;
    loop {
        let (_, behind) = rest.split_once("-----BEGIN ")?;
        let (label, body) = behind.split_once("-----")?;
        let (body, behind) = body.split_once(&format!("-----END {label}-----"))?;
        if label.ends_with("PRIVATE KEY") {
            let body: String = body.split_ascii_whitespace().collect();
            return Some((label.to_owned(), STANDARD.decode(body).ok()?));
        }
        rest = behind;
    }
}

pub(super) fn write(label: &str, bytes: &[u8]) -> String {
    let body = STANDARD.encode(bytes);
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = body.as_str();
    while !rest.is_empty() {
        // Base64 is ASCII, so that any place is between two characters.
        let (line, behind) = rest.split_at(rest.len().min(LINE));
        out.push_str(line);
        out.push('\n');
        rest = behind;
    }
    out.push_str("-----END ");
    out.push_str(label);
    out.push_str("-----\n");
    out
}
