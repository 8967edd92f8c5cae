//! Every operation, on every binding, in both versions.

use futures_util::StreamExt as _;
use nuncio_auth::{ApiKey, ApiKeys, Gatekeeper};
use nuncio_client::{Error, Options, Remote};
use nuncio_protocol::{
    card::AgentCard,
    dialect::WireForm,
    error::{Error as ProtocolError, ErrorKind},
    ids::{PushConfigId, TaskId},
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, Operation, Request, Response,
        SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::A2aService as _,
    state::TaskState,
    task::{SendMessageResponse, StreamResponse},
};

use crate::wire::support::{
    FORMS, Served, begin, counted, nobody, patiently, pieces, remote, remote_with, rest, script,
    send, value,
};

async fn answer(remote: &Remote, request: Request) -> Result<Response, Error> {
    let answered = patiently(remote.call(nobody(), request)).await?;
    Ok(answered.into_response().expect("what our own server says can be read"))
}

/// What is to be called, about a task and its webhook.
fn requests(task: &TaskId, config: &PushConfigId) -> Vec<Request> {
    let (tenant, task_id, id) = (None, task.clone(), config.clone());
    let mut webhook = TaskPushNotificationConfig::new("http://127.0.0.1:9/hook");
    webhook.task_id = Some(task.clone());
    webhook.id = Some(config.clone());
    vec![
        Request::SendMessage(send("hello")),
        Request::GetTask(GetTaskRequest {
            tenant: None,
            id: task.clone(),
            history_length: Some(1),
        }),
        Request::ListTasks(ListTasksRequest::default()),
        Request::CreateTaskPushNotificationConfig(webhook),
        Request::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
            tenant: None,
            task_id: task_id.clone(),
            id: id.clone(),
        }),
        Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
            tenant: None,
            task_id: task_id.clone(),
            page_size: 0,
            page_token: String::new(),
        }),
        Request::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
            tenant: None,
            task_id,
            id,
        }),
        Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default()),
        Request::CancelTask(CancelTaskRequest { tenant, id: task.clone(), metadata: None }),
    ]
}

/// Checks that an answer is about what was asked.
#[track_caller]
fn check(response: &Response, task: &TaskId, config: &PushConfigId, name: &str) {
    match response {
        Response::SendMessage(SendMessageResponse::Task(task)) => {
            assert_eq!(task.status.state, TaskState::Completed, "{name}");
        }
        Response::SendMessage(SendMessageResponse::Message(message)) => {
            assert_eq!(message.text(), "hello", "{name}");
        }
        Response::Task(found) => assert_eq!(&found.id, task, "{name}"),
        Response::Tasks(page) => {
            assert!(page.tasks.iter().any(|found| &found.id == task), "{name}");
        }
        Response::PushConfig(found) => assert_eq!(found.id.as_ref(), Some(config), "{name}"),
        Response::PushConfigs(page) => {
            assert_eq!(page.configs.len(), 1, "{name}");
            assert_eq!(page.configs[0].id.as_ref(), Some(config), "{name}");
        }
        Response::Deleted => {}
        Response::Card(card) => assert_eq!(card.description, "more", "{name}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_answered_on_every_binding_in_both_versions() {
    let extended = AgentCard::builder("script").description("more").build();
    let (key, record) = ApiKey::generate("ann");
    let gatekeeper = Gatekeeper::builder().api_keys(ApiKeys::from_iter([record])).build();
    let agent = script().gatekeeper(gatekeeper.unwrap()).extended_card(extended);
    let served = Served::start(agent).await;
    for form in FORMS {
        let mut options = Options::default();
        options.headers.insert("x-api-key", key.to_string().parse().unwrap());
        let remote = remote_with(served.address, form, options);
        let task = begin(&remote, "hold").await;
        let config = PushConfigId::parse("hook").unwrap();
        for request in requests(&task.id, &config) {
            let operation = request.operation();
            let name = format!("{} in {}", operation.name(), form.name());
            let answered = answer(&remote, request).await;
            let lacks_lists = matches!(form, WireForm::V03 | WireForm::V03Grpc | WireForm::V03Http);
            if operation == Operation::ListTasks && lacks_lists {
                assert!(
                    matches!(answered, Ok(_) | Err(Error::Unsayable { .. } | Error::Peer(_))),
                    "{name}: {answered:?}"
                );
                continue;
            }
            let response = answered.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            check(&response, &task.id, &config, &name);
        }
        let cancelled = remote
            .get_task(nobody(), GetTaskRequest { tenant: None, id: task.id, history_length: None })
            .await
            .unwrap();
        assert_eq!(cancelled.value().unwrap().status.state, TaskState::Canceled, "{}", form.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_come_whole_on_every_binding_in_both_versions() {
    let served = Served::start(script()).await;
    for form in FORMS {
        let remote = remote(served.address, form);
        let request = Request::SendStreamingMessage(send("count:20"));
        let events = remote.stream(nobody(), request).await.unwrap();
        let events = rest(events).await.unwrap_or_else(|error| panic!("{}: {error}", form.name()));
        assert_eq!(pieces(&events), counted(20), "{}", form.name());
        assert!(value(events.last().unwrap()).is_last(), "{}", form.name());
        // Numbers where they mean something, without a gap.
        let numbers: Vec<u64> = events.iter().filter_map(|event| event.seq).collect();
        if matches!(form, WireForm::V1 | WireForm::V1Http | WireForm::V03 | WireForm::V03Http) {
            assert_eq!(numbers.len(), events.len(), "{}", form.name());
            assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_followed_until_somebody_cancels_it() {
    let served = Served::start(script()).await;
    for form in FORMS {
        let remote = remote(served.address, form);
        let id = begin(&remote, "hold").await.id;
        let request = SubscribeToTaskRequest { tenant: None, id: id.clone() };
        let mut events = remote.subscribe_to_task(nobody(), request).await.unwrap();
        let first = patiently(events.next()).await.unwrap().unwrap();
        assert!(matches!(value(&first), StreamResponse::Task(task) if task.id == id), "{first:?}");
        let request = CancelTaskRequest { tenant: None, id, metadata: None };
        remote.cancel_task(nobody(), request).await.unwrap();
        let rest: Vec<_> = patiently(events.collect()).await;
        let last = rest.last().unwrap().as_ref().unwrap();
        assert_eq!(value(last).state(), Some(TaskState::Canceled), "{}", form.name());
    }
}

/// H-18: what the peer says is the peer's error, with its code, wherever it is caught.
#[tokio::test(flavor = "multi_thread")]
async fn h_18_errors_of_the_peer_keep_their_kind_on_every_binding() {
    let served = Served::start(script()).await;
    for form in FORMS {
        let remote = remote(served.address, form);
        let id = TaskId::parse("nobody-knows-it").unwrap();
        let get = GetTaskRequest { tenant: None, id: id.clone(), history_length: None };
        let error = remote.call(nobody(), Request::GetTask(get)).await.unwrap_err();
        let peer = error.peer().unwrap_or_else(|| panic!("{}: {error:?}", form.name()));
        assert_eq!(peer.kind(), ErrorKind::TaskNotFound, "{}", form.name());
        assert_eq!(peer.kind().jsonrpc_code(), -32001);
        assert!(peer.message().contains("nobody-knows-it"), "{peer}");
        let subscribe = SubscribeToTaskRequest { tenant: None, id };
        let error = match remote.stream(nobody(), Request::SubscribeToTask(subscribe)).await {
            // To readers of events alone the server of 0.3 says it in an event.
            Ok(mut events) => patiently(events.next()).await.unwrap().unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(
            error.peer().map(ProtocolError::kind),
            Some(ErrorKind::TaskNotFound),
            "{error:?}"
        );
    }
}
