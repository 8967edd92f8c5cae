//! Cases that are answered once.

use nuncio_protocol::{
    error::ErrorKind,
    ids::{PushConfigId, TaskId},
    operation::{
        DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, Request, Response,
        SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    state::TaskState,
    task::SendMessageResponse,
};
use tokio::task::JoinSet;

use crate::{
    report::{Column, Report},
    target::{Outcome, Target, cancelling, ensure, saying, text_of},
};

pub(crate) async fn check(target: &Target, report: &mut Report) {
    report.case(Column::Send, "a task in answer", task(target)).await;
    report.case(Column::Send, "a message in answer", message(target)).await;
    report.case(Column::Send, "several turns", turns(target)).await;
    report.case(Column::Get, "GetTask", get(target)).await;
    report.case(Column::List, "ListTasks", list(target)).await;
    report.case(Column::Cancel, "CancelTask", cancel(target)).await;
    report.case(Column::Errors, "CancelTask of a finished task", cancel_finished(target)).await;
    report.case(Column::Errors, "an unknown task", unknown(target)).await;
    report
        .case(Column::Errors, "SubscribeToTask of an unknown task", subscribe_unknown(target))
        .await;
    let held = target.begin("hold").await;
    for (name, step) in [
        ("push config create", Push::Create),
        ("push config get", Push::Get),
        ("push config list", Push::List),
        ("push config delete", Push::Delete),
    ] {
        let case = async {
            let held = held.as_ref().map_err(ToString::to_string)?;
            push(target, &held.id, step).await
        };
        report.case(Column::Push, name, case).await;
    }
    if let Ok(held) = held {
        // Its case is another; here nobody is to be left behind.
        let _ = target.cancel(&held.id).await;
    }
    report.case(Column::ExtendedCard, "the extended card", extended_card(target)).await;
    report.case(Column::Send, "100 sends at once", crowd(target)).await;
}

async fn task(target: &Target) -> Outcome {
    let task = target.send(saying("hello")).await?;
    ensure!(task.status.state == TaskState::Completed, "it is {:?}", task.status.state);
    ensure!(text_of(&task) == "hello", "it gives `{}`", text_of(&task));
    Ok(())
}

async fn message(target: &Target) -> Outcome {
    match target.call(Request::SendMessage(saying("message:hello"))).await? {
        Response::SendMessage(SendMessageResponse::Message(message)) => {
            ensure!(message.text() == "hello", "it says `{}`", message.text());
            Ok(())
        }
        other => Err(format!("no message, but {other:?}").into()),
    }
}

async fn turns(target: &Target) -> Outcome {
    let asked = target.send(saying("ask")).await?;
    ensure!(asked.status.state == TaskState::InputRequired, "it is {:?}", asked.status.state);
    let question = asked.status.message.as_ref().map(|message| message.text());
    ensure!(question.as_deref() == Some("which one?"), "it asks {question:?}");
    let mut answer = saying("this one");
    answer.message.task_id = Some(asked.id.clone());
    answer.message.context_id = asked.context_id.clone();
    let done = target.send(answer).await?;
    ensure!(done.id == asked.id, "it goes on with task {}", done.id);
    ensure!(done.status.state == TaskState::Completed, "it is {:?}", done.status.state);
    ensure!(text_of(&done) == "this one", "it gives `{}`", text_of(&done));
    Ok(())
}

async fn get(target: &Target) -> Outcome {
    let sent = target.send(saying("hello")).await?;
    let found = target.get(&sent.id).await?;
    ensure!(found.id == sent.id && found.context_id == sent.context_id, "it is {found:?}");
    ensure!(found.status.state == TaskState::Completed, "it is {:?}", found.status.state);
    ensure!(text_of(&found) == "hello", "it gives `{}`", text_of(&found));
    Ok(())
}

async fn list(target: &Target) -> Outcome {
    let sent = target.send(saying("hello")).await?;
    let request = ListTasksRequest {
        context_id: sent.context_id.clone(),
        page_size: Some(10),
        include_artifacts: Some(true),
        ..Default::default()
    };
    match target.call(Request::ListTasks(request)).await? {
        Response::Tasks(page) => {
            let [found] = &page.tasks[..] else {
                return Err(format!("there are {} tasks, not 1", page.tasks.len()).into());
            };
            ensure!(found.id == sent.id && text_of(found) == "hello", "it is {found:?}");
            Ok(())
        }
        other => Err(format!("no tasks, but {other:?}").into()),
    }
}

async fn cancel(target: &Target) -> Outcome {
    let held = target.begin("hold").await?;
    let cancelled = target.cancel(&held.id).await?;
    ensure!(cancelled.status.state == TaskState::Canceled, "it is {:?}", cancelled.status.state);
    let found = target.get(&held.id).await?;
    ensure!(found.status.state == TaskState::Canceled, "later it is {:?}", found.status.state);
    Ok(())
}

async fn cancel_finished(target: &Target) -> Outcome {
    let done = target.send(saying("hello")).await?;
    target.refuses(cancelling(&done.id), ErrorKind::TaskNotCancelable).await
}

async fn unknown(target: &Target) -> Outcome {
    let id = TaskId::parse("nobody-knows-it")?;
    let get = GetTaskRequest { tenant: None, id: id.clone(), history_length: None };
    target.refuses(Request::GetTask(get), ErrorKind::TaskNotFound).await?;
    target.refuses(cancelling(&id), ErrorKind::TaskNotFound).await
}

async fn subscribe_unknown(target: &Target) -> Outcome {
    let id = TaskId::parse("nobody-knows-it")?;
    let subscribe = SubscribeToTaskRequest { tenant: None, id };
    target.refuses(Request::SubscribeToTask(subscribe), ErrorKind::TaskNotFound).await
}

/// What is done with a webhook.
enum Push {
    Create,
    Get,
    List,
    Delete,
}

const HOOK: &str = "http://127.0.0.1:9/hook";

async fn push(target: &Target, task: &TaskId, step: Push) -> Outcome {
    let id = PushConfigId::parse("hook")?;
    let task_id = task.clone();
    let request = match step {
        Push::Create => {
            let mut config = TaskPushNotificationConfig::new(HOOK);
            config.id = Some(id.clone());
            config.task_id = Some(task_id);
            Request::CreateTaskPushNotificationConfig(config)
        }
        Push::Get => Request::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
            tenant: None,
            task_id,
            id: id.clone(),
        }),
        Push::List => {
            Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                tenant: None,
                task_id,
                page_size: 0,
                page_token: String::new(),
            })
        }
        Push::Delete => {
            Request::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
                tenant: None,
                task_id,
                id: id.clone(),
            })
        }
    };
    let is_ours = |config: &TaskPushNotificationConfig| {
        (config.id.as_ref(), &*config.url) == (Some(&id), HOOK)
    };
    match target.call(request).await? {
        Response::PushConfig(config) if is_ours(&config) => Ok(()),
        Response::PushConfigs(page) if page.configs.len() == 1 && is_ours(&page.configs[0]) => {
            Ok(())
        }
        Response::Deleted => Ok(()),
        other => Err(format!("it gives {other:?}").into()),
    }
}

async fn extended_card(target: &Target) -> Outcome {
    let request = Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
    match target.call(request).await? {
        Response::Card(card) => {
            let expected = "does more for those it knows";
            ensure!(card.description == expected, "it is described by `{}`", card.description);
            Ok(())
        }
        other => Err(format!("no card, but {other:?}").into()),
    }
}

async fn crowd(target: &Target) -> Outcome {
    let mut sends: JoinSet<Outcome> = JoinSet::new();
    for index in 0..100 {
        let target = target.clone();
        sends.spawn(async move {
            let text = format!("number {index}");
            let task = target.send(saying(&text)).await?;
            ensure!(text_of(&task) == text, "`{text}` gives `{}`", text_of(&task));
            Ok(())
        });
    }
    while let Some(outcome) = sends.join_next().await {
        outcome??;
    }
    Ok(())
}
