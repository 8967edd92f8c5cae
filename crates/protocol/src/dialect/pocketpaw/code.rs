//! The error codes (P-26, catalogue §7.7).

use crate::{
    error::{Error, ErrorKind, reason},
    json::{self, Reader, Writer},
};

/// A message to a task that has ended. In A2A this is the code for webhooks.
const NOT_MODIFIABLE: i32 = -32003;
/// Whatever is not supported, webhooks among it.
const NOT_SUPPORTED: i32 = -32004;
/// None of the media types that the caller accepts. In A2A also one that the agent refuses.
const INCOMPATIBLE_MODES: i32 = -32005;

pub(super) fn write(error: &Error, writer: &mut Writer) {
    error.write_jsonrpc_as(code(error), writer);
}

/// Reads an error; a reason in its data decides over the code.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Error, json::Error> {
    Error::read_jsonrpc_as(reader, |code, message| match code {
        NOT_MODIFIABLE => Error::new(ErrorKind::UnsupportedOperation, message)
            .with_reason(reason::TASK_NOT_MODIFIABLE),
        INCOMPATIBLE_MODES => Error::new(ErrorKind::ContentTypeNotSupported, message)
            .with_reason(reason::OUTPUT_MODE_NOT_SUPPORTED),
        code => Error::new(ErrorKind::from_jsonrpc_code(code), message),
    })
}

/// Returns the HTTP status of an error (PD-05).
pub(super) fn http_status(error: &Error) -> u16 {
    match error.kind() {
        ErrorKind::TaskNotCancelable => 409,
        _ if is_not_modifiable(error) => 409,
        kind => kind.http_status(crate::error::ErrorTable::V1_0_1),
    }
}

fn code(error: &Error) -> i32 {
    match error.kind() {
        ErrorKind::PushNotificationNotSupported => NOT_SUPPORTED,
        _ if is_not_modifiable(error) => NOT_MODIFIABLE,
        ErrorKind::InvalidAgentResponse => ErrorKind::Internal.jsonrpc_code(),
        ErrorKind::VersionNotSupported => ErrorKind::InvalidRequest.jsonrpc_code(),
        kind => kind.jsonrpc_code(),
    }
}

fn is_not_modifiable(error: &Error) -> bool {
    error.kind() == ErrorKind::UnsupportedOperation && error.reason() == reason::TASK_NOT_MODIFIABLE
}
