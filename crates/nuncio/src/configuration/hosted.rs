//! Agents that an administrator has the hub run over its API, read as if they stood in the file.
//!
//! What comes over the network may say less than the file: nothing that starts a program, opens
//! addresses or is a secret.

use serde_json::{Map, Value};

use super::{
    Agent, Configuration, Kind, Problem, check,
    nearest::nearest,
    read::{Parsed, parse},
};

/// What is wrong with an agent that came over the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidHosted {
    /// Where: `kind`, `name`, or a way into the settings, such as `settings.model`.
    pub field: String,
    /// What is wrong, and what would do.
    pub detail: String,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Echo, Self::Command, Self::Llm, Self::Http, Self::Mcp];

    /// Reads the name of a kind.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Returns the keys that an agent of this kind may have over the API.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Echo | Self::Command => &[],
            Self::Llm => &[
                "model",
                "system_prompt",
                "tools",
                "max_turns",
                "temperature",
                "top_p",
                "max_tokens",
                "format",
                "schema",
                "output_extract",
                "timeout",
            ],
            Self::Http => &["url", "method", "query", "body", "timeout"],
            Self::Mcp => &["tool"],
        }
    }
}

/// Reads what the API says about an agent that the hub is to run, beside what the file says.
pub fn read_hosted(
    name: &str,
    role: Option<&str>,
    (kind, settings): (&str, &str),
    within: &Configuration,
) -> Result<Agent, InvalidHosted> {
    let invalid = |field: &str, detail: String| InvalidHosted { field: field.to_owned(), detail };
    let kinds = || Kind::ALL.into_iter().map(Kind::as_str).filter(|kind| *kind != "command");
    let known = Kind::from_name(kind).ok_or_else(|| {
        let known = kinds().collect::<Vec<_>>().join(", ");
        invalid("kind", format!("`{kind}` is no kind of agent; known are {known}"))
    })?;
    let settings: Map<String, Value> = serde_json::from_str(settings)
        .map_err(|error| invalid("settings", format!("is no JSON object: {error}")))?;
    let keys = known.keys();
    if let Some(key) = settings.keys().find(|key| !keys.contains(&key.as_str())) {
        return Err(invalid(&format!("settings.{key}"), stray(key, known)));
    }
    let mut members = settings;
    members.insert("name".to_owned(), name.into());
    members.insert("kind".to_owned(), kind.into());
    members.extend(role.map(|role| ("role".to_owned(), role.into())));
    let agent = agent(&members).map_err(|problems| first(&problems, 0))?;
    let mut whole = within.clone();
    let index = whole.agents.len();
    whole.agents.push(agent.clone());
    // What is wrong elsewhere is not this agent's affair.
    let problems = check::check(&whole);
    if problems.iter().any(|problem| is_of(problem, index)) {
        return Err(first(&problems, index));
    }
    Ok(agent)
}

/// Returns the lines of the file for an agent that runs a program.
pub fn command_lines(name: &str, role: Option<&str>, command: &[String]) -> String {
    // JSON is YAML; a dollar sign would begin a variable.
    let quoted = |text: &str| Value::from(text).to_string().replace('$', "$$");
    let words: Vec<_> = command.iter().map(|word| quoted(word)).collect();
    let role = role.map(|role| format!("    role: {}\n", quoted(role))).unwrap_or_default();
    format!(
        "agents:\n  - name: {name}\n{role}    kind: command\n    command: [{}]\n",
        words.join(", ")
    )
}

/// Reads an agent by the reader of the file, so that both say the same.
fn agent(members: &Map<String, Value>) -> Result<Agent, Vec<Problem>> {
    let document = serde_json::json!({ "agents": [members] });
    // Variables are for the file.
    let text = document.to_string().replace('$', "$$");
    let Parsed { mut configuration, problems, .. } = parse(&text, &[].into());
    match configuration.agents.pop() {
        Some(agent) if problems.is_empty() => Ok(agent),
        _ => Err(problems),
    }
}

fn stray(key: &str, kind: Kind) -> String {
    let kind_name = kind.as_str();
    let is_of_file = ["command", "headers", "credential", "allow_private", "allow_http"];
    if is_of_file.contains(&key) {
        let detail = "is taken from the configuration file only: it may start a program, open \
                      addresses or be a secret; put the agent there";
        return detail.to_owned();
    }
    let keys = kind.keys();
    match nearest(key, keys.iter().copied()) {
        Some(near) => format!("is no setting of kind `{kind_name}`; did you mean `{near}`?"),
        None if keys.is_empty() => format!("kind `{kind_name}` has no settings; leave it out"),
        None => format!("is no setting of kind `{kind_name}`; known are {}", keys.join(", ")),
    }
}

fn is_of(problem: &Problem, index: usize) -> bool {
    problem.key().starts_with(&format!("agents[{index}]"))
}

/// Says the first thing that is wrong with an agent, without its place in a file that is none.
fn first(problems: &[Problem], index: usize) -> InvalidHosted {
    let of_agent = problems.iter().find(|problem| is_of(problem, index));
    let Some(problem) = of_agent.or_else(|| problems.first()) else {
        let detail = "say nothing of an agent".to_owned();
        return InvalidHosted { field: "settings".to_owned(), detail };
    };
    let key = problem.key().strip_prefix(&format!("agents[{index}]")).unwrap_or_default();
    let field = match key.trim_start_matches('.') {
        "" => "settings".to_owned(),
        key @ ("name" | "role" | "kind") => key.to_owned(),
        key => format!("settings.{key}"),
    };
    let detail = match problem.remedy() {
        Some(remedy) => format!("{}; {remedy}", problem.what()),
        None => problem.what().to_owned(),
    };
    InvalidHosted { field, detail }
}

#[cfg(test)]
mod tests {
    use super::{super::read, *};

    const FILE: &str = "
providers: {house: {type: ollama}}
mcp_servers: {tools: {command: [tool-server]}}
agents: [{name: taken, kind: echo}]
";

    fn hosted(name: &str, kind: &str, settings: &str) -> Result<Agent, InvalidHosted> {
        let file = read(FILE, &[].into()).unwrap();
        read_hosted(name, Some("does it"), (kind, settings), &file)
    }

    #[track_caller]
    fn refused(kind: &str, settings: &str, field: &str, detail: &str) {
        let invalid = hosted("new", kind, settings).unwrap_err();
        assert_eq!(invalid.field, field, "{}", invalid.detail);
        assert!(invalid.detail.contains(detail), "{}", invalid.detail);
    }

    #[test]
    fn each_kind_takes_its_own_settings() {
        for (kind, settings) in [
            ("echo", "{}"),
            ("llm", r#"{"model":"house/m","tools":["mcp://tools"],"max_turns":3}"#),
            ("http", r#"{"url":"https://api.example/x","query":"q"}"#),
            ("mcp", r#"{"tool":"mcp://tools/add"}"#),
        ] {
            let agent = hosted("new", kind, settings).unwrap();
            assert_eq!((agent.name.as_str(), agent.kind.unwrap().as_str()), ("new", kind));
        }
    }

    #[test]
    fn a_dollar_sign_is_one_and_no_variable() {
        let settings = r#"{"model":"house/m","system_prompt":"costs $5 or ${HOME}"}"#;
        let agent = hosted("new", "llm", settings).unwrap();
        assert_eq!(agent.system_prompt.as_deref(), Some("costs $5 or ${HOME}"));
    }

    #[test]
    fn what_starts_programs_opens_addresses_or_is_secret_stays_in_the_file() {
        let only = "configuration file only";
        refused("http", r#"{"command":["rm"]}"#, "settings.command", only);
        refused("http", r#"{"url":"https://a","headers":{"x":"y"}}"#, "settings.headers", only);
        refused("http", r#"{"allow_private":["10.0.0.0/8"]}"#, "settings.allow_private", only);
        refused("http", r#"{"allow_http":true}"#, "settings.allow_http", only);
        refused("echo", r#"{"credential":{"bearer":"x"}}"#, "settings.credential", only);
    }

    #[test]
    fn refusals_name_the_setting_and_the_remedy() {
        refused("parrot", "{}", "kind", "known are echo, llm, http, mcp");
        refused("llm", "{}", "settings.model", "nothing says which model it asks");
        refused("llm", r#"{"model":"huose/m"}"#, "settings.model", "did you mean `house`?");
        refused("llm", r#"{"modle":"house/m"}"#, "settings.modle", "did you mean `model`?");
        refused("llm", r#"{"model":3,"max_turns":"x"}"#, "settings.max_turns", "");
        refused("http", "{}", "settings.url", "nothing says what it calls");
        refused("http", r#"{"url":"http://10.0.0.1/"}"#, "settings.url", "plain http");
        refused("mcp", r#"{"tool":"mcp://nowhere/x"}"#, "settings.tool", "no MCP server");
        let invalid = hosted("taken", "echo", "{}").unwrap_err();
        assert_eq!(invalid.field, "name");
    }

    #[test]
    fn lines_for_the_file_are_read_as_they_were_meant() {
        let command = ["sh", "-c", "echo \"$0: {x}\" # $$"].map(str::to_owned);
        let lines = command_lines("run", Some("a: b"), &command);
        let agent = read(&lines, &[].into()).unwrap().agents.remove(0);
        assert_eq!((agent.role.as_deref(), &agent.command[..]), (Some("a: b"), &command[..]));
    }
}
