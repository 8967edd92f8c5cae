//! The one error a peer can see, with its code on every binding (A2A digest §7).

mod kind;

use std::{borrow::Cow, collections::BTreeMap, fmt, time::Duration};

use crate::json::{self, Object, Raw, Reader, ToJson, Writer, read_with};

pub use kind::{ErrorKind, ErrorTable, GrpcCode, reason};

/// The domain of every `ErrorInfo` we send.
pub const ERROR_DOMAIN: &str = "a2a-protocol.org";

/// The domain of reasons that are more precise than those of A2A.
pub const PRECISE_DOMAIN: &str = "nuncio";

pub(crate) const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
pub(crate) const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";
pub(crate) const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// What a peer is told when something went wrong.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    reason: Cow<'static, str>,
    metadata: BTreeMap<String, String>,
    violations: Vec<FieldViolation>,
    retry_after: Option<Duration>,
    details: Vec<Object>,
}

/// One field that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldViolation {
    /// The path of the field, `message.parts[0]`.
    pub field: String,
    /// What is wrong with it.
    pub description: String,
}

impl Error {
    /// Creates an error with the usual reason of its kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            reason: kind.reason().into(),
            metadata: BTreeMap::new(),
            violations: Vec::new(),
            retry_after: None,
            details: Vec::new(),
        }))
    }

    /// Says that a task is not there, or not the caller's: both look alike.
    pub fn task_not_found(task: &crate::ids::TaskId) -> Self {
        Self::new(ErrorKind::TaskNotFound, format!("no task {task}"))
            .with_metadata("taskId", task.as_str())
    }

    /// Says that a version of A2A is not spoken here, and which are.
    pub fn version_not_supported(version: &str, supported: &[&str]) -> Self {
        Self::new(
            ErrorKind::VersionNotSupported,
            format!("A2A {version} is not spoken here, but {}", supported.join(" and ")),
        )
        .with_metadata("supportedVersions", supported.join(","))
    }

    /// Says it in other words.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Gives a more precise reason than the usual one.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.0.reason = reason.into();
        self
    }

    /// Adds a pair to the `ErrorInfo`.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.metadata.insert(key.into(), value.into());
        self
    }

    /// Names a field that is not as it should be.
    #[must_use]
    pub fn with_violation(
        mut self,
        field: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        self.0
            .violations
            .push(FieldViolation { field: field.into(), description: description.into() });
        self
    }

    /// Says when it may be tried again.
    #[must_use]
    pub fn with_retry_after(mut self, delay: Duration) -> Self {
        self.0.retry_after = Some(delay);
        self
    }

    /// Adds a detail of a type we do not know ourselves.
    #[must_use]
    pub fn with_detail(mut self, detail: Object) -> Self {
        self.0.details.push(detail);
        self
    }

    /// Returns what sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the text for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the reason for programs.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// Returns the reason if it is more precise than that of A2A.
    ///
    /// SDKs tell errors apart by the first `ErrorInfo`, and know the reasons of A2A alone; so a
    /// more precise one goes into a second.
    pub(crate) fn precise_reason(&self) -> Option<&str> {
        Some(self.reason()).filter(|reason| *reason != self.kind().reason())
    }

    /// Returns the pairs of the `ErrorInfo`.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.0.metadata
    }

    /// Returns the fields that are not as they should be.
    pub fn violations(&self) -> &[FieldViolation] {
        &self.0.violations
    }

    /// Returns when it may be tried again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Returns the details of types we do not know ourselves.
    pub fn details(&self) -> &[Object] {
        &self.0.details
    }

    /// Writes the `error` member of a JSON-RPC answer.
    pub fn write_jsonrpc(&self, writer: &mut Writer) {
        self.write_jsonrpc_as(self.kind().jsonrpc_code(), writer);
    }

    /// Writes the `error` member of a JSON-RPC answer in a form that has codes of its own.
    pub(crate) fn write_jsonrpc_as(&self, code: i32, writer: &mut Writer) {
        writer.object(|object| {
            object.member("code", &code);
            object.member("message", self.message());
            object.with("data", |writer| self.write_details(writer));
        });
    }

    /// Writes the body of an HTTP+JSON answer.
    pub fn write_http(&self, table: ErrorTable, writer: &mut Writer) {
        writer.object(|object| {
            object.with("error", |writer| {
                writer.object(|object| {
                    object.member("code", &i32::from(self.kind().http_status(table)));
                    object.member("status", self.kind().grpc_code(table).name());
                    object.member("message", self.message());
                    object.with("details", |writer| self.write_details(writer));
                });
            });
        });
    }

    /// Reads the `error` member of a JSON-RPC answer.
    pub fn read_jsonrpc(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        Self::read_jsonrpc_as(reader, |code, message| {
            Self::new(ErrorKind::from_jsonrpc_code(code), message)
        })
    }

    /// Reads the `error` member of a JSON-RPC answer in a form that has codes of its own;
    /// a reason in the error's data still decides over the code.
    pub(crate) fn read_jsonrpc_as(
        reader: &mut Reader<'_>,
        known: impl FnOnce(i32, String) -> Self,
    ) -> Result<Self, json::Error> {
        let mut code = None;
        let mut message = String::new();
        let mut data = None;
        reader.members(|reader, key| {
            match &*key {
                "code" => code = Some(reader.int32()?),
                "message" => message = reader.string()?.into_owned(),
                "data" => data = json::read_value::<Raw>(reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        let code = code.ok_or_else(|| json::Error::missing("code"))?;
        let mut error = known(code, message);
        if let Some(data) = data {
            error.take_data(&data);
        }
        Ok(error)
    }

    /// Reads the body of an HTTP+JSON answer. Whatever the body is, an error comes of it: the
    /// status alone says enough.
    pub fn read_http(status: u16, body: &[u8]) -> Self {
        let from_status = || {
            Self::new(ErrorKind::from_http_status(status), format!("the peer answered {status}"))
        };
        let Ok(text) = json::text(body) else { return from_status() };
        let mut message = String::new();
        let mut details = None;
        let read = read_with(text, |reader| {
            reader.members(|reader, key| {
                if key != "error" || reader.peek()? != json::Kind::Object {
                    return reader.skip();
                }
                reader.members(|reader, key| {
                    match &*key {
                        "message" => message = reader.string()?.into_owned(),
                        "details" => details = json::read_value::<Raw>(reader)?,
                        _ => reader.skip()?,
                    }
                    Ok(())
                })
            })
        });
        if read.is_err() || (message.is_empty() && details.is_none()) {
            return from_status();
        }
        let mut error = Self::new(ErrorKind::from_http_status(status), message);
        if let Some(details) = details {
            error.take_data(&details);
        }
        error
    }

    /// Takes in what stands in `data` or `details`: the known types, and the rest as it is.
    pub fn take_data(&mut self, data: &Raw) {
        let mut items = Vec::new();
        let is_list = read_with(data.as_str(), |reader| {
            reader.items(|reader| {
                items.push(reader.raw()?);
                Ok(())
            })
        });
        if is_list.is_err() {
            items = vec![data.clone()];
        }
        for item in items {
            match item.as_object() {
                Some(object) => self.take_detail(object),
                None => self.0.details.push(Object::from_members([("value", item)])),
            }
        }
    }

    fn take_detail(&mut self, detail: Object) {
        let name = detail.get("@type").and_then(|name| name.as_text()).unwrap_or_default();
        let text = |key: &str| detail.get(key).and_then(|value| value.as_text());
        match name.as_str() {
            ERROR_INFO => {
                if let Some(reason) = text("reason") {
                    // The reason is more precise than the code, whose table differs by edition.
                    if let Some(kind) = ErrorKind::from_reason(&reason) {
                        self.0.kind = kind;
                    }
                    self.0.reason = reason.into();
                }
                let metadata = detail.get("metadata").and_then(|value| value.as_object());
                for (key, value) in metadata.iter().flat_map(Object::members) {
                    let value = value.as_text().unwrap_or_else(|| value.as_str().to_owned());
                    self.0.metadata.insert(key, value);
                }
            }
            BAD_REQUEST => {
                let violations = detail.get("fieldViolations").map(|list| violations(&list));
                self.0.violations.extend(violations.unwrap_or_default());
            }
            RETRY_INFO => {
                let seconds = text("retryDelay")
                    .and_then(|delay| delay.strip_suffix('s')?.parse::<f64>().ok());
                self.0.retry_after =
                    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            }
            _ => self.0.details.push(detail),
        }
    }

    fn write_details(&self, writer: &mut Writer) {
        let known = [
            Some(json::write_with(|writer| self.write_error_info(writer))),
            self.precise_reason()
                .map(|reason| json::write_with(|writer| write_precise(reason, writer))),
            (!self.violations().is_empty())
                .then(|| json::write_with(|writer| self.write_bad_request(writer))),
            self.retry_after().map(|delay| {
                json::write_with(|writer| {
                    writer.object(|object| {
                        object.member("@type", RETRY_INFO);
                        object.member("retryDelay", &format!("{}s", delay.as_secs_f64()));
                    });
                })
            }),
        ];
        let rest = self.details().iter().map(Object::as_str);
        writer.array(known.iter().flatten().map(String::as_str).chain(rest), Writer::raw);
    }

    fn write_error_info(&self, writer: &mut Writer) {
        writer.object(|object| {
            object.member("@type", ERROR_INFO);
            object.member("reason", self.kind().reason());
            object.member("domain", ERROR_DOMAIN);
            if !self.metadata().is_empty() {
                object.member("metadata", self.metadata());
            }
        });
    }

    fn write_bad_request(&self, writer: &mut Writer) {
        writer.object(|object| {
            object.member("@type", BAD_REQUEST);
            object.with("fieldViolations", |writer| {
                writer.array(self.violations(), |writer, violation| violation.write(writer));
            });
        });
    }
}

fn write_precise(reason: &str, writer: &mut Writer) {
    writer.object(|object| {
        object.member("@type", ERROR_INFO);
        object.member("reason", reason);
        object.member("domain", PRECISE_DOMAIN);
    });
}

fn violations(list: &Raw) -> Vec<FieldViolation> {
    let mut violations = Vec::new();
    // A list we cannot read says nothing, and the error itself is told in any case.
    let _ = read_with(list.as_str(), |reader| {
        reader.items(|reader| {
            let violation = reader.raw_object()?;
            let text = |key| violation.get(key).and_then(|value| value.as_text());
            violations.push(FieldViolation {
                field: text("field").unwrap_or_default(),
                description: text("description").unwrap_or_default(),
            });
            Ok(())
        })
    });
    violations
}

impl ToJson for FieldViolation {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            object.member("field", &self.field);
            object.member("description", &self.description);
        });
    }
}

impl From<json::Error> for Error {
    fn from(error: json::Error) -> Self {
        match error.kind() {
            json::ErrorKind::Syntax => {
                Self::new(ErrorKind::Parse, format!("invalid JSON: {error}"))
            }
            json::ErrorKind::Shape => {
                Self::new(ErrorKind::InvalidParams, format!("invalid parameters: {error}"))
                    .with_violation(error.path(), error.what())
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests;
