//! What a refusal looks like, checked for every form.

use bytes::Bytes;
use nuncio_protocol::{dialect::WireForm, error::Error, json, version::Version};
use serde_json::Value;

use super::{Binding, Reply};

/// A call that was refused.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The code of its binding: of JSON-RPC, of HTTP, or of gRPC.
    pub code: i32,
    /// The HTTP status.
    pub status: u16,
    /// What it says.
    pub error: Error,
    /// The bytes that say so.
    pub bytes: Bytes,
}

impl Refused {
    /// Reads an answer over JSON-RPC.
    pub(super) fn json_rpc(version: Version, reply: &Reply) -> Self {
        let document = reply.json();
        assert_eq!(document["jsonrpc"], "2.0", "{document}");
        Self::json_rpc_document(version, reply.status, &document)
    }

    /// Reads an error within an envelope, of an answer or of a stream.
    pub(super) fn json_rpc_document(version: Version, status: u16, document: &Value) -> Self {
        let error = &document["error"];
        let code = error["code"].as_i64().and_then(|code| i32::try_from(code).ok());
        let code = code.unwrap_or_else(|| panic!("no code in {document}"));
        assert!(error["message"].is_string(), "{document}");
        if version == Version::V1_0 {
            check_details(&error["data"]);
        } else {
            // 0.3 says anything but a list.
            assert!(!error["data"].is_array(), "{document}");
        }
        let text = error.to_string();
        let form = if version == Version::V1_0 { WireForm::V1 } else { WireForm::V03 };
        let form = form.json_rpc("").expect("it is on JSON-RPC");
        let read = json::read_with(&text, |reader| form.read_error(reader));
        Self { code, status, error: read.expect("it was checked"), bytes: text.into() }
    }

    /// Reads an answer over HTTP+JSON.
    pub(super) fn http(version: Version, reply: &Reply) -> Self {
        let document = reply.json();
        if version == Version::V1_0 {
            let error = &document["error"];
            assert_eq!(error["code"], reply.status, "{document}");
            assert!(error["message"].is_string(), "{document}");
            let name = error["status"].as_str().unwrap_or_default();
            let named = nuncio_protocol::error::GrpcCode::from_name(name);
            assert!(named.is_some(), "no status in {document}");
            check_details(&error["details"]);
        } else {
            assert!(document["code"].is_i64() && document["message"].is_string(), "{document}");
        }
        let form = if version == Version::V1_0 { WireForm::V1Http } else { WireForm::V03Http };
        let form = form.http().expect("it is on HTTP");
        let operation = nuncio_protocol::operation::Operation::GetTask;
        let read = form.read_reply(operation, reply.status, &reply.body);
        Self {
            code: reply.status.into(),
            status: reply.status,
            error: read.expect_err("it is no success"),
            bytes: reply.body.clone(),
        }
    }

    /// Takes an error that ended a stream over HTTP+JSON.
    pub(super) fn frame(error: Error, text: &str) -> Self {
        let code = error.kind().http_status(nuncio_protocol::error::ErrorTable::default());
        Self {
            code: code.into(),
            status: 200,
            error,
            bytes: Bytes::copy_from_slice(text.as_bytes()),
        }
    }

    /// Reads the status that ended a call over gRPC.
    pub(super) fn grpc(status: &tonic::Status) -> Self {
        let bytes = Bytes::copy_from_slice(status.details());
        Self { code: status.code().into(), status: 200, error: Error::from_tonic(status), bytes }
    }

    /// Reads an answer that refuses something, over either form of JSON.
    ///
    /// # Panics
    /// If it refuses nothing, or not as the form says.
    pub fn read(binding: Binding, version: Version, reply: &Reply) -> Self {
        match binding {
            Binding::JsonRpc => Self::json_rpc(version, reply),
            Binding::HttpJson => Self::http(version, reply),
            Binding::Grpc => panic!("gRPC has no documents"),
        }
    }
}

/// 1.0 gives a list of details, of which the first says why in one word.
fn check_details(details: &Value) {
    let first = &details[0];
    assert_eq!(first["@type"], "type.googleapis.com/google.rpc.ErrorInfo", "{details}");
    assert_eq!(first["domain"], "a2a-protocol.org", "{details}");
    let reason = first["reason"].as_str().unwrap_or_default();
    let is_fit = |letter: char| letter.is_ascii_uppercase() || "_0123456789".contains(letter);
    assert!(!reason.is_empty() && reason.chars().all(is_fit), "{details}");
    let typed = details.as_array().into_iter().flatten().all(|detail| detail["@type"].is_string());
    assert!(typed, "{details}");
}
