//! Calls agents with the official Rust SDK, on each binding: `official-client WAY=URL...`.

use std::{error::Error, sync::Arc};

use a2a::{A2AError, AgentCard, StreamResponse};
use a2a_client::{
    A2AClient, A2AClientFactory, Transport, agent_card::AgentCardResolver, auth::AuthInterceptor,
};
use a2a_grpc::GrpcTransportFactory;
use futures::{StreamExt as _, stream::BoxStream};
use nuncio_interop_rust::calling::{Caller, Problem, Until, call_all};
use serde_json::{Value, from_value, to_value};

struct Official(A2AClient<Box<dyn Transport>>);

impl Caller for Official {
    async fn connect(url: &str, binding: &str, key: Option<&str>) -> Result<Self, Problem> {
        let card = AgentCardResolver::new(None).resolve(url).await.map_err(problem)?;
        let offered = card.supported_interfaces.iter();
        let offered = offered.filter(|interface| interface.protocol_binding == binding).cloned();
        let card = AgentCard { supported_interfaces: offered.collect(), ..card.clone() };
        let mut factory =
            A2AClientFactory::builder().register(Arc::new(GrpcTransportFactory::new()));
        if let Some(key) = key {
            factory = factory.with_interceptor(Arc::new(AuthInterceptor::custom("x-api-key", key)));
        }
        let factory = factory.build();
        Ok(Self(factory.create_from_card(&card).await.map_err(problem)?))
    }

    async fn call(&self, method: &str, params: Value) -> Result<Value, Problem> {
        let client = &self.0;
        let answer = match method {
            "SendMessage" => {
                to_value(client.send_message(&from_value(params)?).await.map_err(problem)?)
            }
            "GetTask" => to_value(client.get_task(&from_value(params)?).await.map_err(problem)?),
            "ListTasks" => {
                to_value(client.list_tasks(&from_value(params)?).await.map_err(problem)?)
            }
            "CancelTask" => {
                to_value(client.cancel_task(&from_value(params)?).await.map_err(problem)?)
            }
            "CreateTaskPushNotificationConfig" => {
                to_value(client.create_push_config(&from_value(params)?).await.map_err(problem)?)
            }
            "GetExtendedAgentCard" => {
                let request = from_value(params)?;
                to_value(client.get_extended_agent_card(&request).await.map_err(problem)?)
            }
            other => return Err(Problem::new(format!("what is {other}?"))),
        };
        Ok(answer?)
    }

    async fn stream(
        &self,
        method: &str,
        params: Value,
        until: Until,
    ) -> Result<Vec<Value>, Problem> {
        let mut events: BoxStream<'_, Result<StreamResponse, A2AError>> = match method {
            "SendStreamingMessage" => self.0.send_streaming_message(&from_value(params)?).await,
            _ => self.0.subscribe_to_task(&from_value(params)?).await,
        }
        .map_err(problem)?;
        let mut heard = Vec::new();
        while let Some(event) = events.next().await {
            heard.push(to_value(event.map_err(problem)?)?);
            if until == Until::First {
                break;
            }
        }
        if heard.is_empty() { Err(Problem::new("no event")) } else { Ok(heard) }
    }
}

fn problem(error: A2AError) -> Problem {
    Problem::refused(error.code, error.message)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    call_all::<Official>("rust", "a2a-client-lf").await
}
