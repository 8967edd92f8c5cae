//! Webhooks for tasks.

use crate::{
    ids::{PushConfigId, TaskId, Tenant},
    json::record,
};

record! {
    /// Where the events of a task are to be sent.
    pub struct TaskPushNotificationConfig {
        /// The agent behind a shared endpoint.
        tenant: Option<Tenant> = id "tenant",
        /// Chosen by the client, or else by the server.
        id: Option<PushConfigId> = id "id",
        /// The task; unset inside a message's configuration.
        task_id: Option<TaskId> = id "taskId" | "task_id",
        /// The webhook. Untrusted: check it before calling.
        url: String = required "url",
        /// A secret the receiver checks; empty if there is none.
        token: String = implicit "token",
        /// How to authenticate at the webhook.
        authentication: Option<AuthenticationInfo> = optional "authentication",
    }
}

impl TaskPushNotificationConfig {
    /// Sends to a URL, without authentication.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            tenant: None,
            id: None,
            task_id: None,
            url: url.into(),
            token: String::new(),
            authentication: None,
        }
    }
}

record! {
    /// What goes into the `Authorization` header.
    pub struct AuthenticationInfo {
        /// The HTTP authentication scheme, such as `Bearer`.
        scheme: String = required "scheme",
        /// What stands behind the scheme; empty if nothing does.
        credentials: String = implicit "credentials",
    }
}
