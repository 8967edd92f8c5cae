//! What a gRPC peer would notice if our protobuf files strayed from the protocol.
//!
//! The expected bytes are spelled out: a field's key is `number << 3 | kind`, where kind
//! is 0 for a number and 2 for anything with a length.

use std::{
    fmt::Debug,
    future::{Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use nuncio_protocol::grpc::{rpc, v1, v03};
use prost::Message;
use prost_types::{Any, Duration, NullValue, Struct, Value, value::Kind};
use tonic::{
    body::Body,
    codegen::{Service, http},
};

#[track_caller]
fn check<M: Message + Default + PartialEq + Debug>(message: &M, bytes: &[u8]) {
    assert_eq!(message.encode_to_vec(), bytes);
    assert_eq!(M::decode(bytes).as_ref(), Ok(message));
}

#[test]
fn the_tenant_comes_first_except_when_listing_webhooks() {
    let tenant = || "t".to_owned();
    check(
        &v1::GetTaskPushNotificationConfigRequest { tenant: tenant(), ..Default::default() },
        b"\x0a\x01t",
    );
    check(
        &v1::ListTaskPushNotificationConfigsRequest { tenant: tenant(), ..Default::default() },
        b"\x22\x01t",
    );
}

#[test]
fn a_refused_capability_differs_from_one_left_out() {
    check(&v1::AgentCapabilities::default(), b"");
    check(
        &v1::AgentCapabilities { extended_agent_card: Some(false), ..Default::default() },
        b"\x20\x00",
    );
}

#[test]
fn a_history_length_of_zero_is_said_in_v1_only() {
    check(&v1::GetTaskRequest { history_length: Some(0), ..Default::default() }, b"\x18\x00");
    check(&v03::GetTaskRequest { history_length: 0, ..Default::default() }, b"");
}

#[test]
fn artifact_names_moved_between_the_versions() {
    let name = || "n".to_owned();
    check(&v1::Artifact { name: name(), ..Default::default() }, b"\x12\x01n");
    check(&v03::Artifact { name: name(), ..Default::default() }, b"\x1a\x01n");
}

#[test]
fn data_is_any_value_in_v1_and_an_object_in_v03() {
    let null = Value { kind: Some(Kind::NullValue(NullValue::NullValue.into())) };
    check(&v1_part(v1::part::Content::Data(null)), b"\x22\x02\x08\x00");
    let data = v03::DataPart { data: Some(Struct::default()) };
    check(&v03_part(v03::part::Part::Data(data)), b"\x1a\x02\x0a\x00");
}

#[test]
fn file_bytes_have_a_message_of_their_own_in_v03() {
    check(&v1_part(v1::part::Content::Raw(b"hi".as_slice().into())), b"\x12\x02hi");
    let file = v03::FilePart {
        file: Some(v03::file_part::File::FileWithBytes(b"hi".as_slice().into())),
        ..Default::default()
    };
    check(&v03_part(v03::part::Part::File(file)), b"\x12\x04\x12\x02hi");
}

#[test]
fn an_empty_text_is_still_a_text() {
    check(&v1_part(v1::part::Content::Text(String::new())), b"\x0a\x00");
    check(&v03_part(v03::part::Part::Text(String::new())), b"\x0a\x00");
}

#[test]
fn a_canceled_task_is_number_5_whatever_its_spelling() {
    let v1 = v1::TaskState::Canceled;
    assert_eq!((v1 as i32, v1.as_str_name()), (5, "TASK_STATE_CANCELED"));
    let v03 = v03::TaskState::Cancelled;
    assert_eq!((v03 as i32, v03.as_str_name()), (5, "TASK_STATE_CANCELLED"));
}

#[test]
fn fields_of_a_later_revision_are_skipped() {
    // Number 7 of a task is a generation counter in the draft of 1.1.
    let task = v1::Task::decode(b"\x0a\x01t\x38\x05".as_slice()).unwrap();
    assert_eq!(task.id, "t");
}

#[test]
fn error_details_keep_the_numbers_of_google_rpc() {
    let retry = rpc::RetryInfo { retry_delay: Some(Duration { seconds: 3, nanos: 0 }) };
    check(&retry, b"\x0a\x02\x08\x03");
    let status = rpc::Status {
        code: 14,
        message: "m".to_owned(),
        details: vec![Any { type_url: "u".to_owned(), value: retry.encode_to_vec() }],
    };
    check(&status, b"\x08\x0e\x12\x01m\x1a\x09\x0a\x01u\x12\x04\x0a\x02\x08\x03");
}

#[test]
fn calls_go_to_the_paths_of_their_version() {
    let v1 = || v1::a2a_service_client::A2aServiceClient::new(EchoPath);
    let v03 = || v03::a2a_service_client::A2aServiceClient::new(EchoPath);

    check_path(
        v1().send_streaming_message(v1::SendMessageRequest::default()),
        "/lf.a2a.v1.A2AService/SendStreamingMessage",
    );
    check_path(
        v03().send_streaming_message(v03::SendMessageRequest::default()),
        "/a2a.v1.A2AService/SendStreamingMessage",
    );
    check_path(
        v1().subscribe_to_task(v1::SubscribeToTaskRequest::default()),
        "/lf.a2a.v1.A2AService/SubscribeToTask",
    );
    check_path(
        v03().task_subscription(v03::TaskSubscriptionRequest::default()),
        "/a2a.v1.A2AService/TaskSubscription",
    );
    check_path(
        v1().list_task_push_notification_configs(
            v1::ListTaskPushNotificationConfigsRequest::default(),
        ),
        "/lf.a2a.v1.A2AService/ListTaskPushNotificationConfigs",
    );
    check_path(
        v03().list_task_push_notification_config(
            v03::ListTaskPushNotificationConfigRequest::default(),
        ),
        "/a2a.v1.A2AService/ListTaskPushNotificationConfig",
    );
    check_path(
        v1().get_extended_agent_card(v1::GetExtendedAgentCardRequest::default()),
        "/lf.a2a.v1.A2AService/GetExtendedAgentCard",
    );
    check_path(
        v03().get_agent_card(v03::GetAgentCardRequest::default()),
        "/a2a.v1.A2AService/GetAgentCard",
    );
}

#[test]
fn servers_answer_under_the_name_of_their_version() {
    use v1::a2a_service_server::SERVICE_NAME as V1;
    use v03::a2a_service_server::SERVICE_NAME as V03;

    assert_eq!((V1, V03), ("lf.a2a.v1.A2AService", "a2a.v1.A2AService"));
}

fn v1_part(content: v1::part::Content) -> v1::Part {
    v1::Part { content: Some(content), ..Default::default() }
}

fn v03_part(part: v03::part::Part) -> v03::Part {
    v03::Part { part: Some(part), ..Default::default() }
}

#[track_caller]
fn check_path<T>(call: impl Future<Output = Result<T, tonic::Status>>, expected: &str) {
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(Err(status)) = pin!(call).poll(&mut context) else {
        panic!("{expected} was not refused at once");
    };
    assert_eq!(status.message(), expected);
}

/// A transport that refuses every call, saying the path it was asked for.
struct EchoPath;

impl Service<http::Request<Body>> for EchoPath {
    type Response = http::Response<Body>;
    type Error = String;
    type Future = Ready<Result<Self::Response, String>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), String>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        ready(Err(request.uri().path().to_owned()))
    }
}
