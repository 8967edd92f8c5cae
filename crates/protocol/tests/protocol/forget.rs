//! What the forms of the 0.3 family cannot carry, taken away; and things said that have it.

use nuncio_protocol::{
    ids::ContextId,
    json::Raw,
    message::{Content, Part, Role},
    operation::{Operation, Request, Response},
    push::TaskPushNotificationConfig,
};

use crate::{losses::Said, walk};

/// A request to send a message, with these members more.
pub(crate) fn send(members: &str, of_message: &str) -> Said {
    Said::request(Operation::SendMessage, &send_params(members, of_message))
}

/// A request to send a message and follow what comes of it, with these members more.
pub(crate) fn stream(members: &str) -> Said {
    Said::request(Operation::SendStreamingMessage, &send_params(members, ""))
}

fn send_params(members: &str, of_message: &str) -> String {
    let more = |members: &str| {
        if members.is_empty() { String::new() } else { format!(",{members}") }
    };
    let (members, of_message) = (more(members), more(of_message));
    format!(
        r#"{{"message":{{"messageId":"m","role":1,"parts":[{{"text":"x"}}]{of_message}}}{members}}}"#
    )
}

/// The answer to a cancellation, with these members.
pub(crate) fn task(members: &str) -> Said {
    Said::response(Operation::CancelTask, &format!(r#"{{"id":"t",{members}}}"#))
}

/// The answer to a cancellation of a task that has this part in its artifact.
pub(crate) fn part(part: &str) -> Said {
    task(&format!(
        r#""contextId":"c","status":{{"state":5}},"artifacts":[{{"artifactId":"a","parts":[{part}]}}]"#
    ))
}

/// The tenants of requests and webhooks.
pub(crate) fn tenant(said: &mut Said) {
    if let Said::Request(request) = said {
        request.set_tenant(None);
    }
    for config in webhooks(said) {
        config.tenant = None;
    }
}

/// That nobody is known to speak.
pub(crate) fn role(said: &mut Said) {
    for message in walk::messages(said) {
        if message.role == Role::Unspecified {
            message.role = Role::Agent;
        }
    }
}

/// The names and types of what is no file.
pub(crate) fn part_names(said: &mut Said) {
    walk::each_part(said, |part| {
        if let Content::Text(_) | Content::Data(_) = part.content {
            part.filename.clear();
            part.media_type.clear();
        }
    });
}

/// The metadata member that marks wrapped data.
const FLAG: &str = "data_part_compat";

/// What the wrapping of data that is no object costs.
pub(crate) fn wrapping(said: &mut Said) {
    walk::each_part(said, |part| {
        wrapped_by_hand(part);
        if part.as_data().is_some_and(|data| data.as_object().is_none()) {
            let rest = part.metadata.take().map(|metadata| metadata.without(FLAG));
            part.metadata = rest.filter(|rest| !rest.is_empty());
        }
    });
}

/// Takes a value out of what only looks as if we had wrapped it.
pub(crate) fn wrapped_by_hand(part: &mut Part) {
    let Some(object) = part.as_data().and_then(Raw::as_object) else { return };
    let Some(metadata) = &part.metadata else { return };
    let flagged = metadata.get(FLAG).is_some_and(|flag| flag.as_str() == "true");
    if !flagged || !object.without("value").is_empty() {
        return;
    }
    if let Some(value) = object.get("value") {
        let rest = metadata.without(FLAG);
        part.metadata = Some(rest).filter(|rest| !rest.is_empty());
        part.content = Content::Data(value);
    }
}

/// That a task belongs to no conversation.
pub(crate) fn context(said: &mut Said) {
    for task in walk::tasks(said) {
        let own = || ContextId::parse(task.id.as_str()).expect("all identifiers are alike");
        task.context_id.get_or_insert_with(own);
    }
}

/// That a sender who waits has no wishes.
pub(crate) fn no_wishes(said: &mut Said) {
    if let Said::Request(Request::SendMessage(send)) = said {
        send.configuration.get_or_insert_default();
    }
}

/// The task of a webhook that is registered with a message.
pub(crate) fn webhook_task(said: &mut Said) {
    if let Some(config) = sent_webhook(said) {
        config.task_id = None;
    }
}

/// An authentication that says nothing.
pub(crate) fn authentication(said: &mut Said) {
    for config in webhooks(said) {
        config.authentication.take_if(|info| info.scheme.is_empty() && info.credentials.is_empty());
    }
}

/// The webhook that is registered with a message.
fn sent_webhook(said: &mut Said) -> Option<&mut TaskPushNotificationConfig> {
    let wishes = walk::send(said)?.configuration.as_mut()?;
    wishes.task_push_notification_config.as_mut()
}

/// All webhooks.
pub(crate) fn webhooks(said: &mut Said) -> Vec<&mut TaskPushNotificationConfig> {
    match said {
        Said::Request(Request::CreateTaskPushNotificationConfig(config))
        | Said::Response(_, Response::PushConfig(config)) => vec![config],
        Said::Response(_, Response::PushConfigs(page)) => page.configs.iter_mut().collect(),
        said => sent_webhook(said).into_iter().collect(),
    }
}

/// Tells whether this is a card: what those lose stands in the documentation of
/// `card::write_v03`, and is tested there.
pub(crate) fn is_card(said: &Said) -> bool {
    matches!(said, Said::Response(_, Response::Card(_)))
}
