//! One document of an answer, changed.

use http::{HeaderMap, Method, Uri};
use nuncio_protocol::{
    dialect::{Incoming, Offered, WireForm, choose},
    http::HttpCall,
    json::{Object, Raw},
    jsonrpc::{Envelope, Id},
    operation::Operation,
    state::TaskState,
    wire::{Echo, StreamEnd},
};

use super::fault::{ErrorShape, Plan};

/// What a request asks for, as far as can be seen.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    form: WireForm,
    pub(super) operation: Operation,
    id: Option<Id>,
}

impl Asked {
    /// Finds out what is asked; nothing, if it makes no sense.
    pub(super) fn find(
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: &[u8],
        offered: Offered,
    ) -> Option<Self> {
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let incoming = Incoming {
            method: method.as_str(),
            path: uri.path(),
            version: header("a2a-version"),
            capability_version: header("a2a-protocol-version"),
            body,
        };
        // A version that is not served does not hide what is asked for.
        let form = choose(&incoming, offered).unwrap_or_else(|refused| refused.form);
        let (operation, id) = if let Some(rules) = form.json_rpc("") {
            let envelope = Envelope::read(std::str::from_utf8(body).ok()?).ok()?;
            (rules.operation(&envelope.method)?, envelope.id)
        } else if let Some(rules) = form.http() {
            let call = HttpCall {
                method: method.as_str(),
                path: uri.path(),
                query: uri.query().unwrap_or_default(),
                body,
            };
            (rules.read_call(&call).ok()?.operation(), None)
        } else {
            (grpc_operation(uri.path())?, None)
        };
        Some(Self { form, operation, id })
    }

    /// Writes an answer of 1.0 as 0.3 would.
    fn in_v03(&self, text: &str) -> Option<String> {
        let operation = self.operation;
        if self.form == WireForm::V1Http {
            let response = WireForm::V1Http.http()?.read_reply(operation, 200, text.as_bytes());
            return Some(
                WireForm::V03Http.http()?.write_reply(operation, Ok(&response.ok()?)).body,
            );
        }
        let response = WireForm::V1.json_rpc("")?.read_reply(operation, text).ok()?;
        Some(WireForm::V03.json_rpc("")?.write_reply(&self.echo()?, Ok(&response)))
    }

    /// Writes an event of 1.0 as 0.3 would.
    fn event_in_v03(&self, text: &str) -> Option<String> {
        if self.form == WireForm::V1Http {
            let event = WireForm::V1Http.http()?.read_frame(text).ok()?;
            return Some(WireForm::V03Http.http()?.write_frame(Ok(&event), StreamEnd::Open).data);
        }
        let event = WireForm::V1.json_rpc("")?.read_frame(text).ok()?;
        let rules = WireForm::V03.json_rpc("")?;
        Some(rules.write_frame(&self.echo()?, Ok(&event), StreamEnd::Open).data)
    }

    fn echo(&self) -> Option<Echo> {
        (self.form == WireForm::V1)
            .then(|| Echo { id: self.id.clone(), ..Echo::new(Id::null(), self.operation) })
    }
}

/// Where a document stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Answer,
    Event,
}

/// Changes a document as a plan wants it. What is no JSON object stays as it is.
pub(super) fn change(text: &str, kind: Kind, asked: Option<&Asked>, plan: &Plan) -> String {
    let mut text = text.to_owned();
    if plan.first(|does| does.shapes).is_some() {
        let older = asked.and_then(|asked| match kind {
            Kind::Answer => asked.in_v03(&text),
            Kind::Event => asked.event_in_v03(&text),
        });
        // An error looks the same in both.
        text = older.unwrap_or(text);
    }
    let Ok(mut document) = Object::parse_text(&text) else { return text };
    if let Some(shape) = plan.first(|does| does.error_shape)
        && let Some(error) = document.get("error").and_then(|error| error.as_object())
    {
        let error = match shape {
            ErrorShape::String => error.get("message").unwrap_or_else(|| Raw::string("error")),
            ErrorShape::NoCode => error.without("code").into_raw(),
        };
        document = document.with("error", error);
    }
    if plan.any(|does| does.wrong_id) && document.get("jsonrpc").is_some() {
        document = document.with("id", Raw::string("of-somebody-else"));
    }
    document.as_str().to_owned()
}

/// Tells whether a document is an error.
pub(super) fn is_error(text: &str) -> bool {
    Object::parse_text(text).is_ok_and(|document| document.get("error").is_some())
}

/// Tells whether an event is the last of its task, in any form.
pub(super) fn ends_task(text: &str) -> bool {
    let Ok(document) = Object::parse_text(text) else { return false };
    let result = document.get("result").and_then(|result| result.as_object());
    let event = result.unwrap_or(document);
    if event.get("final").is_some_and(|last| last.as_str() == "true") {
        return true;
    }
    let state = ["statusUpdate", "task"].into_iter().find_map(|member| {
        let status = event.get(member)?.as_object()?.get("status")?;
        TaskState::from_name(&status.as_object()?.get("state")?.as_text()?)
    });
    state.is_some_and(TaskState::is_terminal)
}

fn grpc_operation(path: &str) -> Option<Operation> {
    let name = path.rsplit('/').next()?;
    Operation::from_name(match name {
        // As 0.3 calls them.
        "TaskSubscription" => "SubscribeToTask",
        "ListTaskPushNotificationConfig" => "ListTaskPushNotificationConfigs",
        "GetAgentCard" => "GetExtendedAgentCard",
        other => other,
    })
}
