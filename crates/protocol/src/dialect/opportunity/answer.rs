//! The answer (O-05): one object, or an error as text.

use crate::{
    dialect::loose::{artifact_id_at, once},
    error::Error,
    ids::TaskId,
    json::{self, Members, Object, Raw, Reader, read_id, read_value},
    message::{Message, Part},
    operation::Response,
    state::TaskState,
    task::{Artifact, SendMessageResponse, Task, TaskStatus},
};

use super::{code, content};

/// What an answer says besides what it echoes.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    /// The request it answers; read only.
    request_id: Option<TaskId>,
    /// The task behind an error.
    task_id: Option<TaskId>,
    outcome: Result<Raw, String>,
}

impl Answer {
    pub(super) fn of(outcome: Result<&Response, &Error>) -> Self {
        let response = match outcome {
            Ok(response) => response,
            Err(error) => return Self::failure(code::write(error), None),
        };
        match response {
            Response::SendMessage(SendMessageResponse::Message(message)) => {
                Self::success(content::bundle(&message.parts))
            }
            Response::SendMessage(SendMessageResponse::Task(task)) | Response::Task(task) => {
                Self::of_task(task)
            }
            // Never called with answers to operations that the form has not.
            other => Self::success(Object::from_members([(
                "value",
                Raw::checked(json::to_string(other).into()),
            )])),
        }
    }

    fn of_task(task: &Task) -> Self {
        let Some((code, why)) = unsuccessful(task.status.state) else {
            return Self::success(result(task));
        };
        let text = task.status.message.as_ref().map(|message| message.text());
        let text = text.filter(|text| !text.is_empty()).unwrap_or_else(|| why.to_owned());
        Self::failure(code::join(code, &text), Some(task.id.clone()))
    }

    fn success(result: Object) -> Self {
        Self { request_id: None, task_id: None, outcome: Ok(result.into_raw()) }
    }

    fn failure(error: String, task_id: Option<TaskId>) -> Self {
        Self { request_id: None, task_id, outcome: Err(error) }
    }

    pub(super) fn write(&self, object: &mut Members<'_>) {
        match &self.outcome {
            Ok(result) => {
                object.member("status", "success");
                object.member("result", result);
            }
            Err(error) => {
                object.member("status", "error");
                object.member("error", error);
                object.optional("task_id", self.task_id.as_ref());
            }
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let mut request_id = None;
        let mut task_id = None;
        let mut status: Option<String> = None;
        let mut result = None;
        let mut error = None;
        reader.members(|reader, key| match &*key {
            "request_id" | "requestId" => once(&mut request_id, read_id(reader)?),
            "task_id" | "taskId" => once(&mut task_id, read_id(reader)?),
            "status" => once(&mut status, read_value(reader)?),
            "result" => once(&mut result, read_value::<Raw>(reader)?),
            "error" => once(&mut error, read_value::<String>(reader)?),
            _ => reader.skip(),
        })?;
        let outcome = match status.as_deref() {
            Some("success") => Ok(result.unwrap_or_else(|| Object::default().into_raw())),
            Some("error") => Err(error.ok_or_else(|| json::Error::missing("error"))?),
            Some(other) => {
                let what = format!("`{other}` is not one of success, error");
                return Err(json::Error::shape(what).inside("status"));
            }
            None => return Err(json::Error::missing("status")),
        };
        Ok(Self { request_id, task_id, outcome })
    }

    pub(super) fn into_response(self) -> Result<Response, Error> {
        // In this form work is known by its request, unless the answer names a task.
        let id = self.task_id.clone().or(self.request_id).unwrap_or_else(TaskId::generate);
        let task = match self.outcome {
            Ok(result) => completed(id, content::unbundle(result)),
            Err(error) => match unfinished(&error, self.task_id.is_some()) {
                Some(status) => task(id, status),
                None => return Err(code::read(&error)),
            },
        };
        Ok(Response::SendMessage(SendMessageResponse::Task(task)))
    }
}

/// Returns the code for a task that has not completed (catalogue §7.3), and the text for one whose
/// agent says nothing: an error is never a code alone (O-10).
fn unsuccessful(state: TaskState) -> Option<(&'static str, &'static str)> {
    Some(match state {
        TaskState::Completed => return None,
        TaskState::InputRequired => ("INPUT_REQUIRED", "the agent waits for an answer"),
        TaskState::AuthRequired => ("AUTH_REQUIRED", "the agent waits for a credential"),
        TaskState::Failed => ("INTERNAL_ERROR", "the task has failed"),
        TaskState::Canceled => ("CANCELED", "the task was cancelled"),
        TaskState::Rejected => ("CAPABILITY_NOT_SUPPORTED", "the agent has rejected the task"),
        // Whoever must wait no longer is told so, and that the work goes on.
        TaskState::Unspecified | TaskState::Submitted | TaskState::Working => {
            ("TIMEOUT", "the wait is over, the task goes on")
        }
    })
}

/// Returns what came of a task; of one that has only words, the words.
fn result(task: &Task) -> Object {
    let parts: Vec<&Part> = task.artifacts.iter().flat_map(|artifact| &artifact.parts).collect();
    match &task.status.message {
        Some(message) if parts.is_empty() => content::bundle(&message.parts),
        _ => content::bundle(parts),
    }
}

/// Returns the status of the task behind an error, if there is one.
fn unfinished(error: &str, names_task: bool) -> Option<TaskStatus> {
    let (code, text) = code::split(error);
    let state = match code {
        "INPUT_REQUIRED" => TaskState::InputRequired,
        "AUTH_REQUIRED" => TaskState::AuthRequired,
        "CANCELED" => TaskState::Canceled,
        _ if !names_task => return None,
        "TIMEOUT" => TaskState::Working,
        "CAPABILITY_NOT_SUPPORTED" | "INVALID_REQUEST" | "INVALID_PROTOCOL_VERSION" => {
            TaskState::Rejected
        }
        _ => TaskState::Failed,
    };
    // What stands in for silence is silence.
    let is_silent =
        text.is_empty() || unsuccessful(state).is_some_and(|(_, silence)| text == silence);
    let message = (!is_silent).then(|| Box::new(Message::agent(text)));
    Some(TaskStatus { state, message, timestamp: None })
}

fn completed(id: TaskId, parts: Vec<Part>) -> Task {
    let status = TaskStatus { state: TaskState::Completed, message: None, timestamp: None };
    let mut task = task(id, status);
    if !parts.is_empty() {
        task.artifacts.push(Artifact::new(artifact_id_at(0), parts));
    }
    task
}

fn task(id: TaskId, status: TaskStatus) -> Task {
    Task {
        id,
        context_id: None,
        status,
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: None,
    }
}
