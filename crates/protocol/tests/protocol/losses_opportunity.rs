//! What is lost on the way through the capability envelope (T-02).

use nuncio_protocol::{
    dialect::opportunity::Opportunity,
    json::{self, Object, Raw},
    message::{Content, Message, Part, Role},
    operation::{Operation, Request, Response, SendMessageRequest},
    state::TaskState,
    task::{Artifact, SendMessageResponse, Task, TaskStatus},
};
use proptest::prelude::*;

use crate::{
    losses::{Loss, Said, Translation, through_json_rpc},
    model, walk,
};

/// The id that the losses' machinery gives to every request.
const REQUEST_ID: &str = "1";

const OPPORTUNITY: Translation = Translation {
    form: "opportunity",
    losses: LOSSES,
    round_trip: |said| {
        let form = Opportunity { agent_id: "us".into() };
        // Identifiers of messages are made up by the reader, so they are made alike first.
        let mut back = through_json_rpc(&form, said)?;
        walk::answered_messages(&mut back).into_iter().for_each(forget_message_id);
        Some(back)
    },
};

const LOSSES: &[Loss] = &[
    Loss {
        id: "tenant",
        forget: |said| {
            if let Some(send) = walk::send(said) {
                send.tenant = None;
            }
        },
        witness: || request(r#""tenant":"a","#, "", SKILL),
    },
    Loss {
        id: "wishes",
        forget: |said| {
            if let Some(send) = walk::send(said) {
                send.configuration = None;
            }
        },
        witness: || request(r#""configuration":{},"#, "", SKILL),
    },
    Loss {
        id: "metadata",
        forget: forget_request_metadata,
        witness: || request("", "", r#"{"k":1,"skillId":"s"}"#),
    },
    Loss {
        id: "message",
        forget: forget_message,
        witness: || {
            let members = r#""metadata":{},"extensions":["e"],"referenceTaskIds":["t"],"#;
            request("", members, SKILL)
        },
    },
    Loss {
        id: "payload",
        forget: forget_parts,
        witness: || {
            let mut said = request("", "", SKILL);
            let more = Part::text("x").with_media_type("text/plain");
            walk::send(&mut said).expect("it sends").message.parts.push(more);
            said
        },
    },
    Loss {
        id: "reply",
        forget: forget_reply,
        witness: || {
            let message = r#"{"messageId":"m","role":2,"parts":[{"text":"x"}]}"#;
            Said::response(Operation::SendMessage, &format!(r#"{{"message":{message}}}"#))
        },
    },
    Loss {
        id: "task",
        forget: forget_task,
        witness: || task(r#""contextId":"c","status":{"state":3},"metadata":{}"#),
    },
    Loss {
        id: "result",
        forget: forget_artifacts,
        witness: || {
            let first = r#"{"artifactId":"a","name":"n","parts":[{"text":"x"}]}"#;
            let second = r#"{"artifactId":"b","parts":[{"data":7}]}"#;
            task(&format!(r#""status":{{"state":3}},"artifacts":[{first},{second}]"#))
        },
    },
    Loss {
        id: "words",
        forget: forget_words,
        witness: || {
            let message = r#"{"messageId":"m","role":1,"parts":[{"text":"x"},{"data":7}]}"#;
            task(&format!(r#""status":{{"state":6,"message":{message}}}"#))
        },
    },
    Loss { id: "state", forget: forget_state, witness: || task(r#""status":{"state":1}"#) },
];

const SKILL: &str = r#"{"skillId":"s","sourceAgent":{"id":"a","endpoint":"https://a.example"}}"#;

/// A request to send a message.
fn request(members: &str, of_message: &str, metadata: &str) -> Said {
    Said::request(
        Operation::SendMessage,
        &format!(
            r#"{{{members}"message":{{{of_message}"messageId":"m","role":1,"parts":[{{"data":{{}}}}]}},"metadata":{metadata}}}"#
        ),
    )
}

/// The answer to a message: a task of which the form keeps the id.
fn task(members: &str) -> Said {
    let task = format!(r#"{{"task":{{"id":"{REQUEST_ID}",{members}}}}}"#);
    Said::response(Operation::SendMessage, &task)
}

fn forget_request_metadata(said: &mut Said) {
    let Some(send) = walk::send(said) else { return };
    let get = |metadata: &Option<Object>, key: &str| metadata.as_ref()?.get(key);
    let skill = get(&send.metadata, "skillId").expect("it names a skill");
    let source = get(&send.metadata, "sourceAgent")
        .unwrap_or_else(|| Object::from_members([("id", Raw::string("us"))]).into_raw());
    send.metadata = Some(Object::from_members([("skillId", skill), ("sourceAgent", source)]));
}

fn forget_message(said: &mut Said) {
    let Some(send) = walk::send(said) else { return };
    send.message.role = Role::User;
    send.message.metadata = None;
    send.message.extensions.clear();
    send.message.reference_task_ids.clear();
}

fn forget_parts(said: &mut Said) {
    let Some(send) = walk::send(said) else { return };
    send.message.parts = vec![Part::data(bundle(&send.message.parts).into_raw())];
}

fn forget_reply(said: &mut Said) {
    let Said::Response(_, Response::SendMessage(answer)) = said else { return };
    let SendMessageResponse::Message(message) = answer else { return };
    *answer = SendMessageResponse::Task(Task {
        id: walk::id(REQUEST_ID),
        context_id: None,
        status: TaskStatus { state: TaskState::Completed, message: None, timestamp: None },
        artifacts: merged(&message.parts),
        history: Vec::new(),
        metadata: None,
    });
}

fn forget_task(said: &mut Said) {
    for task in walk::tasks(said) {
        if task.status.state == TaskState::Completed {
            task.id = walk::id(REQUEST_ID);
        }
        task.context_id = None;
        task.status.timestamp = None;
        task.history.clear();
        task.metadata = None;
    }
}

fn forget_artifacts(said: &mut Said) {
    for task in walk::tasks(said) {
        let artifacts = std::mem::take(&mut task.artifacts);
        if task.status.state != TaskState::Completed {
            continue;
        }
        let message = task.status.message.take();
        let mut parts: Vec<Part> =
            artifacts.into_iter().flat_map(|artifact| artifact.parts).collect();
        if parts.is_empty() {
            parts = message.map(|message| message.parts).unwrap_or_default();
        }
        task.artifacts = merged(&parts);
    }
}

fn forget_words(said: &mut Said) {
    for status in walk::statuses(said) {
        if status.state == TaskState::Completed {
            continue;
        }
        let text = status.message.take().map(|message| message.text()).unwrap_or_default();
        if !text.is_empty() {
            let mut message = Message::agent(text);
            forget_message_id(&mut message);
            status.message = Some(Box::new(message));
        }
    }
}

fn forget_state(said: &mut Said) {
    for status in walk::statuses(said) {
        if matches!(status.state, TaskState::Unspecified | TaskState::Submitted) {
            status.state = TaskState::Working;
        }
    }
}

fn forget_message_id(message: &mut Message) {
    message.message_id = walk::id("m");
}

/// Returns the one artifact that is left of these parts, if there is any.
fn merged(parts: &[Part]) -> Vec<Artifact> {
    let parts = unbundled(parts);
    if parts.is_empty() {
        return Vec::new();
    }
    vec![Artifact::new(walk::id("artifact-0"), parts)]
}

/// Merges parts into one object.
fn bundle(parts: &[Part]) -> Object {
    let mut bundle = Object::default();
    for data in parts.iter().filter_map(Part::as_data) {
        let members = match data.as_object() {
            Some(object) => object.members(),
            None => vec![("value".to_owned(), data.clone())],
        };
        bundle = members.into_iter().fold(bundle, |bundle, (key, value)| bundle.with(&key, value));
    }
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    if !texts.is_empty() {
        bundle = bundle.with("text", Raw::string(&texts.join("\n")));
    }
    let files: Vec<Object> = parts.iter().filter_map(file).collect();
    if !files.is_empty() {
        let files: Vec<&str> = files.iter().map(Object::as_str).collect();
        let files = Raw::parse_text(&format!("[{}]", files.join(","))).expect("it is JSON");
        bundle = bundle.with("files", files);
    }
    bundle
}

fn file(part: &Part) -> Option<Object> {
    let v1 = Object::parse_text(&json::to_string(part)).expect("it is JSON");
    let content = match part.content {
        Content::Raw(_) => ("bytes", v1.get("raw")?),
        Content::Url(_) => ("uri", v1.get("url")?),
        _ => return None,
    };
    let name = v1.get("filename").map(|name| ("name", name));
    let media_type = v1.get("mediaType").map(|media_type| ("media_type", media_type));
    Some(Object::from_members(name.into_iter().chain(media_type).chain([content])))
}

/// Returns what is left of parts that have been one object.
fn unbundled(parts: &[Part]) -> Vec<Part> {
    let object = bundle(parts);
    if object.is_empty() {
        return Vec::new();
    }
    if object.members().iter().any(|(key, _)| key != "text" && key != "files") {
        return vec![Part::data(object.into_raw())];
    }
    let text = object.get("text").map(|text| Part::text(text.as_text().expect("it is text")));
    let files = parts.iter().filter(|part| file(part).is_some());
    let files = files.map(|part| Part { metadata: None, ..part.clone() });
    text.into_iter().chain(files).collect()
}

#[test]
fn each_loss_is_real_and_documented() {
    OPPORTUNITY.check_losses();
}

/// A request that names a skill, and perhaps who asks.
fn send() -> impl Strategy<Value = SendMessageRequest> {
    let source = (model::text(), model::text()).prop_map(|(id, endpoint)| {
        let members = [("id", Raw::string(&id)), ("endpoint", Raw::string(&endpoint))];
        Object::from_members(members).into_raw()
    });
    (model::operation::send_message(), model::some_text(), prop::option::of(source)).prop_map(
        |(send, skill, source)| {
            let mut metadata = send.metadata.unwrap_or_default();
            metadata = metadata.with("skillId", Raw::string(&skill));
            if let Some(source) = source {
                metadata = metadata.with("sourceAgent", source);
            }
            SendMessageRequest { metadata: Some(metadata), ..send }
        },
    )
}

proptest! {
    #[test]
    fn requests_survive(send in send()) {
        OPPORTUNITY.check(&Said::Request(Request::SendMessage(send)));
    }

    #[test]
    fn requests_without_skill_cannot_be_said(request in model::operation::request()) {
        prop_assert_eq!((OPPORTUNITY.round_trip)(&Said::Request(request)), None);
    }

    #[test]
    fn answers_survive(response in model::task::send_response()) {
        OPPORTUNITY.check(&Said::Response(
            Operation::SendMessage,
            Response::SendMessage(response),
        ));
    }
}
