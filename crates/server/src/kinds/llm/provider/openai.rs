//! OpenAI's chat completions.

use std::collections::BTreeMap;

use nuncio_protocol::json::{self, Members, Raw, Reader, Writer};

use super::{
    Spoilt,
    piece::{File, Piece, tell},
    trouble,
    wire::{Events, Written, count, freedom, items, members, read, text},
};
use crate::kinds::llm::{Delta, End, Prompt, Said, ToolCall, ToolSpec};

pub(super) const URL: &str = "https://api.openai.com/v1";
pub(super) const PATH: &str = "/chat/completions";

/// What the provider takes beside text.
const TAKES: &str = "text, images, PDF files, and audio as WAV or MP3";

/// Writes a request. OpenAI itself has renamed `max_tokens`, which everybody else still has.
pub(super) fn write(prompt: &Prompt, model: &str, is_official: bool) -> Written {
    let mut messages = Vec::new();
    if !prompt.system.is_empty() {
        messages.push(message("system", |object| object.member("content", &prompt.system)));
    }
    for said in &prompt.said {
        write_said(said, &mut messages)?;
    }
    Ok(json::write_with(|writer| {
        writer.object(|object| {
            object.member("model", model);
            object.member("messages", &messages);
            object.member("stream", &true);
            if !prompt.tools.is_empty() {
                object.with("tools", |writer| writer.array(&prompt.tools, write_tool));
            }
            freedom(object, prompt);
            let limit = if is_official { "max_completion_tokens" } else { "max_tokens" };
            object.optional(limit, count(prompt.max_tokens).as_ref());
            if prompt.json {
                object.with("response_format", |writer| write_format(writer, prompt));
            }
        });
    }))
}

fn write_format(writer: &mut Writer, prompt: &Prompt) {
    writer.object(|object| match &prompt.schema {
        None => object.member("type", "json_object"),
        Some(schema) => {
            object.member("type", "json_schema");
            object.with("json_schema", |writer| {
                writer.object(|object| {
                    object.member("name", "answer");
                    object.member("schema", schema);
                });
            });
        }
    });
}

fn write_tool(writer: &mut Writer, tool: &ToolSpec) {
    writer.object(|object| {
        object.member("type", "function");
        object.with("function", |writer| {
            writer.object(|object| {
                object.member("name", &tool.name);
                object.member("description", &tool.description);
                object.member("parameters", &tool.schema);
            });
        });
    });
}

fn write_said(said: &Said, messages: &mut Vec<Raw>) -> Result<(), super::piece::Untold> {
    match said {
        Said::User(parts) => {
            let content = tell(parts, content)?;
            messages.push(message("user", |object| object.member("content", &content)));
        }
        Said::Model { text, calls } => messages.push(message("assistant", |object| {
            object.member("content", text);
            if !calls.is_empty() {
                object.with("tool_calls", |writer| writer.array(calls, write_call));
            }
        })),
        Said::Results(results) => messages.extend(results.iter().map(|result| {
            message("tool", |object| {
                object.member("tool_call_id", &result.id);
                object.member("content", &result.content);
            })
        })),
    }
    Ok(())
}

fn write_call(writer: &mut Writer, call: &ToolCall) {
    writer.object(|object| {
        object.member("id", &call.id);
        object.member("type", "function");
        object.with("function", |writer| {
            writer.object(|object| {
                object.member("name", &call.name);
                object.member("arguments", &call.input);
            });
        });
    });
}

fn message(role: &str, fill: impl FnOnce(&mut Members<'_>)) -> Raw {
    raw(|object| {
        object.member("role", role);
        fill(object);
    })
}

fn raw(fill: impl FnOnce(&mut Members<'_>)) -> Raw {
    let text = json::write_with(|writer| writer.object(fill));
    Raw::parse_text(&text).expect("it was just written")
}

fn content(piece: Piece) -> Result<Raw, String> {
    let file = match piece {
        Piece::Text(text) => {
            return Ok(raw(|object| {
                object.member("type", "text");
                object.member("text", &text);
            }));
        }
        Piece::File(file) => file,
    };
    let audio = match file.media_type.as_str() {
        "audio/wav" | "audio/x-wav" | "audio/wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    };
    if file.is_image() {
        return Ok(raw(|object| {
            object.member("type", "image_url");
            object.with("image_url", |writer| {
                writer.object(|object| object.member("url", &file.url()));
            });
        }));
    }
    match (audio, file.base64()) {
        (Some(format), Some(data)) => Ok(raw(|object| {
            object.member("type", "input_audio");
            object.with("input_audio", |writer| {
                writer.object(|object| {
                    object.member("data", &data);
                    object.member("format", format);
                });
            });
        })),
        (None, Some(_)) if file.media_type == "application/pdf" => Ok(document(&file)),
        _ => Err(file.untold(TAKES)),
    }
}

fn document(file: &File) -> Raw {
    let name = if file.name.is_empty() { "document.pdf" } else { &file.name };
    raw(|object| {
        object.member("type", "file");
        object.with("file", |writer| {
            writer.object(|object| {
                object.member("filename", name);
                object.member("file_data", &file.url());
            });
        });
    })
}

/// Reads `chat.completion.chunk` objects.
#[derive(Debug, Default)]
pub(super) struct OpenAi {
    calls: BTreeMap<usize, ToolCall>,
    refusal: String,
    finish: Option<String>,
    has_ended: bool,
}

/// A piece of a call, as it arrives.
#[derive(Debug, Default)]
struct Piecemeal {
    index: Option<usize>,
    id: Option<String>,
    name: Option<String>,
    arguments: String,
}

impl OpenAi {
    fn choice(
        &mut self,
        reader: &mut Reader<'_>,
        said: &mut Vec<Delta>,
    ) -> Result<(), json::Error> {
        members(reader, |reader, key| match key {
            "delta" => members(reader, |reader, key| match key {
                "content" => {
                    said.extend(text(reader)?.filter(|text| !text.is_empty()).map(Delta::Text));
                    Ok(())
                }
                "refusal" => {
                    self.refusal.push_str(&text(reader)?.unwrap_or_default());
                    Ok(())
                }
                "tool_calls" => items(reader, |reader| {
                    let piece = piecemeal(reader)?;
                    self.add(piece);
                    Ok(())
                }),
                _ => reader.skip(),
            }),
            "finish_reason" => {
                if let Some(reason) = text(reader)? {
                    self.finish = Some(reason);
                }
                Ok(())
            }
            _ => reader.skip(),
        })
    }

    fn add(&mut self, piece: Piecemeal) {
        let last = self.calls.last_key_value().map(|(index, _)| *index);
        // Some servers give no index: then an identifier begins a new call.
        let index = piece.index.unwrap_or_else(|| match (last, &piece.id) {
            (Some(last), None) => last,
            (Some(last), Some(_)) => last + 1,
            (None, _) => 0,
        });
        let call = self.calls.entry(index).or_insert_with(|| ToolCall {
            id: format!("call_{index}"),
            name: String::new(),
            input: String::new(),
            signature: None,
        });
        if let Some(id) = piece.id.filter(|id| !id.is_empty()) {
            call.id = id;
        }
        call.name.push_str(&piece.name.unwrap_or_default());
        call.input.push_str(&piece.arguments);
    }

    fn end(&mut self, said: &mut Vec<Delta>) -> Result<(), Spoilt> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        let finish = self.finish.take().ok_or(Spoilt::Cut)?;
        said.extend(std::mem::take(&mut self.calls).into_values().map(Delta::Call));
        said.push(Delta::End(match finish.as_str() {
            _ if !self.refusal.is_empty() => End::Refused(std::mem::take(&mut self.refusal)),
            "length" => End::Length,
            "content_filter" => End::Filtered("content_filter".to_owned()),
            _ => End::Done,
        }));
        Ok(())
    }
}

fn piecemeal(reader: &mut Reader<'_>) -> Result<Piecemeal, json::Error> {
    let mut piece = Piecemeal::default();
    members(reader, |reader, key| {
        match key {
            "index" => piece.index = usize::try_from(reader.int32()?).ok(),
            "id" => piece.id = text(reader)?,
            "function" => members(reader, |reader, key| {
                match key {
                    "name" => piece.name = text(reader)?,
                    "arguments" => piece.arguments = text(reader)?.unwrap_or_default(),
                    _ => reader.skip()?,
                }
                Ok(())
            })?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(piece)
}

impl Events for OpenAi {
    fn event(&mut self, data: &str, said: &mut Vec<Delta>) -> Result<(), Spoilt> {
        if data.trim() == "[DONE]" {
            return self.end(said);
        }
        let mut failure = None;
        read(data, |reader, key| match key {
            "choices" => items(reader, |reader| self.choice(reader, said)),
            "error" => {
                failure = trouble::read(reader)?;
                Ok(())
            }
            _ => reader.skip(),
        })?;
        match failure {
            Some(trouble) => Err(trouble.spoilt()),
            None => Ok(()),
        }
    }

    fn finish(&mut self, said: &mut Vec<Delta>) -> Result<(), Spoilt> {
        // Some servers forget the last line.
        self.end(said)
    }
}
