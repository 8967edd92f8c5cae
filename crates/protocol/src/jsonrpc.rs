//! The JSON-RPC 2.0 envelope.

use std::borrow::Cow;

use crate::{
    error::{Error, ErrorKind},
    json::{self, Kind, Raw, Reader, ToJson, Writer, read_with, write_with},
};

/// The `id` of a request, echoed exactly as it came.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id(Raw);

impl Id {
    /// Stands in an answer to a request whose id could not be read.
    pub fn null() -> Self {
        Self(Raw::checked("null".into()))
    }

    /// Makes an id from a text.
    pub fn text(text: &str) -> Self {
        Self(Raw::string(text))
    }

    /// Makes an id from a number.
    pub fn number(number: u64) -> Self {
        Self(Raw::checked(number.to_string().into()))
    }

    /// Returns the JSON text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        match reader.peek()? {
            Kind::String | Kind::Number | Kind::Null => reader.raw().map(Self),
            _ => Err(json::Error::shape("must be a string, a number or null")),
        }
    }
}

impl ToJson for Id {
    fn write(&self, writer: &mut Writer) {
        self.0.write(writer);
    }
}

/// A request as it stands in its envelope, `params` still unread.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope<'a> {
    /// Nothing, if it is a notification that wants no answer.
    pub id: Option<Id>,
    /// What is to be done.
    pub method: Cow<'a, str>,
    /// The JSON text of the parameters, checked for syntax.
    pub params: Option<&'a str>,
}

/// A body that is no request, with the id to answer to.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The request's, if it could be read.
    pub id: Id,
    /// What is wrong.
    pub error: Error,
}

impl<'a> Envelope<'a> {
    /// Takes a request out of its envelope.
    pub fn read(body: &'a str) -> Result<Self, Refusal> {
        let (envelope, version) = Self::read_loosely(body)?;
        if version.as_deref() != Some("2.0") {
            return Err(Refusal {
                id: envelope.id.unwrap_or_else(Id::null),
                error: invalid_request(&json::Error::shape("must be \"2.0\"").inside("jsonrpc")),
            });
        }
        Ok(envelope)
    }

    /// Takes a request out of its envelope, and tells what `jsonrpc` says instead of checking it.
    pub fn read_loosely(body: &'a str) -> Result<(Self, Option<Cow<'a, str>>), Refusal> {
        let mut id = None;
        let mut method = None;
        let mut params = None;
        let mut version = None;
        let read = read_with(body, |reader| {
            reader.members(|reader, key| {
                match &*key {
                    "jsonrpc" => version = Some(reader.string()?),
                    "id" => id = Some(Id::read(reader)?),
                    "method" => method = Some(reader.string()?),
                    "params" => params = Some(reader.value_text()?),
                    _ => reader.skip()?,
                }
                Ok(())
            })
        });
        let refusal = |error| Refusal { id: id.clone().unwrap_or_else(Id::null), error };
        read.map_err(|error| match error.kind() {
            // What cannot be parsed has no id that could be trusted.
            json::ErrorKind::Syntax => Refusal { id: Id::null(), error: error.into() },
            json::ErrorKind::Shape => refusal(invalid_request(&error)),
        })?;
        let method =
            method.ok_or_else(|| refusal(invalid_request(&json::Error::missing("method"))))?;
        let params = params.filter(|params| *params != "null");
        Ok((Envelope { id, method, params }, version))
    }
}

fn invalid_request(error: &json::Error) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("not a JSON-RPC request: {error}"))
        .with_violation(error.path(), error.what())
}

/// Splits a batch into its requests; `None` if the body is not an array.
pub fn split_batch(body: &str) -> Result<Option<Vec<&str>>, json::Error> {
    read_with(body, |reader| {
        if reader.peek()? != Kind::Array {
            reader.skip()?;
            return Ok(None);
        }
        let mut requests = Vec::new();
        reader.items(|reader| {
            requests.push(reader.value_text()?);
            Ok(())
        })?;
        Ok(Some(requests))
    })
}

/// Puts a request into its envelope.
pub fn write_request(id: &Id, method: &str, params: impl FnOnce(&mut Writer)) -> String {
    write_with(|writer| {
        writer.object(|object| {
            object.member("jsonrpc", "2.0");
            object.member("id", id);
            object.member("method", method);
            object.with("params", params);
        });
    })
}

/// Puts a result into its envelope.
pub fn write_result(id: &Id, result: impl FnOnce(&mut Writer)) -> String {
    write_answer(id, "result", result)
}

/// Puts an error into its envelope.
pub fn write_error(id: &Id, error: impl FnOnce(&mut Writer)) -> String {
    write_answer(id, "error", error)
}

fn write_answer(id: &Id, key: &'static str, value: impl FnOnce(&mut Writer)) -> String {
    write_with(|writer| {
        writer.object(|object| {
            object.member("jsonrpc", "2.0");
            object.member("id", id);
            object.with(key, value);
        });
    })
}

/// An answer as it stands in its envelope, still unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The JSON text of the result; `null` if there is neither result nor error.
    Result(&'a str),
    /// The JSON text of the error.
    Error(&'a str),
}

/// Takes an answer out of its envelope.
pub fn read_reply(body: &str) -> Result<Reply<'_>, json::Error> {
    let mut result = None;
    let mut error = None;
    read_with(body, |reader| {
        reader.members(|reader, key| {
            match &*key {
                "result" => result = Some(reader.value_text()?),
                "error" => error = Some(reader.value_text()?).filter(|text| *text != "null"),
                _ => reader.skip()?,
            }
            Ok(())
        })
    })?;
    Ok(match error {
        Some(error) => Reply::Error(error),
        None => Reply::Result(result.unwrap_or("null")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(body: &str, id: &str, kind: ErrorKind) -> Error {
        let refusal = Envelope::read(body).expect_err("the body must be refused");
        assert_eq!((refusal.id.as_str(), refusal.error.kind()), (id, kind));
        refusal.error
    }

    #[test]
    fn ids_are_echoed_exactly() {
        for id in [r#""a\u0062""#, "1", "1.0", "-7", "9007199254740993", "null", "\"\""] {
            let body = format!(r#"{{"jsonrpc":"2.0","id": {id} ,"method":"GetTask"}}"#);
            let envelope = Envelope::read(&body).unwrap();
            let answer = write_result(&envelope.id.unwrap(), Writer::null);
            assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#));
        }
    }

    #[test]
    fn a_request_without_id_is_a_notification() {
        let envelope = Envelope::read(r#"{"jsonrpc":"2.0","method":"x"}"#).unwrap();
        assert_eq!((envelope.id, envelope.params), (None, None));
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_id_it_has() {
        refused("{", "null", ErrorKind::Parse);
        refused(r#"{"id":1,"id":2}"#, "null", ErrorKind::Parse);
        refused(
            r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":1e999}}"#,
            "null",
            ErrorKind::Parse,
        );
        refused(r#"{"jsonrpc":"2.0","id":7}"#, "7", ErrorKind::InvalidRequest);
        refused(r#"{"jsonrpc":"1.0","id":7,"method":"x"}"#, "7", ErrorKind::InvalidRequest);
        refused(r#"{"id":7,"method":"x"}"#, "7", ErrorKind::InvalidRequest);
        refused(r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, "null", ErrorKind::InvalidRequest);
        refused(r#"{"jsonrpc":"2.0","id":7,"method":1}"#, "7", ErrorKind::InvalidRequest);
        refused(r#"[{"jsonrpc":"2.0","id":7,"method":"x"}]"#, "null", ErrorKind::InvalidRequest);
        let error = refused(r#"{"jsonrpc":"2.0","id":7}"#, "7", ErrorKind::InvalidRequest);
        assert_eq!(error.violations()[0].field, "method");
    }

    #[test]
    fn a_batch_is_split_and_anything_else_is_not_one() {
        assert_eq!(split_batch(r#"[ {"a":1}, 2 ]"#).unwrap().unwrap(), [r#"{"a":1}"#, "2"]);
        assert_eq!(split_batch("{}").unwrap(), None);
        assert!(split_batch("[").is_err());
    }

    #[test]
    fn an_error_wins_over_a_null_result() {
        let error = read_reply(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1}}"#);
        assert_eq!(error.unwrap(), Reply::Error(r#"{"code":1}"#));
        let result = read_reply(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#);
        assert_eq!(result.unwrap(), Reply::Result("{}"));
        assert_eq!(read_reply(r#"{"jsonrpc":"2.0","id":1}"#).unwrap(), Reply::Result("null"));
    }
}
