//! Requests, answers and webhooks.

use nuncio_protocol::{
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, MAX_PAGE_SIZE, Operation, Request, Response,
        SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
    },
    push::{AuthenticationInfo, TaskPushNotificationConfig},
};
use proptest::prelude::*;

use super::{
    card::card,
    few, id, json,
    message::message,
    moment, optional_id, some_text,
    task::{send_response, state, task},
    text, url,
};

/// Any length of history, or none said.
pub(crate) fn history_length() -> impl Strategy<Value = Option<i32>> {
    prop::option::of(prop_oneof![Just(0), 0..=i32::MAX])
}

/// Any webhook, with or without its task.
pub(crate) fn push_config() -> impl Strategy<Value = TaskPushNotificationConfig> {
    let authentication = (some_text(), text())
        .prop_map(|(scheme, credentials)| AuthenticationInfo { scheme, credentials });
    (optional_id(), optional_id(), optional_id(), url(), text(), prop::option::of(authentication))
        .prop_map(|(tenant, id, task_id, url, token, authentication)| TaskPushNotificationConfig {
            tenant,
            id,
            task_id,
            url,
            token,
            authentication,
        })
}

/// Any webhook that may be registered.
pub(crate) fn create_push_config() -> impl Strategy<Value = TaskPushNotificationConfig> {
    (push_config(), id())
        .prop_map(|(config, task)| TaskPushNotificationConfig { task_id: Some(task), ..config })
}

/// Any wishes.
pub(crate) fn configuration() -> impl Strategy<Value = SendMessageConfiguration> {
    (few(text()), prop::option::of(push_config()), history_length(), any::<bool>()).prop_map(
        |(accepted_output_modes, task_push_notification_config, history_length, immediately)| {
            SendMessageConfiguration {
                accepted_output_modes,
                task_push_notification_config,
                history_length,
                return_immediately: immediately,
            }
        },
    )
}

pub(crate) fn send_message() -> impl Strategy<Value = SendMessageRequest> {
    (optional_id(), message(), prop::option::of(configuration()), json::optional_object()).prop_map(
        |(tenant, message, configuration, metadata)| SendMessageRequest {
            tenant,
            message,
            configuration,
            metadata,
        },
    )
}

pub(crate) fn get_task() -> impl Strategy<Value = GetTaskRequest> {
    (optional_id(), id(), history_length())
        .prop_map(|(tenant, id, history_length)| GetTaskRequest { tenant, id, history_length })
}

pub(crate) fn list_tasks() -> impl Strategy<Value = ListTasksRequest> {
    (
        optional_id(),
        optional_id(),
        state(),
        prop::option::of(1..=MAX_PAGE_SIZE),
        text(),
        history_length(),
        prop::option::of(moment()),
        any::<Option<bool>>(),
    )
        .prop_map(|fields| {
            let (
                tenant,
                context_id,
                status,
                page_size,
                page_token,
                history_length,
                after,
                artifacts,
            ) = fields;
            ListTasksRequest {
                tenant,
                context_id,
                status,
                page_size,
                page_token,
                history_length,
                status_timestamp_after: after,
                include_artifacts: artifacts,
            }
        })
}

pub(crate) fn cancel_task() -> impl Strategy<Value = CancelTaskRequest> {
    (optional_id(), id(), json::optional_object())
        .prop_map(|(tenant, id, metadata)| CancelTaskRequest { tenant, id, metadata })
}

pub(crate) fn subscribe_to_task() -> impl Strategy<Value = SubscribeToTaskRequest> {
    (optional_id(), id()).prop_map(|(tenant, id)| SubscribeToTaskRequest { tenant, id })
}

pub(crate) fn get_push_config() -> impl Strategy<Value = GetTaskPushNotificationConfigRequest> {
    (optional_id(), id(), id()).prop_map(|(tenant, task_id, id)| {
        GetTaskPushNotificationConfigRequest { tenant, task_id, id }
    })
}

pub(crate) fn delete_push_config() -> impl Strategy<Value = DeleteTaskPushNotificationConfigRequest>
{
    (optional_id(), id(), id()).prop_map(|(tenant, task_id, id)| {
        DeleteTaskPushNotificationConfigRequest { tenant, task_id, id }
    })
}

pub(crate) fn list_push_configs() -> impl Strategy<Value = ListTaskPushNotificationConfigsRequest> {
    (optional_id(), id(), 0..=i32::MAX, text()).prop_map(
        |(tenant, task_id, page_size, page_token)| ListTaskPushNotificationConfigsRequest {
            tenant,
            task_id,
            page_size,
            page_token,
        },
    )
}

pub(crate) fn get_card() -> impl Strategy<Value = GetExtendedAgentCardRequest> {
    optional_id().prop_map(|tenant| GetExtendedAgentCardRequest { tenant })
}

/// Any request that may be sent.
pub(crate) fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        send_message().prop_map(Request::SendMessage),
        send_message().prop_map(Request::SendStreamingMessage),
        get_task().prop_map(Request::GetTask),
        list_tasks().prop_map(Request::ListTasks),
        cancel_task().prop_map(Request::CancelTask),
        subscribe_to_task().prop_map(Request::SubscribeToTask),
        create_push_config().prop_map(Request::CreateTaskPushNotificationConfig),
        get_push_config().prop_map(Request::GetTaskPushNotificationConfig),
        list_push_configs().prop_map(Request::ListTaskPushNotificationConfigs),
        delete_push_config().prop_map(Request::DeleteTaskPushNotificationConfig),
        get_card().prop_map(Request::GetExtendedAgentCard),
    ]
}

/// Any page of tasks.
pub(crate) fn tasks() -> impl Strategy<Value = ListTasksResponse> {
    (few(task()), text(), any::<i32>(), any::<i32>()).prop_map(
        |(tasks, next_page_token, page_size, total_size)| ListTasksResponse {
            tasks,
            next_page_token,
            page_size,
            total_size,
        },
    )
}

/// Any page of webhooks.
pub(crate) fn push_configs() -> impl Strategy<Value = ListTaskPushNotificationConfigsResponse> {
    (few(push_config()), text()).prop_map(|(configs, next_page_token)| {
        ListTaskPushNotificationConfigsResponse { configs, next_page_token }
    })
}

/// Any answer, with the operation it is for.
pub(crate) fn response() -> impl Strategy<Value = (Operation, Response)> {
    let any_of = |operations: &'static [Operation]| prop::sample::select(operations);
    prop_oneof![
        (Just(Operation::SendMessage), send_response().prop_map(Response::SendMessage)),
        (any_of(&[Operation::GetTask, Operation::CancelTask]), task().prop_map(Response::Task)),
        (Just(Operation::ListTasks), tasks().prop_map(Response::Tasks)),
        (
            any_of(&[
                Operation::CreateTaskPushNotificationConfig,
                Operation::GetTaskPushNotificationConfig
            ]),
            push_config().prop_map(Response::PushConfig)
        ),
        (
            Just(Operation::ListTaskPushNotificationConfigs),
            push_configs().prop_map(Response::PushConfigs)
        ),
        (Just(Operation::DeleteTaskPushNotificationConfig), Just(Response::Deleted)),
        (Just(Operation::GetExtendedAgentCard), card().prop_map(Response::Card)),
    ]
}
