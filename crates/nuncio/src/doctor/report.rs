//! What was found, in the order in which it was tried.

use std::{fmt, io::IsTerminal as _};

use nuncio_protocol::card::inert;

use super::check::Check;

/// Everything that was found about an agent.
#[derive(Debug)]
pub(crate) struct Report {
    /// What was examined, as the person wrote it, made inert.
    pub(crate) url: String,
    /// What the agent calls itself, once that is known; inert.
    pub(crate) agent: Option<String>,
    pub(crate) findings: Vec<Finding>,
    /// Whether nothing answered at all.
    pub(crate) is_unreachable: bool,
    /// The interface that is examined now.
    subject: Option<String>,
    shows_progress: bool,
}

/// Whether people who wait are shown what is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// On the terminal, if there is one.
    Shown,
    Silent,
}

/// What came of one check, on one interface if it is about one.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) check: Check,
    pub(crate) subject: Option<String>,
    pub(crate) outcome: Outcome,
    /// What was seen; inert.
    pub(crate) what: String,
    /// The cause, if it is known better than from the check.
    cause: Option<String>,
    /// The fix, if it is known better than from the check.
    fix: Option<String>,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Pass,
    Warning,
    Failure,
    Skipped,
}

impl Report {
    pub(crate) fn new(url: &str, progress: Progress) -> Self {
        Self {
            url: shown(url),
            agent: None,
            findings: Vec::new(),
            is_unreachable: false,
            subject: None,
            shows_progress: progress == Progress::Shown && std::io::stderr().is_terminal(),
        }
    }

    /// Says which interface the next findings are about.
    pub(crate) fn about(&mut self, subject: Option<&str>) {
        self.subject = subject.map(str::to_owned);
    }

    pub(crate) fn pass(&mut self, check: Check) {
        self.add(check, Outcome::Pass, check.tried());
    }

    pub(crate) fn pass_with(&mut self, check: Check, what: impl AsRef<str>) {
        self.add(check, Outcome::Pass, what.as_ref());
    }

    pub(crate) fn warn(&mut self, check: Check, what: impl AsRef<str>) {
        self.add(check, Outcome::Warning, what.as_ref());
    }

    pub(crate) fn fail(&mut self, check: Check, what: impl AsRef<str>) {
        self.add(check, Outcome::Failure, what.as_ref());
    }

    pub(crate) fn skip(&mut self, check: Check, why: impl AsRef<str>) {
        self.add(check, Outcome::Skipped, why.as_ref());
    }

    /// Passes if the claim holds, and fails with what was seen otherwise.
    pub(crate) fn pass_if(&mut self, check: Check, holds: bool, what: impl AsRef<str>) {
        if holds { self.pass(check) } else { self.fail(check, what) }
    }

    /// Says the cause and the fix of the last finding more precisely than its check does.
    pub(crate) fn because(&mut self, cause: &str, fix: &str) {
        if let Some(finding) = self.findings.last_mut() {
            finding.cause = Some(shown(cause));
            finding.fix = Some(shown(fix));
        }
    }

    /// Skips every check of some groups that has no finding about the interface at hand.
    pub(crate) fn skip_rest_of(&mut self, groups: &[&str], why: &str) {
        for check in Check::ALL {
            let is_known =
                |finding: &Finding| finding.check == *check && (finding.subject == self.subject);
            if groups.contains(&check.group()) && !self.findings.iter().any(is_known) {
                self.skip(*check, why);
            }
        }
    }

    /// Skips every check that has no finding at all.
    pub(crate) fn skip_rest(&mut self, why: &str) {
        self.about(None);
        for check in Check::ALL {
            if !self.findings.iter().any(|finding| finding.check == *check) {
                self.skip(*check, why);
            }
        }
    }

    /// Puts the findings in the order of the checks; those of one check stay as they came.
    pub(crate) fn sort(&mut self) {
        let place = |check: Check| Check::ALL.iter().position(|one| *one == check);
        self.findings.sort_by_key(|finding| place(finding.check));
    }

    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        self.findings.iter().filter(|finding| finding.outcome == outcome).count()
    }

    /// Returns how many interfaces were examined.
    pub(crate) fn interfaces(&self) -> usize {
        let mut names: Vec<_> =
            self.findings.iter().filter_map(|one| one.subject.as_ref()).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    }

    #[expect(clippy::print_stderr, reason = "progress, for people who wait")]
    fn add(&mut self, check: Check, outcome: Outcome, what: &str) {
        if self.shows_progress {
            eprint!("\r\x1b[K{}", check.code());
        }
        let subject = self.subject.clone();
        let what = shown(what);
        self.findings.push(Finding { check, subject, outcome, what, cause: None, fix: None });
    }
}

impl Drop for Report {
    #[expect(clippy::print_stderr, reason = "progress leaves nothing behind")]
    fn drop(&mut self) {
        if self.shows_progress {
            eprint!("\r\x1b[K");
        }
    }
}

/// Returns a text as it can be shown, whoever wrote it: nothing in it deceives, and it ends.
pub(crate) fn shown(text: &str) -> String {
    // What is made inert at once is shortened to an excerpt.
    const PIECE: usize = 60;
    const PIECES: usize = 20;
    let letters: Vec<char> = text.chars().take(PIECE * PIECES + 1).collect();
    let pieces = letters.chunks(PIECE).take(PIECES);
    let mut shown: String = pieces.map(|piece| inert(&String::from_iter(piece))).collect();
    if letters.len() > PIECE * PIECES {
        shown.push('…');
    }
    shown
}

impl Finding {
    /// Returns what is the cause, if something is wrong.
    pub(crate) fn cause(&self) -> Option<&str> {
        let is_wrong = matches!(self.outcome, Outcome::Warning | Outcome::Failure);
        is_wrong.then(|| self.cause.as_deref().unwrap_or_else(|| self.check.cause()))
    }

    /// Returns how to mend it, if something is wrong.
    pub(crate) fn fix(&self) -> Option<&str> {
        let is_wrong = matches!(self.outcome, Outcome::Warning | Outcome::Failure);
        is_wrong.then(|| self.fix.as_deref().unwrap_or_else(|| self.check.fix()))
    }
}

impl Outcome {
    /// Returns the word for programs.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warning => "warning",
            Self::Failure => "failure",
            Self::Skipped => "skipped",
        }
    }
}

impl fmt::Display for Outcome {
    /// Writes the word for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "ok",
            Self::Warning => "warn",
            Self::Failure => "FAIL",
            Self::Skipped => "skip",
        })
    }
}
