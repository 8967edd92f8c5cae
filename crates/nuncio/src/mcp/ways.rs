//! How the tools reach agents: one trait, spoken to a hub from outside or within one.

use async_trait::async_trait;
use nuncio_hub::http::mcp::Refused;
use nuncio_protocol::{
    error::Error as A2aError,
    ids::TaskId,
    operation::Request,
    service::{Answered, Events},
};

use crate::failure::Failure;

/// Somebody's way to agents.
#[async_trait]
pub(crate) trait Ways: Send + Sync {
    /// Finds agents that they may call.
    async fn agents(&self, wanted: &Wanted) -> Result<Found, Told>;

    /// Makes a call that is answered once.
    async fn call(&self, agent: &Target, request: Request) -> Result<Answered, Told>;

    /// Makes a call that is followed to its end, also where the agent itself cannot stream.
    async fn follow(&self, agent: &Target, request: Request) -> Result<Events, Told>;

    /// Returns the name of the agent that works on a task of the hub.
    async fn owner(&self, task: &TaskId) -> Result<String, Told>;

    /// Returns the URL below which the hub has its agents.
    fn hub_url(&self) -> Option<&str>;
}

/// Whom a tool is to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// By the hub: an agent's name, or `~` and what somebody shall be able to do.
    Named(String),
    /// By the way out: nobody whom the hub knows.
    Url(String),
}

impl Target {
    /// Reads what a model says. Files, which people may name, are no agents to a model.
    pub(crate) fn parse(text: &str, hub_url: Option<&str>) -> Result<Self, Told> {
        let text = text.trim();
        let own = hub_url.and_then(|hub| text.strip_prefix(hub)?.strip_prefix("/agents/"));
        let text = own.map_or(text, |name| name.trim_end_matches('/'));
        let name = text.strip_prefix('~').unwrap_or(text);
        let fits =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
        if text.starts_with("https://") || text.starts_with("http://") {
            return Ok(Self::Url(text.to_owned()));
        }
        if name.is_empty() || name.len() > 128 || !name.bytes().all(fits) {
            return Err(Told::invalid(
                "agent",
                "must be a name of `list_agents`, `~` and a skill, or an https URL",
            ));
        }
        Ok(Self::Named(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Named(text) | Self::Url(text) => text,
        }
    }

    /// Tells whether it means whoever can do something.
    pub(crate) fn is_capability(&self) -> bool {
        matches!(self, Self::Named(name) if name.starts_with('~'))
    }
}

/// Which agents are looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) search: Option<String>,
    pub(crate) capability: Option<String>,
    /// Behind this name.
    pub(crate) after: Option<String>,
    pub(crate) limit: usize,
}

/// A page of agents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) agents: Vec<Listed>,
    /// What to ask with as `after` for the next page.
    pub(crate) next: Option<String>,
}

/// An agent, as it says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) status: String,
    pub(crate) skills: Vec<Skill>,
}

/// What an agent can do.
#[derive(Clone, Debug)]
pub(crate) struct Skill {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) tags: Vec<String>,
}

/// Why it could not be done, in words for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// A name for programs.
    pub(crate) code: String,
    pub(crate) text: String,
}

impl Told {
    pub(crate) fn new(code: &str, text: impl Into<String>) -> Self {
        Self { code: code.to_owned(), text: text.into() }
    }

    /// Something was said that cannot be meant.
    pub(crate) fn invalid(field: &str, text: impl std::fmt::Display) -> Self {
        Self::new("INVALID", format!("`{field}` {text}"))
    }

    /// Adds what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl std::fmt::Display) -> Self {
        self.text = format!("{}; {hint}", self.text);
        self
    }
}

impl From<Refused> for Told {
    fn from(refused: Refused) -> Self {
        Self { code: refused.code, text: refused.detail }
    }
}

impl From<A2aError> for Told {
    fn from(error: A2aError) -> Self {
        Self::new(error.reason(), error.message())
    }
}

impl From<Failure> for Told {
    fn from(failure: Failure) -> Self {
        let told = Self::new(failure.code(), failure.message());
        match failure.remedy() {
            Some(hint) => told.hint(hint),
            None => told,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&Target>) {
        let parsed = Target::parse(text, Some("http://127.0.0.1:7420")).ok();
        assert_eq!(parsed.as_ref(), expected, "{text}");
    }

    #[test]
    fn agents_are_names_skills_and_urls_and_never_files() {
        let named = |name: &str| Target::Named(name.to_owned());
        check("writer", Some(&named("writer")));
        check(" ~translate ", Some(&named("~translate")));
        check("http://127.0.0.1:7420/agents/writer/", Some(&named("writer")));
        let url = "https://agent.example/a";
        check(url, Some(&Target::Url(url.to_owned())));
        for text in ["", "~", "/etc/passwd", "./card.json", "file:///etc/passwd", "a b", "~a/b"] {
            check(text, None);
        }
    }
}
