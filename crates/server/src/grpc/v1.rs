//! A2A 1.0.

use nuncio_protocol::{
    grpc::v1::{self, a2a_service_server::A2aService},
    operation::{Request, Response},
};
use tonic::Status;

use super::{Calls, Messages};

/// The service of A2A 1.0.
#[derive(Clone, Debug)]
pub(crate) struct V1(pub(crate) Calls);

#[tonic::async_trait]
impl A2aService for V1 {
    type SendStreamingMessageStream = Messages<v1::StreamResponse>;
    type SubscribeToTaskStream = Messages<v1::StreamResponse>;

    async fn send_message(
        &self,
        request: tonic::Request<v1::SendMessageRequest>,
    ) -> Result<tonic::Response<v1::SendMessageResponse>, Status> {
        match self.0.unary(request, Request::SendMessage).await? {
            Response::SendMessage(answer) => Ok(tonic::Response::new(answer.into())),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn send_streaming_message(
        &self,
        request: tonic::Request<v1::SendMessageRequest>,
    ) -> Result<tonic::Response<Self::SendStreamingMessageStream>, Status> {
        self.0.stream(request, Request::SendStreamingMessage, |event, _| event.into()).await
    }

    async fn get_task(
        &self,
        request: tonic::Request<v1::GetTaskRequest>,
    ) -> Result<tonic::Response<v1::Task>, Status> {
        match self.0.unary(request, Request::GetTask).await? {
            Response::Task(task) => Ok(tonic::Response::new(task.into())),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn list_tasks(
        &self,
        request: tonic::Request<v1::ListTasksRequest>,
    ) -> Result<tonic::Response<v1::ListTasksResponse>, Status> {
        match self.0.unary(request, Request::ListTasks).await? {
            Response::Tasks(page) => Ok(tonic::Response::new(page.into())),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn cancel_task(
        &self,
        request: tonic::Request<v1::CancelTaskRequest>,
    ) -> Result<tonic::Response<v1::Task>, Status> {
        match self.0.unary(request, Request::CancelTask).await? {
            Response::Task(task) => Ok(tonic::Response::new(task.into())),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn subscribe_to_task(
        &self,
        request: tonic::Request<v1::SubscribeToTaskRequest>,
    ) -> Result<tonic::Response<Self::SubscribeToTaskStream>, Status> {
        self.0.stream(request, Request::SubscribeToTask, |event, _| event.into()).await
    }

    async fn create_task_push_notification_config(
        &self,
        request: tonic::Request<v1::TaskPushNotificationConfig>,
    ) -> Result<tonic::Response<v1::TaskPushNotificationConfig>, Status> {
        match self.0.unary(request, Request::CreateTaskPushNotificationConfig).await? {
            Response::PushConfig(config) => Ok(tonic::Response::new(config.into())),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn get_task_push_notification_config(
        &self,
        request: tonic::Request<v1::GetTaskPushNotificationConfigRequest>,
    ) -> Result<tonic::Response<v1::TaskPushNotificationConfig>, Status> {
        match self.0.unary(request, Request::GetTaskPushNotificationConfig).await? {
            Response::PushConfig(config) => Ok(tonic::Response::new(config.into())),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn list_task_push_notification_configs(
        &self,
        request: tonic::Request<v1::ListTaskPushNotificationConfigsRequest>,
    ) -> Result<tonic::Response<v1::ListTaskPushNotificationConfigsResponse>, Status> {
        match self.0.unary(request, Request::ListTaskPushNotificationConfigs).await? {
            Response::PushConfigs(page) => Ok(tonic::Response::new(page.into())),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn get_extended_agent_card(
        &self,
        request: tonic::Request<v1::GetExtendedAgentCardRequest>,
    ) -> Result<tonic::Response<v1::AgentCard>, Status> {
        match self.0.unary(request, Request::GetExtendedAgentCard).await? {
            Response::Card(card) => Ok(tonic::Response::new(card.into())),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn delete_task_push_notification_config(
        &self,
        request: tonic::Request<v1::DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<tonic::Response<()>, Status> {
        self.0.unary(request, Request::DeleteTaskPushNotificationConfig).await?;
        Ok(tonic::Response::new(()))
    }
}
