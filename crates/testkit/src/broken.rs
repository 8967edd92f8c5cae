//! Agents with a defect each, as scripts for `nuncio mock`.
//!
//! Everything but the one thing that its first line names is as it should be, so whatever looks
//! for defects can be held to finding that one and no other. Hardly any of their cards are
//! signed, which is a defect only to those who require it. Defects in documents and events are
//! on JSON-RPC and HTTP+JSON, not on gRPC.

/// An agent with a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// A short name for the defect.
    pub name: &'static str,
    /// The script.
    pub script: &'static str,
}

impl Broken {
    /// Returns a line that says what is wrong.
    pub fn defect(&self) -> &'static str {
        let first = self.script.lines().next().unwrap_or_default();
        first.trim_start_matches(['#', ' '])
    }
}

/// All of them, by name.
pub const ALL: &[Broken] = &[
    broken("always-busy", include_str!("../broken/always-busy.yaml")),
    broken("always-fails", include_str!("../broken/always-fails.yaml")),
    broken("answer-cut", include_str!("../broken/answer-cut.yaml")),
    broken("badly-signed", include_str!("../broken/badly-signed.yaml")),
    broken("binding-unknown", include_str!("../broken/binding-unknown.yaml")),
    broken("card-absent", include_str!("../broken/card-absent.yaml")),
    broken("card-as-html", include_str!("../broken/card-as-html.yaml")),
    broken("card-not-json", include_str!("../broken/card-not-json.yaml")),
    broken("card-too-large", include_str!("../broken/card-too-large.yaml")),
    broken("card-truncated", include_str!("../broken/card-truncated.yaml")),
    broken("error-as-200", include_str!("../broken/error-as-200.yaml")),
    broken("error-as-500", include_str!("../broken/error-as-500.yaml")),
    broken("error-as-string", include_str!("../broken/error-as-string.yaml")),
    broken("error-without-code", include_str!("../broken/error-without-code.yaml")),
    broken("extended-card-missing", include_str!("../broken/extended-card-missing.yaml")),
    broken("field-missing", include_str!("../broken/field-missing.yaml")),
    broken("first-event-missing", include_str!("../broken/first-event-missing.yaml")),
    broken("html-for-json", include_str!("../broken/html-for-json.yaml")),
    broken("id-not-echoed", include_str!("../broken/id-not-echoed.yaml")),
    broken("interface-missing", include_str!("../broken/interface-missing.yaml")),
    broken("name-missing", include_str!("../broken/name-missing.yaml")),
    broken("never-finishes", include_str!("../broken/never-finishes.yaml")),
    broken("old-shapes", include_str!("../broken/old-shapes.yaml")),
    broken("push-refused", include_str!("../broken/push-refused.yaml")),
    broken("says-nothing", include_str!("../broken/says-nothing.yaml")),
    broken("secretly-locked", include_str!("../broken/secretly-locked.yaml")),
    broken("silent", include_str!("../broken/silent.yaml")),
    broken("skills-missing", include_str!("../broken/skills-missing.yaml")),
    broken("slow", include_str!("../broken/slow.yaml")),
    broken("stream-as-json", include_str!("../broken/stream-as-json.yaml")),
    broken("stream-broken-event", include_str!("../broken/stream-broken-event.yaml")),
    broken("stream-cut", include_str!("../broken/stream-cut.yaml")),
    broken("stream-never-ends", include_str!("../broken/stream-never-ends.yaml")),
    broken("stream-silent", include_str!("../broken/stream-silent.yaml")),
    broken("streaming-refused", include_str!("../broken/streaming-refused.yaml")),
    broken("terminal-event-missing", include_str!("../broken/terminal-event-missing.yaml")),
    broken("unsigned", include_str!("../broken/unsigned.yaml")),
    broken("url-other-port", include_str!("../broken/url-other-port.yaml")),
    broken("url-unspecified", include_str!("../broken/url-unspecified.yaml")),
    broken("version-empty", include_str!("../broken/version-empty.yaml")),
    broken("version-ignored", include_str!("../broken/version-ignored.yaml")),
    broken("version-unknown", include_str!("../broken/version-unknown.yaml")),
];

/// Finds one by its name.
///
/// # Panics
/// If there is none.
pub fn find(name: &str) -> &'static Broken {
    let found = ALL.iter().find(|broken| broken.name == name);
    found.unwrap_or_else(|| panic!("no broken agent is called `{name}`"))
}

const fn broken(name: &'static str, script: &'static str) -> Broken {
    Broken { name, script }
}
