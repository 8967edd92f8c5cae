//! Calls agents with `a2a-protocol-client`, on each binding: `tomtom-client WAY=URL...`.

use std::error::Error;

use a2a_protocol_client::{
    A2aClient, CallInterceptor, ClientBuilder, ClientError, ClientRequest, ClientResponse,
    ClientResult, EventStream, resolve_agent_card,
};
use nuncio_interop_rust::calling::{Caller, Problem, Until, call_all};
use serde_json::{Value, from_value, to_value};

struct Tomtom(A2aClient);

impl Caller for Tomtom {
    async fn connect(url: &str, binding: &str, key: Option<&str>) -> Result<Self, Problem> {
        let mut card = resolve_agent_card(url).await.map_err(problem)?;
        card.supported_interfaces.retain(|interface| interface.protocol_binding == binding);
        let builder = ClientBuilder::from_card(&card).map_err(problem)?;
        let builder = builder.with_interceptor(Key(key.map(str::to_owned)));
        let client = match binding {
            "GRPC" => builder.build_grpc().await,
            _ => builder.build(),
        };
        Ok(Self(client.map_err(problem)?))
    }

    async fn call(&self, method: &str, params: Value) -> Result<Value, Problem> {
        let client = &self.0;
        let answer = match method {
            "SendMessage" => {
                to_value(client.send_message(from_value(params)?).await.map_err(problem)?)
            }
            "GetTask" => to_value(client.get_task(from_value(params)?).await.map_err(problem)?),
            "ListTasks" => to_value(client.list_tasks(from_value(params)?).await.map_err(problem)?),
            "CancelTask" => to_value(client.cancel_task(id(&params)).await.map_err(problem)?),
            "CreateTaskPushNotificationConfig" => {
                to_value(client.set_push_config(from_value(params)?).await.map_err(problem)?)
            }
            "GetExtendedAgentCard" => {
                to_value(client.get_extended_agent_card().await.map_err(problem)?)
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
        let mut events: EventStream = match method {
            "SendStreamingMessage" => self.0.stream_message(from_value(params)?).await,
            _ => self.0.subscribe_to_task(id(&params)).await,
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

/// Shows the key.
struct Key(Option<String>);

impl CallInterceptor for Key {
    async fn before(&self, request: &mut ClientRequest) -> ClientResult<()> {
        if let Some(key) = &self.0 {
            request.extra_headers.insert("x-api-key".to_owned(), key.clone());
        }
        Ok(())
    }

    async fn after(&self, _: &ClientResponse) -> ClientResult<()> {
        Ok(())
    }
}

fn id(params: &Value) -> &str {
    params["id"].as_str().unwrap_or_default()
}

fn problem(error: ClientError) -> Problem {
    match error {
        ClientError::Protocol(error) => Problem::refused(error.code.as_i32(), error.message),
        other => Problem::new(other),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    call_all::<Tomtom>("rust-tomtom", "a2a-protocol-client").await
}
