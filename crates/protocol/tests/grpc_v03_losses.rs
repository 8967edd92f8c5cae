//! A2A 0.3 on gRPC: everything survives but what 0.3 cannot say.

mod model;

use nuncio_protocol::{
    card::{AgentCard, OAuthFlows, SecurityScheme},
    error::ErrorKind,
    grpc::{self, v03},
    json::Error,
    message::{Content, Message, Part},
    operation::{ListTaskPushNotificationConfigsResponse, Request, SendMessageConfiguration},
    push::TaskPushNotificationConfig,
    task::{Artifact, SendMessageResponse, StreamResponse, Task, TaskStatus},
    wire::StreamEnd,
};
use proptest::prelude::*;

/// Takes away what 0.3 cannot say, as the table in the documentation of `grpc` has it.
trait Said {
    fn said(self) -> Self;
}

impl<T: Said> Said for Vec<T> {
    fn said(self) -> Self {
        self.into_iter().map(T::said).collect()
    }
}

impl Said for Part {
    fn said(mut self) -> Self {
        if let Content::Text(_) | Content::Data(_) = self.content {
            self.filename = String::new();
            self.media_type = String::new();
        }
        if self.as_data().is_some_and(|data| data.as_object().is_none()) {
            self.metadata.take_if(|metadata| metadata.is_empty());
        }
        self
    }
}

impl Said for Message {
    fn said(self) -> Self {
        Self { parts: self.parts.said(), reference_task_ids: Vec::new(), ..self }
    }
}

impl Said for TaskStatus {
    fn said(self) -> Self {
        Self { message: self.message.map(|message| Box::new(message.said())), ..self }
    }
}

impl Said for Artifact {
    fn said(self) -> Self {
        Self { parts: self.parts.said(), ..self }
    }
}

impl Said for Task {
    fn said(self) -> Self {
        Self {
            status: self.status.said(),
            artifacts: self.artifacts.said(),
            history: self.history.said(),
            ..self
        }
    }
}

impl Said for StreamResponse {
    fn said(self) -> Self {
        match self {
            Self::Task(task) => Self::Task(task.said()),
            Self::Message(message) => Self::Message(message.said()),
            Self::StatusUpdate(mut update) => {
                update.status = update.status.said();
                Self::StatusUpdate(update)
            }
            Self::ArtifactUpdate(mut update) => {
                update.artifact = update.artifact.said();
                Self::ArtifactUpdate(update)
            }
        }
    }
}

impl Said for SendMessageResponse {
    fn said(self) -> Self {
        match self {
            Self::Task(task) => Self::Task(task.said()),
            Self::Message(message) => Self::Message(message.said()),
        }
    }
}

impl Said for TaskPushNotificationConfig {
    fn said(self) -> Self {
        Self { tenant: None, ..self }
    }
}

impl Said for SendMessageConfiguration {
    fn said(mut self) -> Self {
        if let Some(config) = &mut self.task_push_notification_config {
            (config.tenant, config.task_id) = (None, None);
        }
        self.history_length.take_if(|length| *length == 0);
        self
    }
}

impl Said for Request {
    fn said(mut self) -> Self {
        self.set_tenant(None);
        match &mut self {
            Self::SendMessage(request) | Self::SendStreamingMessage(request) => {
                request.message = request.message.clone().said();
                request.configuration =
                    Some(request.configuration.take().unwrap_or_default().said());
            }
            Self::GetTask(request) => {
                request.history_length.take_if(|length| *length == 0);
            }
            Self::CancelTask(request) => request.metadata = None,
            _ => {}
        }
        self
    }
}

impl Said for AgentCard {
    fn said(mut self) -> Self {
        self.supported_interfaces.retain(|interface| {
            ["", "0.3", "0.3.0"].contains(&interface.protocol_version.as_str())
        });
        for interface in &mut self.supported_interfaces {
            interface.protocol_version = "0.3".into();
            interface.tenant = None;
        }
        let preferred = self.supported_interfaces.first().cloned();
        let mut index = 0;
        self.supported_interfaces.retain(|interface| {
            index += 1;
            index == 1 || Some(interface) != preferred.as_ref()
        });
        for url in [&mut self.documentation_url, &mut self.icon_url] {
            url.take_if(|url| url.is_empty());
        }
        let capabilities = &mut self.capabilities;
        for flag in [
            &mut capabilities.streaming,
            &mut capabilities.push_notifications,
            &mut capabilities.extended_agent_card,
        ] {
            flag.take_if(|flag| !*flag);
        }
        self.security_schemes.retain(|_, scheme| match scheme {
            SecurityScheme::OAuth2(scheme) => match &mut scheme.flows {
                OAuthFlows::DeviceCode(_) => false,
                OAuthFlows::AuthorizationCode(flow) => {
                    flow.pkce_required = false;
                    true
                }
                _ => true,
            },
            _ => true,
        });
        self.signatures.clear();
        self
    }
}

/// Sends a model as the bytes of a protobuf message, and reads them.
fn trip<P, M>(model: M) -> Result<M, Error>
where
    P: From<M> + prost::Message + Default,
    M: TryFrom<P, Error = Error>,
{
    let bytes = P::from(model).encode_to_vec();
    P::decode(bytes.as_slice()).expect("what we write can be decoded").try_into()
}

proptest! {
    #[test]
    fn messages_survive(message in model::message::message()) {
        prop_assert_eq!(trip::<v03::Message, _>(message.clone()).unwrap(), message.said());
    }

    #[test]
    fn tasks_survive(task in model::task::task()) {
        prop_assert_eq!(trip::<v03::Task, _>(task.clone()).unwrap(), task.said());
    }

    #[test]
    fn answers_to_messages_survive(response in model::task::send_response()) {
        let read = trip::<v03::SendMessageResponse, _>(response.clone()).unwrap();
        prop_assert_eq!(read, response.said());
    }

    #[test]
    fn events_survive(event in model::task::event(), closing: bool) {
        let end = if closing { StreamEnd::Closing } else { StreamEnd::Open };
        let proto = v03::StreamResponse::from_model(event.clone(), end);
        prop_assert_eq!(StreamResponse::try_from(proto).unwrap(), event.said());
    }

    #[test]
    fn webhooks_survive(config in model::operation::push_config()) {
        let read = trip::<v03::TaskPushNotificationConfig, _>(config.clone()).unwrap();
        prop_assert_eq!(read, config.said());
    }

    #[test]
    fn pages_of_webhooks_survive(page in model::operation::push_configs()) {
        let read = trip::<v03::ListTaskPushNotificationConfigResponse, _>(page.clone()).unwrap();
        let ListTaskPushNotificationConfigsResponse { configs, next_page_token } = page;
        prop_assert_eq!(read.configs, configs.said());
        prop_assert_eq!(read.next_page_token, next_page_token);
    }

    #[test]
    fn requests_survive(request in model::operation::request()) {
        if let Some(read) = request_trip(request.clone()) {
            prop_assert_eq!(read.unwrap(), request.said());
        }
    }

    #[test]
    fn cards_survive_if_they_speak_0_3(card in model::card::card()) {
        let expected = card.clone().said();
        match v03::AgentCard::try_from(card) {
            Ok(proto) => prop_assert_eq!(AgentCard::try_from(proto).unwrap(), expected),
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::VersionNotSupported);
                prop_assert!(expected.supported_interfaces.is_empty());
            }
        }
    }
}

/// Sends a request, if 0.3 has its operation.
fn request_trip(request: Request) -> Option<Result<Request, Error>> {
    Some(match request {
        Request::SendMessage(request) => {
            grpc::read_request(v03::SendMessageRequest::from(request), Request::SendMessage)
        }
        Request::SendStreamingMessage(request) => grpc::read_request(
            v03::SendMessageRequest::from(request),
            Request::SendStreamingMessage,
        ),
        Request::GetTask(request) => {
            grpc::read_request(v03::GetTaskRequest::from(request), Request::GetTask)
        }
        Request::ListTasks(_) => return None,
        Request::CancelTask(request) => {
            grpc::read_request(v03::CancelTaskRequest::from(request), Request::CancelTask)
        }
        Request::SubscribeToTask(request) => grpc::read_request(
            v03::TaskSubscriptionRequest::from(request),
            Request::SubscribeToTask,
        ),
        Request::CreateTaskPushNotificationConfig(config) => grpc::read_request(
            v03::CreateTaskPushNotificationConfigRequest::from(config),
            Request::CreateTaskPushNotificationConfig,
        ),
        Request::GetTaskPushNotificationConfig(request) => grpc::read_request(
            v03::GetTaskPushNotificationConfigRequest::from(request),
            Request::GetTaskPushNotificationConfig,
        ),
        Request::ListTaskPushNotificationConfigs(request) => grpc::read_request(
            v03::ListTaskPushNotificationConfigRequest::from(request),
            Request::ListTaskPushNotificationConfigs,
        ),
        Request::DeleteTaskPushNotificationConfig(request) => grpc::read_request(
            v03::DeleteTaskPushNotificationConfigRequest::from(request),
            Request::DeleteTaskPushNotificationConfig,
        ),
        Request::GetExtendedAgentCard(request) => grpc::read_request(
            v03::GetAgentCardRequest::from(request),
            Request::GetExtendedAgentCard,
        ),
    })
}
