//! Harbor's list of peers, as its configuration has it.

mod proof;

use std::{env, time::Duration};

use nuncio_protocol::dialect::WireForm;
use serde::Deserialize;

use self::proof::Proof;
use super::Peer;

/// Why a list of peers cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{problem}", place = place(*line, *column))]
#[non_exhaustive]
pub struct FileError {
    /// The line, from 1; 0 if it is the document as a whole.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// What is wrong there.
    pub problem: String,
}

/// Reads the peers in `tools.a2a_peers` of a Harbor configuration; everything else in the
/// document is Harbor's and passed over.
///
/// An entry has Harbor's keys `url`, `trust_tier`, `latency_tier_ms`,
/// `allow_insecure_loopback` and `agent_card_ttl`, and ours: `allow_plaintext`,
/// `allow_private`, `forward_identity`, `dialect`, `credentials`. Any other key is an error.
/// Secrets are not in the file: it names variables of the environment that hold them.
pub fn read_harbor(text: &str) -> Result<Vec<Peer>, FileError> {
    read_harbor_with(text, |name| env::var(name).ok())
}

/// Reads the same, with the variables that secrets are in from elsewhere.
pub fn read_harbor_with(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Peer>, FileError> {
    let document: Document = serde_saphyr::from_str(text).map_err(|error| in_our_words(&error))?;
    document.tools.a2a_peers.into_iter().map(|entry| entry.into_peer(&variable)).collect()
}

#[derive(Deserialize)]
struct Document {
    tools: Tools,
}

#[derive(Deserialize)]
struct Tools {
    a2a_peers: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "they are the keys of the file")]
struct Entry {
    url: String,
    trust_tier: u8,
    #[serde(default)]
    latency_tier_ms: u64,
    /// Says what holds anyway: http is for this machine (C-23).
    #[serde(default)]
    #[expect(dead_code, reason = "it is read so that Harbor's entries are taken as they are")]
    allow_insecure_loopback: bool,
    agent_card_ttl: Option<GoDuration>,
    #[serde(default)]
    allow_plaintext: bool,
    #[serde(default)]
    allow_private: bool,
    #[serde(default)]
    forward_identity: bool,
    dialect: Option<Dialect>,
    credentials: Option<Proof>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Dialect {
    Harbor,
    Molecule,
    Opportunity,
    PocketPaw,
    Upal,
}

impl Entry {
    fn into_peer(self, variable: &impl Fn(&str) -> Option<String>) -> Result<Peer, FileError> {
        let credentials = self.credentials.map(|proof| proof.bind(&self.url, variable));
        let mut peer = Peer::new(self.url, self.trust_tier)
            .latency(Duration::from_millis(self.latency_tier_ms));
        if let Some(credentials) = credentials.transpose()? {
            peer = peer.credentials(credentials);
        }
        if let Some(GoDuration(ttl)) = self.agent_card_ttl {
            peer = peer.card_ttl(ttl);
        }
        if self.allow_plaintext {
            peer = peer.allow_plaintext();
        }
        if self.allow_private {
            peer = peer.allow_private();
        }
        if self.forward_identity {
            peer = peer.forward_identity();
        }
        if let Some(dialect) = self.dialect {
            peer = peer.dialect(match dialect {
                Dialect::Harbor => WireForm::Harbor,
                Dialect::Molecule => WireForm::Molecule,
                Dialect::Opportunity => WireForm::Opportunity,
                Dialect::PocketPaw => WireForm::PocketPaw,
                Dialect::Upal => WireForm::Upal,
            });
        }
        Ok(peer)
    }
}

/// A duration as Go writes it: `10m`, `1h30m`, `500ms`, `1.5s`, `0`.
struct GoDuration(Duration);

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let invalid = || serde::de::Error::custom("expected a duration such as `10m` or `1h30m`");
        go_duration(text.trim()).map(Self).ok_or_else(invalid)
    }
}

fn go_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, unit) = rest.split_at(digits);
        let length = unit.find(|letter: char| letter.is_ascii_digit()).unwrap_or(unit.len());
        let (unit, behind) = unit.split_at(length);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let number: f64 = number.parse().ok()?;
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = behind;
    }
    (!text.is_empty()).then_some(total)
}

fn in_our_words(error: &serde_saphyr::Error) -> FileError {
    let location = error.location();
    let (line, column) = location.map_or((0, 0), |place| (place.line(), place.column()));
    // The first line says what is wrong; a picture of the place may follow.
    let text = error.without_snippet().to_string();
    let problem = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    FileError { line, column, problem }
}

fn place(line: u64, column: u64) -> String {
    if line == 0 { String::new() } else { format!("line {line}, column {column}: ") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "
llm: {model: some}
tools:
  http: []
  a2a_peers:
    - url: https://a.example
      trust_tier: 5
      latency_tier_ms: 50
      allow_insecure_loopback: true
      agent_card_ttl: 1h30m
    - url: http://10.0.0.1:8080
      trust_tier: 1
      allow_plaintext: true
      allow_private: true
      forward_identity: true
      dialect: pocketpaw
";

    #[test]
    fn harbors_entries_are_taken_as_they_are() {
        let peers = read_harbor(GOOD).unwrap();
        let [first, second] = &peers[..] else { panic!("two peers") };
        assert_eq!((first.url(), first.trust()), ("https://a.example", 5));
        assert_eq!(first.latency_hint(), Duration::from_millis(50));
        assert_eq!(
            first.ask(crate::discover::Source::url("x:")).ttl,
            Some(Duration::from_secs(5400))
        );
        assert!(!first.forwards_identity() && !first.allows_plaintext());
        assert!(second.forwards_identity() && second.allows_plaintext());
        assert_eq!(second.spoken_dialect(), Some(WireForm::PocketPaw));
    }

    #[track_caller]
    fn check_refused(entry: &str, line: u64, expected: &str) {
        let text = format!("tools:\n  a2a_peers:\n    - url: https://a.example\n      {entry}\n");
        let error = read_harbor(&text).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        check_refused("trust_teir: 5", 4, "trust_teir");
        check_refused("trust_tier: many", 4, "");
        check_refused("trust_tier: 5\n      latency_tier_ms: -1", 5, "");
        check_refused("trust_tier: 5\n      agent_card_ttl: soon", 5, "duration");
        check_refused("trust_tier: 5\n      trust_tier: 4", 5, "duplicate");
        check_refused("trust_tier: 5\n      dialect: klingon", 5, "klingon");
        assert!(read_harbor("tools: {}").unwrap_err().to_string().contains("a2a_peers"));
        assert!(read_harbor("").is_err());
    }

    #[test]
    fn durations_are_gos() {
        for (text, millis) in [
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("1.5s", 1500),
            ("500ms", 500),
            ("0", 0),
            ("2m0.5s", 120_500),
        ] {
            assert_eq!(go_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "10", "m", "10d", "-1s", "1..5s", "99999999999999999999h"] {
            assert_eq!(go_duration(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = read_harbor(&text);
            let _ = go_duration(&text);
            let _ = read_harbor(&format!("tools: {{a2a_peers: [{{url: {text}}}]}}"));
        }
    }
}
