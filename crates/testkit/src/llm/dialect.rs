//! The words of four providers.

use serde_json::{Value, json};

use super::{Ending, KEY, http::Request};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

impl Dialect {
    pub(super) fn of(path: &str) -> Option<Self> {
        match path {
            "/v1/chat/completions" => Some(Self::OpenAi),
            "/v1/messages" => Some(Self::Anthropic),
            "/api/chat" => Some(Self::Ollama),
            _ if path.starts_with("/v1beta/models/")
                && path.ends_with(":streamGenerateContent?alt=sse") =>
            {
                Some(Self::Gemini)
            }
            _ => None,
        }
    }

    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }

    /// Refuses what the real one refuses, with its status.
    pub(super) fn check(self, request: &Request, body: &Value) -> Option<(u16, String)> {
        let bearer = format!("Bearer {KEY}");
        let is_known = match self {
            Self::OpenAi => request.header("authorization") == Some(&bearer),
            Self::Anthropic => request.header("x-api-key") == Some(KEY),
            Self::Gemini => request.header("x-goog-api-key") == Some(KEY),
            Self::Ollama => true,
        };
        if !is_known {
            let half = &KEY[..KEY.len() / 2];
            let shown = format!("Incorrect API key provided: {half}***");
            return Some(match self {
                Self::Gemini => (400, "API key not valid. Please pass a valid API key.".to_owned()),
                _ => (401, shown),
            });
        }
        let missing = |what: &str| Some((400, format!("{what} is required")));
        match self {
            Self::OpenAi | Self::Ollama if !body["messages"].is_array() => missing("messages"),
            Self::OpenAi | Self::Ollama if body["stream"] != true => missing("stream"),
            Self::OpenAi if body["tools"].as_array().is_some_and(Vec::is_empty) => {
                Some((400, "tools: [] is too short".to_owned()))
            }
            Self::Anthropic if request.header("anthropic-version").is_none() => {
                missing("anthropic-version")
            }
            Self::Anthropic if !body["max_tokens"].is_u64() => missing("max_tokens"),
            Self::Anthropic => anthropic_turns(body).err().map(|what| (400, what)),
            Self::Gemini if !body["contents"].is_array() => missing("contents"),
            _ => None,
        }
    }

    pub(super) fn error(self, what: &str) -> String {
        match self {
            Self::OpenAi => json!({"error": {"message": what, "type": "invalid_request_error"}}),
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": what}})
            }
            Self::Gemini => {
                json!({"error": {"code": 400, "message": what, "status": "INVALID_ARGUMENT"}})
            }
            Self::Ollama => json!({"error": what}),
        }
        .to_string()
    }

    /// Says what comes before everything else.
    pub(super) fn begin(self) -> String {
        match self {
            Self::OpenAi => openai(&json!({"role": "assistant", "content": ""}), None),
            Self::Anthropic => {
                let start = json!({"type": "message_start", "message": {"role": "assistant",
                    "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}});
                event(&start) + &event(&json!({"type": "ping"}))
            }
            Self::Gemini | Self::Ollama => String::new(),
        }
    }

    pub(super) fn text(self, text: &str) -> String {
        match self {
            Self::OpenAi => openai(&json!({"content": text}), None),
            Self::Anthropic => {
                let start = json!({"type": "content_block_start", "index": 0,
                    "content_block": {"type": "text", "text": ""}});
                let delta = json!({"type": "content_block_delta", "index": 0,
                    "delta": {"type": "text_delta", "text": text}});
                let stop = json!({"type": "content_block_stop", "index": 0});
                event(&start) + &event(&delta) + &event(&stop)
            }
            Self::Gemini => gemini(&json!([{"text": text}]), None),
            Self::Ollama => {
                line(&json!({"message": {"role": "assistant", "content": text}, "done": false}))
            }
        }
    }

    /// Calls tools, and ends.
    pub(super) fn calls(self, calls: &[(String, String)]) -> String {
        let mut said = String::new();
        for (index, (name, arguments)) in calls.iter().enumerate() {
            let id = format!("call_{index}_{name}");
            let given: Value = serde_json::from_str(arguments).unwrap_or_default();
            // In two pieces, as the real ones do.
            let (first, second) = arguments.split_at(arguments.len() / 2);
            said.push_str(&match self {
                Self::OpenAi => {
                    let begun = json!({"tool_calls": [{"index": index, "id": id,
                        "type": "function", "function": {"name": name, "arguments": first}}]});
                    let rest = json!({"tool_calls": [{"index": index,
                        "function": {"arguments": second}}]});
                    openai(&begun, None) + &openai(&rest, None)
                }
                Self::Anthropic => {
                    let start = json!({"type": "content_block_start", "index": index + 1,
                        "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}});
                    let delta = |piece: &str| {
                        event(&json!({"type": "content_block_delta", "index": index + 1,
                            "delta": {"type": "input_json_delta", "partial_json": piece}}))
                    };
                    let stop = json!({"type": "content_block_stop", "index": index + 1});
                    event(&start) + &delta(first) + &delta(second) + &event(&stop)
                }
                Self::Gemini => gemini(
                    &json!([{"functionCall": {"name": name, "args": given},
                        "thoughtSignature": "c2lnbmVk"}]),
                    None,
                ),
                Self::Ollama => line(&json!({"message": {"role": "assistant", "content": "",
                    "tool_calls": [{"function": {"name": name, "arguments": given}}]},
                    "done": false})),
            });
        }
        said + &match self {
            Self::OpenAi => openai(&json!({}), Some("tool_calls")) + "data: [DONE]\n\n",
            Self::Anthropic => stop("tool_use"),
            Self::Gemini => gemini(&json!([]), Some("STOP")),
            Self::Ollama => line(&json!({"message": {"content": ""}, "done": true,
                "done_reason": "stop"})),
        }
    }

    pub(super) fn end(self, ending: Option<Ending>) -> String {
        match self {
            Self::OpenAi => {
                let refusal = match ending {
                    Some(Ending::Refusal) => {
                        openai(&json!({"refusal": "I would rather not"}), None)
                    }
                    _ => String::new(),
                };
                let reason = match ending {
                    Some(Ending::Length) => "length",
                    Some(Ending::Filter) => "content_filter",
                    _ => "stop",
                };
                refusal + &openai(&json!({}), Some(reason)) + "data: [DONE]\n\n"
            }
            Self::Anthropic => stop(match ending {
                Some(Ending::Length) => "max_tokens",
                Some(Ending::Filter | Ending::Refusal) => "refusal",
                None => "end_turn",
            }),
            Self::Gemini => gemini(
                &json!([]),
                Some(match ending {
                    Some(Ending::Length) => "MAX_TOKENS",
                    Some(Ending::Filter | Ending::Refusal) => "SAFETY",
                    None => "STOP",
                }),
            ),
            Self::Ollama => {
                let reason = if ending == Some(Ending::Length) { "length" } else { "stop" };
                line(&json!({"message": {"role": "assistant", "content": ""}, "done": true,
                    "done_reason": reason, "eval_count": 3}))
            }
        }
    }

    /// Says in the middle of an answer that it has failed.
    pub(super) fn failure(self, what: &str) -> String {
        match self {
            Self::OpenAi => event(&json!({"error": {"message": what, "type": "server_error"}})),
            Self::Anthropic => event(&json!({"type": "error",
                "error": {"type": "overloaded_error", "message": what}})),
            Self::Gemini => event(&json!({"error": {"code": 503, "message": what,
                "status": "UNAVAILABLE"}})),
            Self::Ollama => line(&json!({"error": what})),
        }
    }
}

/// Every use of a tool is answered in the very next message, or the real one refuses.
fn anthropic_turns(body: &Value) -> Result<(), String> {
    let empty = Vec::new();
    let messages = body["messages"].as_array().unwrap_or(&empty);
    for (index, message) in messages.iter().enumerate() {
        let blocks = message["content"].as_array().unwrap_or(&empty);
        if blocks.is_empty() {
            return Err(format!("messages.{index}: content must not be empty"));
        }
        for used in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let next = messages.get(index + 1).and_then(|next| next["content"].as_array());
            let is_answered = next.is_some_and(|blocks| {
                blocks.iter().any(|block| block["tool_use_id"] == used["id"])
            });
            if !is_answered {
                return Err(format!("messages.{index}: a tool_use without tool_result"));
            }
        }
    }
    Ok(())
}

fn event(data: &Value) -> String {
    match data["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}

fn line(data: &Value) -> String {
    format!("{data}\n")
}

fn openai(delta: &Value, finish: Option<&str>) -> String {
    event(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]}))
}

fn gemini(parts: &Value, finish: Option<&str>) -> String {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    event(&json!({"candidates": [candidate], "modelVersion": "m"}))
}

fn stop(reason: &str) -> String {
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 5}});
    event(&delta) + &event(&json!({"type": "message_stop"}))
}
