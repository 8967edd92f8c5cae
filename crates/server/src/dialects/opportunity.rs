//! The opportunity agents: what they can do, who may ask for it, and with which payload.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use http::{HeaderName, request::Parts};
use jsonschema::{Validator, error::ValidationErrorKind};
use nuncio_protocol::{
    card::AgentCard,
    dialect::opportunity::{self as form, Health, PROTOCOL_VERSION},
    error::{Error, ErrorKind},
    json::{self, Raw},
    message::{Content, Message},
    operation::{Request, SendMessageRequest},
    service::{CallContext, Caller},
    version::Version,
    wire::card_document,
};
use serde_json::Value;
use tokio::time::Instant;

use super::{SKILL_ID, no_such_skill, tell};

const CAPABILITIES: &str = "/a2a/capabilities";
pub(super) const HEALTH: &str = "/a2a/health";

const VERSION: HeaderName = HeaderName::from_static("a2a-protocol-version");
const SOURCE_AGENT: HeaderName = HeaderName::from_static("a2a-source-agent");

/// How long callers wait who do not say how long (O-17).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// How the capability envelope is served. The agent's skills are its capabilities.
#[derive(Clone, Debug)]
#[must_use]
pub struct Opportunity {
    capabilities: BTreeMap<String, Rules>,
    request_timeout: Duration,
}

/// What one capability asks for.
#[derive(Clone, Default)]
struct Rules {
    schema: Option<Arc<Validator>>,
    allowed: Option<BTreeSet<String>>,
}

/// A JSON schema that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the schema of capability `{capability}`: {why}")]
pub struct InvalidSchema {
    capability: String,
    why: String,
}

impl Default for Opportunity {
    fn default() -> Self {
        Self { capabilities: BTreeMap::new(), request_timeout: REQUEST_TIMEOUT }
    }
}

impl Opportunity {
    /// Checks the payloads of a capability against a JSON schema before the agent sees them
    /// (O-14). A schema may refer to itself, but to nothing elsewhere.
    pub fn schema(
        mut self,
        capability: impl Into<String>,
        schema: &str,
    ) -> Result<Self, InvalidSchema> {
        let capability = capability.into();
        let invalid = |why: String| InvalidSchema { capability: capability.clone(), why };
        let parsed: Value =
            serde_json::from_str(schema).map_err(|error| invalid(error.to_string()))?;
        let compiled =
            jsonschema::validator_for(&parsed).map_err(|error| invalid(error.to_string()))?;
        self.capabilities.entry(capability).or_default().schema = Some(Arc::new(compiled));
        Ok(self)
    }

    /// Lets only these agents ask for a capability (O-13). They are known by the credentials
    /// they show, never by what they say about themselves.
    pub fn allow<N: Into<String>>(
        mut self,
        capability: impl Into<String>,
        agents: impl IntoIterator<Item = N>,
    ) -> Self {
        let rules = self.capabilities.entry(capability.into()).or_default();
        rules.allowed = Some(agents.into_iter().map(Into::into).collect());
        self
    }

    /// Lets callers wait so long who do not say how long: 60 seconds unless set (O-17).
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    pub(super) fn check(
        &self,
        skills: &BTreeSet<String>,
        head: &Parts,
        ctx: &mut CallContext,
        request: &mut Request,
    ) -> Result<(), Error> {
        check_version(head)?;
        let Request::SendMessage(send) = &*request else { return Ok(()) };
        let metadata = send.metadata.as_ref();
        let capability = metadata.and_then(|metadata| metadata.get(SKILL_ID)?.as_text());
        let capability = capability.unwrap_or_default();
        if !skills.contains(&capability) {
            return Err(no_such_skill(format!("{capability} is not a supported capability")));
        }
        check_claims(head, ctx, send)?;
        if let Some(rules) = self.capabilities.get(&capability) {
            rules.check_caller(&capability, &ctx.caller)?;
            rules.check_payload(&send.message)?;
        }
        tell(request, SKILL_ID, Raw::string(&capability));
        ctx.deadline.get_or_insert_with(|| (Instant::now() + self.request_timeout).into_std());
        Ok(())
    }
}

impl Rules {
    fn check_caller(&self, capability: &str, caller: &Caller) -> Result<(), Error> {
        let Some(allowed) = &self.allowed else { return Ok(()) };
        match caller {
            Caller::Agent(name) if allowed.contains(&**name) => Ok(()),
            Caller::Anonymous => Err(Error::new(
                ErrorKind::Unauthenticated,
                format!("{capability} is for agents that prove who they are"),
            )),
            _ => Err(Error::new(
                ErrorKind::PermissionDenied,
                format!("you are not among the agents that may ask for {capability}"),
            )),
        }
    }

    fn check_payload(&self, message: &Message) -> Result<(), Error> {
        let Some(schema) = &self.schema else { return Ok(()) };
        for part in &message.parts {
            let Content::Data(data) = &part.content else { continue };
            let payload: Value = data.parse().map_err(|error| {
                Error::new(ErrorKind::InvalidRequest, format!("payload: {error}"))
            })?;
            let mut violations = schema.iter_errors(&payload).map(|error| {
                let mut field =
                    format!("payload{}", error.instance_path().as_str().replace('/', "."));
                let text = match error.kind() {
                    ValidationErrorKind::Required { property: Value::String(name) } => {
                        field = format!("{field}.{name}");
                        "is missing".to_owned()
                    }
                    // Values stay out: they may be large, or secret.
                    _ => error.masked().to_string(),
                };
                (field, text)
            });
            let Some((field, text)) = violations.next() else { continue };
            let error = Error::new(ErrorKind::InvalidRequest, format!("{field}: {text}"))
                .with_violation(field, text);
            return Err(
                violations.fold(error, |error, (field, text)| error.with_violation(field, text))
            );
        }
        Ok(())
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("has_schema", &self.schema.is_some())
            .field("allowed", &self.allowed)
            .finish()
    }
}

/// Checks the version in the header; the one in the body is checked where that is read.
fn check_version(head: &Parts) -> Result<(), Error> {
    let Some(version) = head.headers.get(VERSION) else { return Ok(()) };
    let version = version.to_str().unwrap_or("?").trim();
    if Version::parse(version) == Some(Version::V1_0) {
        return Ok(());
    }
    Err(Error::version_not_supported(version, &[PROTOCOL_VERSION]))
}

/// Refuses agents that call themselves other than their credentials do (C-20). Of whoever
/// shows no credential of an agent nothing is believed anyway.
fn check_claims(head: &Parts, ctx: &CallContext, send: &SendMessageRequest) -> Result<(), Error> {
    let Caller::Agent(name) = &ctx.caller else { return Ok(()) };
    let header =
        head.headers.get(SOURCE_AGENT).map(|value| value.to_str().unwrap_or("?").to_owned());
    let body = send
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.get("sourceAgent")?.as_object()?.get("id")?.as_text());
    match [header, body].into_iter().flatten().find(|claimed| **claimed != **name) {
        None => Ok(()),
        Some(claimed) => Err(Error::new(
            ErrorKind::PermissionDenied,
            format!("source agent `{claimed}` is not who the credential belongs to"),
        )),
    }
}

/// Writes the list of capabilities, and says where it is.
pub(super) fn capabilities(agent: &str, card: &AgentCard) -> (String, String) {
    let form = form::Opportunity { agent_id: agent.to_owned() };
    (CAPABILITIES.to_owned(), card_document(&form, card))
}

/// Writes how the agent is.
pub(super) fn health(agent: &str, is_stopping: bool) -> String {
    json::to_string(&Health {
        status: if is_stopping { "stopping" } else { "ok" }.to_owned(),
        agent_id: agent.to_owned(),
        protocol_version: PROTOCOL_VERSION.to_owned(),
    })
}
