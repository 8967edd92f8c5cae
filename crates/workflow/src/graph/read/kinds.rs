//! What nodes do, by their type.

use super::{
    Reader,
    values::{flag, is_null, number, text, texts, time, whole},
};
use crate::{
    document::{self, Value},
    graph::{
        Agent, Approval, Asset, Command, External, Extract, Format, Gather, Gathered, Http, Input,
        Kind, Map, Prompt, SubWorkflow, Target, Tool, Wait,
    },
    problem::Code,
    template::{Template, Tree},
};

impl Reader<'_> {
    /// Reads what a node does, or what is done for each item of a list.
    pub(super) fn kind(&mut self, node: &Value, key: &str) -> Option<Kind> {
        let kind = node.get("type")?.as_text()?;
        let config = node.get("config").unwrap_or(node);
        let config = Config { value: config, key: format!("{key}.config") };
        Some(match kind {
            "input" | "run_input" => Kind::Input(Input {
                prompt: text(config.value, "prompt"),
                default: config.get("default").map(Value::to_raw),
                is_optional: flag(config.value, "optional") || self.is_upal,
            }),
            "agent" => Kind::Agent(self.agent(&config)),
            "tool" => Kind::Tool(Tool {
                tool: text(config.value, "tool")?,
                input: self.tree_of(&config, "input"),
            }),
            "output" => Kind::Output(Gather {
                prompt: self.prompt(&config),
                gather: gathered(config.value),
            }),
            "external" => Kind::External(self.external(&config)?),
            "command" => Kind::Command(Command {
                command: text(config.value, "command")?,
                prompt: self.prompt(&config),
            }),
            "http" => Kind::Http(self.http(&config)?),
            "map" => {
                let body = self.kind(config.value.get("do")?, &format!("{}.do", config.key));
                Kind::Map(Map {
                    over: self.template(&config, "over")?,
                    body: Box::new(body?),
                    max_parallel: whole(config.value, "max_parallel"),
                    max_items: whole(config.value, "max_items").unwrap_or(1000),
                })
            }
            "wait" => Kind::Wait(Wait {
                duration: time(config.value, "for"),
                until: self.template(&config, "until"),
            }),
            "approval" => Kind::Approval(Approval {
                prompt: self.prompt(&config),
                options: texts(config.value, "options"),
            }),
            "workflow" => Kind::Workflow(self.sub_workflow(&config)?),
            "asset" => Kind::Asset(Asset { asset_id: text(config.value, "asset_id")? }),
            _ => return None,
        })
    }

    fn agent(&mut self, config: &Config<'_>) -> Agent {
        let value = config.value;
        Agent {
            model: text(value, "model"),
            system_prompt: self.template(config, "system_prompt"),
            prompt: self.prompt(config),
            tools: texts(value, "tools"),
            max_turns: whole(value, "max_turns"),
            temperature: number(value, "temperature"),
            top_p: number(value, "top_p"),
            max_tokens: whole(value, "max_tokens"),
            output: text(value, "output"),
            format: match text(value, "format").as_deref() {
                Some("json") => Format::Json,
                _ => Format::Text,
            },
            schema: config.get("schema").map(Value::to_raw),
            output_extract: self.extract(config),
        }
    }

    fn extract(&mut self, config: &Config<'_>) -> Option<Extract> {
        let value = config.get("output_extract")?;
        let mode = text(value, "mode")?;
        let wanted = if mode == "json" { "key" } else { "tag" };
        let Some(name) = text(value, wanted) else {
            if !self.is_upal {
                let what = format!("`mode: {mode}` needs `{wanted}`");
                let key = config.inside("output_extract");
                self.problem(Code::MissingMember, value.place(), &key, what, "say which one");
            }
            return None;
        };
        Some(match wanted {
            "key" => Extract::Json { key: name },
            _ => Extract::Tagged { tag: name },
        })
    }

    fn external(&mut self, config: &Config<'_>) -> Option<External> {
        const WAYS: [&str; 4] = ["agent", "capability", "card", "endpoint_url"];
        let prompt = self.prompt(config);
        let (way, name, place) = WAYS.into_iter().find_map(|way| {
            let value = config.get(way)?;
            let name = value.as_text().filter(|name| !name.is_empty())?;
            Some((way, name.to_owned(), value.place()))
        })?;
        let target = match way {
            "agent" => Target::Agent(name),
            "capability" => Target::Capability(name),
            _ if is_url(&name) => Target::Url(name),
            _ => {
                let what = format!("`{name}` is no URL");
                let fix = "begin it with https:// or http://";
                self.problem(Code::BadValue, place, &config.inside(way), what, fix);
                return None;
            }
        };
        Some(External { target, place, prompt })
    }

    fn http(&mut self, config: &Config<'_>) -> Option<Http> {
        let body = self.tree_of(config, "body");
        let method = text(config.value, "method").filter(|method| !method.is_empty());
        let usual = if body.is_some() { "POST" } else { "GET" };
        let mut headers = Vec::new();
        if let Some(document::Kind::Map(members)) = config.get("headers").map(Value::kind) {
            for member in members {
                let key = format!("{}.{}", config.inside("headers"), member.key);
                let is_token =
                    |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
                if member.key.is_empty() || !member.key.bytes().all(is_token) {
                    let what = format!("`{}` is no name of a header", member.key);
                    self.problem(
                        Code::BadValue,
                        member.place,
                        &key,
                        what,
                        "use letters, digits and `-`",
                    );
                }
                if let Some(template) = self.read_template(&member.value, &key) {
                    headers.push((member.key.clone(), template));
                }
            }
        }
        let url = self.template(config, "url")?;
        Some(Http { method: method.unwrap_or_else(|| usual.to_owned()), url, headers, body })
    }

    fn sub_workflow(&mut self, config: &Config<'_>) -> Option<SubWorkflow> {
        let mut inputs = Vec::new();
        if let Some(document::Kind::Map(members)) = config.get("inputs").map(Value::kind) {
            for member in members {
                let key = format!("{}.{}", config.inside("inputs"), member.key);
                if let Some(tree) = self.tree(&member.value, &key) {
                    inputs.push((member.key.clone(), tree));
                }
            }
        }
        let name = config.get("workflow")?;
        Some(SubWorkflow {
            workflow: name.as_text()?.to_owned(),
            place: name.place(),
            version: whole(config.value, "version"),
            inputs,
        })
    }

    fn prompt(&mut self, config: &Config<'_>) -> Option<Prompt> {
        let value = config.get("prompt")?;
        let key = config.inside("prompt");
        let templates: Vec<Template> = match value.kind() {
            document::Kind::List(items) => {
                let items = items.iter().enumerate();
                items
                    .filter_map(|(index, item)| {
                        self.read_template(item, &format!("{key}[{index}]"))
                    })
                    .collect()
            }
            _ => self.read_template(value, &key).into_iter().collect(),
        };
        // Upal writes an empty text where nothing is said.
        let is_said = templates.iter().any(|template| !template.as_str().is_empty());
        is_said.then_some(Prompt(templates))
    }

    fn template(&mut self, config: &Config<'_>, name: &str) -> Option<Template> {
        self.read_template(config.get(name)?, &config.inside(name))
    }

    fn read_template(&mut self, value: &Value, key: &str) -> Option<Template> {
        let text = value.as_text()?;
        let parse = if self.is_upal { Template::parse_upal } else { Template::parse };
        match parse(text) {
            Ok(mut template) => {
                template.put(value.place(), |count| value.place_of(self.source, "{{", count));
                Some(template)
            }
            Err(error) => {
                let at = error.at().unwrap_or_default();
                let before = text[..at].matches("{{").count();
                // Either at the braces, or behind them.
                let count = before - usize::from(before > 0 && !text[at..].starts_with("{{"));
                let place = value.place_of(self.source, "{{", count);
                let fix =
                    "write a reference like `{{draft}}`, and braces that begin none as `\\{{`";
                self.problem(Code::BadTemplate, place, key, error, fix);
                None
            }
        }
    }

    fn tree_of(&mut self, config: &Config<'_>, name: &str) -> Option<Tree> {
        self.tree(config.get(name)?, &config.inside(name))
    }

    fn tree(&mut self, value: &Value, key: &str) -> Option<Tree> {
        Some(match value.kind() {
            document::Kind::Text(_) => Tree::Text(self.read_template(value, key)?),
            document::Kind::List(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| self.tree(item, &format!("{key}[{index}]")));
                Tree::List(items.collect::<Option<_>>()?)
            }
            document::Kind::Map(members) => {
                let members = members.iter().map(|member| {
                    let key = format!("{key}.{}", member.key);
                    Some((member.key.clone(), self.tree(&member.value, &key)?))
                });
                Tree::Map(members.collect::<Option<_>>()?)
            }
            _ => Tree::Plain(value.to_raw()),
        })
    }
}

/// The configuration of a node, and the way to it.
struct Config<'a> {
    value: &'a Value,
    key: String,
}

impl<'a> Config<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.value.get(key).filter(|value| !is_null(value))
    }

    fn inside(&self, key: &str) -> String {
        format!("{}.{key}", self.key)
    }
}

fn gathered(config: &Value) -> Gathered {
    let Some(value) = config.get("gather") else { return Gathered::All };
    match value.kind() {
        document::Kind::Text(text) if text == "parents" => Gathered::Parents,
        document::Kind::List(items) => Gathered::Nodes(
            items
                .iter()
                .filter_map(|item| Some((item.as_text()?.to_owned(), item.place())))
                .collect(),
        ),
        _ => Gathered::All,
    }
}

fn is_url(text: &str) -> bool {
    ["http://", "https://"].into_iter().any(|scheme| {
        text.strip_prefix(scheme).is_some_and(|rest| {
            !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace)
        })
    })
}
