//! Requests and pages.

use super::{
    mirror::{mirror, read_list, read_optional, read_required},
    name::{config_name, read_config_name, read_task_name, task_name},
    v1, v03,
};
use crate::{
    json::Error,
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageConfiguration, SendMessageRequest,
        SubscribeToTaskRequest,
    },
};

mirror! {
    v1: SendMessageRequest = SendMessageRequest {
        tenant: id "tenant",
        message: required "message",
        configuration: optional "configuration",
        metadata: optional "metadata",
    }
}

mirror! {
    v1: SendMessageConfiguration = SendMessageConfiguration {
        accepted_output_modes: same,
        task_push_notification_config: optional "taskPushNotificationConfig",
        history_length: same,
        return_immediately: same,
    }
}

mirror! {
    v1: GetTaskRequest = GetTaskRequest {
        tenant: id "tenant",
        id: key "id",
        history_length: same,
    }
}

mirror! {
    v1: ListTasksRequest = ListTasksRequest {
        tenant: id "tenant",
        context_id: id "contextId",
        status: number "status",
        page_size: same,
        page_token: same,
        history_length: same,
        status_timestamp_after: optional "statusTimestampAfter",
        include_artifacts: same,
    }
}

mirror! {
    v1: ListTasksResponse = ListTasksResponse {
        tasks: list "tasks",
        next_page_token: same,
        page_size: same,
        total_size: same,
    }
}

mirror! {
    v1: CancelTaskRequest = CancelTaskRequest {
        tenant: id "tenant",
        id: key "id",
        metadata: optional "metadata",
    }
}

mirror! {
    v1: SubscribeToTaskRequest = SubscribeToTaskRequest {
        tenant: id "tenant",
        id: key "id",
    }
}

mirror! {
    v1: GetTaskPushNotificationConfigRequest = GetTaskPushNotificationConfigRequest {
        tenant: id "tenant",
        task_id: key "taskId",
        id: key "id",
    }
}

mirror! {
    v1: DeleteTaskPushNotificationConfigRequest = DeleteTaskPushNotificationConfigRequest {
        tenant: id "tenant",
        task_id: key "taskId",
        id: key "id",
    }
}

mirror! {
    v1: ListTaskPushNotificationConfigsRequest = ListTaskPushNotificationConfigsRequest {
        tenant: id "tenant",
        task_id: key "taskId",
        page_size: same,
        page_token: same,
    }
}

mirror! {
    v1: ListTaskPushNotificationConfigsResponse = ListTaskPushNotificationConfigsResponse {
        configs: list "configs",
        next_page_token: same,
    }
}

mirror! {
    v1: GetExtendedAgentCardRequest = GetExtendedAgentCardRequest {
        tenant: id "tenant",
    }
}

impl From<SendMessageRequest> for v03::SendMessageRequest {
    fn from(request: SendMessageRequest) -> Self {
        Self {
            request: Some(request.message.into()),
            // To wait is the default of 1.0; what 0.3 does unasked differs by server.
            configuration: Some(request.configuration.unwrap_or_default().into()),
            metadata: request.metadata.map(Into::into),
        }
    }
}

impl TryFrom<v03::SendMessageRequest> for SendMessageRequest {
    type Error = Error;

    fn try_from(request: v03::SendMessageRequest) -> Result<Self, Error> {
        // Request::check would call the field by its name in 1.0.
        if request.request.as_ref().is_some_and(|message| message.content.is_empty()) {
            return Err(Error::shape("needs at least one part")
                .inside("content")
                .inside("message"));
        }
        Ok(Self {
            tenant: None,
            message: read_required(request.request, "message")?,
            configuration: read_optional(request.configuration, "configuration")?,
            metadata: read_optional(request.metadata, "metadata")?,
        })
    }
}

impl From<SendMessageConfiguration> for v03::SendMessageConfiguration {
    fn from(wishes: SendMessageConfiguration) -> Self {
        Self {
            accepted_output_modes: wishes.accepted_output_modes,
            push_notification: wishes.task_push_notification_config.map(Into::into),
            history_length: wishes.history_length.unwrap_or_default(),
            blocking: !wishes.return_immediately,
        }
    }
}

impl TryFrom<v03::SendMessageConfiguration> for SendMessageConfiguration {
    type Error = Error;

    fn try_from(wishes: v03::SendMessageConfiguration) -> Result<Self, Error> {
        Ok(Self {
            accepted_output_modes: wishes.accepted_output_modes,
            task_push_notification_config: read_optional(
                wishes.push_notification,
                "pushNotification",
            )?,
            history_length: read_history_length(wishes.history_length),
            return_immediately: !wishes.blocking,
        })
    }
}

impl TryFrom<GetTaskRequest> for v03::GetTaskRequest {
    type Error = Error;

    fn try_from(request: GetTaskRequest) -> Result<Self, Error> {
        Ok(Self {
            name: task_name(&request.id, "id")?,
            history_length: request.history_length.unwrap_or_default(),
        })
    }
}

impl TryFrom<v03::GetTaskRequest> for GetTaskRequest {
    type Error = Error;

    fn try_from(request: v03::GetTaskRequest) -> Result<Self, Error> {
        Ok(Self {
            tenant: None,
            id: read_task_name(&request.name, "name")?,
            history_length: read_history_length(request.history_length),
        })
    }
}

/// In 0.3 a length of zero is one that was not said.
fn read_history_length(length: i32) -> Option<i32> {
    Some(length).filter(|length| *length != 0)
}

impl TryFrom<CancelTaskRequest> for v03::CancelTaskRequest {
    type Error = Error;

    fn try_from(request: CancelTaskRequest) -> Result<Self, Error> {
        Ok(Self { name: task_name(&request.id, "id")? })
    }
}

impl TryFrom<v03::CancelTaskRequest> for CancelTaskRequest {
    type Error = Error;

    fn try_from(request: v03::CancelTaskRequest) -> Result<Self, Error> {
        Ok(Self { tenant: None, id: read_task_name(&request.name, "name")?, metadata: None })
    }
}

impl TryFrom<SubscribeToTaskRequest> for v03::TaskSubscriptionRequest {
    type Error = Error;

    fn try_from(request: SubscribeToTaskRequest) -> Result<Self, Error> {
        Ok(Self { name: task_name(&request.id, "id")? })
    }
}

impl TryFrom<v03::TaskSubscriptionRequest> for SubscribeToTaskRequest {
    type Error = Error;

    fn try_from(request: v03::TaskSubscriptionRequest) -> Result<Self, Error> {
        Ok(Self { tenant: None, id: read_task_name(&request.name, "name")? })
    }
}

impl TryFrom<GetTaskPushNotificationConfigRequest> for v03::GetTaskPushNotificationConfigRequest {
    type Error = Error;

    fn try_from(request: GetTaskPushNotificationConfigRequest) -> Result<Self, Error> {
        Ok(Self { name: config_name(&request.task_id, &request.id, "taskId")? })
    }
}

impl TryFrom<v03::GetTaskPushNotificationConfigRequest> for GetTaskPushNotificationConfigRequest {
    type Error = Error;

    fn try_from(request: v03::GetTaskPushNotificationConfigRequest) -> Result<Self, Error> {
        let (task_id, id) = read_config_name(&request.name, "name")?;
        Ok(Self { tenant: None, task_id, id })
    }
}

impl TryFrom<DeleteTaskPushNotificationConfigRequest>
    for v03::DeleteTaskPushNotificationConfigRequest
{
    type Error = Error;

    fn try_from(request: DeleteTaskPushNotificationConfigRequest) -> Result<Self, Error> {
        Ok(Self { name: config_name(&request.task_id, &request.id, "taskId")? })
    }
}

impl TryFrom<v03::DeleteTaskPushNotificationConfigRequest>
    for DeleteTaskPushNotificationConfigRequest
{
    type Error = Error;

    fn try_from(request: v03::DeleteTaskPushNotificationConfigRequest) -> Result<Self, Error> {
        let (task_id, id) = read_config_name(&request.name, "name")?;
        Ok(Self { tenant: None, task_id, id })
    }
}

impl TryFrom<ListTaskPushNotificationConfigsRequest>
    for v03::ListTaskPushNotificationConfigRequest
{
    type Error = Error;

    fn try_from(request: ListTaskPushNotificationConfigsRequest) -> Result<Self, Error> {
        Ok(Self {
            parent: task_name(&request.task_id, "taskId")?,
            page_size: request.page_size,
            page_token: request.page_token,
        })
    }
}

impl TryFrom<v03::ListTaskPushNotificationConfigRequest>
    for ListTaskPushNotificationConfigsRequest
{
    type Error = Error;

    fn try_from(request: v03::ListTaskPushNotificationConfigRequest) -> Result<Self, Error> {
        Ok(Self {
            tenant: None,
            task_id: read_task_name(&request.parent, "parent")?,
            page_size: request.page_size,
            page_token: request.page_token,
        })
    }
}

impl TryFrom<ListTaskPushNotificationConfigsResponse>
    for v03::ListTaskPushNotificationConfigResponse
{
    type Error = Error;

    fn try_from(page: ListTaskPushNotificationConfigsResponse) -> Result<Self, Error> {
        // A webhook without a name is refused with the path that a reader would give.
        Ok(Self {
            configs: read_list(page.configs, "configs")?,
            next_page_token: page.next_page_token,
        })
    }
}

impl TryFrom<v03::ListTaskPushNotificationConfigResponse>
    for ListTaskPushNotificationConfigsResponse
{
    type Error = Error;

    fn try_from(page: v03::ListTaskPushNotificationConfigResponse) -> Result<Self, Error> {
        Ok(Self {
            configs: read_list(page.configs, "configs")?,
            next_page_token: page.next_page_token,
        })
    }
}

impl From<GetExtendedAgentCardRequest> for v03::GetAgentCardRequest {
    fn from(_: GetExtendedAgentCardRequest) -> Self {
        Self {}
    }
}

impl TryFrom<v03::GetAgentCardRequest> for GetExtendedAgentCardRequest {
    type Error = Error;

    fn try_from(_: v03::GetAgentCardRequest) -> Result<Self, Error> {
        Ok(Self { tenant: None })
    }
}
