//! How a model is asked.

use std::time::Duration;

use nuncio_protocol::json::Raw;

use crate::kinds::tool::Offer;

/// How a model is asked. Write what differs, and `..Settings::default()`.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Who the model is to be.
    pub system: Option<String>,
    /// What it may call.
    pub tools: Vec<Offer>,
    /// How often it may answer; unless set, once, or 10 times with tools.
    pub max_turns: Option<u32>,
    /// Whether the answer is text or JSON.
    pub format: Format,
    /// The JSON schema that the answer has to follow; makes it JSON.
    pub schema: Option<Raw>,
    /// Which piece of the answer counts; all of it, unless set.
    pub extract: Option<Extract>,
    /// How free it is, from 0 to 2.
    pub temperature: Option<f64>,
    /// How much of the likeliest it picks from, from 0 to 1.
    pub top_p: Option<f64>,
    /// How long the answer may be.
    pub max_tokens: Option<u32>,
    /// How much it may cost.
    pub limits: Limits,
}

/// Whether an answer is text or JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text, which becomes a text part.
    #[default]
    Text,
    /// JSON, which becomes a data part. Anything else is a failure.
    Json,
}

/// Which piece of an answer counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extract {
    /// A member of the first JSON object in it.
    Json {
        /// Its name.
        key: String,
    },
    /// What stands between `<tag>` and `</tag>`.
    Tagged {
        /// The tag.
        tag: String,
    },
}

/// How much an answer may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most text that the model may write in one turn, calls of tools included.
    pub answer_bytes: usize,
    /// How long everything may take, tools included.
    pub time: Duration,
    /// How long the model may be silent.
    pub silence: Duration,
    /// How many tools may be called over all turns.
    pub tool_calls: u32,
    /// How much of what a tool gives is told to the model.
    pub result_bytes: usize,
    /// How much of earlier tasks of the conversation is told to the model.
    pub memory_bytes: usize,
}

impl Default for Limits {
    /// 4 MiB of text, 10 minutes, 2 minutes of silence, 64 calls with 256 KiB each, and 256 KiB
    /// of memory.
    fn default() -> Self {
        Self {
            answer_bytes: 4 << 20,
            time: Duration::from_secs(600),
            silence: Duration::from_secs(120),
            tool_calls: 64,
            result_bytes: 256 << 10,
            memory_bytes: 256 << 10,
        }
    }
}

impl Settings {
    /// Returns whether the answer is to be JSON.
    pub fn format(&self) -> Format {
        if self.schema.is_some() { Format::Json } else { self.format }
    }

    /// Returns how often the model may answer.
    pub fn turns(&self) -> u32 {
        let usual = if self.tools.is_empty() { 1 } else { 10 };
        self.max_turns.unwrap_or(usual).max(1)
    }

    /// Tells whether pieces of the answer are pieces of the result.
    pub(super) fn streams(&self) -> bool {
        self.format() == Format::Text && self.extract.is_none()
    }
}
