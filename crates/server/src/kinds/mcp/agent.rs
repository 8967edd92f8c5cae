//! A tool as an agent.

use std::sync::Arc;

use nuncio_protocol::{
    ids::ArtifactId,
    json::{self, Kind, Object, Raw},
    message::{Content, Message},
    task::Artifact,
};
use nuncio_tasks::{
    agent::{Agent, Cause, Conduct, Failure, Interrupted, Turn},
    output::Output,
};

use super::{Error, Servers};
use crate::kinds::tool::Call;

/// A tool of a server as an agent: the message is what it is given.
///
/// That is an object, as data or as text; or any text, if the tool takes just one.
#[derive(Clone, Debug)]
pub struct Mcp {
    servers: Servers,
    server: String,
    tool: String,
}

impl Mcp {
    /// Calls a tool for every message.
    pub fn new(servers: Servers, server: impl Into<String>, tool: impl Into<String>) -> Self {
        Self { servers, server: server.into(), tool: tool.into() }
    }

    async fn work(&self, turn: &Turn, output: &Output) -> Result<(), Error> {
        let (connection, known) = self.servers.find(&self.server, &self.tool).await?;
        if turn.cause == Cause::Interrupted && !known.is_repeatable {
            return Err(Error::Gone {
                server: self.server.clone(),
                tool: self.tool.clone(),
                what: "the hub was stopped in the middle of it, and the tool is not said to be \
                       one that can be called twice"
                    .to_owned(),
            });
        }
        let input = input(&turn.message, &known.schema)
            .map_err(|what| Error::Input { tool: self.tool.clone(), what })?;
        let call = Call {
            place: Some(turn.place.clone()),
            task: Some(turn.task.id.clone()),
            context: turn.task.context_id.clone(),
            trace: turn.asked.trace.clone(),
            progress: Some(Arc::new(output.clone())),
        };
        let limit = self.servers.0.limits.call;
        let parts = connection.call(&known, input, &call, limit).await?;
        if !parts.is_empty() {
            output.artifact(Artifact::new(ArtifactId::generate(), parts)).await?;
        }
        Ok(())
    }
}

impl Agent for Mcp {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        Box::pin(self.work(&turn, &output)).await.map_err(Error::into_failure)
    }

    fn conduct(&self) -> Conduct {
        // Only the server knows whether a tool can be called twice, so it is asked then.
        Conduct { interrupted: Interrupted::Resume, ..Conduct::default() }
    }
}

/// Makes what a tool is given of a message.
fn input(message: &Message, schema: &Raw) -> Result<Object, String> {
    let takes = Takes::read(schema);
    match message.parts.as_slice() {
        [part] if part.as_data().is_some() => {
            let object = part.as_data().and_then(Raw::as_object);
            object.ok_or_else(|| format!("its data is no object; {}", takes.words()))
        }
        parts if parts.iter().all(|part| matches!(part.content, Content::Text(_))) => {
            let text = message.text();
            if let Ok(object) = Object::parse_text(&text) {
                return Ok(object);
            }
            match takes.only_text() {
                Some(name) => Ok(Object::from_members([(name, Raw::string(&text))])),
                None if text.trim().is_empty() => Ok(Object::default()),
                None => Err(format!("its text is no JSON object; {}", takes.words())),
            }
        }
        _ => Err(format!("send one data part, or text; {}", takes.words())),
    }
}

/// What a tool takes, as its schema says.
#[derive(Debug, Default)]
struct Takes {
    /// Each with whether it is a text.
    properties: Vec<(String, bool)>,
    required: Vec<String>,
}

impl Takes {
    fn read(schema: &Raw) -> Self {
        let mut takes = Self::default();
        let read = json::read_with(schema.as_str(), |reader| {
            reader.members(|reader, key| match &*key {
                "properties" if reader.peek()? == Kind::Object => reader.members(|reader, name| {
                    let kind = reader.raw()?;
                    let kind = kind.as_object().and_then(|kind| kind.get("type"));
                    let is_text = kind.and_then(|kind| kind.as_text());
                    let is_text = is_text.as_deref() == Some("string");
                    takes.properties.push((name.into_owned(), is_text));
                    Ok(())
                }),
                "required" if reader.peek()? == Kind::Array => reader.items(|reader| {
                    let name = reader.raw()?.as_text();
                    takes.required.extend(name);
                    Ok(())
                }),
                _ => reader.skip(),
            })
        });
        // Whatever could be read is enough to be helpful.
        drop(read);
        takes
    }

    /// Returns the one text that the tool takes: the only one that it needs, or has.
    fn only_text(&self) -> Option<&str> {
        let is_text =
            |name: &str| self.properties.iter().any(|(known, text)| known == name && *text);
        match (self.required.as_slice(), self.properties.as_slice()) {
            ([name], _) if is_text(name) => Some(name),
            ([], [(name, true)]) => Some(name),
            _ => None,
        }
    }

    fn words(&self) -> String {
        if self.properties.is_empty() {
            return "the tool takes an object".to_owned();
        }
        let names = self.properties.iter().map(|(name, _)| {
            let needed = if self.required.contains(name) { "" } else { " (if you like)" };
            format!("`{name}`{needed}")
        });
        format!("the tool takes an object with {}", names.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::message::{Part, Role};

    use super::*;

    #[track_caller]
    fn check(part: Part, schema: &str, expected: Result<&str, &str>) {
        let schema = Raw::parse_text(schema).expect("JSON");
        let given = input(&Message::new(Role::User, part), &schema);
        let given = given.as_ref().map(Object::as_str).map_err(String::as_str);
        assert_eq!(given, expected);
    }

    const ONE: &str = r#"{"properties":{"path":{"type":"string"},"head":{"type":"integer"}},"required":["path"]}"#;
    const TWO: &str =
        r#"{"properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}"#;

    #[test]
    fn a_message_becomes_what_the_tool_takes() {
        let data = Part::data(Raw::parse_text(r#"{"path":"x","head":3}"#).expect("JSON"));
        check(data, ONE, Ok(r#"{"path":"x","head":3}"#));
        check(Part::text(r#"{"a":1,"b":2}"#), TWO, Ok(r#"{"a":1,"b":2}"#));
        check(Part::text("notes.txt"), ONE, Ok(r#"{"path":"notes.txt"}"#));
        check(Part::text(""), "{}", Ok("{}"));
        check(
            Part::text("one and two"),
            TWO,
            Err("its text is no JSON object; the tool takes an object with `a`, `b`"),
        );
        let words = "send one data part, or text; the tool takes an object with `path`, `head` (if \
                     you like)";
        check(Part::raw("x"), ONE, Err(words));
    }
}
