//! The kinds of errors and their codes on every binding (A2A digest §7).

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
    /// The agent has as much to do as it can; [`Unavailable`](super::ErrorKind).
    pub const AGENT_BUSY: &str = "AGENT_BUSY";
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
    /// As much as was granted; more when it is granted anew.
    BudgetExceeded,
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
        Self::BudgetExceeded,
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
            Self::BudgetExceeded => (-32603, 402, G::ResourceExhausted, "BUDGET_EXCEEDED"),
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
            reason::AGENT_UNAVAILABLE | reason::AGENT_BUSY => Some(Self::Unavailable),
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
            402 => Self::BudgetExceeded,
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
