//! What a language model may call.
//!
//! A [`Tool`] takes an object and gives parts, or says what is wrong. What it gives comes from
//! elsewhere: the model is told where from, and that it is no instruction.

mod delegate;
mod request;

use std::{fmt, pin::Pin, sync::Arc};

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::{Object, Raw},
    message::Part,
    service::TraceContext,
};
use nuncio_tasks::{
    output::{self, Output},
    scope::Place,
};

pub use self::{delegate::Delegate, request::HttpTool};

/// A future that can be put behind a `dyn` trait.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that a model may call.
pub trait Tool: Send + Sync + fmt::Debug {
    /// Says what it is.
    fn about(&self) -> &About;

    /// Calls it. Dropping the future ends the call.
    ///
    /// The error is told to the model, so it says what to do differently, and nothing secret.
    fn call<'a>(&'a self, input: Object, call: &'a Call) -> Boxed<'a, Result<Vec<Part>, String>>;
}

/// What a model is told of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// Its name. Providers take letters, digits, `_` and `-`; others are replaced for them.
    pub name: String,
    /// What it does, and when to call it.
    pub description: String,
    /// The JSON schema of the object that it takes.
    pub input_schema: Raw,
    /// Where its answers come from: `mcp://files/read_file`, `agent://writer`, a URL.
    pub source: String,
}

/// The same, of a tool that knows its own schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// What it does, and when to call it.
    pub description: String,
    /// Where its answers come from.
    pub source: String,
}

impl Named {
    /// Adds the schema, which is one of ours.
    fn about(self, schema: &'static str) -> About {
        let Self { name, description, source } = self;
        let input_schema = Raw::parse_text(schema).expect("it is JSON");
        About { name, description, input_schema, source }
    }
}

/// On whose behalf something is called.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// Whose task it is, if there is one.
    pub place: Option<Place>,
    /// The task.
    pub task: Option<TaskId>,
    /// Its conversation.
    pub context: Option<ContextId>,
    /// Its place in a distributed trace.
    pub trace: Option<TraceContext>,
    /// Who hears how it goes on.
    pub progress: Option<Arc<dyn Progress>>,
}

impl Call {
    /// Says what is being done, if anybody listens.
    pub async fn working(&self, words: impl Into<String>) -> Result<(), output::Error> {
        match &self.progress {
            Some(progress) => progress.working(words.into()).await,
            None => Ok(()),
        }
    }
}

/// Hears how work goes on.
pub trait Progress: Send + Sync + fmt::Debug {
    /// Takes a word about it. An error means that nobody wants the work any more.
    fn working(&self, words: String) -> Boxed<'_, Result<(), output::Error>>;
}

impl Progress for Output {
    fn working(&self, words: String) -> Boxed<'_, Result<(), output::Error>> {
        Box::pin(Self::working(self, words))
    }
}

/// Tools that are found out only when they are needed, such as all of an MCP server.
pub trait Toolbox: Send + Sync + fmt::Debug {
    /// Returns the tools. The error is told to whoever wanted the answer.
    fn tools(&self) -> Boxed<'_, Result<Vec<Arc<dyn Tool>>, String>>;
}

/// One tool, or many.
#[derive(Clone, Debug)]
pub enum Offer {
    /// This one.
    One(Arc<dyn Tool>),
    /// All that are in there.
    All(Arc<dyn Toolbox>),
}

impl<T: Tool + 'static> From<T> for Offer {
    fn from(tool: T) -> Self {
        Self::One(Arc::new(tool))
    }
}
