//! What is shown of requests and places, without the secrets in them.

use nuncio_net::CheckedUrl;
use nuncio_protocol::{
    json::{self, ToJson as _},
    operation::Request,
};

/// Returns a URL without its query, which may hold secrets.
pub(crate) fn shown_url(url: &CheckedUrl) -> String {
    url.as_str().split('?').next().unwrap_or_default().to_owned()
}

/// Writes a request for people to see, without the secrets of webhooks.
pub(super) fn shown_request(request: &Request) -> String {
    let mut request = request.clone();
    let hide = |text: &mut String| {
        if !text.is_empty() {
            "…".clone_into(text);
        }
    };
    let config = match &mut request {
        Request::CreateTaskPushNotificationConfig(config) => Some(config),
        Request::SendMessage(send) | Request::SendStreamingMessage(send) => send
            .configuration
            .as_mut()
            .and_then(|wishes| wishes.task_push_notification_config.as_mut()),
        _ => None,
    };
    if let Some(config) = config {
        hide(&mut config.token);
        if let Some(authentication) = &mut config.authentication {
            hide(&mut authentication.credentials);
        }
    }
    json::write_with(|writer| request.write(writer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debugged_request_has_no_secrets() {
        let mut config =
            nuncio_protocol::push::TaskPushNotificationConfig::new("https://a.example");
        "swordfish".clone_into(&mut config.token);
        let shown = shown_request(&Request::CreateTaskPushNotificationConfig(config));
        assert!(shown.contains("a.example") && !shown.contains("swordfish"), "{shown}");
    }
}
