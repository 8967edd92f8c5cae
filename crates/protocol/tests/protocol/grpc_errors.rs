//! Errors as gRPC carries them.

use std::time::Duration;

use nuncio_protocol::{
    error::{Error, ErrorKind, ErrorTable, GrpcCode, reason},
    grpc::rpc,
    json::Object,
};
use proptest::prelude::*;
use prost::Message as _;
use prost_types::{Any, Struct, Value, value::Kind};

use crate::model;

const TABLES: [ErrorTable; 2] = [ErrorTable::V1_0_1, ErrorTable::V1_0_0];

fn any(type_url: &str, message: &impl prost::Message) -> Any {
    Any { type_url: type_url.to_owned(), value: message.encode_to_vec() }
}

fn error_info(reason: &str) -> Any {
    let info = rpc::ErrorInfo { reason: reason.to_owned(), ..Default::default() };
    any("type.googleapis.com/google.rpc.ErrorInfo", &info)
}

#[test]
fn an_error_is_written_with_the_details_of_google_rpc() {
    let error = Error::new(ErrorKind::InvalidParams, "no")
        .with_metadata("taskId", "t1")
        .with_violation("message.parts", "needs at least one part")
        .with_retry_after(Duration::from_millis(1500))
        .with_detail(Object::parse_text(r#"{"@type":"x/y","z":1}"#).unwrap());
    let status = error.to_rpc(ErrorTable::default());
    assert_eq!((status.code, status.message.as_str()), (3, "no"));
    let types: Vec<&str> = status.details.iter().map(|any| any.type_url.as_str()).collect();
    assert_eq!(
        types,
        [
            "type.googleapis.com/google.rpc.ErrorInfo",
            "type.googleapis.com/google.rpc.BadRequest",
            "type.googleapis.com/google.rpc.RetryInfo",
            "type.googleapis.com/google.protobuf.Struct",
        ]
    );
    let info = rpc::ErrorInfo::decode(status.details[0].value.as_slice()).unwrap();
    assert_eq!(
        (info.reason.as_str(), info.domain.as_str()),
        ("INVALID_PARAMS", "a2a-protocol.org")
    );
    let detail = Struct::decode(status.details[3].value.as_slice()).unwrap();
    assert_eq!(detail.fields["z"].kind, Some(Kind::NumberValue(1.0)));
}

/// The tables of A2A digest §7.1: the code differs by edition, the reason does not.
#[test]
fn the_code_is_that_of_the_table() {
    let error = Error::new(ErrorKind::UnsupportedOperation, "no");
    assert_eq!(error.to_tonic(ErrorTable::V1_0_1).code(), tonic::Code::FailedPrecondition);
    assert_eq!(error.to_tonic(ErrorTable::V1_0_0).code(), tonic::Code::Unimplemented);
}

#[test]
fn the_reason_decides_before_the_code() {
    let status = rpc::Status {
        code: GrpcCode::Internal as i32,
        message: "m".to_owned(),
        details: vec![error_info("TASK_NOT_FOUND")],
    };
    assert_eq!(Error::from_rpc(&status).kind(), ErrorKind::TaskNotFound);
}

#[test]
fn the_code_decides_where_no_reason_is_known() {
    for (code, details, kind) in [
        (5, vec![], ErrorKind::TaskNotFound),
        (16, vec![error_info("TOKEN_EXPIRED")], ErrorKind::Unauthenticated),
        (12, vec![], ErrorKind::UnsupportedOperation),
        (2, vec![], ErrorKind::Internal),
        (0, vec![], ErrorKind::Internal),
        (17, vec![], ErrorKind::Internal),
        (-1, vec![], ErrorKind::Internal),
    ] {
        let error = Error::from_rpc(&rpc::Status { code, message: String::new(), details });
        assert_eq!(error.kind(), kind, "{code}");
    }
}

#[test]
fn a_reason_of_a_peers_own_is_kept() {
    let status = rpc::Status { code: 9, message: String::new(), details: vec![error_info("ODD")] };
    let error = Error::from_rpc(&status);
    assert_eq!((error.kind(), error.reason()), (ErrorKind::UnsupportedOperation, "ODD"));
}

/// SDKs read the first `ErrorInfo`, and know the reasons of A2A alone.
#[test]
fn a_precise_reason_stands_behind_that_of_a2a() {
    let error =
        Error::new(ErrorKind::UnsupportedOperation, "no").with_reason(reason::TASK_NOT_MODIFIABLE);
    let status = error.to_rpc(ErrorTable::default());
    let told: Vec<(String, String)> = status
        .details
        .iter()
        .map(|any| rpc::ErrorInfo::decode(any.value.as_slice()).unwrap())
        .map(|info| (info.reason, info.domain))
        .collect();
    let expected =
        [("UNSUPPORTED_OPERATION", "a2a-protocol.org"), ("TASK_NOT_MODIFIABLE", "nuncio")];
    assert_eq!(told, expected.map(|(reason, domain)| (reason.to_owned(), domain.to_owned())));
    assert_eq!(Error::from_rpc(&status), error);
}

/// The Python SDK goes by the name, the JavaScript SDK by the code.
#[test]
fn a_status_of_0_3_names_its_error() {
    for (kind, code, message) in [
        (ErrorKind::TaskNotFound, tonic::Code::NotFound, "TaskNotFoundError: no"),
        (
            ErrorKind::UnsupportedOperation,
            tonic::Code::Unimplemented,
            "UnsupportedOperationError: no",
        ),
        (ErrorKind::RateLimited, tonic::Code::ResourceExhausted, "no"),
    ] {
        let status = Error::new(kind, "no").to_tonic_v03();
        assert_eq!((status.code(), status.message()), (code, message));
    }
}

/// Else the kind would change when the error is passed on.
#[test]
fn a_reason_of_a_peers_own_does_not_hide_one_we_know() {
    let [known, odd] = ["PUSH_NOTIFICATION_NOT_SUPPORTED", "ODD"].map(error_info);
    for details in [vec![known.clone(), odd.clone()], vec![odd, known]] {
        let error = Error::from_rpc(&rpc::Status { code: 9, message: String::new(), details });
        assert_eq!(
            (error.kind(), error.reason()),
            (ErrorKind::PushNotificationNotSupported, "PUSH_NOTIFICATION_NOT_SUPPORTED")
        );
    }
}

/// Documented: a JSON-RPC code of a peer's own has no place in gRPC.
#[test]
fn codes_of_a_peers_own_become_internal_errors() {
    let error = Error::new(ErrorKind::Other(-32050), "odd");
    let status = error.to_tonic(ErrorTable::default());
    assert_eq!(status.code(), tonic::Code::Unknown);
    assert_eq!(Error::from_tonic(&status).kind(), ErrorKind::Internal);
}

#[test]
fn details_nobody_understands_are_kept_as_bytes() {
    for type_url in [
        "type.googleapis.com/google.rpc.ErrorInfo",
        "type.googleapis.com/google.rpc.RetryInfo",
        "type.googleapis.com/google.protobuf.Struct",
        "type.googleapis.com/google.rpc.DebugInfo",
        "",
    ] {
        let detail = Any { type_url: type_url.to_owned(), value: vec![0xff; 3] };
        let status = rpc::Status { code: 14, message: "m".to_owned(), details: vec![detail] };
        let error = Error::from_rpc(&status);
        assert_eq!((error.kind(), error.message()), (ErrorKind::Unavailable, "m"));
        let kept = format!(r#"{{"@type":"{type_url}","value":"////"}}"#);
        assert_eq!(error.details()[0].as_str(), kept);
    }
}

#[test]
fn a_struct_that_is_not_json_is_kept_as_bytes() {
    let nan = Value { kind: Some(Kind::NumberValue(f64::NAN)) };
    let detail = Struct { fields: [("a".to_owned(), nan)].into() };
    let detail = any("type.googleapis.com/google.protobuf.Struct", &detail);
    let status = rpc::Status { details: vec![detail], ..Default::default() };
    let kept = Error::from_rpc(&status).details()[0].get("@type").unwrap().as_text().unwrap();
    assert_eq!(kept, "type.googleapis.com/google.protobuf.Struct");
}

#[test]
fn a_delay_that_is_none_is_no_advice() {
    for (seconds, nanos) in [(-1, 0), (i64::MIN, i32::MIN), (0, -1), (i64::MAX, i32::MAX)] {
        let retry_delay = Some(prost_types::Duration { seconds, nanos });
        let retry =
            any("type.googleapis.com/google.rpc.RetryInfo", &rpc::RetryInfo { retry_delay });
        let status = rpc::Status { code: 14, details: vec![retry], ..Default::default() };
        assert_eq!(Error::from_rpc(&status).retry_after(), None);
    }
    let error = Error::new(ErrorKind::Unavailable, "m").with_retry_after(Duration::MAX);
    assert_eq!(error.to_rpc(ErrorTable::default()).details.len(), 1);
}

#[test]
fn a_status_without_details_is_judged_by_its_code() {
    let error = Error::from_tonic(&tonic::Status::unavailable("connection refused"));
    assert_eq!(
        (error.kind(), error.message(), error.reason()),
        (ErrorKind::Unavailable, "connection refused", "UNAVAILABLE")
    );
}

#[test]
fn the_message_of_the_details_fills_in_for_an_empty_one() {
    let details = rpc::Status { code: 5, message: "no task".to_owned(), details: vec![] };
    let details = details.encode_to_vec().into();
    let status = tonic::Status::with_details(tonic::Code::NotFound, "", details);
    assert_eq!(Error::from_tonic(&status).message(), "no task");
}

proptest! {
    #[test]
    fn errors_survive_both_editions(error in model::error::error()) {
        for table in TABLES {
            prop_assert_eq!(&Error::from_rpc(&error.to_rpc(table)), &error);
            let status = error.to_tonic(table);
            prop_assert_eq!(status.message(), error.message());
            prop_assert_eq!(&Error::from_tonic(&status), &error);
        }
    }

    #[test]
    fn garbage_for_details_hides_neither_code_nor_message(bytes: Vec<u8>, code in 0..20_i32) {
        let status = tonic::Status::with_details(code.into(), "why", bytes.into());
        let error = Error::from_tonic(&status);
        prop_assert_eq!(error.message(), "why");
    }

    /// Garbage within a well-formed envelope, under types that we do understand.
    #[test]
    fn garbage_within_details_is_survived(
        name in prop::sample::select(vec!["ErrorInfo", "BadRequest", "RetryInfo", "Help"]),
        value: Vec<u8>,
        code: i32,
    ) {
        let type_url = format!("type.googleapis.com/google.rpc.{name}");
        let details = vec![Any { type_url, value }];
        let status = rpc::Status { code, message: "why".to_owned(), details };
        let error = Error::from_rpc(&status);
        prop_assert_eq!(error.message(), "why");
    }
}
