//! Converts A2A messages between JSON and protobuf, one line a message. This is the side of
//! ours that `interop/` lets other SDKs talk to.
//!
//! ```text
//! $ cargo run -p nuncio-protocol --features grpc --example codec
//! {"type":"GetTaskRequest","from":"json","to":"proto","body":"{\"id\":\"t1\"}"}
//! {"ok":"EgJ0MQ=="}
//! ```
//!
//! `type` is a message of A2A 1.0 or an operation; an operation reads its request with the
//! checks that a server makes. A body in protobuf is in base64.

use std::io::{self, BufRead as _, Write as _};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use nuncio_protocol::{
    card,
    grpc::v1,
    json, message,
    operation::{self, Operation, Request},
    push, task,
};
use prost::Message;
use serde::{Deserialize, Serialize};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let answer = match answer(&line?) {
            Ok(body) => Answer::Ok(body),
            Err(why) => Answer::Error(why),
        };
        serde_json::to_writer(&mut out, &answer)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Line {
    r#type: String,
    from: Form,
    to: Form,
    body: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    Json,
    Proto,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Ok(String),
    Error(String),
}

fn answer(line: &str) -> Result<String, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| format!("bad line: {error}"))?;
    message(&line)
        .or_else(|| request(&line))
        .unwrap_or_else(|| Err(format!("unknown type `{}`", line.r#type)))
}

/// Tells the messages of A2A apart by the names they have in the protocol.
macro_rules! messages {
    ($($module:ident: $($name:ident $(| $proto_name:literal)?),*;)*) => {
        fn message(line: &Line) -> Option<Result<String, String>> {
            match line.r#type.as_str() {
                $($(stringify!($name) $(| $proto_name)? => {
                    Some(convert::<$module::$name, v1::$name>(line, |_| Ok(())))
                })*)*
                _ => None,
            }
        }
    };
}

messages! {
    message: Message, Part;
    task: Task, TaskStatus, Artifact, TaskStatusUpdateEvent, TaskArtifactUpdateEvent,
        StreamResponse, SendMessageResponse;
    push: TaskPushNotificationConfig, AuthenticationInfo;
    operation: SendMessageRequest, SendMessageConfiguration, GetTaskRequest, ListTasksRequest,
        ListTasksResponse, CancelTaskRequest, SubscribeToTaskRequest,
        GetTaskPushNotificationConfigRequest, DeleteTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        GetExtendedAgentCardRequest;
    card: AgentCard, AgentInterface, AgentProvider, AgentCapabilities, AgentExtension,
        AgentSkill, AgentCardSignature, SecurityRequirement, StringList, SecurityScheme,
        ApiKeySecurityScheme | "APIKeySecurityScheme",
        HttpAuthSecurityScheme | "HTTPAuthSecurityScheme", OAuth2SecurityScheme,
        OpenIdConnectSecurityScheme, MutualTlsSecurityScheme, OAuthFlows,
        AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, ImplicitOAuthFlow,
        PasswordOAuthFlow, DeviceCodeOAuthFlow;
}

/// Tells the operations apart.
macro_rules! requests {
    ($($operation:ident($module:ident::$name:ident),)*) => {
        fn request(line: &Line) -> Option<Result<String, String>> {
            Some(match Operation::from_name(&line.r#type)? {
                $(Operation::$operation => convert::<$module::$name, v1::$name>(line, |model| {
                    Request::$operation(model.clone()).check()
                }),)*
            })
        }
    };
}

requests! {
    SendMessage(operation::SendMessageRequest),
    SendStreamingMessage(operation::SendMessageRequest),
    GetTask(operation::GetTaskRequest),
    ListTasks(operation::ListTasksRequest),
    CancelTask(operation::CancelTaskRequest),
    SubscribeToTask(operation::SubscribeToTaskRequest),
    CreateTaskPushNotificationConfig(push::TaskPushNotificationConfig),
    GetTaskPushNotificationConfig(operation::GetTaskPushNotificationConfigRequest),
    ListTaskPushNotificationConfigs(operation::ListTaskPushNotificationConfigsRequest),
    DeleteTaskPushNotificationConfig(operation::DeleteTaskPushNotificationConfigRequest),
    GetExtendedAgentCard(operation::GetExtendedAgentCardRequest),
}

/// Reads, checks and writes one message.
fn convert<Model, Proto>(
    line: &Line,
    check: impl FnOnce(&Model) -> Result<(), json::Error>,
) -> Result<String, String>
where
    Model: json::FromJson + json::ToJson + TryFrom<Proto, Error = json::Error>,
    Proto: Message + Default + From<Model>,
{
    let model: Model = match line.from {
        Form::Json => json::from_str(&line.body).map_err(|error| error.to_string())?,
        Form::Proto => {
            let bytes = STANDARD.decode(&line.body).map_err(|error| error.to_string())?;
            let proto = Proto::decode(bytes.as_slice()).map_err(|error| error.to_string())?;
            proto.try_into().map_err(|error: json::Error| error.to_string())?
        }
    };
    check(&model).map_err(|error| error.to_string())?;
    Ok(match line.to {
        Form::Json => json::to_string(&model),
        Form::Proto => STANDARD.encode(Proto::from(model).encode_to_vec()),
    })
}
