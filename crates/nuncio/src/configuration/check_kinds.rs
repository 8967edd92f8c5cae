//! Whether what agents of the hub are made of fits together.

use super::{
    Agent, Configuration, Extract, ExtractMode, Kind, McpServer, Placed, Problem, Provider,
    ProviderKind, ToolName, WebUrl, check::at, nearest::nearest, split_model,
};

/// Looks for what is missing, contradicts itself, or names what is not there.
pub(super) fn check(configuration: &Configuration, problems: &mut Vec<Problem>) {
    for (name, provider) in &configuration.providers {
        self::provider(name, provider, problems);
    }
    for (name, server) in &configuration.mcp_servers {
        self::server(name, server, problems);
    }
    if let Some(model) = &configuration.default_model {
        self::model(configuration, "default_model", model, problems);
    }
    for (index, agent) in configuration.agents.iter().enumerate() {
        self::agent(configuration, &format!("agents[{index}]"), agent, problems);
    }
}

fn provider(name: &str, placed: &Placed<Provider>, problems: &mut Vec<Problem>) {
    let key = format!("providers.{name}");
    let provider = placed.get();
    if name.is_empty() || name.contains('/') {
        let what = format!("`{name}` is no name of a provider");
        problems.push(at(placed, &*key, what).fix("use a name without `/`"));
    }
    let needs_key = provider.kind != ProviderKind::Ollama && provider.url.is_none();
    if needs_key && provider.api_key.is_none() {
        let variable = format!("{}_API_KEY", provider.kind.as_str().to_uppercase());
        let fix = format!("add `api_key: ${{{variable}}}`, or the `url` of one that wants none");
        let what = format!("`{name}`: the provider wants a key");
        problems.push(at(placed, format!("{key}.api_key"), what).fix(fix));
    }
    plain(placed, &key, provider.url.as_ref(), provider.allow_http, problems);
}

fn server(name: &str, placed: &Placed<McpServer>, problems: &mut Vec<Problem>) {
    let key = format!("mcp_servers.{name}");
    let server = placed.get();
    let mut wrong = |key: String, what: String, fix: &str| {
        problems.push(at(placed, key, what).fix(fix));
    };
    if name.is_empty() || name.contains('/') {
        wrong(key.clone(), format!("`{name}` is no name of a server"), "use a name without `/`");
    }
    let is_program = !server.command.is_empty();
    if is_program == server.url.is_some() {
        wrong(
            key.clone(),
            format!("`{name}`: expected one of `command` and `url`"),
            "write `command: [program, argument]` for a program that is started here, `url` for a \
             server that runs elsewhere",
        );
    } else if is_program && (server.bearer.is_some() || !server.headers.is_empty()) {
        wrong(
            key.clone(),
            format!("`{name}`: a program takes no `bearer` and no `headers`"),
            "give it what it needs in its `environment`",
        );
    } else if !is_program && (!server.environment.is_empty() || server.directory.is_some()) {
        wrong(
            key.clone(),
            format!("`{name}`: `environment` and `directory` belong to a `command`"),
            "leave them out",
        );
    }
    plain(placed, &key, server.url.as_ref(), server.allow_http, problems);
}

fn plain<T>(
    placed: &Placed<T>,
    key: &str,
    url: Option<&WebUrl>,
    allow_http: bool,
    problems: &mut Vec<Problem>,
) {
    if let Some(url) = url.filter(|url| url.is_plain() && !allow_http) {
        let fix = "use https, or set `allow_http: true` for a network that is safe";
        problems.push(at(placed, format!("{key}.url"), format!("{url} is plain http")).fix(fix));
    }
}

/// Looks whether a model is `provider/model`, of a provider that is there.
fn model(
    configuration: &Configuration,
    key: &str,
    model: &Placed<String>,
    problems: &mut Vec<Problem>,
) {
    let Some((provider, _)) = split_model(model) else {
        let what = format!("`{}` is no model", model.get());
        problems.push(at(model, key, what).fix("write `provider/model`, such as `openai/gpt-5`"));
        return;
    };
    let known = configuration.providers.keys().map(String::as_str);
    unknown(model, key, ("provider", provider), known, problems);
}

/// Complains about a name that is not there.
fn unknown<'a>(
    place: &Placed<String>,
    key: &str,
    (what, name): (&str, &str),
    known: impl Iterator<Item = &'a str> + Clone,
    problems: &mut Vec<Problem>,
) {
    if known.clone().any(|known| known == name) {
        return;
    }
    let problem = at(place, key, format_args!("there is no {what} `{name}`"));
    problems.push(match nearest(name, known) {
        Some(near) => problem.fix(format_args!("did you mean `{near}`?")),
        None if what == "provider" => problem.fix("add it to `providers`"),
        None => problem.fix("add it to `mcp_servers`"),
    });
}

fn agent(configuration: &Configuration, key: &str, agent: &Agent, problems: &mut Vec<Problem>) {
    strays(key, agent, problems);
    let mut wrong = |member: &str, what: String, fix: &str| {
        let what = format!("`{}`: {what}", agent.name.get());
        problems.push(at(&agent.name, format!("{key}.{member}"), what).fix(fix));
    };
    match agent.kind {
        Some(Kind::Llm) => {
            for (member, value, most) in
                [("temperature", agent.temperature, 2.0), ("top_p", agent.top_p, 1.0)]
            {
                if value.is_some_and(|value| !(0.0..=most).contains(&value)) {
                    wrong(member, format!("expected 0 to {most}"), "leave it out, or choose one");
                }
            }
            for (member, value) in
                [("max_turns", agent.max_turns), ("max_tokens", agent.max_tokens)]
            {
                if value == Some(0) {
                    wrong(member, "expected 1 or more".to_owned(), "leave it out, or choose one");
                }
            }
            if agent.output_extract.as_ref().is_some_and(|extract| !is_whole(extract)) {
                let what = "expected `key` with `mode: json`, `tag` with `mode: tagged`";
                let fix = "write `{mode: json, key: city}`, or `{mode: tagged, tag: answer}`";
                wrong("output_extract", what.to_owned(), fix);
            }
            if agent.model.is_none() && configuration.default_model.is_none() {
                let what = "nothing says which model it asks".to_owned();
                wrong("model", what, "set `model: provider/model`, or `default_model` for all");
            }
        }
        Some(Kind::Http) => {
            if agent.url.is_none() {
                let what = "nothing says what it calls".to_owned();
                wrong("url", what, "add `url: https://…`");
            }
            if agent.query.is_some() && agent.body.is_some() {
                let what = "the message cannot be in `query` if there is a `body`".to_owned();
                wrong("query", what, "leave out one of them");
            }
        }
        Some(Kind::Mcp) if agent.tool.is_none() => {
            let what = "nothing says which tool it calls".to_owned();
            wrong("tool", what, "add `tool: mcp://server/tool`");
        }
        _ => {}
    }
    if let Some(model) = &agent.model {
        self::model(configuration, &format!("{key}.model"), model, problems);
    }
    if let Some(tool) = &agent.tool {
        self::tool(configuration, &format!("{key}.tool"), tool, problems);
        if let Some(ToolName::Mcp { tool: Some(_), .. }) = ToolName::parse(tool) {
            // It is one tool of a server, as it should be.
        } else {
            let what = format!("`{}` is not one tool of an MCP server", tool.get());
            problems.push(at(tool, format!("{key}.tool"), what).fix("write `mcp://server/tool`"));
        }
    }
    for (index, tool) in agent.tools.iter().enumerate() {
        self::tool(configuration, &format!("{key}.tools[{index}]"), tool, problems);
    }
}

fn is_whole(extract: &Extract) -> bool {
    match extract.mode {
        ExtractMode::Json => extract.key.is_some() && extract.tag.is_none(),
        ExtractMode::Tagged => extract.tag.is_some() && extract.key.is_none(),
    }
}

fn tool(
    configuration: &Configuration,
    key: &str,
    tool: &Placed<String>,
    problems: &mut Vec<Problem>,
) {
    match ToolName::parse(tool) {
        None => {
            let what = format!("`{}` is no tool", tool.get());
            let fix = format!("write {}", ToolName::EXPECTED);
            problems.push(at(tool, key, what).fix(fix));
        }
        Some(ToolName::Mcp { server, .. }) => {
            let known = configuration.mcp_servers.keys().map(String::as_str);
            unknown(tool, key, ("MCP server", &server), known, problems);
        }
        Some(ToolName::Url(url)) if url.is_plain() => {
            let what = format!("{url} is plain http");
            problems.push(at(tool, key, what).fix("use https"));
        }
        // Agents may be registered by other means.
        Some(ToolName::Agent(_) | ToolName::Url(_)) => {}
    }
}

/// Looks for keys that only another kind has.
fn strays(key: &str, agent: &Agent, problems: &mut Vec<Problem>) {
    let llm = [
        ("model", agent.model.is_some()),
        ("system_prompt", agent.system_prompt.is_some()),
        ("tools", !agent.tools.is_empty()),
        ("max_turns", agent.max_turns.is_some()),
        ("temperature", agent.temperature.is_some()),
        ("top_p", agent.top_p.is_some()),
        ("max_tokens", agent.max_tokens.is_some()),
        ("format", agent.format.is_some()),
        ("schema", agent.schema.is_some()),
        ("output_extract", agent.output_extract.is_some()),
    ];
    let http = [
        ("method", agent.method.is_some()),
        ("headers", !agent.headers.is_empty()),
        ("query", agent.query.is_some()),
        ("body", agent.body.is_some()),
    ];
    let mcp = [("tool", agent.tool.is_some())];
    let groups: [(Kind, &[(&str, bool)]); 3] =
        [(Kind::Llm, &llm), (Kind::Http, &http), (Kind::Mcp, &mcp)];
    for (kind, members) in groups {
        for (member, is_set) in members {
            if *is_set && agent.kind != Some(kind) {
                let name = agent.name.get();
                let what = format!("`{name}`: `{member}` is for `kind: {}` only", kind.as_str());
                let fix = "set that `kind`, or leave it out";
                problems.push(at(&agent.name, format!("{key}.{member}"), what).fix(fix));
            }
        }
    }
    if agent.timeout.is_some() && !matches!(agent.kind, Some(Kind::Llm | Kind::Http)) {
        let what = format!("`{}`: `timeout` is for `kind: llm` and `http` only", agent.name.get());
        problems.push(at(&agent.name, format!("{key}.timeout"), what).fix("leave it out"));
    }
}
