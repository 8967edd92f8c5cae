//! The tools that a model has at hand.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use nuncio_protocol::{
    json::{self, Raw},
    message::{Content, Part},
};

use super::{Error, ToolCall, ToolResult, ToolSpec};
use crate::kinds::{
    tool::{Call, Offer, Tool},
    words::shorten,
};

/// How many tools a model may be offered: more only confuse it, and cost with every turn.
const MAX_TOOLS: usize = 256;

/// How long a name may be with every provider.
const MAX_NAME: usize = 64;

/// How many calls of one turn run at a time.
const AT_A_TIME: usize = 8;

/// The tools that a model has at hand, by the names that it is told.
#[derive(Debug)]
pub(super) struct Kit {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    /// How much of what a tool gives is told to the model.
    most: usize,
}

impl Kit {
    /// Looks into every box.
    pub(super) async fn open(offers: &[Offer], most: usize) -> Result<Self, Error> {
        let mut tools = BTreeMap::new();
        for offer in offers {
            let found = match offer {
                Offer::One(tool) => vec![Arc::clone(tool)],
                Offer::All(toolbox) => {
                    toolbox.tools().await.map_err(|what| Error::Tools { what })?
                }
            };
            for tool in found {
                let name = free_name(&tool.about().name, &tools);
                tools.insert(name, tool);
            }
        }
        if tools.len() > MAX_TOOLS {
            let what = format!("{} are offered, at most {MAX_TOOLS} can be", tools.len());
            return Err(Error::Settings { what: format!("tools: {what}; name single ones") });
        }
        Ok(Self { tools, most })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Says what there is.
    pub(super) fn specs(&self) -> Vec<ToolSpec> {
        let spec = |(name, tool): (&String, &Arc<dyn Tool>)| ToolSpec {
            name: name.clone(),
            description: tool.about().description.clone(),
            schema: tool.about().input_schema.clone(),
        };
        self.tools.iter().map(spec).collect()
    }

    /// Calls tools, and returns what they give in the order of the calls.
    pub(super) async fn call_all(
        &self,
        calls: &[ToolCall],
        call: &Call,
    ) -> Result<Vec<ToolResult>, Error> {
        let results: Vec<_> = calls.iter().map(|wanted| self.call(wanted, call)).collect();
        stream::iter(results).buffered(AT_A_TIME).try_collect().await
    }

    async fn call(&self, wanted: &ToolCall, call: &Call) -> Result<ToolResult, Error> {
        let outcome = match self.tools.get(&wanted.name) {
            None => {
                let known: Vec<&str> = self.tools.keys().map(String::as_str).collect();
                let known = known.join(", ");
                Err((None, format!("there is no tool `{}`; there are: {known}", wanted.name)))
            }
            Some(tool) => {
                let source = Some(tool.about().source.as_str());
                match wanted.object() {
                    Err(error) => {
                        Err((source, format!("what it was given is no JSON object: {error}")))
                    }
                    Ok(input) => {
                        call.working(format!("calls {}", wanted.name)).await?;
                        let given = tool.call(input, call).await;
                        given.map(|parts| (source, parts)).map_err(|what| (source, what))
                    }
                }
            }
        };
        let (content, is_error) = match outcome {
            Ok((source, parts)) => (given(source, &parts, self.most), false),
            Err((source, what)) => (wrong(source, &shorten(&what, self.most)), true),
        };
        Ok(ToolResult { id: wanted.id.clone(), name: wanted.name.clone(), content, is_error })
    }
}

/// Returns a name that every provider takes, and that no other tool has.
fn free_name(name: &str, taken: &BTreeMap<String, Arc<dyn Tool>>) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let plain = name.chars().map(|letter| if is_plain(letter) { letter } else { '_' });
    let mut plain: String = plain.take(MAX_NAME).collect();
    // Some providers want a letter first.
    if !plain.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
        plain.insert(0, '_');
        plain.truncate(MAX_NAME);
    }
    let mut free = plain.clone();
    let mut number = 2;
    while taken.contains_key(&free) {
        let ending = format!("_{number}");
        let kept = plain.len().min(MAX_NAME - ending.len());
        free = format!("{}{ending}", &plain[..kept]);
        number += 1;
    }
    free
}

/// Writes what a tool gave, and where it comes from.
fn given(source: Option<&str>, parts: &[Part], most: usize) -> String {
    let mut left = most;
    let mut omitted = 0;
    let mut content = Vec::new();
    for part in parts {
        let (shown, missing) = show(part, left);
        left = left.saturating_sub(shown.as_str().len());
        omitted += missing;
        content.push(shown);
    }
    json::write_with(|writer| {
        writer.object(|object| {
            object.text("source", source.unwrap_or_default());
            match content.as_slice() {
                [one] => object.member("content", one),
                all => object.member("content", all),
            }
            if omitted > 0 {
                let words = format!("{omitted} bytes were left out: there is a limit of {most}");
                object.member("note", &words);
            }
        });
    })
}

fn wrong(source: Option<&str>, what: &str) -> String {
    json::write_with(|writer| {
        writer.object(|object| {
            object.text("source", source.unwrap_or_default());
            object.member("error", what);
        });
    })
}

/// Shows a part to the model within so many bytes, and says how many are left out.
fn show(part: &Part, most: usize) -> (Raw, usize) {
    match &part.content {
        Content::Text(text) => cut(text, most),
        Content::Data(data) if data.as_str().len() <= most => (data.clone(), 0),
        Content::Data(data) => cut(data.as_str(), most),
        Content::Raw(bytes) => (file(part, &format!("{} bytes", bytes.len())), 0),
        Content::Url(url) => (file(part, url), 0),
    }
}

fn cut(text: &str, most: usize) -> (Raw, usize) {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (Raw::string(&text[..end]), text.len() - end)
}

/// Describes a file: its bytes mean nothing to a model.
fn file(part: &Part, what: &str) -> Raw {
    let kind = if part.media_type.is_empty() { "unknown type" } else { &part.media_type };
    let name = if part.filename.is_empty() { "without name" } else { &part.filename };
    Raw::string(&format!("a file {name} ({kind}): {what}"))
}
