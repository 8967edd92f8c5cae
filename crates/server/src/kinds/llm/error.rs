//! Why there is no answer.

use std::time::Duration;

use http::StatusCode;
use nuncio_tasks::{agent::Failure, output};

use crate::kinds::{http::in_words, words::again};

/// Why a model gave no answer that counts. None of these ever holds a key.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The provider does not take the key.
    #[error("{model}: the provider does not take the key ({status}); check `api_key`")]
    Unauthorized {
        /// Whom.
        model: String,
        /// 401 or 403.
        status: StatusCode,
    },
    /// Too much was asked in too short a time, or a quota is used up.
    #[error("{model}: the provider takes no more for now ({status}): {told}")]
    Busy {
        /// Whom.
        model: String,
        /// 429, or one of those that mean the provider is overloaded.
        status: StatusCode,
        /// What the provider said.
        told: String,
        /// When it will take more.
        retry_after: Option<Duration>,
    },
    /// The provider says no to what was asked, or has failed.
    #[error("{model}: the provider answered {status}: {told}")]
    Status {
        /// Whom.
        model: String,
        /// What it answered.
        status: StatusCode,
        /// What the provider said.
        told: String,
    },
    /// The provider broke off with an error in the middle of its answer.
    #[error("{model}: the provider broke off: {told}")]
    BrokenOff {
        /// Whom.
        model: String,
        /// What it said.
        told: String,
        /// Whether it may fare better another time.
        may_pass: bool,
    },
    /// The provider cannot be reached, or broke off.
    #[error("{model}: {}", in_words(.source))]
    Net {
        /// Whom.
        model: String,
        /// What happened.
        source: nuncio_net::Error,
    },
    /// The answer ended before the model had said that it had ended.
    #[error("{model}: the answer broke off before its end")]
    Cut {
        /// Whom.
        model: String,
    },
    /// What came is not what such a provider says.
    #[error("{model}: the provider said something unreadable: {what}")]
    Unreadable {
        /// Whom.
        model: String,
        /// What is wrong with it.
        what: String,
    },
    /// The model will not answer.
    #[error("{model}: the model refuses to answer{}", behind_colon(.told))]
    Refused {
        /// Whom.
        model: String,
        /// What it says about it.
        told: String,
    },
    /// The provider holds the answer back.
    #[error("{model}: the provider holds the answer back: {reason}")]
    Filtered {
        /// Whom.
        model: String,
        /// Why.
        reason: String,
    },
    /// The model said nothing at all.
    #[error("{model}: the model gave an empty answer")]
    Empty {
        /// Whom.
        model: String,
    },
    /// The answer is longer than `max_tokens`, or than the model can.
    #[error("{model}: the answer was cut, it is longer than {}", limit(*.max_tokens))]
    Length {
        /// Whom.
        model: String,
        /// The limit, if one was set.
        max_tokens: Option<u32>,
    },
    /// The answer has too many bytes.
    #[error("{model}: the answer has more than {limit} bytes")]
    TooLarge {
        /// Whom.
        model: String,
        /// How many it may have.
        limit: usize,
    },
    /// It took too long.
    #[error("{model}: no answer within {limit:?}")]
    Timeout {
        /// Whom.
        model: String,
        /// How long it may take.
        limit: Duration,
    },
    /// The model wanted to go on calling tools.
    #[error("{model}: no answer after {turns} turns; raise `max_turns`, or say when to stop")]
    Turns {
        /// Whom.
        model: String,
        /// How many it may take.
        turns: u32,
    },
    /// The model called too many tools.
    #[error("{model}: no answer after {calls} calls of tools")]
    Calls {
        /// Whom.
        model: String,
        /// How many it may make.
        calls: u32,
    },
    /// The answer is not in the form that was asked for.
    #[error("{model}: the answer is not as it should be: {what}; it begins: {begins}")]
    Form {
        /// Whom.
        model: String,
        /// What is wrong with it.
        what: String,
        /// How it begins.
        begins: String,
    },
    /// A part of a message cannot be told to the model.
    #[error("{model}: part {number} of the message cannot be told to the model: {what}")]
    Part {
        /// Whom.
        model: String,
        /// Which part, from 1.
        number: usize,
        /// Why.
        what: String,
    },
    /// The tools are not there.
    #[error("tools: {what}")]
    Tools {
        /// What is wrong with them.
        what: String,
    },
    /// The settings contradict themselves.
    #[error("{what}")]
    Settings {
        /// How.
        what: String,
    },
    /// What was said before cannot be read.
    #[error("what was said before cannot be read")]
    Memory,
    /// The answer was not taken: nobody wants it any more, or the task is full.
    #[error(transparent)]
    Output(#[from] output::Error),
}

impl Error {
    /// Tells whether asking again may help.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Busy { .. }
            | Self::Cut { .. }
            | Self::Unreadable { .. }
            | Self::Empty { .. }
            | Self::Timeout { .. }
            | Self::Form { .. }
            | Self::Tools { .. }
            | Self::Memory => true,
            Self::BrokenOff { may_pass, .. } => *may_pass,
            Self::Status { status, .. } => status.is_server_error(),
            Self::Net { source, .. } => !matches!(source, nuncio_net::Error::Refused(_)),
            Self::Unauthorized { .. }
            | Self::Refused { .. }
            | Self::Filtered { .. }
            | Self::Length { .. }
            | Self::TooLarge { .. }
            | Self::Turns { .. }
            | Self::Calls { .. }
            | Self::Part { .. }
            | Self::Settings { .. }
            | Self::Output(_) => false,
        }
    }

    /// Returns how long the provider wants to be left alone, if it has said so.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Fails a task with it.
    pub fn into_failure(self) -> Failure {
        Failure::new(again(&self.to_string(), self.may_pass(), self.retry_after()))
    }
}

fn behind_colon(told: &str) -> String {
    match told.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    }
}

fn limit(max_tokens: Option<u32>) -> String {
    max_tokens
        .map_or_else(|| "the model can".to_owned(), |tokens| format!("`max_tokens` ({tokens})"))
}
