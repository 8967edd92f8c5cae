//! Ollama's chat: a line of JSON for every piece.

use nuncio_protocol::json::{self, Members, Raw, Reader, Writer};

use super::{
    Spoilt,
    piece::{Piece, Untold, tell},
    trouble,
    wire::{Events, Written, count, freedom, items, members, read, text},
};
use crate::kinds::llm::{Delta, End, Prompt, Said, ToolCall, ToolSpec};

pub(super) const URL: &str = "http://localhost:11434";
pub(super) const PATH: &str = "/api/chat";

/// What the provider takes beside text.
const TAKES: &str = "text, and the bytes of images";

pub(super) fn write(prompt: &Prompt, model: &str) -> Written {
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
            } else if prompt.json {
                // With a form to fill in, models call no tools any more.
                let any = Raw::string("json");
                object.member("format", prompt.schema.as_ref().unwrap_or(&any));
            }
            object.with("options", |writer| {
                writer.object(|object| {
                    freedom(object, prompt);
                    object.optional("num_predict", count(prompt.max_tokens).as_ref());
                });
            });
        });
    }))
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

fn write_said(said: &Said, messages: &mut Vec<Raw>) -> Result<(), Untold> {
    match said {
        Said::User(parts) => {
            let (mut words, mut images) = (Vec::new(), Vec::new());
            tell(parts, |piece| match piece {
                Piece::Text(text) => {
                    words.push(text);
                    Ok(())
                }
                Piece::File(file) => {
                    let data = file.base64().filter(|_| file.is_image());
                    images.push(data.ok_or_else(|| file.untold(TAKES))?);
                    Ok(())
                }
            })?;
            messages.push(message("user", |object| {
                object.member("content", &words.join("\n"));
                object.list("images", &images);
            }));
        }
        Said::Model { text, calls } => messages.push(message("assistant", |object| {
            object.member("content", text);
            if !calls.is_empty() {
                object.with("tool_calls", |writer| writer.array(calls, write_call));
            }
        })),
        Said::Results(results) => messages.extend(results.iter().map(|result| {
            message("tool", |object| {
                object.member("tool_name", &result.name);
                object.member("content", &result.content);
            })
        })),
    }
    Ok(())
}

fn write_call(writer: &mut Writer, call: &ToolCall) {
    let input = call.object().unwrap_or_default();
    writer.object(|object| {
        object.with("function", |writer| {
            writer.object(|object| {
                object.member("name", &call.name);
                object.member("arguments", &input);
            });
        });
    });
}

fn message(role: &str, fill: impl FnOnce(&mut Members<'_>)) -> Raw {
    let text = json::write_with(|writer| {
        writer.object(|object| {
            object.member("role", role);
            fill(object);
        });
    });
    Raw::parse_text(&text).expect("it was just written")
}

/// Reads a line for every piece, the last of which is `done`.
#[derive(Debug, Default)]
pub(super) struct Ollama {
    calls: usize,
    is_done: bool,
}

impl Ollama {
    fn message(
        &mut self,
        reader: &mut Reader<'_>,
        said: &mut Vec<Delta>,
    ) -> Result<(), json::Error> {
        members(reader, |reader, key| {
            match key {
                "content" => {
                    said.extend(text(reader)?.filter(|text| !text.is_empty()).map(Delta::Text));
                }
                "tool_calls" => items(reader, |reader| {
                    self.calls += 1;
                    let id = format!("call_{}", self.calls);
                    let (mut name, mut input) = (String::new(), String::from("{}"));
                    members(reader, |reader, key| match key {
                        "function" => members(reader, |reader, key| {
                            match key {
                                "name" => name = text(reader)?.unwrap_or_default(),
                                "arguments" => reader.raw()?.as_str().clone_into(&mut input),
                                _ => reader.skip()?,
                            }
                            Ok(())
                        }),
                        _ => reader.skip(),
                    })?;
                    said.push(Delta::Call(ToolCall { id, name, input, signature: None }));
                    Ok(())
                })?,
                _ => reader.skip()?,
            }
            Ok(())
        })
    }
}

impl Events for Ollama {
    fn event(&mut self, data: &str, said: &mut Vec<Delta>) -> Result<(), Spoilt> {
        let (mut failure, mut is_done, mut reason) = (None, false, None);
        read(data, |reader, key| {
            match key {
                "message" => self.message(reader, said)?,
                "done" => is_done = reader.bool()?,
                "done_reason" => reason = text(reader)?,
                "error" => failure = trouble::read(reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        if let Some(trouble) = failure {
            return Err(trouble.spoilt());
        }
        if is_done && !std::mem::replace(&mut self.is_done, true) {
            let is_cut = reason.as_deref() == Some("length");
            said.push(Delta::End(if is_cut { End::Length } else { End::Done }));
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Vec<Delta>) -> Result<(), Spoilt> {
        if self.is_done { Ok(()) } else { Err(Spoilt::Cut) }
    }
}
