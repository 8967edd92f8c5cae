//! What is wrong with a card, and how to mend it.
//!
//! Nothing here refuses a card: the linter reports, others decide. It looks at the card
//! alone; whether the agent keeps what the card promises is for `doctor` to find out.

mod hidden;
mod members;
mod rule;
mod security;
mod signatures;
mod url;

use std::fmt;

use super::{AgentCard, normal::read_any};
use crate::json::{self, ToJson, Writer};

pub use hidden::inert;
pub use rule::Rule;

/// The largest card that is read, in bytes.
pub const MAX_CARD_BYTES: usize = 1024 * 1024;
/// How many skills a card may list.
pub const MAX_SKILLS: usize = 500;
/// How many characters a description may have.
pub const MAX_DESCRIPTION_CHARS: usize = 2048;
/// How many signatures a card may carry: enough to rotate keys, too few to waste our time.
pub const MAX_SIGNATURES: usize = 16;

/// How many problems are reported before the linter loses interest.
const MAX_PROBLEMS: usize = 1000;

/// Something wrong with a card.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The rule that is broken.
    pub rule: Rule,
    /// Where, `skills[0].tags`; empty for the card as a whole.
    pub field: String,
    /// What is wrong there. Safe to show: hidden characters are spelled out.
    pub what: String,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Allowed, but it will hurt somebody.
    Warning,
    /// Against the specification, unsafe, or unusable.
    Error,
}

impl Severity {
    /// Returns `error` or `warning`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl Problem {
    /// Returns the stable name of the rule, `no-interface`.
    pub fn code(&self) -> &'static str {
        self.rule.code()
    }

    /// Returns how bad it is.
    pub fn severity(&self) -> Severity {
        self.rule.severity()
    }

    /// Returns how to mend it.
    pub fn fix(&self) -> &'static str {
        self.rule.fix()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: ", self.severity().as_str(), self.code())?;
        if !self.field.is_empty() {
            write!(f, "`{}`: ", self.field)?;
        }
        write!(f, "{}; {}", self.what, self.fix())
    }
}

impl ToJson for Problem {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            object.member("code", self.code());
            object.member("severity", self.severity().as_str());
            object.member("field", &self.field);
            object.member("what", &self.what);
            object.member("fix", self.fix());
        });
    }
}

/// Lists what is wrong with a card, in the order of its members.
///
/// After a thousand problems the rest is left unsaid.
pub fn lint(card: &AgentCard) -> Vec<Problem> {
    let mut report = Report::default();
    members::check(card, &mut report);
    security::check(card, &mut report);
    signatures::check(card, &mut report);
    report.problems
}

/// Lists what is wrong with a card of any form, its size and form included.
///
/// Fails only on a text that is no card at all.
pub fn lint_text(text: &str) -> Result<Vec<Problem>, json::Error> {
    let (card, form) = read_any(text)?;
    let mut report = Report::default();
    if text.len() > MAX_CARD_BYTES {
        report.add(Rule::CardTooLarge, "", format!("the card has {} bytes", text.len()));
    }
    if !form.is_v1() {
        report.add(Rule::LegacyForm, "", format!("the card has the form of {form}"));
    }
    let mut problems = report.problems;
    problems.extend(lint(&card));
    Ok(problems)
}

/// The problems found so far.
#[derive(Debug, Default)]
struct Report {
    problems: Vec<Problem>,
}

impl Report {
    fn add(&mut self, rule: Rule, field: impl Into<String>, what: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { rule, field: field.into(), what: what.into() });
        }
    }

    /// Reports a required text that is empty or blank.
    fn require(&mut self, rule: Rule, field: impl Into<String>, text: &str) {
        if text.trim().is_empty() {
            self.add(rule, field, "it is missing or empty");
        }
    }
}
