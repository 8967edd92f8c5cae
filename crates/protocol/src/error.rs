//! The one error a peer can see, with its code on every binding (A2A digest §7).

use std::{borrow::Cow, collections::BTreeMap, fmt, time::Duration};

use crate::json::{self, Object, Raw, Reader, ToJson, Writer, read_with};

/// The domain of every `ErrorInfo` we send.
pub const ERROR_DOMAIN: &str = "a2a-protocol.org";

/// Reasons more precise than the usual ones of their kind.
pub mod reason {
    /// A message to a task that has ended; [`UnsupportedOperation`](super::ErrorKind).
    pub const TASK_NOT_MODIFIABLE: &str = "TASK_NOT_MODIFIABLE";
    /// None of the media types the caller accepts; [`ContentTypeNotSupported`](super::ErrorKind).
    pub const OUTPUT_MODE_NOT_SUPPORTED: &str = "OUTPUT_MODE_NOT_SUPPORTED";
    /// A skill the agent does not have; [`InvalidParams`](super::ErrorKind).
    pub const SKILL_NOT_FOUND: &str = "SKILL_NOT_FOUND";
    /// The agent is known and cannot be reached; [`Unavailable`](super::ErrorKind).
    pub const AGENT_UNAVAILABLE: &str = "AGENT_UNAVAILABLE";
}

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

/// What sort of error it is; decides the codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The body is not JSON as we accept it.
    Parse,
    /// The body is not a request.
    InvalidRequest,
    /// There is no such operation.
    MethodNotFound,
    /// The request is not as the operation needs it.
    InvalidParams,
    /// A fault of ours.
    Internal,
    /// No such task, or not the caller's; also no such webhook.
    TaskNotFound,
    /// The task has ended, or the agent cannot stop it.
    TaskNotCancelable,
    /// The agent has no webhooks.
    PushNotificationNotSupported,
    /// The agent does not do that, or not to a task in that state.
    UnsupportedOperation,
    /// A media type the agent does not take or give.
    ContentTypeNotSupported,
    /// The agent answered against the protocol.
    InvalidAgentResponse,
    /// The agent promises an extended card and has none.
    ExtendedAgentCardNotConfigured,
    /// The agent needs an extension the caller did not name.
    ExtensionSupportRequired,
    /// That version of A2A is not spoken here.
    VersionNotSupported,
    /// Who is calling? No valid credential came along.
    Unauthenticated,
    /// The caller is known and may not do this.
    PermissionDenied,
    /// Too much at once.
    RateLimited,
    /// The body is larger than the limit.
    TooLarge,
    /// Nobody can answer now; later perhaps.
    Unavailable,
    /// The answer did not come in time.
    Timeout,
    /// A JSON-RPC code of a peer's own.
    Other(i32),
}

/// Which edition of the code tables is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ErrorTable {
    /// Specification 1.0.1.
    #[default]
    V1_0_1,
    /// Specification 1.0.0, which older conformance kits expect.
    V1_0_0,
}

/// One field that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldViolation {
    /// The path of the field, `message.parts[0]`.
    pub field: String,
    /// What is wrong with it.
    pub description: String,
}

macro_rules! grpc_codes {
    ($($variant:ident = $number:literal $name:literal,)*) => {
        /// A gRPC status code that stands for an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the names are gRPC's and explained there")]
        pub enum GrpcCode { $($variant = $number,)* }

        impl GrpcCode {
            /// Returns the upper-case name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Finds a code by its upper-case name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            /// Finds a code by its number.
            pub const fn from_number(number: i32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

grpc_codes! {
    Cancelled = 1 "CANCELLED",
    Unknown = 2 "UNKNOWN",
    InvalidArgument = 3 "INVALID_ARGUMENT",
    DeadlineExceeded = 4 "DEADLINE_EXCEEDED",
    NotFound = 5 "NOT_FOUND",
    AlreadyExists = 6 "ALREADY_EXISTS",
    PermissionDenied = 7 "PERMISSION_DENIED",
    ResourceExhausted = 8 "RESOURCE_EXHAUSTED",
    FailedPrecondition = 9 "FAILED_PRECONDITION",
    Aborted = 10 "ABORTED",
    OutOfRange = 11 "OUT_OF_RANGE",
    Unimplemented = 12 "UNIMPLEMENTED",
    Internal = 13 "INTERNAL",
    Unavailable = 14 "UNAVAILABLE",
    DataLoss = 15 "DATA_LOSS",
    Unauthenticated = 16 "UNAUTHENTICATED",
}

/// The codes of one kind of error: a row of the tables.
struct Codes {
    jsonrpc: i32,
    http: u16,
    grpc: GrpcCode,
    reason: &'static str,
}

impl ErrorKind {
    /// Every kind but [`Other`](Self::Other).
    pub const ALL: &[Self] = &[
        Self::Parse,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::RateLimited,
        Self::TooLarge,
        Self::Unavailable,
        Self::Timeout,
    ];

    fn codes(self) -> Codes {
        use GrpcCode as G;
        let (jsonrpc, http, grpc, reason) = match self {
            Self::Parse => (-32700, 400, G::InvalidArgument, "PARSE_ERROR"),
            Self::InvalidRequest => (-32600, 400, G::InvalidArgument, "INVALID_REQUEST"),
            Self::MethodNotFound => (-32601, 404, G::Unimplemented, "METHOD_NOT_FOUND"),
            Self::InvalidParams => (-32602, 400, G::InvalidArgument, "INVALID_PARAMS"),
            Self::Internal => (-32603, 500, G::Internal, "INTERNAL_ERROR"),
            Self::TaskNotFound => (-32001, 404, G::NotFound, "TASK_NOT_FOUND"),
            Self::TaskNotCancelable => (-32002, 400, G::FailedPrecondition, "TASK_NOT_CANCELABLE"),
            Self::PushNotificationNotSupported => {
                (-32003, 400, G::FailedPrecondition, "PUSH_NOTIFICATION_NOT_SUPPORTED")
            }
            Self::UnsupportedOperation => {
                (-32004, 400, G::FailedPrecondition, "UNSUPPORTED_OPERATION")
            }
            Self::ContentTypeNotSupported => {
                (-32005, 400, G::InvalidArgument, "CONTENT_TYPE_NOT_SUPPORTED")
            }
            Self::InvalidAgentResponse => (-32006, 500, G::Internal, "INVALID_AGENT_RESPONSE"),
            Self::ExtendedAgentCardNotConfigured => {
                (-32007, 400, G::FailedPrecondition, "EXTENDED_AGENT_CARD_NOT_CONFIGURED")
            }
            Self::ExtensionSupportRequired => {
                (-32008, 400, G::FailedPrecondition, "EXTENSION_SUPPORT_REQUIRED")
            }
            Self::VersionNotSupported => {
                (-32009, 400, G::FailedPrecondition, "VERSION_NOT_SUPPORTED")
            }
            // A2A gives these no JSON-RPC code: on HTTP the status tells them apart.
            Self::Unauthenticated => (-32603, 401, G::Unauthenticated, "UNAUTHENTICATED"),
            Self::PermissionDenied => (-32603, 403, G::PermissionDenied, "PERMISSION_DENIED"),
            Self::RateLimited => (-32603, 429, G::ResourceExhausted, "RATE_LIMITED"),
            Self::TooLarge => (-32600, 413, G::ResourceExhausted, "TOO_LARGE"),
            Self::Unavailable => (-32603, 503, G::Unavailable, "UNAVAILABLE"),
            Self::Timeout => (-32603, 504, G::DeadlineExceeded, "TIMEOUT"),
            Self::Other(code) => (code, 500, G::Unknown, "UNKNOWN"),
        };
        Codes { jsonrpc, http, grpc, reason }
    }

    /// Returns the JSON-RPC code.
    pub fn jsonrpc_code(self) -> i32 {
        self.codes().jsonrpc
    }

    /// Returns the HTTP status.
    pub fn http_status(self, table: ErrorTable) -> u16 {
        match (table, self) {
            (ErrorTable::V1_0_0, Self::TaskNotCancelable) => 409,
            (ErrorTable::V1_0_0, Self::ContentTypeNotSupported) => 415,
            (ErrorTable::V1_0_0, Self::InvalidAgentResponse) => 502,
            _ => self.codes().http,
        }
    }

    /// Returns the gRPC status code.
    pub fn grpc_code(self, table: ErrorTable) -> GrpcCode {
        match (table, self) {
            (
                ErrorTable::V1_0_0,
                Self::PushNotificationNotSupported
                | Self::UnsupportedOperation
                | Self::VersionNotSupported,
            ) => GrpcCode::Unimplemented,
            _ => self.codes().grpc,
        }
    }

    /// Returns the usual `ErrorInfo` reason.
    pub fn reason(self) -> &'static str {
        self.codes().reason
    }

    /// Finds the kind by its usual reason, or by one of the more precise ones in [`reason`].
    pub fn from_reason(reason: &str) -> Option<Self> {
        match reason {
            reason::TASK_NOT_MODIFIABLE => Some(Self::UnsupportedOperation),
            reason::OUTPUT_MODE_NOT_SUPPORTED => Some(Self::ContentTypeNotSupported),
            reason::SKILL_NOT_FOUND => Some(Self::InvalidParams),
            reason::AGENT_UNAVAILABLE => Some(Self::Unavailable),
            _ => Self::ALL.iter().copied().find(|kind| kind.reason() == reason),
        }
    }

    /// Finds the kind by its JSON-RPC code.
    pub fn from_jsonrpc_code(code: i32) -> Self {
        // `ALL` has the owner of a shared code first.
        let known = Self::ALL.iter().copied().find(|kind| kind.jsonrpc_code() == code);
        known.unwrap_or(Self::Other(code))
    }

    /// Guesses the kind by an HTTP status, for answers that say no more than that.
    pub fn from_http_status(status: u16) -> Self {
        match status {
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 | 410 => Self::TaskNotFound,
            405 | 501 => Self::UnsupportedOperation,
            408 | 504 => Self::Timeout,
            409 => Self::TaskNotCancelable,
            413 => Self::TooLarge,
            415 => Self::ContentTypeNotSupported,
            429 => Self::RateLimited,
            502 => Self::InvalidAgentResponse,
            503 => Self::Unavailable,
            400..=499 => Self::InvalidParams,
            _ => Self::Internal,
        }
    }

    /// Guesses the kind by a gRPC status code, for answers that say no more than that.
    pub fn from_grpc_code(code: GrpcCode) -> Self {
        match code {
            GrpcCode::InvalidArgument | GrpcCode::OutOfRange | GrpcCode::AlreadyExists => {
                Self::InvalidParams
            }
            GrpcCode::DeadlineExceeded | GrpcCode::Cancelled => Self::Timeout,
            GrpcCode::NotFound => Self::TaskNotFound,
            GrpcCode::PermissionDenied => Self::PermissionDenied,
            GrpcCode::ResourceExhausted => Self::RateLimited,
            GrpcCode::FailedPrecondition | GrpcCode::Unimplemented => Self::UnsupportedOperation,
            GrpcCode::Unavailable | GrpcCode::Aborted => Self::Unavailable,
            GrpcCode::Unauthenticated => Self::Unauthenticated,
            GrpcCode::Unknown | GrpcCode::Internal | GrpcCode::DataLoss => Self::Internal,
        }
    }
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
            object.member("reason", self.reason());
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
