//! What is lost on the way through Upal's form (T-02).

use nuncio_protocol::{
    dialect::upal::Upal,
    ids::ArtifactId,
    json::{Object, Raw},
    message::{Content, Message, Part, Role},
    operation::{Operation, Request, Response},
    state::TaskState,
    task::{Artifact, SendMessageResponse, Task, TaskStatus},
};
use proptest::prelude::*;

use crate::{
    losses::{Loss, Said, Translation, through_json_rpc},
    model, walk,
};

const UPAL: Translation = Translation {
    form: "upal",
    losses: LOSSES,
    round_trip: |said| {
        // Identifiers of messages are made up by the reader, so they are made alike first.
        let mut back = through_json_rpc(&Upal, said)?;
        walk::messages(&mut back).into_iter().for_each(forget_message_id);
        Some(back)
    },
};

const LOSSES: &[Loss] = &[
    Loss {
        id: "reply",
        forget: forget_reply,
        witness: || {
            let message = r#"{"messageId":"m","role":2,"parts":[{"text":"x"}]}"#;
            Said::response(Operation::SendMessage, &format!(r#"{{"message":{message}}}"#))
        },
    },
    Loss { id: "tenant", forget: forget_tenant, witness: || send(r#""tenant":"a""#, "", "") },
    Loss {
        id: "request",
        forget: forget_request_metadata,
        witness: || Said::request(Operation::CancelTask, r#"{"id":"t","metadata":{}}"#),
    },
    Loss {
        id: "wishes",
        forget: forget_wishes,
        witness: || {
            let wishes = r#"{"historyLength":1,"taskPushNotificationConfig":{"url":"u"}}"#;
            send(&format!(r#""configuration":{wishes}"#), "", "")
        },
    },
    Loss {
        id: "status",
        forget: forget_status,
        witness: || {
            let history = r#"[{"messageId":"m","role":2,"parts":[{"text":"x"}]}]"#;
            let status = r#"{"state":3,"timestamp":"2026-08-20T09:00:00Z"}"#;
            task(&format!(r#""status":{status},"history":{history}"#))
        },
    },
    Loss {
        id: "message",
        forget: forget_message,
        witness: || send("", r#""metadata":{},"extensions":["e"],"referenceTaskIds":["t"]"#, ""),
    },
    Loss {
        id: "role",
        forget: forget_role,
        witness: || task(r#""status":{"state":3,"message":{"messageId":"m","role":0,"parts":[]}}"#),
    },
    Loss {
        id: "part",
        forget: |said| walk::each_part(said, forget_part),
        witness: || send("", "", r#""filename":"f","metadata":{}"#),
    },
    Loss {
        id: "data",
        forget: |said| walk::each_part(said, forget_missing_media_type),
        witness: || artifact(r#""artifactId":"artifact-0","parts":[{"data":7}]"#),
    },
    Loss {
        id: "artifact",
        forget: forget_artifact,
        witness: || {
            artifact(r#""artifactId":"a","parts":[],"metadata":{"n":1},"extensions":["e"]"#)
        },
    },
    Loss {
        id: "task",
        forget: |said| walk::tasks(said).into_iter().for_each(|task| task.metadata = None),
        witness: || task(r#""status":{"state":8},"metadata":{"k":1}"#),
    },
    Loss { id: "state", forget: forget_unknown_state, witness: || task(r#""status":{"state":0}"#) },
];

/// A request to send a message, with these members more.
fn send(members: &str, of_message: &str, of_part: &str) -> Said {
    let more = |members: &str| {
        if members.is_empty() { String::new() } else { format!(",{members}") }
    };
    let (members, of_message, of_part) = (more(members), more(of_message), more(of_part));
    Said::request(
        Operation::SendMessage,
        &format!(
            r#"{{"message":{{"messageId":"m","role":1,"parts":[{{"text":"x"{of_part}}}]{of_message}}}{members}}}"#
        ),
    )
}

/// The answer to a cancellation, with these members.
fn task(members: &str) -> Said {
    Said::response(Operation::CancelTask, &format!(r#"{{"id":"t",{members}}}"#))
}

/// The answer to a cancellation of a task that has an artifact with these members.
fn artifact(members: &str) -> Said {
    task(&format!(r#""status":{{"state":5}},"artifacts":[{{{members}}}]"#))
}

fn forget_reply(said: &mut Said) {
    let Said::Response(_, Response::SendMessage(answer)) = said else { return };
    let SendMessageResponse::Message(message) = answer else { return };
    let named = walk::id(message.message_id.as_str());
    let mut task = Task {
        id: message.task_id.clone().unwrap_or(named),
        context_id: message.context_id.clone(),
        status: TaskStatus { state: TaskState::Completed, message: None, timestamp: None },
        artifacts: vec![Artifact::new(artifact_id(0), message.parts.clone())],
        history: vec![message.clone()],
        metadata: None,
    };
    find_status_message(&mut task);
    *answer = SendMessageResponse::Task(task);
}

fn forget_tenant(said: &mut Said) {
    if let Said::Request(request) = said {
        request.set_tenant(None);
    }
}

fn forget_request_metadata(said: &mut Said) {
    match said {
        Said::Request(Request::CancelTask(request)) => request.metadata = None,
        said => {
            if let Some(send) = walk::send(said) {
                send.metadata = None;
            }
        }
    }
}

fn forget_wishes(said: &mut Said) {
    if let Some(wishes) = walk::send(said).and_then(|send| send.configuration.as_mut()) {
        wishes.history_length = None;
        wishes.task_push_notification_config = None;
    }
}

fn forget_status(said: &mut Said) {
    for task in walk::tasks(said) {
        task.status.timestamp = None;
        if let Some(message) = task.status.message.take() {
            // The form has one list of messages, in which each stands once.
            let newest = task.history.last().map(|message| &message.message_id);
            if newest != Some(&message.message_id) {
                task.history.push(*message);
            }
        }
        find_status_message(task);
    }
}

fn find_status_message(task: &mut Task) {
    let last = task.history.pop_if(|message| message.role != Role::User);
    task.status.message = last.map(Box::new);
}

fn forget_message(said: &mut Said) {
    for message in walk::answered_messages(said) {
        message.task_id = None;
        message.context_id = None;
    }
    for message in walk::messages(said) {
        forget_message_id(message);
        message.metadata = None;
        message.extensions.clear();
        message.reference_task_ids.clear();
    }
}

fn forget_message_id(message: &mut Message) {
    message.message_id = walk::id("m");
}

fn forget_role(said: &mut Said) {
    for message in walk::messages(said) {
        if message.role == Role::Unspecified {
            message.role = Role::Agent;
        }
    }
}

fn forget_part(part: &mut Part) {
    part.metadata = None;
    if let Content::Text(_) | Content::Data(_) = part.content {
        part.filename.clear();
    }
}

fn forget_missing_media_type(part: &mut Part) {
    if part.as_data().is_some() && part.media_type.is_empty() {
        part.media_type = "application/json".into();
    }
}

fn forget_artifact(said: &mut Said) {
    for (position, artifact) in walk::artifacts(said).into_iter().enumerate() {
        artifact.artifact_id = artifact_id(position);
        artifact.extensions.clear();
        let metadata = artifact.metadata.take().filter(|metadata| !metadata.is_empty());
        artifact.metadata = metadata.map(|metadata| as_texts(&metadata));
    }
}

fn as_texts(metadata: &Object) -> Object {
    let members = metadata.members();
    let text = |value: &Raw| value.as_text().unwrap_or_else(|| value.as_str().to_owned());
    Object::from_members(
        members.iter().map(|(key, value)| (key.as_str(), Raw::string(&text(value)))),
    )
}

fn artifact_id(position: usize) -> ArtifactId {
    walk::id(&format!("artifact-{position}"))
}

fn forget_unknown_state(said: &mut Said) {
    for status in walk::statuses(said) {
        if status.state == TaskState::Unspecified {
            status.state = TaskState::Working;
        }
    }
}

#[test]
fn each_loss_is_real_and_documented() {
    UPAL.check_losses();
}

proptest! {
    #[test]
    fn requests_survive(request in model::operation::request()) {
        UPAL.check(&Said::Request(request));
    }

    #[test]
    fn answers_survive((operation, response) in model::operation::response()) {
        UPAL.check(&Said::Response(operation, response));
    }

    #[test]
    fn cancelled_tasks_survive(task in model::task::task()) {
        UPAL.check(&Said::Response(Operation::CancelTask, Response::Task(task)));
    }
}
