//! What is wrong with a workflow, where, and what to do about it.

use std::fmt;

use crate::document::Place;

/// How much is told at most; what is broken in ten thousand places is told by its first ones.
pub const MAX_PROBLEMS: usize = 200;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    code: Code,
    place: Place,
    key: String,
    what: String,
    fix: String,
}

impl Problem {
    /// Says what is wrong at a key, such as `nodes[2].config.prompt`, and what to do about it.
    pub fn new(
        code: Code,
        place: Place,
        key: impl Into<String>,
        what: impl fmt::Display,
        fix: impl fmt::Display,
    ) -> Self {
        // Texts of the file may come from anywhere, and are shown on a terminal.
        let [key, what, fix] =
            [key.into(), what.to_string(), fix.to_string()].map(|text| inert(&text));
        Self { code, place, key, what, fix }
    }

    /// Returns what sort of problem it is.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Returns where it is.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Returns the way to the key; empty for the whole document.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns what is wrong.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Returns what to do about it.
    pub fn fix(&self) -> &str {
        &self.fix
    }

    /// Tells whether the workflow can be run in spite of it.
    pub const fn is_warning(&self) -> bool {
        self.code.is_warning()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, place, key, what, fix } = self;
        write!(f, "{place}: ")?;
        if !key.is_empty() {
            write!(f, "{key}: ")?;
        }
        write!(f, "{what}; {fix} [{code}]")
    }
}

/// Why there is no workflow: at least one problem that is no warning, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct Invalid(Vec<Problem>);

impl Invalid {
    pub(crate) const fn new(problems: Vec<Problem>) -> Self {
        Self(problems)
    }

    /// Returns everything that was found, warnings included.
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident = $text:literal,)*) => {
        /// What sort of problem it is. `docs/reference/workflow.md` lists them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$meta])* $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the text.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The file is larger than [`crate::document::MAX_BYTES`], or holds too much.
    TooLarge = "too-large",
    /// The file is neither YAML nor JSON.
    Syntax = "syntax",
    /// A key stands twice in one place.
    DuplicateKey = "duplicate-key",
    /// A value is of the wrong sort, such as a text where a list belongs.
    WrongType = "wrong-type",
    /// A value is of the right sort, and still not possible.
    BadValue = "bad-value",
    /// A length of time is none.
    BadDuration = "bad-duration",
    /// Something that must be there is not.
    MissingMember = "missing-member",
    /// Nobody knows the key.
    UnknownMember = "unknown-member",
    /// Nobody knows the key, in a file of Upal's.
    IgnoredMember = "ignored-member",
    /// Nobody knows the type of the node.
    UnknownType = "unknown-type",
    /// A text cannot name a node.
    BadId = "bad-id",
    /// Two nodes have the same name.
    DuplicateId = "duplicate-id",
    /// There are too many nodes or loops.
    TooMany = "too-many",
    /// An edge begins or ends at a node that is not there.
    UnknownNode = "unknown-node",
    /// Edges lead in a circle, and none of them is a loop.
    Cycle = "cycle",
    /// A loop does not lead back.
    BadLoop = "bad-loop",
    /// Two loops share nodes, and neither lies within the other.
    OverlappingLoops = "overlapping-loops",
    /// No edge leads to a node or away from it.
    UnreachableNode = "unreachable-node",
    /// Nothing leads to a node that is no input, so that it runs at the start.
    NothingLeadsHere = "nothing-leads-here",
    /// There is no output node.
    NoOutput = "no-output",
    /// A template cannot be read.
    BadTemplate = "bad-template",
    /// A template or condition names what is not there.
    UnknownReference = "unknown-reference",
    /// A template or condition names what has not run by then.
    NotUpstream = "not-upstream",
    /// A condition cannot be read.
    BadCondition = "bad-condition",
    /// Nobody knows the agent.
    UnknownAgent = "unknown-agent",
    /// Nobody knows the workflow that a node runs.
    UnknownWorkflow = "unknown-workflow",
    /// Nobody knows the tool.
    UnknownTool = "unknown-tool",
    /// Nobody knows the command.
    UnknownCommand = "unknown-command",
    /// A workflow is to run without an input that it needs.
    MissingInput = "missing-input",
    /// A workflow is given an input that it does not have.
    UnknownInput = "unknown-input",
}

impl Code {
    /// Tells whether the workflow can be run in spite of it.
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::IgnoredMember | Self::NothingLeadsHere | Self::NoOutput)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Spells out what a terminal would obey or a reader would not see, and shortens what is long.
fn inert(text: &str) -> String {
    const LONGEST: usize = 400;
    let is_active = |letter: char| {
        letter.is_control()
            || matches!(
                letter,
                '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                    | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                    | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
            )
    };
    let mut shown = String::with_capacity(text.len().min(LONGEST));
    for letter in text.chars() {
        if shown.len() >= LONGEST {
            shown.push('…');
            break;
        }
        if is_active(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line_that_no_terminal_obeys() {
        let problem =
            Problem::new(Code::BadId, Place::new(3, 7), "nodes[0].id", "`a\n\u{1b}[2J`", "no");
        assert_eq!(
            problem.to_string(),
            "line 3, column 7: nodes[0].id: `a\\u{a}\\u{1b}[2J`; no [bad-id]"
        );
    }

    #[test]
    fn a_long_text_is_shortened() {
        let problem = Problem::new(Code::BadId, Place::NOWHERE, "", "x".repeat(100_000), "no");
        assert!(problem.to_string().len() < 500);
    }
}
