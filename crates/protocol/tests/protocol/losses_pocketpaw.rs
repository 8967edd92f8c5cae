//! What is lost on the way through `PocketPaw`'s forms (T-02).

use nuncio_protocol::{
    dialect::pocketpaw::{PocketPaw, PocketPawHttp},
    ids::TaskId,
    message::{Content, Message, Part, Role},
    operation::{Operation, Response},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse, Task, TaskStatus, TaskStatusUpdateEvent},
};
use proptest::prelude::*;

use crate::{
    forget,
    losses::{Loss, Said, Translation, through_http, through_json_rpc},
    model, walk,
};

const JSON_RPC: Translation = Translation {
    form: "pocketpaw",
    losses: LOSSES,
    round_trip: |said| through_json_rpc(&PocketPaw, said),
};

const HTTP: Translation = Translation {
    form: "pocketpaw",
    losses: LOSSES,
    round_trip: |said| match said {
        Said::Response(Operation::SendMessage | Operation::GetTask | Operation::CancelTask, _)
        | Said::Request(_)
        | Said::Event(_) => through_http(&PocketPawHttp, said),
        Said::Response(..) => None,
    },
};

const LOSSES: &[Loss] = &[
    Loss { id: "tenant", forget: forget_tenant, witness: || send(r#""tenant":"a""#, "", "") },
    Loss {
        id: "wishes",
        forget: forget_wishes,
        witness: || {
            let wishes = r#"{"returnImmediately":true,"taskPushNotificationConfig":{"url":"u"}}"#;
            send(&format!(r#""configuration":{wishes}"#), "", "")
        },
    },
    Loss {
        id: "reply",
        forget: forget_reply,
        witness: || {
            let message = r#"{"messageId":"m","role":2,"parts":[{"text":"x"}]}"#;
            Said::event(&format!(r#"{{"message":{message}}}"#))
        },
    },
    Loss {
        id: "answer",
        forget: forget_silence,
        witness: || {
            let artifact = r#"{"artifactId":"a","parts":[{"text":"x"},{"url":"u"}]}"#;
            let task = r#""id":"t","status":{"state":3}"#;
            Said::response(Operation::GetTask, &format!(r#"{{{task},"artifacts":[{artifact}]}}"#))
        },
    },
    Loss {
        id: "canceled",
        forget: forget_all_but_state,
        witness: || {
            let task = r#"{"id":"t","contextId":"c","status":{"state":5},"metadata":{}}"#;
            Said::response(Operation::CancelTask, task)
        },
    },
    Loss {
        id: "belonging",
        forget: forget_belonging,
        witness: || {
            let message = r#"{"messageId":"m","taskId":"t","contextId":"c","role":1,"parts":[]}"#;
            task(&format!(r#""history":[{message}]"#))
        },
    },
    Loss {
        id: "message",
        forget: forget_message_extensions,
        witness: || send("", r#""extensions":["e"],"referenceTaskIds":["t"]"#, ""),
    },
    Loss {
        id: "role",
        forget: forget_role,
        witness: || task(r#""history":[{"messageId":"m","role":0,"parts":[]}]"#),
    },
    Loss {
        id: "part",
        forget: |said| walk::each_part(said, forget_file_members),
        witness: || send("", "", r#""filename":"f","mediaType":"text/plain""#),
    },
    Loss {
        id: "data",
        forget: forget::wrapping,
        witness: || {
            artifact(r#""parts":[{"data":7,"metadata":{"data_part_compat":"mine","a":3}}]"#)
        },
    },
    Loss {
        id: "artifact",
        forget: forget_artifact_extensions,
        witness: || artifact(r#""parts":[],"extensions":["e"]"#),
    },
    Loss {
        id: "state",
        forget: forget_unknown_state,
        witness: || Said::response(Operation::GetTask, r#"{"id":"t","status":{"state":0}}"#),
    },
    Loss {
        id: "event",
        forget: forget_event_metadata,
        witness: || {
            let status = r#"{"taskId":"t","contextId":"c","status":{"state":2},"metadata":{}}"#;
            Said::event(&format!(r#"{{"statusUpdate":{status}}}"#))
        },
    },
];

/// A request to send a message, with these members more.
fn send(members: &str, of_message: &str, of_part: &str) -> Said {
    let more =
        |members: &str| if members.is_empty() { String::new() } else { format!(",{members}") };
    let (members, of_message, of_part) = (more(members), more(of_message), more(of_part));
    Said::request(
        Operation::SendMessage,
        &format!(
            r#"{{"message":{{"messageId":"m","role":1,"parts":[{{"text":"x"{of_part}}}]{of_message}}}{members}}}"#
        ),
    )
}

/// The answer to a request for a task, with these members more.
fn task(members: &str) -> Said {
    let task = format!(r#"{{"id":"t","status":{{"state":2}},{members}}}"#);
    Said::response(Operation::GetTask, &task)
}

/// The answer to a request for a task that has an artifact with these members.
fn artifact(members: &str) -> Said {
    task(&format!(r#""artifacts":[{{"artifactId":"a",{members}}}]"#))
}

fn forget_tenant(said: &mut Said) {
    if let Said::Request(request) = said {
        request.set_tenant(None);
    }
}

fn forget_wishes(said: &mut Said) {
    if let Some(wishes) = walk::send(said).and_then(|send| send.configuration.as_mut()) {
        wishes.return_immediately = false;
        wishes.task_push_notification_config = None;
    }
}

fn forget_reply(said: &mut Said) {
    match said {
        Said::Response(_, Response::SendMessage(answer)) => {
            if let SendMessageResponse::Message(message) = answer {
                *answer = SendMessageResponse::Task(completed(message));
            }
        }
        Said::Event(StreamResponse::Message(message)) => {
            let Task { id, context_id, status, .. } = completed(message);
            *said = Said::Event(StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                context_id: context_id.unwrap_or_else(|| walk::id(id.as_str())),
                task_id: id,
                status,
                metadata: None,
            }));
        }
        _ => {}
    }
}

/// Returns the task that a reply without one comes back as.
fn completed(message: &Message) -> Task {
    let named = walk::id(message.message_id.as_str());
    Task {
        id: message.task_id.clone().unwrap_or(named),
        context_id: message.context_id.clone(),
        status: TaskStatus {
            state: TaskState::Completed,
            message: Some(Box::new(message.clone())),
            timestamp: None,
        },
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: None,
    }
}

fn forget_silence(said: &mut Said) {
    for task in walk::tasks(said) {
        let is_silent = task.status.state == TaskState::Completed && task.status.message.is_none();
        let parts = task.artifacts.iter().flat_map(|artifact| artifact.parts.clone());
        let mut parts =
            parts.filter(|part| matches!(part.content, Content::Text(_) | Content::Data(_)));
        if let Some(first) = parts.next().filter(|_| is_silent) {
            let mut message = Message::new(Role::Agent, first);
            message.message_id = walk::id(task.id.as_str());
            message.parts.extend(parts);
            task.status.message = Some(Box::new(message));
        }
    }
}

fn forget_all_but_state(said: &mut Said) {
    if let Said::Response(Operation::CancelTask, Response::Task(task)) = said {
        let state = task.status.state;
        *task = Task {
            id: task.id.clone(),
            context_id: None,
            status: TaskStatus { state, message: None, timestamp: None },
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        };
    }
}

fn forget_belonging(said: &mut Said) {
    for message in walk::answered_messages(said) {
        message.task_id = None;
        message.context_id = None;
    }
}

fn forget_message_extensions(said: &mut Said) {
    for message in walk::messages(said) {
        message.extensions.clear();
        message.reference_task_ids.clear();
    }
}

fn forget_role(said: &mut Said) {
    for message in walk::messages(said) {
        if message.role == Role::Unspecified {
            message.role = Role::Agent;
        }
    }
}

fn forget_file_members(part: &mut Part) {
    if let Content::Text(_) | Content::Data(_) = part.content {
        part.filename.clear();
        part.media_type.clear();
    }
}

fn forget_artifact_extensions(said: &mut Said) {
    for artifact in walk::artifacts(said) {
        artifact.extensions.clear();
    }
}

fn forget_unknown_state(said: &mut Said) {
    for status in walk::statuses(said) {
        if status.state == TaskState::Unspecified {
            status.state = TaskState::Working;
        }
    }
}

fn forget_event_metadata(said: &mut Said) {
    match said {
        Said::Event(StreamResponse::StatusUpdate(update)) => update.metadata = None,
        Said::Event(StreamResponse::ArtifactUpdate(update)) => update.metadata = None,
        _ => {}
    }
}

#[test]
fn each_loss_is_real_and_documented() {
    JSON_RPC.check_losses();
    HTTP.check_losses();
}

/// A name that the form allows for a task.
fn task_name() -> impl Strategy<Value = TaskId> {
    "[a-zA-Z0-9._-]{1,8}".prop_map(|name| walk::id(&name))
}

proptest! {
    #[test]
    fn requests_survive(request in model::operation::request(), name in task_name()) {
        let mut said = Said::Request(request);
        if let Some(task) = walk::task_of_request(&mut said) {
            *task = name;
        }
        JSON_RPC.check(&said);
        HTTP.check(&said);
    }

    #[test]
    fn answers_survive((operation, response) in model::operation::response()) {
        let said = Said::Response(operation, response);
        JSON_RPC.check(&said);
        HTTP.check(&said);
    }

    #[test]
    fn events_survive(event in model::task::event()) {
        let said = Said::Event(event);
        JSON_RPC.check(&said);
        HTTP.check(&said);
    }
}
