//! `nuncio agents add`: one that runs elsewhere, one that will register, or one that the hub runs.

use bytes::Bytes;
use clap::{Args, ValueEnum};
use http::Method;
use nuncio::configuration::command_lines;
use nuncio_hub::name::AgentName;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    failure::Failure,
    hub::{Flags, configuration_of},
    output::{Output, note},
};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio agents add https://agent.example
  nuncio agents add --name parrot --kind echo
  nuncio agents add --name poet --kind llm --model openai/gpt-5 --prompt 'Answer in rhymes.'
  nuncio agents add --name adder --kind mcp --tool mcp://tools/add
  nuncio agents add --name news --kind http https://news.example/search --set query=q
  nuncio agents add --name upper --kind command -- tr a-z A-Z")]
pub(super) struct Add {
    /// Where the agent or its card is; with `--kind http`, what it calls.
    #[arg(required_unless_present = "name")]
    url: Option<String>,
    /// What it is called; made of its card's name otherwise.
    #[arg(long)]
    name: Option<String>,
    /// What it is for.
    #[arg(long)]
    role: Option<String>,
    /// The name or id of the agent above it.
    #[arg(long, value_name = "AGENT")]
    parent: Option<String>,
    /// How far it is trusted: 1, a stranger, to 5, one of our own.
    #[arg(long, value_name = "1-5")]
    trust: Option<u8>,
    /// What the hub is to run for it itself.
    #[arg(long, value_enum, requires = "name")]
    kind: Option<Kind>,
    /// The model of an `llm` agent, `provider/model`.
    #[arg(long, value_name = "MODEL", requires = "kind")]
    model: Option<String>,
    /// Who the model of an `llm` agent is to be.
    #[arg(long, value_name = "TEXT", requires = "kind")]
    prompt: Option<String>,
    /// What an `llm` agent may call; may be repeated. The one tool of an `mcp` agent.
    #[arg(long = "tool", value_name = "TOOL", requires = "kind")]
    tools: Vec<String>,
    /// Any other setting of its kind, by its key in `nuncio.yaml`: a JSON value, or a text; may
    /// be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "kind", value_parser = setting)]
    settings: Vec<(String, Value)>,
    /// The program of a `command` agent, with its arguments.
    #[arg(last = true, value_name = "PROGRAM", requires = "kind")]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// It says what it hears.
    Echo,
    /// It runs a program; only the hub's own file can say so.
    Command,
    /// It asks a language model.
    Llm,
    /// It sends an HTTP request.
    Http,
    /// It calls a tool of an MCP server.
    Mcp,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Command => "command",
            Self::Llm => "llm",
            Self::Http => "http",
            Self::Mcp => "mcp",
        }
    }
}

#[derive(Serialize)]
struct NewAgent<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    card_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Map<String, Value>>,
}

impl Add {
    /// Adds the agent, and returns what the hub shows of it. `None` if it is for somebody else
    /// to add: they were told how.
    pub(super) async fn run(
        &self,
        flags: &Flags,
        output: &mut Output,
    ) -> Result<Option<Bytes>, Failure> {
        if self.kind == Some(Kind::Command) {
            return self.tell_lines(flags, output).map(|()| None);
        }
        if !self.command.is_empty() {
            return Err(Failure::usage("a program belongs to `--kind command`"));
        }
        let new = NewAgent {
            name: self.name.as_deref(),
            card_url: self.url.as_deref().filter(|_| self.kind.is_none()),
            role: self.role.as_deref(),
            parent: self.parent.as_deref(),
            trust: self.trust,
            kind: self.kind.map(Kind::as_str),
            settings: self.kind.map(|kind| self.settings(kind)).transpose()?,
        };
        let shown = flags.hub()?.call(Method::POST, "/api/v1/agents", Some(&new)).await?;
        Ok(Some(shown))
    }

    fn settings(&self, kind: Kind) -> Result<Map<String, Value>, Failure> {
        let mut settings: Map<String, Value> = self.settings.iter().cloned().collect();
        let mut say = |key: &str, value: Value| {
            settings.insert(key.to_owned(), value);
        };
        if let Some(url) = &self.url {
            say("url", url.as_str().into());
        }
        if let Some(model) = &self.model {
            say("model", model.as_str().into());
        }
        if let Some(prompt) = &self.prompt {
            say("system_prompt", prompt.as_str().into());
        }
        match (kind, self.tools.as_slice()) {
            (_, []) => {}
            (Kind::Mcp, [tool]) => say("tool", tool.as_str().into()),
            (Kind::Mcp, _) => return Err(Failure::usage("an `mcp` agent has one `--tool`")),
            (_, tools) => say("tools", tools.to_vec().into()),
        }
        Ok(settings)
    }

    /// Says what to write into the hub's file: nobody makes it run a program from elsewhere.
    fn tell_lines(&self, flags: &Flags, output: &mut Output) -> Result<(), Failure> {
        if self.command.is_empty() {
            let text = "name the program behind `--`, such as `-- tr a-z A-Z`";
            return Err(Failure::usage(text));
        }
        let name = self.name.as_deref().unwrap_or_default();
        let name = AgentName::parse(name);
        let name = name.map_err(|error| Failure::usage(format!("--name: {error}")))?;
        let lines = command_lines(name.as_str(), self.role.as_deref(), &self.command);
        note(&match configuration_of(flags) {
            Some(file) => format!(
                "a hub starts programs on the word of its own file only; put these lines into {} \
                 (below `agents:`, if that is there), and the hub takes them at once:",
                file.display()
            ),
            None => "a hub starts programs on the word of its own file only; put these lines \
                     there, and start it with `nuncio up --config FILE`:"
                .to_owned(),
        });
        for line in lines.lines() {
            output.line(line)?;
        }
        Ok(())
    }
}

/// Reads `KEY=VALUE`.
fn setting(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((key.to_owned(), value))
}
