//! Errors of 0.3, whose `data` can be anything; we write an object or nothing.

use crate::{
    error::{Error, ErrorKind},
    json::{self, Members, Object, Raw, Reader, Writer, read_value},
};

/// Reads an `error` member.
pub(in crate::dialect) fn read(reader: &mut Reader<'_>) -> Result<Error, json::Error> {
    let mut code = None;
    let mut message = None;
    let mut data = None;
    reader.members(|reader, key| {
        match &*key {
            "code" => code = Some(reader.int32()?),
            "message" => message = read_value::<String>(reader)?,
            "data" => data = read_value::<Raw>(reader)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    let code = code.ok_or_else(|| json::Error::missing("code"))?;
    Ok(from_parts(ErrorKind::from_jsonrpc_code(code), message.unwrap_or_default(), data.as_ref()))
}

/// Puts an error together from what its body says.
///
/// An object of texts with a `reason` is what we write ourselves. Any other `data` is kept as
/// a detail, and understood where it is of 1.0.
pub(in crate::dialect) fn from_parts(
    kind: ErrorKind,
    message: String,
    data: Option<&Raw>,
) -> Error {
    let Some(data) = data else { return Error::new(kind, message) };
    let Some((reason, metadata)) = data.as_object().and_then(|data| info(&data)) else {
        let mut error = Error::new(kind, message);
        error.take_data(data);
        return error;
    };
    // Several kinds share a code; the reason tells which of them is meant.
    let named = ErrorKind::from_reason(&reason);
    let kind = named.filter(|named| named.jsonrpc_code() == kind.jsonrpc_code()).unwrap_or(kind);
    let error = Error::new(kind, message).with_reason(reason);
    metadata.into_iter().fold(error, |error, (key, value)| error.with_metadata(key, value))
}

/// Takes an object of texts apart into its reason and the rest.
fn info(data: &Object) -> Option<(String, Vec<(String, String)>)> {
    let mut texts = data
        .members()
        .into_iter()
        .map(|(key, value)| Some((key, value.as_text()?)))
        .collect::<Option<Vec<_>>>()?;
    let at = texts.iter().position(|(key, _)| key == "reason")?;
    let (_, reason) = texts.remove(at);
    let is_reason = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (!reason.is_empty() && reason.bytes().all(is_reason)).then_some((reason, texts))
}

/// Writes an `error` member.
pub(in crate::dialect) fn write(error: &Error, writer: &mut Writer) {
    writer.object(|object| write_members(error, object));
}

/// Writes code, message and, if there is more to say, `data`.
pub(in crate::dialect) fn write_members(error: &Error, object: &mut Members<'_>) {
    let kind = error.kind();
    object.member("code", &kind.jsonrpc_code());
    object.member("message", error.message());
    let code_says_all = ErrorKind::from_jsonrpc_code(kind.jsonrpc_code()) == kind
        && error.reason() == kind.reason()
        && error.metadata().is_empty();
    if !code_says_all {
        object.with("data", |writer| write_info(error, writer));
    } else if let Some(detail) = error.details().iter().find(|data| data.get("@type").is_none()) {
        object.member("data", detail);
    }
}

fn write_info(error: &Error, writer: &mut Writer) {
    writer.object(|object| {
        object.member("reason", error.reason());
        for (key, value) in error.metadata().iter().filter(|(key, _)| *key != "reason") {
            object.entry(key, value);
        }
    });
}
