//! Errors of 0.3 on HTTP+JSON, which are nowhere fixed: we write one form and read all seen.

use crate::{
    dialect::v03,
    error::{Error, ErrorKind, ErrorTable},
    http::HttpReply,
    json::{self, Kind, Raw, Reader, Writer, read_value, read_with, write_with},
};

/// The names of errors in the SDKs, each with what it stands for.
const NAMES: [(&str, ErrorKind); 13] = [
    ("JSONParseError", ErrorKind::Parse),
    ("InvalidRequestError", ErrorKind::InvalidRequest),
    ("MethodNotFoundError", ErrorKind::MethodNotFound),
    ("InvalidParamsError", ErrorKind::InvalidParams),
    ("TaskNotFoundError", ErrorKind::TaskNotFound),
    ("TaskNotCancelableError", ErrorKind::TaskNotCancelable),
    ("PushNotificationNotSupportedError", ErrorKind::PushNotificationNotSupported),
    ("UnsupportedOperationError", ErrorKind::UnsupportedOperation),
    ("ContentTypeNotSupportedError", ErrorKind::ContentTypeNotSupported),
    ("InvalidAgentResponseError", ErrorKind::InvalidAgentResponse),
    ("AuthenticatedExtendedCardNotConfiguredError", ErrorKind::ExtendedAgentCardNotConfigured),
    ("VersionNotSupportedError", ErrorKind::VersionNotSupported),
    ("InternalError", ErrorKind::Internal),
];

/// Writes the answer that an error is.
pub(super) fn reply(error: &Error) -> HttpReply {
    HttpReply { status: status(error.kind()), body: write_with(|writer| write(error, writer)) }
}

/// Writes `{"code":…,"message":…,"data"?,"type"?}`: the code of JSON-RPC, and the name by
/// which the Python SDK tells errors apart.
pub(super) fn write(error: &Error, writer: &mut Writer) {
    writer.object(|object| {
        v03::error::write_members(error, object);
        if let Some(name) = name(error.kind()) {
            object.member("type", name);
        }
    });
}

/// Returns what the SDKs call such an error.
pub(crate) fn name(kind: ErrorKind) -> Option<&'static str> {
    NAMES.iter().find(|(_, named)| *named == kind).map(|(name, _)| *name)
}

/// Returns what the SDKs mean by such a name.
#[cfg(feature = "grpc")]
pub(crate) fn kind(name: &str) -> Option<ErrorKind> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// Returns the status that servers of 0.3 answer with.
fn status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::PushNotificationNotSupported | ErrorKind::UnsupportedOperation => 501,
        ErrorKind::ExtendedAgentCardNotConfigured => 404,
        kind => kind.http_status(ErrorTable::V1_0_0),
    }
}

/// Reads the body of an answer that says no. Whatever the body is, an error comes of it: the
/// status alone says enough.
pub(super) fn read(status: u16, body: &[u8]) -> Error {
    let said = json::text(body).and_then(|text| read_with(text, Said::read)).unwrap_or_default();
    said.into_error(status).unwrap_or_else(|| Error::read_http(status, body))
}

/// Reads a frame that holds an error instead of an event.
pub(super) fn read_frame(data: &str) -> Option<Error> {
    let said = read_with(data, Said::read).ok()?;
    if said.envelope {
        return Some(crate::http::error_frame(data).unwrap_or_else(|| read(500, data.as_bytes())));
    }
    said.into_error(500)
}

/// What a body says about an error.
#[derive(Default)]
struct Said {
    code: Option<i32>,
    message: Option<String>,
    name: Option<String>,
    data: Option<Raw>,
    /// Whether all of that stands inside `error` in the form of 1.0, which is read elsewhere.
    envelope: bool,
}

impl Said {
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let mut said = Self::default();
        reader.members(|reader, key| said.take(&key, reader))?;
        Ok(said)
    }

    fn take(&mut self, key: &str, reader: &mut Reader<'_>) -> Result<(), json::Error> {
        let kind = reader.peek()?;
        match key {
            "code" if kind == Kind::Number => self.code = reader.int32().ok(),
            "message" | "detail" if kind == Kind::String => self.message = read_value(reader)?,
            "type" | "error" if kind == Kind::String => self.name = read_value(reader)?,
            "data" => self.data = read_value(reader)?,
            "error" if kind == Kind::Object => {
                let inner = Self::read(reader)?;
                match inner.code {
                    Some(code) if code < 0 => *self = inner,
                    _ => self.envelope = true,
                }
            }
            _ => reader.skip()?,
        }
        Ok(())
    }

    /// Puts the error together; nothing, if the body says nothing in a form of 0.3.
    fn into_error(self, status: u16) -> Option<Error> {
        if self.envelope || (self.message.is_none() && self.code.is_none() && self.name.is_none()) {
            return None;
        }
        // A code that is not of JSON-RPC only repeats the status.
        let by_code = self.code.filter(|code| *code < 0).map(ErrorKind::from_jsonrpc_code);
        let by_name = self.name.as_deref().and_then(named);
        let kind = by_code.or(by_name).unwrap_or_else(|| ErrorKind::from_http_status(status));
        let message = self.message.or(self.name).unwrap_or_default();
        Some(v03::error::from_parts(kind, message, self.data.as_ref()))
    }
}

/// Finds an error by its name in an SDK, with or without package and suffix.
fn named(name: &str) -> Option<ErrorKind> {
    let name = name.rsplit(['.', '/']).next().unwrap_or(name);
    let name = name.strip_suffix("_v0_3").unwrap_or(name);
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}
