//! From a document to a workflow.

use super::{
    Agent, Approval, Asset, Command, DEFAULT_ITERATIONS, Edge, External, Extract, Format, Gather,
    Gathered, Group, Http, Input, Kind, Loop, MAX_NODES, Map, Node, NodeId, OnError, Problems,
    Prompt, Retry, Settings, SubWorkflow, Target, Time, Tool, Topology, TriggerRule, Wait,
    Workflow, check::Checker, form, references, topology,
};
use crate::{
    condition::Condition,
    document::{self, Place, Value},
    problem::{Code, Invalid, Problem},
    template::{Template, Tree},
    validate::Known,
};

pub(crate) fn read(text: &str, is_upal: bool, known: &Known) -> Result<Workflow, Invalid> {
    let root = Value::read(text).map_err(Invalid::new)?;
    let document::Kind::Map(_) = root.kind() else {
        let (what, fix) = ("this is no workflow", "write at least `name`, `nodes` and `edges`");
        let problem = Problem::new(Code::WrongType, root.place(), "", what, fix);
        return Err(Invalid::new(vec![problem]));
    };
    let is_upal = is_upal || is_marked(&root);
    let mut problems = Problems::default();
    Checker { problems: &mut problems, is_upal }.form(&root, &[&form::WORKFLOW], "");
    let count = items(&root, "nodes").len();
    if count > MAX_NODES {
        let (what, fix) = (format!("there are {count} nodes"), format!("have {MAX_NODES} at most"));
        problems.add(|| Problem::new(Code::TooMany, root.place(), "nodes", what, fix));
        return Err(Invalid::new(problems.into_sorted()));
    }
    let mut reader = Reader { source: text, problems: &mut problems, is_upal };
    let draft = reader.draft(&root);
    let topology = topology::build(&draft, &mut problems);
    references::check(&draft, topology.as_ref(), &mut problems);
    for drawn in &draft.nodes {
        if let Some(node) = &drawn.node {
            known.check(node, &format!("{}.config", drawn.key), &mut problems);
        }
    }
    match topology.filter(|_| !problems.has_errors()) {
        Some(topology) => Ok(draft.finish(topology, is_upal, problems.into_sorted())),
        None => Err(Invalid::new(problems.into_sorted())),
    }
}

/// Tells whether a file has something that only Upal's have.
fn is_marked(root: &Value) -> bool {
    let has_member = |value: &Value| {
        let document::Kind::Map(members) = value.kind() else { return false };
        members.iter().any(|member| form::UPAL_MEMBERS.contains(&member.key.as_str()))
    };
    has_member(root)
        || items(root, "nodes").iter().any(|node| {
            let kind = node.get("type").and_then(Value::as_text).unwrap_or_default();
            form::UPAL_TYPES.contains(&kind) || node.get("config").is_some_and(has_member)
        })
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    match value.get(key).map(Value::kind) {
        Some(document::Kind::List(items)) => items,
        _ => &[],
    }
}

/// What a file says, before it is known whether that can work.
#[derive(Debug)]
pub(super) struct Draft {
    name: String,
    description: String,
    version: u32,
    pub(super) nodes: Vec<DraftNode>,
    pub(super) edges: Vec<Edge>,
    groups: Vec<Group>,
    on_error: OnError,
    timeout: Option<Time>,
    max_parallel: Option<u32>,
}

/// A node of which something may be wrong.
#[derive(Debug)]
pub(super) struct DraftNode {
    pub(super) id: NodeId,
    /// Where its name stands.
    pub(super) place: Place,
    pub(super) key: String,
    pub(super) kind_name: String,
    pub(super) node: Option<Node>,
}

impl Draft {
    fn finish(self, topology: Topology, is_upal: bool, warnings: Vec<Problem>) -> Workflow {
        let Self { name, description, version, edges, groups, on_error, timeout, .. } = self;
        let nodes = self.nodes.into_iter().filter_map(|draft| draft.node).collect();
        let max_parallel = self.max_parallel;
        Workflow {
            name,
            description,
            version,
            nodes,
            edges,
            groups,
            on_error,
            timeout,
            max_parallel,
            is_upal,
            warnings,
            topology,
        }
    }
}

/// Makes types of values. What is of the wrong shape has been told before, and is passed over.
struct Reader<'a> {
    source: &'a str,
    problems: &'a mut Problems,
    is_upal: bool,
}

impl Reader<'_> {
    fn draft(&mut self, root: &Value) -> Draft {
        let nodes = items(root, "nodes").iter().enumerate();
        let nodes = nodes.filter_map(|(index, value)| self.node(value, format!("nodes[{index}]")));
        let nodes = nodes.collect();
        let edges = items(root, "edges").iter().enumerate();
        let edges = edges.filter_map(|(index, value)| self.edge(value, &format!("edges[{index}]")));
        let edges = edges.collect();
        let groups = items(root, "groups").iter().filter_map(|value| {
            let id = text(value, "id")?;
            let [label, color] = ["label", "color"].map(|key| text(value, key).unwrap_or_default());
            Some(Group { id, label, color })
        });
        Draft {
            name: self.name(root),
            description: text(root, "description").unwrap_or_default(),
            version: whole(root, "version").unwrap_or(1),
            nodes,
            edges,
            groups: groups.collect(),
            on_error: on_error(root).unwrap_or_default(),
            timeout: time(root, "timeout"),
            max_parallel: whole(root, "max_parallel"),
        }
    }

    fn name(&mut self, root: &Value) -> String {
        let Some(value) = root.get("name") else { return String::new() };
        let name = value.as_text().unwrap_or_default();
        let is_fine = (1..=128).contains(&name.len())
            && !name.contains(|letter: char| letter.is_control() || letter == '/');
        if !is_fine && value.as_text().is_some() {
            let what = format!("`{name}` cannot name a workflow");
            let fix = "use 1 to 128 bytes, without `/`";
            self.problem(Code::BadValue, value.place(), "name", what, fix);
        }
        name.to_owned()
    }

    fn node(&mut self, value: &Value, key: String) -> Option<DraftNode> {
        let name = value.get("id")?;
        let id = NodeId::parse(name.as_text()?).ok()?;
        let kind_name = text(value, "type").unwrap_or_default();
        let kind = self.kind(value, &key);
        let node = kind.map(|kind| Node {
            id: id.clone(),
            place: value.place(),
            group: text(value, "group"),
            settings: settings(value),
            kind,
        });
        Some(DraftNode { id, place: name.place(), key, kind_name, node })
    }

    /// Reads what a node does, or what is done for each item of a list.
    fn kind(&mut self, node: &Value, key: &str) -> Option<Kind> {
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

    fn edge(&mut self, value: &Value, key: &str) -> Option<Edge> {
        let id = |key| NodeId::parse(value.get(key)?.as_text()?).ok();
        let trigger_rule = match text(value, "trigger_rule").as_deref() {
            Some("on_failure") => TriggerRule::OnFailure,
            Some("always") => TriggerRule::Always,
            _ => TriggerRule::OnSuccess,
        };
        let condition = self.condition(value, "condition", key);
        let repeat = value.get("loop").filter(|value| !is_null(value)).map(|value| Loop {
            max_iterations: whole(value, "max_iterations")
                .filter(|count| *count > 0)
                .unwrap_or(DEFAULT_ITERATIONS),
            exit_when: self.condition(value, "exit_when", &format!("{key}.loop")),
        });
        let (from, to, place) = (id("from")?, id("to")?, value.place());
        Some(Edge { from, to, trigger_rule, condition, repeat, place })
    }

    fn condition(&mut self, value: &Value, name: &str, key: &str) -> Option<Condition> {
        let value = value.get(name)?;
        // Upal writes an empty text where there is no condition.
        let text = value.as_text().filter(|text| !text.trim().is_empty())?;
        match Condition::parse(text) {
            Ok(mut condition) => {
                condition.put(value.place(), |at| value.place_at(self.source, at));
                Some(condition)
            }
            Err(error) => {
                let fix = "write it like `review.data.score >= 8 and not (draft contains 'TODO')`";
                let place =
                    error.at().map_or_else(|| value.place(), |at| value.place_at(self.source, at));
                self.problem(Code::BadCondition, place, &format!("{key}.{name}"), error, fix);
                None
            }
        }
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

    fn problem(
        &mut self,
        code: Code,
        place: Place,
        key: &str,
        what: impl std::fmt::Display,
        fix: impl std::fmt::Display,
    ) {
        self.problems.add(|| Problem::new(code, place, key, what, fix));
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

fn settings(node: &Value) -> Settings {
    let Some(config) = node.get("config") else { return Settings::default() };
    let retry = config.get("retry").map(|retry| Retry {
        attempts: whole(retry, "attempts").unwrap_or_default(),
        backoff: time(retry, "backoff"),
    });
    Settings {
        label: text(config, "label"),
        description: text(config, "description"),
        timeout: time(config, "timeout"),
        retry: retry.unwrap_or_default(),
        on_error: on_error(config),
    }
}

fn on_error(value: &Value) -> Option<OnError> {
    let name = text(value, "on_error")?;
    OnError::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, choice)| choice)
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

fn is_null(value: &Value) -> bool {
    matches!(value.kind(), document::Kind::Null)
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_text().map(str::to_owned)
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    items(value, key).iter().filter_map(Value::as_text).map(str::to_owned).collect()
}

fn flag(value: &Value, key: &str) -> bool {
    matches!(value.get(key).map(Value::kind), Some(document::Kind::Bool(true)))
}

fn whole(value: &Value, key: &str) -> Option<u32> {
    match value.get(key)?.kind() {
        document::Kind::Number(number) => number.parse().ok(),
        _ => None,
    }
}

fn number(value: &Value, key: &str) -> Option<f64> {
    match value.get(key)?.kind() {
        document::Kind::Number(number) => number.parse().ok(),
        _ => None,
    }
}

/// A number counts seconds, as in Upal's files.
fn time(value: &Value, key: &str) -> Option<Time> {
    match value.get(key)?.kind() {
        document::Kind::Text(text) => text.parse().ok(),
        document::Kind::Number(number) => {
            let seconds: f64 = number.parse().ok()?;
            Time::new(std::time::Duration::try_from_secs_f64(seconds).ok()?).ok()
        }
        _ => None,
    }
}

fn is_url(text: &str) -> bool {
    ["http://", "https://"].into_iter().any(|scheme| {
        text.strip_prefix(scheme).is_some_and(|rest| {
            !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace)
        })
    })
}
