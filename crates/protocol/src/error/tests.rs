use super::*;
use crate::ids::TaskId;

/// The tables of A2A digest §7.1, written out: kind, JSON-RPC, HTTP and gRPC of 1.0.1, then
/// HTTP and gRPC of 1.0.0.
const TABLE: [(&str, i32, u16, &str, u16, &str); 9] = [
    ("TASK_NOT_FOUND", -32001, 404, "NOT_FOUND", 404, "NOT_FOUND"),
    ("TASK_NOT_CANCELABLE", -32002, 400, "FAILED_PRECONDITION", 409, "FAILED_PRECONDITION"),
    ("PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 400, "FAILED_PRECONDITION", 400, "UNIMPLEMENTED"),
    ("UNSUPPORTED_OPERATION", -32004, 400, "FAILED_PRECONDITION", 400, "UNIMPLEMENTED"),
    ("CONTENT_TYPE_NOT_SUPPORTED", -32005, 400, "INVALID_ARGUMENT", 415, "INVALID_ARGUMENT"),
    ("INVALID_AGENT_RESPONSE", -32006, 500, "INTERNAL", 502, "INTERNAL"),
    (
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        -32007,
        400,
        "FAILED_PRECONDITION",
        400,
        "FAILED_PRECONDITION",
    ),
    ("EXTENSION_SUPPORT_REQUIRED", -32008, 400, "FAILED_PRECONDITION", 400, "FAILED_PRECONDITION"),
    ("VERSION_NOT_SUPPORTED", -32009, 400, "FAILED_PRECONDITION", 400, "UNIMPLEMENTED"),
];

#[test]
fn the_codes_are_those_of_both_editions() {
    for (reason, jsonrpc, http, grpc, http_1_0_0, grpc_1_0_0) in TABLE {
        let kind = ErrorKind::from_reason(reason).unwrap();
        let (new, old) = (ErrorTable::V1_0_1, ErrorTable::V1_0_0);
        assert_eq!(kind.jsonrpc_code(), jsonrpc, "{reason}");
        assert_eq!(ErrorKind::from_jsonrpc_code(jsonrpc), kind);
        assert_eq!((kind.http_status(new), kind.grpc_code(new).name()), (http, grpc), "{reason}");
        assert_eq!(
            (kind.http_status(old), kind.grpc_code(old).name()),
            (http_1_0_0, grpc_1_0_0),
            "{reason}"
        );
    }
}

fn rich() -> Error {
    Error::new(ErrorKind::UnsupportedOperation, "the task has ended")
        .with_reason("TASK_NOT_MODIFIABLE")
        .with_metadata("taskId", "t1")
        .with_violation("message.taskId", "names a finished task")
        .with_retry_after(Duration::from_millis(1500))
        .with_detail(Object::parse_text(r#"{"@type":"x/y","z":9007199254740993}"#).unwrap())
}

#[test]
fn an_error_survives_json_rpc() {
    let json = json::write_with(|writer| rich().write_jsonrpc(writer));
    assert_eq!(
        json,
        concat!(
            r#"{"code":-32004,"message":"the task has ended","data":["#,
            r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","#,
            r#""domain":"a2a-protocol.org","metadata":{"taskId":"t1"}},"#,
            r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_MODIFIABLE","#,
            r#""domain":"nuncio"},"#,
            r#"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":"#,
            r#"[{"field":"message.taskId","description":"names a finished task"}]},"#,
            r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"},"#,
            r#"{"@type":"x/y","z":9007199254740993}]}"#,
        )
    );
    assert_eq!(read_with(&json, Error::read_jsonrpc).unwrap(), rich());
}

#[test]
fn an_error_survives_http_in_both_editions() {
    for table in [ErrorTable::V1_0_1, ErrorTable::V1_0_0] {
        for &kind in ErrorKind::ALL {
            let error = Error::new(kind, "why");
            let body = json::write_with(|writer| error.write_http(table, writer));
            assert_eq!(Error::read_http(kind.http_status(table), body.as_bytes()), error);
        }
    }
}

#[test]
fn the_reason_decides_over_code_and_status() {
    let body = br#"{"error":{"code":400,"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VERSION_NOT_SUPPORTED"}]}}"#;
    assert_eq!(Error::read_http(400, body).kind(), ErrorKind::VersionNotSupported);
}

#[test]
fn a_precise_reason_decides_over_a_code_of_a_forms_own() {
    for (code, reason, kind) in [
        (-32003, reason::TASK_NOT_MODIFIABLE, ErrorKind::UnsupportedOperation),
        (-32603, reason::OUTPUT_MODE_NOT_SUPPORTED, ErrorKind::ContentTypeNotSupported),
        (-32001, reason::SKILL_NOT_FOUND, ErrorKind::InvalidParams),
        (-32603, reason::AGENT_UNAVAILABLE, ErrorKind::Unavailable),
        (-32603, reason::AGENT_BUSY, ErrorKind::Unavailable),
    ] {
        let error = Error::new(kind, "why").with_reason(reason);
        let json = json::write_with(|writer| error.write_jsonrpc_as(code, writer));
        assert!(json.starts_with(&format!(r#"{{"code":{code},"#)), "{json}");
        assert_eq!(read_with(&json, Error::read_jsonrpc).unwrap(), error);
    }
}

#[test]
fn an_answer_that_is_no_error_body_is_judged_by_its_status() {
    for body in [&b""[..], b"<html>", b"{}", b"[]", b"\xff", br#"{"error":"no"}"#] {
        let error = Error::read_http(503, body);
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Unavailable, "the peer answered 503")
        );
    }
}

#[test]
fn codes_of_a_peers_own_are_kept() {
    let error =
        read_with(r#"{"code":-32050,"message":"odd","data":"x"}"#, Error::read_jsonrpc).unwrap();
    assert_eq!(error.kind(), ErrorKind::Other(-32050));
    assert_eq!(error.details()[0].as_str(), r#"{"value":"x"}"#);
}

#[test]
fn a_field_of_the_wrong_shape_becomes_a_named_violation() {
    let error = json::from_str::<crate::message::Message>(r#"{"messageId":"m","role":7}"#);
    let error = Error::from(error.unwrap_err());
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    assert_eq!(error.violations()[0].field, "role");
}

#[test]
fn an_unknown_task_and_a_foreign_one_look_alike() {
    let error = Error::task_not_found(&TaskId::parse("t9").unwrap());
    assert_eq!(error.message(), "no task t9");
}
