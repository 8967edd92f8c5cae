//! gRPC: the first byte says which message it is, the rest are its bytes.
//!
//! What can be decoded and means something must mean the same when it is written and read again.

use std::fmt::Debug;

use nuncio_protocol::{
    card::AgentCard,
    error::{Error, ErrorTable},
    grpc::{self, v1, v03},
    json,
    operation::{
        ListTaskPushNotificationConfigsResponse, ListTasksResponse, Request, SendMessageRequest,
    },
    push::TaskPushNotificationConfig,
    task::{SendMessageResponse, StreamResponse, Task},
    wire::StreamEnd,
};
use prost::Message;

/// A2A 1.0.
pub(crate) fn read_v1(bytes: &[u8]) {
    read_any(V1, bytes);
}

/// A2A 0.3.
pub(crate) fn read_v03(bytes: &[u8]) {
    read_any(V03, bytes);
}

fn read_any(readers: &[fn(&[u8])], bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    readers[usize::from(*first) % readers.len()](rest);
}

const V1: &[fn(&[u8])] = &[
    |bytes| request::<v1::SendMessageRequest, _>(bytes, Request::SendMessage),
    |bytes| request::<v1::SendMessageRequest, _>(bytes, Request::SendStreamingMessage),
    |bytes| request::<v1::GetTaskRequest, _>(bytes, Request::GetTask),
    |bytes| request::<v1::ListTasksRequest, _>(bytes, Request::ListTasks),
    |bytes| request::<v1::CancelTaskRequest, _>(bytes, Request::CancelTask),
    |bytes| request::<v1::SubscribeToTaskRequest, _>(bytes, Request::SubscribeToTask),
    |bytes| {
        let operation = Request::CreateTaskPushNotificationConfig;
        request::<v1::TaskPushNotificationConfig, _>(bytes, operation);
    },
    |bytes| {
        let operation = Request::GetTaskPushNotificationConfig;
        request::<v1::GetTaskPushNotificationConfigRequest, _>(bytes, operation);
    },
    |bytes| {
        let operation = Request::ListTaskPushNotificationConfigs;
        request::<v1::ListTaskPushNotificationConfigsRequest, _>(bytes, operation);
    },
    |bytes| {
        let operation = Request::DeleteTaskPushNotificationConfig;
        request::<v1::DeleteTaskPushNotificationConfigRequest, _>(bytes, operation);
    },
    |bytes| request::<v1::GetExtendedAgentCardRequest, _>(bytes, Request::GetExtendedAgentCard),
    answer::<v1::SendMessageResponse, SendMessageResponse>,
    answer::<v1::StreamResponse, StreamResponse>,
    answer::<v1::Task, Task>,
    answer::<v1::ListTasksResponse, ListTasksResponse>,
    answer::<v1::TaskPushNotificationConfig, TaskPushNotificationConfig>,
    answer::<v1::ListTaskPushNotificationConfigsResponse, ListTaskPushNotificationConfigsResponse>,
    answer::<v1::AgentCard, AgentCard>,
    status,
];

const V03: &[fn(&[u8])] = &[
    |bytes| request::<v03::SendMessageRequest, _>(bytes, send_v03),
    |bytes| request::<v03::GetTaskRequest, _>(bytes, Request::GetTask),
    |bytes| request::<v03::CancelTaskRequest, _>(bytes, Request::CancelTask),
    |bytes| request::<v03::TaskSubscriptionRequest, _>(bytes, Request::SubscribeToTask),
    |bytes| {
        let operation = Request::CreateTaskPushNotificationConfig;
        request::<v03::CreateTaskPushNotificationConfigRequest, _>(bytes, operation);
    },
    |bytes| {
        let operation = Request::GetTaskPushNotificationConfig;
        request::<v03::GetTaskPushNotificationConfigRequest, _>(bytes, operation);
    },
    |bytes| {
        let operation = Request::ListTaskPushNotificationConfigs;
        request::<v03::ListTaskPushNotificationConfigRequest, _>(bytes, operation);
    },
    |bytes| {
        let operation = Request::DeleteTaskPushNotificationConfig;
        request::<v03::DeleteTaskPushNotificationConfigRequest, _>(bytes, operation);
    },
    |bytes| request::<v03::GetAgentCardRequest, _>(bytes, Request::GetExtendedAgentCard),
    answer::<v03::SendMessageResponse, SendMessageResponse>,
    event_v03,
    answer::<v03::Task, Task>,
    answer::<v03::TaskPushNotificationConfig, TaskPushNotificationConfig>,
    answer::<v03::ListTaskPushNotificationConfigResponse, ListTaskPushNotificationConfigsResponse>,
    card_v03,
    status,
];

/// A request must also pass its check again.
fn request<P, M>(bytes: &[u8], operation: fn(M) -> Request)
where
    P: Message + Default + Clone + TryFrom<M, Error: Debug>,
    M: TryFrom<P, Error = json::Error>,
{
    let Ok(proto) = P::decode(bytes) else { return };
    let Ok(first) = grpc::read_request(proto.clone(), operation) else { return };
    let model = M::try_from(proto).expect("it was just read");
    let again = grpc::read_request(write::<P, M>(model), operation);
    assert_eq!(again.as_ref(), Ok(&first));
}

/// No wishes become empty ones on their way.
fn send_v03(mut request: SendMessageRequest) -> Request {
    request.configuration.get_or_insert_default();
    Request::SendMessage(request)
}

fn answer<P, M>(bytes: &[u8])
where
    P: Message + Default + TryFrom<M, Error: Debug>,
    M: TryFrom<P, Error = json::Error> + Clone + Debug + PartialEq,
{
    let Some(first) = read::<P, M>(bytes) else { return };
    let again = M::try_from(write::<P, M>(first.clone()));
    assert_eq!(again.as_ref(), Ok(&first));
}

fn event_v03(bytes: &[u8]) {
    let Some(first) = read::<v03::StreamResponse, StreamResponse>(bytes) else { return };
    for end in [StreamEnd::Open, StreamEnd::Closing] {
        let proto = send(&v03::StreamResponse::from_model(first.clone(), end));
        assert_eq!(StreamResponse::try_from(proto).as_ref(), Ok(&first));
    }
}

/// A card without any interface can be read, but not be written.
fn card_v03(bytes: &[u8]) {
    let card = read::<v03::AgentCard, AgentCard>(bytes);
    if card.is_some_and(|card| !card.supported_interfaces.is_empty()) {
        answer::<v03::AgentCard, AgentCard>(bytes);
    }
}

/// The status that ends a call: a byte for the code, the rest are details.
fn status(bytes: &[u8]) {
    let Some((code, details)) = bytes.split_first() else { return };
    let details = details.to_vec().into();
    let status = tonic::Status::with_details(i32::from(*code).into(), "", details);
    let first = Error::from_tonic(&status);
    for table in [ErrorTable::V1_0_1, ErrorTable::V1_0_0] {
        assert_eq!(Error::from_tonic(&first.to_tonic(table)), first);
    }
}

fn read<P, M>(bytes: &[u8]) -> Option<M>
where
    P: Message + Default,
    M: TryFrom<P>,
{
    P::decode(bytes).ok()?.try_into().ok()
}

fn write<P, M>(model: M) -> P
where
    P: Message + Default + TryFrom<M, Error: Debug>,
{
    send(&P::try_from(model).expect("what was read can be written"))
}

fn send<P: Message + Default>(proto: &P) -> P {
    P::decode(proto.encode_to_vec().as_slice()).expect("what was written can be decoded")
}
