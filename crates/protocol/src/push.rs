//! Webhooks for tasks.

#[cfg(feature = "signing")]
mod signature;

#[cfg(feature = "signing")]
pub use signature::{is_signed, sign};

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

/// The names of the headers that come with an event.
pub mod header {
    /// The same for every attempt at one event of one webhook, and for nothing else.
    pub const ID: &str = "webhook-id";
    /// When this attempt was made, in seconds since 1970.
    pub const TIMESTAMP: &str = "webhook-timestamp";
    /// What `sign` (feature `signing`) makes of identifier, time and body, if there is a token.
    pub const SIGNATURE: &str = "webhook-signature";
    /// The version of A2A that the body is written in.
    pub const VERSION: &str = "a2a-version";
    /// The token, under both names that receivers look for.
    pub const TOKENS: [&str; 2] = ["x-a2a-notification-token", "a2a-notification-token"];
}
