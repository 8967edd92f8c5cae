//! Why a command failed, in words for people and in names for programs.
//!
//! The names and exit codes are those of the A2A CLI specification: errors of the protocol
//! keep their names, conditions on this side of the wire are `A2ACLI_ERR_…`, and what that
//! specification has no name for is `NUNCIO_ERR_…`.

use std::{error::Error as StdError, io, process::ExitCode};

use http::StatusCode;
use nuncio::configuration;
use nuncio_client::{
    Error,
    discover::{Error as DiscoverError, Outcome},
};
use nuncio_net::{Clock, Error as NetError};
use nuncio_protocol::{
    error::{Error as ProtocolError, ErrorKind, ErrorTable},
    json,
};

use crate::{config, output::inert, terminal};

/// A command that could not do its job.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    code: &'static str,
    message: String,
    hint: Option<String>,
    a2a_code: Option<i32>,
}

/// What a shell is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Whoever read our output has gone: there is nobody to complain to.
    Unread = 0,
    Failure = 1,
    Usage = 2,
    Unreachable = 3,
    Auth = 4,
    Timeout = 5,
    /// Broken off by the user, as shells count it.
    Interrupted = 130,
}

const INTERNAL: &str = "A2ACLI_ERR_INTERNAL";
const UNREACHABLE: &str = "A2ACLI_ERR_UNREACHABLE";
const TIMEOUT: &str = "A2ACLI_ERR_TIMEOUT";
const REFUSED: &str = "NUNCIO_ERR_REFUSED";
const HUB: &str = "NUNCIO_ERR_HUB";

impl Failure {
    fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        Self { exit, code, message: message.into(), hint: None, a2a_code: None }
    }

    /// The command line asks for what cannot be done.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "A2ACLI_ERR_USAGE", message)
    }

    /// Something that serves could not begin, or broke off.
    pub(crate) fn serving(error: &anyhow::Error) -> Self {
        match error.downcast_ref::<configuration::Error>() {
            // Settings are the user's to mend, wherever they stand.
            Some(error) => config::refused(error),
            None => Self::internal(chain(error.as_ref())),
        }
    }

    /// Anything that has no better name.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Exit::Failure, INTERNAL, message)
    }

    /// A card that nobody trusted has signed.
    pub(crate) fn signature(message: impl Into<String>) -> Self {
        Self::new(Exit::Failure, "NUNCIO_ERR_SIGNATURE", message)
    }

    /// A card that is none.
    pub(crate) fn invalid_card(message: impl Into<String>) -> Self {
        Self::new(Exit::Failure, "A2ACLI_ERR_CARD_INVALID", message)
    }

    /// An audit trail that somebody has changed.
    pub(crate) fn broken_trail(message: impl Into<String>) -> Self {
        Self::new(Exit::Failure, "NUNCIO_ERR_AUDIT_BROKEN", message)
    }

    /// A workflow that cannot run.
    pub(crate) fn invalid_workflow(message: impl Into<String>) -> Self {
        Self::new(Exit::Failure, "NUNCIO_ERR_WORKFLOW_INVALID", message)
    }

    /// A run that has not succeeded.
    pub(crate) fn run(message: impl Into<String>) -> Self {
        Self::new(Exit::Failure, "NUNCIO_ERR_RUN", message)
    }

    /// The time that the user gave is over.
    pub(crate) fn timeout() -> Self {
        Self::new(Exit::Timeout, TIMEOUT, "the time of --timeout is over")
    }

    /// The user broke it off.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self::new(Exit::Interrupted, "NUNCIO_ERR_INTERRUPTED", message)
    }

    /// What should have gone on has broken off.
    pub(crate) fn lost(message: impl Into<String>) -> Self {
        Self::new(Exit::Unreachable, UNREACHABLE, message)
    }

    /// A file could not be read or written.
    pub(crate) fn file(what: &str, path: &std::path::Path, error: &io::Error) -> Self {
        Self::internal(format!("{what} {}: {error}", path.display()))
    }

    /// Says what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says what to do about it, if nothing better is known.
    #[must_use]
    pub(crate) fn or_hint(mut self, hint: impl FnOnce() -> String) -> Self {
        self.hint.get_or_insert_with(hint);
        self
    }

    /// Tells whether the agent wants to know who we are.
    pub(crate) fn is_auth(&self) -> bool {
        self.exit == Exit::Auth
    }

    /// Tells whether nothing came back, or not everything.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self.exit, Exit::Unreachable | Exit::Timeout)
    }

    /// Tells whether nobody has said what became of what was asked.
    pub(crate) fn is_open_ended(&self) -> bool {
        self.a2a_code.is_none() && (self.is_unreachable() || self.exit == Exit::Interrupted)
    }

    /// Tells whether the agent has no such operation, and so has done nothing.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(self.code, "UnsupportedOperationError" | "MethodNotFoundError")
    }

    /// Returns what people are told.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Returns what programs are told.
    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// Returns what to do about it, if that is known.
    pub(crate) fn remedy(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Tells whether a hub has answered with this status.
    pub(crate) fn is_hub_status(&self, status: StatusCode) -> bool {
        self.code == HUB && self.a2a_code == Some(status.as_u16().into())
    }

    /// Tells whether a hub has said no to what was asked.
    pub(crate) fn is_hub_refusal(&self) -> bool {
        self.code == HUB && self.a2a_code.is_some_and(|status| (400..500).contains(&status))
    }

    /// Says that a credential was shown.
    #[must_use]
    pub(crate) fn with_credential(mut self) -> Self {
        if self.exit == Exit::Auth {
            self.code = "A2ACLI_ERR_AUTH_FAILED";
        }
        self
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit as u8)
    }

    /// Returns what goes to standard error, for people or for programs.
    pub(crate) fn shown(&self, is_json: bool) -> Option<String> {
        if self.exit == Exit::Unread {
            return None;
        }
        if is_json {
            return Some(json::write_with(|writer| {
                writer.object(|document| {
                    document.with("error", |writer| {
                        writer.object(|error| {
                            error.member("code", self.code);
                            error.member("message", &self.message);
                            error.with("hint", |writer| match &self.hint {
                                Some(hint) => writer.string(hint),
                                None => writer.null(),
                            });
                            error.with("a2aCode", |writer| match self.a2a_code {
                                Some(code) => writer.int(code.into()),
                                None => writer.null(),
                            });
                        });
                    });
                });
            }));
        }
        let mut shown = format!("nuncio: {}", inert(&self.message));
        if let Some(hint) = &self.hint {
            shown.push_str("\nhint: ");
            shown.push_str(&inert(hint));
        }
        Some(shown)
    }
}

impl Failure {
    /// A hub could not be reached, or broke off.
    pub(crate) fn net(error: &NetError) -> Self {
        net(error, chain(error))
    }

    /// A hub said no, for this reason.
    pub(crate) fn of_hub(status: StatusCode, code: &str, detail: &str) -> Self {
        let message = format!("{detail} ({code})");
        let exit = match status.as_u16() {
            401 | 403 => Exit::Auth,
            503 => Exit::Unreachable,
            _ => Exit::Failure,
        };
        let failure = Self::new(exit, HUB, message);
        Self { a2a_code: Some(status.as_u16().into()), ..failure }
    }
}

impl From<io::Error> for Failure {
    /// Writing to standard output failed.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Unread, INTERNAL, ""),
            _ => Self::internal(format!("write to standard output: {error}")),
        }
    }
}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Self {
        peer(&error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = chain(&error);
        match &error {
            Error::Peer(error) => peer(error),
            Error::Net(error) | Error::BrokenOff { source: error, .. } => net(error, message),
            Error::Discover(error) => discover(error, message),
            Error::DeadlineExceeded => Self::timeout(),
            Error::Status { status, .. } => by_status(*status, message),
            Error::NotA2a { status, .. } if matches!(status.as_u16(), 401 | 403) => {
                by_status(*status, message)
            }
            Error::NotA2a { .. } => Self::new(Exit::Failure, "InvalidAgentResponseError", message)
                .hint("something answers there that does not speak A2A; `nuncio card get` shows where the card leads"),
            Error::StreamMalformed { .. }
            | Error::LineTooLong { .. }
            | Error::StreamTooLong(_)
            | Error::TooLarge { .. } => {
                Self::new(Exit::Failure, "InvalidAgentResponseError", message)
                    .hint("the agent breaks the protocol: `nuncio doctor` says where")
            }
            Error::Refused(refused) => {
                Self::new(Exit::Failure, REFUSED, message).hint(refused.code().fix())
            }
            Error::NoInterface(_) => Self::new(Exit::Failure, "A2ACLI_ERR_CARD_INVALID", message)
                .hint("`nuncio card get` shows what the card offers"),
            Error::Unproven(_) => Self::new(Exit::Auth, "A2ACLI_ERR_AUTH_FAILED", message),
            Error::BreakerOpen { .. } | Error::Interrupted { .. } | Error::Cut { .. } => {
                Self::new(Exit::Unreachable, UNREACHABLE, message)
            }
            Error::Unsayable { .. } => Self::new(Exit::Failure, "UnsupportedOperationError", message)
                .hint("another --transport or --a2a-version may be able to"),
            Error::Redirected { .. } => Self::new(Exit::Failure, REFUSED, message)
                .hint("name that URL with -a, if you trust it"),
            _ => Self::internal(message),
        }
    }
}

/// Returns the name by which A2A knows an error.
const fn name(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Parse => "JSONParseError",
        ErrorKind::InvalidRequest => "InvalidRequestError",
        ErrorKind::MethodNotFound => "MethodNotFoundError",
        ErrorKind::InvalidParams => "InvalidParamsError",
        ErrorKind::Internal => "InternalError",
        ErrorKind::TaskNotFound => "TaskNotFoundError",
        ErrorKind::TaskNotCancelable => "TaskNotCancelableError",
        ErrorKind::PushNotificationNotSupported => "PushNotificationNotSupportedError",
        ErrorKind::UnsupportedOperation => "UnsupportedOperationError",
        ErrorKind::ContentTypeNotSupported => "ContentTypeNotSupportedError",
        ErrorKind::InvalidAgentResponse => "InvalidAgentResponseError",
        ErrorKind::ExtendedAgentCardNotConfigured => "ExtendedAgentCardNotConfiguredError",
        ErrorKind::ExtensionSupportRequired => "ExtensionSupportRequiredError",
        ErrorKind::VersionNotSupported => "VersionNotSupportedError",
        _ => return None,
    })
}

fn peer(error: &ProtocolError) -> Failure {
    let kind = error.kind();
    let message = error.to_string();
    let code = Some(kind.jsonrpc_code());
    let hint = match kind {
        ErrorKind::TaskNotFound => {
            "look for the task with `nuncio task list`; --debug shows what was asked and answered"
        }
        ErrorKind::TaskNotCancelable => "it has ended already: see it with `nuncio task get`",
        ErrorKind::PushNotificationNotSupported => {
            "the agent has no webhooks; follow the task with `nuncio task subscribe`"
        }
        ErrorKind::VersionNotSupported => "try another version, such as --a2a-version 0.3",
        ErrorKind::ContentTypeNotSupported => {
            "`nuncio card get` lists the media types that the agent takes; set one with --media-type"
        }
        _ => "",
    };
    let failure = match (name(kind), kind) {
        (Some(name), _) => Failure::new(Exit::Failure, name, message),
        (None, ErrorKind::Unauthenticated | ErrorKind::PermissionDenied) => {
            let status = kind.http_status(ErrorTable::default());
            let failure = Failure::new(Exit::Auth, "A2ACLI_ERR_CREDENTIALS_MISSING", message);
            return Failure { a2a_code: Some(status.into()), ..failure };
        }
        (None, ErrorKind::Unavailable) => Failure::new(Exit::Unreachable, UNREACHABLE, message),
        (None, ErrorKind::Timeout) => Failure::new(Exit::Timeout, TIMEOUT, message),
        (None, ErrorKind::RateLimited) => {
            Failure::new(Exit::Failure, "NUNCIO_ERR_RATE_LIMITED", message)
                .hint("the agent is busy: try again later")
        }
        (None, ErrorKind::BudgetExceeded) => {
            Failure::new(Exit::Failure, "NUNCIO_ERR_BUDGET_EXCEEDED", message).hint(
                "budgets of a day begin anew at midnight, UTC; `budgets` in nuncio.yaml sets them",
            )
        }
        (None, ErrorKind::TooLarge) => Failure::new(Exit::Failure, "NUNCIO_ERR_TOO_LARGE", message),
        (None, _) => Failure::new(Exit::Failure, "NUNCIO_ERR_PEER", message),
    };
    let failure = Failure { a2a_code: code, ..failure };
    if hint.is_empty() { failure } else { failure.hint(hint) }
}

fn by_status(status: StatusCode, message: String) -> Failure {
    let failure = match status.as_u16() {
        401 | 403 => Failure::new(Exit::Auth, "A2ACLI_ERR_CREDENTIALS_MISSING", message),
        502..=504 => Failure::new(Exit::Unreachable, UNREACHABLE, message)
            .hint("something in front of the agent answers in its place; try again later"),
        404 | 405 => Failure::internal(message)
            .hint("nothing speaks A2A at that URL; `nuncio card get` shows where the card leads"),
        _ => Failure::internal(message),
    };
    Failure { a2a_code: Some(status.as_u16().into()), ..failure }
}

fn net(error: &NetError, message: String) -> Failure {
    let failure = match error {
        NetError::Timeout { clock: Clock::Resolve | Clock::Connect, .. }
        | NetError::Resolve { .. }
        | NetError::Connect { .. }
        | NetError::Tls { .. }
        | NetError::Http { .. } => Failure::new(Exit::Unreachable, UNREACHABLE, message),
        NetError::Timeout { .. } => Failure::new(Exit::Timeout, TIMEOUT, message),
        NetError::Refused(_) => Failure::new(Exit::Failure, REFUSED, message),
        _ => Failure::internal(message),
    };
    failure.hint(error.code().fix())
}

fn discover(error: &DiscoverError, message: String) -> Failure {
    let not_found = |message| Failure::new(Exit::Unreachable, "A2ACLI_ERR_CARD_NOT_FOUND", message);
    match error {
        DiscoverError::Source(_) => Failure::usage(message),
        DiscoverError::Refused { refused, .. } => {
            Failure::new(Exit::Failure, REFUSED, message).hint(refused.code().fix())
        }
        DiscoverError::AgentCardSchemaInvalid { .. } => {
            Failure::invalid_card(message).hint("name the card's own URL with -a, or mend the card")
        }
        DiscoverError::Signature { .. } => Failure::signature(message).hint(
            "have the card signed, name the signer's keys with --keys, or lower --signatures",
        ),
        DiscoverError::File { .. } => {
            not_found(message).hint("name a file that holds an agent card in JSON")
        }
        _ => {
            let outcomes = || error.tried().iter().map(|tried| &tried.outcome);
            if outcomes().any(|outcome| matches!(outcome, Outcome::NeedsCredentials(_))) {
                return Failure::new(Exit::Auth, "A2ACLI_ERR_CREDENTIALS_MISSING", message);
            }
            match outcomes().find_map(failed) {
                Some(error) => net(error, message),
                None => not_found(message).hint(
                    "name the URL of the card itself, if it is not at /.well-known/agent-card.json",
                ),
            }
        }
    }
}

const fn failed(outcome: &Outcome) -> Option<&NetError> {
    match outcome {
        Outcome::Failed(error) => Some(error),
        _ => None,
    }
}

/// Returns an error with everything that lies behind it.
fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let told = cause.to_string();
        if !text.contains(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        source = cause.source();
    }
    text
}

/// Returns what is shown to people in colours.
pub(crate) fn painted(shown: &str) -> String {
    let mut lines = shown.lines().map(|line| {
        let style = if line.starts_with("hint:") { terminal::ASIDE } else { terminal::BAD };
        match line.split_once(':') {
            Some((who, what)) => format!("{}{what}", terminal::painted(style, &format!("{who}:"))),
            None => line.to_owned(),
        }
    });
    let first = lines.next().unwrap_or_default();
    lines.fold(first, |shown, line| format!("{shown}\n{line}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[track_caller]
    fn check(error: Error, exit: Exit, code: &str) {
        let failure = Failure::from(error);
        assert_eq!((failure.exit, failure.code), (exit, code));
    }

    #[test]
    fn every_way_of_failing_has_its_exit_code_and_name() {
        let peer = |kind| Error::Peer(ProtocolError::new(kind, "no"));
        check(peer(ErrorKind::TaskNotFound), Exit::Failure, "TaskNotFoundError");
        check(peer(ErrorKind::Unauthenticated), Exit::Auth, "A2ACLI_ERR_CREDENTIALS_MISSING");
        check(peer(ErrorKind::Unavailable), Exit::Unreachable, UNREACHABLE);
        check(peer(ErrorKind::Timeout), Exit::Timeout, TIMEOUT);
        check(peer(ErrorKind::Other(-32050)), Exit::Failure, "NUNCIO_ERR_PEER");
        check(Error::DeadlineExceeded, Exit::Timeout, TIMEOUT);
        check(Error::Cut { frame: 3 }, Exit::Unreachable, UNREACHABLE);
        let source = Arc::new(io::Error::from(io::ErrorKind::ConnectionRefused));
        let connect = NetError::Connect { host: "a".into(), source };
        check(Error::Net(connect), Exit::Unreachable, UNREACHABLE);
        let clock = |clock| NetError::Timeout { clock, limit: std::time::Duration::ZERO };
        check(Error::Net(clock(Clock::Connect)), Exit::Unreachable, UNREACHABLE);
        check(Error::Net(clock(Clock::Idle)), Exit::Timeout, TIMEOUT);
        let refused = nuncio_net::Refused::Scheme;
        check(Error::Refused(refused), Exit::Failure, REFUSED);
    }

    #[test]
    fn every_error_of_the_protocol_keeps_its_name() {
        for kind in ErrorKind::ALL {
            let failure = peer(&ProtocolError::new(*kind, "no"));
            let is_named = failure.code.ends_with("Error");
            // A2A itself gives the others no name.
            assert_eq!(is_named, name(*kind).is_some(), "{kind:?}");
            assert!(failure.a2a_code.is_some(), "{kind:?}");
        }
    }

    #[test]
    fn a_shown_failure_has_no_control_codes() {
        let failure = Failure::internal("a\u{1b}[2Jb").hint("c\u{9b}d");
        assert_eq!(failure.shown(false).as_deref(), Some("nuncio: a\\u{1b}[2Jb\nhint: c\\u{9b}d"));
        assert_eq!(
            Failure::usage("no").shown(true).as_deref(),
            Some(
                r#"{"error":{"code":"A2ACLI_ERR_USAGE","message":"no","hint":null,"a2aCode":null}}"#
            )
        );
    }
}
