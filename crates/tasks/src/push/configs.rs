//! What callers do with webhooks: register, look at and remove them.

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::{PushConfigId, TaskId},
    operation::{
        DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    },
    push::{AuthenticationInfo, TaskPushNotificationConfig},
    version::Version,
};

use super::{Push, courier::ERRAND, secrets::Secrets};
use crate::{
    engine::{Call, Engine, Tasks, invalid},
    scope::{Place, Scope},
    store::{self, NewWebhook, TaskRef, Webhook, WebhookRef},
};

/// Where the members of a webhook stand that comes with a message.
const INLINE: &str = "configuration.taskPushNotificationConfig.";

const TAG_BYTES: usize = 16;

impl Tasks {
    /// Registers a webhook, in place of one with the same identifier. The answer is what was
    /// sent, with its identifier.
    ///
    /// It gets the events that come from now on.
    pub async fn create_push_config(
        &self,
        call: &Call,
        mut config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let engine = self.engine();
        let push = engine.push()?;
        let Some(task) = config.task_id.clone() else {
            return Err(invalid("taskId", "is missing"));
        };
        let head = engine.head(&call.place, &task).await?;
        let webhook = push.webhook(&task, &config, call.version, "").await?;
        let id = webhook.id.clone();
        match engine.store.put_webhook(head.reference, webhook, engine.settings.webhooks).await {
            Ok(_) => {}
            Err(store::Error::Gone) => return Err(Error::task_not_found(&task)),
            Err(error) => return Err(error.into()),
        }
        push.watch(&task);
        // What its predecessor has left unsent is due.
        push.wake();
        config.id = Some(id);
        Ok(config)
    }

    /// Returns a webhook, without its token and credentials.
    pub async fn get_push_config(
        &self,
        call: &Call,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let engine = self.engine();
        let push = engine.push()?;
        let GetTaskPushNotificationConfigRequest { tenant, task_id, id } = request;
        let head = engine.head(&call.place, &task_id).await?;
        let webhooks = engine.store.webhooks(head.reference).await?;
        let named = webhooks.iter().find(|webhook| webhook.id == id);
        // Callers of 0.3 may name the task alone.
        let first = || webhooks.first().filter(|_| id.as_str() == task_id.as_str());
        let webhook = named.or_else(first).ok_or_else(|| {
            Error::task_not_found(&task_id)
                .with_message(format!("task {task_id} has no webhook {id}"))
        })?;
        Ok(TaskPushNotificationConfig { tenant, ..push.shown(webhook) })
    }

    /// Returns the webhooks of a task, the oldest first, without their tokens and credentials.
    pub async fn list_push_configs(
        &self,
        call: &Call,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        let engine = self.engine();
        let push = engine.push()?;
        let head = engine.head(&call.place, &request.task_id).await?;
        let after = match request.page_token.as_str() {
            "" => None,
            token => Some(read_token(token, head.reference, &call.place).ok_or_else(|| {
                invalid("pageToken", "was not made for this list; ask without it")
            })?),
        };
        let mut webhooks = engine.store.webhooks(head.reference).await?;
        webhooks.sort_by_key(|webhook| webhook.reference);
        webhooks.retain(|webhook| after.is_none_or(|after| webhook.reference > after));
        let size = usize::try_from(request.page_size).unwrap_or(0);
        let mut next_page_token = String::new();
        if size > 0 && webhooks.len() > size {
            webhooks.truncate(size);
            if let Some(last) = webhooks.last() {
                next_page_token = write_token(last.reference, head.reference, &call.place);
            }
        }
        let shown = |webhook: &Webhook| TaskPushNotificationConfig {
            tenant: request.tenant.clone(),
            ..push.shown(webhook)
        };
        Ok(ListTaskPushNotificationConfigsResponse {
            configs: webhooks.iter().map(shown).collect(),
            next_page_token,
        })
    }

    /// Removes a webhook with all that is still to be sent to it, if it is there.
    pub async fn delete_push_config(
        &self,
        call: &Call,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), Error> {
        let engine = self.engine();
        engine.push()?;
        let head = engine.head(&call.place, &request.task_id).await?;
        Ok(engine.store.delete_webhook(head.reference, &request.id).await?)
    }
}

impl Engine {
    pub(super) fn push(&self) -> Result<&Push, Error> {
        let text = "nobody sends webhooks here; subscribe to the task, or get it";
        let missing = || Error::new(ErrorKind::PushNotificationNotSupported, text);
        self.push.as_ref().ok_or_else(missing)
    }

    /// Makes a webhook of one that comes with a message. Which task it is for the message says,
    /// whatever the webhook does.
    pub(crate) async fn webhook(
        &self,
        call: &Call,
        task: &TaskId,
        config: &TaskPushNotificationConfig,
    ) -> Result<NewWebhook, Error> {
        let push = self.push()?;
        let webhook = push.webhook(task, config, call.version, INLINE).await?;
        // Of a task that begins with this message, there are none yet.
        if let Some(head) = self.store.find(&Scope::from(&call.place), task).await? {
            let there = self.store.webhooks(head.reference).await?;
            let is_new = there.iter().all(|other| other.id != webhook.id);
            let limit = self.settings.webhooks;
            if is_new && there.len() >= usize::try_from(limit).unwrap_or(usize::MAX) {
                return Err(store::Error::TooMany { what: "webhooks", limit }.into());
            }
        }
        push.watch(task);
        Ok(webhook)
    }
}

impl Push {
    /// Checks a webhook, and seals its secrets. `at` stands before the members that errors name.
    async fn webhook(
        &self,
        task: &TaskId,
        config: &TaskPushNotificationConfig,
        version: Version,
        at: &str,
    ) -> Result<NewWebhook, Error> {
        let secrets = Secrets::of(config)
            .map_err(|unfit| invalid(&format!("{at}{}", unfit.member), &unfit.what))?;
        match self.client.guard().check_resolved(&config.url, ERRAND).await {
            // Whoever cannot be found now may be there when the webhook is called, and is
            // checked then; registering asks nobody whether they can be reached.
            Ok(_) | Err(nuncio_net::Error::Resolve { .. } | nuncio_net::Error::Timeout { .. }) => {}
            Err(error) => return Err(invalid(&format!("{at}url"), &why(&error))),
        }
        let id = match &config.id {
            Some(id) => id.clone(),
            // A task had one webhook before they had identifiers, and setting it again replaced
            // it; the SDKs of 0.3 name such a webhook like its task.
            None if version.is_legacy() => {
                PushConfigId::parse(task.as_str()).unwrap_or_else(|_| PushConfigId::generate())
            }
            None => PushConfigId::generate(),
        };
        let secrets = secrets
            .seal(&self.key, task, &id)
            .map_err(|_| Error::new(ErrorKind::Internal, "the webhook could not be sealed"))?;
        Ok(NewWebhook { id, url: config.url.clone(), secrets, version })
    }

    /// Returns what a caller may see of a webhook: its secrets go one way.
    fn shown(&self, webhook: &Webhook) -> TaskPushNotificationConfig {
        let mut config = TaskPushNotificationConfig::new(webhook.url.clone());
        config.id = Some(webhook.id.clone());
        config.task_id = Some(webhook.task_id.clone());
        config.authentication = Secrets::open(&self.key, webhook)
            .ok()
            .and_then(|secrets| secrets.authorization)
            .map(|found| AuthenticationInfo { scheme: found.scheme, credentials: String::new() });
        config
    }
}

/// Says why a URL is refused, and what to do about it.
fn why(error: &nuncio_net::Error) -> String {
    match error {
        // It says what to do itself.
        nuncio_net::Error::Refused(refused) => refused.to_string(),
        error => format!("{error}; {}", error.code().fix()),
    }
}

/// Writes down where a page ended.
fn write_token(last: WebhookRef, task: TaskRef, place: &Place) -> String {
    let mut bytes = tag(task, place).to_vec();
    bytes.extend(last.0.to_be_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads where a page ended. `None` if the token was made for another list.
fn read_token(token: &str, task: TaskRef, place: &Place) -> Option<WebhookRef> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).ok()?;
    let (found, last) = bytes.split_at_checked(TAG_BYTES)?;
    let last = i64::from_be_bytes(last.try_into().ok()?);
    (found == tag(task, place)).then_some(WebhookRef(last))
}

fn tag(task: TaskRef, place: &Place) -> [u8; TAG_BYTES] {
    let hash = digest(&SHA256, format!("{task:?} {place:?}").as_bytes());
    let mut tag = [0; TAG_BYTES];
    for (to, from) in tag.iter_mut().zip(hash.as_ref()) {
        *to = *from;
    }
    tag
}
