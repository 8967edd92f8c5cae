//! Where models are.
//!
//! Each kind of provider is a file: how it is asked, and how it answers. `wire` is what they
//! share, `reading` takes a stream apart, `remote` does the talking.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod piece;
mod reading;
mod remote;
mod trouble;
mod wire;

use std::sync::Arc;

use nuncio_net::{Client, Errand, Purpose, Refused, Secret};

pub use self::reading::{Reading, Spoilt};
use self::remote::Remote;
use super::Model;

/// A service that has models. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Provider {
    name: String,
    kind: ProviderKind,
    client: Client,
    url: String,
    key: Option<Secret>,
}

/// What a service speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProviderKind {
    /// OpenAI's chat completions, which many others speak too.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's chat.
    Ollama,
}

impl ProviderKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Returns where it is, unless somebody says otherwise.
    pub const fn url(self) -> &'static str {
        match self {
            Self::OpenAi => openai::URL,
            Self::Anthropic => anthropic::URL,
            Self::Gemini => gemini::URL,
            Self::Ollama => ollama::URL,
        }
    }
}

impl Provider {
    /// Reaches a provider at its usual place, over a client.
    pub fn new(kind: ProviderKind, client: Client) -> Self {
        let (name, url) = (kind.as_str().to_owned(), kind.url().to_owned());
        Self { name, kind, client, url, key: None }
    }

    /// Gives it another name than that of its kind, for errors and cards.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Reaches it at another place: the URL below which its paths are.
    #[must_use]
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = url.into();
        self
    }

    /// Shows a key.
    #[must_use]
    pub fn key(mut self, key: impl Into<Secret>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Returns one of its models. Fails if the guard lets nothing go to the provider's URL, as
    /// one that an administrator has named.
    pub fn model(&self, model: &str) -> Result<Arc<dyn Model>, Refused> {
        let errand = Errand::administrator(Purpose::Agent);
        let base = self.client.guard().check_url(&self.url, errand)?;
        let path = match self.kind {
            ProviderKind::OpenAi => openai::PATH.to_owned(),
            ProviderKind::Anthropic => anthropic::PATH.to_owned(),
            ProviderKind::Gemini => gemini::path(model),
            ProviderKind::Ollama => ollama::PATH.to_owned(),
        };
        Ok(Arc::new(Remote {
            name: format!("{}/{model}", self.name),
            model: model.to_owned(),
            kind: self.kind,
            client: self.client.clone(),
            url: base.below(&path)?,
            key: self.key.clone(),
        }))
    }
}
