//! A language model as an agent.
//!
//! An [`Llm`] tells a [`Model`] what was said, streams what it answers into one artifact, and
//! lets it call [tools](crate::kinds::tool) on the way. A [`Provider`] is where models are: one
//! of four kinds of services, behind any URL.
//!
//! ```no_run
//! use nuncio_net::{Client, Guard, Policy};
//! use nuncio_server::{
//!     Server,
//!     kinds::llm::{Llm, Provider, ProviderKind, Settings},
//! };
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(Guard::new(Policy::default()));
//! let key = std::env::var("OPENAI_API_KEY")?;
//! let provider = Provider::new(ProviderKind::OpenAi, client).key(key);
//! let system = Some("You are brief.".to_owned());
//! let llm = Llm::new(provider.model("gpt-5")?, Settings { system, ..Settings::default() });
//! Server::new("helper", llm).serve("127.0.0.1:7420").await?;
//! # Ok(())
//! # }
//! ```

mod agent;
mod answer;
mod error;
mod form;
mod kit;
mod memory;
mod model;
mod provider;
mod settings;

use std::sync::Arc;

use nuncio_protocol::message::Part;

use super::tool::Call;

pub use self::{
    answer::Listener,
    error::Error,
    memory::{Memory, StoredTasks},
    model::{Delta, Deltas, End, Model, Prompt, Said, ToolCall, ToolResult, ToolSpec},
    provider::{Provider, ProviderKind, Reading, Spoilt},
    settings::{Extract, Format, Limits, Settings},
};

/// A language model, with what it is told and may do. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Llm {
    model: Arc<dyn Model>,
    settings: Arc<Settings>,
    memory: Option<Arc<dyn Memory>>,
}

impl Llm {
    /// Asks a model, as the settings say. It remembers nothing of earlier tasks.
    pub fn new(model: Arc<dyn Model>, settings: Settings) -> Self {
        Self { model, settings: Arc::new(settings), memory: None }
    }

    /// Tells the model what was said in the same conversation before.
    #[must_use]
    pub fn memory(mut self, memory: Arc<dyn Memory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Asks the model and lets it call its tools, until it has answered.
    ///
    /// What it says on the way goes to the listener, if the answer is text that counts as a
    /// whole; the answer is returned in any case. Dropping the future ends everything.
    pub async fn answer(
        &self,
        said: Vec<Said>,
        call: &Call,
        listener: &dyn Listener,
    ) -> Result<Vec<Part>, Error> {
        answer::answer(self, said, call, listener).await
    }
}
