//! The eleven operations: what is asked, what is answered.

use crate::{
    card::AgentCard,
    ids::{ContextId, PushConfigId, TaskId, Tenant},
    json::{Error, FromJson, Object, Reader, Shared, ToJson, Writer, record, write_with},
    message::{Message, Role},
    push::TaskPushNotificationConfig,
    state::TaskState,
    task::{SendMessageResponse, Task},
    time::Timestamp,
};

/// The largest page of [`ListTasksRequest`].
pub const MAX_PAGE_SIZE: i32 = 100;

macro_rules! operations {
    ($($(#[$meta:meta])* $variant:ident($request:ty),)*) => {
        /// The operations of A2A.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation {
            $($(#[$meta])* $variant,)*
        }

        impl Operation {
            /// All eleven, in the order of the specification.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// All eleven with their names.
            pub const NAMES: &[(Self, &str)] = &[$((Self::$variant, stringify!($variant))),*];

            /// Returns the name: JSON-RPC method and gRPC call alike.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }

            /// Finds an operation by its name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $(stringify!($variant) => Some(Self::$variant),)* _ => None }
            }
        }

        /// Any request.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "sending, the large one, is the common one")]
        pub enum Request {
            $($(#[$meta])* $variant($request),)*
        }

        impl Request {
            /// Reads the request of an operation in the A2A 1.0 form, and checks it.
            pub fn read(operation: Operation, reader: &mut Reader<'_>) -> Result<Self, Error> {
                let request = match operation {
                    $(Operation::$variant => Self::$variant(FromJson::read(reader)?),)*
                };
                request.check()?;
                Ok(request)
            }

            /// Returns the operation asked for.
            pub const fn operation(&self) -> Operation {
                match self { $(Self::$variant(_) => Operation::$variant,)* }
            }

            /// Returns the agent named behind a shared endpoint.
            pub fn tenant(&self) -> Option<&Tenant> {
                match self { $(Self::$variant(request) => request.tenant.as_ref(),)* }
            }

            /// Names the agent behind a shared endpoint.
            pub fn set_tenant(&mut self, tenant: Option<Tenant>) {
                match self { $(Self::$variant(request) => request.tenant = tenant,)* }
            }
        }

        impl ToJson for Request {
            fn write(&self, writer: &mut Writer) {
                match self { $(Self::$variant(request) => request.write(writer),)* }
            }
        }
    };
}

operations! {
    /// Sends a message and waits for the answer.
    SendMessage(SendMessageRequest),
    /// Sends a message and follows what comes of it.
    SendStreamingMessage(SendMessageRequest),
    /// Returns a task.
    GetTask(GetTaskRequest),
    /// Returns the tasks the caller may see.
    ListTasks(ListTasksRequest),
    /// Asks for a task to end.
    CancelTask(CancelTaskRequest),
    /// Follows a task.
    SubscribeToTask(SubscribeToTaskRequest),
    /// Registers a webhook for a task.
    CreateTaskPushNotificationConfig(TaskPushNotificationConfig),
    /// Returns a webhook.
    GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest),
    /// Returns all webhooks of a task.
    ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest),
    /// Removes a webhook.
    DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest),
    /// Returns the card with what only known callers may see.
    GetExtendedAgentCard(GetExtendedAgentCardRequest),
}

impl Operation {
    /// Tells whether the answer is a stream of events.
    pub const fn is_streaming(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }
}

record! {
    /// Asks an agent to act on a message.
    pub struct SendMessageRequest {
        /// The agent behind a shared endpoint.
        tenant: Option<Tenant> = id "tenant",
        /// The message.
        message: Message = required "message",
        /// How the caller wants to be answered.
        configuration: Option<SendMessageConfiguration> = optional "configuration",
        /// Data of extensions.
        metadata: Option<Object> = optional "metadata",
    }
}

impl SendMessageRequest {
    /// Sends a message without further wishes.
    pub fn new(message: Message) -> Self {
        Self { tenant: None, message, configuration: None, metadata: None }
    }

    /// Tells whether the caller wants the task at once, unfinished.
    pub fn returns_immediately(&self) -> bool {
        self.configuration.as_ref().is_some_and(|wishes| wishes.return_immediately)
    }
}

record! {
    /// How a caller wants to be answered.
    #[derive(Default)]
    pub struct SendMessageConfiguration {
        /// Media types the caller can use.
        accepted_output_modes: Vec<String> =
            implicit "acceptedOutputModes" | "accepted_output_modes",
        /// A webhook for the task, registered with the message.
        task_push_notification_config: Option<TaskPushNotificationConfig> =
            optional "taskPushNotificationConfig" | "task_push_notification_config",
        /// How much history the answer may carry; see [`GetTaskRequest::history_length`].
        history_length: Option<i32> = optional "historyLength" | "history_length",
        /// Whether to answer as soon as the task exists.
        return_immediately: bool = implicit "returnImmediately" | "return_immediately",
    }
}

record! {
    /// Asks for a task.
    pub struct GetTaskRequest {
        /// The agent behind a shared endpoint.
        tenant: Option<Tenant> = id "tenant",
        /// The task.
        id: TaskId = required "id",
        /// At most so many messages of history, the newest; unset: as the server likes; 0: none.
        history_length: Option<i32> = optional "historyLength" | "history_length",
    }
}

record! {
    /// Asks for the tasks the caller may see, newest status first.
    #[derive(Default)]
    pub struct ListTasksRequest {
        /// The agent behind a shared endpoint.
        tenant: Option<Tenant> = id "tenant",
        /// Only of this conversation.
        context_id: Option<ContextId> = id "contextId" | "context_id",
        /// Only in this state; [`TaskState::Unspecified`]: in any.
        status: TaskState = implicit "status",
        /// 1 to 100; unset: 50.
        page_size: Option<i32> = optional "pageSize" | "page_size",
        /// Where the last page ended; empty for the first.
        page_token: String = implicit "pageToken" | "page_token",
        /// See [`GetTaskRequest::history_length`].
        history_length: Option<i32> = optional "historyLength" | "history_length",
        /// Only with a status at or after this moment.
        status_timestamp_after: Option<Timestamp> =
            optional "statusTimestampAfter" | "status_timestamp_after",
        /// Whether artifacts are wanted; unset: no.
        include_artifacts: Option<bool> = optional "includeArtifacts" | "include_artifacts",
    }
}

record! {
    /// One page of tasks.
    #[derive(Default)]
    pub struct ListTasksResponse {
        /// The tasks.
        tasks: Vec<Task> = always "tasks",
        /// Ask again with this for the next page; empty at the end.
        next_page_token: String = always "nextPageToken" | "next_page_token",
        /// The page size that was applied.
        page_size: i32 = always "pageSize" | "page_size",
        /// How many tasks match on all pages together.
        total_size: i32 = always "totalSize" | "total_size",
    }
}

impl ListTasksResponse {
    /// Puts the texts of tasks on an empty page, unread.
    pub fn with_tasks(&self, tasks: &[Shared<Task>]) -> Shared<Self> {
        let rest = write_with(|writer| {
            writer.object(|page| {
                page.member("nextPageToken", &self.next_page_token);
                page.member("pageSize", &self.page_size);
                page.member("totalSize", &self.total_size);
            });
        });
        let room = tasks.iter().map(|task| task.json().len() + 1).sum::<usize>();
        let mut page = Vec::with_capacity(room + rest.len() + 16);
        page.extend_from_slice(br#"{"tasks":["#);
        for (index, task) in tasks.iter().enumerate() {
            if index > 0 {
                page.push(b',');
            }
            page.extend_from_slice(task.json());
        }
        page.extend_from_slice(b"],");
        page.extend_from_slice(rest.strip_prefix('{').unwrap_or(&rest).as_bytes());
        Shared::from_json(page.into())
    }
}

record! {
    /// Asks for a task to end.
    pub struct CancelTaskRequest {
        /// The agent behind a shared endpoint.
        tenant: Option<Tenant> = id "tenant",
        /// The task.
        id: TaskId = required "id",
        /// Data of extensions.
        metadata: Option<Object> = optional "metadata",
    }
}

record! {
    /// Asks for the events of a task from now on.
    pub struct SubscribeToTaskRequest {
        /// The agent behind a shared endpoint.
        tenant: Option<Tenant> = id "tenant",
        /// The task.
        id: TaskId = required "id",
    }
}

record! {
    /// Names one webhook of a task.
    pub struct GetTaskPushNotificationConfigRequest {
        /// The agent behind a shared endpoint.
        tenant: Option<Tenant> = id "tenant",
        /// The task.
        task_id: TaskId = required "taskId" | "task_id",
        /// The webhook.
        id: PushConfigId = required "id",
    }
}

record! {
    /// Names one webhook of a task, to be removed.
    pub struct DeleteTaskPushNotificationConfigRequest {
        /// The agent behind a shared endpoint.
        tenant: Option<Tenant> = id "tenant",
        /// The task.
        task_id: TaskId = required "taskId" | "task_id",
        /// The webhook.
        id: PushConfigId = required "id",
    }
}

record! {
    /// Asks for all webhooks of a task.
    pub struct ListTaskPushNotificationConfigsRequest {
        /// The agent behind a shared endpoint.
        tenant: Option<Tenant> = id "tenant",
        /// The task.
        task_id: TaskId = required "taskId" | "task_id",
        /// At most so many; 0: as the server likes.
        page_size: i32 = implicit "pageSize" | "page_size",
        /// Where the last page ended; empty for the first.
        page_token: String = implicit "pageToken" | "page_token",
    }
}

record! {
    /// One page of webhooks.
    #[derive(Default)]
    pub struct ListTaskPushNotificationConfigsResponse {
        /// The webhooks.
        configs: Vec<TaskPushNotificationConfig> = always "configs",
        /// Ask again with this for the next page; empty at the end.
        next_page_token: String = implicit "nextPageToken" | "next_page_token",
    }
}

record! {
    /// Asks for the card with what only known callers may see.
    #[derive(Default)]
    pub struct GetExtendedAgentCardRequest {
        /// The agent behind a shared endpoint.
        tenant: Option<Tenant> = id "tenant",
    }
}

impl Request {
    /// Checks what the types cannot: every reader calls this, whatever the wire.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Self::SendMessage(request) | Self::SendStreamingMessage(request) => {
                check_message(&request.message).map_err(|error| error.inside("message"))?;
                match &request.configuration {
                    Some(wishes) => check_history_length(wishes.history_length)
                        .map_err(|error| error.inside("configuration")),
                    None => Ok(()),
                }
            }
            Self::GetTask(request) => check_history_length(request.history_length),
            Self::ListTasks(request) => {
                check_history_length(request.history_length)?;
                match request.page_size {
                    Some(size) if !(1..=MAX_PAGE_SIZE).contains(&size) => {
                        Err(Error::shape("must be between 1 and 100").inside("pageSize"))
                    }
                    _ => Ok(()),
                }
            }
            Self::CreateTaskPushNotificationConfig(config) if config.task_id.is_none() => {
                Err(Error::missing("taskId"))
            }
            Self::ListTaskPushNotificationConfigs(request) if request.page_size < 0 => {
                Err(Error::shape("must not be negative").inside("pageSize"))
            }
            _ => Ok(()),
        }
    }
}

fn check_message(message: &Message) -> Result<(), Error> {
    if message.parts.is_empty() {
        return Err(Error::shape("needs at least one part").inside("parts"));
    }
    if message.role == Role::Unspecified {
        return Err(Error::shape("must be ROLE_USER or ROLE_AGENT").inside("role"));
    }
    Ok(())
}

fn check_history_length(length: Option<i32>) -> Result<(), Error> {
    match length {
        Some(length) if length < 0 => {
            Err(Error::shape("must not be negative").inside("historyLength"))
        }
        _ => Ok(()),
    }
}

/// The answer to any operation that does not stream.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "tasks, the large ones, are the common ones")]
pub enum Response {
    /// To [`Operation::SendMessage`].
    SendMessage(SendMessageResponse),
    /// To [`Operation::GetTask`] and [`Operation::CancelTask`].
    Task(Task),
    /// To [`Operation::ListTasks`].
    Tasks(ListTasksResponse),
    /// To [`Operation::CreateTaskPushNotificationConfig`] and
    /// [`Operation::GetTaskPushNotificationConfig`].
    PushConfig(TaskPushNotificationConfig),
    /// To [`Operation::ListTaskPushNotificationConfigs`].
    PushConfigs(ListTaskPushNotificationConfigsResponse),
    /// To [`Operation::DeleteTaskPushNotificationConfig`].
    Deleted,
    /// To [`Operation::GetExtendedAgentCard`].
    Card(AgentCard),
}

impl Response {
    /// Reads the answer to an operation in the A2A 1.0 form.
    pub fn read(operation: Operation, reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(match operation {
            Operation::SendMessage => Self::SendMessage(FromJson::read(reader)?),
            Operation::GetTask | Operation::CancelTask => Self::Task(FromJson::read(reader)?),
            Operation::ListTasks => Self::Tasks(FromJson::read(reader)?),
            Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig => Self::PushConfig(FromJson::read(reader)?),
            Operation::ListTaskPushNotificationConfigs => {
                Self::PushConfigs(FromJson::read(reader)?)
            }
            // Peers send `{}`, `null` or something of their own.
            Operation::DeleteTaskPushNotificationConfig => {
                reader.skip()?;
                Self::Deleted
            }
            Operation::GetExtendedAgentCard => Self::Card(FromJson::read(reader)?),
            Operation::SendStreamingMessage | Operation::SubscribeToTask => {
                return Err(Error::shape("the answer to this operation is a stream"));
            }
        })
    }
}

impl ToJson for Response {
    fn write(&self, writer: &mut Writer) {
        match self {
            Self::SendMessage(response) => response.write(writer),
            Self::Task(task) => task.write(writer),
            Self::Tasks(page) => page.write(writer),
            Self::PushConfig(config) => config.write(writer),
            Self::PushConfigs(page) => page.write(writer),
            Self::Deleted => writer.object(|_| {}),
            Self::Card(card) => card.write(writer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{json::from_slice, task::TaskStatus};

    #[test]
    fn a_page_of_texts_is_a_page() {
        let task = |id: &str| {
            let id = TaskId::parse(id).unwrap();
            let moment = Timestamp::from_parts(1, 0).unwrap();
            let status = TaskStatus::new(TaskState::Working, moment);
            Task::new(id, ContextId::parse("c").unwrap(), status)
        };
        for ids in [&[][..], &["a"], &["a", "b"]] {
            let page = ListTasksResponse {
                tasks: ids.iter().map(|id| task(id)).collect(),
                next_page_token: "\"}".to_owned(),
                page_size: 2,
                total_size: 7,
            };
            let texts: Vec<_> = page.tasks.iter().cloned().map(Shared::new).collect();
            let rest = ListTasksResponse { tasks: Vec::new(), ..page.clone() };
            assert_eq!(from_slice(rest.with_tasks(&texts).json()), Ok(page));
        }
    }
}
