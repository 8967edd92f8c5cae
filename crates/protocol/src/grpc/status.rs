//! Errors as gRPC carries them.
//!
//! A peer may send anything as details. What is not understood is kept for people to see, and
//! never hides the error itself.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use prost::Message as _;
use prost_types::{Any, Struct};

use super::rpc::{self, bad_request};
use crate::{
    dialect::v03_http,
    error::{
        BAD_REQUEST, ERROR_DOMAIN, ERROR_INFO, Error, ErrorKind, ErrorTable, GrpcCode,
        PRECISE_DOMAIN, RETRY_INFO,
    },
    json::{Object, Raw},
};

const STRUCT: &str = "type.googleapis.com/google.protobuf.Struct";

impl Error {
    /// Writes the message that gRPC has for errors.
    pub fn to_rpc(&self, table: ErrorTable) -> rpc::Status {
        let info = rpc::ErrorInfo {
            reason: self.kind().reason().to_owned(),
            domain: ERROR_DOMAIN.to_owned(),
            metadata: self.metadata().clone(),
        };
        let mut details = vec![pack(ERROR_INFO, &info)];
        if let Some(reason) = self.precise_reason() {
            let precise = rpc::ErrorInfo {
                reason: reason.to_owned(),
                domain: PRECISE_DOMAIN.to_owned(),
                ..rpc::ErrorInfo::default()
            };
            details.push(pack(ERROR_INFO, &precise));
        }
        if !self.violations().is_empty() {
            let violations = self.violations().iter();
            let field_violations = violations
                .map(|violation| bad_request::FieldViolation {
                    field: violation.field.clone(),
                    description: violation.description.clone(),
                })
                .collect();
            details.push(pack(BAD_REQUEST, &rpc::BadRequest { field_violations }));
        }
        if let Some(delay) = self.retry_after().and_then(write_delay) {
            details.push(pack(RETRY_INFO, &rpc::RetryInfo { retry_delay: Some(delay) }));
        }
        let rest = self.details().iter().cloned();
        details.extend(rest.map(|detail| pack(STRUCT, &Struct::from(detail))));
        let code = self.kind().grpc_code(table) as i32;
        rpc::Status { code, message: self.message().to_owned(), details }
    }

    /// Reads the message that gRPC has for errors: its reason decides what sort of error it
    /// is, or else its code.
    pub fn from_rpc(status: &rpc::Status) -> Self {
        let details: Vec<Detail> = status.details.iter().map(unpack).collect();
        // Usually there is one. Of several the last counts, but none hides a reason we know.
        let reasons = details.iter().rev().filter_map(Detail::reason);
        let message = status.message.as_str();
        let error = if let Some(kind) = reasons.clone().find_map(ErrorKind::from_reason) {
            Self::new(kind, message)
        } else {
            let code = GrpcCode::from_number(status.code);
            let kind = code.map_or(ErrorKind::Internal, ErrorKind::from_grpc_code);
            let reason = reasons.clone().next().unwrap_or_else(|| kind.reason());
            Self::new(kind, message).with_reason(reason.to_owned())
        };
        details.into_iter().fold(error, add)
    }

    /// Writes the status that ends a gRPC call.
    pub fn to_tonic(&self, table: ErrorTable) -> tonic::Status {
        let status = self.to_rpc(table);
        let details = Bytes::from(status.encode_to_vec());
        tonic::Status::with_details(status.code.into(), status.message, details)
    }

    /// Writes the status that ends a gRPC call of A2A 0.3. Its clients know no details: they go
    /// by the codes of that time, and by the name that stands before the message.
    pub fn to_tonic_v03(&self) -> tonic::Status {
        let mut status = self.to_rpc(ErrorTable::V1_0_0);
        if let Some(name) = v03_http::error_name(self.kind()) {
            status.message = format!("{name}: {}", status.message);
        }
        let details = Bytes::from(status.encode_to_vec());
        tonic::Status::with_details(status.code.into(), status.message, details)
    }

    /// Reads the status that ended a gRPC call. Its details may be anything, also nothing.
    pub fn from_tonic(status: &tonic::Status) -> Self {
        let mut rpc = rpc::Status::decode(status.details()).unwrap_or_default();
        // The two should agree; the status itself is what every other reader goes by.
        rpc.code = status.code().into();
        if !status.message().is_empty() {
            status.message().clone_into(&mut rpc.message);
        }
        Self::from_rpc(&rpc)
    }

    /// Reads the status that ended a gRPC call of A2A 0.3: where there are no details, the name
    /// before the message says what sort of error it is.
    pub fn from_tonic_v03(status: &tonic::Status) -> Self {
        let error = Self::from_tonic(status);
        let Some((name, message)) = error.message().split_once(": ") else { return error };
        let Some(kind) = v03_http::error_kind(name) else { return error };
        let message = message.to_owned();
        if !status.details().is_empty() {
            return error.with_message(message);
        }
        Self::new(kind, message)
    }
}

/// A detail, understood or not.
enum Detail {
    Info(rpc::ErrorInfo),
    BadRequest(rpc::BadRequest),
    Retry(rpc::RetryInfo),
    Other(Object),
}

impl Detail {
    fn reason(&self) -> Option<&str> {
        match self {
            Self::Info(info) => Some(info.reason.as_str()).filter(|reason| !reason.is_empty()),
            _ => None,
        }
    }
}

fn pack(type_url: &str, message: &impl prost::Message) -> Any {
    Any { type_url: type_url.to_owned(), value: message.encode_to_vec() }
}

fn unpack(any: &Any) -> Detail {
    let bytes = any.value.as_slice();
    let known = match any.type_url.as_str() {
        ERROR_INFO => rpc::ErrorInfo::decode(bytes).ok().map(Detail::Info),
        BAD_REQUEST => rpc::BadRequest::decode(bytes).ok().map(Detail::BadRequest),
        RETRY_INFO => rpc::RetryInfo::decode(bytes).ok().map(Detail::Retry),
        STRUCT => {
            let object = Struct::decode(bytes).ok().map(Object::try_from);
            object.and_then(Result::ok).map(Detail::Other)
        }
        _ => None,
    };
    known.unwrap_or_else(|| {
        Detail::Other(Object::from_members([
            ("@type", Raw::string(&any.type_url)),
            ("value", Raw::string(&STANDARD.encode(bytes))),
        ]))
    })
}

fn add(error: Error, detail: Detail) -> Error {
    match detail {
        Detail::Info(info) if info.domain == PRECISE_DOMAIN => error.with_reason(info.reason),
        Detail::Info(info) => {
            let metadata = info.metadata.into_iter();
            metadata.fold(error, |error, (key, value)| error.with_metadata(key, value))
        }
        Detail::BadRequest(request) => {
            let violations = request.field_violations.into_iter();
            violations.fold(error, |error, violation| {
                error.with_violation(violation.field, violation.description)
            })
        }
        Detail::Retry(retry) => match retry.retry_delay.and_then(read_delay) {
            Some(delay) => error.with_retry_after(delay),
            None => error,
        },
        Detail::Other(object) => error.with_detail(object),
    }
}

/// Writes a delay; one that protobuf cannot hold is no advice.
fn write_delay(delay: Duration) -> Option<prost_types::Duration> {
    let seconds = delay.as_secs().try_into().ok()?;
    let nanos = delay.subsec_nanos().try_into().ok()?;
    Some(prost_types::Duration { seconds, nanos })
}

/// Reads a delay; one that is negative is no advice.
///
/// The conversion of `prost_types` panics for some durations that a peer can send.
fn read_delay(delay: prost_types::Duration) -> Option<Duration> {
    let nanos = u32::try_from(delay.nanos).ok().filter(|nanos| *nanos < 1_000_000_000)?;
    Some(Duration::new(delay.seconds.try_into().ok()?, nanos))
}
