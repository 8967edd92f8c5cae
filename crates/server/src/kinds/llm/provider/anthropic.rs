//! Anthropic's messages.

use nuncio_protocol::json::{self, Members, Raw, Reader, Writer};

use super::{
    Spoilt,
    piece::{Piece, Untold, tell},
    trouble::{self, Trouble},
    wire::{Events, Written, freedom, members, read, text},
};
use crate::kinds::llm::{Delta, End, Prompt, Said, ToolCall, ToolSpec};

pub(super) const URL: &str = "https://api.anthropic.com";
pub(super) const PATH: &str = "/v1/messages";

/// The version of the API that is spoken here.
pub(super) const VERSION: &str = "2023-06-01";

/// A limit must be given.
const MAX_TOKENS: u32 = 8_192;

/// What the provider takes beside text.
const TAKES: &str = "text, images as PNG, JPEG, GIF or WebP, and PDF files";

pub(super) fn write(prompt: &Prompt, model: &str) -> Written {
    let messages = prompt.said.iter().filter_map(|said| write_said(said).transpose());
    let messages = messages.collect::<Result<Vec<Raw>, Untold>>()?;
    Ok(json::write_with(|writer| {
        writer.object(|object| {
            object.member("model", model);
            let limit = prompt.max_tokens.unwrap_or(MAX_TOKENS);
            object.with("max_tokens", |writer| writer.int(limit.into()));
            object.text("system", &prompt.system);
            object.member("messages", &messages);
            object.member("stream", &true);
            if !prompt.tools.is_empty() {
                object.with("tools", |writer| writer.array(&prompt.tools, write_tool));
            }
            freedom(object, prompt);
        });
    }))
}

fn write_tool(writer: &mut Writer, tool: &ToolSpec) {
    writer.object(|object| {
        object.member("name", &tool.name);
        object.member("description", &tool.description);
        object.member("input_schema", &tool.schema);
    });
}

/// Writes what was said; nothing, if there is nothing in it, which the provider does not take.
fn write_said(said: &Said) -> Result<Option<Raw>, Untold> {
    let (role, blocks) = match said {
        Said::User(parts) => ("user", tell(parts, block)?),
        Said::Model { text, calls } => {
            let words = (!text.trim().is_empty()).then(|| text_block(text));
            ("assistant", words.into_iter().chain(calls.iter().map(call_block)).collect())
        }
        Said::Results(results) => {
            let blocks = results.iter().map(|result| {
                raw(|object| {
                    object.member("type", "tool_result");
                    object.member("tool_use_id", &result.id);
                    object.member("content", &result.content);
                    if result.is_error {
                        object.member("is_error", &true);
                    }
                })
            });
            ("user", blocks.collect())
        }
    };
    Ok((!blocks.is_empty()).then(|| {
        raw(|object| {
            object.member("role", role);
            object.member("content", &blocks);
        })
    }))
}

fn raw(fill: impl FnOnce(&mut Members<'_>)) -> Raw {
    let text = json::write_with(|writer| writer.object(fill));
    Raw::parse_text(&text).expect("it was just written")
}

fn text_block(text: &str) -> Raw {
    raw(|object| {
        object.member("type", "text");
        object.member("text", text);
    })
}

fn call_block(call: &ToolCall) -> Raw {
    // What the model wrote may be no object, and was told so; the provider wants one here.
    let input = call.object().unwrap_or_default();
    raw(|object| {
        object.member("type", "tool_use");
        object.member("id", &call.id);
        object.member("name", &call.name);
        object.member("input", &input);
    })
}

fn block(piece: Piece) -> Result<Raw, String> {
    let file = match piece {
        Piece::Text(text) => return Ok(text_block(&text)),
        Piece::File(file) => file,
    };
    let kind = match file.media_type.as_str() {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => "image",
        "application/pdf" => "document",
        _ => return Err(file.untold(TAKES)),
    };
    Ok(raw(|object| {
        object.member("type", kind);
        object.with("source", |writer| {
            writer.object(|object| {
                if let Some(data) = file.base64() {
                    object.member("type", "base64");
                    object.member("media_type", &file.media_type);
                    object.member("data", &data);
                } else {
                    object.member("type", "url");
                    object.member("url", &file.url());
                }
            });
        });
    }))
}

/// Reads `message_start`, `content_block_…`, `message_delta` and `message_stop`.
#[derive(Debug, Default)]
pub(super) struct Anthropic {
    /// The call that is being written.
    call: Option<ToolCall>,
    stop_reason: Option<String>,
    has_ended: bool,
}

/// All that an event can say.
#[derive(Debug, Default)]
struct Event {
    kind: String,
    block: Block,
    text: Option<String>,
    input: Option<String>,
    stop_reason: Option<String>,
    trouble: Option<Trouble>,
}

#[derive(Debug, Default)]
struct Block {
    kind: String,
    id: String,
    name: String,
    text: String,
}

impl Event {
    fn read(data: &str) -> Result<Self, Spoilt> {
        let mut event = Self::default();
        read(data, |reader, key| {
            match key {
                "type" => event.kind = text(reader)?.unwrap_or_default(),
                "content_block" => event.block = Block::read(reader)?,
                "delta" => members(reader, |reader, key| {
                    match key {
                        "text" => event.text = text(reader)?,
                        "partial_json" => event.input = text(reader)?,
                        "stop_reason" => event.stop_reason = text(reader)?,
                        _ => reader.skip()?,
                    }
                    Ok(())
                })?,
                "error" => event.trouble = trouble::read(reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(event)
    }
}

impl Block {
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let mut block = Self::default();
        members(reader, |reader, key| {
            match key {
                "type" => block.kind = text(reader)?.unwrap_or_default(),
                "id" => block.id = text(reader)?.unwrap_or_default(),
                "name" => block.name = text(reader)?.unwrap_or_default(),
                "text" => block.text = text(reader)?.unwrap_or_default(),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(block)
    }
}

impl Events for Anthropic {
    fn event(&mut self, data: &str, said: &mut Vec<Delta>) -> Result<(), Spoilt> {
        let event = Event::read(data)?;
        if let Some(trouble) = event.trouble {
            return Err(trouble.spoilt());
        }
        match event.kind.as_str() {
            "content_block_start" if event.block.kind == "tool_use" => {
                let Block { id, name, .. } = event.block;
                self.call = Some(ToolCall { id, name, input: String::new(), signature: None });
            }
            "content_block_start" if !event.block.text.is_empty() => {
                said.push(Delta::Text(event.block.text));
            }
            "content_block_delta" => {
                said.extend(event.text.filter(|text| !text.is_empty()).map(Delta::Text));
                if let (Some(call), Some(more)) = (&mut self.call, event.input) {
                    call.input.push_str(&more);
                }
            }
            "content_block_stop" => said.extend(self.call.take().map(Delta::Call)),
            "message_delta" if event.stop_reason.is_some() => self.stop_reason = event.stop_reason,
            "message_stop" => {
                self.has_ended = true;
                said.push(Delta::End(match self.stop_reason.as_deref() {
                    Some("max_tokens" | "model_context_window_exceeded") => End::Length,
                    Some("refusal") => End::Refused(String::new()),
                    _ => End::Done,
                }));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Vec<Delta>) -> Result<(), Spoilt> {
        if self.has_ended { Ok(()) } else { Err(Spoilt::Cut) }
    }
}
