//! The error codes (O-10), which stand as text before the error's own.

use crate::error::{Error, ErrorKind, reason};

/// Writes `CODE: text`.
pub(super) fn write(error: &Error) -> String {
    join(code(error), error.message())
}

/// Puts code and text together; a code without text stands alone.
pub(super) fn join(code: &str, text: &str) -> String {
    if text.is_empty() { code.to_owned() } else { format!("{code}: {text}") }
}

/// Takes code and text apart; a text without code has an empty one.
pub(super) fn split(error: &str) -> (&str, &str) {
    let (code, text) = error.split_once(':').unwrap_or((error, ""));
    let is_code =
        !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    if is_code { (code, text.strip_prefix(' ').unwrap_or(text)) } else { ("", error) }
}

/// Reads `CODE: text`. A code that is not one of the six is kept as the reason.
pub(super) fn read(text: &str) -> Error {
    let (code, message) = split(text);
    match code {
        "INVALID_PROTOCOL_VERSION" => Error::new(ErrorKind::VersionNotSupported, message),
        "CAPABILITY_NOT_SUPPORTED" => {
            Error::new(ErrorKind::InvalidParams, message).with_reason(reason::SKILL_NOT_FOUND)
        }
        "INVALID_REQUEST" => Error::new(ErrorKind::InvalidRequest, message),
        "TIMEOUT" => Error::new(ErrorKind::Timeout, message),
        "AGENT_UNAVAILABLE" => Error::new(ErrorKind::Unavailable, message),
        "INTERNAL_ERROR" | "" => Error::new(ErrorKind::Internal, message),
        other => Error::new(ErrorKind::Internal, message).with_reason(other.to_owned()),
    }
}

/// Finds the code of an error (catalogue §7.7).
fn code(error: &Error) -> &'static str {
    if error.reason() == reason::SKILL_NOT_FOUND {
        return "CAPABILITY_NOT_SUPPORTED";
    }
    match error.kind() {
        ErrorKind::VersionNotSupported => "INVALID_PROTOCOL_VERSION",
        ErrorKind::MethodNotFound
        | ErrorKind::UnsupportedOperation
        | ErrorKind::PushNotificationNotSupported
        | ErrorKind::ExtendedAgentCardNotConfigured => "CAPABILITY_NOT_SUPPORTED",
        ErrorKind::Parse
        | ErrorKind::InvalidRequest
        | ErrorKind::InvalidParams
        | ErrorKind::TaskNotFound
        | ErrorKind::TaskNotCancelable
        | ErrorKind::ContentTypeNotSupported
        | ErrorKind::ExtensionSupportRequired
        | ErrorKind::Unauthenticated
        | ErrorKind::PermissionDenied
        | ErrorKind::TooLarge => "INVALID_REQUEST",
        ErrorKind::Timeout => "TIMEOUT",
        ErrorKind::Unavailable => "AGENT_UNAVAILABLE",
        ErrorKind::Internal
        | ErrorKind::InvalidAgentResponse
        | ErrorKind::RateLimited
        | ErrorKind::BudgetExceeded
        | ErrorKind::Other(_) => "INTERNAL_ERROR",
    }
}
