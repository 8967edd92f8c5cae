//! The audit trail: who did what, and what was decided, in lines that hang together.
//!
//! Each line carries a hash over itself and the hash of the line before it. Whoever removes,
//! changes or swaps a line has to change every later one, and the newest hash can be kept
//! elsewhere.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::store::AuditLine;

/// What ties a line of the trail to all lines before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link([u8; 32]);

impl Link {
    /// What the first line is tied to.
    pub const START: Self = Self([0; 32]);

    /// Makes the link of a line that stands behind the one with this link.
    #[must_use]
    pub fn after(self, body: &str) -> Self {
        let mut bytes = Vec::with_capacity(32 + body.len());
        bytes.extend_from_slice(&self.0);
        bytes.extend_from_slice(body.as_bytes());
        let hash = digest(&SHA256, &bytes);
        let mut link = [0; 32];
        link.copy_from_slice(hash.as_ref());
        Self(link)
    }

    /// Returns the bytes, for a store.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Takes the bytes from a store.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A trail with a hole, or with a line that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the audit trail does not hang together at line {seq}")]
pub struct Broken {
    /// The first line that does not fit.
    pub seq: u64,
}

/// Checks that lines follow the one with number `seq` and this link, and returns the last link.
pub fn verify(seq: u64, link: Link, lines: &[AuditLine]) -> Result<Link, Broken> {
    let (_, link) = lines.iter().try_fold((seq, link), |(seq, link), line| {
        let expected = (seq + 1, link.after(&line.body));
        if (line.seq, line.link) == expected { Ok(expected) } else { Err(Broken { seq: seq + 1 }) }
    })?;
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(bodies: &[&str]) -> Vec<AuditLine> {
        let mut link = Link::START;
        let lines = (1..).zip(bodies).map(|(seq, body)| {
            link = link.after(body);
            AuditLine { seq, link, body: (*body).to_owned() }
        });
        lines.collect()
    }

    #[test]
    fn a_whole_trail_hangs_together() {
        let lines = trail(&["{}", "{\"a\":1}", "{}"]);
        assert_eq!(verify(0, Link::START, &lines), Ok(lines[2].link));
        assert_eq!(verify(1, lines[0].link, &lines[1..]), Ok(lines[2].link));
    }

    #[test]
    fn a_removed_a_changed_and_a_swapped_line_are_noticed() {
        let whole = trail(&["a", "b", "c", "d"]);
        let check = |spoil: fn(&mut Vec<AuditLine>), seq| {
            let mut lines = whole.clone();
            spoil(&mut lines);
            assert_eq!(verify(0, Link::START, &lines), Err(Broken { seq }));
        };
        check(|lines| drop(lines.remove(1)), 2);
        check(|lines| lines[2].body = "x".to_owned(), 3);
        check(|lines| lines.swap(0, 1), 1);
        // Numbered anew, the hashes still tell.
        check(
            |lines| {
                lines.remove(0);
                (1..).zip(lines).for_each(|(seq, line)| line.seq = seq);
            },
            1,
        );
    }
}
