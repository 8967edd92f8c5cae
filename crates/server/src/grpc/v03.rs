//! A2A 0.3.

use nuncio_protocol::{
    grpc::v03::{self, a2a_service_server::A2aService},
    operation::{Request, Response},
};
use tonic::Status;

use super::{Calls, Messages};

/// The service of A2A 0.3.
#[derive(Clone, Debug)]
pub(crate) struct V03(pub(crate) Calls);

#[tonic::async_trait]
impl A2aService for V03 {
    type SendStreamingMessageStream = Messages<v03::StreamResponse>;
    type TaskSubscriptionStream = Messages<v03::StreamResponse>;

    async fn send_message(
        &self,
        request: tonic::Request<v03::SendMessageRequest>,
    ) -> Result<tonic::Response<v03::SendMessageResponse>, Status> {
        match self.0.unary(request, Request::SendMessage).await? {
            Response::SendMessage(answer) => Ok(tonic::Response::new(answer.into())),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn send_streaming_message(
        &self,
        request: tonic::Request<v03::SendMessageRequest>,
    ) -> Result<tonic::Response<Self::SendStreamingMessageStream>, Status> {
        let write = v03::StreamResponse::from_model;
        self.0.stream(request, Request::SendStreamingMessage, write).await
    }

    async fn get_task(
        &self,
        request: tonic::Request<v03::GetTaskRequest>,
    ) -> Result<tonic::Response<v03::Task>, Status> {
        match self.0.unary(request, Request::GetTask).await? {
            Response::Task(task) => Ok(tonic::Response::new(task.into())),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn cancel_task(
        &self,
        request: tonic::Request<v03::CancelTaskRequest>,
    ) -> Result<tonic::Response<v03::Task>, Status> {
        match self.0.unary(request, Request::CancelTask).await? {
            Response::Task(task) => Ok(tonic::Response::new(task.into())),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn task_subscription(
        &self,
        request: tonic::Request<v03::TaskSubscriptionRequest>,
    ) -> Result<tonic::Response<Self::TaskSubscriptionStream>, Status> {
        let write = v03::StreamResponse::from_model;
        self.0.stream(request, Request::SubscribeToTask, write).await
    }

    async fn create_task_push_notification_config(
        &self,
        request: tonic::Request<v03::CreateTaskPushNotificationConfigRequest>,
    ) -> Result<tonic::Response<v03::TaskPushNotificationConfig>, Status> {
        match self.0.unary(request, Request::CreateTaskPushNotificationConfig).await? {
            Response::PushConfig(config) => self.0.say(config),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn get_task_push_notification_config(
        &self,
        request: tonic::Request<v03::GetTaskPushNotificationConfigRequest>,
    ) -> Result<tonic::Response<v03::TaskPushNotificationConfig>, Status> {
        match self.0.unary(request, Request::GetTaskPushNotificationConfig).await? {
            Response::PushConfig(config) => self.0.say(config),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn list_task_push_notification_config(
        &self,
        request: tonic::Request<v03::ListTaskPushNotificationConfigRequest>,
    ) -> Result<tonic::Response<v03::ListTaskPushNotificationConfigResponse>, Status> {
        match self.0.unary(request, Request::ListTaskPushNotificationConfigs).await? {
            Response::PushConfigs(page) => self.0.say(page),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn get_agent_card(
        &self,
        request: tonic::Request<v03::GetAgentCardRequest>,
    ) -> Result<tonic::Response<v03::AgentCard>, Status> {
        match self.0.unary(request, Request::GetExtendedAgentCard).await? {
            Response::Card(card) => self.0.say(card),
            _ => Err(self.0.unexpected()),
        }
    }

    async fn delete_task_push_notification_config(
        &self,
        request: tonic::Request<v03::DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<tonic::Response<()>, Status> {
        self.0.unary(request, Request::DeleteTaskPushNotificationConfig).await?;
        Ok(tonic::Response::new(()))
    }
}
