//! Everything of one sort that stands in a thing said, to be changed.

use std::str::FromStr;

use nuncio_protocol::{
    ids::{InvalidId, TaskId},
    message::{Message, Part},
    operation::{Request, Response, SendMessageRequest},
    task::{Artifact, SendMessageResponse, StreamResponse, Task, TaskStatus},
};

use crate::losses::Said;

/// Makes an identifier of a short text.
pub(crate) fn id<T: FromStr<Err = InvalidId>>(text: &str) -> T {
    text.parse().expect("a short text is an identifier")
}

/// A request to send a message.
pub(crate) fn send(said: &mut Said) -> Option<&mut SendMessageRequest> {
    match said {
        Said::Request(Request::SendMessage(send) | Request::SendStreamingMessage(send)) => {
            Some(send)
        }
        _ => None,
    }
}

/// The task that a request is about.
pub(crate) fn task_of_request(said: &mut Said) -> Option<&mut TaskId> {
    match said {
        Said::Request(Request::GetTask(request)) => Some(&mut request.id),
        Said::Request(Request::CancelTask(request)) => Some(&mut request.id),
        Said::Request(Request::SubscribeToTask(request)) => Some(&mut request.id),
        said => send(said).and_then(|send| send.message.task_id.as_mut()),
    }
}

/// The tasks of an answer or event.
pub(crate) fn tasks(said: &mut Said) -> Vec<&mut Task> {
    match said {
        Said::Response(
            _,
            Response::SendMessage(SendMessageResponse::Task(task)) | Response::Task(task),
        )
        | Said::Event(StreamResponse::Task(task)) => vec![task],
        Said::Response(_, Response::Tasks(page)) => page.tasks.iter_mut().collect(),
        _ => Vec::new(),
    }
}

/// The statuses of tasks and events.
pub(crate) fn statuses(said: &mut Said) -> Vec<&mut TaskStatus> {
    match said {
        Said::Event(StreamResponse::StatusUpdate(update)) => vec![&mut update.status],
        said => tasks(said).into_iter().map(|task| &mut task.status).collect(),
    }
}

/// The artifacts of tasks and events.
pub(crate) fn artifacts(said: &mut Said) -> Vec<&mut Artifact> {
    match said {
        Said::Event(StreamResponse::ArtifactUpdate(update)) => vec![&mut update.artifact],
        said => tasks(said).into_iter().flat_map(|task| &mut task.artifacts).collect(),
    }
}

/// The messages of answers and events.
pub(crate) fn answered_messages(said: &mut Said) -> Vec<&mut Message> {
    match said {
        Said::Response(_, Response::SendMessage(SendMessageResponse::Message(message)))
        | Said::Event(StreamResponse::Message(message)) => vec![message],
        Said::Event(StreamResponse::StatusUpdate(update)) => {
            update.status.message.as_deref_mut().into_iter().collect()
        }
        said => tasks(said)
            .into_iter()
            .flat_map(|task| task.history.iter_mut().chain(task.status.message.as_deref_mut()))
            .collect(),
    }
}

/// All messages.
pub(crate) fn messages(said: &mut Said) -> Vec<&mut Message> {
    if matches!(said, Said::Request(_)) {
        return send(said).map(|send| &mut send.message).into_iter().collect();
    }
    answered_messages(said)
}

/// The parts of all messages.
pub(crate) fn message_parts(said: &mut Said) -> Vec<&mut Part> {
    messages(said).into_iter().flat_map(|message| &mut message.parts).collect()
}

/// The parts of all artifacts.
pub(crate) fn artifact_parts(said: &mut Said) -> Vec<&mut Part> {
    artifacts(said).into_iter().flat_map(|artifact| &mut artifact.parts).collect()
}

/// Changes every part.
pub(crate) fn each_part(said: &mut Said, change: fn(&mut Part)) {
    message_parts(said).into_iter().for_each(change);
    artifact_parts(said).into_iter().for_each(change);
}
