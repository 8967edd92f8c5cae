//! Google's `streamGenerateContent`.

use nuncio_protocol::json::{self, Members, Object, Raw, Reader, Writer};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    Spoilt,
    piece::{Piece, Untold, tell},
    trouble,
    wire::{Events, Written, count, items, members, number, read, text},
};
use crate::kinds::llm::{Delta, End, Prompt, Said, ToolCall, ToolSpec};

pub(super) const URL: &str = "https://generativelanguage.googleapis.com";

/// What the provider takes beside text.
const TAKES: &str = "text, and the bytes of images, audio, video and PDF files";

/// Returns the path of a model.
pub(super) fn path(model: &str) -> String {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let model = utf8_percent_encode(model, NON_ALPHANUMERIC).to_string();
    // These may stand in a path as they are, and do in every name of a model.
    let model = model.replace("%2D", "-").replace("%2E", ".").replace("%5F", "_");
    format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
}

pub(super) fn write(prompt: &Prompt) -> Written {
    let contents = prompt.said.iter().filter_map(|said| write_said(said).transpose());
    let contents = contents.collect::<Result<Vec<Raw>, Untold>>()?;
    Ok(json::write_with(|writer| {
        writer.object(|object| {
            if !prompt.system.is_empty() {
                object.with("systemInstruction", |writer| {
                    writer
                        .object(|object| object.member("parts", &[text_part(&prompt.system)][..]));
                });
            }
            object.member("contents", &contents);
            if !prompt.tools.is_empty() {
                object.with("tools", |writer| {
                    writer.array([()], |writer, ()| {
                        writer.object(|object| {
                            object.with("functionDeclarations", |writer| {
                                writer.array(&prompt.tools, write_tool);
                            });
                        });
                    });
                });
            }
            object.with("generationConfig", |writer| write_config(writer, prompt));
        });
    }))
}

fn write_config(writer: &mut Writer, prompt: &Prompt) {
    writer.object(|object| {
        object.optional("temperature", number(prompt.temperature).as_ref());
        object.optional("topP", number(prompt.top_p).as_ref());
        object.optional("maxOutputTokens", count(prompt.max_tokens).as_ref());
        // The provider refuses the two together.
        if prompt.json && prompt.tools.is_empty() {
            object.member("responseMimeType", "application/json");
            object.optional("responseJsonSchema", prompt.schema.as_ref());
        }
    });
}

fn write_tool(writer: &mut Writer, tool: &ToolSpec) {
    writer.object(|object| {
        object.member("name", &tool.name);
        object.member("description", &tool.description);
        object.member("parametersJsonSchema", &tool.schema);
    });
}

/// Writes what was said; nothing, if there is nothing in it.
fn write_said(said: &Said) -> Result<Option<Raw>, Untold> {
    let (role, parts) = match said {
        Said::User(parts) => ("user", tell(parts, part)?),
        Said::Model { text, calls } => {
            let words = (!text.is_empty()).then(|| text_part(text));
            ("model", words.into_iter().chain(calls.iter().map(call_part)).collect())
        }
        Said::Results(results) => {
            let parts = results.iter().map(|result| {
                let content = Object::parse_text(&result.content).map(Object::into_raw);
                let content = content.unwrap_or_else(|_| Raw::string(&result.content));
                let key = if result.is_error { "error" } else { "output" };
                let response = Object::from_members([(key, content)]);
                raw(|object| {
                    object.with("functionResponse", |writer| {
                        writer.object(|object| {
                            object.member("name", &result.name);
                            object.member("response", &response);
                        });
                    });
                })
            });
            ("user", parts.collect())
        }
    };
    Ok((!parts.is_empty()).then(|| {
        raw(|object| {
            object.member("role", role);
            object.member("parts", &parts);
        })
    }))
}

fn raw(fill: impl FnOnce(&mut Members<'_>)) -> Raw {
    let text = json::write_with(|writer| writer.object(fill));
    Raw::parse_text(&text).expect("it was just written")
}

fn text_part(text: &str) -> Raw {
    raw(|object| object.member("text", text))
}

fn call_part(call: &ToolCall) -> Raw {
    let input = call.object().unwrap_or_default();
    raw(|object| {
        object.with("functionCall", |writer| {
            writer.object(|object| {
                object.member("name", &call.name);
                object.member("args", &input);
            });
        });
        object.optional("thoughtSignature", call.signature.as_ref());
    })
}

fn part(piece: Piece) -> Result<Raw, String> {
    let file = match piece {
        Piece::Text(text) => return Ok(text_part(&text)),
        Piece::File(file) => file,
    };
    let is_known = file.media_type == "application/pdf"
        || ["image/", "audio/", "video/"].iter().any(|kind| file.media_type.starts_with(kind));
    match file.base64().filter(|_| is_known) {
        Some(data) => Ok(raw(|object| {
            object.with("inlineData", |writer| {
                writer.object(|object| {
                    object.member("mimeType", &file.media_type);
                    object.member("data", &data);
                });
            });
        })),
        None => Err(file.untold(TAKES)),
    }
}

/// Reads `GenerateContentResponse` objects.
#[derive(Debug, Default)]
pub(super) struct Gemini {
    calls: usize,
    finish: Option<String>,
    blocked: Option<String>,
}

impl Gemini {
    fn candidate(
        &mut self,
        reader: &mut Reader<'_>,
        said: &mut Vec<Delta>,
    ) -> Result<(), json::Error> {
        members(reader, |reader, key| {
            match key {
                "content" => members(reader, |reader, key| match key {
                    "parts" => items(reader, |reader| self.part(reader, said)),
                    _ => reader.skip(),
                })?,
                "finishReason" => {
                    if let Some(reason) = text(reader)? {
                        self.finish = Some(reason);
                    }
                }
                _ => reader.skip()?,
            }
            Ok(())
        })
    }

    fn part(&mut self, reader: &mut Reader<'_>, said: &mut Vec<Delta>) -> Result<(), json::Error> {
        let (mut words, mut is_thought, mut signature) = (None, false, None);
        let mut call: Option<(String, String)> = None;
        members(reader, |reader, key| {
            match key {
                "text" => words = text(reader)?,
                "thought" => is_thought = reader.bool()?,
                "thoughtSignature" => signature = text(reader)?,
                "functionCall" => {
                    let (mut name, mut args) = (String::new(), String::from("{}"));
                    members(reader, |reader, key| {
                        match key {
                            "name" => name = text(reader)?.unwrap_or_default(),
                            "args" => reader.raw()?.as_str().clone_into(&mut args),
                            _ => reader.skip()?,
                        }
                        Ok(())
                    })?;
                    call = Some((name, args));
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        said.extend(words.filter(|text| !text.is_empty() && !is_thought).map(Delta::Text));
        if let Some((name, input)) = call {
            self.calls += 1;
            let id = format!("call_{}", self.calls);
            said.push(Delta::Call(ToolCall { id, name, input, signature }));
        }
        Ok(())
    }
}

impl Events for Gemini {
    fn event(&mut self, data: &str, said: &mut Vec<Delta>) -> Result<(), Spoilt> {
        let mut failure = None;
        read(data, |reader, key| {
            match key {
                "candidates" => items(reader, |reader| self.candidate(reader, said))?,
                "promptFeedback" => members(reader, |reader, key| {
                    match key {
                        "blockReason" => self.blocked = text(reader)?,
                        _ => reader.skip()?,
                    }
                    Ok(())
                })?,
                "error" => failure = trouble::read(reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        match failure {
            Some(trouble) => Err(trouble.spoilt()),
            None => Ok(()),
        }
    }

    fn finish(&mut self, said: &mut Vec<Delta>) -> Result<(), Spoilt> {
        let end = match (self.blocked.take(), self.finish.take()) {
            (Some(reason), _) => End::Filtered(reason),
            (None, None) => return Err(Spoilt::Cut),
            (None, Some(reason)) => match reason.as_str() {
                "STOP" => End::Done,
                "MAX_TOKENS" => End::Length,
                "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "OTHER" => {
                    return Err(Spoilt::BrokenOff { told: reason, may_pass: true });
                }
                _ => End::Filtered(reason),
            },
        };
        said.push(Delta::End(end));
        Ok(())
    }
}
