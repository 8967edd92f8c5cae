//! Nodes: what each step of a workflow is and does.

use nuncio_protocol::json::Raw;

use super::{NodeId, Time};
use crate::{
    document::Place,
    template::{Reference, Template, Tree},
};

/// One step of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub(super) id: NodeId,
    pub(super) place: Place,
    pub(super) group: Option<String>,
    pub(super) settings: Settings,
    pub(super) kind: Kind,
}

impl Node {
    /// Returns its name.
    pub const fn id(&self) -> &NodeId {
        &self.id
    }

    /// Returns where it stands in its file.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Returns the group that it is drawn in.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// Returns what can be said of every node.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns what it does.
    pub const fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Returns every reference in it, to nodes and to the items of a list.
    pub fn references(&self) -> Vec<&Reference> {
        self.kind.references()
    }
}

/// What can be said of every node, in its `config`.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// A name for people.
    pub label: Option<String>,
    /// What it does, for people and for its card.
    pub description: Option<String>,
    /// How long one attempt may take.
    pub timeout: Option<Time>,
    /// How often and how soon it is tried again.
    pub retry: Retry,
    /// What its failure does to the run; unless set, what the workflow says.
    pub on_error: Option<OnError>,
}

/// How often and how soon something is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// How many further attempts there are after the first.
    pub attempts: u32,
    /// How long to wait before the first of them; each wait is twice the one before, up to 5
    /// minutes. Unless set, a second.
    pub backoff: Option<Time>,
}

/// What the failure of a node does to the run, where no edge handles it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// What depends on the node is canceled; everything else goes on (U-19).
    #[default]
    CancelDependants,
    /// Everything is canceled.
    FailFast,
    /// The run goes on as if the node had succeeded with nothing.
    Ignore,
}

impl OnError {
    /// Every choice, with its name.
    pub const ALL: [(&'static str, Self); 3] = [
        ("cancel_dependants", Self::CancelDependants),
        ("fail_fast", Self::FailFast),
        ("ignore", Self::Ignore),
    ];
}

/// What a node does.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Takes a value that the run is given.
    Input(Input),
    /// Asks a language model.
    Agent(Agent),
    /// Calls a tool.
    Tool(Tool),
    /// Gathers what the run has brought about.
    Output(Gather),
    /// Asks an agent elsewhere.
    External(External),
    /// Runs a program that the administrator has set up.
    Command(Command),
    /// Sends an HTTP request.
    Http(Http),
    /// Does something for each item of a list.
    Map(Map),
    /// Waits for a time.
    Wait(Wait),
    /// Waits for a person's word.
    Approval(Approval),
    /// Runs another workflow.
    Workflow(SubWorkflow),
    /// Brings in a file that was uploaded.
    Asset(Asset),
}

impl Kind {
    /// The names of all types, as files have them.
    pub const NAMES: [&'static str; 12] = [
        "input", "agent", "tool", "output", "external", "command", "http", "map", "wait",
        "approval", "workflow", "asset",
    ];

    /// Returns the name of its type.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Input(_) => "input",
            Self::Agent(_) => "agent",
            Self::Tool(_) => "tool",
            Self::Output(_) => "output",
            Self::External(_) => "external",
            Self::Command(_) => "command",
            Self::Http(_) => "http",
            Self::Map(_) => "map",
            Self::Wait(_) => "wait",
            Self::Approval(_) => "approval",
            Self::Workflow(_) => "workflow",
            Self::Asset(_) => "asset",
        }
    }

    /// Returns every reference in it.
    pub fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Input(_) | Self::Asset(_) => Vec::new(),
            Self::Agent(agent) => {
                let system = agent.system_prompt.iter().flat_map(Template::references);
                system.chain(prompt(agent.prompt.as_ref())).collect()
            }
            Self::Tool(tool) => tool.input.as_ref().map(Tree::references).unwrap_or_default(),
            Self::Output(gather) => prompt(gather.prompt.as_ref()).collect(),
            Self::External(external) => prompt(external.prompt.as_ref()).collect(),
            Self::Command(command) => prompt(command.prompt.as_ref()).collect(),
            Self::Http(http) => {
                let headers = http.headers.iter().flat_map(|(_, value)| value.references());
                let body = http.body.iter().flat_map(Tree::references);
                http.url.references().chain(headers).chain(body).collect()
            }
            Self::Map(map) => map.over.references().chain(map.body.references()).collect(),
            Self::Wait(wait) => wait.until.iter().flat_map(Template::references).collect(),
            Self::Approval(approval) => prompt(approval.prompt.as_ref()).collect(),
            Self::Workflow(workflow) => {
                workflow.inputs.iter().flat_map(|(_, tree)| tree.references()).collect()
            }
        }
    }
}

fn prompt(prompt: Option<&Prompt>) -> impl Iterator<Item = &Reference> {
    prompt.into_iter().flat_map(|prompt| &prompt.0).flat_map(Template::references)
}

/// What an agent is told: one template, or several, each of which becomes a part.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt(pub(super) Vec<Template>);

impl Prompt {
    /// Returns the templates, at least one.
    pub fn templates(&self) -> &[Template] {
        &self.0
    }
}

/// A value that the run is given under the name of the node.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Input {
    /// What to type, for people.
    pub prompt: Option<String>,
    /// The value if none is given. Without it, a run needs one.
    pub default: Option<Raw>,
    /// Whether the run may begin without a value; it is an empty text then.
    pub is_optional: bool,
}

/// A language model, with its tools.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Agent {
    /// `provider/model`; unless set, the one that is configured.
    pub model: Option<String>,
    /// Who the model is to be.
    pub system_prompt: Option<Template>,
    /// What it is told; unless set, what the nodes before have brought about.
    pub prompt: Option<Prompt>,
    /// What it may call: names of tools, `mcp://server`, `http://…`, `workflow://name`,
    /// `agent://name`.
    pub tools: Vec<String>,
    /// How often it may answer with calls of tools; unless set, 1, or 10 with tools.
    pub max_turns: Option<u32>,
    /// How free it is, from 0 to 2.
    pub temperature: Option<f64>,
    /// How much of the likeliest it picks from, from 0 to 1.
    pub top_p: Option<f64>,
    /// How long the answer may be.
    pub max_tokens: Option<u32>,
    /// How the answer is to look, added to the system prompt.
    pub output: Option<String>,
    /// Whether the answer is text or JSON.
    pub format: Format,
    /// The JSON schema that the answer is to follow.
    pub schema: Option<Raw>,
    /// Which piece of the answer counts.
    pub output_extract: Option<Extract>,
}

/// Whether an answer is text or JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text, which becomes a text part.
    #[default]
    Text,
    /// JSON, which becomes a data part.
    Json,
}

/// Which piece of an answer counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extract {
    /// A member of the first JSON object in it.
    Json {
        /// Its name.
        key: String,
    },
    /// What stands between `<tag>` and `</tag>`.
    Tagged {
        /// The tag.
        tag: String,
    },
}

/// A call of a tool, without a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// The name of the tool, or `mcp://server/tool`.
    pub tool: String,
    /// What it is given. Texts in it are templates.
    pub input: Option<Tree>,
}

/// The end of a workflow: what it has brought about.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Gather {
    /// The output as one text; unless set, artifacts are gathered.
    pub prompt: Option<Prompt>,
    /// Whose artifacts are gathered.
    pub gather: Gathered,
}

/// Whose artifacts an output node gathers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Gathered {
    /// Those of all nodes that lead to it, in the order in which they run (U-11).
    #[default]
    All,
    /// Those of the nodes right before it.
    Parents,
    /// Those of these nodes.
    Nodes(Vec<(String, Place)>),
}

/// An agent elsewhere.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct External {
    /// Which one.
    pub target: Target,
    /// Where the target stands in the file.
    pub place: Place,
    /// What it is told; unless set, what the nodes before have brought about.
    pub prompt: Option<Prompt>,
}

/// Which agent is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The one of this name in the directory.
    Agent(String),
    /// The one whose card or endpoint is at this URL.
    Url(String),
    /// Any that can do this.
    Capability(String),
}

/// A program that the administrator has set up.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Command {
    /// The name under which it is configured. A workflow never says what is run.
    pub command: String,
    /// What it reads; unless set, what the nodes before have brought about.
    pub prompt: Option<Prompt>,
}

/// An HTTP request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Http {
    /// `GET` unless set, or `POST` with a body.
    pub method: String,
    /// The address.
    pub url: Template,
    /// Further headers.
    pub headers: Vec<(String, Template)>,
    /// The body: a text is sent as it is, anything else as JSON.
    pub body: Option<Tree>,
}

/// Something to do for each item of a list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Map {
    /// The list: data, a text that is a JSON list, or a text with an item a line.
    pub over: Template,
    /// What is done. `{{item}}` is the item and `{{index}}` its number, from 0.
    pub body: Box<Kind>,
    /// How many items may be worked on at a time; unless set, as many as the run may.
    pub max_parallel: Option<u32>,
    /// How many items there may be.
    pub max_items: u32,
}

/// A time to wait.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Wait {
    /// For how long.
    pub duration: Option<Time>,
    /// Until when, in the form of RFC 3339.
    pub until: Option<Template>,
}

/// A person's word.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Approval {
    /// What the person is asked; unless set, what the nodes before have brought about.
    pub prompt: Option<Prompt>,
    /// What the person may answer; unless set, `approve` and `reject`. To `reject` fails the node.
    pub options: Vec<String>,
}

/// Another workflow.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SubWorkflow {
    /// Its name.
    pub workflow: String,
    /// Where the name stands in the file.
    pub place: Place,
    /// Its version; unless set, the newest.
    pub version: Option<u32>,
    /// Its inputs. Texts in them are templates.
    pub inputs: Vec<(String, Tree)>,
}

/// A file that was uploaded (UD-02).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Asset {
    /// Which one.
    pub asset_id: String,
}
