//! The operations beside the conversation: cancelling, webhooks, the extended card.

use nuncio_protocol::{
    error::ErrorKind,
    ids::{PushConfigId, TaskId},
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest, Request,
        Response,
    },
    push::{AuthenticationInfo, TaskPushNotificationConfig},
};

use super::{
    check::Check,
    patient::{Patient, is_unsayable, kind, said, unknown_id},
    report::Report,
};

/// A webhook that nobody has. It is registered for a task that has ended, so nothing is sent.
const WEBHOOK: &str = "https://example.com/nuncio-doctor";
const SECRET: &str = "nuncio-doctor-secret";

pub(crate) async fn check(patient: &Patient<'_>, report: &mut Report) {
    cancel(patient, report).await;
    push(patient, report).await;
    extended_card(patient, report).await;
}

async fn cancel(patient: &Patient<'_>, report: &mut Report) {
    let request = |id| Request::CancelTask(CancelTaskRequest { tenant: None, id, metadata: None });
    let outcome = patient.call(request(unknown_id())).await;
    let is_refused = kind(&outcome) == Some(ErrorKind::TaskNotFound);
    report.pass_if(Check::CancelUnknown, is_refused, said(&outcome));
    let Some(task) = patient.finished() else {
        return report.skip(Check::CancelFinished, "there is no task that has ended");
    };
    let outcome = patient.call(request(task.id.clone())).await;
    match kind(&outcome) {
        Some(ErrorKind::TaskNotCancelable) => report.pass(Check::CancelFinished),
        Some(ErrorKind::Internal) | None => report.fail(Check::CancelFinished, said(&outcome)),
        Some(kind) => report.warn(Check::CancelFinished, format!("it is refused with {kind:?}")),
    }
}

async fn push(patient: &Patient<'_>, report: &mut Report) {
    let Some(task) = patient.finished().map(|task| task.id.clone()) else {
        return report.skip_rest_of(&["push"], "there is no task that has ended");
    };
    let wanted = TaskPushNotificationConfig {
        id: Some(PushConfigId::generate()),
        task_id: Some(task.clone()),
        token: SECRET.to_owned(),
        authentication: Some(AuthenticationInfo {
            scheme: "Bearer".to_owned(),
            credentials: SECRET.to_owned(),
        }),
        ..TaskPushNotificationConfig::new(WEBHOOK)
    };
    let outcome = patient.call(Request::CreateTaskPushNotificationConfig(wanted)).await;
    if patient.card.capabilities.push_notifications != Some(true) {
        let check = Check::PushUndeclared;
        match kind(&outcome) {
            Some(
                ErrorKind::PushNotificationNotSupported
                | ErrorKind::UnsupportedOperation
                | ErrorKind::MethodNotFound,
            ) => report.pass(check),
            _ if is_unsayable(&outcome) => report.skip(check, said(&outcome)),
            Some(ErrorKind::Internal) | None => report.fail(check, said(&outcome)),
            Some(kind) => report.warn(check, format!("it is refused with {kind:?}")),
        }
        return report.skip_rest_of(&["push"], "the card does not promise webhooks");
    }
    report.skip(Check::PushUndeclared, "the card promises webhooks");
    let made = match &outcome {
        Ok(Response::PushConfig(made)) => made,
        // The agent may know better than to call where nobody is.
        Err(nuncio_client::Error::Peer(error)) if error.kind() == ErrorKind::InvalidParams => {
            report.warn(Check::PushCreate, format!("{WEBHOOK} is refused: {error}"));
            report.because(
                "the agent refuses the example, perhaps because it cannot resolve its name",
                "check that the agent can reach the Internet",
            );
            return report.skip_rest_of(&["push"], "no webhook could be registered");
        }
        _ => {
            report.fail(Check::PushCreate, said(&outcome));
            return report.skip_rest_of(&["push"], "no webhook could be registered");
        }
    };
    report.pass(Check::PushCreate);
    let Some(id) = made.id.clone() else {
        report.fail(Check::PushGet, "the webhook has no id");
        return report.skip_rest_of(&["push"], "the webhook has no id");
    };
    let mut shown = is_shown(made);
    let outcome = patient.call(get(&task, &id)).await;
    match &outcome {
        Ok(Response::PushConfig(found)) => {
            shown |= is_shown(found);
            let text = format!("another webhook is answered: {}", found.url);
            report.pass_if(Check::PushGet, found.url == WEBHOOK, text);
        }
        _ => report.fail(Check::PushGet, said(&outcome)),
    }
    shown |= list(patient, &task, &id, report).await;
    // A2A does not forbid it.
    if shown {
        report.warn(Check::PushSecrets, "the token or the credentials come back in an answer");
    } else {
        report.pass(Check::PushSecrets);
    }
    delete(patient, &task, &id, report).await;
}

/// Returns whether a secret was shown.
async fn list(
    patient: &Patient<'_>,
    task: &TaskId,
    id: &PushConfigId,
    report: &mut Report,
) -> bool {
    let request = ListTaskPushNotificationConfigsRequest {
        tenant: None,
        task_id: task.clone(),
        page_size: 0,
        page_token: String::new(),
    };
    let outcome = patient.call(Request::ListTaskPushNotificationConfigs(request)).await;
    match &outcome {
        Ok(Response::PushConfigs(page)) => {
            let is_there = page.configs.iter().any(|one| one.id.as_ref() == Some(id));
            let text = format!("{} are listed, and not this one", page.configs.len());
            report.pass_if(Check::PushList, is_there, text);
            page.configs.iter().any(is_shown)
        }
        _ if is_unsayable(&outcome) => {
            report.skip(Check::PushList, said(&outcome));
            false
        }
        _ => {
            report.fail(Check::PushList, said(&outcome));
            false
        }
    }
}

async fn delete(patient: &Patient<'_>, task: &TaskId, id: &PushConfigId, report: &mut Report) {
    let check = Check::PushDelete;
    let request = DeleteTaskPushNotificationConfigRequest {
        tenant: None,
        task_id: task.clone(),
        id: id.clone(),
    };
    let outcome = patient.call(Request::DeleteTaskPushNotificationConfig(request)).await;
    if is_unsayable(&outcome) {
        return report.skip(check, said(&outcome));
    }
    if outcome.is_err() {
        return report.fail(check, said(&outcome));
    }
    let left = patient.call(get(task, id)).await;
    report.pass_if(check, left.is_err(), "the webhook is still there");
}

fn get(task: &TaskId, id: &PushConfigId) -> Request {
    Request::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
        tenant: None,
        task_id: task.clone(),
        id: id.clone(),
    })
}

fn is_shown(config: &TaskPushNotificationConfig) -> bool {
    let credentials = config.authentication.as_ref().map(|one| one.credentials.as_str());
    config.token == SECRET || credentials == Some(SECRET)
}

async fn extended_card(patient: &Patient<'_>, report: &mut Report) {
    let is_promised = patient.card.capabilities.extended_agent_card == Some(true);
    let request = Request::GetExtendedAgentCard(GetExtendedAgentCardRequest { tenant: None });
    let outcome = patient.call(request).await;
    let (works, undeclared) = (Check::ExtendedWorks, Check::ExtendedUndeclared);
    if is_unsayable(&outcome) {
        return report.skip_rest_of(&["extended-card"], "the version has none on this binding");
    }
    if is_promised {
        report.skip(undeclared, "the card promises one");
        return match &outcome {
            Ok(Response::Card(card)) if !card.name.is_empty() => report.pass(works),
            Ok(_) => report.fail(works, "the answer is no card"),
            Err(_) => report.fail(works, said(&outcome)),
        };
    }
    report.skip(works, "the card does not promise one");
    match kind(&outcome) {
        Some(
            ErrorKind::UnsupportedOperation
            | ErrorKind::ExtendedAgentCardNotConfigured
            | ErrorKind::MethodNotFound,
        ) => report.pass(undeclared),
        Some(kind) => report.warn(undeclared, format!("it is refused with {kind:?}")),
        None if outcome.is_ok() => report.warn(undeclared, "there is one"),
        None => report.fail(undeclared, said(&outcome)),
    }
}
