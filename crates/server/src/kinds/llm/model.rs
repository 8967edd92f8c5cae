//! What every provider's models have in common.

use std::{fmt, pin::Pin};

use futures_core::Stream;
use nuncio_protocol::{
    json::{Object, Raw},
    message::Part,
};

use super::Error;
use crate::kinds::tool::Boxed;

/// A language model.
pub trait Model: Send + Sync + fmt::Debug {
    /// Returns its name: `openai/gpt-5`.
    fn name(&self) -> &str;

    /// Asks it, and returns what it says as it says it. The last item of a stream that has gone
    /// well is a [`Delta::End`]; an error ends it.
    fn ask<'a>(&'a self, prompt: &'a Prompt) -> Boxed<'a, Result<Deltas, Error>>;
}

/// What a model says, as it says it.
pub type Deltas = Pin<Box<dyn Stream<Item = Result<Delta, Error>> + Send>>;

/// All that a model is told.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// Who it is to be.
    pub system: String,
    /// What was said, oldest first.
    pub said: Vec<Said>,
    /// What it may call.
    pub tools: Vec<ToolSpec>,
    /// Whether it is to answer with JSON.
    pub json: bool,
    /// The schema that its answer has to follow.
    pub schema: Option<Raw>,
    /// How free it is.
    pub temperature: Option<f64>,
    /// How much of the likeliest it picks from.
    pub top_p: Option<f64>,
    /// How long the answer may be.
    pub max_tokens: Option<u32>,
    /// How much it may cost.
    pub limits: super::Limits,
}

/// Something said in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// By whoever asks.
    User(Vec<Part>),
    /// By the model.
    Model {
        /// Its words.
        text: String,
        /// What it wants to call.
        calls: Vec<ToolCall>,
    },
    /// What the tools gave, in the order in which they were called.
    Results(Vec<ToolResult>),
}

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it takes.
    pub schema: Raw,
}

/// A tool that the model calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Tells the calls of a conversation apart.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// What it is given, as the model wrote it: an object, if all is well.
    pub input: String,
    /// What the provider wants to see again with the call, whatever it means.
    pub signature: Option<String>,
}

impl ToolCall {
    /// Reads what the tool is given. Nothing at all is an empty object.
    pub fn object(&self) -> Result<Object, nuncio_protocol::json::Error> {
        if self.input.trim().is_empty() {
            return Ok(Object::default());
        }
        Object::parse_text(&self.input)
    }
}

/// What a tool gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// To which call.
    pub id: String,
    /// Of which tool.
    pub name: String,
    /// JSON: where it comes from, and what it is.
    pub content: String,
    /// Whether it went wrong.
    pub is_error: bool,
}

/// A piece of what a model says.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// It calls a tool.
    Call(ToolCall),
    /// It has said everything.
    End(End),
}

/// Why a model has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It has said all, or wants its tools called.
    Done,
    /// It may not say more: its own limit, or `max_tokens`.
    Length,
    /// It will not answer, and maybe says why.
    Refused(String),
    /// The provider holds the answer back, for this reason.
    Filtered(String),
}
