//! Why a tool gave nothing.

use std::{error::Error as StdError, time::Duration};

use nuncio_tasks::{agent::Failure, output};

use crate::kinds::words::again;

/// Why a tool gave nothing.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no server of that name.
    #[error("there is no MCP server `{server}`; {}", listed(.known))]
    NoServer {
        /// The name.
        server: String,
        /// The others.
        known: Vec<String>,
    },
    /// The server has no such tool.
    #[error("the MCP server `{server}` has no tool `{tool}`; {}", listed(.known))]
    NoTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// The server cannot be reached: nothing was called.
    #[error("the MCP server `{server}` cannot be reached: {what}")]
    Unreachable {
        /// The server.
        server: String,
        /// What happened.
        what: String,
    },
    /// The server went away while the tool was called: nobody knows what it has done.
    #[error("the MCP server `{server}` went away while `{tool}` was called: {what}")]
    Gone {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// What happened.
        what: String,
    },
    /// It took too long, and was cancelled.
    #[error("the tool `{tool}` of the MCP server `{server}` took longer than {limit:?}")]
    Timeout {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// How long it may take.
        limit: Duration,
    },
    /// The server does not take the call.
    #[error("the MCP server `{server}` refuses to call `{tool}`: {told}")]
    Refused {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// What it says.
        told: String,
    },
    /// The tool was called and says that it failed.
    #[error("{tool}: {told}")]
    Failed {
        /// The tool.
        tool: String,
        /// What it says.
        told: String,
    },
    /// What the tool is given does not fit.
    #[error("`{tool}` cannot be given this message: {what}")]
    Input {
        /// The tool.
        tool: String,
        /// Why.
        what: String,
    },
    /// Nobody wants the answer any more.
    #[error(transparent)]
    Output(#[from] output::Error),
}

impl Error {
    /// Tells whether calling again may help. Whether that is safe is another question.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Gone { .. } | Self::Timeout { .. })
    }

    /// Fails a task with it.
    pub fn into_failure(self) -> Failure {
        match self {
            // What the tool says is all that is known.
            Self::Failed { .. } => Failure::new(self.to_string()),
            other => Failure::new(again(&other.to_string(), other.may_pass(), None)),
        }
    }
}

fn listed(known: &[String]) -> String {
    if known.is_empty() {
        "there are none".to_owned()
    } else {
        format!("there are: {}", known.join(", "))
    }
}

/// Says an error with all its causes, since whoever reads it sees no chain.
pub(super) fn with_causes(error: &dyn StdError) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words.push_str(": ");
            words.push_str(&cause_words);
        }
        source = cause.source();
    }
    words
}
