//! What nodes do: rendered for one call, and carried out by agents of ours.

use std::{fmt, sync::Arc, time::Duration};

use nuncio_protocol::{
    ids::ArtifactId,
    json::{Object, Raw},
    message::{Message, Part, Role},
    task::Artifact,
    time::Timestamp,
};
use nuncio_tasks::{
    agent::{Agent, Conduct, Employed, Failure, Interrupted, Turn},
    output::Output,
};
use serde::{Deserialize, Serialize};

use super::{Callee, Note, RunId, VERSION, Work, names, with_job};
use crate::{
    graph::{self, Extract, Format, Kind, Target},
    plan::{Call, Plan},
    template::{self, Limits, Scope},
};

/// The member of a message's metadata that says what a node of ours is to do. Nobody but the
/// runner writes it.
pub const JOB: &str = "urn:nuncio:job:v1";

/// The member of a question's metadata that lists what an approval takes, where that is something
/// else than a yes or a no.
const OPTIONS: &str = "options";

/// What a node of ours is to do, with everything put in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// Ask a language model.
    Agent(Box<Model>),
    /// Call a tool.
    Tool {
        /// The name of the tool, or `mcp://server/tool`.
        tool: String,
        /// What it is given.
        input: Option<Raw>,
    },
    /// Run a program that is configured under this name.
    Command {
        /// The name.
        command: String,
    },
    /// Send an HTTP request.
    Http {
        /// Such as `GET`.
        method: String,
        /// Where to.
        url: String,
        /// Whether the file says to which host, and not what nodes have brought about.
        is_fixed: bool,
        /// Further headers.
        headers: Vec<(String, String)>,
        /// A text is sent as it is, anything else as JSON.
        body: Option<Raw>,
    },
}

impl Job {
    /// Returns what a message says that has nothing to say but the job.
    fn part(&self) -> Part {
        match self {
            Self::Tool { input: Some(input), .. } => {
                Part::data(input.clone()).with_media_type("application/json")
            }
            _ => Part::text(""),
        }
    }
}

/// What a language model is to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Model {
    /// `provider/model`; unless set, the one that is configured.
    pub model: Option<String>,
    /// Who the model is to be.
    pub system: Option<String>,
    /// What it may call.
    pub tools: Vec<String>,
    /// How often it may answer with calls of tools.
    pub max_turns: Option<u32>,
    /// How free it is.
    pub temperature: Option<f64>,
    /// How much of the likeliest it picks from.
    pub top_p: Option<f64>,
    /// How long the answer may be.
    pub max_tokens: Option<u32>,
    /// Whether the answer is JSON.
    pub is_json: bool,
    /// The JSON schema that the answer is to follow.
    pub schema: Option<Raw>,
    /// The member of the first JSON object in the answer that counts.
    pub extract_key: Option<String>,
    /// The tag in the answer whose content counts.
    pub extract_tag: Option<String>,
}

/// Of which sort a node of ours is. It decides what becomes of work whose process has died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sort {
    /// A language model: asked again.
    Agent,
    /// A tool: not called again.
    Tool,
    /// A program: not run again.
    Command,
    /// A request that changes nothing: sent again.
    Fetch,
    /// Any other request: not sent again.
    Http,
}

impl Sort {
    const ALL: [Self; 5] = [Self::Agent, Self::Tool, Self::Command, Self::Fetch, Self::Http];

    /// Returns its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Command => "command",
            Self::Fetch => "fetch",
            Self::Http => "http",
        }
    }

    /// Reads its word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sort| sort.as_str() == name)
    }
}

/// What carries out the jobs of nodes.
pub trait Toolbox: Send + Sync + fmt::Debug + 'static {
    /// Returns an agent that does a job for somebody, or why there is none.
    fn employ(&self, job: &Job, owner: &Owner) -> Result<Employed, String>;
}

/// For whom a job is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The agent that does it; of a node, the workflow.
    pub agent: String,
    /// For whom that one acts, by a name that the site understands.
    pub behalf: Option<String>,
}

/// Does what the message of a run says.
#[derive(Clone, Debug)]
pub struct NodeAgent {
    toolbox: Arc<dyn Toolbox>,
    sort: Sort,
}

impl NodeAgent {
    /// Does jobs of a sort.
    pub fn new(toolbox: Arc<dyn Toolbox>, sort: Sort) -> Self {
        Self { toolbox, sort }
    }
}

impl Agent for NodeAgent {
    async fn run(&self, mut turn: Turn, output: Output) -> Result<(), Failure> {
        // A follow-up is about what was said first.
        let first = turn.task.history.first().and_then(|message| message.metadata.as_ref());
        let job = first.and_then(|metadata| metadata.get(JOB)?.parse::<Job>().ok());
        let job = job.ok_or_else(|| Failure::new("a node is told what to do by its workflow"))?;
        let place = turn.place.agent.as_str();
        let owner = Owner {
            agent: place.split_once('/').map_or(place, |(workflow, _)| workflow).to_owned(),
            behalf: Note::of(&turn).behalf,
        };
        let agent = self.toolbox.employ(&job, &owner).map_err(Failure::new)?;
        let metadata = turn.message.metadata.take().map(|metadata| metadata.without(JOB));
        turn.message.metadata = metadata.filter(|metadata| !metadata.is_empty());
        agent.run(turn, output).await
    }

    fn conduct(&self) -> Conduct {
        Conduct {
            interrupted: match self.sort {
                Sort::Agent | Sort::Fetch => Interrupted::Retry,
                Sort::Tool | Sort::Command | Sort::Http => Interrupted::Fail,
            },
            ..Conduct::default()
        }
    }
}

/// What is done for a call.
#[derive(Clone, Debug)]
pub(super) enum Doing {
    /// Somebody is given work.
    Work(Box<Work>),
    /// Time passes.
    Wait(Duration),
    /// A moment comes.
    WaitUntil(Timestamp),
    /// A person is asked, and may choose among these.
    Ask(Box<Message>, Vec<String>),
}

/// Puts together what a call is to do. Fails with what is wrong about it.
pub(super) fn prepare(plan: &Plan, run: &RunId, call: &Call) -> Result<Doing, String> {
    let node = plan.workflow().node(call.node.as_str()).ok_or("there is no such node")?;
    let kind = match node.kind() {
        Kind::Map(map) => &*map.body,
        kind => kind,
    };
    let told = |error: template::Error| error.to_string();
    let message = |parts| Message {
        message_id: names::message_of(&run.task, call),
        parts,
        ..Message::new(Role::User, Part::text(""))
    };
    let work = |to, message| {
        let (task, key) = (names::task_of(&run.task, call), names::key_of(&run.task, call));
        Ok(Doing::Work(Box::new(Work { task, key, to, message })))
    };
    match kind {
        Kind::External(external) => {
            work(callee(&external.target), message(plan.message(call).map_err(told)?))
        }
        Kind::Workflow(sub) => {
            let inputs = inputs(sub, &plan.scope(call), plan.limits()).map_err(told)?;
            let message = with_version(message(vec![inputs]), sub);
            work(Callee::Agent(sub.workflow.clone()), message)
        }
        Kind::Wait(wait) => match (&wait.duration, &wait.until) {
            (Some(length), _) => Ok(Doing::Wait(length.get())),
            (None, until) => {
                let until = until.as_ref().ok_or("it says neither how long nor until when")?;
                let scope = plan.scope(call);
                let text = until.render_text(&scope, plan.limits()).map_err(told)?;
                let moment = text.trim().parse::<Timestamp>();
                Ok(Doing::WaitUntil(moment.map_err(|_| {
                    format!("`{}` is no time such as 2026-11-16T08:00:00Z", text.trim())
                })?))
            }
        },
        Kind::Approval(approval) => {
            let mut question = message(plan.message(call).map_err(told)?);
            question.role = Role::Agent;
            let own = Some(&approval.options).filter(|options| !options.is_empty());
            let own = own.and_then(|options| Raw::from_value(options).ok());
            question.metadata = own.map(|own| Object::from_members([(OPTIONS, own)]));
            Ok(Doing::Ask(Box::new(question), options(approval)))
        }
        Kind::Agent(_) | Kind::Tool(_) | Kind::Command(_) | Kind::Http(_) => {
            let (job, sort) = job(kind, &plan.scope(call), plan.limits()).map_err(told)?;
            let parts = match kind {
                Kind::Tool(_) | Kind::Http(_) => vec![job.part()],
                _ => plan.message(call).map_err(told)?,
            };
            work(Callee::Node(call.node.to_string(), sort), with_job(message(parts), &job))
        }
        Kind::Asset(asset) => Err(format!(
            "there is no uploaded file `{}`; give the run the file as an input",
            asset.asset_id
        )),
        Kind::Input(_) | Kind::Output(_) | Kind::Map(_) => Err("it is not called".to_owned()),
    }
}

/// Returns what a person may answer.
pub(super) fn options(approval: &graph::Approval) -> Vec<String> {
    match approval.options.as_slice() {
        [] => vec!["approve".to_owned(), "reject".to_owned()],
        options => options.to_vec(),
    }
}

/// Returns who does the work of a node that asks others.
pub(super) fn callee(target: &Target) -> Callee {
    match target {
        Target::Agent(name) => Callee::Agent(name.clone()),
        Target::Url(url) => Callee::Url(url.clone()),
        Target::Capability(name) => Callee::Capability(name.clone()),
    }
}

/// Renders what a workflow within a workflow is given.
pub(super) fn inputs<S: Scope>(
    sub: &graph::SubWorkflow,
    scope: &S,
    limits: Limits,
) -> Result<Part, template::Error> {
    let inputs = sub.inputs.iter();
    let inputs = inputs.map(|(name, tree)| Ok((name.as_str(), tree.render(scope, limits)?)));
    let inputs = Object::from_members(inputs.collect::<Result<Vec<_>, _>>()?).into_raw();
    let data = Object::from_members([("inputs", inputs)]).into_raw();
    Ok(Part::data(data).with_media_type("application/json"))
}

/// Has a message say which version of a workflow it is for.
pub(super) fn with_version(message: Message, sub: &graph::SubWorkflow) -> Message {
    let version = sub.version.and_then(|version| Raw::from_value(&version).ok());
    let metadata = version.map(|version| Object::from_members([(VERSION, version)]));
    Message { metadata, ..message }
}

/// Renders the job of a node of ours.
pub(super) fn job<S: Scope>(
    kind: &Kind,
    scope: &S,
    limits: Limits,
) -> Result<(Job, Sort), template::Error> {
    Ok(match kind {
        Kind::Agent(agent) => {
            let system = agent.system_prompt.as_ref();
            let system = system.map(|template| template.render_text(scope, limits)).transpose()?;
            (Job::Agent(Box::new(model(agent, system))), Sort::Agent)
        }
        Kind::Tool(tool) => {
            let input = tool.input.as_ref().map(|tree| tree.render(scope, limits)).transpose()?;
            (Job::Tool { tool: tool.tool.clone(), input }, Sort::Tool)
        }
        Kind::Http(http) => {
            let headers = http
                .headers
                .iter()
                .map(|(name, value)| Ok((name.clone(), value.render_text(scope, limits)?)));
            let job = Job::Http {
                method: http.method.clone(),
                url: http.url.render_text(scope, limits)?,
                is_fixed: names_host(http.url.as_str()),
                headers: headers.collect::<Result<_, _>>()?,
                body: http.body.as_ref().map(|tree| tree.render(scope, limits)).transpose()?,
            };
            let changes = !matches!(http.method.as_str(), "GET" | "HEAD");
            (job, if changes { Sort::Http } else { Sort::Fetch })
        }
        Kind::Command(command) => {
            (Job::Command { command: command.command.clone() }, Sort::Command)
        }
        // Nobody asks for the others.
        _ => (Job::Command { command: String::new() }, Sort::Command),
    })
}

/// Tells whether a template of a URL says the host itself: no reference stands before its path.
fn names_host(template: &str) -> bool {
    let begin = template.find("://").map(|at| at + 3);
    let host_ends = begin.and_then(|at| template[at..].find(['/', '?', '#']).map(|end| at + end));
    let fixed = &template[..host_ends.unwrap_or(template.len())];
    begin.is_some() && !fixed.contains("{{") && !fixed.contains('@')
}

fn model(agent: &graph::Agent, system: Option<String>) -> Model {
    let (extract_key, extract_tag) = match &agent.output_extract {
        Some(Extract::Json { key }) => (Some(key.clone()), None),
        Some(Extract::Tagged { tag }) => (None, Some(tag.clone())),
        None => (None, None),
    };
    let system = match (system, &agent.output) {
        (Some(system), Some(output)) => Some(format!("{system}\n\n{output}")),
        (system, output) => system.or_else(|| output.clone()),
    };
    Model {
        model: agent.model.clone(),
        system,
        tools: agent.tools.clone(),
        max_turns: agent.max_turns,
        temperature: agent.temperature,
        top_p: agent.top_p,
        max_tokens: agent.max_tokens,
        is_json: agent.format == Format::Json,
        schema: agent.schema.clone(),
        extract_key,
        extract_tag,
    }
}

/// Why a word is no choice.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotChosen {
    /// It is a no.
    Rejected(String),
    /// It is none of the options; what to say to that.
    Unclear(String),
}

/// Finds out what a person has chosen. A yes and a no of the inbox say so as data.
pub(super) fn choose(message: &Message, options: &[String]) -> Result<Artifact, NotChosen> {
    let text = message.text();
    let text = text.trim();
    let decision = message.parts.iter().find_map(|part| part.as_data()?.as_object());
    let decided = decision.as_ref().and_then(|data| data.get("approved")?.parse::<bool>().ok());
    let word = text.split([':', ',', '.', '!', '\n']).next().unwrap_or_default().trim();
    let is = |option: &str, words: &[&str]| {
        option.eq_ignore_ascii_case(word)
            || words.iter().any(|same| same.eq_ignore_ascii_case(word))
    };
    let chosen = options.iter().find(|option| match (option.as_str(), decided) {
        ("approve", Some(is_approved)) => is_approved,
        ("reject", Some(is_approved)) => !is_approved,
        ("approve", None) => is("approve", &["approved", "yes", "y", "ok"]),
        ("reject", None) => is("reject", &["rejected", "deny", "denied", "no", "n"]),
        (option, _) => option.eq_ignore_ascii_case(text) || is(option, &[]),
    });
    match chosen.map(String::as_str) {
        Some("reject") if text.is_empty() => Err(NotChosen::Rejected("rejected".to_owned())),
        Some("reject") => Err(NotChosen::Rejected(format!("rejected: {text}"))),
        Some(option) => {
            let said = if text.is_empty() { option } else { text };
            let mut parts = vec![Part::text(option).with_media_type("text/plain")];
            if said != option {
                parts.push(Part::text(said).with_media_type("text/plain"));
            }
            Ok(Artifact::new(ArtifactId::generate(), parts))
        }
        None => Err(NotChosen::Unclear(format!("answer one of: {}", options.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str, options: &[&str]) -> Result<String, NotChosen> {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        choose(&Message::user(text), &options).map(|artifact| artifact.text())
    }

    #[test]
    fn a_yes_and_a_no_are_understood_in_usual_words() {
        let options = ["approve", "reject"];
        assert_eq!(chosen("yes", &options), Ok("approve\nyes".to_owned()));
        assert_eq!(
            chosen("Approved: looks good", &options),
            Ok("approve\nApproved: looks good".to_owned())
        );
        let rejected = NotChosen::Rejected("rejected: no, too long".to_owned());
        assert_eq!(chosen("no, too long", &options), Err(rejected));
        assert!(matches!(chosen("maybe", &options), Err(NotChosen::Unclear(_))));
    }

    #[test]
    fn other_options_are_chosen_by_their_name() {
        assert_eq!(chosen("Ship", &["ship", "wait"]), Ok("ship\nShip".to_owned()));
        assert!(matches!(chosen("yes", &["ship", "wait"]), Err(NotChosen::Unclear(_))));
    }

    #[test]
    fn only_the_file_may_say_which_host_is_meant() {
        for fixed in ["http://a/{{x}}", "https://a.example", "http://a?q={{x}}"] {
            assert!(names_host(fixed), "{fixed}");
        }
        for open in ["{{x}}", "http://{{x}}/", "http://a{{x}}/", "http://u:{{x}}@a/", "{{x}}://a/"]
        {
            assert!(!names_host(open), "{open}");
        }
    }

    #[test]
    fn the_inbox_decides_by_data() {
        let data = Raw::parse_text(r#"{"approved":false,"reason":"x"}"#).expect("JSON");
        let mut message = Message::user("denied: x");
        message.parts.push(Part::data(data));
        let options = ["approve".to_owned(), "reject".to_owned()];
        assert!(matches!(choose(&message, &options), Err(NotChosen::Rejected(_))));
    }
}
