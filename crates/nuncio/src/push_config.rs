//! `nuncio task push-config`: webhooks of a task.

use std::io;

use clap::{Args, Subcommand};
use nuncio_protocol::{
    ids::{PushConfigId, TaskId},
    operation::{
        DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest, Request, Response,
    },
    push::{AuthenticationInfo, TaskPushNotificationConfig},
    service::Answered,
};

use crate::{agent::Connected, failure::Failure, output::Output, task::One};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Tell a webhook about a task from now on.
    #[command(after_help = "\
Examples:
  nuncio task push-config set -a agent.example TASK --url https://hooks.example/a2a
  WEBHOOK_TOKEN=… nuncio task push-config set -a agent.example TASK --url https://hooks.example/a2a --token \"$WEBHOOK_TOKEN\"")]
    Set(Set),
    /// Show a webhook.
    Get(Named),
    /// List the webhooks of a task.
    List(One),
    /// Tell a webhook nothing more.
    Delete(Named),
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// Where the events go.
    #[arg(long)]
    url: String,

    /// A name for the webhook; the agent makes one otherwise.
    #[arg(long, value_name = "ID", value_parser = PushConfigId::parse, allow_hyphen_values = true)]
    id: Option<PushConfigId>,

    /// A secret that comes with every event, so that the receiver knows who sent it.
    #[arg(long)]
    token: Option<String>,

    /// What goes into the `Authorization` header, such as `Bearer abc`.
    #[arg(long, value_name = "SCHEME CREDENTIALS")]
    authorization: Option<String>,

    #[command(flatten)]
    one: One,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    #[command(flatten)]
    one: One,

    /// The webhook, as `push-config list` names it.
    #[arg(id = "webhook", value_name = "WEBHOOK", value_parser = PushConfigId::parse, allow_hyphen_values = true)]
    id: PushConfigId,
}

pub(crate) async fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Set(arguments) => set(arguments).await,
        Command::Get(Named { one, id }) => {
            let request = |task_id| {
                let request = GetTaskPushNotificationConfigRequest { tenant: None, task_id, id };
                Request::GetTaskPushNotificationConfig(request)
            };
            call(one, request).await
        }
        Command::List(one) => {
            let request = |task_id| {
                Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                    tenant: None,
                    task_id,
                    page_size: 0,
                    page_token: String::new(),
                })
            };
            call(one, request).await
        }
        Command::Delete(Named { one, id }) => {
            let name = id.clone();
            let request = |task_id| {
                let request = DeleteTaskPushNotificationConfigRequest { tenant: None, task_id, id };
                Request::DeleteTaskPushNotificationConfig(request)
            };
            let (connected, _) = ask(one, request).await?;
            let mut output = connected.settings.output()?;
            if output.is_json() {
                output.json("{}")?;
            } else {
                output.field("Deleted", name.as_str())?;
            }
            Ok(())
        }
    }
}

async fn set(Set { url, id, token, authorization, one }: Set) -> Result<(), Failure> {
    let mut config = TaskPushNotificationConfig::new(url);
    config.id = id;
    config.token = token.unwrap_or_default();
    config.authentication = authorization.map(|text| {
        let (scheme, credentials) = text.split_once(' ').unwrap_or((&text, ""));
        let (scheme, credentials) = (scheme.to_owned(), credentials.to_owned());
        AuthenticationInfo { scheme, credentials }
    });
    let request = |task_id| {
        config.task_id = Some(task_id);
        Request::CreateTaskPushNotificationConfig(config)
    };
    call(one, request).await
}

async fn call(one: One, request: impl FnOnce(TaskId) -> Request) -> Result<(), Failure> {
    let (connected, answer) = ask(one, request).await?;
    let mut output = connected.settings.output()?;
    if output.is_json() {
        output.json(&String::from_utf8_lossy(&answer.json()))?;
        return Ok(());
    }
    let Answered::Other(response) = answer else {
        return Err(Failure::internal("the answer is no webhook"));
    };
    match *response {
        Response::PushConfig(config) => show(&mut output, &config)?,
        Response::PushConfigs(page) => {
            for config in &page.configs {
                show(&mut output, config)?;
            }
            output.field("Total", &page.configs.len().to_string())?;
        }
        _ => return Err(Failure::internal("the answer is no webhook")),
    }
    Ok(())
}

async fn ask(
    One { id, agent, common }: One,
    request: impl FnOnce(TaskId) -> Request,
) -> Result<(Connected, Answered), Failure> {
    let connected = agent.connect(&common).await?;
    let answer = connected.call(request(id)).await?;
    Ok((connected, answer))
}

/// Shows a webhook without its secrets.
fn show(output: &mut Output, config: &TaskPushNotificationConfig) -> io::Result<()> {
    if let Some(id) = &config.id {
        output.field("Webhook", id.as_str())?;
    }
    if let Some(task) = &config.task_id {
        output.field("Task", task.as_str())?;
    }
    output.field("URL", &config.url)?;
    let authentication = config.authentication.as_ref();
    if let Some(authentication) = authentication.filter(|one| !one.scheme.is_empty()) {
        output.field("Authorization", &authentication.scheme)?;
    }
    Ok(())
}
